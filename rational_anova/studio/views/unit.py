"""The Unit view: a rational unit on sliders, for those who want to see what it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._unit import DEGREES, KINDS, TARGETS, Unit, certified, fitted, seen, values_of
from .._unit import denominator as denominator_of
from ..pages import (
    COLOURS,
    DATA,
    Axis,
    Page,
    View,
    card,
    dots,
    draw,
    figure,
    heading,
    line,
    may_be_hidden,
    notice,
    number,
    numbers_table,
    rule,
    text,
)

_P = (
    "shifts the numerator",
    "adds a linear term",
    "bends it: a parabola",
    "adds a cubic term",
    "bends it twice",
    "adds one more turn",
)
_Q = (
    "leans the denominator to one side",
    "makes it grow on both sides, so that the unit decays",
    "makes it grow on one side more",
    "makes it grow faster for large inputs",
)
_REACH = 4.0  # of a slider
_INTERVALS = {2: "-2 to 2", 5: "-5 to 5", 8: "-8 to 8", 20: "-20 to 20"}


class Bench:
    """The page of one unit."""

    def __init__(self) -> None:
        self.unit = Unit()
        self.target = ""
        self.asked = 0  # certificates: only the last one that was asked for is shown

    def build(self) -> None:
        """Put figures and sliders on the page."""
        from nicegui import ui

        with ui.element("div").classes("two wide-side"):
            with ui.element("div").classes("stack"):
                with card(testid="unit-curve"):
                    self.formula = text("", "formula-line mono", "p")
                    self.formula._props["data-testid"] = "unit-formula"
                    self.curve = draw({"data": [], "layout": {}}, "", "unit-figure")
                with card("What is proved on this interval", testid="unit-proof"):
                    self.proof = ui.element("div").props('aria-live="polite"')
                with card("Poles", about="Where the denominator is 0 in the complex plane. One on "
                          "the real line, inside the interval, is a pole."):  # fmt: skip
                    self.poles = draw({"data": [], "layout": {}}, "", "unit-poles")
                    self.no_poles = text("", "soft", "p")
            with ui.element("div").classes("stack"):
                with card("Coefficients"):
                    self.sliders = ui.element("div").classes("stack tight")
                with card("Fit it to a function"), ui.element("div").classes("row-line"):
                    goal = (
                        ui.select(TARGETS, value="gelu", label="Function")
                        .props('outlined dense data-testid="unit-target"')
                        .classes("grow")
                    )
                    ui.button("Fit", on_click=lambda: self._fit(str(goal.value))).props(
                        'data-testid="unit-fit"'
                    )
                    self.fit_said = text("", "soft small", "p")
                with card("Shape"), ui.element("div").classes("stack tight"):
                    self.kind = ui.select(
                        list(KINDS), value=self.unit.kind, label="Denominator",
                        on_change=lambda event: self._shape(kind=event.value),
                    ).props('outlined dense data-testid="unit-kind"')  # fmt: skip
                    self.about = text(KINDS[self.unit.kind], "soft small", "p")
                    ui.select(
                        {pair: f"p of degree {pair[0]}, q of degree {pair[1]}" for pair in DEGREES},
                        value=(3, 2), label="Degrees",
                        on_change=lambda event: self._degrees(*event.value),
                    ).props("outlined dense")  # fmt: skip
                    ui.select(
                        _INTERVALS, value=5, label="Interval of x",
                        on_change=lambda event: self._shape(low=-float(event.value),
                                                            high=float(event.value)),
                    ).props("outlined dense")  # fmt: skip
        sides = card("The six denominators, with these coefficients",
                     about="The same q below, six ways to make a denominator of it.")  # fmt: skip
        with sides, ui.element("div").classes("grid fine"):
            self.sides = {}
            for kind, about in KINDS.items():
                with ui.element("div"):
                    heading(kind, 3)
                    self.sides[kind] = draw({"data": [], "layout": {}}, "", f"unit-{kind}")
                    text(about, "soft small", "p")
        self._put_sliders()

    def _put_sliders(self) -> None:
        """Put a slider with its sentence on the page for each coefficient."""
        from nicegui import ui

        self.sliders.clear()
        with self.sliders:
            for place, value in enumerate(self.unit.p):
                self._slider("p", place, value, _P[min(place, len(_P) - 1)])
            for place, value in enumerate(self.unit.q):
                self._slider("q", place, value, _Q[min(place, len(_Q) - 1)])
            if self.unit.base != "zero":
                self._slider("gate", 0, self.unit.gate, "at 0 the unit is its base")
            ui.button("Begin anew", icon="restart_alt", on_click=self._anew).props("flat dense")

    def _slider(self, part: str, place: int, value: float, about: str) -> None:
        from nicegui import ui

        name = part if part == "gate" else f"{part}{place + (part == 'q')}"
        reach = max(_REACH, 2 * abs(value))
        with ui.element("div").classes("slider"):
            label = text(f"{name} = {number(value, 3)}", "label")
            text(f"{name} {about}.", "soft small")

            def moved(event: Any) -> None:
                label._text = f"{name} = {number(float(event.value), 3)}"
                label.update()
                self.unit = self.unit.changed(part, place, float(event.value))
                self.target = ""
                self.fit_said._text = ""
                self.fit_said.update()
                self.refresh()

            slider = ui.slider(
                min=-reach, max=reach, step=reach / 200, value=value, on_change=moved
            )
            slider._props["aria-label"] = f"{name}: {about}"
            slider._props["data-testid"] = f"unit-{name}"

    # -- changes

    def _shape(self, **changed: Any) -> None:
        self.unit = replace(self.unit, error=None, **changed)
        self.about._text = KINDS[self.unit.kind]
        self.about.update()
        self.refresh()

    def _degrees(self, m: int, n: int) -> None:
        self.unit = self.unit.of_degrees(int(m), int(n))
        self._put_sliders()
        self.refresh()

    def _anew(self) -> None:
        kept = self.unit
        first = Unit(kind=kept.kind, low=kept.low, high=kept.high)
        self.unit, self.target = first.of_degrees(*kept.degrees), ""
        self._put_sliders()
        self.refresh()

    async def _fit(self, target: str) -> None:
        from nicegui import run

        found = await run.io_bound(fitted, self.unit, target)
        if found is None:  # the studio is being closed
            return
        self.unit = found
        self.target = target
        self._put_sliders()
        self.fit_said._text = (
            f"Nearest unit of these degrees: {number(self.unit.error, 3)} away, root mean square."
        )
        self.fit_said.update()
        self.refresh()

    # -- what is shown

    def refresh(self) -> None:
        """Draw the unit as it is; the proof follows when it is found."""
        from nicegui import background_tasks

        unit, found = self.unit, seen(self.unit)
        self.formula._text = f"r(x) = {found.formula}"
        self.formula.update()
        traces = [line(found.x, found.y, "r(x)"), line(found.x, found.slope, "its slope", DATA,
                                                       dash="dot", width=1.8)]  # fmt: skip
        if self.target:
            goal = line(found.x, values_of(self.target, found.x), TARGETS[self.target], "#2f9e77",
                        dash="dash", width=1.8)  # fmt: skip
            traces.insert(0, goal)
        ends = _ends(found.y)
        self.curve.props["aria-label"] = f"The unit {found.formula} and its slope"
        self.curve.update_figure(figure(traces, "x", Axis("", range=ends), height=360))
        self._draw_poles(found.poles)
        self._draw_sides()
        self.asked += 1
        background_tasks.create(self._prove(unit, self.asked))

    def _draw_poles(self, poles: Any) -> None:
        unit = self.unit
        some = poles is not None and len(poles) > 0
        self.poles.set_visibility(some)
        self.no_poles.set_visibility(not some)
        if not some:
            why = "This denominator is no polynomial: it is never 0 on the real line."
            self.no_poles._text = why if poles is None else "There are none."
            self.no_poles.update()
            return
        inside = line([unit.low, unit.high], [0, 0], "the interval", "#808080", width=4)
        crosses = dots(
            poles.real, poles.imag, "poles", COLOURS[0], marker={"symbol": "x", "size": 11}
        )
        reach = 1.15 * max(abs(poles.imag).max(), 1.0)
        wide = 1.1 * max(abs(poles.real).max(), unit.high)
        self.poles.props["aria-label"] = "Poles at " + ", ".join(
            f"{p.real:.3g} {p.imag:+.3g} i" for p in poles[:12]
        )
        self.poles.update_figure(figure(
            [inside, crosses], Axis("real part", range=(-wide, wide)),
            Axis("imaginary part", range=(-reach, reach)), height=280,
        ))  # fmt: skip

    def _draw_sides(self) -> None:
        import numpy as np

        x = np.linspace(self.unit.low, self.unit.high, 201)
        for kind, shown in self.sides.items():
            d = denominator_of(replace(self.unit, kind=kind), x)
            top = max(4.0, min(float(np.percentile(d, 90)), 40.0))
            low = min(0.0, max(float(d.min()), -4.0)) - 0.2
            made = figure(
                [line(x, d, "d(x)", COLOURS[1], width=2)], "", Axis("", range=(low, top)),
                shapes=[rule(0.0, "#d03a3a", upright=False)], height=150, legend=False,
            )  # fmt: skip
            made["layout"]["margin"] = {"l": 34, "r": 8, "t": 6, "b": 26}
            shown.props["aria-label"] = f"{kind}: from {d.min():.3g} to {d.max():.3g}"
            shown.update_figure(made)

    async def _prove(self, unit: Unit, asked: int) -> None:
        """Show what is proved, unless the unit is another one by then."""
        from nicegui import run

        answer = await run.io_bound(certified, unit)
        if answer is None or asked != self.asked:
            return
        found, why = answer
        self.proof.clear()
        with self.proof:
            if found is None:
                notice(why, "warn")
                return
            low, high = found.range[0]
            sign = found.monotone[0] if found.monotone else None
            way = "turns"
            if sign is not None and sign.increasing == "proved":
                way = "never falls"
            elif sign is not None and sign.decreasing == "proved":
                way = "never rises"
            rows = [
                ["steepest slope (Lipschitz constant)", f"at most {number(found.lipschitz, 5)}",
                 f"met: {number(found.sampled, 5)}"],
                ["by the paper's theorem", f"at most {number(found.lipschitz_theorem, 5)}", ""],
                ["denominator", f"at least {number(found.denominator_min, 5)}", ""],
                ["values", f"{number(low, 5)} to {number(high, 5)}", way],
            ]  # fmt: skip
            numbers_table(["", "proved", ""], rows, "What is proved of the unit", numeric=3)


def _ends(y: Any) -> tuple[float, float]:
    """Return limits that hold the curve, which poles do not stretch."""
    import numpy as np

    known = y[np.isfinite(y)]
    if not len(known):
        return -1.0, 1.0
    low, high = np.percentile(known, [2, 98])
    room = 0.35 * max(high - low, 1.0)
    return max(low - room, -1e3), min(high + room, 1e3)


async def build(page: Page) -> None:
    """Fill the page."""
    from nicegui import run

    may_be_hidden()
    heading("A rational unit", 1)
    text("A quotient of two polynomials, r(x) = p(x)/d(x): all models here consist of them. Move a "
         "slider to see its effect.", "soft lead", "p")  # fmt: skip
    bench = Bench()
    await run.io_bound(seen, bench.unit)  # imports torch and sympy, which takes seconds
    bench.build()
    bench.refresh()


VIEW = View("unit", "Unit", "show_chart", build)
