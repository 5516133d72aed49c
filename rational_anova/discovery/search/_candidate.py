"""A candidate: link(f) = p / (1 + q) with terms of one dictionary, and its refinement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from ..._core.least_squares import levenberg_marquardt, standard_errors
from ..._core.types import Array
from .._thresholds import EXACT, ROUNDING
from ._reduced_table import ALL, ReducedTable, Rows
from ._template import number_cost, small_sample
from ._vocabulary import Link, Term, columns


@dataclass(frozen=True)
class Candidate:
    """Coefficients of p, then of q; the rate last where there is one."""

    table: ReducedTable
    link: Link
    p: tuple[Term, ...]
    q: tuple[Term, ...]
    theta: Array
    rate: float = 1.0
    error: float = np.inf
    stage: str = ""
    numbers: float | None = None  # the cost of the parameters, where it was weighed

    @property
    def rated(self) -> bool:
        """Whether the rate is one of the parameters."""
        return len(self.theta) > len(self.p) + len(self.q)

    @property
    def cost(self) -> float:
        """Complexity, in the units of the terms' costs."""
        terms = sum(t.cost for t in self.p + self.q)
        return terms + len(self.p) + 1.5 * len(self.q) + self.link.cost + 2 * self.rated

    @property
    def score(self) -> float:
        """Description length: the smaller, the better."""
        n, k = len(self.table.y), len(self.theta)
        fit = n * np.log(max(self.error, ROUNDING) ** 2)
        numbers = k * np.log(n) if self.numbers is None else self.numbers
        return float(fit + numbers + small_sample(n, k) + 2 * self.cost)

    def weighed(self) -> Candidate:
        """With the cost of its numbers: simple ones are short, others as long as they are sharp."""
        theta, k = self.theta, len(self.p) + len(self.q)
        with np.errstate(all="ignore"):
            fixed = None if self.rated else columns(self.p + self.q, self.table.U, self.rate)
            J = self._jacobian(theta, ALL, fixed, k) / self.table.spread
            if self.table.importance is not None:
                J = J * self.table.importance[:, None]
        if not np.isfinite(J).all():
            return self
        errors = standard_errors(J, theta, max(self.error, 1e-16))
        lead = int(np.argmax(np.abs(theta[: len(self.p)])))
        return replace(self, numbers=number_cost(theta, errors, len(self.p), lead, len(J)))

    def values(self, theta: Array, rows: Rows = ALL, C: Array | None = None) -> Array:
        """The target f for these parameters."""
        m, k = len(self.p), len(self.p) + len(self.q)
        if C is None:
            rate = theta[k] if self.rated else self.rate
            C = columns(self.p + self.q, self.table.U[rows], rate)
        with np.errstate(all="ignore"):
            t = (C[:, :m] @ theta[:m]) / (1 + C[:, m:] @ theta[m:k])
            return self.link.sign(self.table.negative) * self.link.inverse(t)

    def measured(self, rows: Rows = ALL) -> Candidate:
        """With its error on the rows."""
        return replace(self, error=self.table.error(self.values(self.theta, rows), rows))

    def refined(self, steps: int = 25, rows: Rows = ALL) -> Candidate:
        """Levenberg-Marquardt on the explicit law, errors in units of y."""
        table, k = self.table, len(self.p) + len(self.q)
        table.in_time()
        scale = 1 / table.spread if table.importance is None else table.importance[rows, None]
        scale = scale if table.importance is None else scale / table.spread
        fixed = None if self.rated else columns(self.p + self.q, table.U[rows], self.rate)

        def residual(theta: Array) -> Array:
            return table.misses(self.values(theta, rows, fixed), rows)

        def jacobian(theta: Array) -> Array:
            return self._jacobian(theta, rows, fixed, k) * scale

        theta, error = levenberg_marquardt(residual, jacobian, self.theta, steps, ROUNDING / 10)
        rate = float(theta[k]) if self.rated else self.rate
        return replace(self, theta=theta, rate=rate, error=error, numbers=None)

    def _jacobian(self, theta: Array, rows: Rows, fixed: Array | None, k: int) -> Array:
        """dy/dtheta: exact in the coefficients, by differences in the rate."""
        m, table = len(self.p), self.table
        C = columns(self.p + self.q, table.U[rows], theta[k]) if fixed is None else fixed
        with np.errstate(all="ignore"):
            q = 1 + C[:, m:] @ theta[m:k]
            t = (C[:, :m] @ theta[:m]) / q
            f = self.link.sign(table.negative) * self.link.inverse(t)
            h = 1e-6 * (np.abs(f) + 1e-3 * np.abs(f).max())
            slope = (table.unwrap(f + h, rows) - table.unwrap(f - h, rows)) / (2 * h)
            slope = slope * self.link.sign(table.negative) * self.link.inverse_slope(t)
            J = np.column_stack([C[:, :m] / q[:, None], -C[:, m:] * (t / q)[:, None]])
            J = J * slope[:, None]
            if self.rated:
                e = 1e-6 * max(abs(theta[k]), 1e-12)
                up, down = theta.copy(), theta.copy()
                up[k] += e
                down[k] -= e
                high = table.unwrap(self.values(up, rows), rows)
                low = table.unwrap(self.values(down, rows), rows)
                J = np.column_stack([J, (high - low) / (2 * e)])
        return J

    def expression(self) -> sp.Expr:
        """The law for y in the symbols of the columns, numbers as floats."""
        u = tuple(sp.symbols(f"_u0:{len(self.table.variables)}"))
        rate = sp.Float(self.rate, 17) if self.rated else sp.nsimplify(self.rate)

        def total(terms: Sequence[Term], weights: Array) -> sp.Expr:
            parts = (
                sp.Float(w, 17) * t.expression(u, rate) for w, t in zip(weights, terms, strict=True)
            )
            return sp.Add(*parts)

        m, k = len(self.p), len(self.p) + len(self.q)
        t = total(self.p, self.theta[:m]) / (1 + total(self.q, self.theta[m:k]))
        return self.table.expression(
            int(self.link.sign(self.table.negative)) * self.link.expression(t), u
        )


