"""A law on the page: what it says, how well it is known, how far it holds, what else would do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...pages import Page, card, draw, formula, notice, number, text
from . import _pictures as pictures
from ._export import export
from ._opened import Opened, in_its_place

if TYPE_CHECKING:
    from ....discovery import Law

_GRADES = {"established": "good", "one of several": "warn", "interpolation": "", "nothing": "bad"}
_LEAST, _MOST = 0.001, 12  # weight of a rival that is listed, and how many
_PAUSE = 0.12  # seconds between two pictures while a slider moves


async def result(
    page: Page,
    first: Opened,
    *,
    fit: Callable[[str], None] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Put a law on the page.

    Args:
        page: that shows it.
        first: the law.
        fit: fits a formula as text anew, for those of the front; None where there is no table.
        notes: on its data, for the report.
    """
    await _Result(page, first, fit, notes).build()


class _Result:
    """The parts of the page that change when another formula is shown."""

    def __init__(
        self, page: Page, first: Opened, fit: Callable[[str], None] | None, notes: Sequence[str]
    ) -> None:
        self.page, self.first, self.fit, self.notes = page, first, fit, notes
        self.shown, self.chosen = first, _own_entry(first.law)

    async def build(self) -> None:
        from nicegui import ui

        with card(testid="law"):
            self.head = ui.element("div").classes("stack tight")
        self.slices = ui.element("div")
        self.pairs = ui.element("div").classes("grid")
        with card("Coefficients", testid="coefficients"):
            await self._sections("coefficients", "groups")
        await self._alternatives()
        with ui.element("div").classes("grid"):
            with card("Goodness of fit"):
                await self._sections("evidence")
            with ui.element("div").classes("stack"):
                with card("Range of validity", testid="domain"):
                    await self._sections("domain")
                export(self.page, self.first, self.notes)
                with card("How it was found"):
                    for step in _route(self.first.law):
                        text(step, "small", "p")
        await self._show(self.shown)

    async def _show(self, shown: Opened) -> None:
        """Show a formula: typeset, along its inputs, against the data."""
        self.shown = shown
        self.head.clear()
        with self.head:
            self._heading()
        self.slices.clear()
        with self.slices:
            slices = Slices([shown])
            await slices.build()
        self.pairs.clear()
        if shown.rows is not None and len(shown.rows):
            with self.pairs:
                await self._against_data(shown)

    def _heading(self) -> None:
        from nicegui import ui

        from ....discovery.law import short

        law = self.shown.law
        if self.shown.other:
            with ui.element("div").classes("row-line between"):
                text(self.shown.other, "badge")
                with ui.element("div").classes("row-line"):
                    if self.fit is not None:
                        told = str(law.formula)
                        ui.button("Fit and test it", on_click=partial(self.fit, told)).props(
                            'no-caps unelevated data-testid="fit-this"'
                        )
                    ui.button("Back to the law", on_click=self._back).props(
                        'no-caps outline data-testid="back"'
                    )
        else:
            with ui.element("div").classes("row-line"):
                shown = text(str(law.grade), f"badge {_GRADES.get(str(law.grade), '')}")
                shown._props["data-testid"] = "grade"
                if law.name and law.grade.claimed:
                    text(law.name, "badge")
        formula(self.shown.svg, f"{law.target} = {short(law.rounded())}")
        if self.shown.other:
            told = "Its parameters are those of the search: it is not tested and has no errors."
            notice(told, "warn")
        else:
            kind = _GRADES.get(str(law.grade)) or "info"
            notice(law.trust, kind)._props["data-testid"] = "trust"
        other = [
            f"{symbol} stands for {name}"
            for symbol, name in zip(law.names.symbols, law.names.columns, strict=True)
            if symbol.name != name
        ]
        if other:
            text(f"In text and code, {'; '.join(other[:8])}.", "soft small", "p")

    async def _back(self) -> None:
        self.chosen = _own_entry(self.first.law)
        self._refresh_front()
        await self._show(self.first)

    async def _against_data(self, shown: Opened) -> None:
        from nicegui import ui

        places: dict[Any, str] = {"said": f"what the law says of {shown.law.target}"}
        used = pictures.used_inputs(shown)
        places |= {place: shown.law.names.columns[place] for place in used[:20]}
        start: Any = used[0] if len(shown.law.names) == 1 else "said"
        if len(shown.law.names) > 1:
            with card("Measured against the law"):
                figure = await asyncio.to_thread(pictures.comparison, shown)
                draw(figure, "Measured values against those of the law", "comparison")
        with card("Residuals"):
            at = None if start == "said" else start
            figure = await asyncio.to_thread(pictures.residuals, shown, at)
            picture = draw(figure, "Residuals of the law", "residuals")

            async def against(event: Any) -> None:
                place = None if event.value == "said" else event.value
                picture.update_figure(await asyncio.to_thread(pictures.residuals, shown, place))

            if len(shown.law.names) > 1:
                ui.select(places, value=start, label="Against", on_change=against).props(
                    "outlined dense"
                )

    async def _sections(self, *names: str) -> None:
        """Put sections of the report on the page: HTML of ours, in which all names are escaped."""
        from nicegui import ui

        from ....report import sections

        for name in names:
            html = await asyncio.to_thread(getattr(sections, name), self.first.law)
            if html:
                shown = ui.html(html, sanitize=True).classes("report")
                shown._props.update({"tabindex": "0", "role": "region", "aria-label": name})

    # -- the front and the rivals

    async def _alternatives(self) -> None:
        from nicegui import ui

        law = self.first.law
        with ui.element("div").classes("grid"):
            if len(law.pareto) > 1:
                with card(
                    "Length against error",
                    testid="front",
                    about="The best formula of each complexity. Click a point to show it.",
                ):
                    first = await asyncio.to_thread(pictures.front, law, self.chosen)
                    self.front = draw(
                        first, "Error of the best formula of each complexity", "pareto"
                    )
                    self.front.on("plotly_click", self._clicked, ["points[0].pointIndex", "points"])
                    self._front_list()
            rivals = [r for r in law.rivals if r.own or r.weight >= _LEAST][:_MOST]
            if len(rivals) > 1:
                with card(
                    "Rivals",
                    testid="rivals",
                    about="Formulas that were compared on the same rows.",
                ):
                    for rival in rivals:
                        self._rival(rival)

    def _front_list(self) -> None:
        from ....discovery.law import readable

        with _Menu("As a list"):
            for place, entry in enumerate(pictures.sorted_front(self.first.law)):
                told = f"{entry.complexity} operations, error {number(entry.error, 2)}"
                self._line(
                    readable(entry.formula, 4), told, lambda _, p=place: self._choose(p),
                    f"front-{place}", False,
                )  # fmt: skip

    def _rival(self, rival: Any) -> None:
        from ....discovery.law import readable, share

        told = f"{share(rival.weight)} of the weight, {rival.parameters} fitted numbers"
        told += f", {rival.name}" if rival.name else ""

        async def show() -> None:
            if rival.own:
                await self._back()
            else:
                await self._replace(
                    rival.formula, f"A rival with {share(rival.weight)} of the weight"
                )

        self._line(readable(rival.formula, 4), told, lambda _: show(), "rival", rival.own)

    def _line(self, shown: str, told: str, act: Any, testid: str, own: bool) -> None:
        from nicegui import ui

        with ui.element("div").classes("alternative"):
            with ui.element("div").classes("grow"):
                text(shown if len(shown) <= 120 else f"{shown[:117]}...", "mono small", "div")
                text(told + (", this law" if own else ""), "soft small", "div")
            spoken = shown[:80].replace('"', "'").replace("\\", "/")
            button = ui.button("Show", on_click=act).props(
                f"flat dense no-caps data-testid={testid}"
            )
            button._props["aria-label"] = f"Show {spoken}"

    async def _clicked(self, event: Any) -> None:
        points = (event.args or {}).get("points") or [{}]
        place = points[0].get("pointIndex", points[0].get("pointNumber"))
        if isinstance(place, int):
            await self._choose(place)

    async def _choose(self, place: int) -> None:
        entries = pictures.sorted_front(self.first.law)
        if not 0 <= place < len(entries):
            return
        self.chosen = place
        self._refresh_front()
        if place == _own_entry(self.first.law):
            await self._back()
            return
        entry = entries[place]
        await self._replace(entry.formula, f"The best formula of {entry.complexity} operations")

    def _refresh_front(self) -> None:
        if len(self.first.law.pareto) > 1:
            self.front.update_figure(pictures.front(self.first.law, self.chosen))

    async def _replace(self, other: Any, told: str) -> None:
        from nicegui import ui

        await self._show(await asyncio.to_thread(in_its_place, self.first, other, told))
        ui.run_javascript("window.scrollTo({top: 0, behavior: 'smooth'})")


