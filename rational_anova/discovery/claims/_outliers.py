"""Rows that do not belong to the rest: far from a smooth surrogate, and far from a law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..._core.least_squares import lstsq
from ..._core.types import Array
from .._thresholds import EXACT
from ..fitting import LOG_NORMAL, Fit, Rows, deviations
from ..search import Basis, ReducedTable, definite
from ._tests import refitted

_ROW = 12.0  # score of a row that is left out, with a target of spread one
_FAR = 4.5  # robust standard deviations from a law, as in `robust`
_ROUGH = 5.0  # ... from a surrogate, which misses some rows by more than noise
_FINE = 8.0  # ... from a fine one, which the rows at the edges hold alone
_TAIL = 3.0  # beyond lie three of a thousand normal rows ...
_HEAVY = 0.015  # ... and if more of them than this do, the formula is wrong and not the rows
_MOST = 0.1  # of the rows may be far from a surrogate
_TERMS, _DEGREE = 100, 6  # of a surrogate that few rows must not bend, at most
_NEIGHBOURS = 31  # rows that a deviation is estimated from
_ROUNDS = 20


def price_of_outliers(rows: Rows, count: int) -> float:
    """What rows cost that are left out, in score, in whatever unit the target is.

    Without it the wildest form would leave out most rows. A row that is left out has no
    likelihood under the law; the spread of the target stands for it.
    """
    middle = float(np.median(rows.y))
    spread = 1.4826 * float(np.median(np.abs(rows.y - middle))) or rows.typical
    return count * (_ROW + 2 * float(np.log(spread)))


def far_from_surrogate(table: ReducedTable, over: Callable[[], bool] = lambda: False) -> Array:
    """Rows that are far from a smooth surrogate which they cannot bend, True (rows,).

    A miss is compared with those of rows where the surrogate says nearly the same, since noise may
    grow with the target. A tenth of the rows may go: without noise the surrogate's own misses are
    among them, which a law brings back. Once the time is over, no finer one is looked at.
    """
    n, r = table.U.shape
    best: tuple[float, Array] | None = None
    for logs in (False, True) if all(definite(u) for u in table.U.T) else (False,):
        for degree in range(1, _DEGREE + 1):
            if math.comb(r + degree, r) > min(_TERMS, n // 6) or (best is not None and over()):
                break
            A = Basis(table.U, degree, logs).columns()
            for said in (_unbent(A, table.y), _unbent_log(A, table.y)):
                left = np.abs(table.y - said)
                level = float(np.median(left)) * n / (n - A.shape[1])
                if np.isfinite(level) and (best is None or level < best[0]):
                    best = level, said
    if best is None:
        return np.zeros(n, dtype=bool)
    far = _in_deviations(np.abs(table.y - best[1]), np.abs(best[1]))
    worst = np.argsort(-far, kind="stable")[: int(_MOST * n)]
    out = np.zeros(n, dtype=bool)
    out[worst] = far[worst] > _ROUGH
    return _sharpened(table, out, over)


def _sharpened(table: ReducedTable, out: Array, over: Callable[[], bool]) -> Array:
    """Rows that are far, and those far from the finer surrogate that the others allow.

    They go few at a time, since one that is spoilt bends it for its neighbours.
    """
    n = len(out)
    kept = np.flatnonzero(~out)
    while n - len(kept) < _MOST * n and not over():
        part = replace(
            table, y=table.y[kept], U=table.U[kept], f=table.f[kept], weight=table.weight[kept],
            importance=None,
        )  # fmt: skip
        surrogate = part.fitted(min(_TERMS, n // 6)).surrogate
        if surrogate is None:
            break
        far = _in_deviations(np.abs(surrogate.left_out()), np.abs(surrogate.values))
        worst = np.argsort(-far, kind="stable")[: max(1, n // 50)]
        spoilt = worst[far[worst] > _FINE]
        if not len(spoilt):
            break
        kept = np.delete(kept, spoilt)
    return ~np.isin(np.arange(n), kept)


def _unbent(A: Array, y: Array, known: Array | None = None) -> Array:
    """What a linear model says, fitted with weights that fall to zero with the distance.

    Args:
        A: its columns (rows, terms).
        y: target.
        known: rows that count, all by default.
    """
    base = np.ones(len(y)) if known is None else known.astype(float)
    weight = base
    for step in range(_ROUNDS):
        root = np.sqrt(weight)
        said = A @ lstsq(A * root[:, None], root * y)
        left = np.abs(y - said)
        ratio = left / max(1.4826 * float(np.median(left[base > 0])), 1e-300)
        # absolute deviations first, so that the start is not that of the outliers
        weight = 1 / np.maximum(ratio, 0.3) if step < 10 else np.maximum(1 - (ratio / 6) ** 2, 0)
        weight = base * (weight if step < 10 else weight**2)
    return np.asarray(said)


def _unbent_log(A: Array, y: Array) -> Array:
    """The same of the logarithm; rows of the other sign than most do not count."""
    sign = 1.0 if np.median(y) >= 0 else -1.0
    known = sign * y > 0
    if not known.mean() > 1 - _MOST:
        return np.full(len(y), np.nan)
    return sign * np.exp(_unbent(A, np.log(np.where(known, sign * y, 1.0)), known))


def _in_deviations(left: Array, size: Array) -> Array:
    """Misses in robust standard deviations of their neighbours by size."""
    n = len(left)
    order = np.argsort(size, kind="stable")
    width = min(n, max(_NEIGHBOURS, n // 5))
    medians = np.median(np.lib.stride_tricks.sliding_window_view(left[order], width), axis=1)
    level = np.empty(n)
    level[order] = medians[np.clip(np.arange(n) - width // 2, 0, n - width)]
    return np.asarray(left / np.maximum(1.4826 * level, 1e-300))


def far_from_law(fit: Fit, rows: Rows, out: Array) -> tuple[Array, Fit] | None:
    """Rows that are far from a law of the others, and the fit to these.

    Args:
        fit: the law, found without some rows.
        rows: all rows.
        out: those that were left out, True (rows,).

    Returns:
        The outliers, True (rows,), and the law without them. None if what is left over is not
        normal: then the formula is wrong and not the rows.
    """
    for _ in range(_ROUNDS):
        new = refitted(fit, rows.some(np.flatnonzero(~out)), 40)
        if new is None:
            return None
        fit, before = new, out
        far = _from(fit, rows)
        out = far > _FAR
        if (out == before).all():
            break
    inner = far[~out]
    if not len(inner) or np.sum(inner > _TAIL) > max(2, _HEAVY * len(inner)):
        return None
    return out, fit


def _from(fit: Fit, rows: Rows) -> Array:
    """Distance of each row from a law, in robust standard deviations of the noise."""
    with np.errstate(all="ignore"):
        said = fit.predict(rows.X)
        if fit.noise.model == LOG_NORMAL:
            left = np.abs(np.log(rows.y / said))
        else:
            spread = deviations(rows, said, fit.noise, fit.form, fit.values)
            left = np.abs(rows.y - said) / spread
    left = np.where(np.isfinite(left), left, np.inf)
    # rounding is no noise, and rows that a law gives to the last digits belong to it
    left[np.abs(rows.y - said) < EXACT * (float(np.std(rows.y)) or 1.0)] = 0.0
    free = len(left) / max(len(left) - fit.numbers, 1)
    scale = 1.4826 * float(np.median(left)) * np.sqrt(free)
    return np.asarray(left / max(scale, 1e-300))
