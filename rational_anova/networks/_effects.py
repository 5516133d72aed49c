"""The effects of a `RAN` as `anova` knows them: its terms purified, and the poles of its units.

A network keeps no rows. Of its data it remembers quantiles, and takes the inputs as independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import functional as F
from .._core import checks as check
from .._core.types import Array
from ..anova import (
    Anova,
    Effect,
    Effects,
    Independent,
    Input,
    Local,
    Observed,
    cells,
    shares,
    short,
    together,
)
from ..tables import input_names, read_tensor
from ..units import RationalUnit, symbols

if TYPE_CHECKING:
    import sympy

    from ._ran import RAN

STEPS = 128  # between quantiles; those of odd number are middles of 64 equally likely parts
SLICES = 25  # values of the other input of a pair at which poles are looked for
NUMBERS = 10_000_000  # that quantiles are taken of, at most
ROWS = 1500  # at which the height of a pair is looked at
WIDEST = 1000  # inputs up to which a network remembers its data: files would be long


def quantiles(x: Array) -> Array:
    """Return quantiles of each column at even levels from 0 to 1, (levels, columns)."""
    ends = x.min(0), x.max(0)
    rows = max(NUMBERS // x.shape[1], 1000)
    ordered = np.sort(x[:: -(-len(x) // rows)], 0)
    at = np.rint(np.linspace(0, 1, STEPS + 1) * (len(ordered) - 1)).astype(int)
    found = ordered[at]
    found[0], found[-1] = ends
    return found


@dataclass(frozen=True)
class Data:
    """Where the inputs of a network lie.

    Args:
        quantiles: of each input, (levels, inputs).
        names: of the inputs.
        rows: (rows, inputs), if they are at hand.
    """

    quantiles: Array
    names: list[str]
    rows: Array | None = None

    @property
    def inputs(self) -> list[Input]:
        """The inputs."""
        pairs = zip(self.names, self.quantiles.T, strict=True)
        return [Input(name, Observed(points, np.zeros(0), 0.0)) for name, points in pairs]

    @property
    def middles(self) -> Array:
        """Equally likely values of each input."""
        return self.quantiles[1::2]


def data_of(model: RAN, X: Any, names: Any) -> Data:
    """Return the data that are given, or else those of the fit."""
    if isinstance(X, str):
        raise TypeError(f"X must be a table, got {X!r}; a mode is given as mode={X!r}")
    texts = [str(symbol) for symbol in inputs_of(model, X, names)]
    if X is not None:
        rows = read_tensor(X, model.in_features).numpy()
        return Data(quantiles(rows), texts, rows)
    if model.observed is None:
        why = ""
        if model.in_features > WIDEST:
            why = f" (a network of more than {WIDEST} inputs remembers none)"
        raise ValueError(
            f"this RAN knows no data{why}: fit it first with data in memory, or pass X, rows that "
            "say where its inputs lie"
        )
    return Data(np.asarray(model.observed["quantiles"], dtype=np.float64), texts)


def inputs_of(model: RAN, X: Any, names: Any) -> list[sympy.Symbol]:
    """Return symbols for the inputs: named as given, as in X, as in the fit, or x0, x1, ..."""
    given = input_names(names, X)
    if given is None and model.observed is not None:
        given = model.observed["names"]
    return symbols(given, model.in_features)


# -- effects


@dataclass(frozen=True)
class Unit:
    """One unit of a network as a function of its inputs, times its weights in the outputs.

    Args:
        bank: the units.
        place: which one.
        weights: (outputs,).
    """

    bank: RationalUnit
    place: int
    weights: Array

    @torch.no_grad()
    def __call__(self, rows: Array) -> Array:
        """Return the term at (rows, inputs of the unit), as (rows, outputs)."""
        unit, one = self.bank, slice(self.place, self.place + 1)
        top, bottom = (p.detach().double().cpu()[..., one].contiguous()
                       for p in (unit.numerator, unit.denominator))  # fmt: skip
        gate = None if unit.gate is None else unit.gate.detach().double().cpu()[one]
        pairs = torch.tensor([[0], [1]]) if rows.shape[1] == 2 else None
        x = torch.from_numpy(np.ascontiguousarray(rows))
        value = F.apply(x, top, bottom, gate, pairs, unit.form, -1)[:, 0].numpy()
        if not np.isfinite(value).all():
            raise ValueError(
                "a term is not finite within the range of the data: it has a pole there; "
                "plot_anova(mode='poles') shows where"
            )
        return np.asarray(value[:, None] * self.weights)


@dataclass(frozen=True)
class Purified:
    """One effect of a network as a function of all its inputs."""

    source: Independent
    axes: tuple[int, ...]

    def at(self, values: Array) -> Array:
        """Return the effect at rows, (rows, outputs)."""
        return self.source.at(self.axes, values[:, self.axes])

    def spread(self, values: Array) -> None:
        """A network has no posterior."""
        return


def purified(model: RAN, points: Array) -> Independent:
    """Return the effects of a network, given equally likely values of each input."""
    weights = np.ones((model.out_features, model.topology.num_mains + model.topology.num_pairs))
    if model.head is not None:
        weights = model.head.weight.detach().double().cpu().numpy()
    mains, pairs = model.topology.mains, model.topology.pairs
    terms: dict[tuple[int, ...], Unit] = {}
    for place, n in enumerate(mains):
        assert model.main is not None
        terms[(n,)] = Unit(model.main, place, weights[:, place])
    for place, pair in enumerate(pairs):
        assert model.pair is not None
        terms[pair] = Unit(model.pair, place, weights[:, len(mains) + place])
    return Independent(terms, points)


def effects_of(model: RAN, data: Data, source: Independent) -> Effects:
    """Return the effects of a network by name."""
    inputs, classes = data.inputs, output_names(model)
    variances = np.stack([source.variances[axes] for axes in source.axes])
    total = variances.sum(0)
    share = shares(variances, total)
    found = []
    for axes, own, each, over in zip(
        source.axes, share, variances, together(share, total), strict=True
    ):
        seen = tuple(inputs[n] for n in axes)
        effect = Effect(
            " x ".join(one.name for one in seen), axes, seen, float(over), own, np.sqrt(each),
            source.heights[axes], classes, Purified(source, axes), len(inputs),
        )  # fmt: skip
        found.append(effect if data.rows is None or len(axes) == 1 else _seen(effect, data.rows))
    return Effects(found)


def _seen(effect: Effect, rows: Array) -> Effect:
    """Return a pair that knows in which of its cells there are rows, and how large it is there."""
    first, second = (rows[:, n] for n in effect.axes)
    table = np.histogram2d(first, second, [cells(one) for one in effect.seen])[0]
    near = effect.at(rows[:: -(-len(rows) // ROWS)])
    return replace(effect, table=table / len(rows), heights=np.quantile(np.abs(near), 0.99, axis=0))


def output_names(model: RAN) -> tuple[str, ...]:
    """Return what outputs are called; nothing if there is but one."""
    count = model.out_features
    return tuple(f"output {k}" for k in range(count)) if count > 1 else ()


def anova_of(model: RAN, X: Any, mode: str, names: Any) -> Anova:
    """Return a network as pictures know it."""
    local = mode == "local"
    data = data_of(model, None if local else X, names)
    if mode == "poles":  # which need no effects: those of a unit with a pole are not finite
        effects = _unmeasured(model, data)
        total = np.ones(model.out_features)
    else:
        source = purified(model, data.middles)
        effects = effects_of(model, data, source)
        total = np.sum(list(source.variances.values()), 0)
    return Anova(
        data.inputs, effects, total, output_names(model) or ("f",), output_names(model),
        poles=lambda: poles_of(model, data.quantiles),
        local=_local(model, X, data, effects, source) if local else None,
    )  # fmt: skip


def _unmeasured(model: RAN, data: Data) -> Effects:
    none = np.full(model.out_features, np.nan)
    inputs = data.inputs
    every = [*((n,) for n in range(model.in_features)), *model.topology.pairs]
    source = Independent({}, data.middles)
    return Effects([
        Effect(" x ".join(inputs[n].name for n in axes), axes, tuple(inputs[n] for n in axes),
               np.nan, none, none, none, output_names(model), Purified(source, axes), len(inputs))
        for axes in every
    ])  # fmt: skip


def _local(model: RAN, X: Any, data: Data, effects: Effects, source: Independent) -> Local:
    """Return what adds up to f at the one row of X."""
    if X is None:
        raise ValueError("mode='local' draws one row, got none; pass X=table[[k]]")
    row = read_tensor(X, model.in_features).numpy()
    if len(row) != 1:
        raise ValueError(f"mode='local' draws one row, got {len(row)} rows; pass X=table[[k]]")
    intercept = np.broadcast_to(source.intercept, (model.out_features,))
    if model.head is not None:
        intercept = intercept + model.head.bias.detach().double().cpu().numpy()
    texts = {
        name: ", ".join(
            f"{short(data.names[n], 20)} = {row[0, n]:.4g}" for n in effect.axes
        )
        for name, effect in effects.items()
    }  # fmt: skip
    return Local({name: e.at(row)[0] for name, e in effects.items()}, texts, intercept)


def output_positions(model: RAN, output: Any) -> list[int] | None:
    """Return the position of an output as a list; None for None."""
    if output is None:
        return None
    if check.integer(output, "output") >= model.out_features:
        raise ValueError(f"output must be below {model.out_features}, got {output}")
    return [int(output)]


# -- poles


def poles_of(model: RAN, points: Array) -> dict[int, dict[int, Array]]:
    """Return poles by input and partner, -1 for the main effect; units without p are left out.

    For a pair these are the poles in one input while the other has values out of its data.

    Args:
        model: a network.
        points: quantiles of each input at even levels, (levels, inputs).
    """
    found: dict[int, dict[int, Array]] = {n: {} for n in range(model.in_features)}
    levels = np.rint(np.linspace(0, len(points) - 1, SLICES)).astype(int)
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
                values = np.unique(points[levels, other])
                slices = [_roots(unit, place, axis, float(v)) for v in values]
                found[here][other] = np.concatenate(slices)
    return found


def _roots(unit: RationalUnit, place: int, axis: int, other: float | None) -> Array:
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


def _softplus_roots(q: Any, shift: float) -> list[Array]:
    """Return where shift + log(1 + exp(q)) = 0 for the two values of q next to the real line."""
    goal = np.log1p(-np.exp(-shift))
    return [_polynomial_roots(q - (goal + 1j * np.pi * sign)) for sign in (1, -1)]


def _polynomial_roots(polynomial: Any) -> Array:
    # A leading coefficient that is rounding would be a pole at 1e16.
    size = np.abs(polynomial.coef).max()
    return np.asarray(polynomial.trim(1e-14 * size).roots(), dtype=complex)
