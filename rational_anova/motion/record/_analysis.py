"""What follows from equations of motion: forecasts, fixed points, exponents, conserved sums."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from scipy.optimize import root

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ...symbols import program, snap
from .._runs import input_at
from .._simulate import Inputs, simulated
from ._records import Conserved, FixedPoint, Start, kind_of

if TYPE_CHECKING:
    import pandas as pd

    from ._dynamics import Dynamics

_GRID = {1: 41, 2: 9, 3: 5}  # places a state at which fixed points are looked for
_NEAR = 1e-6  # of the box: fixed points nearer than this are one
_POINTS = 400  # at which functions of the states are tested for being conserved
_STILL = 1e-9  # share of its change that a conserved function may have, by rounding
_STEPS = 400  # in which a small deviation is followed and made small again


# -- forecasts


def forecast(
    dynamics: Dynamics, t: Any, run: str | None, level: float, noise: bool, inputs: Any,
    draws: int, seed: int,
) -> pd.DataFrame:  # fmt: skip
    """States at times, with quantiles of trajectories drawn by the errors of the fit."""
    import pandas as pd

    times = np.asarray(t, dtype=float).reshape(-1)
    start = start_of(dynamics, run)
    place = dynamics.starts.index(start)
    if len(times) == 0 or times[0] < start.t[0]:
        raise ValueError(f"t must not be before the run begins, at {start.t[0]:g}")
    if dynamics.discrete:
        steps = times - start.t[0]
        if (steps != np.round(steps)).any():
            raise ValueError(f"t must be whole steps after {start.t[0]:g}, got {t!r}")
        grid = start.t[0] + np.arange(steps[-1] + 1)
    else:
        grid = np.unique(np.r_[start.t[0], times])
    kept = np.searchsorted(grid, times)
    held = _inputs(dynamics, start, dynamics._held(inputs, times))
    middle = simulated(dynamics.system, dynamics.theta, start.state, grid, held)[kept]
    rng = np.random.default_rng(seed)
    size, first = len(dynamics.states), place * len(dynamics.states)
    numbers = len(dynamics.parameters)
    chosen = np.r_[first : first + size, len(dynamics.covariance) - numbers :
                   len(dynamics.covariance)].astype(int)  # fmt: skip
    covariance = np.nan_to_num(dynamics.covariance[np.ix_(chosen, chosen)], posinf=0.0)
    means = np.r_[start.state, dynamics.theta]
    sample = rng.multivariate_normal(means, covariance, draws, method="svd")
    paths = np.stack([
        simulated(dynamics.system, one[size:], one[:size], grid, held)[kept] for one in sample
    ])  # fmt: skip
    if noise:
        paths = paths + rng.normal(size=paths.shape) * dynamics.deviations(paths)
    low, high = np.nanquantile(paths, [(1 - level) / 2, (1 + level) / 2], axis=0)
    columns: dict[str, Array] = {dynamics.time: times}
    for k, name in enumerate(dynamics.states):
        columns |= {name: middle[:, k], f"{name} low": low[:, k], f"{name} high": high[:, k]}
    return pd.DataFrame(columns)


def _inputs(dynamics: Dynamics, start: Start, ahead: Inputs) -> Inputs:
    """Inputs as they were in a run up to its last row, and then as they are given."""
    timed = dynamics.time in dynamics.inputs
    if len(dynamics.inputs) == timed:
        return ahead
    if dynamics.data is None:
        raise ValueError(
            "a file does not hold the inputs of the runs; use simulate from "
            f"dynamics.starts[...].last at t = {start.t[1]:g}"
        )
    run = next(run for run in dynamics.data if run.label == start.run)
    return lambda time: input_at(run, np.array(time), timed) if time <= start.t[1] else ahead(time)


def start_of(dynamics: Dynamics, run: str | None) -> Start:
    """Where a run begins; the first by default."""
    labels = [start.run for start in dynamics.starts]
    if run is not None and run not in labels:
        raise ValueError(f"there is no run {run!r}; there are {labels}")
    return dynamics.starts[0 if run is None else labels.index(run)]


# -- fixed points


def fixed_points(dynamics: Dynamics, box: Any, inputs: Array) -> list[FixedPoint]:
    """Roots of the right-hand sides from a grid of places, with the slopes there."""
    if len(inputs) != len(dynamics.inputs):
        raise ValueError(f"inputs must be held at {len(dynamics.inputs)} values, got {len(inputs)}")
    data = _box(dynamics)
    wide = data + np.array([-0.5, 0.5]) * np.ptp(data, axis=1)[:, None] if box is None else (
        np.asarray(box, dtype=float).reshape(len(dynamics.states), 2))  # fmt: skip
    count = _GRID.get(len(wide), 3)
    found: list[FixedPoint] = []
    for place in product(*(np.linspace(low, high, count) for low, high in wide)):
        state = _root(dynamics, np.array(place), inputs)
        if state is None or not ((state >= wide[:, 0]) & (state <= wide[:, 1])).all():
            continue
        apart = [np.abs((state - f.state) / np.ptp(wide, axis=1)).max() for f in found]
        if min(apart, default=1.0) > _NEAR:
            found.append(_fixed_point(dynamics, state, inputs, data))
    return sorted(found, key=lambda f: tuple(f.state))


def _box(dynamics: Dynamics) -> Array:  # (states, 2)
    law = next(iter(dynamics.equations.values()))
    return np.array(law.box[: len(dynamics.states)])


def _root(dynamics: Dynamics, place: Array, inputs: Array) -> Array | None:
    system, theta, size = dynamics.system, dynamics.theta, len(dynamics.states)
    own = np.eye(size) if dynamics.discrete else np.zeros((size, size))

    def change(x: Array) -> Array:
        return system.rates(x[None], inputs[None], theta)[0] - own @ x

    def slopes(x: Array) -> Array:
        return system.slopes(x[None], inputs[None], theta)[0][:, :size] - own

    with np.errstate(all="ignore"):
        if not np.isfinite(change(place)).all():
            return None
        found = root(change, place, jac=slopes, tol=1e-12)
        typical = np.abs(change(place)).max() + 1e-300
        good = np.isfinite(found.x).all() and np.abs(change(found.x)).max() < 1e-9 * typical
    return found.x if good else None


def _fixed_point(dynamics: Dynamics, state: Array, inputs: Array, data: Array) -> FixedPoint:
    size = len(dynamics.states)
    slopes = dynamics.system.slopes(state[None], inputs[None], dynamics.theta)[0][:, :size]
    values = np.linalg.eigvals(slopes)
    inside = bool(((state >= data[:, 0]) & (state <= data[:, 1])).all())
    return FixedPoint(state, values, kind_of(values, dynamics.discrete), inside)


# -- chaos


def lyapunov(dynamics: Dynamics, x0: Array | None, length: float | None) -> tuple[float, float]:
    """Mean growth of the logarithm of a small deviation, and its standard error."""
    if dynamics.inputs:
        raise ValueError("exponents are of systems without inputs; this one has some")
    first = dynamics.starts[0]
    whole = 20 * (first.t[1] - first.t[0]) if length is None else float(length)
    x = first.last if x0 is None else x0
    step = 1.0 if dynamics.discrete else whole / _STEPS
    count = int(whole) if dynamics.discrete else _STEPS
    turn = np.random.default_rng(0).normal(size=len(x))
    w, growth = turn / np.linalg.norm(turn), []
    scale = 1e-7 * float(np.ptp(_box(dynamics), axis=1).max())
    for _ in range(count):
        ends = [simulated(dynamics.system, dynamics.theta, s, np.array([0.0, step]), _no_inputs)[1]
                for s in (x, x + scale * w)]  # fmt: skip
        apart = ends[1] - ends[0]
        size = float(np.linalg.norm(apart))
        if not np.isfinite(size) or size == 0:
            raise ValueError("the simulation has no end, or deviations vanish; choose another x0")
        growth.append(np.log(size / scale) / step)
        x, w = ends[0], apart / size
    settled = np.array(growth[count // 5 :])
    blocks = np.array([part.mean() for part in np.array_split(settled, min(10, len(settled)))])
    return float(settled.mean()), float(blocks.std(ddof=1) / np.sqrt(len(blocks)))


def _no_inputs(time: float) -> Array:
    return np.empty(0)


# -- conserved functions


def conserved(dynamics: Dynamics) -> list[Conserved]:
    """Sums of simple functions whose change along the flow is zero everywhere in the box."""
    if dynamics.inputs:
        return []
    symbols = dynamics.names.symbols
    box = _box(dynamics)
    functions = list(_simple_functions(symbols, box))
    rng = np.random.default_rng(0)
    points = rng.uniform(box[:, 0], box[:, 1], (_POINTS, len(box)))
    changes = _changes(dynamics, functions, points)
    fine = np.isfinite(changes).all(axis=0) & (np.abs(changes).max(axis=0) > 0)
    kept = [f for f, good in zip(functions, fine, strict=True) if good]
    still = [f for f, c in zip(functions, changes.T, strict=True) if not np.abs(c).max() > 0]
    found = [f for f in still if f.free_symbols]
    found += [formula for formula in _null_sums(changes[:, fine], kept)]
    return [_tested(dynamics, formula, box) for formula in found]


def _simple_functions(symbols: tuple[sp.Symbol, ...], box: Array) -> Iterator[sp.Expr]:
    for degree in (1, 2, 3):
        yield from (sp.Mul(*f) for f in combinations_with_replacement(symbols, degree))
    for symbol, (low, _) in zip(symbols, box, strict=True):
        yield from (sp.sin(symbol), sp.cos(symbol), symbol**4)
        if low > 0:
            yield sp.log(symbol)


def _changes(dynamics: Dynamics, functions: list[sp.Expr], points: Array) -> Array:
    """How fast each function changes at places, (places, functions)."""
    symbols, system = dynamics.names.symbols, dynamics.system
    with np.errstate(all="ignore"):
        rates = system.rates(points, np.empty((len(points), 0)), dynamics.theta)
        if dynamics.discrete:
            before, after = (program(symbols, functions)(*x.T) for x in (points, rates))
            return np.stack([b - a for a, b in zip(before, after, strict=True)], axis=1)
        slopes = program(symbols, functions, symbols)(*points.T)
        size = len(functions)
        total = np.zeros((len(points), size))
        for k, slope in enumerate(slopes):
            total[:, k % size] += np.broadcast_to(slope, len(points)) * rates[:, k // size]
    return total


def _null_sums(changes: Array, functions: list[sp.Expr]) -> Iterator[sp.Expr]:
    """Sums of functions whose changes cancel: the null space, in its shortest form."""
    if not functions:
        return
    norms = np.linalg.norm(changes, axis=0)
    _, values, rows = np.linalg.svd(changes / norms, full_matrices=True)
    values = np.r_[values, np.zeros(len(functions) - len(values))]
    null = rows[values < _STILL * values[0]] / norms
    for vector in _echelon(null):
        largest = vector[np.argmax(np.abs(vector))]
        scaled = vector / largest
        terms = zip(scaled, functions, strict=True)
        yield sp.Add(*(_neat(float(c)) * f for c, f in terms if abs(c) > 1e-6))


def _echelon(vectors: Array) -> Array:
    """The same space by vectors with as many zeros as elimination gives."""
    out, at = vectors.copy(), 0
    for column in range(out.shape[1]):
        if at == len(out):
            break
        pivot = at + int(np.argmax(np.abs(out[at:, column])))
        if abs(out[pivot, column]) < 1e-7 * np.abs(out).max():
            continue
        out[[at, pivot]] = out[[pivot, at]]
        out[at] /= out[at, column]
        others = [k for k in range(len(out)) if k != at]
        out[others] -= out[others][:, [column]] * out[at]
        at += 1
    return out


def _neat(number: float) -> sp.Expr:
    exact = snap(number, 1e-8 * abs(number))
    return sp.Float(number, 6) if exact is None else exact


def _tested(dynamics: Dynamics, formula: sp.Expr, box: Array) -> Conserved:
    """How much the function changes in the measured runs, and what their noise makes of it."""
    symbols = dynamics.names.symbols
    measured = len(dynamics.measured)
    if dynamics.data is None or formula.has(*symbols[measured:]):
        return Conserved(formula, np.nan, np.nan)
    value, slopes = program(symbols, [formula]), program(symbols, [formula], symbols)
    changes, expected = [], []
    for run in dynamics.data:
        known = run.X[np.isfinite(run.X).all(axis=1)]
        h = np.broadcast_to(value(*known.T)[0], len(known))
        by = np.stack([np.broadcast_to(s, len(known)) for s in slopes(*known.T)], axis=1)
        changes.append(h - h.mean())
        expected.append(np.sqrt(((by * dynamics.deviations(known)) ** 2).sum(axis=1)))
    rng = np.random.default_rng(0)
    span = float(np.std(value(*rng.uniform(box[:, 0], box[:, 1], (_POINTS, len(box))).T)[0]))
    size = [float(np.sqrt(np.mean(np.concatenate(part) ** 2))) for part in (changes, expected)]
    return Conserved(formula, size[0] / span, size[1] / span)


# -- scales


def dimensionless(dynamics: Dynamics) -> tuple[dict[str, sp.Expr], dict[str, float]]:
    """Scaled right-hand sides, and the scales: factors of products of powers made 1, in order."""
    if dynamics.discrete or dynamics.inputs:
        raise ValueError("a dimensionless form is made of differential equations without inputs")
    symbols, size = dynamics.names.symbols, len(dynamics.states)
    rows, sizes = [], []
    for k, formula in enumerate(dynamics.formulas.values()):
        for term in sp.Add.make_args(sp.expand(formula)):
            factor, rest = term.as_independent(*symbols, as_Add=False)
            powers = rest.as_powers_dict()
            if not set(powers) <= {*symbols, sp.S.One}:
                continue
            row = np.array([float(powers.get(s, 0)) for s in symbols] + [1.0])
            row[k] -= 1.0
            rows.append(row)
            sizes.append(-np.log(abs(float(factor))))
    chosen: list[int] = []
    for k in range(len(rows)):
        if np.linalg.matrix_rank(np.array([rows[j] for j in (*chosen, k)])) > len(chosen):
            chosen.append(k)
    matrix = np.array([rows[k] for k in chosen]).reshape(len(chosen), size + 1)
    logs = lstsq(matrix, np.array([sizes[k] for k in chosen]))
    scales = dict(zip((*dynamics.states, dynamics.time), np.exp(logs).tolist(), strict=True))
    stretched = {s: sp.Float(scales[n]) * s for s, n in zip(symbols, dynamics.states, strict=True)}
    whole = sp.Float(scales[dynamics.time])
    formulas = {
        name: _rounded(sp.expand(formula.xreplace(stretched) * whole / sp.Float(scales[name])))
        for name, formula in dynamics.formulas.items()
    }
    return formulas, scales


def _rounded(formula: sp.Expr) -> sp.Expr:
    return formula.xreplace({f: _neat(round(float(f), 9)) for f in formula.atoms(sp.Float)})
