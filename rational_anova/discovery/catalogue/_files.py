"""Forms from TOML: a file of tables `[[form]]`, of the catalogue or of a user."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from typing import Any

from ._form import NamedForm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_NEEDED = ("name", "formula")
_KEYS = ("name", "aliases", "field", "formula", "inputs", "holds", "parameters", "positive",
         "common", "called")  # fmt: skip


def forms_of(text: str, source: str) -> tuple[NamedForm, ...]:
    """Read the forms of a TOML file.

    Args:
        text: its content: tables `[[form]]` with the fields of `NamedForm` as keys; a `field` at
            the top is that of all forms which have none.
        source: what messages call the file.
    """
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOML's own, and numbers of too many digits
        raise ValueError(f"{source} is no TOML: {error}") from error
    strange = set(content) - {"field", "form"}
    if strange:
        raise ValueError(f"{source} has the unknown key {min(strange)!r} at the top; it may have "
                         "field, and a table [[form]] for each form")  # fmt: skip
    entries = content.get("form", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{source}: write [[form]], in double brackets, above each form")
    if not entries:
        raise ValueError(f"{source} has no form; begin each with a line [[form]]")
    shared = {"field": content["field"]} if "field" in content else {}
    places = enumerate(entries, start=1)
    return tuple(_form({**shared, **entry}, f"{source}, form {n}") for n, entry in places)


def _form(entry: Mapping[str, Any], where: str) -> NamedForm:
    name = entry.get("name")
    where = f"{where} ({name!r})" if isinstance(name, str) else where
    for key in _NEEDED:
        if key not in entry:
            raise ValueError(f"{where} lacks the key {key!r}; every form needs name and formula")
    for key in entry:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it may have {', '.join(_KEYS)}"
            raise ValueError(f"{where} has the unknown key {key!r}{hint}")
    try:
        return NamedForm(**entry)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from error
