"""Which terms: a beam over supports by Gram algebra, scored by the error of the explicit law.

The terms of the denominator are forced, never grown: a free choice among the columns g(y) q finds
1 + q = 0 on the data, the trivial null vector, and never the law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ._candidate import Candidate
from ._reduced_table import ALL, ReducedTable, Rows
from ._vocabulary import Link, Term, columns

Sets = Sequence[tuple[int, ...]]
Index = NDArray[np.int64]  # supports, one a row


class System:
    """The linear problem p - g(f) q = g(f) of one link and dictionary, rows in units of y."""

    def __init__(
        self,
        table: ReducedTable,
        link: Link,
        P: Sequence[Term],
        Q: Sequence[Term],
        rate: float = 1.0,
        rows: Rows = ALL,
    ):
        table.in_time()
        self.table, self.link, self.rate, self.rows = table, link, rate, rows
        f = table.f[rows]
        with np.errstate(all="ignore"):
            self.target = np.array(link.forward(f))
            weight = table.weight[rows] / np.maximum(np.abs(link.slope(f)), 1e-12)
            weight = np.minimum(weight, 1e3 * np.median(weight))
            outside = ~(link.inside(table.f)[rows] & np.isfinite(self.target))
            self.target[outside], weight[outside] = 1.0, 0.0
            C = columns([*P, *Q], table.U[rows], rate)
            C[:, len(P) :] *= -self.target[:, None]
            M = C * weight[:, None]
            norms = np.linalg.norm(M, axis=0)
        good = np.isfinite(norms) & (norms > 0) & (norms < 1e150)
        self.P = [t for t, g in zip(P, good, strict=False) if g]
        self.Q = [t for t, g in zip(Q, good[len(P) :], strict=True) if g]
        self.M, self.norms = M[:, good] / norms[good], norms[good]
        self.raw = C[:, good]
        self.weight = weight
        self.b = self.target * weight
        self.usable = bool(np.isfinite(self.b).all() and self.P)
        if self.usable:
            self.gram, self.cross = self.M.T @ self.M, self.M.T @ self.b

    def least_error(self) -> float:
        """Error of all terms together, relative to the spread: no few of them have a smaller one.

        But for the sizes of denominators, by which the errors of the linear problem are off.
        """
        Q, _ = np.linalg.qr(self.M)
        left = self.b - Q @ (Q.T @ self.b)
        return float(np.sqrt(np.mean(left**2))) / self.table.spread

    def solve(self, supports: Index) -> Array:
        """Coefficients of many supports of one size, (K, size)."""
        G = self.gram[supports[:, :, None], supports[:, None, :]]
        G = G + 1e-14 * np.eye(supports.shape[1])
        theta = np.linalg.solve(G, self.cross[supports][..., None])[..., 0]
        return theta / self.norms[supports]

    def errors(self, supports: Index, theta: Array) -> Array:
        """Relative error in y of each explicit law; infinite where 1 + q changes sign."""
        n_p, K = len(self.P), len(supports)
        full = np.zeros((K, len(self.norms)))
        np.put_along_axis(full, supports, theta, 1)
        with np.errstate(all="ignore"):
            p = full[:, :n_p] @ self.raw[:, :n_p].T
            q = 1 - (full[:, n_p:] @ self.raw[:, n_p:].T) / self.target
            f = self.link.sign(self.table.negative) * self.link.inverse(p / q)
            out = np.sqrt(np.mean(self.table.misses(f, self.rows) ** 2, axis=1))
            bad = (q.min(1) <= 0) & (q.max(1) >= 0) | ~np.isfinite(out)
        out[bad] = np.inf
        return out

    def candidate(self, support: Sequence[int] | Index, exact: bool = False) -> Candidate:
        """The candidate of one support; `exact` solves anew by orthogonal factors."""
        index = np.asarray(support)
        if exact:
            theta = lstsq(self.M[:, index], self.b) / self.norms[index]
        else:
            theta = self.solve(index[None])[0]
        n_p = len(self.P)
        p = tuple(self.P[i] for i in index if i < n_p)
        q = tuple(self.Q[i - n_p] for i in index if i >= n_p)
        order = np.argsort(index >= n_p, kind="stable")
        rated = any(t.rated for t in p + q)
        theta = theta[order]
        return Candidate(
            self.table, self.link, p, q, np.r_[theta, self.rate] if rated else theta, self.rate
        )


def beam(system: System, q_sets: Sets, most: int, width: int) -> Iterator[tuple[int, Index]]:
    """Supports (forced q terms first) of one more p term at a time: (size, (K, size))."""
    n_p = len(system.P)
    for size in sorted({len(q) for q in q_sets}):
        sets = [[n_p + j for j in q] for q in q_sets if len(q) == size]
        forced = np.array(sets, dtype=int).reshape(len(sets), size)
        supports, group = forced, np.arange(len(forced))
        for k in range(1, min(most, n_p) + 1):
            gain = _gains(system, supports)
            room = max(width, min(n_p, 150)) if k == 1 and size < 2 else width
            grown, groups = [], []
            for g in range(len(forced)):
                rows = np.flatnonzero(group == g)
                if not len(rows):
                    continue
                flat = gain[rows].ravel()
                best = np.argpartition(-flat, min(room * (k + 1), flat.size) - 1)[: room * (k + 1)]
                best = best[np.argsort(-flat[best])]
                best = best[np.isfinite(flat[best])]
                grown_by = np.column_stack([supports[rows[best // n_p]][:, size:], best % n_p])
                grown_by = np.sort(grown_by, 1)
                first = np.sort(np.unique(grown_by, axis=0, return_index=True)[1])[:room]
                chosen = grown_by[first]
                if not len(chosen):
                    continue
                grown.append(np.column_stack([np.tile(forced[g], (len(chosen), 1)), chosen]))
                groups.append(np.full(len(chosen), g))
            if not grown:
                break
            supports, group = np.concatenate(grown), np.concatenate(groups)
            yield size + k, supports


def _gains(system: System, supports: Index) -> Array:
    """By how much each p term would lower the squared error of each support, (K, n_p)."""
    n = len(system.P)
    if supports.shape[1] == 0:
        return np.tile(system.cross[:n] ** 2, (len(supports), 1))
    G = system.gram[supports[:, :, None], supports[:, None, :]] + 1e-14 * np.eye(supports.shape[1])
    rows = system.gram[supports][:, :, :n]
    C = np.linalg.solve(G, rows)
    left = 1 - np.einsum("bkn,bkn->bn", C, rows)
    along = system.cross[None, :n] - np.einsum("bk,bkn->bn", system.cross[supports], C)
    base = np.einsum(
        "bk,bk->b",
        system.cross[supports],
        np.linalg.solve(G, system.cross[supports][..., None])[..., 0],
    )
    gain = base[:, None] + np.where(left > 1e-9, along**2 / np.maximum(left, 1e-9), 0.0)
    for column in range(supports.shape[1]):
        inside = supports[:, column] < n
        gain[np.flatnonzero(inside), supports[inside, column]] = -np.inf
    return gain


def best_of(
    system: System, q_sets: Sets, most: int, width: int, keep: int
) -> list[tuple[float, Index]]:
    """The `keep` best supports of each size with their errors."""
    found: dict[int, list[tuple[float, Index]]] = {}
    for size, supports in beam(system, q_sets, most, width):
        with np.errstate(all="ignore"):
            theta = system.solve(supports)
        errors = system.errors(supports, theta)
        order = np.argsort(errors)[:keep]
        found.setdefault(size, []).extend(
            (float(errors[i]), supports[i]) for i in order if np.isfinite(errors[i])
        )
    return [t for size in found for t in sorted(found[size], key=lambda t: t[0])[:keep]]
