"""`plot_anova` of the estimators: main effects, pairs, importance, one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from scipy.ndimage import binary_dilation

from ..._core import checks as check
from ..._core.types import Array
from ...networks import panels, percent
from ...tables import as_frame
from ..model import Feature
from ._effects import Effect, Effects
from ._statistics import MOST_LEVELS, Measured, Observed, cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

    from ._mixin import ExplainMixin


BINS = 40
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Lines = list[tuple[int, str, str]]  # outputs to draw, with label and colour


def short(text: Any, most: int = 18) -> str:
    """Return a label that is not too long."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def main_panel(panel: Panel, effect: Effect, lines: Lines) -> None:
    """Draw a main effect: a curve, or bars if the input is a category."""
    if effect.features[0].category:
        _bars(panel, effect, lines)
    else:
        _curves(panel, effect, lines)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _curves(panel: Panel, effect: Effect, lines: Lines) -> None:
    feature, seen = effect.features[0], effect.observed[0]
    low, high = seen.shown
    table = effect.curve()
    panel.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    tops = []
    for k, label, colour in lines:
        one = table if not effect.classes else table[table["class"] == effect.classes[k]]
        there = one["value"].notna().to_numpy()
        curve, gap = one[there], one[~there]
        x = _numbers(curve["value"], feature)
        inside = (x >= low) & (x <= high)
        curve, x = curve[inside], x[inside]
        tops.append(_limits(curve))
        if len(seen.weight):
            away = curve["upper"] - curve["effect"]
            panel.errorbar(x, curve["effect"], away, fmt="o-", color=colour, label=label,
                           markersize=4, capsize=2, linewidth=1, elinewidth=1)  # fmt: skip
        else:
            alpha = 0.25 if len(lines) == 1 else 0.12
            panel.fill_between(
                x, curve["lower"], curve["upper"], color=colour, alpha=alpha, linewidth=0
            )
            panel.plot(x, curve["effect"], color=colour, linewidth=1.8, label=label)
        if len(gap):
            tops.append((float(gap["lower"].iloc[0]), float(gap["upper"].iloc[0])))
            _gap(panel, high + 0.1 * (high - low), gap, colour)
    least, most = min(t[0] for t in tops), max(t[1] for t in tops)
    room = 0.06 * (most - least) or 1.0
    panel.set_ylim(least - 5 * room, most + 2 * room)
    if feature.gaps:
        panel.axvline(high + 0.05 * (high - low), color="0.6", linewidth=0.8, linestyle=":")
        panel.annotate("missing", (high + 0.1 * (high - low), most + 2 * room), fontsize=7,
                       ha="center", va="top")  # fmt: skip
    pad = 0.35 * float(np.diff(seen.points).min()) if len(seen.weight) > 1 else 0.0
    pad = max(pad, 0.03 * (high - low))
    panel.set_xlim(low - pad, high + (0.16 * (high - low) if feature.gaps else pad))
    whole = bool(len(seen.weight)) and not (seen.points % 1).any()
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=whole))
    _density(panel, seen)
    name_ticks(panel.xaxis, feature, seen)
    if feature.gaps and not feature.part:
        panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= high])
    middle = len(seen.points) and not len(seen.weight) and high < seen.points[-1]
    panel.set_xlabel(short(feature.name, 28) + (" (middle 98 %)" if middle else ""))


def _limits(curve: Any) -> tuple[float, float]:
    """Return the range of a curve and its band, but for bands that run away."""
    low, high = float(curve["effect"].min()), float(curve["effect"].max())
    room = 0.6 * (high - low) or float((curve["upper"] - curve["effect"]).max())
    return max(float(curve["lower"].min()), low - room), min(
        float(curve["upper"].max()), high + room
    )


def _gap(panel: Panel, x: float, gap: Any, colour: str) -> None:
    effect = gap["effect"].to_numpy()
    panel.errorbar([x], effect, gap["upper"].to_numpy() - effect, fmt="D", color=colour,
                   markersize=4, capsize=2)  # fmt: skip


