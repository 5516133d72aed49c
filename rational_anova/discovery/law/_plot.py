"""`law.plot`: which plots a law has, and how they stand on one figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.types import Array
from ...tables import as_column, as_pandas, rows_of
from ._errors import measurement_deviation
from ._expressions import settled, short
from ._panels import (
    BAD,
    DATA,
    INK,
    LAW,
    STYLE,
    Panel,
    Rows,
    by_group,
    coloured,
    curve,
    dots,
    label,
    labels,
    legend,
    logarithmic,
    scales,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._law import Law

INPUTS = 6  # that are drawn
MOST = 700  # points of a plot
_TITLE = 95  # letters


# -- rows


def measured(
    law: Law, X: Any = None, y: Any = None, sigma: Any = None, groups: Any = None
) -> Rows | None:
    """Return the rows to be drawn: those given, else those of the fit, else None.

    Args:
        law: that says something of them.
        X: as for `law.predict`.
        y: measured values, or the name of a column of X.
        sigma: standard errors of y.
        groups: the experiment of each row; a table may have it as a column.
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither")
    data = law.data
    if X is None:
        if data is None:
            return None
        return _rows(law, data.X, data.y, data.sigma, data.groups, data.x_sigma)
    outcome = _outcome(law, X, y)
    rows = rows_of(X, law.names.columns)
    if len(rows) != len(outcome):
        raise ValueError(f"X has {len(rows)} rows, but y has {len(outcome)}")
    same = data is not None and len(data.y) == len(outcome)
    if sigma is not None:
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), outcome.shape)
    elif same and data is not None:
        sigma = data.sigma
    if groups is None:
        groups = _group_column(law, X)
    if groups is None and same and data is not None:
        groups = data.groups
    return _rows(law, rows, outcome, sigma, None if groups is None else np.asarray(groups))


def _outcome(law: Law, X: Any, y: Any) -> Array:
    if not isinstance(y, str):
        return rows_of(as_column(y).to_numpy(), [law.target])[:, 0]
    if as_pandas(X) is None:
        raise TypeError(f"y is the name {y!r}, so that X must be a DataFrame with this column")
    return rows_of(X, [y])[:, 0]


def _group_column(law: Law, X: Any) -> Array | None:
    table = None if law.groups is None else as_pandas(X)
    if (
        table is None
        or law.groups is None
        or law.groups.column not in getattr(table, "columns", ())
    ):
        return None
    return np.asarray(table[law.groups.column])


def _rows(
    law: Law, X: Array, y: Array, sigma: Array | None, groups: Array | None,
    x_sigma: Array | None = None,
) -> Rows:  # fmt: skip
    """Return the rows that are whole, at most some hundred, extremes and outliers among them."""
    said = law.predict(X) if groups is None else by_group(law, X, groups)
    out = np.zeros(len(y), dtype=bool)
    if len(y) == law.evidence.rows:
        out[[row for row in law.outliers if row < len(y)]] = True
    kept = np.flatnonzero(np.isfinite(X).all(1) & np.isfinite(y) & np.isfinite(said))
    total = len(kept)
    if total > MOST:
        chosen = np.random.default_rng(0).choice(kept, MOST, replace=False)
        chosen[:2] = kept[np.argmin(y[kept])], kept[np.argmax(y[kept])]
        kept = np.unique(np.r_[chosen, np.intersect1d(kept, np.flatnonzero(out))])
    return Rows(
        X[kept], y[kept], said[kept], None if sigma is None else sigma[kept],
        None if groups is None else groups[kept], out[kept], total,
        None if x_sigma is None else x_sigma[kept],
    )  # fmt: skip


def standardised(law: Law, rows: Rows) -> tuple[Array, bool]:
    """Return measured minus law in units of the noise, and whether there is a unit."""
    with np.errstate(all="ignore"):
        if law.noise.model == "log-normal" and law.noise.scale > 0:
            apart = np.log(rows.y / rows.said) / law.noise.scale
            if np.isfinite(apart).all():
                return apart, True
        sigma = rows.sigma
        if law.noise.model == "given" and sigma is None:
            return rows.y - rows.said, False
        size = measurement_deviation(law, rows.X, rows.said, sigma, rows.x_sigma)
        apart = (rows.y - rows.said) / size
    usable = np.isfinite(apart).all() and (size > 1e-9 * law.evidence.spread).all()
    return (apart, True) if usable else (rows.y - rows.said, False)


