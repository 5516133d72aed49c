"""`plot_anova`: pictures of a model's effects, from records; no model is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import checks as check
from .._core.types import Array
from ._effects import Effect, Effects
from ._inputs import Input
from ._panels import (
    MINUS,
    SLANTED,
    Lines,
    bare,
    distance,
    main_panel,
    pair_panel,
    panels,
    pole_panel,
    short,
)
from ._shares import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = tuple(f"C{k}" for k in range(8))  # outputs that one panel has room for
SHORT, FLOOR = 0.002, 1e-6  # of the variance: what few effects may leave, and what is drawn
ANNOTATED = 12  # rows of the matrix of shares up to which the numbers are written
KINDS = {"main": ("main",), "interaction": ("pair",)}  # those that a mode draws, if not both

Poles = dict[int, dict[int, Array]]  # complex, by input and partner; -1 for the main effect


@dataclass(frozen=True)
class Local:
    """What adds up to f at one row.

    Args:
        parts: what each effect adds, by name, (outputs,); also what is no effect.
        texts: the effects in words, with the values of the row.
        intercept: (outputs,).
    """

    parts: dict[str, Array]
    texts: dict[str, str]
    intercept: Array

    @property
    def total(self) -> Array:
        """f at the row, (outputs,)."""
        return self.intercept + sum(self.parts.values())


@dataclass(frozen=True)
class Anova:
    """A model as its effects, ready to be drawn.

    Args:
        inputs: all of them.
        effects: by name.
        total: variance of each output.
        outputs: what each output is, in words.
        classes: what outputs are called in a legend; none if there is but one.
        all_outputs: what they are together, in words.
        poles: finds the complex poles of the effects.
        local: what adds up at the row that is drawn.
        left: share of the variance that is left with so many effects, the largest first; None where
            shares add up to it.
    """

    inputs: Sequence[Input]
    effects: Effects
    total: Array
    outputs: tuple[str, ...]
    classes: tuple[Any, ...] = ()
    all_outputs: str = "all outputs"
    poles: Callable[[], Poles] | None = None
    local: Local | None = None
    left: Array | None = None


def plot(
    anova: Anova, mode: str, effects: Any, top: int | None, outputs: Sequence[int] | None
) -> Figure:
    """Draw the effects of a model.

    Args:
        anova: the model.
        mode: one of `MODES`.
        effects: names of those to draw; None for the largest.
        top: how many at most; None for what there is room for.
        outputs: positions of those to draw; None for all, or for the one that matters most.
    """
    room, draw = check.lookup(mode, MODES, "mode")
    found = _chosen(anova.effects, mode, effects)
    if top is not None:
        room = check.integer(top, "top", 1)
    elif effects is not None:  # all that were asked for
        room = max(len(found), 1)
    return draw(anova, found, room, outputs)


def _chosen(effects: Effects, mode: str, names: Any) -> list[Effect]:
    """Return the effects of a mode that have these names, or all of them."""
    kinds = KINDS.get(mode, ("main", "pair"))
    if names is None:
        found = [effect for effect in effects.values() if effect.kind in kinds]
    else:
        found = [effects[name] for name in ([names] if isinstance(names, str) else names)]
        other = [effect.name for effect in found if effect.kind not in kinds]
        if other:
            raise ValueError(f"mode={mode!r} draws the kind {kinds[0]!r}, not {other[0]!r}")
    if not found and mode == "interaction":
        raise ValueError(
            "this model has no pairs, so there is no interaction to draw; use mode='main'"
        )
    if not found and mode != "local":
        raise ValueError(f"this model has no effects to draw with mode={mode!r}")
    return found


Outputs = Sequence[int] | None


def _mains(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    effects = effects[:most]
    every = range(len(anova.outputs)) if outputs is None else outputs
    strongest = sorted(every, key=lambda k: -float(anova.total[k]))[: len(COLOURS)]
    lines: Lines = [
        (k, str(anova.classes[k]) if anova.classes else "", COLOURS[n])
        for n, k in enumerate(sorted(strongest))
    ]
    figure, axes = panels(len(effects), 4.0, 3.2)
    on = anova.outputs[lines[0][0]] if len(lines) == 1 else anova.all_outputs
    for panel, effect in zip(axes, effects, strict=True):
        main_panel(panel, effect, lines)
        label = f"effect on {short(on, 34)}"
        panel.set(**{"xlabel" if effect.seen[0].category else "ylabel": label})
        share = effect.share if len(lines) > 1 else float(effect.shares[lines[0][0]])
        panel.set_title(f"{percent(share)} of the variance", fontsize=10)
    if len(lines) > 1:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _interactions(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    effects = effects[:most]
    every = range(len(anova.outputs)) if outputs is None else outputs
    figure, axes = panels(len(effects), 4.6, 3.6)
    for panel, effect in zip(axes, effects, strict=True):
        k = max(every, key=lambda k: float(effect.stds[k]))
        bar = pair_panel(figure, panel, effect, k)
        bar.set_label(f"effect on {short(anova.outputs[k], 30)}", fontsize=8)
        panel.set_title(f"{percent(float(effect.shares[k]))} of the variance", fontsize=10)
    if any(effect.table is not None for effect in effects):
        figure.supxlabel("pale: no rows near", fontsize=8, color="0.4")
    return figure


def _share_of(effect: Effect, outputs: Outputs) -> float:
    return effect.share if outputs is None else float(effect.shares[outputs[0]])


def _whose(anova: Anova, outputs: Outputs) -> str:
    if outputs is None and len(anova.outputs) > 1:
        return anova.all_outputs
    return short(anova.outputs[outputs[0] if outputs else 0], 40)


def _importance(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    from matplotlib.patches import Patch

    shares = [_share_of(effect, outputs) for effect in effects]
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
        panel.annotate(percent(value), (max(value, 0), at), (3, 0), textcoords="offset points",
                       va="center", fontsize=8)  # fmt: skip
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.margins(x=0.15)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    panel.set_xlabel(f"share of the variance of {_whose(anova, outputs)}")
    kinds = {effects[n].kind for n in shown}
    handles = [Patch(color=colour[kind], label=kind) for kind in colour if kind in kinds]
    panel.legend(handles=handles, loc="lower right", frameon=False)
    bare(panel)
    return figure


def _heatmap(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    """Draw the shares as a matrix of the inputs, main effects on the diagonal."""
    matrix = np.full((len(anova.inputs),) * 2, np.nan)
    for effect in effects:
        share = _share_of(effect, outputs)
        matrix[effect.axes[0], effect.axes[-1]] = matrix[effect.axes[-1], effect.axes[0]] = share
    there = np.flatnonzero(~np.isnan(matrix).all(1))
    strongest = there[np.argsort(-np.nansum(matrix[there], 1), kind="stable")][:most]
    kept = np.sort(strongest)
    matrix = matrix[np.ix_(kept, kept)]
    names = [short(anova.inputs[n].name, 28) for n in kept]
    figure, (axis,) = panels(1, 0.55 * len(kept) + 3.2, 0.5 * len(kept) + 2.2)
    axis.set_facecolor("0.93")  # pairs that the model does not have
    largest = float(np.nanmax(matrix)) if np.nanmax(matrix) > 0 else 1.0
    drawn = axis.imshow(matrix, cmap="Blues", vmin=0, vmax=largest)
    ticks = {"ticks": range(len(kept)), "labels": names}
    axis.set_xticks(**ticks, **(SLANTED if max(map(len, names)) > 3 else {}))
    axis.set_yticks(**ticks)
    if len(kept) <= ANNOTATED:
        for (i, j), share in np.ndenumerate(matrix):
            if not np.isnan(share):
                text = percent(share).replace(" %", "")
                axis.text(j, i, text, ha="center", va="center", fontsize=8,
                          color="w" if share > 0.6 * largest else "k")  # fmt: skip
    bar = figure.colorbar(drawn, ax=axis, shrink=0.8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    bar.set_label(f"share of the variance of {_whose(anova, outputs)}")
    left = len(there) - len(kept)
    note = f"; {left} weaker inputs left out" if left else ""
    axis.set_title(f"main effects on the diagonal{note}", fontsize=10)
    return figure


def _local(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    """Draw how effects add up from the intercept to f at one row."""
    local = anova.local
    if local is None:
        raise ValueError("mode='local' draws one row, got none; pass X=table.iloc[[k]]")
    every = range(len(anova.outputs)) if outputs is None else outputs
    k = max(every, key=lambda k: float(local.total[k]))
    known = {name: float(part[k]) for name, part in local.parts.items()}
    drawn = [effect.name for effect in effects]
    drawn += [name for name in known if name not in anova.effects]  # a deep part, say
    names = sorted(drawn, key=lambda name: -abs(known[name]))[:most]
    sizes = [known[name] for name in names]
    texts = [local.texts.get(name, name) for name in names]
    if len(names) < len(known):
        sizes.append(sum(known.values()) - sum(sizes))
        texts.append(f"{len(known) - len(names)} more effects")
    start, end = float(local.intercept[k]), float(local.total[k])
    figure, (panel,) = panels(1, 7.6, 0.3 * len(sizes) + 1.6)
    _steps(panel, sizes, start)
    panel.set_yticks(range(len(texts)), texts)
    panel.set_ylim(len(sizes) - 0.4, -0.6)
    for name, value, style in (("intercept", start, ":"), ("prediction", end, "--")):
        text = f"{name} {value:.4g}".replace("-", MINUS)
        panel.axvline(value, color="0.3", linewidth=1, linestyle=style, label=text, zorder=0)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    panel.set_xlabel(short(anova.outputs[k], 50))
    bare(panel)
    return figure


def _steps(panel: Any, sizes: list[float], start: float) -> None:
    """Draw bars, each from where the last one ends."""
    ends = start + np.cumsum(sizes)
    starts = ends - sizes
    at = np.arange(len(sizes))
    panel.barh(at, sizes, left=starts, color=["C3" if s > 0 else "C0" for s in sizes], height=0.7)
    for n in at:
        if n:
            panel.plot([starts[n]] * 2, [n - 1, n], color="0.6", linewidth=0.8)
        text = f"{sizes[n]:+.3g}".replace("-", MINUS)
        panel.annotate(text, (max(starts[n], ends[n]), n), (3, 0), textcoords="offset points",
                       va="center", fontsize=8)  # fmt: skip
    reach = np.concatenate([starts, ends, [start]])
    room = 0.04 * (reach.max() - reach.min()) or 1.0
    panel.set_xlim(reach.min() - room, reach.max() + 3 * room)


def _poles(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    """Draw one panel for each input, those with the nearest poles first."""
    found = {} if anova.poles is None else anova.poles()
    wanted = {effect.axes for effect in effects}
    shown: dict[int, dict[str, Array]] = {}
    for n, partners in found.items():
        some = {
            "main effect" if other < 0 else f"with {short(anova.inputs[other].name, 28)}": poles
            for other, poles in sorted(partners.items())
            if ((n,) if other < 0 else (min(n, other), max(n, other))) in wanted
        }
        if some or any(n in axes for axes in wanted):
            shown[n] = some
    if not shown:
        raise ValueError("mode='poles' draws inputs that are numbers, and there are none")
    nearest = {
        n: min((distance(poles, anova.inputs[n]) for poles in some.values()), default=np.inf)
        for n, some in shown.items()
    }
    order = sorted(nearest, key=lambda n: (nearest[n], n))[:most]
    figure, axes = panels(len(order), 4.2, 3.6)
    for panel, n in zip(axes, order, strict=True):
        pole_panel(panel, anova.inputs[n], shown[n])
    return figure


def _tradeoff(anova: Anova, effects: list[Effect], most: int, outputs: Outputs) -> Figure:
    """Draw the share of the variance that is left, by how many effects are kept."""
    left = anova.left
    if left is None:
        left = np.append(1.0, 1 - np.cumsum([effect.share for effect in anova.effects.values()]))
    count = np.arange(len(left))
    figure, (panel,) = panels(1, 6.4, 3.4)
    panel.plot(count, np.maximum(left, FLOOR), "o-", color="C0", markersize=4, linewidth=1)
    panel.axhline(SHORT, color="0.5", linewidth=0.8, linestyle="--")
    panel.annotate(f"{percent(SHORT)} left", (count[-1], SHORT), (0, 3), ha="right", fontsize=8,
                   textcoords="offset points")  # fmt: skip
    panel.set_yscale("log")
    panel.set_ylim(FLOOR / 2, 2)
    panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    panel.set_xlabel("effects kept, the largest shares first")
    panel.set_ylabel("share of the variance left")
    bare(panel)
    return figure


# What is drawn, and how many effects (inputs, for the last two) there is room for.
MODES: Mapping[str, tuple[int, Callable[..., Figure]]] = {
    "main": (9, _mains),
    "interaction": (6, _interactions),
    "importance": (20, _importance),
    "local": (12, _local),
    "heatmap": (12, _heatmap),
    "poles": (6, _poles),
    "tradeoff": (1, _tradeoff),
}
