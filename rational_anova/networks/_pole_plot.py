"""Where the denominators of a `RAN` vanish in the complex plane, around the range of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..units import RationalUnit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._ran import RAN

_SLICES = 25  # values of the other input of a pair
_SIDE = 0.75  # how far the picture goes beyond the data, in ranges


def draw_poles(model: RAN, x: Tensor, names: list[str], top: int) -> Figure:
    """Draw one panel for each input, those with the nearest poles first."""
    from ._plots import panels, span

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
