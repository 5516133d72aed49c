"""The figures of a law: along an input with bands and poles, residuals, the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...pages import COLOURS, Axis, band, dots, escaped, figure, line, rule

if TYPE_CHECKING:
    from ....discovery import Law
    from ._opened import Opened

_BAD, _GREY = "#d03a3a", "rgba(128,128,128,0.09)"
_NEAR = 3.0  # heights of the picture that a curve may leave it by: beyond, it is a pole
_FLOOR = 1e-16  # where rounding ends


def used_inputs(shown: Opened) -> list[int]:
    """Return the places of the inputs that vary in the formula, or the first of all."""
    law = shown.law
    parts = enumerate(zip(law.names.symbols, law.box, strict=True))
    found = [n for n, (s, (low, high)) in parts if law.formula.has(s) and high > low]
    return found or [0]


def middle(shown: Opened) -> list[float]:
    """Return the middle of every input in the data."""
    import numpy as np

    if shown.rows is not None and len(shown.rows):
        return [float(v) for v in np.median(shown.rows.X, axis=0)]
    return [(low + high) / 2 for low, high in shown.law.box]


def along(shown: Sequence[Opened], place: int, at: Sequence[float]) -> dict[str, Any]:
    """Draw one law, or several over each other, along an input while the others are held.

    Bands hold 95%: the inner one the law, the outer one a new measurement. Beyond the data the
    ground is grey and the curve dashed; poles are upright lines.
    """
    import numpy as np

    from ....discovery.law import Curve, label

    first = shown[0]
    law = first.law
    parts = Curve(law, first.rows, place, np.array(at, dtype=float))
    ends = parts.ends()
    traces: list[Any] = []
    if len(shown) == 1:
        traces += _bands(law, parts, ends)
    for number, one in enumerate(shown):
        colour, told = COLOURS[number % len(COLOURS)], _called(one, number, len(shown))
        for grid, dash in ((parts.before, "dash"), (parts.inner, "solid"), (parts.after, "dash")):
            y = _seen(one.law.predict(parts.at(grid)), ends)
            traces.append(line(grid, y, told, colour, dash, showlegend=dash == "solid"))
    if parts.points is not None:
        name = "data" if len(law.names) == 1 else "data, moved to this slice"
        out = first.rows.outliers
        x = first.rows.X[:, place]
        traces.append(dots(x[~out], parts.points[~out], name))
        if out.any():
            marker = {"symbol": "x", "size": 9, "opacity": 1}
            traces.append(dots(x[out], parts.points[out], "outliers", _BAD, marker=marker))
    poles = _poles(law, place, at, float(parts.before[0]), float(parts.after[-1]))
    shapes = [_ground(parts.before), _ground(parts.after)]
    shapes += [rule(pole, _BAD, "dash") for pole in poles]
    if poles:
        traces.append(line([None], [None], "pole", _BAD, "dash", 1.5))
    return figure(
        traces,
        Axis(label(law, law.names.columns[place]), parts.x_log),
        Axis(label(law, law.target), parts.y_log, _range(ends, parts.y_log)),
        shapes=shapes,
        height=400,
    )


def _bands(law: Law, parts: Any, ends: Any) -> list[Any]:
    import numpy as np

    found: list[Any] = []
    for noise, strength, name in ((True, 0.1, "new measurement, 95%"), (False, 0.3, "law, 95%")):
        low, high = law.predict_interval(parts.at(parts.whole), noise=noise)
        if (np.isfinite(low) & np.isfinite(high) & (high > low)).any():
            found += band(
                parts.whole, _clipped(low, ends), _clipped(high, ends), name, strength=strength
            )
    return found


def _called(one: Opened, number: int, count: int) -> str:
    named = one.law.name or ("this formula" if one.other else "law")
    return f"{number + 1}: {named}" if count > 1 else named


def _seen(values: Any, ends: Any) -> Any:
    """Break a curve where it leaves the picture by far."""
    import numpy as np

    if ends is None:
        return values
    reach = _NEAR * (ends[1] - ends[0])
    with np.errstate(all="ignore"):
        return np.where((values > ends[0] - reach) & (values < ends[1] + reach), values, np.nan)


def _clipped(values: Any, ends: Any) -> Any:
    """Keep a band near the picture: plotly fills to wherever its edge goes."""
    import numpy as np

    if ends is None:
        return values
    reach = _NEAR * (ends[1] - ends[0])
    low = ends[0] - reach
    return np.clip(values, max(low, ends[0] / 10) if ends[0] > 0 else low, ends[1] + reach)


def _poles(law: Law, place: int, at: Sequence[float], low: float, high: float) -> list[float]:
    from ....discovery.law import poles

    symbol = law.names.symbols[place]
    held = {s: float(v) for s, v in zip(law.names.symbols, at, strict=True) if s != symbol}
    formula = law.formula.subs(held)
    if not formula.has(symbol) or not low < high:
        return []
    try:
        return [float(pole) for pole in poles(formula, (symbol,), ((low, high),))][:8]
    except (ValueError, TypeError, NotImplementedError):
        return []  # bounds do not know one of its functions


def _ground(grid: Any) -> dict[str, Any]:
    return {
        "type": "rect", "x0": float(grid[0]), "x1": float(grid[-1]), "y0": 0, "y1": 1,
        "yref": "paper", "fillcolor": _GREY, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def _range(ends: Any, log: bool) -> tuple[float, float] | None:
    import math

    if ends is None:
        return None
    return (math.log10(ends[0]), math.log10(ends[1])) if log else ends


def comparison(shown: Opened) -> dict[str, Any]:
    """Draw what was measured against what the law says."""
    from ....discovery.law import label, logarithmic

    rows, law = shown.rows, shown.law
    log = bool((rows.y > 0).all() and (rows.said > 0).all() and logarithmic(rows.y))
    ends = [float(min(rows.y.min(), rows.said.min())), float(max(rows.y.max(), rows.said.max()))]
    return figure(
        [line(ends, ends, "equal", "#808080", "dot", 1.5), dots(rows.said, rows.y, "rows")],
        Axis(label(law, law.target, " by the law"), log),
        Axis(label(law, law.target, " measured"), log),
        height=386, legend=False,
    )  # fmt: skip


def residuals(shown: Opened, place: int | None) -> dict[str, Any]:
    """Draw residuals, against an input or against what the law says."""
    from ....discovery.law import label, logarithmic, standardised

    rows, law = shown.rows, shown.law
    apart, scaled = standardised(law, rows)
    x = rows.said if place is None else rows.X[:, place]
    name = (
        label(law, law.target, " by the law")
        if place is None
        else label(law, law.names.columns[place])
    )
    shapes = [rule(0.0, upright=False)]
    if scaled:
        shapes += [rule(level, "#b0b0b0", "dash", upright=False) for level in (-2.0, 2.0)]
    told = "(measured - law) / noise" if scaled else label(law, law.target, ": measured - law")
    return figure(
        [dots(x, apart, "rows")], Axis(name, bool((x > 0).all() and logarithmic(x))), told,
        shapes=shapes, height=330, legend=False,
    )  # fmt: skip


def front(law: Law, chosen: int | None) -> dict[str, Any]:
    """Draw the error of the best formula of each length; the chosen one is large."""
    from ....discovery.law import short

    entries = sorted_front(law)
    sizes = [entry.complexity for entry in entries]
    errors = [max(entry.error, _FLOOR) for entry in entries]
    colours = ["#e0762c" if place == chosen else "#4a90d9" for place in range(len(entries))]
    wide = [17 if place == chosen else 11 for place in range(len(entries))]
    told = [short(entry.formula)[:80] for entry in entries]
    steps = {**line(sizes, errors, "front", "#4a90d9", "solid", 1), "hoverinfo": "skip"}
    steps["line"]["shape"] = "hv"
    points = dots(sizes, errors, "formulas", marker={"size": wide, "color": colours, "opacity": 1})
    points |= {"text": [escaped(t) for t in told], "hovertemplate": "%{text}<extra></extra>"}
    log = max(errors) > 10 * min(errors)
    return figure(
        [steps, points], "operations in the formula", Axis("error / spread", log),
        height=300, legend=False,
    )  # fmt: skip


def sorted_front(law: Law) -> list[Any]:
    """Return the entries of the front, the shortest first."""
    return sorted(law.pareto, key=lambda entry: (entry.complexity, entry.error))


def live(told: dict[str, Any], target: str) -> dict[str, Any]:
    """Draw the best law so far over the points."""
    y, said = told.get("y") or [], told.get("said")
    if told.get("x"):
        traces = [dots(told["x"], y, "data")]
        if said:
            traces.append(line(told["x"], said, "best law so far"))
        return figure(traces, str(told.get("input", "")), target, height=380)
    if not said:
        return figure([dots(list(range(len(y))), y, "data")], "row", target, height=380)
    known = [v for v in y if v is not None]
    ends = [min(known, default=0.0), max(known, default=1.0)]
    low, high = ends[0] - 0.1 * (ends[1] - ends[0]), ends[1] + 0.1 * (ends[1] - ends[0])
    equal = line(ends, ends, "equal", "#808080", "dot", 1.5)
    return figure(
        [equal, dots(said, y, "rows", "#e0762c")],
        Axis(f"{target} by the best law so far", range=(low, high)),
        Axis(f"{target} measured", range=(low, high)),
        height=380, legend=False,
    )  # fmt: skip
