"""Pictures of a model: curves with bands and rows, surfaces, shares, one prediction taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models import Curve, Draft
from ...pages import DATA, LAW, Axis, band, escaped, faded, figure, line, listed

if TYPE_CHECKING:
    from ....anova import Effect

_ROOM = 4.0  # the histogram of the rows takes a part of so many of the height
_DRAFT = "#7a5ab5"
_RISES, _FALLS = "#2f7fc1", "#d1603d"
_DIVERGING = [[0.0, "#b3502d"], [0.5, "#e9e7e2"], [1.0, "#2a6ca6"]]
_CELLS, _LEVELS = 24, 20  # as the table of a pair's frequencies has them


def curve_figure(
    curve: Curve, scale: str, draft: Draft | None = None, height: int = 260, handles: bool = False,
    legend: bool = False, stretch: tuple[float, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the picture of an effect of one input.

    Args:
        curve: what is drawn.
        scale: what the effect is measured in.
        draft: of an edit, drawn beside it.
        height: in pixels.
        handles: whether points of the draft can be dragged.
        legend: whether curves are named.
        stretch: of the input, which is marked.
    """
    drawn = _levels(curve, draft) if curve.category else _numbers(curve, draft)
    counts = curve.counts if len(curve.counts) else np.zeros(1)
    layout: dict[str, Any] = {
        "yaxis2": {"overlaying": "y", "visible": False, "fixedrange": True,
                   "range": [0, float(counts.max() or 1) * _ROOM]},
    }  # fmt: skip
    shapes: list[dict[str, Any]] = []
    if handles and draft is not None:
        layout["dragmode"] = False
        shapes = [_handle(draft, at) for at in draft.handles]
    if stretch is not None and not curve.category:
        shapes.append({
            "type": "rect", "x0": stretch[0], "x1": stretch[1], "y0": 0, "y1": 1, "yref": "paper",
            "line": {"width": 0}, "fillcolor": faded(_DRAFT, 0.12), "layer": "below",
        })  # fmt: skip
    made = figure(drawn, curve.name, scale, shapes=shapes, height=height, legend=legend, **layout)
    axis = made["layout"]["xaxis"]
    if curve.category:
        axis |= {"type": "linear", "tickvals": listed(curve.x), "ticktext": _short(curve.labels),
                 "range": [-0.6, len(curve.x) - 0.4], "gridcolor": "rgba(0,0,0,0)"}  # fmt: skip
    elif curve.labels:
        at = np.unique(np.linspace(0, len(curve.x) - 1, 5).astype(int))
        axis |= {"tickvals": listed(curve.x[at]), "ticktext": [curve.labels[k] for k in at]}
    elif len(curve.edges):
        low, high = float(curve.edges[0]), float(curve.edges[-1])
        axis["range"] = [low - 0.02 * (high - low), high + 0.02 * (high - low)]
    if handles:
        made["config"] = {**made["config"], "edits": {"shapePosition": True}}
        for name in ("xaxis", "yaxis"):
            made["layout"][name]["fixedrange"] = True
    return made


def _numbers(curve: Curve, draft: Draft | None) -> list[dict[str, Any]]:
    width = np.diff(curve.edges)
    middle = (curve.edges[1:] + curve.edges[:-1]) / 2
    traces = [_rows(middle, curve.counts, listed(width))]
    if len(curve.low):
        traces += band(curve.x, curve.low, curve.high, "95 % band")
    traces.append(line(curve.x, curve.effect, "effect" if draft is None else "as it is"))
    if draft is not None and draft.changed:
        traces.append(line(draft.x, draft.after, "with the draft", _DRAFT, dash="dash"))
    return traces


def _levels(curve: Curve, draft: Draft | None) -> list[dict[str, Any]]:
    error = None
    if len(curve.low):
        error = {"type": "data", "array": listed(curve.high - curve.effect), "thickness": 1.5,
                 "color": LAW, "width": 5}  # fmt: skip
    traces = [_rows(curve.x, curve.counts, 0.9), {
        "type": "scatter", "mode": "markers", "x": listed(curve.x), "y": listed(curve.effect),
        "name": "effect" if draft is None else "as it is", "error_y": error,
        "marker": {"color": LAW, "size": 10, "symbol": "square"},
    }]  # fmt: skip
    if draft is not None and draft.changed:
        traces.append({
            "type": "scatter", "mode": "markers", "x": listed(draft.x), "y": listed(draft.after),
            "name": "with the draft", "marker": {"color": _DRAFT, "size": 11, "symbol": "diamond"},
        })  # fmt: skip
    return traces


def _rows(x: Any, counts: Any, width: Any) -> dict[str, Any]:
    return {
        "type": "bar", "x": listed(x), "y": listed(counts), "width": width, "yaxis": "y2",
        "name": "share of the rows", "marker": {"color": faded(DATA, 0.28)},
        "hovertemplate": "%{y:.1%} of the rows<extra></extra>",
    }  # fmt: skip


