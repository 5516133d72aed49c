"""The Law view: the runs, one that is under way, and the law that came of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from .._records import Run, State
from ..pages import Page, View, card, formula, heading, notice, text
from .laws import Live, comparison, opened, result, warm
from .laws import again as switches

_KINDS = ("discover", "fit_law")


async def build(page: Page) -> None:
    """Fill the page."""
    if not page.item:
        _list(page)
        return
    run = page.work.runs.get(page.item)
    if run is None or run.kind not in _KINDS:
        heading("There is no such law", 1)
        _list(page)
        return
    if run.state.under_way:
        await _under_way(page, run)
    else:
        await _over(page, run)


def _list(page: Page) -> None:
    """List the searches, the newest first."""
    from nicegui import ui

    heading("Laws", 1)
    runs = [run for run in list(page.work.runs.values())[::-1] if run.kind in _KINDS]
    if not runs:
        with card():
            text("No search yet. Drop a table, choose a target, and find its law.", "", "p")
            ui.button("Start with a table", on_click=lambda: page.go("/table")).props("no-caps")
        return
    with card(), ui.element("ul").classes("links"):
        for run in runs[:200]:
            with ui.element("li"):
                with ui.element("a").props(f'href="/law/{run.id}"'):
                    text(f"{run.title}, {_table_name(page, run)}", "link-title")
                best = run.bests[-1].get("formula", "") if run.bests else ""
                told = f"{run.state}" + (f" · {best[:110]}" if best else "")
                text(told, "soft small")


def _table_name(page: Page, run: Run) -> str:
    try:
        return page.workspace.table(run.table).name
    except KeyError:
        return "a table that was removed"


def _title(page: Page, run: Run) -> None:
    from nicegui import ui

    with ui.element("div").classes("row-line between"):
        heading(run.title[:1].upper() + run.title[1:], 1)
        with ui.element("a").props(f'href="/table/{run.table}"').classes("soft"):
            text(_table_name(page, run))


async def _under_way(page: Page, run: Run) -> None:
    """Show a search while it runs, beside the law that it is to be compared with."""
    from nicegui import ui

    _title(page, run)
    live = Live(page, run)
    live.build()
    other = page.work.runs.get(run.beside)
    if other is not None and other.results:
        first = await asyncio.to_thread(opened, page.workspace, other)
        with card("Beside it"):
            text(str(first.law.grade), "badge")
            formula(first.svg, f"{first.law.target} = {first.law.rounded()}", "small")
    ui.timer(0.5, lambda: asyncio.to_thread(warm), once=True)

    def changed(now: Run) -> None:
        if now.state.under_way:
            live.update(now)
        else:
            page.go(f"/law/{now.id}")

    page.follow(run.id, changed)


async def _over(page: Page, run: Run) -> None:
    """Show what came of a search."""
    from nicegui import ui

    _title(page, run)
    if run.state is not State.DONE:
        _ended(page, run)
    if not run.results:
        return
    first = await asyncio.to_thread(opened, page.workspace, run)
    other = page.work.runs.get(page.query.get("with") or run.beside)
    if other is not None and other.results and other.id != run.id:
        second = await asyncio.to_thread(opened, page.workspace, other)
        with ui.element("div").classes("stack").props('data-testid="comparison-of-two"'):
            await comparison(second, first, _titles(other, run))
        heading(_short(run), 1)
    with ui.element("div").classes("two"):
        with ui.element("div").classes("stack"):
            await result(page, first, fit=lambda form: _fit(page, run, form))
        with ui.element("div").classes("stack beside"):
            law = first.law
            switches(page, run, list(law.names.columns), law.target)
            _others(page, run)


def _short(run: Run) -> str:
    return run.title[:1].upper() + run.title[1:]


def _titles(first: Run, second: Run) -> tuple[str, str]:
    """Return what tells two runs apart: their titles, and the time if these are alike."""
    titles = _short(first), _short(second)
    if titles[0] != titles[1]:
        return titles
    times = [time.strftime("%H:%M:%S", time.localtime(run.created)) for run in (first, second)]
    return f"{titles[0]}, {times[0]}", f"{titles[1]}, {times[1]}"


def _ended(page: Page, run: Run) -> None:
    """Say why a run has no whole result, and offer to start it again."""
    from nicegui import ui

    kind = "bad" if run.state is State.FAILED else "warn"
    notice(run.message or f"This run was {run.state}.", kind)._props["data-testid"] = "ended"

    def again() -> None:
        page.go(f"/law/{page.work.again(run.id).id}")

    with ui.element("div").classes("row-line"):
        ui.button("Start it again", icon="replay", on_click=again).props(
            'outline no-caps data-testid="start-again"'
        )
    if run.bests and not run.results:
        with card("The best result"):
            text(str(run.bests[-1].get("formula", "")), "mono", "p")


def _fit(page: Page, run: Run, form: str) -> None:
    """Fit and test another formula of the same table, beside the law."""
    options: dict[str, Any] = {**run.options, "form": form}
    new = page.work.start(
        "fit_law", run.table, options, title=f"{run.title.partition(',')[0]}, another form",
        beside=run.id,
    )  # fmt: skip
    page.go(f"/law/{new.id}")


def _others(page: Page, run: Run) -> None:
    """Offer other runs of the table to compare with."""
    from nicegui import ui

    others = [
        other for other in page.work.of_table(run.table, *_KINDS)
        if other.id != run.id and other.results
    ]  # fmt: skip
    if not others:
        return
    with card("Compare with", testid="compare"), ui.element("ul").classes("links"):
        for other in others[:10]:
            with ui.element("li"):
                with ui.element("a").props(f'href="/law/{run.id}?with={other.id}"'):
                    text(_short(other), "link-title")
                best = other.bests[-1].get("formula", "") if other.bests else ""
                text(best[:80], "soft small mono")


VIEW = View("law", "Law", "functions", build)