def without(candidate: Candidate, gone: Sequence[int]) -> Candidate:
    """The candidate without some of its terms, coefficients of the others kept."""
    terms = [i for i in range(len(candidate.p) + len(candidate.q)) if i not in gone]
    m = len(candidate.p)
    theta = np.r_[candidate.theta[terms], candidate.theta[m + len(candidate.q) :]]
    p = tuple(candidate.p[i] for i in terms if i < m)
    q = tuple(candidate.q[i - m] for i in terms if i >= m)
    rated = candidate.rated and any(t.rated for t in p + q)
    return replace(candidate, p=p, q=q, theta=theta if rated else theta[: len(terms)])


def pruned(candidate: Candidate, floor: float = EXACT) -> Candidate:
    """Terms dropped, weakest first, while the error stays at the floor or the score gets better."""
    exact = candidate.error < floor
    while len(candidate.p) + len(candidate.q) > 1:
        m, k = len(candidate.p), len(candidate.p) + len(candidate.q)
        C = columns(candidate.p + candidate.q, candidate.table.U, candidate.rate)
        size = np.linalg.norm(C * candidate.table.weight[:, None], axis=0)
        strength = np.abs(candidate.theta[:k]) * size
        order = np.argsort(strength)
        tiny = [int(i) for i in order if strength[i] < 1e-9 * strength.max()][: k - 1]
        trials = [tiny] if exact and len(tiny) > 1 else []
        trials += [[int(i)] for i in order[: 6 if exact else 4]]
        for gone in trials:
            if all(i in gone for i in range(m)):
                continue
            trial = without(candidate, gone).refined()
            if trial.error < floor if exact else trial.score < candidate.score:
                candidate = trial
                break
        else:
            return candidate
    return candidate
