"""Which numbers several experiments share: sets of them, fitted and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ..._core.types import Array
from ._fit import CONSTANT, GIVEN, POISSON
from ._joint import Descent, Experiments, Layout, jointly

_EXACT = 1e-9  # relative error below which two fits are equally good
_GUESSES = 4  # sets of shared parameters that are fitted, in a hurry


@dataclass(eq=False)
class Choice:
    """Sets of own parameters, tried one after another.

    Args:
        data: what is fitted.
        starts: each (groups, parameters).
        hurried: whether a set is begun from its neighbour's fit alone.
        guessed: whether only the most promising sets are fitted.
        seen: score and parameters of the sets that were tried.
    """

    data: Experiments
    starts: list[Array]
    hurried: bool = False
    guessed: bool = False
    seen: dict[frozenset[int], tuple[float, Array]] = field(default_factory=dict)

    @property
    def scores(self) -> list[tuple[frozenset[int], float]]:
        """Scores of all sets that have one, the best first."""
        known = [(own, score) for own, (score, _) in self.seen.items() if np.isfinite(score)]
        return sorted(known, key=lambda pair: pair[1])

    def best(self, own: frozenset[int] | None) -> Descent | None:
        """The fit of a set, or of the best one."""
        if not self.starts:
            return None
        if own is None:
            own = self._guess() if self.hurried and self.guessed else self._walked()
        values = self.tried(own)[1]
        return None if not len(values) else self._fit(own, values, 300)

    def _walked(self) -> frozenset[int]:
        """From nothing of their own and from everything, one parameter at a time to the best."""
        every = range(len(self.data.form.parameters))
        ends = [frozenset(), frozenset(every)] if self.data.count > 1 else [frozenset[int]()]
        for here in ends:
            score, values = self.tried(here)
            while len(values):
                moves = [here ^ {k} for k in every] if self.data.count > 1 else []
                new = min(moves, key=lambda own: self.tried(own, values)[0], default=here)
                if not self.tried(new)[0] < score:
                    break
                here, (score, values) = new, self.tried(new)
        return min(self.seen, key=lambda own: (self.seen[own][0], len(own)))

    def _guess(self) -> frozenset[int]:
        """The best of a few sets that look best from the fit in which nothing is shared.

        How much worse a set fits is read from the curvature there, so that all sets are compared
        for the price of one fit.
        """
        every, data = range(len(self.data.form.parameters)), self.data
        alone = self.tried(frozenset(every))[1]
        self.tried(frozenset())
        if len(alone) and data.count > 1 and alone.size < len(data.rows.y):
            root = data.root(alone)
            J, left = data.slopes(alone, root), data.residual(alone, root)
            blocks = np.add.reduceat(J[:, :, None] * J[:, None, :], data.begins)
            sets = [frozenset(c) for k in every for c in combinations(every, k)][1:]
            if len(sets) and np.isfinite(blocks).all() and np.isfinite(left).all():
                guesses = [_tied(blocks, alone, own) for own in sets]
                cost = float(left @ left)
                order = np.argsort([
                    self._penalised(cost + more, len(own) * data.count + len(every) - len(own))
                    for own, (more, _) in zip(sets, guesses, strict=True)
                ])  # fmt: skip
                for k in order[:_GUESSES]:
                    self.tried(sets[k], guesses[k][1])
        elif data.count > 1:
            return self._walked()
        return min(self.seen, key=lambda own: (self.seen[own][0], len(own)))

    def _penalised(self, cost: float, k: int) -> float:
        """Score of a sum of squares, up to a constant."""
        n, model = len(self.data.rows.y), self.data.noise.model
        misfit = cost if model in (GIVEN, POISSON) else n * np.log(max(cost, 1e-300))
        return float(misfit + k * np.log(n) + _few(n, k))

    def tried(self, own: frozenset[int], near: Array | None = None) -> tuple[float, Array]:
        """Score and parameters of a set; it is fitted when it is first asked for."""
        if own not in self.seen:
            nothing = (np.inf, np.zeros((0, 0)))
            others = [] if self.hurried and near is not None else self.starts
            starts = others if near is None else [near, *others]
            fits = [self._fit(own, start, 25) for start in starts]
            scored = [(self._score(f), f.values) for f in fits if f is not None]
            self.seen[own] = min(scored, key=lambda pair: pair[0], default=nothing)
        return self.seen[own]

    def _fit(self, own: frozenset[int], values: Array, steps: int) -> Descent | None:
        every = range(len(self.data.form.parameters))
        shared = tuple(k for k in every if k not in own)
        layout = Layout(tuple(sorted(own)), shared, np.zeros(len(every), dtype=bool))
        enough = 1e-6 if self.hurried and steps < 100 else 1e-12
        return jointly(self.data, layout, values, steps, enough)

    def _score(self, found: Descent) -> float:
        """Deviance with a charge for each number, greater where rows are few (as AICc's)."""
        fit, n = self.data.evaluated(found.values), len(self.data.rows.y)
        if fit is None:
            return np.inf
        k, model, deviance = found.z.size + found.u.size, self.data.noise.model, fit.deviance
        floor = _EXACT**2 * (self.data.rows.typical**2 if model == CONSTANT else 1.0)
        exact = float(np.sum((fit.miss * fit.scale) ** 2)) < n * floor
        if exact and model not in (POISSON, GIVEN):  # as good as any other: the fewest numbers win
            deviance = n * np.log(2 * np.pi * floor) + n - 2 * float(np.sum(np.log(found.root)))
        return float(deviance + k * np.log(n) + _few(n, k))


def _few(n: int, k: int) -> float:
    """What many numbers on few rows cost besides."""
    return 2 * (k + 1) * (k + 2) / (n - k - 2) if n > k + 2 else 1e6 * (k + 3 - n)


def _tied(blocks: Array, alone: Array, own: frozenset[int]) -> tuple[float, Array]:
    """By how much the squares grow if all but some parameters are shared, and where they then are.

    Args:
        blocks: curvature of each group (groups, parameters, parameters).
        alone: parameters of each group on its own.
        own: places of those that stay so.
    """
    mine = sorted(own)
    both = [k for k in range(alone.shape[1]) if k not in own]
    corner, border = blocks[:, both][:, :, both], blocks[:, mine][:, :, both]
    carried = np.linalg.pinv(blocks[:, mine][:, :, mine], rcond=1e-12) @ border
    left = corner - np.swapaxes(border, 1, 2) @ carried
    goal = np.einsum("gst,gt->s", left, alone[:, both])
    shared = np.linalg.pinv(left.sum(axis=0), rcond=1e-12) @ goal
    away = shared - alone[:, both]
    values = alone.copy()
    values[:, both] = shared
    values[:, mine] -= np.einsum("gos,gs->go", carried, away)
    return float(np.einsum("gs,gst,gt->", away, left, away)), values
