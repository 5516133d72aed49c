"""Trajectories of a system from a start, by SciPy's integrators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from .._core.types import Array
from ._system import System

Inputs = Callable[[float], Array]
_RELATIVE, _ABSOLUTE = 1e-8, 1e-10  # errors of a step, relative and in units of the start
_FAR = 1e7  # times the start: a solution that goes there goes to infinity
_PATIENCE, _HEADWAY = 20_000, 1e-9  # evaluations within which time must go on by such a share


class _Stuck(Exception):
    """The integrator gets nowhere: rates are too large for steps that time can be told apart by."""


def simulated(system: System, theta: Array, x0: Array, t: Array, inputs: Inputs) -> Array:
    """States at times, (times, states), the first being x0; nan from where there is none.

    Args:
        system: the equations.
        theta: their numbers.
        x0: states at the first time.
        t: times, rising; for a map one a step.
        inputs: of a time, those of the system.
    """
    with np.errstate(all="ignore"):
        if system.discrete:
            return _iterated(system, theta, x0, t, inputs)
        return _integrated(system, theta, x0, t, inputs)


def _iterated(system: System, theta: Array, x0: Array, t: Array, inputs: Inputs) -> Array:
    out = np.empty((len(t), len(x0)))
    out[0] = x0
    for k in range(len(t) - 1):
        out[k + 1] = system.rates(out[k][None], inputs(float(t[k]))[None], theta)[0]
    return out


def _integrated(system: System, theta: Array, x0: Array, t: Array, inputs: Inputs) -> Array:
    mark, count = float(t[0]), 0

    def rates(time: float, x: Array) -> Array:
        nonlocal mark, count
        count += 1
        if time > mark + _HEADWAY * (t[-1] - t[0]):
            mark, count = time, 0
        elif count > _PATIENCE:
            raise _Stuck
        return system.rates(x[None], inputs(time)[None], theta)[0]

    out = np.full((len(t), len(x0)), np.nan)
    out[0] = x0
    if len(t) == 1 or not np.isfinite(rates(float(t[0]), x0)).all():
        return out
    size = np.maximum(np.abs(x0), 1e-3 * float(np.abs(x0).max()) or 1.0)
    far = _FAR * np.maximum(np.abs(x0), 1.0)

    def lost(time: float, x: Array) -> float:
        return float(np.abs(x / far).max()) - 1.0

    lost.terminal = True  # type: ignore[attr-defined]
    try:
        found = solve_ivp(
            rates, (t[0], t[-1]), x0, method="LSODA", t_eval=t, events=lost, rtol=_RELATIVE,
            atol=_ABSOLUTE * size,
        )  # fmt: skip
    except _Stuck:
        before = t[: max(1, int(np.searchsorted(t, mark)))]
        out[: len(before)] = _integrated(system, theta, x0, before, inputs)
        return out
    ends = found.y.T
    out[: len(ends)] = np.where(np.isfinite(ends), ends, np.nan)
    return out