def _numbers(values: Any, feature: Feature) -> Array:
    if feature.part == "day":
        values = (values - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return np.asarray(values, dtype=float)


def _density(panel: Panel, seen: Observed) -> None:
    """Draw the data along the bottom, a seventh of the panel high."""
    low, high = seen.shown
    if len(seen.weight):
        gap = float(np.diff(seen.points).min()) if len(seen.points) > 1 else 1.0
        left, wide, tall = seen.points - 0.3 * gap, 0.6 * gap, seen.weight
    else:
        borders = np.linspace(low, high, BINS + 1)
        levels = np.linspace(0, 1, len(seen.points))
        # Where many rows have one value several quantiles are equal: all count up to it.
        points, last = np.unique(seen.points[::-1], return_index=True)
        below = np.interp(borders, points, levels[::-1][last])
        below[0] = 0.0 if low <= points[0] else below[0]
        left, wide, tall = borders[:-1], borders[1] - borders[0], np.diff(below)
    if not len(tall) or tall.max() <= 0:
        return
    heights = 0.14 * tall / tall.max()
    panel.bar(left, heights, wide, align="edge", color="0.85", zorder=0, linewidth=0,
              transform=panel.get_xaxis_transform())  # fmt: skip


def name_ticks(axis: Any, feature: Feature, seen: Observed) -> None:
    """Name weekdays on an axis, and write days as dates."""
    if feature.part == "weekday":
        axis.set_ticks(range(len(DAYS)), DAYS)
    elif feature.part == "day":
        ticks = np.linspace(*seen.shown, 4)
        axis.set_ticks(ticks, [str(np.datetime64(round(day), "D"))[:7] for day in ticks.tolist()])


def _bars(panel: Panel, effect: Effect, lines: Lines) -> None:
    feature, seen = effect.features[0], effect.observed[0]
    count = min(len(feature.levels), MOST_LEVELS)
    table = effect.curve()
    at = np.arange(count, dtype=float)
    high = 0.8 / len(lines)
    panel.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    ends = [(0.0, 0.0)]
    for n, (k, label, colour) in enumerate(lines):
        one = table if not effect.classes else table[table["class"] == effect.classes[k]]
        one = one.iloc[:count]
        away = one["upper"] - one["effect"]
        ends.append(_limits(one))
        panel.barh(at - 0.4 + (n + 0.5) * high, one["effect"], high, color=colour, label=label,
                   alpha=0.75, xerr=away, error_kw={"linewidth": 1, "ecolor": "0.25"})  # fmt: skip
    size = 8 if count <= 10 else 6
    shares = [f"{100 * w:.0f} %" if w >= 0.005 else "<1 %" for w in seen.weight[:count]]
    texts = [f"{short(v)} ({w})" for v, w in zip(feature.levels, shares, strict=False)]
    panel.set_yticks(at, texts, fontsize=size)
    panel.set_ylim(count - 0.4, -0.6)
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    room = 0.04 * (high - low) or 1.0
    panel.set_xlim(low - room, high + room)
    left = len(feature.levels) - count
    panel.set_ylabel(short(feature.name, 28) + (f" ({left} rarer not shown)" if left else ""))


def importance(model: ExplainMixin, effects: list[Effect], most: int, target: Any) -> Figure:
    """Draw the shares of the variance, those past the first ones together."""
    k = None if target is None else model._outputs(target)[0]
    shares = [e.share if k is None else float(e.shares[k]) for e in effects]
    order = np.argsort(-np.array(shares), kind="stable")
    shown, rest = order[:most], order[most:]
    figure, (panel,) = panels(1, 7.2, 0.28 * (len(shown) + bool(len(rest))) + 1.4)
    colour = {"main": "C0", "pair": "C1"}
    for at, n in enumerate(shown):
        panel.barh(at, shares[n], color=colour[effects[n].kind])
    names = [short(effects[n].name, 44) for n in shown]
    values = [shares[n] for n in shown]
    if len(rest):
        values.append(float(sum(shares[n] for n in rest)))
        names.append(f"{len(rest)} more effects")
        panel.barh(len(shown), values[-1], color="0.7")
    for at, value in enumerate(values):
        panel.annotate(percents(value), (max(value, 0), at), (3, 0), textcoords="offset points",
                       va="center", fontsize=8)  # fmt: skip
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.margins(x=0.15)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    everything = len(model._output_classes()) > 0 and k is None
    of = "all softmax scores" if everything else short(model._said(k or 0), 40)
    panel.set_xlabel(f"share of the variance of {of}")
    kinds = {effects[n].kind for n in shown}
    handles = [Patch(color=colour[kind], label=kind) for kind in colour if kind in kinds]
    panel.legend(handles=handles, loc="lower right", frameon=False)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


def local(model: ExplainMixin, effects: list[Effect], X: Any, most: int, target: Any) -> Figure:
    """Draw how effects add up from the intercept to the prediction for one row."""
    if X is None or len(X) != 1:
        got = "none" if X is None else f"{len(X)} rows"
        raise ValueError(f"mode='local' draws one row, got {got}; pass X=table.iloc[[k]]")
    decisions = model.model_.decision(model._rows(X))[0]  # type: ignore[attr-defined]
    outputs = model._outputs(target)
    k = outputs[int(np.argmax(decisions[outputs]))]
    chosen = model._output_classes()[k] if model._output_classes() else None
    table = model.explain_local(X, chosen).iloc[0]
    effects = sorted(effects, key=lambda effect: -abs(float(table[effect.name])))[:most]
    sizes = [float(table[effect.name]) for effect in effects]
    texts = [_with_values(effect, X) for effect in effects]
    others = len(model.effects_) - len(effects)
    if others:
        sizes.append(float(table["prediction"] - table["intercept"]) - sum(sizes))
        texts.append(f"{others} more effects")
    ends = float(table["intercept"]) + np.cumsum(sizes)
    starts = ends - sizes
    figure, (panel,) = panels(1, 7.6, 0.3 * len(sizes) + 1.6)
    at = np.arange(len(sizes))
    panel.barh(at, sizes, left=starts, color=["C3" if s > 0 else "C0" for s in sizes], height=0.7)
    for n in at:
        if n:
            panel.plot([starts[n]] * 2, [n - 1, n], color="0.6", linewidth=0.8)
        right = max(starts[n], ends[n])
        text = f"{sizes[n]:+.3g}".replace("-", "\N{MINUS SIGN}")
        panel.annotate(text, (right, n), (3, 0), textcoords="offset points", va="center",
                       fontsize=8)  # fmt: skip
    panel.set_yticks(at, texts)
    panel.set_ylim(len(sizes) - 0.4, -0.6)
    reach = np.concatenate([starts, ends, [float(table["intercept"])]])
    room = 0.04 * (reach.max() - reach.min()) or 1.0
    panel.set_xlim(reach.min() - room, reach.max() + 3 * room)
    for name, style in (("intercept", ":"), ("prediction", "--")):
        value = float(table[name])
        text = f"{name} {value:.4g}".replace("-", "\N{MINUS SIGN}")
        panel.axvline(value, color="0.3", linewidth=1, linestyle=style, label=text, zorder=0)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    panel.set_xlabel(short(model._said(k), 50))
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


def _with_values(effect: Effect, X: Any) -> str:
    """Write an effect's inputs with the values that a row has."""
    frame = as_frame(X)[0]
    texts = []
    for feature in effect.features:
        value = frame.iloc[0, feature.column]
        if pd.isna(value):
            text = "missing"
        elif isinstance(value, pd.Timestamp):
            text = str(value.date())
        elif isinstance(value, str) or feature.category:
            text = short(value, 14)
        else:
            text = f"{value:.4g}" if abs(value) < 1e4 or value % 1 else f"{value:.0f}"
        texts.append(f"{short(feature.name, 20)} = {text}")
    return ", ".join(texts)


def percents(share: float) -> str:
    """Write a share, which may be negative."""
    if not np.isfinite(share):
        return "unknown share"
    return "\N{MINUS SIGN}" + percent(-share) if share < -0.0005 else percent(share)


POINTS = 48
SLANTED = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


def pair_panel(figure: Figure, panel: Panel, effect: Effect, k: int, measured: Measured) -> Any:
    """Draw a pair as a heat map, pale where there are no rows near; returns its colour bar."""
    table = effect.grid(POINTS, MOST_LEVELS)
    if effect.classes:
        table = table[table["class"] == effect.classes[k]]
    inputs = list(zip(effect.features, effect.observed, strict=True))
    fine = [cells(feature, seen, POINTS) for feature, seen in inputs]
    surface = table["effect"].to_numpy().reshape([len(borders) - 1 for borders in fine])
    # The colours are for where the data are: corners without rows may be far off.
    known = effect.axes in measured.axes
    height = float(measured.height[measured.axes.index(effect.axes), k]) if known else 0.0
    height = height or float(np.abs(surface).max()) or 1.0
    drawn = panel.pcolormesh(
        *fine, surface.T, cmap="RdBu_r", vmin=-height, vmax=height, rasterized=True
    )
    if known:
        pale = np.where(_near(effect, measured.tables[effect.axes]), np.nan, 1.0)
        coarse = [cells(feature, seen) for feature, seen in inputs]
        panel.pcolormesh(
            *coarse, pale.T, cmap="gray", vmin=0, vmax=1, alpha=0.7, linewidth=0, rasterized=True
        )
    for axis, (feature, seen) in zip((panel.xaxis, panel.yaxis), inputs, strict=True):
        _side(axis, feature, seen, axis is panel.xaxis)
    bar = figure.colorbar(drawn, ax=panel, extend="both")
    bar.ax.tick_params(labelsize=8)
    return bar


def _near(effect: Effect, counts: Any) -> Any:
    """Return which cells have rows, or along numbers of many values a neighbour with rows."""
    many = [not f.category and not len(s.weight)
            for f, s in zip(effect.features, effect.observed, strict=True)]  # fmt: skip
    around = np.ones([3 if each else 1 for each in many])
    return binary_dilation(counts > 0, around)


def _side(axis: Any, feature: Feature, seen: Observed, across: bool) -> None:
    axis.set_label_text(short(feature.name, 28))
    axis.set_major_locator(MaxNLocator(5))
    name_ticks(axis, feature, seen)
    if feature.category:
        count = min(len(feature.levels), MOST_LEVELS)
        texts = [short(level, 14) for level in feature.levels[:count]]
        slanted = across and sum(map(len, texts)) > 24
        size = 8 if count <= 10 else 6
        axis.set_ticks(range(count), texts, fontsize=size, **(SLANTED if slanted else {}))


COLOURS = tuple(f"C{k}" for k in range(8))  # classes that one panel has room for


def plot(
    model: ExplainMixin, mode: str, X: Any, names: Sequence[str] | None, top: int | None,
    target: Any,
) -> Figure:  # fmt: skip
    """See `ExplainMixin.plot_anova`."""
    room = check.lookup(mode, MODES, "mode")
    most = room if top is None else check.integer(top, "top", 1)
    model._outputs(target)  # a wrong target is an error whatever is drawn
    effects = _chosen(model.effects_, mode, names)
    if mode == "local":
        return local(model, effects, X, most, target)
    if mode == "importance":
        return importance(model, effects, most, target)
    draw = _mains if mode == "main" else _interactions
    return draw(model, effects if names is not None else effects[:most], target)


def _chosen(effects: Effects, mode: str, names: Sequence[str] | None) -> list[Effect]:
    """Return the effects of a mode that have these names, or all of them."""
    kinds = {"main": ("main",), "interaction": ("pair",)}.get(mode, ("main", "pair"))
    if names is None:
        found = [effect for effect in effects.values() if effect.kind in kinds]
    else:
        found = [effects[name] for name in ([names] if isinstance(names, str) else names)]
        other = [effect.name for effect in found if effect.kind not in kinds]
        if other:
            raise ValueError(f"mode={mode!r} draws the kind {kinds[0]!r}, not {other[0]!r}")
    if not found and mode != "local":
        way = "; use mode='main'" if mode == "interaction" else ""
        raise ValueError(f"this model has no effects to draw with mode={mode!r}{way}")
    return found


def _mains(model: ExplainMixin, effects: list[Effect], target: Any) -> Figure:
    outputs = model._outputs(target)
    strongest = sorted(outputs, key=lambda k: -float(model.measured_.total[k]))[: len(COLOURS)]
    classes = model._output_classes()
    lines: Lines = [
        (k, str(classes[k]) if classes else "", COLOURS[n % len(COLOURS)])
        for n, k in enumerate(sorted(strongest))
    ]
    figure, axes = panels(len(effects), 4.0, 3.2)
    on = model._said(lines[0][0]) if len(lines) == 1 else "softmax score"
    for panel, effect in zip(axes, effects, strict=True):
        main_panel(panel, effect, lines)
        label = f"effect on {short(on, 34)}"
        if effect.features[0].category:
            panel.set_xlabel(label)
        else:
            panel.set_ylabel(label)
        share = effect.share if len(lines) > 1 else float(effect.shares[lines[0][0]])
        panel.set_title(f"{percents(share)} of the variance", fontsize=10)
    if len(lines) > 1:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _interactions(model: ExplainMixin, effects: list[Effect], target: Any) -> Figure:
    figure, axes = panels(len(effects), 4.6, 3.6)
    outputs = model._outputs(target)
    for panel, effect in zip(axes, effects, strict=True):
        k = max(outputs, key=lambda k: float(effect.stds[k]))
        bar = pair_panel(figure, panel, effect, k, model.measured_)
        bar.set_label(f"effect on {short(model._said(k), 30)}", fontsize=8)
        panel.set_title(f"{percents(float(effect.shares[k]))} of the variance", fontsize=10)
    figure.supxlabel("pale: no training rows near", fontsize=8, color="0.4")
    return figure


MODES = {"main": 9, "interaction": 6, "importance": 20, "local": 12}  # what there is room for
