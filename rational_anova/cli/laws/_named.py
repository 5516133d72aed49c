"""`ran laws`: the catalogue of named laws, listed, searched, and one of them whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .._console import console, in_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...discovery.catalogue import NamedForm

_WIDE = 1000  # letters


def laws(
    search: Annotated[
        str | None,
        typer.Argument(metavar="SEARCH", help="The name of a law, or a word in its description."),
    ] = None,
    field: Annotated[str | None, typer.Option(help="Only laws of one field, as thermal.")] = None,
) -> None:
    """List the laws that have a name, which discover tries; or show one whole."""
    from ...discovery.catalogue import catalogue, find

    forms = catalogue(field)
    if search is None:
        _print_list(forms)
        return
    try:
        one = find(search, forms)
    except ValueError:
        matching = [form for form in forms if _mentions(form, search)]
        if not matching:
            raise
        _print_list(matching)
        return
    say(console(), whole(one))


def _mentions(form: NamedForm, search: str) -> bool:
    meanings = form.parameters.values()
    texts = (form.name, *form.aliases, form.field, form.formula, form.holds, *meanings)
    return any(search.casefold() in text.casefold() for text in texts)


def _print_list(forms: Sequence[NamedForm]) -> None:
    from rich.table import Table

    table = Table("law", "field", "formula", "where it holds")
    for form in forms:
        table.add_row(*map(in_table, (form.name, form.field, form.formula, form.holds)))
    out = console()
    if not out.is_terminal:
        out.width = _WIDE  # a line a law, for grep
    out.print(table, soft_wrap=False, highlight=False)
    say(out, f"{len(forms)} law{'' if len(forms) == 1 else 's'}; ran laws NAME shows one whole")


def whole(form: NamedForm) -> str:
    """Return all that the catalogue knows of a law, in plain lines."""
    rows = [
        ("law", form.name),
        ("also", ", ".join(form.aliases)),
        ("field", form.field),
        ("formula", form.formula),
        ("holds", form.holds),
        ("inputs", ", ".join(form.inputs)),
    ]
    lines = [f"{word:<12}{text}" for word, text in rows if text]
    for name, meaning in form.parameters.items():
        positive = "positive" if name in form.positive else ""
        about = "; ".join(part for part in (meaning, positive) if part)
        lines.append(f"{name:<12}{about}".rstrip())
    return "\n".join(lines)
