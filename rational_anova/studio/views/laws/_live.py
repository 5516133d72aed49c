"""A search under way: stage, time, formulas tried, and the best law so far over the points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._records import Run, State
from ...pages import Page, card, draw, formula, number, numbers_table, progress_of, text
from ._pictures import live

_LISTED = 9  # the last that were the best


class Live:
    """The page of a search that is not over.

    Args:
        page: that shows it.
        run: as it is now.
    """

    def __init__(self, page: Page, run: Run) -> None:
        self.page, self.target = page, str(run.options.get("choice", {}).get("target", ""))
        self.id, self.shown, self.typeset = run.id, "", ""
        self.listed: Any = None

    def build(self) -> None:
        """Put it on the page."""
        from nicegui import ui

        with card(testid="live"):
            with ui.element("div").classes("row-line between"):
                self.stage = text("starting", "grow value")
                self.stage._props["role"] = "status"
                self.cancel = ui.button("Stop and keep the best", icon="stop", on_click=self._stop)
                self.cancel.props('outline no-caps data-testid="cancel"')
            self.bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Time used"')
            self.law = ui.element("div").props('data-testid="best"')
            self.error = text("", "soft small centred", "p")
            self.place = ui.element("div")
        with card("Better and better", testid="bests"):
            self.bests = ui.element("div")
        self.picture: Any = None

    def update(self, run: Run) -> None:
        """Show a run as it is now."""
        share, told = progress_of(run)
        self.stage._text = told
        self.stage.update()
        self.bar.value = share if share is not None else 0.0
        if run.state is State.QUEUED:
            return
        progress = dict(run.progress)
        best = str(progress.get("formula") or "")
        if run.bests != self.listed:
            self.listed = run.bests
            self._list(run.bests)
        key = f"{best}|{len(progress.get('said') or ())}|{len(progress.get('y') or ())}"
        if progress.get("y") and key != self.shown:
            self.shown = key
            self._draw(live(progress, self.target))
        if best and best != self.typeset:
            self.typeset = best
            self._write(best, progress)

    def _draw(self, figure: dict[str, Any]) -> None:
        if self.picture is None:
            with self.place:
                label = "The best law so far, drawn over the points"
                self.picture = draw(figure, label, "live-figure")
        else:
            self.picture.update_figure(figure)

    def _write(self, best: str, progress: dict[str, Any]) -> None:
        self.law.clear()
        with self.law:
            formula(progress.get("svg"), f"{self.target} = {best}")
        error = progress.get("error")
        self.error._text = (
            f"error {number(error, 2)} of the standard deviation of {self.target}" if error else ""
        )
        self.error.update()

    def _list(self, bests: Sequence[Mapping[str, Any]]) -> None:
        self.bests.clear()
        rows = [
            (f"{number(best.get('seconds'), 3)} s", number(best.get("error"), 2), best["formula"])
            for best in bests[:-_LISTED:-1]
        ]
        with self.bests:
            numbers_table(("after", "error", "formula"), rows, "The best so far", numeric=3)

    def _stop(self) -> None:
        self.cancel.props("loading")
        self.page.work.cancel(self.id)
