"""The Table view: drop a table, see what is in it, choose what is to be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._records import Run, State
from ..pages import Page, View, card, heading, notice, number, numbers_table, text
from .tables import Chooser, ColumnList, arrivals


def build(page: Page) -> None:
    """Fill the page: where tables come in, or one table."""
    if not page.item:
        heading("Start with a table", 1)
        text("Drop measurements here and find the law in them, or fit a model.", "soft lead", "p")
        arrivals(page)
        return
    try:
        entry = page.workspace.table(page.item)
    except KeyError:
        heading("There is no such table", 1)
        arrivals(page)
        return
    profile = page.workspace.profile(page.item)
    if profile is None:
        heading(entry.name, 1)
        _reading(page)
        return
    _table(page, entry, profile)


def _reading(page: Page) -> None:
    """Show how far the reading is, and then the table."""
    from nicegui import ui

    place = ui.element("div").classes("stack").props('data-testid="reading"')

    def show(run: Run) -> None:
        if run.state is State.DONE:
            page.go(f"/table/{page.item}")
            return
        place.clear()
        with place:
            if run.state.under_way:
                part = float(run.progress.get("part", 0.02))
                with card():
                    text(str(run.progress.get("stage", "waiting for a worker")), "soft", "p")
                    bar = ui.linear_progress(part, show_value=False)
                    bar.props('aria-label="Reading the table"')
            else:
                notice(f"This table cannot be read. {run.message}", "bad")
                ui.button("Choose another table", on_click=lambda: page.go("/table")).props(
                    "outline no-caps"
                )

    runs = page.work.of_table(page.item, "read")
    if not runs:
        runs = [page.work.start("read", page.item, title="reading")]
    page.follow(runs[0].id, show)


def _table(page: Page, entry: Any, profile: Mapping[str, Any]) -> None:
    from nicegui import ui

    columns = profile["columns"]
    with ui.element("div").classes("row-line between"):
        heading(entry.name, 1)
        text(f"{profile['rows']:,} rows, {len(columns):,} columns, {_size(entry.size)}", "soft")
    for note in profile["notes"][:5]:
        notice(note)
    chooser = Chooser(page, profile)
    with ui.element("div").classes("two wide-side"):
        with ui.element("div").classes("stack"):
            with card("Columns"):
                rows = ColumnList(
                    columns, chooser.role, chooser.change_role, chooser.unit, chooser.change_unit
                )
                rows.build()
            _preview(profile)
        with ui.element("div").classes("stack"):
            chooser.build()
            _runs(page)
    chooser.refresh_roles = rows.refresh
    chooser.check()


def _preview(profile: Mapping[str, Any]) -> None:
    names = [column["name"] for column in profile["columns"]]
    rows = profile["preview"]
    if rows:
        with card("First rows", "last"):
            heads = names[: len(rows[0])]
            numbers_table(heads, rows[:12], "First rows of the table", numeric=0)


def _runs(page: Page) -> None:
    """List what was found of this table before."""
    from nicegui import ui

    runs = page.work.of_table(page.item, "discover", "fit_law", "fit_model")
    if not runs:
        return
    with card("Runs of this table"), ui.element("ul").classes("links"):
        for run in runs[:8]:
            view = "model" if run.kind == "fit_model" else "law"
            with ui.element("li"):
                with ui.element("a").props(f'href="/{view}/{run.id}"'):
                    text(run.title or run.kind, "link-title")
                best = run.bests[-1].get("formula") if run.bests else ""
                text(f"{run.state}{f' · {best}' if best else ''}", "soft small")


def _size(size: int) -> str:
    return f"{number(size / 2**20, 3)} MB" if size > 2**20 else f"{number(size / 1024, 3)} kB"


VIEW = View("table", "Table", "table_chart", build)
