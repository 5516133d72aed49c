"""Peers on time series: weak SINDy and SINDy-PI of pysindy, pyoperon on smoothed derivatives."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from experiments.discovery.peer_searches import Task, pyoperon
from experiments.motion.systems import explained, integrated, times
from rational_anova.motion import smooth

OPERON_SECONDS = 3.0  # an equation
_THRESHOLDS = (0.003, 0.01, 0.03, 0.1, 0.3)
_DEGREE = 3
PI_SECONDS = 60.0  # a system
_PI_DEGREES = {1: (2, 3, 4), 2: (2, 3), 3: (2, 3), 4: (2,)}  # by the number of states
_PI_WEIGHTS = (1e-5, 1e-4, 1e-3, 1e-2)  # of the penalty, for columns of length one
_PI_SMALL = (1e-3, 1e-2, 0.1)  # of the largest number: smaller ones are none
_PI_SWEEPS = 6  # of leaving small numbers out and fitting the others again
_PI_ALIKE = 1e-8  # of the mean square of x': of errors below it, the shorter sum is better
_PI_KEPT = 4  # right-hand sides of each equation whose trajectories are looked at


def weak_sindy(runs: Sequence[np.ndarray], symbols: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Polynomials of degree 3, with sines and cosines or without, in weak form.

    Libraries and thresholds are judged by the trajectories of the runs, less a price for each term;
    the best is told.
    """
    import pysindy as ps

    t = times()
    powers = ps.PolynomialLibrary(degree=_DEGREE)
    waves = powers + ps.FourierLibrary(n_frequencies=1)

    def model(way: tuple[Any, float]) -> list[sp.Expr]:
        plain, threshold = way
        weak = ps.WeakPDELibrary(function_library=plain, spatiotemporal_grid=t, K=200)
        sparse = ps.STLSQ(threshold=threshold, alpha=1e-10)  # its own ridge bends weak columns
        found = ps.SINDy(feature_library=weak, optimizer=sparse)
        found.fit(list(runs), t=[t] * len(runs))
        return _formulas(found.coefficients(), found.get_feature_names(), symbols)

    ways = product((powers, waves), _THRESHOLDS)
    return _best(runs, symbols, [_tried(model, way) for way in ways])


