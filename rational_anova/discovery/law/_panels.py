"""How each plot of a law is drawn; `_plot` says which, and the report takes the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.types import Array
from ._errors import measurement_deviation
from ._expressions import readable
from ._formula import compiled
from ._records import Rival
from ._words import others, own, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from ._law import Law

INK, DATA, LAW, BAD = "#010101", "#4a90d9", "#e0762c", "#d03a3a"
RIVALS = ("#7a5ab5", "#2f9e77", "#b0477e", "#8a7a1c")
GROUPS = (
    "#4a90d9", "#e0762c", "#2f9e77", "#b0477e", "#7a5ab5", "#a68a00", "#1aa5b8", "#d03a3a",
    "#7b8794", "#8c5a3c", "#5f9e2f", "#e58fb1",
)  # fmt: skip
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "text.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.unicode_minus": False, "legend.frameon": False, "legend.fontsize": 9,
}  # fmt: skip
LONGEST = 36  # letters of a name beside an axis
COMPARABLE = 0.05  # weight of the rivals that are drawn
_DECADES = 1.7  # that an axis must span for logarithms to help
_MOST_DECADES = 100  # beyond, ticks overflow
_BEYOND = 0.5  # widths of the data that a curve goes on at each end
_POINTS = 401  # of a curve
_DASHED = (0, (5, 2))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to be drawn, with what the law says of them.

    Args:
        X: (rows, columns).
        y: measured, (rows,).
        said: by the law, that of its group where there are several.
        sigma: standard errors of y, if known.
        x_sigma: those of the inputs (rows, columns), if they have any.
        groups: the group of each row, if there are several.
        outliers: whether each row was taken for an outlier.
        total: how many rows there were before some were left out of the picture.
    """

    X: Array
    y: Array
    said: Array
    sigma: Array | None
    groups: Array | None
    outliers: Array
    total: int
    x_sigma: Array | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Panel:
    """One plot: `draw(axes)` makes it."""

    key: str
    caption: str
    about: str = field(repr=False)  # for those who cannot see it
    draw: Callable[[Axes], None] = field(repr=False)
    wide: bool = False


# -- axes


def label(law: Law, name: str, more: str = "") -> str:
    """Return a name, what more there is to say of it, and its unit."""
    unit = law.units.get(name)
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
    return f"{name}{more} / {unit}" if unit else f"{name}{more}"


def logarithmic(values: Array) -> bool:
    """Return whether values span decades and are spread more evenly by their logarithms."""
    known = np.unique(values[np.isfinite(values)])
    if len(known) < 3 or known[0] <= 0:
        return False
    if not _DECADES < math.log10(known[-1]) - math.log10(known[0]) < _MOST_DECADES:
        return False

    def middle(v: Array) -> float:
        return abs(float((np.median(v) - v[0]) / (v[-1] - v[0])) - 0.5)

    return middle(np.log(known)) < middle(known)


def labels(axes: Axes, x: str, y: str) -> None:
    """Write beside the axes; a dollar in a name is a dollar."""
    for text in (axes.set_xlabel(x), axes.set_ylabel(y)):
        text.set_parse_math(False)


def scales(axes: Axes, x_log: bool, y_log: bool) -> None:
    """Choose linear or logarithmic axes, with few ticks and plain numbers."""
    for axis, log in ((axes.xaxis, x_log), (axes.yaxis, y_log)):
        _ticks(axes, axis, log)


def _ticks(axes: Axes, axis: Axis, log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if log:
        (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda v, _: tick(v, 0.0)))
        return
    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))

    def plain(value: float, _: Any) -> str:
        places = axis.get_majorticklocs()
        return tick(value, abs(places[1] - places[0]) if len(places) > 1 else 0.0)

    axis.set_major_formatter(FuncFormatter(plain))


def tick(value: float, step: float) -> str:
    """Return a number as a tick has it: 0.25, 2500, 1.5e6; as exact as the step of the ticks."""
    if value == 0 or abs(value) < 1e-9 * step:
        return "0"
    digits = 4 if not step else max(math.ceil(math.log10(abs(value) / step) + 1e-9) + 2, 1)
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 6:
        decimals = max(digits - 1 - size, 0)
        text = f"{value:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(power)}"


