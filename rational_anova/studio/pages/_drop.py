"""A place to drop a file at, which is a button for those who have no mouse."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from .._workspace import LARGEST
from ._parts import notice


def drop_zone(
    label: str,
    about: str,
    accept: str,
    dropped: Callable[[Path, str], Awaitable[None]],
    folder: Path,
    testid: str = "drop",
) -> Any:
    """Put the place on the page; a sentence appears under it if a file cannot be taken.

    Args:
        label: what is to be dropped.
        about: in a line, what kinds and how large.
        accept: endings of files, as ".csv,.tsv".
        dropped: takes a temporary file, and the name that it came with; a ValueError is shown.
        folder: of the workspace, where the temporary file is.
        testid: by which tests find it.
    """
    from nicegui import ui

    async def take(event: Any) -> None:
        told.clear()
        with tempfile.TemporaryDirectory(dir=folder) as place:
            path = Path(place) / "dropped"  # the name of the file is never part of a path
            await event.file.save(path)
            try:
                await dropped(path, event.file.name)
            except (ValueError, OSError) as error:
                with told:
                    notice(str(error), "bad")
        found.reset()

    def refused() -> None:
        told.clear()
        with told:
            notice(f"That file cannot be taken: it must be one of {accept} and at most "
                   f"{LARGEST >> 20} MB.", "bad")  # fmt: skip

    found = ui.upload(
        on_upload=take, on_rejected=refused, auto_upload=True, max_file_size=LARGEST,
        label=label,
    )  # fmt: skip
    found.classes("drop").props(f'accept="{accept}" flat data-testid={testid}')
    with found.add_slot("header"), ui.element("div").classes("drop-inner"):
        ui.icon("upload_file").props('aria-hidden="true"')
        ui.label(label).classes("drop-title")
        ui.element("q-uploader-add-trigger")  # a click anywhere opens the choice of files
        pick = ui.button("Choose a file").props("outline no-caps").classes("drop-button")
        pick.on("click", js_handler=f"() => getElement({found.id}).$refs.qRef.pickFiles()")
        ui.label(about).classes("soft small")
        with found.add_slot("list"):
            ui.element("span")
    told = ui.element("div")
    # Quasar gives the field of the file no name
    field = f"getElement({found.id}).$el.querySelector('input')"
    script = f"{field}.setAttribute('aria-label', {json.dumps(label)})"
    ui.timer(0.1, lambda: ui.run_javascript(script), once=True)
    return found
