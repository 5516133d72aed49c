"""Where a unit starts: exactly at its base, exactly at the identity, or fitted to a function.

A start must be exact and alive. With gate 0 *and* p/d = base nothing has a gradient, so the gate
starts at 0.1 where p/d equals the base, and at 0 only where it does not.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..functional import BASES, Base, Denominator, Form, Powers
from ._fit import Fit, FitError, fit_function, measure

Polynomial = dict[tuple[int, ...], float]

_OPEN, _AJAR, _SHUT = 1.0, 0.1, 0.0
# Spread of the denominators of further heads, whose numerators start at zero: without it all of
# them would receive the same gradient and stay copies of one another.
_SPREAD = 0.1


class Start(NamedTuple):
    """Coefficients of the first head, the gate (None: no gate) and the distance to the target."""

    numerator: Tensor
    denominator: Tensor
    gate: float | None
    error: FitError


def start(
    form: Form,
    init: str | Callable[..., Tensor],
    gate: float | str | None,
    interval: tuple[float, float],
) -> Start:
    """Choose the start for a unit of the given form; see `Rational1d` for the arguments."""
    if callable(init):
        return _fitted(form, fit_function, init, gate, interval)
    if init == "paper":
        return _as_the_paper(form, gate, interval)
    if init not in ("base", "identity"):
        return _fitted(form, _fit_named, init, gate, interval)
    if init == "base" and form.base.is_zero:
        return _at_zero(form, gate, interval)
    if init == "base" and gate is None and not form.base.is_linear:
        return _fitted(form, _fit_named, form.base.name, gate, interval)
    if init == "identity" and not form.base.is_linear:
        return _at_identity(form, gate, interval)
    return _at_base(form, gate, interval)


def further_heads(start: Tensor, heads: int, units: int) -> Tensor:
    """Denominators of the heads behind the first, (heads - 1, n, units), each its own."""
    shape = (heads - 1, start.numel(), units)
    return start[:, None] + _SPREAD * torch.randn(shape, dtype=start.dtype, device="cpu")


def _at_zero(form: Form, gate: float | str | None, interval: tuple[float, float]) -> Start:
    """p = 0: the unit is silent, and learns its numerator first."""
    bottom, _ = _living_denominator(form)
    if gate == _SHUT:  # then p must not be zero as well
        top, _ = _times_mean(form)
        return _exact(form, top or {(0,) * form.variables: 1.0}, bottom, _SHUT, interval)
    return _exact(form, {}, bottom, _number(gate, _OPEN), interval)


def _at_base(form: Form, gate: float | str | None, interval: tuple[float, float]) -> Start:
    """r = b exactly, with p/d the identity where the powers allow it."""
    # NOTE[DIFF] The paper has p = x and q = 0 with a gate near zero, which `init="paper"` gives.
    # There p/d = x/(1 + ln 2): the gate alone has a gradient at first, and the units turn away from
    # the identity by up to 41 % of it before they learn a shape. Here p/d is the base itself.
    top, exact = _times_mean(form)
    bottom, _ = _living_denominator(form)
    equal = exact and form.base.is_linear
    if gate == _SHUT and equal:
        top = {}
    chosen = _number(gate, _AJAR if equal else _SHUT)
    if equal or chosen == _SHUT:
        return _exact(form, top, bottom, chosen, interval)
    return _measured(form, top, bottom, chosen, interval)


def _as_the_paper(form: Form, gate: float | str | None, interval: tuple[float, float]) -> Start:
    """p = the mean of the inputs, q = 0 and gate 0: r = b exactly, alive where p/d is not b."""
    axes = np.eye(form.variables, dtype=int)
    top: Polynomial = {tuple(map(int, row)): 1 / form.variables for row in axes}
    silent = float(form.kind.value(torch.zeros((), dtype=torch.float64)))
    dead = form.base.is_linear and not silent + form.eps
    if dead or not set(top) <= set(form.numerator) or gate not in ("auto", _SHUT):
        raise ValueError(
            "init='paper' has p = x, q = 0 and gate 0, and learns only where p/d is not the base; "
            f"got denominator={form.kind.name!r}, base={form.base.name!r}, numerator degree "
            f"{max(map(sum, form.numerator))}, gate={gate!r}; use 'softplus' or 'squareplus', a "
            "numerator of degree 1 or more, and leave the gate to its default, or use init='base'"
        )
    bottom: list[Polynomial] = [{} for _ in form.denominator]
    return _exact(form, top, bottom, _SHUT, interval)


def _at_identity(form: Form, gate: float | str | None, interval: tuple[float, float]) -> Start:
    """r = x by p/d alone, for a base that is something else."""
    top, exact = _times_mean(form)
    if form.reach is not None:
        raise ValueError(
            f"init='identity' cannot be with reach={form.reach:g} and base={form.base.name!r}, as "
            "which the unit goes on outside of it; use base='identity', or reach=None"
        )
    if not exact or _number(gate, _OPEN) not in (_OPEN, None):
        raise ValueError(
            f"init='identity' with base={form.base.name!r} needs p/d = x and gate 1, got "
            f"numerator degree {max(map(sum, form.numerator))} with denominator "
            f"{form.kind.name!r} and gate={gate!r}; use base='identity', a numerator of "
            "degree 3 or more, or leave the gate to its default"
        )
    bottom, _ = _living_denominator(form)
    return _exact(form, top, bottom, _number(gate, _OPEN), interval)


def _fitted(
    form: Form,
    fit: Callable[..., Fit],
    target: str | Callable[..., Tensor],
    gate: float | str | None,
    interval: tuple[float, float],
) -> Start:
    chosen = _number(gate, _OPEN)
    if chosen not in (_OPEN, None):
        raise ValueError(
            f"a unit fitted to a function is p/d itself and needs gate 1, got gate={gate!r}; "
            "leave it to its default, or use base= and init='base' to start at a base exactly"
        )
    result = fit(form, target, interval)
    top, bottom = (
        torch.tensor(rows, dtype=torch.float64) for rows in (result.numerator, result.denominator)
    )
    return Start(top, bottom, chosen, result.error)


@functools.lru_cache(maxsize=256)
def _fit_named(form: Form, name: str, interval: tuple[float, float]) -> Fit:
    return fit_function(form, _on_mean(BASES[name]), interval)


def _on_mean(base: Base) -> Callable[..., Tensor]:
    def function(*inputs: Tensor) -> Tensor:
        return base.value(torch.stack(inputs).mean(0))

    return function


def _number(gate: float | str | None, default: float) -> float | None:
    return default if isinstance(gate, str) else gate


def _living_denominator(form: Form) -> tuple[list[Polynomial], Polynomial | None]:
    """Coefficients of each q at which the denominator learns, and d there, if a polynomial."""
    begin = form.kind.start
    if form.constant and form.eps < 0 and not begin:
        begin = -form.eps  # the constant holds d up, so that it starts at 1 or a little above
    starts: list[Polynomial] = [
        dict.fromkeys(form.kind.start_powers(q), begin) for q in form.denominator
    ]
    constant = (0,) * form.variables
    if not form.kind.start:
        return starts, {constant: _at_rest(form, begin)}
    if not _is_square(form.kind):
        return starts, None
    d: Polynomial = {constant: _at_rest(form)}
    for q in starts:
        for powers, value in _product(q, q).items():
            d[powers] = d.get(powers, 0.0) + value
    return starts, d


def _at_rest(form: Form, q: float = 0.0) -> float:
    """The denominator where all q have one value."""
    psi = float(form.kind.value(torch.tensor(q, dtype=torch.float64)))
    return 1 + form.eps + psi * len(form.denominator)


def _is_square(kind: Denominator) -> bool:
    """Whether psi is the square; a denominator of a user's may be anything."""
    q = torch.tensor([-1.5, -0.25, 0.0, 0.5, 3.0], dtype=torch.float64)
    return torch.equal(kind.value(q), q * q)


