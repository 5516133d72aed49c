"""The Files view: whatever this library has written, opened and described, with its pictures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from ..._core.display import visible
from .._records import Run, State
from ..pages import Page, View, card, drop_zone, formula, heading, notice, text

_KINDS = "Laws, dynamics, models, networks, units, certificates, histories and checkpoints."
_ENDINGS = ".ran,.json,.safetensors,.pt,.ckpt,.bin,.checkpoint"


def build(page: Page) -> None:
    """Fill the page: where files come in, or what one holds."""
    if page.item and page.item in page.work.runs and page.work.runs[page.item].kind == "open_file":
        _opened(page, page.work.runs[page.item])
        return
    heading("Files" if not page.item else "There is no such file", 1)
    text(f"Open what ra.save, ran fit or ran discover has written. {_KINDS}", "soft lead", "p")
    _arrivals(page)
    _known(page)


def _arrivals(page: Page) -> None:
    from nicegui import run

    async def dropped(path: Path, name: str) -> None:
        key = await run.io_bound(lambda: page.workspace.add_file(path.read_bytes()))
        _open(page, {"file": key, "name": name}, name)

    with card(testid="file-drop"):
        drop_zone(
            "Drop a file here", "Up to 200 MB. No code of a file is ever run.", _ENDINGS, dropped,
            page.workspace.folder, testid="file",
        )  # fmt: skip


def _open(page: Page, options: dict[str, Any], name: str) -> None:
    started = page.work.start("open_file", "", {**options, "time_limit": 120}, title=name)
    page.go(f"/files/{started.id}")


def _known(page: Page) -> None:
    """List files that were opened before, and results of runs that can be opened."""
    from nicegui import ui

    runs = list(page.work.runs.values())[::-1]
    before = [run for run in runs if run.kind == "open_file" and run.state is State.DONE]
    made = [run for run in runs if run.kind in ("discover", "fit_law", "fit_model") and run.results]
    with ui.element("div").classes("grid"):
        with card("Opened before"):
            if not before:
                text("None yet.", "soft", "p")
            with ui.element("ul").classes("links"):
                for run in before[:30]:
                    link = f'href="/files/{run.id}"'
                    with ui.element("li"), ui.element("a").props(link):
                        text(run.title, "link-title")
        with card("Results of this workspace", testid="file-results"):
            if not made:
                text("None yet.", "soft", "p")
            with ui.element("ul").classes("links"):
                for run in made[:30]:
                    with ui.element("li"), ui.element("div").classes("row-line between"):
                        text(f"{run.title or run.kind} ({run.results[0]})")
                        ui.button("Open", on_click=lambda _, r=run: _open_result(page, r)).props(
                            f'flat dense aria-label="Open the result of a run, {run.id}"'
                        )


def _open_result(page: Page, run: Run) -> None:
    name = run.results[0]
    _open(page, {"run": run.id, "result": name, "name": name}, run.title or name)


def _opened(page: Page, run: Run) -> None:
    from nicegui import ui

    heading(run.title, 1)
    place = ui.element("div").classes("stack").props('data-testid="file-opened"')

    def changed(now: Run) -> None:
        place.clear()
        with place:
            if now.state is State.DONE:
                _shown(page, now)
            elif now.state.under_way:
                with ui.element("div").classes("row-line"):
                    ui.spinner()
                    text(str(now.progress.get("stage", "waiting for a worker")), "soft")
            else:
                notice(f"This file cannot be opened. {now.message}", "bad")
        with place, ui.element("a").props('href="/files"'):
            text("Open another file")

    page.follow(run.id, changed)


def _shown(page: Page, run: Run) -> None:
    """Show the lines and pictures that a worker has made of a file."""
    from nicegui import ui

    known = json.loads(page.workspace.result(run).read_text("utf-8"))
    head, _, lines = known["lines"].partition("\n")
    with card("What it is", testid="file-summary"):
        text(head, "badge", "p")
        if known.get("formula"):
            formula(known.get("svg"), known["formula"])
        summary = ui.element("pre").classes("summary").props('tabindex="0"')
        summary._text = visible(lines)
    for picture in known["pictures"]:
        content = page.workspace.result(run, picture["file"]).read_bytes()
        with card(picture["label"]):
            shown = ui.element("img").classes("picture")
            shown._props["src"] = f"data:image/png;base64,{base64.b64encode(content).decode()}"
            shown._props["alt"] = picture["label"]


VIEW = View("files", "Files", "folder_open", build)
