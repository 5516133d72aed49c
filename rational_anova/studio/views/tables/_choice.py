"""What is chosen of a table: target, inputs, units, filters, groups; and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ..._records import State
from ...pages import Page, card, dots, draw, figure, notice, text

_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_DRAWN = 4  # inputs that the target is drawn against
_MANY = 300  # columns: more are not listed in a menu
LIMITS = {20.0: "20 seconds", 60.0: "1 minute", 300.0: "5 minutes", 1200.0: "20 minutes"}


class Chooser:
    """The choice of a table, kept in the workspace whenever it changes.

    Args:
        page: that shows it.
        profile: of the table.
    """

    def __init__(self, page: Page, profile: Mapping[str, Any]) -> None:
        self.page, self.profile, self.table = page, profile, page.item
        self.choice = page.workspace.choice(page.item)
        self.columns = {column["name"]: column for column in profile["columns"]}
        self.refresh_roles: Any = None
        self._checked = ""

    # -- roles and units of columns

    def role(self, name: str) -> str:
        """Return what a column is taken for."""
        if name == self.choice.target:
            return "target"
        return "input" if name in self.choice.inputs else "out"

    def change_role(self, name: str, role: str) -> None:
        """Take a column for something else; there is one target, and the old one is an input."""
        if role == self.role(name):
            return
        before = self.choice
        inputs = [n for n in before.inputs if n != name]
        target = "" if before.target == name else before.target
        if role == "target":
            inputs += [before.target] if before.target and before.target != name else []
            target = name
        elif role == "input":
            inputs.append(name)
        ordered = tuple(n for n in self.columns if n in set(inputs))
        by = "" if before.by in (target, *ordered) else before.by
        sigma = "" if before.sigma in (target, *ordered) else before.sigma
        self.set(target=target, inputs=ordered, by=by, sigma=sigma)

    def unit(self, name: str) -> str:
        """Return the unit of a column; empty if it has none."""
        return str(self.choice.units.get(name, ""))

    def change_unit(self, name: str, unit: str) -> None:
        """Give a column a unit."""
        units = {**self.choice.units, name: unit.strip()}
        self.set(units={n: u for n, u in units.items() if u})

    def set(self, **changes: Any) -> None:
        """Change the choice, keep it, and look again what is left out."""
        self.choice = replace(self.choice, **changes)
        self.page.workspace.choose(self.table, self.choice)
        if self.refresh_roles is not None:
            self.refresh_roles()
        self._fill_side()
        self.check()

    # -- the side

    def build(self) -> None:
        """Put the choice on the page: what to find, filters, groups, and the buttons to begin."""
        from nicegui import ui

        with card("What to find", testid="choice"):
            self.side = ui.element("div").classes("stack tight")
        self._fill_side()
        with card("What is used", testid="used"):
            self.used = ui.element("div").classes("stack tight")

    def _fill_side(self) -> None:
        from nicegui import ui

        self.side.clear()
        with self.side:
            self._sentence()
            self._menus()
            self._filters()
            ready = bool(self.choice.target and self.choice.inputs)
            limits = ui.select(LIMITS, value=60.0, label="Time for the search")
            limits.props('outlined dense data-testid="limit"')
            with ui.element("div").classes("row-line"):
                find = ui.button(
                    "Find the law", icon="search", on_click=lambda: self._find(limits.value)
                ).props('no-caps unelevated data-testid="find-law"')
                find.set_enabled(ready)
                fit = ui.button(
                    "Fit a model", on_click=lambda: self.page.go(f"/model/{self.table}")
                )
                fit.props('no-caps outline data-testid="fit-model"').set_enabled(ready)

    def _sentence(self) -> None:
        choice = self.choice
        if not choice.target:
            notice("Choose a target: the column to explain.", "warn")
            return
        shown = ", ".join(choice.inputs[:6]) + (", ..." if len(choice.inputs) > 6 else "")
        text(f"{choice.target} = f({shown})", "mono formula-line", "p")
        if not choice.inputs:
            notice("Choose at least one input.", "warn")

    def _menus(self) -> None:
        from nicegui import ui

        taken = {self.choice.target, *self.choice.inputs}
        free = [name for name in self.columns if name not in taken][:_MANY]
        numbers = [n for n in free if self.columns[n]["kind"] == "number"]
        for label, names, key in (
            ("Groups: experiments that share one law", free, "by"),
            ("Standard errors of the target", numbers, "sigma"),
        ):
            value = getattr(self.choice, key)
            if names or value:
                options = {"": "none", **{name: name for name in [*names, value] if name}}
                ui.select(
                    options, value=value, label=label,
                    on_change=lambda event, k=key: self.set(**{k: event.value}),
                ).props(f'outlined dense options-dense data-testid="{key}"')  # fmt: skip

    def _filters(self) -> None:
        from nicegui import ui

        for condition in self.choice.where:
            with ui.element("div").classes("row-line between"):
                text(f"only rows with {condition}", "small")
                gone = tuple(c for c in self.choice.where if c != condition)
                ui.button(icon="close", on_click=lambda _, g=gone: self.set(where=g)).props(
                    'flat round dense size=sm aria-label="Remove this filter"'
                )
        names = list(self.columns)[:_MANY]
        unfolded = ui.expansion("Filter rows", icon="filter_alt").classes("plain-expansion")
        with unfolded, ui.element("div").classes("stack tight"):
            name = ui.select(names, value=names[0], label="Column").props("outlined dense")
            sign = ui.select(list(_SIGNS), value="=", label="Comparison")
            sign.props("outlined dense")
            value = ui.input("Value").props('outlined dense data-testid="filter-value"')

            def add() -> None:
                if str(value.value or "").strip():
                    condition = f"{name.value}{sign.value}{str(value.value).strip()}"
                    self.set(where=tuple(dict.fromkeys([*self.choice.where, condition])))

            ui.button("Add the filter", on_click=add).props(
                'no-caps outline data-testid="filter-add"'
            )

    def _find(self, limit: float) -> None:
        options = {"choice": asdict(self.choice), "time_limit": float(limit), "units": True}
        run = self.page.work.start(
            "discover", self.table, options, title=f"law of {self.choice.target}"
        )
        self.page.go(f"/law/{run.id}")

    # -- what is used, and what is left out

    def check(self) -> None:
        """Let a worker look what a search would leave out, and show it."""
        self.used.clear()
        if not (self.choice.target and self.choice.inputs):
            return
        with self.used:
            text("looking ...", "soft")
            run = self.page.work.start("check", self.table, {"choice": asdict(self.choice)})
            self._checked = run.id
            self.page.follow(run.id, self._show_check)

    def _show_check(self, run: Any) -> None:
        if run.state.under_way or run.id != self._checked:
            return
        self.used.clear()
        told = run.progress
        with self.used:
            if run.state is not State.DONE:
                notice(run.message, "bad")
            else:
                count = len(told["inputs"])
                text(f"{told['rows']:,} rows and {count} input{'s' * (count != 1)}.", "", "p")
                for note in told["notes"][:12]:
                    text(note, "small", "p")
                if len(told["notes"]) > 12:
                    text(f"... and {len(told['notes']) - 12:,} more like this.", "soft small", "p")
                if not told["notes"]:
                    text("Nothing is left out.", "soft small", "p")
                self._sample(told)
        self.page.work.remove(run.id)

    def _sample(self, told: Mapping[str, Any]) -> None:
        for name, x in list(told.get("sample", {}).items())[:_DRAWN]:
            draw(
                figure(
                    [dots(x, told["y"], "rows", marker={"size": 4})], name, self.choice.target,
                    height=190, legend=False, margin={"l": 52, "r": 8, "t": 6, "b": 40},
                ),
                f"{self.choice.target} against {name}",
            )  # fmt: skip
