"""The catalogue of named laws, search by name, and the forms that users give."""

from __future__ import annotations

import difflib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from ...symbols import names_in
from ._files import forms_of
from ._form import NamedForm

Forms = str | os.PathLike[str] | NamedForm | Iterable[str | NamedForm]  # what users may give


def catalogue(field: str | None = None, inputs: int | None = None) -> tuple[NamedForm, ...]:
    """Return the named laws.

    Args:
        field: only those of one field, such as "thermal" or "peaks".
        inputs: only those of so many columns, 1 or 2.

    Example:
        >>> form = find("Langmuir")
        >>> form.name, form.formula
        ('Michaelis-Menten', 'vmax*x/(km + x)')
        >>> form.parameters["km"]
        'input at half the limit'
        >>> len(catalogue()) > 150
        True
    """
    forms = _packaged()
    fields = sorted({form.field for form in forms})
    if field is not None and field not in fields:
        raise ValueError(f"field must be one of {', '.join(map(repr, fields))}, got {field!r}")
    if inputs not in (None, 1, 2):
        raise ValueError(f"inputs must be 1 or 2, got {inputs!r}")
    return tuple(
        form for form in forms if field in (None, form.field) and inputs in (None, len(form.inputs))
    )


def find(name: str, forms: Iterable[NamedForm] | None = None) -> NamedForm:
    """Return the form of a name or an alias; case, accents, blanks and hyphens do not matter.

    Args:
        name: such as "Michaelis-Menten" or "langmuir".
        forms: where to look; the catalogue, if nothing is given.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a law must be text, got {name!r}")
    known = _packaged_by_name() if forms is None else _by_name(tuple(forms))
    key = _plain(name)
    for found in (key, _formula_key(name)):
        if found in known:
            return known[found][1]
    near = difflib.get_close_matches(key, known, n=5, cutoff=0.55)
    near += [other for other in known if key and key in other and other not in near][:5]
    names = ", ".join(repr(known[other][0]) for other in near)
    raise ValueError(f"no named law is called {name!r}; " + (
        f"near it are {names}" if near else "ra.discovery.catalogue() has them all"
    ))  # fmt: skip


def read_forms(source: Forms, columns: Sequence[str] | None = None) -> tuple[NamedForm, ...]:
    """Return the forms that a user gives.

    Names of columns in a formula are its inputs, all other names its parameters; a formula without
    such a name is one in x, and in z where it occurs, and fits any column.

    Args:
        source: formulas as text and `NamedForm`, in a list; or the path of a TOML file of forms.
        columns: symbols of the columns of the table.

    Example:
        >>> forms = read_forms(["a*S/(b + S)", "a*log(1 + x/b)"], columns=["S", "T"])
        >>> [form.inputs for form in forms]
        [('S',), ('x',)]
    """
    columns = tuple(columns or ())
    if isinstance(source, NamedForm):
        return (source,)
    if isinstance(source, str | os.PathLike):
        forms = _from_path(source)
    elif isinstance(source, Iterable):
        forms = tuple(_given(form, columns) for form in source)
    else:
        raise TypeError("forms must be a list of formulas and named forms or the path of a TOML "
                        f"file, got {source!r}")  # fmt: skip
    _by_name(forms)
    return forms


@cache
def _packaged() -> tuple[NamedForm, ...]:
    folder = resources.files(__package__) / "laws"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    texts = [(file.read_text("utf-8"), file.name) for file in files if file.name.endswith(".toml")]
    return tuple(form for text, name in texts for form in forms_of(text, name))


@cache
def _packaged_by_name() -> dict[str, tuple[str, NamedForm]]:
    return _by_name(_packaged())


def _from_path(source: str | os.PathLike[str]) -> tuple[NamedForm, ...]:
    path = Path(source)
    if path.is_file():
        return forms_of(path.read_text("utf-8"), str(path))
    if path.suffix == ".toml":
        raise FileNotFoundError(f"there is no file {str(path)!r} of forms")
    raise ValueError(f"forms must be a list or the path of a TOML file, got the text "
                     f"{str(source)!r}; for one formula write [{str(source)!r}]")  # fmt: skip


def _given(form: object, columns: tuple[str, ...]) -> NamedForm:
    if isinstance(form, NamedForm):
        return form
    if not isinstance(form, str):
        raise TypeError(f"every form must be a formula as text or a NamedForm, got {form!r}")
    names = names_in(form)
    return NamedForm(form.strip(), form, inputs=tuple(c for c in columns if c in names))


def _by_name(forms: tuple[NamedForm, ...]) -> dict[str, tuple[str, NamedForm]]:
    """Return the forms by their plain names; a name that two forms have is an error."""
    known: dict[str, tuple[str, NamedForm]] = {}
    for form in forms:
        own = _formula_key(form.name) if form.name == form.formula.strip() else _plain(form.name)
        keys = [(own, form.name), *((_plain(alias), alias) for alias in form.aliases)]
        for key, name in keys:
            _, other = known.setdefault(key, (name, form))
            if other is not form:
                raise ValueError(f"the name {name!r} is that of two forms, {other.formula!r} and "
                                 f"{form.formula!r}; give each its own")  # fmt: skip
    return known


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in letters if letter.isalnum()) or name


def _formula_key(formula: str) -> str:
    """Return what names a form that is given as a bare formula, where a + b is not a - b."""
    return "".join(formula.split())