# -- which plots


def panels(law: Law, rows: Rows | None) -> list[Panel]:
    """Return all plots of a law; those of measurements only if there are any."""
    found = _curves(law, rows)
    if rows is None or not len(rows):
        return found
    part = f" {len(rows):,} of {rows.total:,} rows are drawn." if len(rows) < rows.total else ""
    if len(law.names) > 1:
        found.append(_comparison(law, rows, part))
    found.append(_residuals(law, rows, None, part))
    found += [_residuals(law, rows, place, part) for place in _used(law, rows)]
    return found


def _used(law: Law, rows: Rows | None) -> list[int]:
    """Return the inputs that are in the formula and vary, the first few of them."""
    ends = np.array(law.box).reshape(-1, 2)
    if rows is not None and len(rows):
        ends = np.stack([rows.X.min(0), rows.X.max(0)], 1)
    return [
        place
        for place, (symbol, (low, high)) in enumerate(zip(law.names.symbols, ends, strict=True))
        if (law.formula.has(symbol) or len(law.names) == 1) and high > low
    ][:INPUTS]


def _curves(law: Law, rows: Rows | None) -> list[Panel]:
    rows = None if rows is None or not len(rows) else rows
    if rows is None:
        middle = np.array([(low + high) / 2 for low, high in law.box])
    else:
        middle = np.median(rows.X, axis=0)
    found = []
    for place in _used(law, rows):
        name = law.names.columns[place]
        rest = zip(law.names.columns, middle, strict=True)
        at = ", ".join(f"{n} = {m:.4g}" for n, m in rest if n != name)
        told = f"The law along {name}" + (f", at {at}" if at else "")
        parts = "Each group has its colour" if law.groups is not None else "Bands hold 95%"
        about = f"{told}. {parts}; beyond the data, on grey, the law is dashed."
        draw = curve(law, rows, place, middle)
        found.append(Panel(f"curve{place}", about, about, draw, wide=len(law.names) == 1))
    return found


def _comparison(law: Law, rows: Rows, part: str) -> Panel:
    def draw(axes: Axes) -> None:
        both = np.r_[rows.y, rows.said]
        log = logarithmic(both)
        scales(axes, log, log)
        ends = [both.min(), both.max()]
        axes.plot(ends, ends, color=LAW, linewidth=1)
        for own, colour in coloured(law, rows):
            dots(axes, rows.said[own], rows.y[own], "", colour)
        _outliers(axes, rows.said, rows.y, rows)
        labels(axes, label(law, law.target, " by the law"), "measured")

    about = "Measured values against those of the law; on the line they are equal."
    return Panel("comparison", f"{about}{part}", about, draw)


def _residuals(law: Law, rows: Rows, place: int | None, part: str) -> Panel:
    """Return the plot of residuals against an input, or against the law."""
    apart, unit = standardised(law, rows)
    x = rows.said if place is None else rows.X[:, place]
    name = law.target if place is None else law.names.columns[place]
    against = label(law, name, " by the law" if place is None else "")

    def draw(axes: Axes) -> None:
        scales(axes, logarithmic(x), False)
        axes.axhline(0, color=LAW, linewidth=1)
        if unit:
            for end in (-2, 2):
                axes.axhline(end, color=INK, linewidth=0.6, linestyle=":", alpha=0.6)
        for own, colour in coloured(law, rows):
            dots(axes, x[own], apart[own], "", colour)
        fine = np.abs(apart[~rows.outliers])
        reach = 1.1 * max(float(fine.max(initial=0.0)), 2.2 if unit else 0.0)
        if rows.outliers.any():  # at the edge, or they would hide a pattern of the others
            reach = 1.4 * reach or float(np.abs(apart).max())
            _at_the_edge(axes, x[rows.outliers], apart[rows.outliers], reach)
        if reach > 0:
            axes.set_ylim(-reach, reach)
        labels(axes, against, "residual / noise" if unit else "measured minus law")

    told = f"Residuals of the law, against {against}"
    about = f"{told}; a good law leaves no pattern."
    return Panel(f"residuals{'' if place is None else place}", f"{about}{part}", about, draw)


def _outliers(axes: Axes, x: Array, y: Array, rows: Rows) -> None:
    if rows.outliers.any():
        axes.plot(x[rows.outliers], y[rows.outliers], "x", color=BAD, zorder=5)


