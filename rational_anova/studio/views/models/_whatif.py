"""What if: one row on sliders, its prediction, and what each effect adds to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models import Session
from ...pages import card, draw, number, text
from ._pictures import parts_figure

_MOST = 40  # inputs that have a slider
_ROWS = 200  # held out, that can be chosen to begin with


class WhatIf:
    """The tab in which one row is changed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.row = session.middle()
        self.output = 0

    def build(self) -> None:
        """Put sliders, prediction and contributions on the page."""
        from nicegui import ui

        session = self.session
        rows = {-1: "a typical row"} | {
            k: f"row {int(number) + 1}" for k, number in enumerate(session.numbers[:_ROWS])
        }
        with ui.element("div").classes("two wide-side"):
            with card("Prediction", testid="whatif"):
                self.said = text("", "whatif-value")
                self.said._props["data-testid"] = "whatif-value"
                self.said._props["aria-live"] = "polite"
                self.about = text("", "soft small", "p")
                self.figure = draw({"data": [], "layout": {}}, "", "whatif-parts")
            with card("The row"):
                ui.select(rows, value=-1, label="Begin with", on_change=self._begin).props(
                    'outlined dense data-testid="whatif-row"'
                )
                if len(session.outputs) > 1:
                    ui.select(
                        dict(enumerate(session.outputs)), value=0, label="Parts of the score of",
                        on_change=self._class,
                    ).props("outlined dense")  # fmt: skip
                self.place = ui.element("div").classes("stack tight").style("margin-top:12px")
        self._controls()
        self.refresh()

    def _controls(self) -> None:
        """Put a slider for each number and a select for each category on the page."""
        from nicegui import ui

        self.place.clear()
        model = self.session.base
        used = {axis for axes in model.model_.axes for axis in axes}
        with self.place:
            pairs = zip(model.model_.features, model.measured_.inputs, strict=True)
            for axis, (feature, seen) in enumerate(pairs):
                if axis not in used or axis >= _MOST:
                    continue
                if feature.category:
                    names = dict(enumerate(map(str, feature.levels)))
                    ui.select(
                        names, value=min(int(self.row[axis]), len(names) - 1), label=feature.name,
                        on_change=lambda event, a=axis: self._set(a, float(event.value)),
                    ).props("outlined dense").props["data-testid"] = f"whatif-{axis}"  # fmt: skip
                    continue
                low, high = feature.clip or seen.shown
                whole = len(seen.weight) > 0 and bool((seen.points % 1 == 0).all())
                value = self.row[axis]
                with ui.element("div").classes("slider"):
                    label = text("", "label")
                    _say(label, feature, value)
                    step = 1 if whole else (high - low) / 200 or 1
                    slider = ui.slider(
                        min=low, max=max(high, low + 1e-9), step=step,
                        value=float(low + high) / 2 if np.isnan(value) else float(value),
                        on_change=lambda now, a=axis, f=feature, t=label: self._slid(a, f, t, now),
                    )  # fmt: skip
                    slider._props["aria-label"] = feature.name
                    slider._props["data-testid"] = f"whatif-{axis}"

    def _slid(self, axis: int, feature: Any, label: Any, event: Any) -> None:
        _say(label, feature, float(event.value))
        self._set(axis, float(event.value))

    def _set(self, axis: int, value: float) -> None:
        self.row[axis] = value
        self.refresh()

    def _begin(self, event: Any) -> None:
        at = int(event.value)
        self.row = self.session.middle() if at < 0 else self.session.rows[at].copy()
        self._controls()
        self.refresh()

    def _class(self, event: Any) -> None:
        self.output = int(event.value)
        self.refresh()

    def refresh(self) -> None:
        """Show the prediction of the row as it is, of the model as it is."""
        session = self.session
        f = session.decision(self.row[None])
        found = session.predicted(f)
        if session.classes:
            order = np.argsort(-found[0])
            said = f"{session.classes[order[0]]}: {found[0][order[0]]:.1%}"
            others = ", ".join(f"{session.classes[k]} {found[0][k]:.1%}" for k in order[1:6])
            about = f"then {others}"
        else:
            said = f"{session.facts.target} = {number(float(found[0]), 5)}"
            about = f"the mean of such rows lies between {session.between(self.row)} (95 %)"
        self.said._text = said
        self.said.update()
        parts = session.explained(self.row, self.output)
        intercept = float(session.model.model_.intercept[self.output])
        about += f"; all rows begin at {number(intercept)}, and each input adds its part"
        self.about._text = about
        shown = parts
        self.about.update()
        self.figure.props["aria-label"] = "What each effect adds: " + ", ".join(
            f"{name} {value:+.3g}" for name, value in shown[:8]
        )
        self.figure.update_figure(parts_figure(shown, session.scale))


def _say(label: Any, feature: Any, value: float) -> None:
    if np.isnan(value):
        said = "missing"
    elif feature.part == "day":
        said = str(np.datetime64(int(value), "D"))
    else:
        said = number(value, 5)
    label._text = f"{feature.name}: {said}"
    label.update()
