"""Peers on time series: weak SINDy and SINDy-PI of pysindy, pyoperon on smoothed derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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
_PI_DEGREE = 2


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
    """Quotients by SINDy-PI: P(x) = x' Q(x), every monomial once on the left-hand side."""
    import pysindy as ps

    t = times()
    curves = [[smooth(t, x) for x in X.T] for X in runs]
    X = np.concatenate([np.stack([c(t) for c in own], axis=1) for own in curves])
    D = np.concatenate([np.stack([c.slope(t) for c in own], axis=1) for own in curves])
    library = ps.PolynomialLibrary(degree=_PI_DEGREE)
    values = np.asarray(library.fit_transform(X))
    names = library.get_feature_names([s.name for s in symbols])
    out = []
    for k in range(len(symbols)):
        theta = np.c_[values, values * D[:, [k]]]
        out.append(_implicit(theta, names, symbols))
    return out


def _implicit(theta: np.ndarray, names: Sequence[str], symbols: Sequence[sp.Symbol]) -> sp.Expr:
    """The sparse null vector of the best left-hand side, solved for the derivative."""
    import pysindy as ps

    monomials = [_parsed(name, symbols) for name in names]
    size, best = len(monomials), (np.inf, sp.S.Zero)
    scale = np.linalg.norm(theta, axis=0)
    for left in range(size, 2 * size):
        rest = [k for k in range(2 * size) if k != left]
        for threshold in _THRESHOLDS:
            fit = ps.STLSQ(threshold=threshold, alpha=1e-8)
            fit.fit(theta[:, rest] / scale[rest], theta[:, [left]] / scale[left])
            found = np.ravel(fit.coef_)
            error = np.mean(
                (theta[:, rest] / scale[rest] @ found - theta[:, left] / scale[left]) ** 2
            )
            score = len(theta) * np.log(error * len(theta) + 1e-14) + np.log(len(theta)) * np.sum(
                found != 0
            )
            if score < best[0] and (found != 0).any():
                whole = np.zeros(2 * size)
                whole[rest] = found / scale[rest] * scale[left]
                whole[left] = -1.0
                above = sum(
                    (c * m for c, m in zip(whole[:size], monomials, strict=True) if c), sp.S.Zero
                )
                below = sum(
                    (c * m for c, m in zip(whole[size:], monomials, strict=True) if c), sp.S.Zero
                )
                best = (score, -above / below if below != 0 else sp.S.Zero)
    return best[1]


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
    return [sum((float(c) * t for c, t in zip(row, terms, strict=True) if c), sp.S.Zero)
            for row in np.asarray(numbers)]  # fmt: skip


def _parsed(name: str, symbols: Sequence[sp.Symbol]) -> sp.Expr:
    """A feature as pysindy writes it: x0^2 x1, sin(1 x0)."""
    text = name.replace("^", "**")
    for known in (f"x{k}" for k in range(len(symbols))):
        text = text.replace(known, f"x_{known[1:]}")
    text = text.replace("(1 ", "(").strip().replace(" ", "*")
    return sp.sympify(text, locals={s.name: s for s in symbols})