def legend(axes: Axes, entries: int = 99) -> None:
    """Write the legend above the plot, in as many columns as there is room for."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) < 2:
        return
    figure = axes.figure
    width = axes.get_position().width * figure.get_figwidth()  # type: ignore[union-attr]
    room = max(int(width / (0.5 + 0.062 * max(map(len, names)))), 1)
    made = axes.legend(
        handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=min(room, entries),
        borderaxespad=0.0, handlelength=1.6, columnspacing=1.2, labelspacing=0.3,
    )  # fmt: skip
    for text in made.get_texts():
        text.set_parse_math(False)


# -- the law along an input


def curve(law: Law, rows: Rows | None, place: int, middle: Array) -> Callable[[Axes], None]:
    """Return what draws the law along one input, the others at `middle`.

    It has the data (partial residuals if other inputs matter), the bands, the rivals, and how all
    of them go on beyond the data.
    """

    def draw(axes: Axes) -> None:
        Curve(law, rows, place, middle).draw(axes)

    return draw


class Curve:
    """The parts of the plot of a law along one input, the others at `middle`."""

    def __init__(self, law: Law, rows: Rows | None, place: int, middle: Array) -> None:
        self.law, self.rows, self.place, self.middle = law, rows, place, middle
        known = np.array(law.box[place]) if rows is None else rows.X[:, place]
        self.low, self.high = float(known.min()), float(known.max())
        self.x_log = logarithmic(known)
        self.inner = self._grid(self.low, self.high)
        self.before, self.after = self._beyond()
        self.laws = groups_drawn(law, rows) if rows is not None else {}
        self.points = None if rows is None else self._points(rows)
        shown = self.said(self.inner) if self.points is None else self.points
        with np.errstate(all="ignore"):
            positive = bool((self.said(self.inner) > 0).all())
        self.y_log = positive and logarithmic(shown)

    def _grid(self, low: float, high: float) -> Array:
        if self.x_log:
            return np.geomspace(low, high, _POINTS)
        return np.linspace(low, high, _POINTS)

    def _beyond(self) -> tuple[Array, Array]:
        """Return the parts before and after the data; what is positive stays so."""
        if self.x_log:
            factor = (self.high / self.low) ** _BEYOND
            ends = self.low / factor, self.high * factor
        else:
            reach = _BEYOND * (self.high - self.low)
            ends = self.low - reach, self.high + reach
            ends = (max(ends[0], 0.0), ends[1]) if self.low >= 0 else ends
            ends = (ends[0], min(ends[1], 0.0)) if self.high <= 0 else ends
        return self._grid(ends[0], self.low), self._grid(self.high, ends[1])

    def at(self, grid: Array) -> Array:
        """Return rows with the input on a grid."""
        out = np.tile(self.middle, (len(grid), 1))
        out[:, self.place] = grid
        return out

    def said(self, grid: Array, law: Law | None = None) -> Array:
        return (law or self.law).predict(self.at(grid))

    def line(self, axes: Axes, grid: Array, values: Array, **options: Any) -> None:
        """Draw a curve; it is interrupted far outside of the picture, as at a pole."""
        low, high = axes.get_ylim()
        reach = 3 * (high - low)
        with np.errstate(all="ignore"):
            seen = (values > low - reach) & (values < high + reach)
        axes.plot(grid, np.where(seen, values, np.nan), **options)

    def _points(self, rows: Rows) -> Array:
        """Return y, or what it would be with the other inputs in the middle."""
        if len(self.law.names) == 1:
            return rows.y
        here = self.at(rows.X[:, self.place])
        said = self.law.predict(here)
        if rows.groups is not None:
            said = by_group(self.law, here, rows.groups)
        with np.errstate(all="ignore"):
            if self.law.noise.model == "log-normal":
                return np.asarray(rows.y * said / rows.said)
        return np.asarray(rows.y - rows.said + said)

    def draw(self, axes: Axes) -> None:
        scales(axes, self.x_log, self.y_log)
        for grid in (self.before, self.after):
            if grid[-1] > grid[0]:
                axes.axvspan(grid[0], grid[-1], color=INK, alpha=0.05, linewidth=0, zorder=0)
        axes.set_xlim(self.before[0], self.after[-1])
        ends = self.ends()
        if ends is not None:
            axes.set_ylim(ends)
        if self.laws:
            self._draw_groups(axes)
        else:
            self._draw_data(axes)
            self._draw_law(axes)
        labels(axes, label(self.law, self.law.names.columns[self.place]), self._target())
        legend(axes)

    def _target(self) -> str:
        plain = len(self.law.names) == 1 or self.rows is None
        return label(self.law, self.law.target, "" if plain else " (adjusted)")

    def _draw_data(self, axes: Axes) -> None:
        if self.rows is None or self.points is None:
            return
        x, out = self.rows.X[:, self.place], self.rows.outliers
        bars = None if self.rows.sigma is None else self.rows.sigma[~out]
        errors = self.rows.x_sigma
        across = None if errors is None else errors[~out, self.place]
        dots(axes, x[~out], self.points[~out], "measured", DATA, bars, across)
        if out.any():
            axes.plot(x[out], self.points[out], "x", color=BAD, label="outlier", zorder=5)

    def _draw_law(self, axes: Axes) -> None:
        law = self.law
        if self._has_noise():
            self._draw_band(axes, True, 0.12, "95% of measurements")
        self._draw_band(axes, False, 0.35, "95% of the law")
        for colour, rival in zip(RIVALS, others(law, COMPARABLE), strict=False):
            self._draw_rival(axes, rival, colour)
        said = self.said(self.inner)
        self.line(axes, self.inner, said, color=LAW, label=law_label(law), zorder=4)
        for grid in (self.before, self.after):
            self.line(axes, grid, self.said(grid), color=LAW, linestyle=_DASHED, zorder=4)

    def _draw_band(self, axes: Axes, noise: bool, alpha: float, name: str) -> None:
        """Draw an interval, beyond the data as well, where it shows how little is known there."""
        below, above = self.law.predict_interval(self.at(self.whole), noise=noise)
        known = np.isfinite(below) & np.isfinite(above)
        if known.any() and (above > below)[known].any():
            axes.fill_between(
                self.whole, below, above, where=known, color=LAW, alpha=alpha, linewidth=0,
                label=name,
            )  # fmt: skip

    @property
    def whole(self) -> Array:
        """The places of the curve, before, within and beyond the data."""
        return np.concatenate([self.before, self.inner, self.after])

    def _draw_rival(self, axes: Axes, rival: Rival, colour: str) -> None:
        function = compiled(rival.formula, self.law.names, ())
        with np.errstate(all="ignore"):
            values = np.broadcast_to(function(*self.at(self.whole).T), len(self.whole))
        name = rival_label(rival)
        self.line(axes, self.whole, values, color=colour, linewidth=1, linestyle="--", label=name)

    def _has_noise(self) -> bool:
        law = self.law
        if law.noise.model == "given" and (law.data is None or law.data.sigma is None):
            return False
        with np.errstate(all="ignore"):
            width = measurement_deviation(law, self.at(self.inner), self.said(self.inner))
        return bool((width > 1e-9 * law.evidence.spread).any())

    def _draw_groups(self, axes: Axes) -> None:
        assert self.rows is not None
        assert self.points is not None
        assert self.rows.groups is not None
        for colour, (name, law) in zip(GROUPS, self.laws.items(), strict=False):
            own, x = self.rows.groups == name, self.rows.X[:, self.place]
            dots(axes, x[own], self.points[own], "", colour, None)
            self.line(axes, self.inner, self.said(self.inner, law), color=colour, label=str(name))
            for grid in (self.before, self.after):
                self.line(axes, grid, self.said(grid, law), color=colour, linestyle=_DASHED)
        out = self.rows.outliers
        if out.any():
            x = self.rows.X[out, self.place]
            axes.plot(x, self.points[out], "x", color=BAD, label="outlier", zorder=5)

    def ends(self) -> tuple[float, float] | None:
        """Return limits of y that hold the data and the law, which poles do not stretch."""
        curves = [self.said(self.inner, law) for law in (self.laws.values() or [self.law])]
        seen = core(np.concatenate(curves))
        if self.points is not None:
            seen = np.r_[seen, self.points[np.isfinite(self.points)]]
        if not self.laws and self._has_noise():
            band = np.concatenate(self.law.predict_interval(self.at(self.inner), noise=True))
            seen = np.r_[seen, core(band)]
        beyond = np.concatenate([self.said(g) for g in (self.before, self.after)])
        seen, beyond = (v[v > 0] if self.y_log else v for v in (seen, beyond))
        if not len(seen):
            return None
        return limits(seen, beyond[np.isfinite(beyond)], self.y_log)


def core(values: Array) -> Array:
    """Return what is within three spreads of the middle nine tenths, finite."""
    known = values[np.isfinite(values)]
    if not len(known):
        return known
    low, high = np.quantile(known, [0.05, 0.95])
    reach = 3 * (high - low)
    return known[(known >= low - reach) & (known <= high + reach)]


def limits(seen: Array, beyond: Array, log: bool) -> tuple[float, float]:
    """Return ends of an axis: all that is seen, and what is beyond by half as much again."""
    seen, beyond = (np.log(v) if log else v for v in (seen, beyond))
    low, high = float(seen.min()), float(seen.max())
    reach = 0.5 * (high - low)
    if len(beyond):
        low, high = (
            min(low, max(float(beyond.min()), low - reach)),
            max(high, min(float(beyond.max()), high + reach)),
        )
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    ends = low - margin, high + margin
    return (math.exp(ends[0]), math.exp(ends[1])) if log else ends


def dots(
    axes: Axes, x: Array, y: Array, name: str, colour: str, bars: Array | None = None,
    across: Array | None = None,
) -> None:  # fmt: skip
    """Draw measurements, smaller the more there are, with their errors, those of x across."""
    size = 5.0 if len(x) < 60 else 4.0 if len(x) < 250 else 3.0
    if bars is not None or across is not None:
        axes.errorbar(
            x, y, bars, across, fmt="o", color=colour, markersize=size - 1, elinewidth=0.8,
            label=name, zorder=3,
        )  # fmt: skip
        return
    clear = 0.9 if len(x) < 100 else 0.6
    axes.plot(
        x, y, "o", color=colour, markersize=size, alpha=clear, markeredgewidth=0,
        label=name or "_", zorder=3,
    )  # fmt: skip


def law_label(law: Law) -> str:
    """Return how a legend calls the law."""
    about = own(law)
    weight = f", {share(about.weight)}" if about is not None and about.weight < 0.995 else ""
    return f"{law.name or 'this law'}{weight}"


def rival_label(rival: Rival) -> str:
    """Return how a legend calls a rival: by name, or by a short formula."""
    text = rival.name or readable(rival.formula, 3)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return f"{text}, {share(rival.weight)}"


# -- groups


def groups_drawn(law: Law, rows: Rows) -> dict[Any, Law]:
    """Return the law of each group that there is a colour for, in the order of the table."""
    if law.groups is None or rows.groups is None:
        return {}
    names = [name for name in law.groups.values.index if (rows.groups == name).any()]
    return {name: law.for_group(name) for name in names[: len(GROUPS)]}


def by_group(law: Law, X: Array, groups: Array) -> Array:
    """Return what the law says of each row with the numbers of its group."""
    said = law.predict(X)
    if law.groups is not None:
        for name in law.groups.values.index:
            here = groups == name
            if here.any():
                said[here] = law.for_group(name).predict(X[here])
    return said


def coloured(law: Law, rows: Rows) -> Sequence[tuple[Array, str]]:
    """Return rows to be drawn in one colour, and the colour; outliers are left out."""
    fine = ~rows.outliers
    laws = groups_drawn(law, rows)
    if not laws:
        return [(fine, DATA)]
    assert rows.groups is not None
    return [(fine & (rows.groups == name), c) for name, c in zip(laws, GROUPS, strict=False)]
