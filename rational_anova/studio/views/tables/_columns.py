"""The columns of a table: histogram, kind, range, gaps and unit, and what each is taken for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...pages import number, text

_A_PAGE = 25
_ROLES = {"target": "Target", "input": "Input", "out": "Leave out"}
_KINDS = {"number": "numbers", "text": "text", "date": "dates", "boolean": "true or false"}
_WIDE, _HIGH = 132, 44


class ColumnList:
    """The list of the columns, a page of it at a time.

    Args:
        columns: of the profile.
        role: what a column is taken for now.
        change_role: takes a column and its new role.
        unit: of a column.
        change_unit: takes a column and its new unit.
    """

    def __init__(
        self, columns: Sequence[Mapping[str, Any]], role: Callable[[str], str],
        change_role: Callable[[str, str], None], unit: Callable[[str], str],
        change_unit: Callable[[str, str], None],
    ) -> None:  # fmt: skip
        self.columns, self.role, self.change_role = columns, role, change_role
        self.unit, self.change_unit = unit, change_unit
        self.search, self.shown = "", _A_PAGE
        self._toggles: dict[str, Any] = {}

    def build(self) -> None:
        """Put the list on the page."""
        from nicegui import ui

        if len(self.columns) > _A_PAGE:
            ui.input("Find a column", on_change=self._find).props(
                'outlined dense clearable debounce=200 data-testid="find"'
            )
        self.place = ui.element("div").classes("columns").props('data-testid="columns"')
        self._fill()

    def refresh(self) -> None:
        """Show the roles as they are now."""
        for name, toggle in self._toggles.items():
            if toggle.value != self.role(name):
                toggle.value = self.role(name)

    def _find(self, event: Any) -> None:
        self.search, self.shown = str(event.value or "").casefold(), _A_PAGE
        self._fill()

    def _more(self) -> None:
        self.shown += _A_PAGE
        self._fill()

    def _fill(self) -> None:
        from nicegui import ui

        self.place.clear()
        self._toggles.clear()
        found = [c for c in self.columns if self.search in c["name"].casefold()]
        with self.place:
            for column in found[: self.shown]:
                self._row(column)
            if len(found) > self.shown:
                left = len(found) - self.shown
                ui.button(f"Show more ({left:,} left)", on_click=self._more).props("flat no-caps")
            if not found:
                text("No column has such a name.", "soft", "p")

    def _row(self, column: Mapping[str, Any]) -> None:
        from nicegui import ui

        name = column["name"]
        with ui.element("div").classes("column-row"):
            # only numbers of ours are in it
            ui.html(histogram(column), sanitize=False).classes("histogram")
            with ui.element("div").classes("column-name"):
                text(name, "column-title")
                text(about(column), "soft small")
            spoken = name[:60].replace('"', "'").replace("\\", "/")
            if column["kind"] == "number":
                unit = ui.input("Unit", value=self.unit(name)).props("dense outlined")
                unit._props["aria-label"] = f"Unit of {spoken}"
                unit.classes("unit").on(
                    "change", lambda _, u=unit, n=name: self.change_unit(n, str(u.value or ""))
                )
            else:
                ui.element("span").classes("unit")
            toggle = ui.toggle(
                _ROLES, value=self.role(name),
                on_change=lambda event, n=name: self.change_role(n, event.value),
            )  # fmt: skip
            toggle.props("unelevated no-caps toggle-color=primary")
            toggle._props.update({"role": "group", "aria-label": f"Role of {spoken}"})
            self._toggles[name] = toggle


def about(column: Mapping[str, Any]) -> str:
    """Return the kind, the range and the gaps of a column in a line."""
    parts = [_KINDS.get(column["kind"], "nothing in it")]
    if column["kind"] == "number":
        parts.append(f"{number(column['low'])} to {number(column['high'])}")
        if column.get("infinite"):
            parts.append(f"{column['infinite']:,} infinite")
    elif column["kind"] == "date" and "low" in column:
        parts.append(f"{column['low'][:10]} to {column['high'][:10]}")
    elif column.get("levels"):
        names = ", ".join(str(level)[:18] for level, _ in column["levels"][:3])
        more = ", ..." if column["unique"] > 3 else ""
        parts.append(f"{column['unique']:,} different: {names}{more}")
    if column["missing"]:
        parts.append(f"{column['missing']:,} missing")
    return " · ".join(parts)


def histogram(column: Mapping[str, Any]) -> str:
    """Return how a column is spread, as a picture that is made of numbers alone."""
    counts = column.get("bins") or [count for _, count in column.get("levels", ())]
    most = max(counts, default=0)
    if not most:
        return f'<svg width="{_WIDE}" height="{_HIGH}" aria-hidden="true"></svg>'
    step = _WIDE / len(counts)
    parts = []
    for place, count in enumerate(counts):
        high = (_HIGH - 2) * float(count) / most
        high = max(high, 1.5) if count else 0.0
        parts.append(
            f'<rect x="{place * step + 0.5:.2f}" y="{_HIGH - high:.2f}" '
            f'width="{max(step - 1, 0.5):.2f}" height="{high:.2f}" rx="1"/>'
        )
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )
