"""The card of a model as a page, and the model as files."""

from __future__ import annotations

import html
import re
from typing import Any

from ...models import Session
from ...pages import card, heading, notice, numbers_table, text

_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>()#+!|~&$])")
_CELLS = re.compile(r"(?<!\\)\|")
_DIALECTS = {"ansi": "ANSI", "sqlite": "SQLite", "postgres": "PostgreSQL", "duckdb": "DuckDB"}
_FILES = (
    ("sql", "SQL", "one expression in the columns of a table"),
    ("python", "Python", "a module that imports math alone"),
    ("onnx", "ONNX", "for other runtimes, in float64"),
    ("ran", "Model (.ran)", "opened by ra.load, and by the Files view"),
    ("card", "Card", "Markdown, with all edits and their reasons"),
)


def card_and_exports(session: Session) -> Any:
    """Put the exports and the card on the page; returns what shows the card anew."""
    from nicegui import run, ui

    async def give(kind: str) -> None:
        told.clear()
        try:
            found = await run.io_bound(session.export, kind, str(dialect.value))
        except (ValueError, ImportError, OSError) as error:
            with told:
                notice(str(error), "bad")
            return
        if found is not None:  # None: the studio is being closed
            ui.download.content(found[1], found[0])

    with card("Export", testid="model-export"):
        with ui.element("div").classes("row-line"):
            for kind, label, about in _FILES:
                button = ui.button(label, icon="download", on_click=lambda _, k=kind: give(k))
                button.props(f'outline no-caps data-testid="export-{kind}"').tooltip(about)
            dialect = ui.select(_DIALECTS, value="ansi", label="Dialect of SQL").props(
                'outlined dense data-testid="export-dialect"'
            )
            dialect.classes("short-select")
        told = ui.element("div").props('aria-live="polite"')
    place = ui.element("section").classes("card report").props('data-testid="model-card"')

    def show() -> None:
        place.clear()
        with place:
            markdown_blocks(session.card())

    show()
    return show


def markdown_blocks(content: str) -> None:
    """Put a card on the page: its headings, tables, lists and paragraphs, and nothing else."""
    from nicegui import ui

    for block in content.strip().split("\n\n"):
        lines = block.split("\n")
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            heading(_plain(block.lstrip("# ")), level + 1)
        elif lines[0].startswith("|"):
            cells = [[_plain(c.strip()) for c in _CELLS.split(row)[1:-1]] for row in lines]
            numbers_table(cells[0], cells[2:], "Table of the card", numeric=len(cells[0]))
        elif lines[0].startswith("- "):
            with ui.element("ul").classes("bullets"):
                for entry in lines:
                    text(_plain(entry[2:]), "", "li")
        elif block.startswith("    "):
            text(block.strip(), "mono small", "pre")._props["tabindex"] = "0"
        else:
            text(_plain(block), "", "p")


def _plain(content: str) -> str:
    """Return text as it was before it was written for Markdown."""
    return html.unescape(_ESCAPED.sub(r"\1", content.replace("`", "")))