def _handle(draft: Draft, at: int) -> dict[str, Any]:
    """A point that can be dragged, of the same size however the figure is scaled."""
    return {
        "type": "circle", "xsizemode": "pixel", "ysizemode": "pixel", "editable": True,
        "xanchor": float(draft.x[at]), "yanchor": float(draft.after[at]),
        "x0": -8, "x1": 8, "y0": -8, "y1": 8,
        "line": {"color": _DRAFT, "width": 2}, "fillcolor": faded(_DRAFT, 0.35),
    }  # fmt: skip


def surface_figure(effect: Effect, output: int = 0) -> dict[str, Any]:
    """Return the picture of a pair: blank where no rows were."""
    from ....anova import cells

    table = effect.grid(_CELLS, _LEVELS)
    if effect.classes:
        table = table[table["class"] == effect.classes[output]]
    columns = [name for name in table.columns if name not in ("class", "effect", "lower", "upper")]
    points = [one.points(_CELLS, _LEVELS, even=True) for one in effect.seen]
    z = table["effect"].to_numpy(float).reshape(len(points[0]), len(points[1]))
    if effect.table is not None and effect.table.shape == z.shape:
        z = np.where(effect.table > 0, z, np.nan)
    axes = []
    for one, values in zip(effect.seen, points, strict=True):
        labels = _short([str(v)[:10] for v in one.readable(values)])
        text = one.category or one.part == "day"
        axes.append(labels if text else listed(values))
        assert len(cells(one)) > 1
    height = float(effect.heights[output]) or 1.0
    bar = {"title": {"text": "adds"}, "thickness": 12, "len": 0.9, "outlinewidth": 0}
    trace = {
        "type": "heatmap", "x": axes[0], "y": axes[1], "z": [listed(row) for row in z.T],
        "zmin": -height, "zmax": height, "colorscale": _DIVERGING, "colorbar": bar,
        "hoverongaps": False, "hovertemplate": "%{x}, %{y}: %{z:.3g}<extra></extra>",
    }  # fmt: skip
    return figure([trace], columns[0], columns[1], height=300, legend=False)


def shares_figure(effects: Sequence[Effect]) -> dict[str, Any]:
    """Return the shares of effects as bars, the largest on top."""
    shown = [effect for effect in effects if np.isfinite(effect.share)][:15][::-1]
    trace = {
        "type": "bar", "orientation": "h", "x": [effect.share for effect in shown],
        "y": _short([effect.name for effect in shown], 34),
        "marker": {"color": [DATA if e.kind == "main" else "#7a5ab5" for e in shown]},
        "text": [f"{effect.share:.1%}" for effect in shown], "textposition": "outside",
        "cliponaxis": False, "hoverinfo": "skip",
    }  # fmt: skip
    height = 80 + 26 * max(len(shown), 1)
    made = figure([trace], "share of the variance", "", height=height, legend=False)
    most = max([effect.share for effect in shown], default=1.0)
    least = min([effect.share for effect in shown], default=0.0)
    low = least - 0.16 * most if least < -0.0005 else -0.01 * most
    made["layout"]["xaxis"] |= {
        "tickformat": ".0%",
        "fixedrange": True,
        "range": [low, 1.16 * most],
    }
    made["layout"]["yaxis"] |= {"fixedrange": True, "ticks": ""}
    made["layout"]["margin"] = {"l": 10, "r": 46, "t": 6, "b": 42}
    return made


def parts_figure(parts: Sequence[tuple[str, float]], scale: str) -> dict[str, Any]:
    """Return what each effect adds to one prediction, as bars, the largest on top."""
    shown = list(parts[:12])
    rest = sum(value for _, value in parts[12:])
    if len(parts) > 12:
        shown.append((f"{len(parts) - 12} more", rest))
    shown = shown[::-1]
    values = [value for _, value in shown]
    trace = {
        "type": "bar", "orientation": "h", "x": values, "y": _short([n for n, _ in shown], 40),
        "marker": {"color": [_RISES if value >= 0 else _FALLS for value in values]},
        "text": [f"{value:+.3g}" for value in values], "textposition": "outside",
        "cliponaxis": False, "hoverinfo": "skip",
    }  # fmt: skip
    made = figure([trace], Axis(f"adds to {scale}"), "", height=70 + 27 * len(shown), legend=False)
    for name in ("xaxis", "yaxis"):
        made["layout"][name] |= {"fixedrange": True, "ticks": ""}
    most = max([abs(value) for value in values], default=1.0) or 1.0
    low = -1.45 * most if min(values, default=0) < 0 else -0.02 * most
    high = 1.45 * most if max(values, default=0) > 0 else 0.02 * most
    made["layout"]["xaxis"] |= {"range": [low, high], "zeroline": True}
    made["layout"]["margin"] = {"l": 10, "r": 30, "t": 6, "b": 42}
    return made


def _short(labels: Sequence[str], most: int = 16) -> list[str]:
    """Return labels that are short and still differ."""
    cut = [
        name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
        for name in labels
    ]
    if len(set(cut)) < len(cut):
        cut = [f"{name} ({place + 1})" for place, name in enumerate(cut)]
    return [escaped(name) for name in cut]