def sindy_pi(runs: Sequence[np.ndarray], symbols: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Quotients by SINDy-PI: every monomial, and every one times x', once on the left-hand side.

    Its sparse sums are fitted again without the penalty, less what is small, the best of each
    equation are put together, and trajectories choose. After `PI_SECONDS` it ends with what it has.
    """
    t, until = times(), time.process_time() + PI_SECONDS
    curves = [[smooth(t, x) for x in X.T] for X in runs]
    X = np.concatenate([np.stack([c(t) for c in own], axis=1) for own in curves])
    D = np.concatenate([np.stack([c.slope(t) for c in own], axis=1) for own in curves])
    found: list[list[tuple[float, sp.Expr]]] = [[] for _ in symbols]
    for degree in _PI_DEGREES[len(symbols)]:
        for k, x_dot in enumerate(D.T):
            found[k] += _implicit(X, x_dot, symbols, degree, until)
    if not all(found):
        raise TimeoutError(f"no equation after {PI_SECONDS:g} s")
    best = [list(dict.fromkeys(f for _, f in sorted(own, key=lambda pair: pair[0])))[:_PI_KEPT]
            for own in found]  # fmt: skip
    return _best(runs, symbols, list(map(list, product(*best))))


def _implicit(
    X: np.ndarray, x_dot: np.ndarray, symbols: Sequence[sp.Symbol], degree: int, until: float
) -> Iterator[tuple[float, sp.Expr]]:  # fmt: skip
    """Right-hand sides that sparse sums of monomials, with x' and without, come to; with scores."""
    import pysindy as ps

    library = ps.PolynomialLibrary(degree=degree)
    plain = np.asarray(library.fit_transform(X))
    monomials = [_parsed(n, symbols) for n in library.get_feature_names([s.name for s in symbols])]
    size = len(monomials)
    theta = np.concatenate([plain, plain * x_dot[:, None]], axis=1)
    lengths = np.linalg.norm(theta, axis=0)
    unit = theta / lengths
    for weight, left in product(_PI_WEIGHTS, range(size, 2 * size)):
        if time.process_time() > until:
            return
        optimizer = ps.SINDyPI(reg_weight_lam=weight, model_subset=[left], max_iter=20_000)
        with contextlib.redirect_stdout(io.StringIO()):
            optimizer.fit(unit, unit)
        sparse = np.abs(np.nan_to_num(optimizer.coef_[left]))
        for small in _PI_SMALL if sparse.any() else ():
            numbers = sparse.copy()
            for _ in range(_PI_SWEEPS):
                kept = np.flatnonzero(np.abs(numbers) > small * np.abs(numbers).max())
                numbers = np.zeros(2 * size)
                numbers[kept] = np.linalg.lstsq(unit[:, kept], unit[:, left], rcond=None)[0]
            numbers[left] = -1.0
            numbers /= lengths
            with np.errstate(all="ignore"):
                values = -(plain @ numbers[:size]) / (plain @ numbers[size:])
            error = float(np.mean((values - x_dot) ** 2) / np.mean(x_dot**2))
            if np.isfinite(error):
                score = len(X) * np.log(error + _PI_ALIKE) + np.log(len(X)) * len(kept)
                yield score, -_sum(numbers[:size], monomials) / _sum(numbers[size:], monomials)


def _sum(numbers: np.ndarray, monomials: Sequence[sp.Expr]) -> sp.Expr:
    return sum((float(c) * m for c, m in zip(numbers, monomials, strict=True) if c), sp.S.Zero)


def operon(runs: Sequence[np.ndarray], symbols: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Derivatives of the smooth curves that ours begins with, each by pyoperon's own choice."""
    t = times()
    curves = [[smooth(t, x) for x in X.T] for X in runs]
    X = np.concatenate([np.stack([c(t) for c in own], axis=1) for own in curves])
    out = []
    for k in range(len(symbols)):
        y = np.concatenate([own[k].slope(t) for own in curves])
        found = pyoperon(Task(X, y, 1e-3, OPERON_SECONDS))[0]
        out.append(found.xreplace({sp.Symbol(f"X{j}"): s for j, s in enumerate(symbols)}))
    return out


def _tried(model: Callable[[Any], list[sp.Expr]], way: Any) -> list[sp.Expr] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model(way)
        except (ValueError, np.linalg.LinAlgError):
            return None


def _best(
    runs: Sequence[np.ndarray], symbols: Sequence[sp.Symbol], models: Sequence[list[sp.Expr] | None]
) -> list[sp.Expr]:
    """The model whose trajectories are nearest to the rows, less a price for each term."""
    scored = []
    for model in models:
        if model is None:
            continue
        share = min(explained(X, integrated(symbols, model, X[0], times())) for X in runs)
        terms = sum(len(sp.Add.make_args(formula)) for formula in model)
        cells = sum(X.size for X in runs)
        left = np.log(max(1 - share, 1e-12)) if np.isfinite(share) else 10.0
        scored.append((cells * left + np.log(cells) * terms, len(scored), model))
    return min(scored)[2] if scored else [sp.S.Zero] * len(symbols)


def _formulas(
    numbers: np.ndarray, names: Sequence[str], symbols: Sequence[sp.Symbol]
) -> list[sp.Expr]:
    terms = [_parsed(name, symbols) for name in names]
    return [_sum(row, terms) for row in np.asarray(numbers)]


def _parsed(name: str, symbols: Sequence[sp.Symbol]) -> sp.Expr:
    """A feature as pysindy writes it: x0^2 x1, sin(1 x0)."""
    text = name.replace("^", "**")
    for known in (f"x{k}" for k in range(len(symbols))):
        text = text.replace(known, f"x_{known[1:]}")
    text = text.replace("(1 ", "(").strip().replace(" ", "*")
    return sp.sympify(text, locals={s.name: s for s in symbols})
