"""Two laws side by side: what each says, their errors, and both curves over the data."""

from __future__ import annotations

import asyncio
from typing import Any

from ...pages import card, formula, number, numbers_table, text
from ._opened import Opened
from ._result import Slices


async def comparison(first: Opened, second: Opened, titles: tuple[str, str]) -> None:
    """Put two laws of one table on the page."""
    from nicegui import ui

    from ....discovery.law import short

    with ui.element("div").classes("grid"):
        for one, title in zip((first, second), titles, strict=True):
            with card(title):
                text(str(one.law.grade), "badge")
                formula(one.svg, f"{one.law.target} = {short(one.law.rounded())}", "small")
                text(one.law.trust, "small", "p")
    same = first.law.names.columns == second.law.names.columns
    if same and first.law.target == second.law.target:
        await Slices([first, second]).build()
    verdict = await asyncio.to_thread(_verdict, first, second)
    with card("How they differ", testid="apart"):
        text(verdict, "", "p")
        rows = [(name, *values) for name, *values in _rows(first, second)]
        numbers_table(("", *titles), rows, "Comparison in numbers")


def _verdict(first: Opened, second: Opened) -> str:
    try:
        same = first.law.equals(second.law)
    except (ValueError, TypeError, KeyError, NotImplementedError):
        return "They are laws of different tables."
    if same:
        return "They are the same law."
    if getattr(same, "numeric", False):
        return "They differ as formulas, and agree on the data to three digits."
    return "They are different laws."


def _rows(first: Opened, second: Opened) -> list[tuple[Any, ...]]:
    laws = (first.law, second.law)
    told: list[tuple[str, Any]] = [
        ("Operations", lambda law: law.complexity),
        (
            "Fitted numbers",
            lambda law: sum(p.exact is None and not p.given for p in law.parameters),
        ),
        ("Error / spread", lambda law: number(law.evidence.error, 3)),
        ("Error on held-out rows", lambda law: number(law.evidence.held_out, 3)),
        ("Error outside", lambda law: number(law.evidence.extrapolation, 3)),
        ("Formulas tried", lambda law: f"{law.evidence.candidates:,}"),
        (
            "Proven to be defined on the whole box",
            lambda law: "yes" if law.domain.certified else "no",
        ),
    ]
    return [(name, *(value(law) for law in laws)) for name, value in told]
