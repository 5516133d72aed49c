"""Editing a model by hand: a draft of a curve, what it would do, and the edits that were kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...models import Draft, Impact, Session
from ...pages import Page, card, draw, notice, number, numbers_table, text
from ._pictures import curve_figure

_MOVED = re.compile(r"shapes\[(\d+)\]\.(yanchor|x0)")


class Editor:
    """The tab in which a model is edited."""

    def __init__(self, page: Page, session: Session, changed: Callable[[], None]) -> None:
        self.page, self.session, self.changed = page, session, changed
        mains = [e.name for e in session.effects() if e.kind == "main"]
        self.names = mains
        self.name, self.output = (mains[0] if mains else ""), 0
        self.draft: Draft | None = None  # as it was left
        self.shown: Draft | None = None  # ... with what the slider adds to it
        self.version = session.version
        self.curve: Any = None

    # -- the page

    def build(self) -> None:
        """Put everything on the page."""
        from nicegui import ui

        if not self.names:
            notice("This model has no effect of one input that could be edited.")
            return
        with ui.element("div").classes("two wide-side"):
            with ui.element("div").classes("stack"):
                with card(testid="edit-curve"):
                    with ui.element("div").classes("row-line between"):
                        self.chooser = (
                            ui.select(
                                {name: name for name in self.names},
                                value=self.name,
                                label="Effect of",
                                on_change=lambda event: self._choose(event.value),
                            )
                            .props('outlined dense data-testid="edit-effect"')
                            .classes("grow effect-select")
                        )
                        if len(self.session.outputs) > 1:
                            ui.select(
                                dict(enumerate(self.session.outputs)), value=0, label="Class",
                                on_change=lambda event: self._class(event.value),
                            ).props("outlined dense")  # fmt: skip
                        with ui.element("div").classes("row-line"):
                            self.undo = _button("Undo", "undo", self._undo, "edit-undo")
                            self.redo = _button("Redo", "redo", self._redo, "edit-redo")
                    self.figure = draw({"data": [], "layout": {}}, "", "edit-figure")
                    self.figure.on("plotly_relayout", self._dragged)
                    text("Drag the violet points, or use the sliders.", "soft small", "p")
                with card("On the rows held out", testid="edit-impact"):
                    self.impact = ui.element("div").props('aria-live="polite"')
            with ui.element("div").classes("stack"):
                with card("Change a stretch"):
                    self.tools = ui.element("div").classes("stack tight")
                with card("Keep it"):
                    self.reason = (
                        ui.input("Reason, for the card")
                        .props('outlined dense data-testid="edit-reason"')
                        .classes("full")
                    )
                    with ui.element("div").classes("row-line").style("margin-top:10px"):
                        _button("Keep", "check", self._keep, "edit-keep", "")
                        _button("Discard", "close", self._discard, "edit-discard")
                    self.told = ui.element("div").props('aria-live="polite"')
                with card("The whole effect"):
                    self.whole = ui.element("div")
                with card("Edits so far", testid="edit-history"):
                    self.history = ui.element("div")
        ui.timer(1.0, self._look)
        self.refresh()

    def refresh(self) -> None:
        """Begin anew with the model as it is."""
        session = self.session
        self.version = session.version
        self.names = [e.name for e in session.effects() if e.kind == "main"]
        if self.name not in self.names and self.names:
            self.name = self.names[0]
        self.chooser.set_options({name: name for name in self.names}, value=self.name)
        self.undo.set_enabled(session.done > 0)
        self.redo.set_enabled(session.done < len(session.steps))
        self._start()
        self._list()

    def _start(self) -> None:
        """Take up the effect that is chosen."""
        self.draft = self.shown = None
        self.curve = self.session.curve(self.name, self.output)
        if not self.curve.editable:
            self.draft = self.shown = self.session.draft(self.name, self.output)
            x = self.draft.x
            self.low, self.high = float(x[len(x) // 4]), float(x[(3 * len(x)) // 4])
        self._put_tools()
        self._put_whole()
        self._redraw()

    def _put_tools(self) -> None:
        """Put sliders and buttons for a stretch, or for a level, on the page."""
        from nicegui import ui

        self.tools.clear()
        with self.tools:
            if self.draft is None:
                notice(self.curve.editable)
                return
            if self.draft.levels:
                labels = dict(enumerate(self.curve.labels))
                self.level = ui.select(
                    labels, value=0, label="Level", on_change=lambda: self._reset_raise()
                ).props('outlined dense data-testid="edit-level"')
            else:
                x = self.draft.x
                step = float(x[-1] - x[0]) / 100
                self.ends = text("", "label")
                self.stretch = ui.range(
                    min=float(x[0]), max=float(x[-1]), step=step,
                    value={"min": self.low, "max": self.high}, on_change=self._stretched,
                ).props('data-testid="edit-stretch" aria-label="Stretch of the input"')  # fmt: skip
                self._say_ends()
            reach = max(float(self.draft.before.max() - self.draft.before.min()), 1e-9)
            self.by_text = text("Raise or lower by 0", "label")
            self.by = ui.slider(
                min=-reach, max=reach, step=reach / 100, value=0, on_change=self._raised
            ).props('data-testid="edit-raise" aria-label="Raise or lower by"')
            if not self.draft.levels:
                with ui.element("div").classes("row-line"):
                    for way, label in (
                        ("flat", "Flat"),
                        ("straight", "Straight"),
                        ("rising", "Never falls"),
                        ("falling", "Never rises"),
                    ):
                        _button(label, "", lambda w=way: self._bend(w), f"edit-{way}")

    def _put_whole(self) -> None:
        """Put what is done to the whole effect on the page: proofs, dropping it."""
        from nicegui import ui

        self.whole.clear()
        with self.whole:
            proof = self.session.proof(self.name)
            if proof is not None:
                way = "rises" if proof.sign > 0 else "falls"
                good = bool(proof)
                said = f"{way} or stays level everywhere: {proof.verdict}"
                if proof.witness is not None:
                    said += f", it does not at {proof.witness:.4g}"
                with ui.element("p").props('data-testid="edit-proof"'):
                    text(said, "badge good" if good else "badge")
            elif self.session.pairs_of(self.name) and not self.curve.category:
                shown = ", ".join(self.session.pairs_of(self.name))
                text(f"It is also in {shown}: to prove that it rises or falls, pairs are forbidden "
                     "first.", "soft small", "p")  # fmt: skip
            with ui.element("div").classes("row-line"):
                if self.session.model.model_.outputs == 1 and not self.curve.category:
                    _button("Rise everywhere", "trending_up", lambda: self._monotone(1),
                            "edit-rise")  # fmt: skip
                    _button("Fall everywhere", "trending_down", lambda: self._monotone(-1),
                            "edit-fall")  # fmt: skip
                _button("Drop the effect", "delete_outline", self._drop, "edit-drop")

    def _list(self) -> None:
        """Put the edits on the page, those taken back in grey."""
        from nicegui import ui

        self.history.clear()
        with self.history:
            if not self.session.steps:
                text("None yet.", "soft", "p")
            with ui.element("ol").classes("links"):
                for place, step in enumerate(self.session.steps):
                    back = place >= self.session.done
                    with ui.element("li"):
                        text(f"{place + 1}. {step.what}{' (taken back)' if back else ''}",
                             "soft" if back else "")  # fmt: skip
                        said = step.reason or "no reason given"
                        text(f"{said}; {step.measure} {step.before} to {step.after}, "
                             f"{step.moved} rows", "soft small")  # fmt: skip

    def _redraw(self) -> None:
        stretch = None if self.draft is None or self.draft.levels else (self.low, self.high)
        made = curve_figure(
            self.curve, f"adds to {self.session.scale}", self.shown, 380, handles=True, legend=True,
            stretch=stretch,
        )  # fmt: skip
        self.figure.props["aria-label"] = f"Effect of {self.name} with the draft of an edit"
        self.figure.update_figure(made)
        self.impact.clear()
        with self.impact:
            if self.shown is not None and self.shown.changed:
                found = self.session.preview(self.name, self.shown, self.output)
                impact_table(self.session, found, self.name)
            else:
                impact_table(self.session, None)

    def _say_ends(self) -> None:
        def said(value: float) -> str:
            if not self.curve.labels:
                return number(value)
            near = min(range(len(self.curve.x)), key=lambda k: abs(self.curve.x[k] - value))
            return str(self.curve.labels[near])

        self.ends._text = f"From {said(self.low)} to {said(self.high)}"
        self.ends.update()

    # -- what the user does to the draft

    def _choose(self, name: str) -> None:
        if name and name != self.name:
            self.name = name
            self._start()

    def _class(self, output: int) -> None:
        self.output = output
        self._start()

    def _stretched(self, event: Any) -> None:
        self.low, self.high = float(event.value["min"]), float(event.value["max"])
        self._say_ends()
        self._raised()

    def _raised(self, _: Any = None) -> None:
        """Show the draft with what the slider adds; it stays when another stretch is chosen."""
        by = float(self.by.value or 0)
        self.by_text._text = f"Raise or lower by {number(by, 3)}"
        self.by_text.update()
        assert self.draft is not None
        if self.draft.levels:
            at = int(self.level.value)
            self.shown = self.draft.moved(at, self.draft.after[at] + by) if by else self.draft
        else:
            self.shown = self.draft.bent("raise", self.low, self.high, by) if by else self.draft
        self._redraw()

    def _reset_raise(self) -> None:
        """Take what the slider added into the draft, and go on from there."""
        self.draft = self.shown
        self.by.set_value(0)

    def _bend(self, way: str) -> None:
        assert self.shown is not None
        self._tried(lambda: self.shown.bent(way, self.low, self.high))  # type: ignore[union-attr]

    def _dragged(self, event: Any) -> None:
        """A point was dragged: the keys of what plotly tells say which, and where to."""
        if self.shown is None or not isinstance(event.args, dict):
            return
        handles = self.shown.handles
        for key, value in event.args.items():
            found = _MOVED.fullmatch(str(key))
            if not found or not isinstance(value, int | float):
                continue
            place, to = int(found[1]), float(value)
            if found[2] == "x0" and place == len(handles):
                end = event.args.get(f"shapes[{place}].x1")
                self._take_stretch(to, end)
            elif found[2] == "yanchor" and place < len(handles):
                self._move(handles[place], to)
            return

    def _move(self, at: int, to: float) -> None:
        draft = self.shown
        if draft is not None:
            self._tried(lambda: draft.moved(at, to))

    def _take_stretch(self, low: float, high: Any) -> None:
        """The stretch was dragged: the slider follows."""
        if self.draft is None or not isinstance(high, int | float):
            return
        x = self.draft.x
        ends = sorted(min(max(float(end), float(x[0])), float(x[-1])) for end in (low, high))
        self.stretch.set_value({"min": ends[0], "max": ends[1]})
        self._redraw()

    def _tried(self, change: Callable[[], Draft]) -> None:
        self.told.clear()
        try:
            self.shown = self.draft = change()
        except ValueError as error:
            with self.told:
                notice(str(error), "bad")
        self.by.set_value(0)
        self._redraw()

    # -- what the user does to the model

    async def _keep(self) -> None:
        draft, name, reason, output = self.shown, self.name, self.reason.value or "", self.output
        if draft is None or not draft.changed:
            self.told.clear()
            with self.told:
                notice("There is no change to keep yet.")
            return
        await self._do(lambda: self.session.keep_draft(name, draft, reason, output))

    async def _monotone(self, sign: int) -> None:
        name, reason = self.name, self.reason.value or ""
        await self._do(lambda: self.session.monotone(name, sign, reason))

    async def _drop(self) -> None:
        name, reason = self.name, self.reason.value or ""
        await self._do(lambda: self.session.drop(name, reason))

    async def _undo(self) -> None:
        await self._do(self.session.undo)

    async def _redo(self) -> None:
        await self._do(self.session.redo)

    def _discard(self) -> None:
        self.told.clear()
        self._start()

    async def _do(self, work: Callable[[], Any]) -> None:
        """Change the model in a thread, and show it as it is then."""
        from nicegui import run

        self.told.clear()
        try:
            await run.io_bound(work)
        except ValueError as error:
            with self.told:
                notice(str(error), "bad")
            return
        self.reason.set_value("")
        self.refresh()
        self.changed()

    def _look(self) -> None:
        """Show what another page has done to the same model."""
        if self.session.version != self.version:
            self.refresh()
            self.changed()


def impact_table(session: Session, impact: Impact | None, first: str = "") -> None:
    """Put measures on the page: as fitted, now, and with a draft; and the rows that change most."""
    fitted = {name: pair[0] for name, pair in session.facts.scores.items()}
    if impact is None:
        now = session.measures(session.decision(session.rows))
        rows = [[n, number(fitted.get(n)), number(v)] for n, v in now.items()]
        numbers_table(["", "as fitted", "now"], rows, "Measures on the rows held out")
        text("Change the curve to see the effect here.", "soft small", "p")
        return
    rows = [
        [name, number(fitted.get(name)), number(old), number(impact.after[name])]
        for name, old in impact.before.items()
    ]
    heads = ["", "as fitted", "now", "with the draft"]
    numbers_table(heads, rows, "Measures on the rows held out")
    what = "probability" if session.classes else "prediction"
    text(f"{impact.moved} of {impact.rows} rows get another {what}, by {impact.most:.4g} at most.",
         "", "p")._props["data-testid"] = "edit-moved"  # fmt: skip
    if impact.worst:
        others = [name for name in impact.worst[0][1] if name != first]
        names = [first, *others[:3]] if first else others[:4]
        heads = ["row", *names, session.facts.target, "now", "with the draft"]
        lines = [[row, *[cells[n] for n in names], target, number(old), number(new)]
                 for row, cells, target, old, new in impact.worst]  # fmt: skip
        numbers_table(heads, lines, "Rows that change most")


def _button(
    label: str, icon: str, do: Callable[..., Any], testid: str, kind: str = "outline"
) -> Any:
    from nicegui import ui

    return ui.button(label, icon=icon or None, on_click=lambda: do()).props(
        f'{kind} dense padding="4px 10px" data-testid="{testid}"'
    )