def _times_mean(form: Form) -> tuple[Polynomial, bool]:
    """p with p/d = the mean of the inputs, and whether it can be so: powers, and shape of d."""
    _, d = _living_denominator(form)
    axes = np.eye(form.variables, dtype=int)
    mean: Polynomial = {tuple(map(int, row)): 1 / form.variables for row in axes}
    p = None if d is None else _product(mean, d)
    if p is not None and set(p) <= set(form.numerator):
        return p, True
    constant = _at_rest(form) if d is None else d[(0,) * form.variables]
    return {k: v * constant for k, v in mean.items() if k in form.numerator}, False


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            powers = tuple(i + j for i, j in zip(left, right, strict=True))
            result[powers] = result.get(powers, 0.0) + x * y
    return result


def _rows(polynomial: Polynomial, powers: Powers) -> list[float]:
    return [polynomial.get(row, 0.0) for row in powers]


def _exact(
    form: Form,
    top: Polynomial,
    bottom: list[Polynomial],
    gate: float | None,
    interval: tuple[float, float],
) -> Start:
    layout = zip(bottom, form.denominator, strict=True)
    below = [value for q, powers in layout for value in _rows(q, powers)]
    return Start(
        torch.tensor(_rows(top, form.numerator), dtype=torch.float64),
        torch.tensor(below, dtype=torch.float64),
        gate,
        FitError(*interval, rmse=0.0, maximum=0.0, tail=0.0),
    )


def _measured(
    form: Form,
    top: Polynomial,
    bottom: list[Polynomial],
    gate: float | None,
    interval: tuple[float, float],
) -> Start:
    """A start that cannot be exact, with its distance from the base: the gate scales it."""
    begun = _exact(form, top, bottom, gate, interval)
    rows = (begun.numerator.tolist(), begun.denominator.tolist())
    ratio = measure(form, *rows, _on_mean(form.base), interval)
    share = 1.0 if gate is None else abs(gate)
    errors = {name: share * getattr(ratio, name) for name in ("rmse", "maximum", "tail")}
    return begun._replace(error=dataclasses.replace(ratio, **errors))