class _Menu:
    """A part that unfolds."""

    def __init__(self, title: str) -> None:
        from nicegui import ui

        self.made = ui.expansion(title).classes("plain-expansion")

    def __enter__(self) -> Any:
        return self.made.__enter__()

    def __exit__(self, *error: object) -> None:
        self.made.__exit__(*error)


class Slices:
    """A law, or several over each other, along one input; sliders hold the others.

    Args:
        shown: the laws, of one table.
    """

    def __init__(self, shown: Sequence[Opened]) -> None:
        self.shown = shown
        self.places = pictures.used_inputs(shown[0])
        for other in shown[1:]:
            self.places = sorted({*self.places, *pictures.used_inputs(other)})
        self.at, self.place = pictures.middle(shown[0]), self.places[0]

    async def build(self) -> None:
        """Put it on the page."""
        from nicegui import ui

        names = self.shown[0].law.names.columns
        told = "The law, with its data and bands, along an input"
        several = len(self.places) > 1
        self.place = _most_bent(self.shown[0], self.places)
        with card("The law along an input" if several else "The law and the data", testid="slices"):
            if several:
                options = {place: names[place] for place in self.places}
                ui.select(options, value=self.place, label="Along", on_change=self._along).props(
                    'outlined dense data-testid="along"'
                ).classes("narrow")
            first = await asyncio.to_thread(pictures.along, self.shown, self.place, self.at)
            self.picture = draw(first, told, "slice")
            self.sliders = ui.element("div").classes("sliders")
            self._fill_sliders()
            text(
                "Bands are 95%. On grey ground the law is extrapolated (dashed); poles are "
                "vertical lines.", "soft small", "p",
            )  # fmt: skip

    def _fill_sliders(self) -> None:
        from nicegui import ui

        law = self.shown[0].law
        self.sliders.clear()
        with self.sliders:
            for place in self.places:
                low, high = law.box[place]
                if place == self.place or not high > low:
                    continue
                name = law.names.columns[place]
                with ui.element("div").classes("slider"):
                    told = text(f"{name} = {number(self.at[place])}", "small value")
                    step = (high - low) / 100
                    slider = ui.slider(min=low, max=high, step=step, value=self.at[place])
                    slider._props["aria-label"] = name[:60]
                    slider.on(
                        "update:model-value",
                        lambda e, p=place, t=told: self._slide(p, e.args, t),
                        throttle=_PAUSE, leading_events=False,
                    )  # fmt: skip

    async def _along(self, event: Any) -> None:
        self.place = int(event.value)
        self._fill_sliders()
        await self._draw()

    async def _slide(self, place: int, value: float, told: Any) -> None:
        self.at[place] = float(value)
        told._text = f"{self.shown[0].law.names.columns[place]} = {number(float(value))}"
        told.update()
        await self._draw()

    async def _draw(self) -> None:
        asked = (self.place, tuple(self.at))
        figure = await asyncio.to_thread(pictures.along, self.shown, asked[0], asked[1])
        if asked == (self.place, tuple(self.at)):  # else a later one is on its way
            self.picture.update_figure(figure)


def _most_bent(shown: Opened, places: Sequence[int]) -> int:
    """Return the input along which the law moves most: it is shown first."""
    import numpy as np

    law, middle = shown.law, pictures.middle(shown)

    def reach(place: int) -> float:
        low, high = law.box[place]
        grid = np.tile(middle, (40, 1))
        grid[:, place] = np.linspace(low, high, 40)
        values = law.predict(grid)
        values = values[np.isfinite(values)]
        return float(np.ptp(values)) if len(values) else 0.0

    return max(places, key=reach)


def _route(law: Law) -> tuple[str, ...]:
    """Return the steps by which a law was found; a named one needs none."""
    if law.evidence.route:
        return law.evidence.route
    if law.name:
        return (f"It is {law.name} of the catalogue of named laws, fitted to the rows.",)
    return ("Its parameters were fitted to the rows.",)


def _own_entry(law: Law) -> int | None:
    """Return the place of the law on its front; None if it is not on it."""
    entries = pictures.sorted_front(law)
    same = [n for n, entry in enumerate(entries) if entry.formula == law.formula]
    if same:
        return same[0]
    near = [n for n, entry in enumerate(entries) if entry.complexity == law.complexity]
    return near[0] if near else None
