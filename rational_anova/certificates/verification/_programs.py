"""Formulas of one or two numbers, entry by entry, with bounds of their derivatives on cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erf, expit

from ..._core.types import Array
from ...proofs import MARGIN, Curve, Interval, hull, point
from .._cells import Jet, _chain, _sharpened, _sharpened_slope, around, indices
from .._curves import BASE, PSI, Range
from ..relaxation import CurveJets


def _power(n: int) -> tuple[Range, Range, Range]:
    def part(factor: float, power: int) -> Range:
        if power < 0 or factor == 0:
            return lambda x: Interval(np.zeros_like(x.low), np.zeros_like(x.low))
        turns = (0.0,) if power % 2 == 0 and power else ()
        return Curve(lambda x: factor * x**power, turns)

    return part(1.0, n), part(float(n), n - 1), part(float(n * (n - 1)), n - 2)


def _bell(x: Array) -> Array:
    return np.asarray(2 / np.sqrt(np.pi) * np.exp(-x * x))


_ROOT: tuple[Range, Range, Range] = (
    Curve(np.sqrt, domain=(0.0, np.inf)),
    Curve(lambda x: 0.5 / np.sqrt(x), domain=(0.0, np.inf)),
    Curve(lambda x: -0.25 / (x * np.sqrt(x)), domain=(0.0, np.inf)),
)
_EXP = Curve(np.exp, least=0.0)
_TURN = float(np.log(2 + np.sqrt(3)))
_BEND = Curve(lambda x: expit(x) * expit(-x) * (expit(-x) - expit(x)), (-_TURN, _TURN), MARGIN)

# Value, slope and curvature of functions that ONNX has a name for.
CURVES: dict[str, tuple[Range, Range, Range]] = {
    "Relu": BASE["relu"],
    "Gelu": BASE["gelu"],
    "Gelu.tanh": BASE["gelu_tanh"],
    "Tanh": BASE["tanh"],
    "Softplus": PSI["softplus"],
    "Sigmoid": (*PSI["softplus"][1:], _BEND),
    "Abs": PSI["abs"],
    "Exp": (_EXP, _EXP, _EXP),
    "Sqrt": _ROOT,
    "Erf": (
        Curve(erf),
        Curve(_bell, (0.0,)),
        Curve(lambda x: -2 * x * _bell(x), (-np.sqrt(0.5), np.sqrt(0.5))),
    ),
    "Sign": (
        Curve(np.sign, exact=True),
        lambda x: _where(x, 0.0),
        lambda x: _where(x, 0.0),
    ),
    **{f"Pow.{n}": _power(n) for n in range(2, 9)},
}
KINKED = ("Relu", "Abs")


def _where(x: Interval, value: float) -> Interval:
    """A number away from zero, and nothing known around it."""
    away = (x.low > 0) | (x.high < 0)
    return Interval(np.where(away, value, -np.inf), np.where(away, value, np.inf))


@dataclass(frozen=True, eq=False)
class Formula:
    """An operation on formulas, a variable or numbers; for each of `size` entries.

    Args:
        kind: the operation; `variable` and `number` have no arguments.
        parts: its arguments.
        value: of `number`, the numbers; of `variable`, those of the entries that they are.
        line: (slope, offset) if it is linear in its one variable.
    """

    kind: str
    parts: tuple[Formula, ...] = ()
    value: Any = None
    line: tuple[Array, Array] | None = None

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.parts[0].size if self.parts else len(self.value)

    def variables(self) -> list[np.ndarray]:
        """Return the variables in it, each once."""
        found: dict[bytes, np.ndarray] = {}
        self._collect(found, set())
        return list(found.values())

    def _collect(self, found: dict[bytes, np.ndarray], seen: set[int]) -> None:
        if id(self) in seen:
            return
        seen.add(id(self))
        if self.kind == "variable":
            found.setdefault(self.value.tobytes(), self.value)
        for part in self.parts:
            part._collect(found, seen)

    def take(self, index: np.ndarray) -> Formula:
        """Return the formulas of some entries."""
        done: dict[int, Formula] = {}

        def walk(one: Formula) -> Formula:
            if id(one) not in done:
                value = None if one.value is None else one.value[index]
                line = None if one.line is None else (one.line[0][index], one.line[1][index])
                done[id(one)] = Formula(one.kind, tuple(map(walk, one.parts)), value, line)
            return done[id(one)]

        return walk(self)


def variable(entries: np.ndarray) -> Formula:
    """Return a variable for each entry."""
    size = len(entries)
    return Formula("variable", value=entries, line=(np.ones(size), np.zeros(size)))


def number(values: Array) -> Formula:
    """Return numbers."""
    return Formula("number", value=values, line=(np.zeros(len(values)), values))


def looking(formula: Formula) -> Callable[[np.ndarray, Array, Array], CurveJets]:
    """Look at the entries of a formula on cells."""
    names = [entries.tobytes() for entries in formula.variables()]

    def look(index: np.ndarray, low: Array, high: Array) -> CurveJets:
        _, radius = around(low, high)
        zero, first, second = indices(low.shape[1])
        known: dict[int, Jet] = {}
        with np.errstate(all="ignore"):
            jet = dict(_jet(formula, names, index, low, high, known))
            slopes = [
                _sharpened_slope(jet, v, first, second, radius).known() for v in range(len(first))
            ]
            jet.update(zip(first, slopes, strict=True))
            value = _sharpened(jet, zero, first, radius).known()
        return CurveJets(value, slopes, {at: jet[key].known() for at, key in second.items()})

    return look


def _jet(
    one: Formula, names: list[bytes], index: np.ndarray, low: Array, high: Array,
    known: dict[int, Jet],
) -> Jet:  # fmt: skip
    if id(one) in known:
        return known[id(one)]
    zero, first, second = indices(low.shape[1])
    cells = (2, len(low))
    none = point(np.zeros(cells))
    empty: Jet = dict.fromkeys((*first, *second.values()), none)
    if one.kind == "number":
        jet: Jet = {**empty, zero: point(np.broadcast_to(one.value[index], cells))}
    elif one.kind == "variable":
        v = names.index(one.value.tobytes())
        middle = 0.5 * low[:, v] + 0.5 * high[:, v]
        value = Interval(np.stack([low[:, v], middle]), np.stack([high[:, v], middle]))
        jet = {**empty, zero: value, first[v]: point(np.ones(cells))}
    else:
        parts = [_jet(part, names, index, low, high, known) for part in one.parts]
        jet = _OPERATIONS[one.kind](*parts) if one.kind in _OPERATIONS else _curve(one.kind, *parts)
    known[id(one)] = {key: part.known() for key, part in jet.items()}
    return known[id(one)]


def _curve(kind: str, inner: Jet) -> Jet:
    zero = next(iter(sorted(inner)))
    value, slope, curvature = CURVES[kind]
    x = inner[zero]
    return _chain(inner, value(x), slope(x), curvature(x))


def _add(a: Jet, b: Jet) -> Jet:
    return {key: a[key] + b[key] for key in a}


def _subtract(a: Jet, b: Jet) -> Jet:
    return {key: a[key] - b[key] for key in a}


def _multiply(a: Jet, b: Jet) -> Jet:
    zero, first, second = indices(len(next(iter(a))))
    jet = {zero: a[zero].exactly_times(b[zero])}
    for key in first:
        jet[key] = a[key].exactly_times(b[zero]) + b[key].exactly_times(a[zero])
    for (v, w), key in second.items():
        cross = a[first[v]].exactly_times(b[first[w]]) + b[first[v]].exactly_times(a[first[w]])
        jet[key] = a[key].exactly_times(b[zero]) + cross + b[key].exactly_times(a[zero])
    return jet


def _divide(a: Jet, b: Jet) -> Jet:
    zero = next(iter(sorted(b)))
    inverse = b[zero].known().inverse()
    cube = inverse.exactly_times(inverse).exactly_times(inverse)
    return _multiply(a, _chain(b, inverse, -(inverse.exactly_times(inverse)), cube.times(2.0)))


def _choose(condition: Jet, a: Jet, b: Jet) -> Jet:
    """a where the condition is above zero, else b; where both may be, only values are known."""
    zero = next(iter(sorted(a)))
    test = condition[zero]
    yes, no = test.low > 0, test.high <= 0
    jet = {}
    for key in a:
        both = hull([a[key], b[key]])
        low, high = (both.low, both.high) if key == zero else (-np.inf, np.inf)
        jet[key] = Interval(
            np.where(yes, a[key].low, np.where(no, b[key].low, low)),
            np.where(yes, a[key].high, np.where(no, b[key].high, high)),
        )
    return jet


_OPERATIONS: dict[str, Callable[..., Jet]] = {
    "Add": _add,
    "Sub": _subtract,
    "Mul": _multiply,
    "Div": _divide,
    "Where": _choose,
}
