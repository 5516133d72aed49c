"""The Model view: fit a model, look at its effects, ask what if, edit it by hand, take it away."""

from __future__ import annotations

from typing import Any

from .._records import Run, State
from ..models import Session, opened
from ..pages import Page, View, card, heading, may_be_hidden, notice, progress_of, text
from .models import Editor, WhatIf, begin, card_and_exports, effects, tables_and_models

_TABS = (
    ("effects", "Effects", "show_chart"),
    ("edit", "Edit by hand", "edit"),
    ("whatif", "What if", "tune"),
    ("card", "Card and files", "description"),
)


def build(page: Page) -> None:
    """Fill the page: all tables and models, a table, or a model."""
    may_be_hidden()
    if not page.item:
        heading("Model", 1)
        text("A sum of curves and surfaces, one for each input or pair, that predicts a column and "
             "can be interpreted, proved and edited.", "soft lead", "p")  # fmt: skip
        tables_and_models(page)
        return
    try:
        if len(page.item) == 16:
            begin(page)
        else:
            _run(page, page.work.runs[page.item])
    except KeyError:
        heading("There is no such model", 1)
        tables_and_models(page)


def _run(page: Page, run: Run) -> None:
    from nicegui import ui

    if run.kind != "fit_model":
        heading("That run is no model", 1)
        tables_and_models(page)
        return
    with ui.element("div").classes("row-line between"):
        heading(run.title, 1)
        with ui.element("a").props(f'href="/model/{run.table}"'):
            text("Fit another one to this table")
    place = ui.element("div").classes("stack").props('data-testid="model-run"')

    async def changed(now: Run) -> None:
        if now.state is State.DONE or (now.state is State.CANCELLED and now.results):
            place.clear()
            with place:
                await _model(page, now)
        elif now.state.under_way and bar:
            _progress(now, bar, line)
        elif not now.state.under_way:
            place.clear()
            with place:
                notice(now.message or f"The fit was {now.state}.",
                       "bad" if now.state is State.FAILED else "warn")  # fmt: skip
                ui.button("Fit it again", icon="refresh", on_click=again)

    def again() -> None:
        page.go(f"/model/{page.work.again(run.id).id}")

    bar: Any = None
    line: Any = None
    if run.state.under_way:
        with place, card("Fitting", testid="model-progress"):
            line = text("", "soft", "p")
            line._props["aria-live"] = "polite"
            bar = ui.linear_progress(0, show_value=False)
            bar.props('aria-label="Fitting the model"')
            ui.button("Stop, and keep the model so far", icon="stop",
                      on_click=lambda: page.work.cancel(run.id)).props(
                'outline data-testid="model-cancel"').style("margin-top:12px")  # fmt: skip
    page.follow(run.id, changed)


def _progress(run: Run, bar: Any, line: Any) -> None:
    part, said = progress_of(run)
    line._text = said
    line.update()
    bar.props("indeterminate" if part is None else "indeterminate=false")
    bar.set_value(part or 0.0)


async def _model(page: Page, run: Run) -> None:
    """Show a fitted model in tabs; what is not looked at is not made."""
    from nicegui import run as threads
    from nicegui import ui

    with ui.row().classes("row-line") as waiting:
        ui.spinner()
        text("opening the model", "soft")
    try:
        found = await threads.io_bound(opened, page.workspace.run_folder(run.id))
    except (ValueError, OSError, KeyError) as error:
        waiting.set_visibility(False)
        notice(f"The model cannot be opened: {error}", "bad")
        return
    waiting.set_visibility(False)
    if found is None:  # the studio is being closed
        return
    session: Session = found
    if run.message:
        notice(run.message, "warn")
    first = page.query.get("tab", "effects")
    names = [name for name, _, _ in _TABS]
    first = first if first in names else names[0]
    with (
        ui.tabs()
        .props('dense align="left" no-caps outside-arrows mobile-arrows')
        .classes("model-tabs") as tabs
    ):
        for name, label, icon in _TABS:
            ui.tab(name, label=label, icon=icon).props(f'data-testid="tab-{name}"')
    stale: dict[str, Any] = {}
    places: dict[str, Any] = {}

    def open_tab(name: str) -> None:
        """Fill a tab when it is first looked at, and again after an edit."""
        place = places[name]
        if stale.get(name) == session.version:
            return
        if name == "edit" and name in stale:
            return  # it keeps itself up to date
        stale[name] = session.version
        place.clear()
        with place:
            if name == "effects":
                effects(session)
            elif name == "edit":
                Editor(page, session, lambda: None).build()
            elif name == "whatif":
                WhatIf(session).build()
            else:
                card_and_exports(session)

    with ui.tab_panels(tabs).props("animated=false").classes("model-panels"):
        for name in names:
            with ui.tab_panel(name):
                places[name] = ui.element("div").classes("stack full")
    tabs.on_value_change(lambda event: open_tab(str(event.value)))
    tabs.set_value(first)


VIEW = View("model", "Model", "tune", build)
