"""A law to take away: Python, LaTeX, C, JSON, and the report as a page."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ...pages import Page, card, notice
from ._opened import Opened


def export(page: Page, shown: Opened, notes: Sequence[str] = ()) -> None:
    """Put the buttons on the page that write a law to files of the visitor."""
    from nicegui import ui

    law = shown.law
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", f"law_of_{law.target}")[:60].strip("_")

    def report() -> bytes:
        from ....report import write_report

        with tempfile.TemporaryDirectory(dir=page.workspace.folder) as folder:
            path = Path(folder) / "report.html"
            write_report(law, path, notes=notes)
            return path.read_bytes()

    kinds: dict[str, tuple[str, Callable[[], str | bytes]]] = {
        "Report": ("html", report),
        "JSON": ("json", law.to_json),
        "Python": ("py", law.to_python),
        "C": ("c", law.to_c),
        "LaTeX": ("tex", lambda: f"{law.latex(errors=True)}\n"),
    }

    async def give(kind: str) -> None:
        ending, write = kinds[kind]
        told.clear()
        try:
            content = await asyncio.to_thread(write)
        except (ValueError, OSError) as error:
            with told:
                notice(str(error), "bad")
            return
        ui.download.content(content, f"{stem}.{ending}")

    with card("Export", testid="export"):
        with ui.element("div").classes("row-line"):
            for kind in kinds:
                ui.button(kind, icon="download", on_click=lambda _, k=kind: give(k)).props(
                    f'outline no-caps data-testid="export-{kind.lower()}"'
                )
        told = ui.element("div")
        with ui.expansion("Python").classes("plain-expansion"):
            shown_code = ui.element("pre").props('tabindex="0"')
            shown_code._text = law.to_python() if len(str(law.template)) < 5000 else ""
