"""Where tables come in: dropped, pasted, or that of the demonstration; and those there are."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from ...pages import Page, card, drop_zone, notice, text

_ACCEPT = ".csv,.tsv,.txt,.parquet,.xlsx,.gz"
_ABOUT = "CSV, TSV, Parquet or Excel, up to 200 MB. It stays on this machine."


def arrivals(page: Page) -> None:
    """Show where a table can be dropped or pasted, and the tables of the workspace."""

    async def dropped(path: Path, name: str) -> None:
        def keep() -> Any:
            with open(path, "rb") as file:
                return page.workspace.add_table(file, name)

        _open(page, await asyncio.to_thread(keep))

    with card(testid="arrive"):
        drop_zone("Drop a table here", _ABOUT, _ACCEPT, dropped, page.workspace.folder)
        _paste(page)
    _known(page)


def _paste(page: Page) -> None:
    from nicegui import ui

    def take() -> None:
        told.clear()
        content = str(cells.value or "")
        try:
            if not content.strip():
                raise ValueError("there are no cells yet; copy some from a spreadsheet")
            _open(page, page.workspace.add_table(content.encode(), f"{name()}.csv"))
        except ValueError as error:
            with told:
                notice(str(error), "bad")

    def name() -> str:
        return f"pasted {time.strftime('%d %B %H-%M')}"

    def demo() -> None:
        from ....tables import demo_table

        _open(page, page.workspace.add_table(demo_table(), "carbon dioxide.csv"))

    with ui.element("div").classes("row-line arrive-line"):
        button = ui.button("Paste cells", icon="content_paste").props(
            'flat no-caps aria-expanded=false data-testid="paste-open"'
        )
        ui.button("Take the demo: carbon dioxide", icon="science", on_click=demo).props(
            'flat no-caps data-testid="demo"'
        )
    with ui.element("div").classes("stack paste") as panel:
        cells = ui.textarea("Cells, the names of the columns in the first row").props(
            'outlined autogrow input-class="mono" data-testid="paste"'
        )
        ui.button("Use these cells", on_click=take).props('no-caps data-testid="paste-use"')
        told = ui.element("div")
    panel.visible = False

    def unfold() -> None:
        panel.visible = not panel.visible
        button.props(f"aria-expanded={str(panel.visible).lower()}")

    button.on_click(unfold)


def _open(page: Page, entry: Any) -> None:
    """Have a table read unless it was, and go to its page."""
    reading = [run for run in page.work.of_table(entry.hash, "read") if run.state.under_way]
    if page.workspace.profile(entry.hash) is None and not reading:
        page.work.start("read", entry.hash, title="reading")
    page.go(f"/table/{entry.hash}")


def _known(page: Page) -> None:
    """List the tables of the workspace, each a link."""
    from nicegui import ui

    entries = page.workspace.tables()
    if not entries:
        return
    with card("Tables of this workspace", testid="tables"), ui.element("ul").classes("links"):
        for entry in entries[:100]:
            profile = page.workspace.profile(entry.hash)
            runs = page.work.of_table(entry.hash, "discover", "fit_law", "fit_model")
            with ui.element("li"):
                link = ui.element("a").props(f'href="/table/{entry.hash}"')
                with link:
                    text(entry.name, "link-title")
                text(_about(entry, profile, len(runs)), "soft small")


def _about(entry: Any, profile: Any, runs: int) -> str:
    size = (
        "not read"
        if profile is None
        else f"{profile['rows']:,} rows, {len(profile['columns']):,} columns"
    )
    times = f"{runs} run{'s' * (runs != 1)}" if runs else "no runs yet"
    return f"{size} · {times} · {time.strftime('%d %b %Y %H:%M', time.localtime(entry.added))}"
