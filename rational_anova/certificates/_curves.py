"""Ranges of the denominators' psi and of the bases, with first and second derivative.

The derivatives of bases are sums that cancel near their zeros, so that their error is one of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from .._core.types import Array
from ..functional import Base, Denominator, Form
from ..proofs import MARGIN, Curve, Interval, Unknown, down, enclose

Range = Callable[[Interval], Interval]


def _constant(value: float) -> Range:
    return lambda x: Interval(np.full_like(x.low, value), np.full_like(x.low, value))


def line(slope: float) -> tuple[Range, Range, Range]:
    """A straight line through zero: what a function with a kink there is on one side."""
    return lambda x: x.times(slope), _constant(slope), _constant(0.0)


def _step(left: float, right: float) -> Range:
    """A slope that jumps at zero; there, both are possible."""

    def span(x: Interval) -> Interval:
        return Interval(np.where(x.low > 0, right, left), np.where(x.high < 0, left, right))

    return span


def _jump(x: Interval) -> Interval:
    """The derivative of a step: nothing is known about it at zero."""
    away = (x.low > 0) | (x.high < 0)
    return Interval(np.where(away, 0.0, -np.inf), np.where(away, 0.0, np.inf))


def _same(x: Interval) -> Interval:
    return x


def _density(z: Array) -> Array:
    result: Array = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return result


def _silu_curvature(z: Array) -> Array:
    s, t = expit(z), expit(-z)
    result: Array = s * t * (2 + z * (t - s))
    return result


# GELU by a hyperbolic tangent is z expit(w(z)).
_RISE, _CUBE = 2 * np.sqrt(2 / np.pi), 0.044715
_QUICK = 1.702


def _inner(z: Array) -> tuple[Array, Array, Array]:
    """Return z, w and w'; beyond a thousand the derivatives below are 0 or 1 to rounding."""
    near = np.clip(z, -1e3, 1e3)
    square = near * near
    return near, _RISE * near * (1 + _CUBE * square), _RISE * (1 + 3 * _CUBE * square)


def _gelu_tanh_slope(z: Array) -> Array:
    near, w, rise = _inner(z)
    result: Array = expit(w) * (1 + near * rise * expit(-w))
    return result


def _gelu_tanh_curvature(z: Array) -> Array:
    near, w, rise = _inner(z)
    s, t = expit(w), expit(-w)
    bend = 6 * _RISE * _CUBE * near
    result: Array = s * t * (2 * rise + near * bend + near * rise**2 * (t - s))
    return result


def _squareplus(q: Array) -> Array:
    result: Array = np.maximum(q, 0) + 0.5 / (np.hypot(q, 1) + np.abs(q))
    return result


def _squareplus_slope(q: Array) -> Array:
    root = np.hypot(q, 1)
    less = 0.5 / ((root + np.abs(q)) * root)
    return np.where(q < 0, less, 1 - less)


def _tanh_curvature(z: Array) -> Array:
    result: Array = -2 * np.tanh(z) / np.cosh(np.minimum(np.abs(z), 350)) ** 2
    return result


_SQUARE: tuple[Range, Range, Range] = (
    Curve(np.square, (0.0,)),
    Curve(lambda q: 2 * q, exact=True),
    _constant(2.0),
)

# psi, psi', psi'' of each denominator
PSI: dict[str, tuple[Range, Range, Range]] = {
    "softplus": (
        Curve(lambda q: np.logaddexp(0.0, q)),
        Curve(expit),
        Curve(lambda q: expit(q) * expit(-q), (0.0,)),
    ),
    "squareplus": (
        Curve(_squareplus),
        Curve(_squareplus_slope),
        Curve(lambda q: 0.5 / np.hypot(q, 1) ** 3, (0.0,)),
    ),
    "square": _SQUARE,
    "sos": _SQUARE,
    "abs": (Curve(np.abs, (0.0,), exact=True), _step(-1.0, 1.0), _jump),
    "polynomial": (_same, _constant(1.0), _constant(0.0)),
}

