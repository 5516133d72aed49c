"""What the user knows: switches that start a second search beside the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._records import Run
from ...pages import Page, card, notice, text
from ..tables import LIMITS

_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "power")
_KNOWN = {"R": 8.31446261815324, "g": 9.80665, "kB": 1.380649e-23, "c": 299792458.0}
_MANY = 200


def again(page: Page, run: Run, names: list[str], target: str) -> None:
    """Put the switches on the page, and the button that starts the second search."""
    from nicegui import ui

    options = dict(run.options)
    constants: dict[str, float] = dict(options.get("constants") or {})

    def start() -> None:
        asked = options | {
            "without": [name for name, box in forbidden.items() if box.value],
            "positive": list(positive.value or []),
            "constants": dict(constants),
            "loss": "robust" if robust.value else "squares",
            "time_limit": float(limit.value),
        }
        title = f"law of {target}{_about(asked)}"
        new = page.work.start("discover", run.table, asked, title=title, beside=run.id)
        page.go(f"/law/{new.id}")

    with (
        card("What do you know?", testid="again", about="A second search runs beside this one."),
        ui.element("div").classes("stack tight"),
    ):
        text("The law has no", "label")
        with ui.element("div").classes("row-line checks"):
            forbidden = {
                name: ui.checkbox(name, value=name in options.get("without", ())).props(
                    f'dense data-testid="forbid-{name}"'
                )
                for name in _FUNCTIONS
            }
        choices = [target, *names[:_MANY]]
        positive = ui.select(
            choices, multiple=True, label="This is positive",
            value=[n for n in options.get("positive", ()) if n in choices],
        ).props('outlined dense use-chips data-testid="positive"')  # fmt: skip
        _constants(constants, {target, *names})
        robust = ui.switch(
            "Some rows may be wrong: find outliers", value=options.get("loss") == "robust"
        ).props('dense data-testid="robust"')
        before = float(options.get("time_limit") or 60)
        times = LIMITS if before in LIMITS else {before: f"{before:g} seconds", **LIMITS}
        limit = ui.select(times, value=before, label="Time")
        limit.props("outlined dense")
        ui.button("Search beside it", icon="search", on_click=start).props(
            'no-caps unelevated data-testid="search-beside"'
        )


def _constants(constants: dict[str, float], taken: set[str]) -> None:
    """Put the constants on the page: R and others by a switch, any other by name and value."""
    from nicegui import ui

    text("I know", "label")
    with ui.element("div").classes("row-line checks"):
        for name, value in _KNOWN.items():
            if name not in taken:
                box = ui.checkbox(f"{name} = {value:.6g}", value=name in constants)
                box.props(f'dense data-testid="know-{name}"')
                box.on_value_change(
                    lambda event, n=name, v=value: _set(constants, n, v if event.value else None)
                )
    with ui.element("div").classes("row-line"):
        named = ui.input("Name").props("outlined dense").classes("short")
        typed = ui.input("Value").props("outlined dense").classes("short")
        told = ui.element("div")

        def add() -> None:
            told.clear()
            try:
                _set(constants, str(named.value or "").strip(), float(typed.value or "nan"))
            except ValueError:
                with told:
                    notice("A constant needs a name and a number.", "bad")
                return
            with told:
                text(", ".join(f"{n} = {v:.6g}" for n, v in constants.items()), "small")

        ui.button("Add", on_click=add).props("outline no-caps dense")


def _set(constants: dict[str, float], name: str, value: float | None) -> None:
    if value is None:
        constants.pop(name, None)
    elif name.isidentifier() and value == value and value:
        constants[name] = value
    else:
        raise ValueError(name)


def _about(asked: Mapping[str, Any]) -> str:
    """Return what is asked of a search beside the first, for its title."""
    parts = [f"no {name}" for name in asked["without"]]
    parts += [f"{name} positive" for name in asked["positive"]]
    parts += [f"{name} known" for name in asked["constants"]]
    parts += ["robust"] if asked["loss"] == "robust" else []
    return f", {', '.join(parts)}" if parts else ", again"
