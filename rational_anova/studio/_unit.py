"""A rational unit on sliders: its curve, slope, poles and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._core.types import Array

if TYPE_CHECKING:
    from ..units import Rational1d

TARGETS = {
    "gelu": "GELU", "silu": "SiLU", "relu": "ReLU", "tanh": "tanh", "identity": "x itself",
    "sin": "sin x", "gauss": "a bell, exp(-x^2)", "step": "a smooth step", "abs": "|x|",
    "runge": "Runge's, 1/(1 + 25 x^2)",
}  # fmt: skip
KINDS = {
    "softplus": "1 + log(1 + exp q): never below 1, smooth; the paper's",
    "squareplus": "1 + (q + root of (q^2 + 1))/2: like softplus, without exp",
    "square": "1 + q^2: never below 1; poles come in pairs off the real line",
    "abs": "1 + |q|: never below 1; it has a kink where q is 0",
    "sos": "1 + a sum of squares: positive, and every positive quadratic is one",
    "polynomial": "1 + q: anything, and a real pole where it is 0",
}
DEGREES = ((1, 1), (2, 2), (3, 2), (4, 3), (5, 4))
POINTS = 401


@dataclass(frozen=True)
class Unit:
    """The coefficients of r(x) = b(x) + gate (p(x)/d(x) - b(x)), and the interval it is seen on.

    Args:
        p: coefficients of p, lowest power first.
        q: of q, from the first power on.
        gate: how much of p/d there is; 1 is p/d alone.
        kind: of the denominator, one of `KINDS`.
        base: `zero` or `identity`.
        low: where the interval begins.
        high: where it ends.
        error: root mean square distance from the function it was fitted to; None if to none.
    """

    p: tuple[float, ...] = (0.0, 1.0, 0.0, 0.0)
    q: tuple[float, ...] = (0.0, 0.5)
    gate: float = 1.0
    kind: str = "sos"
    base: str = "zero"
    low: float = -5.0
    high: float = 5.0
    error: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        numbers = (*self.p, *self.q, self.gate, self.low, self.high)
        if not all(map(math.isfinite, numbers)) or not self.low < self.high:
            raise ValueError(f"a unit needs finite numbers, and an interval that is one: {self}")

    @property
    def degrees(self) -> tuple[int, int]:
        """Of p and q."""
        return len(self.p) - 1, len(self.q)

    def changed(self, part: str, place: int, value: float) -> Unit:
        """Return the unit with another number: part is p, q or gate."""
        if part == "gate":
            return replace(self, gate=float(value), error=None)
        row = list(getattr(self, part))
        row[place] = float(value)
        if part == "p":
            return replace(self, p=tuple(row), error=None)
        return replace(self, q=tuple(row), error=None)

    def of_degrees(self, m: int, n: int) -> Unit:
        """Return the unit with more or fewer coefficients; new ones are 0."""
        p = (*self.p, *[0.0] * (m + 1))[: m + 1]
        q = (*self.q, *[0.0] * n)[:n]
        return replace(self, p=p, q=q, error=None)

    def module(self) -> Rational1d:
        """Return it as a unit of the library, in float64."""
        import torch

        from ..units import Rational1d

        unit = Rational1d(1, self.degrees, self.kind, self.base, gate=self.gate).double()
        with torch.no_grad():
            unit.numerator.copy_(torch.tensor(self.p, dtype=torch.float64)[:, None])
            unit.denominator.copy_(torch.tensor(self.q, dtype=torch.float64)[:, None])
            assert unit.gate is not None
            unit.gate.fill_(self.gate)
        return unit


@dataclass(frozen=True)
class Seen:
    """A unit on its interval.

    Args:
        x: points.
        y: the unit.
        slope: its derivative.
        d: its denominator.
        poles: complex; None where the denominator is no polynomial.
        formula: as text.
    """

    x: Array
    y: Array
    slope: Array
    d: Array
    poles: Array | None
    formula: str


def seen(unit: Unit) -> Seen:
    """Return the curve of a unit, its slope, its denominator and its poles."""
    import numpy as np
    import torch

    module = unit.module()
    x = torch.linspace(unit.low, unit.high, POINTS, dtype=torch.float64)[:, None]
    x.requires_grad_(True)
    y = module(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    d = denominator(unit, x.detach()[:, 0].numpy())
    poles = module.poles()[0].numpy() if module.form.kind.rational else None
    values, slopes = y.detach()[:, 0].numpy().copy(), slope[:, 0].numpy().copy()
    values[d <= 0], slopes[d <= 0] = np.nan, np.nan  # beyond a pole the curve is another one
    return Seen(x.detach()[:, 0].numpy(), values, slopes, d, poles, formula(module))


def denominator(unit: Unit, x: Array) -> Array:
    """Return the denominator of a unit at points."""
    import torch

    form = unit.module().form
    rows = torch.tensor(unit.q, dtype=torch.float64)[:, None, None]
    at = torch.from_numpy(x)[None, None, :]
    value = form.denominators([at], rows)[0]
    found: Array = value.expand(1, 1, len(x))[0, 0].numpy()
    return found


def formula(module: Any) -> str:
    """Return the formula of a unit, with few digits."""
    import sympy

    found = module.to_sympy(["x"])[0]
    floats = found.atoms(sympy.Float)
    return str(found.xreplace({value: sympy.Float(value, 3) for value in floats}))


def certified(unit: Unit) -> tuple[Any, str]:
    """Return what is proved of a unit on its interval, or None and why nothing is."""
    from ..certificates import PoleError, certify

    try:
        return certify(unit.module(), [(unit.low, unit.high)]), ""
    except PoleError:
        return None, "There is a pole on this interval: no constant bounds the slope."


def fitted(unit: Unit, target: str) -> Unit:
    """Return the unit fitted to a function by name, on its interval.

    Raises:
        ValueError: there is no such function.
    """
    if target not in TARGETS:
        raise ValueError(f"there is no function {target!r}; there are {', '.join(TARGETS)}")
    from ..units import Rational1d

    module = Rational1d(
        1, unit.degrees, unit.kind, "zero", gate=None, init=function(target),
        init_range=(unit.low, unit.high),
    ).double()  # fmt: skip
    error = module.init_error
    rows = (module.numerator, module.denominator)  # what is 0 but for rounding is shown as 0
    p, q = ([round(value, 12) for value in row.detach()[:, 0].tolist()] for row in rows)
    return replace(
        unit, p=tuple(p), q=tuple(q), gate=1.0, base="zero", error=error.rmse if error else None
    )


def function(target: str) -> Any:
    """Return one of `TARGETS` as a function of a tensor."""
    import torch
    from torch.nn import functional

    known: Mapping[str, Any] = {
        "gelu": functional.gelu, "silu": functional.silu, "relu": torch.relu, "tanh": torch.tanh,
        "identity": lambda x: x, "sin": torch.sin, "gauss": lambda x: torch.exp(-x * x),
        "step": lambda x: torch.sigmoid(4 * x), "abs": torch.abs,
        "runge": lambda x: 1 / (1 + 25 * x * x),
    }  # fmt: skip
    return known[target]


def values_of(target: str, x: Array) -> Array:
    """Return one of `TARGETS` at points."""
    import torch

    found: Array = function(target)(torch.from_numpy(x)).numpy()
    return found
