"""The plots of a report, as SVG that takes its ink from the page: light and dark alike."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from .._core.types import Array
from ..discovery.law import own_entry

if TYPE_CHECKING:
    from ..discovery.law import Law


_INK, _DATA, _LAW = "#010101", "#4a90d9", "#e0762c"
_MOST = 700  # points drawn
_PANELS = 6
_LONGEST = 36  # letters of a name beside an axis
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11,
    "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK, "xtick.color": _INK,
    "ytick.color": _INK, "axes.facecolor": "none", "axes.spines.top": False,
    "axes.spines.right": False, "axes.formatter.useoffset": False, "axes.unicode_minus": False,
}  # fmt: skip


def label(law: Law, name: str) -> str:
    """Return a name with its unit."""
    unit = law.units.get(name)
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
    return f"{name} / {unit}" if unit else name


def comparison(law: Law, X: Array, y: Array) -> str:
    """Draw what the law says against what was measured."""

    def draw(axes: Axes) -> None:
        said = law.predict(X)
        ends = [min(y.min(), said.min()), max(y.max(), said.max())]
        axes.plot(ends, ends, color=_LAW, linewidth=1)
        axes.plot(y, said, ".", color=_DATA, markersize=5, alpha=0.8)
        _labels(axes, f"measured {label(law, law.target)}", "by the law")

    return _svg(draw, "comparison", "Scatter plot of the law's values against the measured ones; "
                "on the line they are equal.")  # fmt: skip


def residuals(law: Law, X: Array, y: Array) -> str:
    """Draw what the law leaves over."""

    def draw(axes: Axes) -> None:
        said = law.predict(X)
        axes.axhline(0, color=_LAW, linewidth=1)
        axes.plot(said, y - said, ".", color=_DATA, markersize=5, alpha=0.8)
        _labels(axes, f"{label(law, law.target)} by the law", "measured minus law")

    return _svg(draw, "residuals", "Scatter plot of measured minus predicted values; "
                "a good law leaves no pattern around zero.")  # fmt: skip


def front(law: Law) -> str:
    """Draw the error of the best formula of each complexity."""
    entries = sorted(law.pareto, key=lambda entry: entry.complexity)
    floor = 1e-16  # where rounding ends

    def draw(axes: Axes) -> None:
        sizes = [entry.complexity for entry in entries]
        errors = [max(entry.error, floor) for entry in entries]
        axes.step(sizes, errors, where="post", color=_DATA, linewidth=1)
        axes.plot(sizes, errors, "o", color=_DATA, markersize=5)
        own = own_entry(law)  # its error is that on the rows of the search, as of the others
        chosen = max(law.evidence.error if own is None else own.error, floor)
        axes.plot(law.complexity, chosen, "o", color=_LAW, markersize=9, label="this law")
        if max(*errors, chosen) > 10 * min(*errors, chosen):
            axes.set_yscale("log")
        else:  # within a decade powers of ten are hard to read
            axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(frameon=False)
        _labels(axes, "operations in the formula", "error / spread of the target")

    return _svg(draw, "front", "Error of the best formula of each complexity; this law is marked.")


def curves(law: Law, X: Array | None, y: Array | None) -> list[tuple[str, str]]:
    """Draw the law along each input, with a caption; the others rest in the middle of the data."""
    middle = np.array([np.mean(ends) for ends in law.box]) if X is None else np.median(X, axis=0)
    drawn = []
    for place, name in enumerate(law.names.columns[:_PANELS]):
        low, high = law.box[place]
        if not law.formula.has(law.names.symbols[place]) or low == high:
            continue

        def draw(axes: Axes, place: int = place, low: float = low, high: float = high) -> None:
            grid = np.linspace(low, high, 301)
            rows = np.tile(middle, (len(grid), 1))
            rows[:, place] = grid
            below, above = law.predict_interval(rows)
            axes.fill_between(grid, below, above, color=_LAW, alpha=0.25, linewidth=0)
            said = law.predict(rows)
            axes.plot(grid, said, color=_LAW)
            axes.set_ylim(_limits(said, None if len(law.names) > 1 else y))
            if len(law.names) == 1 and X is not None and y is not None:
                axes.plot(X[:, 0], y, ".", color=_DATA, markersize=6)
            _labels(axes, label(law, law.names.columns[place]), label(law, law.target))

        rest = zip(law.names.columns, middle, strict=True)
        others = ", ".join(f"{n} = {m:.4g}" for n, m in rest if n != name)
        caption = f"The law along {name}" + (f", at {others}" if others else " and the data")
        svg = _svg(draw, f"curve{place}", f"{caption}, with a band of 95 % confidence.")
        drawn.append((svg, f"{caption}. The band is its 95 % interval."))
    return drawn


def _limits(curve: Array, y: Array | None) -> tuple[float, float] | None:
    """Return limits that a pole or a wide band does not stretch; None if nothing is finite."""
    known = curve[np.isfinite(curve)]
    if not len(known):
        return None
    low, high = np.quantile(known, [0.05, 0.95])
    reach = 3 * (high - low)
    low, high = max(known.min(), low - reach), min(known.max(), high + reach)
    if y is not None and len(y):
        low, high = min(low, y.min()), max(high, y.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return float(low - margin), float(high + margin)


def thinned(X: Array, y: Array) -> tuple[Array, Array]:
    """Return at most some hundred rows, so that the page stays small; the extremes are kept."""
    if len(y) <= _MOST:
        return X, y
    chosen = np.random.default_rng(0).choice(len(y), _MOST, replace=False)
    chosen[:2] = np.argmin(y), np.argmax(y)
    kept = np.unique(chosen)
    return X[kept], y[kept]


def _labels(axes: Axes, x: str, y: str) -> None:
    for text in (axes.set_xlabel(x), axes.set_ylabel(y)):
        text.set_parse_math(False)  # a dollar in a name is a dollar


def _svg(draw: Callable[[Axes], None], key: str, alt: str) -> str:
    out = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": key}), warnings.catch_warnings():
        # letters that matplotlib's font lacks are drawn by the browser, from its own
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(5, 3.4), layout="constrained")
        draw(figure.subplots())
        metadata = {"Date": None, "Creator": None}
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # several plots in one page would share them
    head, rest = text[4:].split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)  # the page decides
    return f'<svg role="img" aria-label="{escape(alt)}"{head}>{rest}'
