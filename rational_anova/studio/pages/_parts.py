"""Small parts that views share. Whatever comes from a table is text here, never HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ..._core.display import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._records import Run

_LONGEST = 200  # letters of a name or a cell


def text(content: object, kind: str = "", tag: str = "span") -> Any:
    """Put text on the page as it is; what would reorder or hide letters is written out.

    Args:
        content: of any origin.
        kind: classes of the style sheet, such as "soft", "mono" or "value".
        tag: of HTML.
    """
    from nicegui import ui

    shown = line(str(content))
    shown = shown if len(shown) <= _LONGEST * 10 else f"{shown[: _LONGEST * 10]}..."
    return ui.label(shown).classes(kind) if tag == "div" else _element(tag, shown, kind)


def _element(tag: str, content: str, kind: str) -> Any:
    from nicegui import ui

    shown = ui.element(tag).classes(kind)
    shown._text = content
    return shown


def heading(content: str, level: int = 2, kind: str = "") -> Any:
    """Put a heading on the page."""
    return text(content, kind, f"h{level}")


@contextmanager
def card(title: str = "", kind: str = "", testid: str = "", about: str = "") -> Iterator[Any]:
    """Open a card, with a heading if it has a title, and a line under it."""
    from nicegui import ui

    with ui.element("section").classes(f"card {kind}") as made:
        if testid:
            made._props["data-testid"] = testid
        if title:
            heading(title)
            made._props["aria-label"] = title
        if about:
            text(about, "soft", "p")
        yield made


def notice(content: str, kind: str = "info") -> Any:
    """Put a sentence on the page that is to be seen: kind is info, good, bad or warn."""
    role = "alert" if kind == "bad" else "status"
    shown = text(content, f"notice {kind}", "p")
    shown._props["role"] = role
    return shown


def numbers_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], label: str, numeric: int = 1
) -> Any:
    """Put a plain table on the page; columns from `numeric` on are numbers."""
    from nicegui import ui

    with ui.element("div").classes("scroll") as made:
        made._props.update({"tabindex": "0", "role": "region", "aria-label": label})
        with ui.element("table"):
            with ui.element("thead"), ui.element("tr"):
                for place, head in enumerate(heads):
                    _cell("th", head, place >= numeric)._props["scope"] = "col"
            with ui.element("tbody"):
                for row in rows:
                    with ui.element("tr"):
                        for place, value in enumerate(row):
                            _cell("td", value, place >= numeric)
    return made


def _cell(tag: str, value: object, numeric: bool) -> Any:
    shown = line(str(value))
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
    return _element(tag, shown, "n" if numeric else "")


def formula(svg: str | None, plain: str, kind: str = "") -> Any:
    """Put a typeset formula on the page.

    Args:
        svg: from `report.law_svg`, which is made of paths and has no text; None to show `plain`.
        plain: the formula as text, also for those who cannot see it.
        kind: further classes.
    """
    from nicegui import ui

    if svg is None:
        return text(plain, f"law plain {kind}", "p")
    # the label is escaped, all else are numbers and letters of paths
    html = f'<div role="img" aria-label="{escape(line(plain), quote=True)}">{svg}</div>'
    return ui.html(html, sanitize=False).classes(f"law math {kind}")


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for reading."""
    if value is None or not math.isfinite(value):
        return "n/a"
    return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def progress_of(run: Run) -> tuple[float | None, str]:
    """Return how far a run is: a share from 0 to 1 if it is known, and a line."""
    told = run.progress
    if run.state.value == "queued":
        return None, "waiting for a worker"
    if not told:
        return None, "starting"
    parts = [str(told.get("stage", ""))]
    left = told.get("left")
    limit = run.options.get("time_limit")
    share = told.get("part")
    if left is not None:
        parts.append(f"at most {max(left, 0):.0f} s left")
        if share is None and limit:
            share = min(max(1 - left / float(limit), 0.0), 1.0)
    if told.get("candidates"):
        parts.append(f"{told['candidates']:,} formulas tried")
    return share, " \N{MIDDLE DOT} ".join(part for part in parts if part)
