"""The shallow fit: mains, fine mains, pairs, and moved heads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..._core.types import Array
from ..model import (
    Basis,
    Codes,
    Feature,
    Heads,
    Levels,
    Missing,
    Spread,
    Term,
    place,
    place_atoms,
    place_wide,
)
from ._refine import refine
from ._screening import Gains, Pair, Residual, bins, pair_gains, screened_pairs
from ._solve import Fit, Problem, solve, start_penalty

MAIN_HEADS = (8, 32)
FINE_HEADS, FINE_BINS = 256, (64, 128, 256)
FINE_ROWS = 10  # that each of the fine bins must have
PAIR_HEADS = 4
# heads of a pair's finer grids, and the tables of cell means that ask for them
FINER = ((8, (8,)), (16, (12, 18)), (24, (27,)))
FEW_LEVELS = 12  # up to which levels are told apart in pairs
GAP_HEADS = 8  # of an input where the other one of its pair is missing
SMALL = 1500  # rows
# Numerators of main effects and of pairs at most, for each row, and rows for each head; if rich.
MAIN_ROOM, ROOM, HEAD_ROWS = (0.75, 2.0), (0.5, 1.0), (20, 5)
LEAST_GAIN = 3e-4  # share of the residual's variance that finer heads must bring
LEAST_EDF = 0.5  # below which a term is dropped

Screen = Callable[["Fit", list[Pair]], Gains]


@dataclass(frozen=True)
class Options:
    """What a user may choose.

    Args:
        pairs: how many at most.
        pair_columns: numerators of all pairs at most.
        refinements: maximum number of steps that optimise the heads (basis functions).
        lean: one wide head for each number, and no more: nearly a linear model.
        rich: more heads than the rows would otherwise get.
        pool: degrees of freedom by which the penalty of a main effect leans to that of all; None:
            1 for a small table, else 0.
        allowed: the pairs that may be used; None for all.
        report: called with the name of each stage; may return True to stop.
    """

    pairs: int = 60
    pair_columns: int = 2200
    refinements: int = 2
    lean: bool = False
    rich: bool = False
    pool: float | None = None
    allowed: tuple[Pair, ...] | None = None
    report: Callable[[str], bool | None] | None = None


def pooled(problem: Problem, pool: float | None = None) -> Problem:
    """Return the problem with main effects that share their penalty as far as its rows ask."""
    return replace(problem, pool=float(problem.telling < SMALL) if pool is None else pool)


class Recipe:
    """One fit, stage by stage.

    Args:
        problem: rows, targets, loss.
        features: the inputs.
        options: of the user.
        screen: tells the gains of pairs by a fit of main effects, of those that have one, if other
            rows than those of the problem are to be asked.
    """

    def __init__(
        self, problem: Problem, features: list[Feature], options: Options,
        screen: Screen | None = None,
    ) -> None:  # fmt: skip
        self.problem = pooled(problem, options.pool)
        self.features, self.options, self.screen = features, options, screen
        self.stopped = False  # then what is there is the fit
        self.coordinates = [self._coordinate(i) for i in range(len(features))]
        self.spreads = [Spread.of(x, problem.weight) for x in self.coordinates]

    def run(self) -> Fit:
        """Return the fitted terms."""
        fit = self._solved(self.mains(), 6, None, "main effects")
        if self.options.lean or self.stopped:
            return fit
        fine = self.fine_mains(fit)
        if fine:
            fit = self._solved([*fit.terms, *fine], 3, fit, "fine main effects")
        if self.stopped:
            return fit
        terms = self._pruned(fit)
        if self.options.pairs and len(self.features) > 1:
            pairs = self.pairs(fit)
            if pairs:
                fit = self._solved([*terms, *pairs], 3, fit, "pairs")
                terms = self._pruned(fit)
        if len(terms) < len(fit.terms) or self.problem.loss.quadratic:
            fit = self._solved(terms, 4, fit, "pruned")
        return self._refined(fit)

    # -- terms

    def mains(self) -> list[Term]:
        """Return the main effects of all inputs, at two resolutions."""
        terms: list[Term] = []
        most = self._most()
        for i, feature in enumerate(self.features):
            if feature.category and not feature.crowded:
                if len(feature.levels) > 1 and feature.often:
                    terms.append(Term((i,), (Levels(feature.often),)))
                continue
            if feature.crowded:
                terms += self._typical(i)
                continue
            if self.options.lean:
                wide = place_wide(self.spreads[i])
                terms += [] if wide is None else [Term((i,), (self._filled(i, wide),))]
            else:
                terms += self._heads(i, MAIN_HEADS, most)
            if feature.gaps:
                terms.append(Term((i,), (Missing(),)))
            if feature.codes is not None:
                terms.append(Term((i,), (Codes(feature.codes),)))
            atoms = place_atoms(self.spreads[i])
            if atoms is not None and not self.options.lean:
                terms.append(Term((i,), (self._filled(i, atoms),)))
        return terms

    def _most(self) -> int:
        """How many heads one input may have."""
        rows, rich = self.problem.telling, self.options.rich
        each = MAIN_ROOM[rich] * rows / (2 * len(self.features))
        return max(4, int(min(rows / HEAD_ROWS[rich], each)))

    def _heads(self, i: int, counts: tuple[int, ...], most: int) -> list[Term]:
        found: list[Term] = []
        last = 0
        for count in counts:
            heads = place(self.spreads[i], min(count, most), odd=True)
            if heads is not None and len(heads.centre) > last:
                found.append(Term((i,), (self._filled(i, heads),)))
                last = len(heads.centre)
        return found

    def _typical(self, i: int) -> list[Term]:
        heads = self._wide(i)
        return [] if heads is None else [Term((i,), (heads,))]

    def _wide(self, i: int) -> Heads | None:
        """Return one wide head for a crowded category.

        A row's number is found without the rows of its fold, so among equal levels it falls where
        their targets rise: narrow heads, or indicators beside it, would learn just that.
        """
        levels = self.spreads[i].levels
        if len(levels) < 2:
            return None
        far = max(-levels[0], levels[-1])
        return self._filled(i, Heads(np.zeros(1), np.array([far]), odd=True))

    def fine_mains(self, fit: Fit) -> list[Term]:
        """Return many narrow heads for inputs whose residual asks for them on the other rows."""
        residual = self._residual(fit)
        found = []
        for i, feature in enumerate(self.features):
            if feature.category or len(self.spreads[i].levels) <= 40:
                continue
            counts = [count for count in FINE_BINS if FINE_ROWS * count <= self.problem.telling]
            if not counts:
                break
            tables = [bins(self.coordinates[i], self.spreads[i], count) for count in counts]
            gain, cells = max((residual.gain(code, cells), cells) for code, cells in tables)
            if cells > 40 and gain > LEAST_GAIN:
                heads = place(self.spreads[i], min(FINE_HEADS, 2 * cells))
                if heads is not None:
                    found.append(Term((i,), (self._filled(i, heads),)))
        return found

    def pairs(self, fit: Fit) -> list[Term]:
        """Return coarse grids for the best pairs, finer ones where finer tables win."""
        gains = self._gains(fit)
        best = sorted(gains, key=lambda p: (-max(gains[p].values()), p))[: self.options.pairs]
        chosen: list[Term] = []
        wanted: list[tuple[float, Term]] = []
        room = min(self.options.pair_columns, int(ROOM[self.options.rich] * self.problem.telling))
        for pair in best:
            term = self._grid(pair, PAIR_HEADS)
            if term is None or term.size > room:
                continue
            room -= term.size
            chosen.append(term)
            for gap in self._gaps(pair):
                if gap.size <= room:
                    room -= gap.size
                    chosen.append(gap)
            reached, last = max(0.0, *(gains[pair][b] for b in (3, 5))), term.size
            for count, tables in FINER:
                gain = max(gains[pair].get(b, 0.0) for b in tables)
                if gain > max(1.05 * reached, LEAST_GAIN):
                    fine = self._grid(pair, count)
                    if fine is not None and fine.size > last:
                        wanted.append((gain - reached, fine))
                        reached, last = gain, fine.size
        for _, term in sorted(wanted, key=lambda t: -t[0]):
            if term.size <= room:
                room -= term.size
                chosen.append(term)
        return chosen

    def _gains(self, fit: Fit) -> Gains:
        allowed = self.options.allowed
        if self.screen is None:
            residual = self._residual(fit)
            return pair_gains(self.coordinates, self.spreads, residual, self.options.pairs, allowed)
        pairs = screened_pairs(self.coordinates, self.problem.weight, allowed)
        return self.screen(fit, pairs) if pairs else {}

    def _grid(self, pair: Pair, count: int) -> Term | None:
        bases = [self._axis(i, count) for i in pair]
        if any(basis is None for basis in bases):
            return None
        return Term(pair, tuple(b for b in bases if b is not None))

    def _gaps(self, pair: Pair) -> list[Term]:
        """Return what each input of a pair says where the other one is missing."""
        found = []
        for missing, other in (pair, pair[::-1]):
            basis = self._axis(other, GAP_HEADS) if self.features[missing].gaps else None
            if basis is not None:
                bases = (Missing(), basis) if missing == pair[0] else (basis, Missing())
                found.append(Term(pair, bases))
        return found

    def _axis(self, i: int, count: int) -> Basis | None:
        feature = self.features[i]
        few = len(feature.levels) <= max(FEW_LEVELS, count)
        if feature.category and few and not feature.crowded:
            return Levels(feature.often) if feature.often > 1 else None
        if feature.crowded:
            return self._wide(i)
        heads = place(self.spreads[i], count)
        return None if heads is None else self._filled(i, heads)

    # -- help

    def _coordinate(self, i: int) -> Array:
        feature, rows = self.features[i], self.problem.rows
        if not feature.category:
            return feature.seen(rows.values[:, i])
        if i in rows.target_encoded:
            return rows.target_encoded[i]
        assert feature.values is not None
        return feature.values[rows.values[:, i].astype(int)]

    def _filled(self, i: int, heads: Heads) -> Heads:
        values = self.features[i].values if self.features[i].category else None
        heads = replace(heads, values=values, special=self.features[i].codes)
        return heads.filled(self.coordinates[i], self.problem.weight)

    def _residual(self, fit: Fit) -> Residual:
        problem = self.problem
        parts = [problem.loss.working(problem.y, fit.f, k) for k in range(problem.outputs)]
        r, h = (np.stack(each, 1) for each in zip(*parts, strict=True))
        weight = h * problem.weight[:, None]
        return Residual(r, weight, problem.fold, weight.sum(0) / problem.count)

    def _solved(self, terms: list[Term], updates: int, before: Fit | None, stage: str) -> Fit:
        if self._begin(stage) and before is not None:
            return before
        start = start_penalty(terms)
        penalty = np.repeat(start[:, None], self.problem.outputs, 1)
        if before is not None:
            known = {id(t): p for t, p in zip(before.terms, before.penalty, strict=True)}
            for k, term in enumerate(terms):
                penalty[k] = known.get(id(term), penalty[k])
        fit = solve(self.problem, terms, updates, before, penalty)
        history = [] if before is None else before.history
        line = (stage, len(terms), len(fit.theta), float(fit.edf.sum()))
        return replace(fit, history=[*history, line])

    def _begin(self, stage: str) -> bool:
        """Report a stage, and say whether to stop instead."""
        if self.options.report is not None:
            self.stopped = self.stopped or bool(self.options.report(stage))
        return self.stopped

    def _pruned(self, fit: Fit) -> list[Term]:
        return [t for t, edf in zip(fit.terms, fit.edf, strict=True) if edf > LEAST_EDF]

    def _refined(self, fit: Fit) -> Fit:
        """Move the heads for as long as the criterion falls."""
        best = fit.criterion(self.problem)
        for _ in range(0 if self.stopped else self.options.refinements):
            terms, edf = refine(self.problem, fit)
            if not edf:
                break
            if self._begin("heads moved"):
                break
            new = solve(self.problem, terms, 1, fit, fit.penalty.copy())
            new.edf_heads = edf
            value = new.criterion(self.problem)
            if value >= best:
                break
            line = ("heads moved", len(terms), len(new.theta), float(new.edf.sum()))
            fit = replace(new, history=[*fit.history, line])
            if value > best * (1 - 2e-3):
                break
            best = value
        return fit