# b, b', b'' of each base; the turns are the zeros of the next derivative
BASE: dict[str, tuple[Range, Range, Range]] = {
    "identity": (_same, _constant(1.0), _constant(0.0)),
    "mean": (_same, _constant(1.0), _constant(0.0)),
    "zero": (_constant(0.0), _constant(0.0), _constant(0.0)),
    "gelu": (
        Curve(lambda z: z * ndtr(z), (-0.7517915246935645,), MARGIN),
        Curve(lambda z: ndtr(z) + z * _density(z), (-np.sqrt(2), np.sqrt(2)), MARGIN),
        Curve(lambda z: _density(z) * (2 - z * z), (-2.0, 0.0, 2.0), MARGIN),
    ),
    "silu": (
        Curve(lambda z: z * expit(z), (-1.2784645427610738,), MARGIN),
        Curve(
            lambda z: expit(z) * (1 + z * expit(-z)),
            (-2.39935728051547, 2.39935728051547),
            MARGIN,
        ),
        Curve(_silu_curvature, (-3.43584099353511, 0.0, 3.43584099353511), MARGIN),
    ),
    "gelu_tanh": (
        Curve(lambda z: z * expit(_inner(z)[1]), (-0.7524614220710163,), MARGIN),
        Curve(_gelu_tanh_slope, (-1.4185040087908284, 1.4185040087908284), MARGIN),
        Curve(_gelu_tanh_curvature, (-2.013480724624258, 0.0, 2.013480724624258), MARGIN),
    ),
    "quick_gelu": (
        Curve(lambda z: z * expit(_QUICK * z), (-1.2784645427610738 / _QUICK,), MARGIN),
        Curve(
            lambda z: expit(_QUICK * z) * (1 + _QUICK * z * expit(-_QUICK * z)),
            (-2.39935728051547 / _QUICK, 2.39935728051547 / _QUICK),
            MARGIN,
        ),
        Curve(
            lambda z: _QUICK * _silu_curvature(_QUICK * z),
            (-3.43584099353511 / _QUICK, 0.0, 3.43584099353511 / _QUICK),
            MARGIN,
        ),
    ),
    "relu": (Curve(lambda z: np.maximum(z, 0), exact=True), _step(0.0, 1.0), _jump),
    "tanh": (
        Curve(np.tanh),
        Curve(lambda z: 1 / np.cosh(np.minimum(np.abs(z), 350)) ** 2, (0.0,)),
        Curve(_tanh_curvature, (-0.6584789484624084, 0.6584789484624084), MARGIN),
    ),
}


_OWN: dict[str, Base | Denominator] = {}  # what was learned of a user's


def known(form: Form) -> None:
    """See that ranges of a form's denominator and base are known; a user's come from its formula.

    Raises:
        ValueError: the formula has a function of which no bounds are known.
    """
    for entry, table in ((form.kind, PSI), (form.base, BASE)):
        if entry.name not in table or _OWN.get(entry.name, entry) is not entry:
            table[entry.name] = _from_formula(entry)
            _OWN[entry.name] = entry


def _from_formula(entry: Base | Denominator) -> tuple[Range, Range, Range]:
    import sympy as sp

    kind = "denominator" if isinstance(entry, Denominator) else "base"
    z = sp.Symbol("z", real=True)
    try:
        formula = sp.sympify(entry.expression(z))
        parts = [formula, formula.diff(z), formula.diff(z, 2)]
        ranges = [_range(part, z) for part in parts]
        for part in ranges[:2]:
            part(Interval(np.array([0.5]), np.array([1.0])))
    except (Unknown, TypeError, AttributeError) as error:
        raise ValueError(
            f"nothing can be certified of the {kind} {entry.name!r}: of its formula or its slope, "
            f"{error}; write `expression` with exp, log, sqrt, tanh, sin and the like, of which "
            "bounds are known (docs/guides/own_units.md)"
        ) from None
    return ranges[0], ranges[1], ranges[2]


def _range(part: Any, z: Any) -> Range:
    """Return bounds of a formula; nowhere any where a function in it has none, such as at kinks."""

    def span(x: Interval) -> Interval:
        found = enclose(part, {z: x})
        return Interval(*(np.broadcast_to(end, x.low.shape) for end in (found.low, found.high)))

    def nothing(x: Interval) -> Interval:
        return Interval(np.full_like(x.low, -np.inf), np.full_like(x.low, np.inf))

    try:
        span(Interval(np.array([0.5]), np.array([1.0])))
    except Unknown:
        if _has_kink(part):
            return nothing
        raise
    return span


def _has_kink(part: Any) -> bool:
    import sympy as sp

    return bool(part.has(sp.DiracDelta, sp.Heaviside, sp.Derivative))


def least_denominator(form: Form) -> float:
    """Return a proved lower bound of d over all of space, -inf if there is none."""
    known(form)
    if form.kind.name not in _OWN:
        return float(down(form.kind.minimum + form.eps))
    everywhere = Interval(np.array([-np.inf]), np.array([np.inf]))
    with np.errstate(all="ignore"):
        psi = float(PSI[form.kind.name][0](everywhere).known().low[0])
    least = float(down(down(1 + form.eps) + len(form.denominator) * psi))
    return least if least > 0 else -np.inf


def own(name: str) -> bool:
    """Return whether a denominator or a base is a user's."""
    return name in _OWN
