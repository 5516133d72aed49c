"""What is known behind a layer, and the steps that layers are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import Tensor

from .._core.types import Array
from ..proofs import Interval, down, matmul, point, up
from ..units import Rational1d, Rational2d
from ._units import UnitCertificate, bank_of, bounded, column

_NORM = 1e-10  # relative margin on spectral norms, which LAPACK computes


@dataclass(frozen=True)
class Layer:
    """One factor of the product bound: a layer's own Lipschitz constant, sharp and by theorem."""

    name: str
    lipschitz: float
    theorem: float

    def __post_init__(self) -> None:
        for kind in ("lipschitz", "theorem"):  # what overflowed on the way has no bound
            if math.isnan(getattr(self, kind)):
                object.__setattr__(self, kind, math.inf)


@dataclass(frozen=True)
class Settings:
    """How closely to look, and what is known already of the inputs of units, by name."""

    tolerance: float
    budget: int | None
    inputs: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerBounds:
    """Bounds of an intermediate result over the whole input box."""

    box: Interval  # (n,)
    jacobian: Interval  # (n, inputs)
    settings: Settings
    layers: tuple[Layer, ...] = ()
    units: tuple[UnitCertificate, ...] = ()

    def grown(self, layer: Layer | None = None, **parts: Any) -> LayerBounds:
        """Return the state with new parts and one more layer."""
        layers = self.layers if layer is None else (*self.layers, layer)
        return replace(self, layers=layers, **parts)


def array(tensor: Tensor) -> Array:
    """Return a tensor as a float64 array."""
    result: Array = tensor.detach().cpu().double().numpy()
    return result


def spectral(matrix: Array) -> float:
    """Return an upper bound of the spectral norm."""
    if not matrix.size:
        return 0.0
    if not np.isfinite(matrix).all():
        return float("inf")
    return float(np.linalg.norm(matrix, 2) * (1 + _NORM))


def interval_norm(matrix: Interval) -> float:
    """Return a bound of the spectral norms of all matrices in an interval."""
    if not (np.isfinite(matrix.low) & np.isfinite(matrix.high)).all():
        return float("inf")
    middle = 0.5 * (matrix.low + matrix.high)
    radius = up(np.maximum(matrix.high - middle, middle - matrix.low))
    return min(spectral(matrix.most), spectral(middle) + spectral(radius))


def affine(box: Interval, weight: Array, bias: Array | None) -> Interval:
    """Return W x + b over a box (n,)."""
    result = matmul(point(weight), Interval(box.low[:, None], box.high[:, None]))[:, 0]
    return result if bias is None else result + point(bias)


def scaled(rows: Interval, factor: Interval) -> Interval:
    """Multiply each row of a matrix by an interval; what is exactly zero stays so."""
    product = rows * Interval(factor.low[:, None], factor.high[:, None])
    zero = (rows.low == 0) & (rows.high == 0) & np.isfinite(factor.most)[:, None]
    return Interval(np.where(zero, 0.0, product.low), np.where(zero, 0.0, product.high))


@dataclass(frozen=True)
class Applied:
    """Units applied to a state: values, their Jacobian, their own slopes, and records."""

    value: Interval
    jacobian: Interval
    steepest: Array  # (units, variables)
    theorem: Array  # (units,)
    records: tuple[UnitCertificate, ...]


def _inputs(state: LayerBounds, name: str) -> Interval:
    """Return the box of the inputs of units, as narrow as it is known."""
    known = state.settings.inputs.get(name)
    return state.box if known is None else state.box.meet(known)


def apply_1d(unit: Rational1d, state: LayerBounds, name: str, columns: Any = None) -> Applied:
    """Apply units to each element, or to those in `columns`."""
    rows = slice(None) if columns is None else np.asarray(columns)
    box, jacobian = _inputs(state, name)[rows], state.jacobian[rows]
    bank = bank_of(unit, unit.features // unit.units)
    wanted = Interval(box.low[:, None], box.high[:, None])
    found = bounded(bank, wanted, name, state.settings.tolerance, state.settings.budget)
    slope = found.slopes[0]
    coarse = column(found.records, "theorem")
    return Applied(found.value, scaled(jacobian, slope), slope.most[:, None], coarse, found.records)


def apply_2d(unit: Rational2d, state: LayerBounds, name: str) -> Applied:
    """Apply pair units."""
    i, j = unit.pairs.cpu().numpy()
    inner = _inputs(state, name)
    box = Interval(
        np.stack([inner.low[i], inner.low[j]], 1), np.stack([inner.high[i], inner.high[j]], 1)
    )
    found = bounded(bank_of(unit), box, name, state.settings.tolerance, state.settings.budget)
    jacobian = scaled(state.jacobian[i], found.slopes[0]) + scaled(
        state.jacobian[j], found.slopes[1]
    )
    steepest = np.stack([slope.most for slope in found.slopes], 1)
    return Applied(found.value, jacobian, steepest, column(found.records, "theorem"), found.records)


def pair_matrix(unit: Rational2d, steepest: Array, features: int) -> Array:
    """Lay the slopes of pairs out as a matrix (pairs, features)."""
    i, j = unit.pairs.cpu().numpy()
    result = np.zeros((len(i), features))
    result[np.arange(len(i)), i] = steepest[:, 0]
    result[np.arange(len(i)), j] = steepest[:, -1]
    return result


def blend(old: Interval, new: Interval, gate: float) -> Interval:
    """Return (1 - gate) old + gate new."""
    rest = Interval(down(np.asarray(1 - gate)), up(np.asarray(1 - gate)))
    return old * rest + new.times(gate)


def joined(*parts: Interval) -> Interval:
    """Lay intervals one behind the other."""
    return Interval(
        np.concatenate([part.low for part in parts]), np.concatenate([part.high for part in parts])
    )
