"""`plot_anova`: pictures of main effects, pairs, their shares, and of poles in the plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .._core import checks as check
from ..tables import input_names, read_tensor
from ..units import RationalUnit, symbols
from ._effects import Effects

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._ran import RAN


_GRID = 60
_CURVE = 200
_ROWS = 1500  # of the data that are drawn
_ANNOTATED = 12  # rows of a heatmap up to which the numbers are written


def plot_anova(model: RAN, X: Any, mode: str, names: Any, output: int, top: int) -> Figure:
    """See `RAN.plot_anova`."""
    check.choice(mode, MODES, "mode")
    if check.integer(output, "output") >= model.out_features:
        raise ValueError(f"output must be below {model.out_features}, got {output}")
    check.integer(top, "top", 1)
    rows = read_tensor(X, model.in_features)
    texts = [str(s) for s in symbols(input_names(names, X), model.in_features)]
    texts = [text if len(text) <= 28 else text[:27] + "…" for text in texts]
    return MODES[mode](model, rows, texts, output, top)


def panels(count: int, width: float = 3.6, height: float = 3.0) -> tuple[Figure, list[Any]]:
    """Return a figure and so many axes, in rows of three, of four if there are many."""
    from matplotlib.figure import Figure  # slow to import, and most users do not draw

    across = min(count, 3 if count <= 9 else 4)
    down = -(-count // across)
    figure = Figure(figsize=(max(width * across, 4.8), height * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def span(column: Any) -> tuple[float, float]:
    """Return the range of a column; around a constant one some room."""
    low, high = float(column.min()), float(column.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def percent(share: float) -> str:
    """Write a share in percent, with as many digits as one needs."""
    if share and share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def _main(model: RAN, x: Any, names: list[str], output: int, top: int) -> Figure:
    effects = Effects(model, x, output)
    order = np.argsort(-effects.mains, kind="stable")[:top]
    figure, axes = panels(len(order))
    curves = []
    for n in order:
        at = torch.linspace(*span(x[:, n]), _CURVE, dtype=torch.float64)
        curves.append((at.numpy(), effects.main(int(n), at)))
    least = min(curve.min() for _, curve in curves)
    most = max(curve.max() for _, curve in curves)
    room = 0.05 * (most - least) or 1.0
    for axis, n, (where, curve) in zip(axes, order, curves, strict=True):
        axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        axis.plot(where, curve, color="C0", linewidth=2)
        counts, edges = np.histogram(x[:, n].numpy(), bins=40)
        # The data along the bottom, a fifth of the panel high.
        behind = axis.twinx()
        behind.bar(edges[:-1], counts, np.diff(edges), align="edge", color="0.85")
        behind.set(ylim=(0, 5 * counts.max()), yticks=[])
        axis.set_zorder(behind.get_zorder() + 1)
        axis.patch.set_visible(False)
        for each in (axis, behind):
            each.spines[["top", "right"]].set_visible(False)
        axis.set(xlabel=names[n], ylim=(least - 4 * room, most + room))
        axis.set_title(f"{percent(effects.mains[n])} of the variance", fontsize=10)
    for axis in axes[:: 3 if len(axes) <= 9 else 4]:
        axis.set_ylabel("main effect")
    return figure


def _interaction(model: RAN, x: Any, names: list[str], output: int, top: int) -> Figure:
    if not model.topology.num_pairs:
        raise ValueError(
            "this network has no pairs, so there is no interaction to draw; use mode='main'"
        )
    effects = Effects(model, x, output)
    order = sorted(effects.pairs, key=lambda pair: -effects.pairs[pair])[:top]
    order = [pair for pair in order if effects.pairs[pair] > 0] or order[:1]
    figure, axes = panels(len(order), 4.2, 3.4)
    shown = x[:: -(-len(x) // _ROWS)].numpy()
    for axis, pair in zip(axes, order, strict=True):
        u, v = (torch.linspace(*span(x[:, n]), _GRID, dtype=torch.float64) for n in pair)
        surface = effects.pair(pair, u, v)
        # The colours are for where the data are: corners without data may be far off.
        near = [np.searchsorted(g.numpy(), shown[:, n]) for g, n in zip((u, v), pair, strict=True)]
        most = float(np.abs(surface[tuple(np.minimum(near, _GRID - 1))]).max()) or 1.0
        levels = np.linspace(-most, most, 22)
        drawn = axis.contourf(u, v, surface.T, levels, cmap="RdBu_r", extend="both")
        axis.scatter(*shown[:, list(pair)].T, s=3, color="k", alpha=0.2, linewidths=0)
        bar = figure.colorbar(drawn, ax=axis, ticks=np.linspace(-most, most, 5))
        bar.ax.tick_params(labelsize=8)
        bar.ax.yaxis.set_major_formatter(
            lambda value, _: f"{value:.2g}".replace("-", "\N{MINUS SIGN}")
        )
        axis.set(xlabel=names[pair[0]], ylabel=names[pair[1]])
        axis.set_title(f"{percent(effects.pairs[pair])} of the variance", fontsize=10)
    return figure


def _heatmap(model: RAN, x: Any, names: list[str], output: int, top: int) -> Figure:
    effects = Effects(model, x, output)
    matrix = np.full((len(names), len(names)), np.nan)
    matrix[np.diag_indices(len(names))] = effects.mains
    for (i, j), share in effects.pairs.items():
        matrix[i, j] = matrix[j, i] = share
    strongest = np.argsort(-np.nansum(matrix, 1), kind="stable")[: 2 * top]
    kept = np.sort(strongest)
    matrix = matrix[np.ix_(kept, kept)]
    figure, (axis,) = panels(1, 0.55 * len(kept) + 3.2, 0.5 * len(kept) + 2.2)
    axis.set_facecolor("0.93")  # pairs that the network does not have
    drawn = axis.imshow(matrix, cmap="Blues", vmin=0, vmax=np.nanmax(matrix) or 1.0)
    ticks = {"ticks": range(len(kept)), "labels": [names[n] for n in kept]}
    long = max(map(len, names)) > 3
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axis.set_xticks(**ticks, **slanted)
    axis.set_yticks(**ticks)
    if len(kept) <= _ANNOTATED:
        for (i, j), share in np.ndenumerate(matrix):
            if not np.isnan(share):
                dark = share > 0.6 * np.nanmax(matrix)
                text = percent(share).replace(" %", "")
                axis.text(j, i, text, ha="center", va="center", fontsize=8,
                          color="w" if dark else "k")  # fmt: skip
    bar = figure.colorbar(drawn, ax=axis, shrink=0.8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    bar.set_label("share of the variance")
    left = len(names) - len(kept)
    note = f"; {left} weaker inputs left out" if left else ""
    axis.set_title(f"main effects on the diagonal{note}", fontsize=10)
    return figure


def _poles(model: RAN, x: Any, names: list[str], output: int, top: int) -> Figure:

    return draw_poles(model, x, names, top)


MODES: dict[str, Callable[..., Any]] = {
    "interaction": _interaction,
    "main": _main,
    "heatmap": _heatmap,
    "poles": _poles,
}


_SLICES = 25  # values of the other input of a pair
_SIDE = 0.75  # how far the picture goes beyond the data, in ranges


def draw_poles(model: RAN, x: Tensor, names: list[str], top: int) -> Figure:
    """Draw one panel for each input, those with the nearest poles first."""

    found = poles_of(model, x)
    nearest = {n: min((_distance(p, x[:, n]) for p in f.values()), default=np.inf)
               for n, f in found.items()}  # fmt: skip
    order = sorted(nearest, key=lambda n: (nearest[n], n))[:top]
    figure, axes = panels(len(order), 4.2, 3.6)
    for axis, n in zip(axes, order, strict=True):
        low, high = span(x[:, n])
        side = _SIDE * (high - low)
        axis.axvspan(low, high, color="0.93", zorder=0)
        axis.axhline(0, color="0.5", linewidth=0.8, zorder=1)
        axis.plot([low, high], [0, 0], color="k", linewidth=3, solid_capstyle="butt", zorder=2)
        outside = 0
        for number, (partner, poles) in enumerate(sorted(found[n].items())):
            inside = (poles.real > low - side) & (poles.real < high + side)
            inside &= np.abs(poles.imag) < side
            outside += int((~inside).sum())
            label = "main effect" if partner < 0 else f"with {names[partner]}"
            style: dict[str, Any] = {"marker": "o", "s": 14, "color": f"C{number % 10}"}
            if partner < 0:
                style = {"marker": "x", "s": 45, "color": "k", "zorder": 4}
            if inside.any():
                axis.scatter(poles[inside].real, poles[inside].imag, label=label,
                             **{"zorder": 3, **style})  # fmt: skip
        title = "no poles" if nearest[n] == np.inf else f"nearest pole {nearest[n]:.2g} away"
        title = "a pole within the data" if nearest[n] == 0 else title
        title += f", {outside} outside the picture" if outside else ""
        axis.set_title(title, fontsize=10)
        axis.set(xlim=(low - side, high + side), ylim=(-side, side))
        axis.set(xlabel=f"Re {names[n]}", ylabel=f"Im {names[n]}")
        handles = axis.get_legend_handles_labels()[0]
        if handles:
            # Beside the panel, where it covers no pole.
            axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False,
                        handletextpad=0.1, borderaxespad=0.2)  # fmt: skip
    return figure


def poles_of(model: RAN, x: Tensor) -> dict[int, dict[int, np.ndarray]]:
    """Return poles by input and partner, -1 for the main effect; units without p are left out.

    For a pair these are the poles in one input while the other has values out of its data.
    """
    found: dict[int, dict[int, np.ndarray]] = {n: {} for n in range(model.in_features)}
    levels = torch.linspace(0, 1, _SLICES, dtype=torch.float64)
    banks: Any = ((model.main, model.topology.mains), (model.pair, model.topology.pairs))
    for unit, terms in banks:
        if unit is None:
            continue
        for place, term in enumerate(terms):
            if not bool((unit.numerator[..., place] != 0).any()):
                continue
            if isinstance(term, int):
                found[term][-1] = _roots(unit, place, 0, None)
                continue
            for axis in (0, 1):
                here, other = term[axis], term[1 - axis]
                values = torch.quantile(x[:100_000, other], levels, interpolation="nearest")
                slices = [_roots(unit, place, axis, float(v)) for v in values.unique()]
                found[here][other] = np.concatenate(slices)
    return found


def _roots(unit: RationalUnit, place: int, axis: int, other: float | None) -> np.ndarray:
    """Return the complex roots of d in one variable, of all heads."""
    form = unit.form
    if not (form.kind.rational or form.kind.name == "softplus"):
        raise ValueError(
            f"denominator={form.kind.name!r} is no analytic function, so it has no complex poles; "
            "on the real line it is never below 1. Poles can be drawn for 'polynomial', 'square', "
            "'sos' and 'softplus'"
        )
    rows = unit._heads(unit.denominator.detach().double().cpu())[..., place]
    result = [np.empty(0, dtype=complex)]
    for head in rows:
        total = np.polynomial.Polynomial([1.0 + form.eps])
        for part, powers in zip(form.split(head), form.denominator, strict=True):
            q = np.zeros(1 + max(row[axis] for row in powers))
            for value, row in zip(part, powers, strict=True):
                rest = 1.0 if other is None else other ** row[1 - axis]
                q[row[axis]] += float(value) * rest
            if form.kind.name == "softplus":
                result += _softplus_roots(np.polynomial.Polynomial(q), 1 + form.eps)
            else:
                total = total + form.kind.expression(np.polynomial.Polynomial(q))
        if form.kind.rational:
            result.append(_polynomial_roots(total))
    return np.concatenate(result)


def _softplus_roots(q: Any, shift: float) -> list[np.ndarray]:
    """Return where shift + log(1 + exp(q)) = 0 for the two values of q next to the real line."""
    goal = np.log1p(-np.exp(-shift))
    return [_polynomial_roots(q - (goal + 1j * np.pi * sign)) for sign in (1, -1)]


def _polynomial_roots(polynomial: Any) -> np.ndarray:
    # A leading coefficient that is rounding would be a pole at 1e16.
    size = np.abs(polynomial.coef).max()
    return np.asarray(polynomial.trim(1e-14 * size).roots(), dtype=complex)


def _distance(poles: np.ndarray, column: Tensor) -> float:
    low, high = float(column.min()), float(column.max())
    outside = np.maximum(np.maximum(low - poles.real, poles.real - high), 0)
    return float(np.hypot(outside, poles.imag).min(initial=np.inf))