def _at_the_edge(axes: Axes, x: Array, apart: Array, reach: float) -> None:
    """Draw outliers; those beyond the picture as arrows at its edge, with their values."""
    beyond = np.abs(apart) > reach
    axes.plot(x[~beyond], apart[~beyond], "x", color=BAD, zorder=5)
    for here, value in zip(x[beyond], apart[beyond], strict=True):
        up = value > 0
        edge = 0.93 * reach if up else -0.93 * reach
        axes.plot(here, edge, "^" if up else "v", color=BAD, zorder=5)
        axes.annotate(
            f"{value:.3g}", (here, edge), xytext=(6, -3), textcoords="offset points",
            color=BAD, fontsize="x-small", zorder=5,
        )  # fmt: skip


def front(law: Law) -> Panel | None:
    """Return the plot of the error of the best formula of each complexity; None if there is one."""
    entries = sorted(law.pareto, key=lambda entry: entry.complexity)
    if len(entries) < 2:
        return None
    floor = 1e-16  # where rounding ends
    formula = settled(law.formula)  # as those of the entries are
    chosen = next((e for e in entries if e.formula == formula), None)

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        sizes = [entry.complexity for entry in entries]
        errors = [max(entry.error, floor) for entry in entries]
        scales(axes, False, max(errors) > 10 * min(errors))
        axes.step(sizes, errors, where="post", color=DATA, linewidth=1)
        axes.plot(sizes, errors, "o", color=DATA, markersize=5, label="best of its length")
        if chosen is not None:
            size, error = chosen.complexity, max(chosen.error, floor)
            axes.plot(size, error, "o", color=LAW, markersize=9, label="this law")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend(axes)
        labels(axes, "operations in the formula", "error in the search / standard deviation")

    about = "Error of the best formula of each complexity."
    return Panel("front", about, about, draw)


# -- one figure


def plot(law: Law, X: Any, y: Any, sigma: Any, groups: Any) -> Figure:
    """Return a figure with all plots: see `Law.plot`."""
    import matplotlib

    from ..._core.figures import Picture

    found = panels(law, measured(law, X, y, sigma, groups))
    with matplotlib.rc_context(STYLE):
        arranged = _one_input if found and found[0].wide else _several
        figure = arranged(Picture, found)
        figure.suptitle(_title(law), fontsize=11, parse_math=False)
    return figure


def _one_input(make: type[Figure], found: list[Panel]) -> Figure:
    """The law above, the residuals below."""
    rest = found[1:]
    figure = make(figsize=(9, 7.2 if rest else 4.6), layout="constrained")
    grid = figure.add_gridspec(2 if rest else 1, 2, height_ratios=[1.9, 1] if rest else None)
    found[0].draw(figure.add_subplot(grid[0, :]))
    for place, panel in enumerate(rest):
        panel.draw(figure.add_subplot(grid[1, place]))
    return figure


def _several(make: type[Figure], found: list[Panel]) -> Figure:
    """Three plots in a row."""
    across = min(max(len(found), 1), 3)
    down = math.ceil(max(len(found), 1) / across)
    figure = make(figsize=(4.1 * across, 3.3 * down + 0.4), layout="constrained")
    grid = figure.add_gridspec(down, across)
    for place, panel in enumerate(found):
        panel.draw(figure.add_subplot(grid[place // across, place % across]))
    _one_legend(figure)
    return figure


def _one_legend(figure: Figure) -> None:
    """Put the legend of the first plot below all, since those of the others are alike."""
    for axes in figure.axes:
        own = axes.get_legend()
        if own is not None:
            own.remove()
    if figure.axes:
        handles, names = figure.axes[0].get_legend_handles_labels()
        if len(names) > 1:
            across = max(int(figure.get_figwidth() / (0.6 + 0.07 * max(map(len, names)))), 1)
            made = figure.legend(handles, names, loc="outside lower center", ncols=across)
            for text in made.get_texts():
                text.set_parse_math(False)


def _title(law: Law) -> str:
    text = f"{law.target} = {short(law.rounded(4))}"
    text = text if len(text) <= _TITLE else f"{text[: _TITLE - 3]}..."
    named = f"{law.name}, " if law.name else ""
    return f"{text}\n{named}{law.grade}"
