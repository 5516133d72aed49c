"""Figures from numbers: plotly's, in colours that read on light and dark ground alike.

What is ink (text, axes, grid) takes its colour from the page by CSS, so that a figure need not
know whether the page is dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DATA, LAW, GOOD, BAD = "#4a90d9", "#e0762c", "#2f9e77", "#d03a3a"
COLOURS = (LAW, "#7a5ab5", "#2f9e77", "#b0477e", "#8a7a1c", "#1aa5b8")
SCALE = "Viridis"
_FADED = "rgba(128,128,128,0.25)"
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"


class Axis(NamedTuple):
    """An axis: its title, and whether it is logarithmic."""

    title: str = ""
    log: bool = False
    range: tuple[float, float] | None = None


def dots(x: Any, y: Any, name: str = "data", colour: str = DATA, **more: Any) -> dict[str, Any]:
    """Measurements as dots, smaller the more there are."""
    size = 8 if len(x) < 60 else 6 if len(x) < 300 else 4
    marker = {"color": colour, "size": size, "opacity": 0.85 if len(x) < 300 else 0.6}
    marker |= more.pop("marker", {})
    return _trace(x, y, name, mode="markers", marker=marker, **more)


def line(
    x: Any, y: Any, name: str, colour: str = LAW, dash: str = "solid", width: float = 2.5,
    **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """A curve; it is broken where y has no value."""
    style = {"color": colour, "dash": dash, "width": width}
    return _trace(x, y, name, mode="lines", line=style, **more)


def band(
    x: Any, low: Any, high: Any, name: str, colour: str = LAW, strength: float = 0.18
) -> list[dict[str, Any]]:
    """The room between two curves, in front of nothing: put it before the curve itself."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    below = _trace(x, low, "", showlegend=False, **edge)
    above = _trace(x, high, name, fill="tonexty", fillcolor=faded(colour, strength), **edge)
    return [below, above]


def bars(x: Any, y: Any, name: str = "", colour: str = DATA, **more: Any) -> dict[str, Any]:
    """Bars, as of a histogram."""
    return {
        "type": "bar", "x": listed(x), "y": listed(y), "name": escaped(name),
        "marker": {"color": colour, "opacity": 0.75}, **more,
    }  # fmt: skip


def rule(
    at: float, colour: str = "#808080", dash: str = "dot", upright: bool = True, label: str = ""
) -> dict[str, Any]:
    """A straight line across the figure, as a shape: of a pole, a limit, zero."""
    ends = {"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"}
    if not upright:
        ends = {"y0": at, "y1": at, "x0": 0, "x1": 1, "xref": "paper"}
    shape: dict[str, Any] = {"type": "line", **ends, "line": {"color": colour, "dash": dash}}
    if label:
        shape["label"] = {"text": escaped(label), "textposition": "end", "font": {"color": colour}}
    return shape


def figure(
    traces: Sequence[Mapping[str, Any]],
    x: Axis | str = "",
    y: Axis | str = "",
    *,
    shapes: Sequence[Mapping[str, Any]] = (),
    height: int = 320,
    legend: bool = True,
    small: bool = False,
    **layout: Any,
) -> dict[str, Any]:
    """Return a figure as plotly.js takes it.

    Args:
        traces: of this module, or plotly's own.
        x: title of the axis, or an `Axis`.
        y: the same.
        shapes: such as `rule`.
        height: in pixels.
        legend: whether names of traces are shown.
        small: without axes, as the histogram of a column.
        layout: further entries of plotly's layout.
    """
    empty = {"visible": False, "fixedrange": True}
    return {
        "data": [dict(trace) for trace in traces],
        "layout": {
            "height": height,
            "autosize": True,
            "margin": dict.fromkeys("lrtb", 4) if small else {"l": 58, "r": 16, "t": 12, "b": 46},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": _FONT, "size": 13},
            "xaxis": empty if small else _axis(x),
            "yaxis": empty if small else _axis(y),
            "showlegend": legend and not small,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "hovermode": "closest",
            "shapes": [dict(shape) for shape in shapes],
            "bargap": 0.06,
            **layout,
        },
        "config": {"displayModeBar": False, "responsive": True, "displaylogo": False},
    }


def draw(content: Mapping[str, Any], label: str, testid: str = "") -> Any:
    """Put a figure on the page; `update_figure` of what is returned changes it.

    Args:
        content: from `figure`.
        label: what it shows, for those who cannot see it.
        testid: by which tests find it.
    """
    from nicegui import ui

    # the figure is a picture to a screen reader: its label says what is in it
    shown = ui.plotly(dict(content)).classes("figure")
    shown._props["role"] = "img"
    shown._props["aria-label"] = label
    if testid:
        shown._props["data-testid"] = testid
    return shown


def may_be_hidden() -> None:
    """Say on a page with tabs that figures may be hidden: resizing a hidden one is no error."""
    from nicegui import ui

    ui.add_head_html(
        "<script>addEventListener('unhandledrejection', e => {"
        "if (/displayed plot div/.test(String(e.reason))) e.preventDefault()})</script>"
    )


def escaped(label: str) -> str:
    """Return text as plotly shows it as it is: it knows some tags, and MathJax between dollars."""
    kept = str(label).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return kept.replace("$", "\N{FULLWIDTH DOLLAR SIGN}")


def faded(colour: str, strength: float) -> str:
    """Return a colour #rrggbb with some of the ground shining through."""
    r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({r},{g},{b},{strength})"


def listed(values: Any) -> list[Any]:
    """Return numbers as JSON has them: what is not finite is a gap."""
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    bad = (float("inf"), float("-inf"))
    return [None if isinstance(v, float) and (v != v or v in bad) else v for v in found]


def _trace(x: Any, y: Any, name: str, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "x": listed(x), "y": listed(y), "name": escaped(name), **more}


def _axis(axis: Axis | str) -> dict[str, Any]:
    axis = Axis(axis) if isinstance(axis, str) else axis
    found: dict[str, Any] = {
        "title": {"text": escaped(axis.title), "standoff": 8},
        "gridcolor": _FADED,
        "zeroline": False,
        "linecolor": _FADED,
        "ticks": "outside",
        "tickcolor": _FADED,
        "automargin": True,
        "exponentformat": "power",
    }
    if axis.log:
        found |= {"type": "log", "dtick": "D2", "minor": {"showgrid": False}}
    if axis.range is not None:
        found["range"] = list(axis.range)
    return found
