"""More rows for a fitted model, and one model out of several: sums add up, rows are not needed.

Of squared errors that is exact. Of classes the sums are those of the loss to second order about the
decision at which they were taken, and so are the new ones: one step of Newton's method over all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._core.types import Array
from .._fitting import LARGE
from ..fit import Fit, Link, Loss
from ..model import Feature, LevelSums, Term, basis_key
from ._data import Encoder, loss_of
from ._engines import Engine
from ._fit import Found, explained
from ._panel import Panel
from ._scan import Given
from ._solve import UPDATES, Statistics
from ._sums import Encoded, check_room, finished
from ._works import OfColumns, Summing

PART = 20_000  # rows that explanations are measured on, after an update


@dataclass(frozen=True)
class Kept:
    """What a fit in pieces leaves for more rows: sums, and how rows are to be read.

    Args:
        names: of the columns.
        features: the inputs.
        terms: that were summed.
        mean: that was taken off each column.
        scale: that each was divided by.
        theta: coefficients that the sums are expanded about.
        grams: see `Statistics`.
        plain: see `Statistics`.
        value: see `Statistics`.
        count: how many rows there are, by weight.
        penalty: of each term, (terms, outputs).
        history: of the fit.
        link: of a regressor, without its way back.
        spread: scale and mean of the targets; of its weight that a row has in the fit.
        classes: of a classifier.
        seed: of the folds, and whether equal rows go to several.
        levels: sums of each crowded category.
        ends: the least and the greatest target.
        part: rows, targets, weights and folds that explanations are measured on.
        unit: of the grid that sums lie on.
        single: whether products are taken in single precision.
    """

    names: list[Any]
    features: list[Feature]
    terms: list[Term]
    mean: Array
    scale: Array
    theta: Array
    grams: Array
    plain: Array
    value: float
    count: float
    penalty: Array
    history: list[tuple[str, int, int, float]]
    link: Link
    spread: tuple[float, float, float]
    classes: Array | None
    seed: tuple[int, bool]
    ends: Array
    part: list[Array]
    unit: float
    single: bool
    levels: dict[int, LevelSums] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Found, ends: Array, single: bool, unit: float) -> Kept:
        """Return what is kept of a fit."""
        sums, encoder, fit, part = found.statistics, found.encoder, found.terms, found.part[:PART]
        return cls(
            encoder.names, encoder.features, fit.terms, sums.panel.mean, sums.panel.scale,
            sums.theta, sums.grams, sums.plain, sums.value, sums.count, fit.penalty, fit.history,
            Link(found.link.name), (encoder.scale, encoder.shift, encoder.share), encoder.classes,
            (encoder.seed, encoder.spread), ends, [part.values, part.y, part.weight, part.fold],
            unit, single, encoder.levels,
        )  # fmt: skip

    @property
    def loss(self) -> Loss:
        """What the model was fitted for."""
        return loss_of(self.classes)

    @property
    def statistics(self) -> Statistics:
        """The sums."""
        panel = Panel(self.terms, self.mean, self.scale)
        return Statistics(panel, self.theta, self.grams, self.plain, self.value, self.count)

    def encoder(self, given: Given) -> Encoder:
        """Return what reads rows as the fit did."""
        scale, shift, share = self.spread
        return Encoder(
            given, self.names, "the rows of the fit", self.features, share, self.classes, self.link,
            scale, shift, self.seed[0], self.seed[1], self.levels,
        )  # fmt: skip

    def plus(self, engine: Engine, given: Given, forget: bool) -> Kept:
        """Return the sums over these rows and others; over the others alone if asked to forget."""
        statistics = self.statistics
        work = OfColumns(statistics.panel, self.loss, self.theta, self.single, self.unit)
        sums = finished(engine.run(Summing(self.encoder(given), work)), work)
        new = Statistics.of(sums, statistics.panel, self.theta)
        if forget:
            return self.with_sums([new])
        return self.with_sums([statistics, new])

    def with_sums(self, some: Sequence[Statistics]) -> Kept:
        """Return the same with the sum of some sums."""
        grams = sum(one.grams for one in some)
        found = replace(
            self, grams=np.asarray(grams), plain=np.asarray(sum(one.plain for one in some)),
            value=float(sum(one.value for one in some)), count=float(sum(o.count for o in some)),
        )  # fmt: skip
        check_room([found.grams], self.unit)
        return found

    def solved(self) -> Found:
        """Return the model that the sums make."""
        statistics = self.statistics
        scaling, solutions = statistics.solve(self.penalty, UPDATES, self.loss)
        fit = Fit(self.terms, scaling, solutions, np.zeros((0, self.theta.shape[1])), self.loss)  # type: ignore[arg-type]
        line = ("more rows", len(fit.terms), len(fit.theta), float(fit.edf.sum()))
        fit = replace(fit, history=[*self.history, line])
        encoder = self.encoder(Given(None, None, np.asarray, self.classes is not None))
        values, y, weight, fold = self.part
        coded = {i: s.encoded(values[:, i], fold // 2) for i, s in self.levels.items()}
        part = Encoded(0, values, y, weight, fold, coded)
        return explained(fit, statistics, encoder, part, self.ends, self.seed[0])

    def same(self, other: Kept) -> bool:
        """Return whether sums of the same functions were taken."""
        return (
            len(self.terms) == len(other.terms)
            and all(_key(a) == _key(b) for a, b in zip(self.terms, other.terms, strict=True))
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("mean", "scale", "theta")
            )
            and self.spread == other.spread
            and self.link == other.link
        )


def _key(term: Term) -> Any:
    return (term.axes, *map(basis_key, term.bases))


def merged_sums(models: Sequence[Any]) -> Kept:
    """Return the sums of models that were fitted with the same terms."""
    if not models:
        raise ValueError("merge takes one model or more, got none")
    kept = [sums_of(model, "merge") for model in models]
    for n, one in enumerate(kept[1:]):
        if not kept[0].same(one):
            raise ValueError(
                f"models 0 and {n + 1} have not the same terms: only models that are updated from "
                "one and the same fit can be merged (update(X, y, forget=True) at each site)"
            )
    total = kept[0].with_sums([one.statistics for one in kept])
    ends = np.concatenate([one.ends for one in kept])
    return replace(total, ends=np.array([ends.min(), ends.max()]) if len(ends) else ends)


def sums_of(model: Any, what: str) -> Kept:
    """Return the sums that a model keeps."""
    kept = getattr(model, "sums_", None)
    if kept is None:
        raise ValueError(
            f"{what} takes a model with sums_, which fits to more than {LARGE:,} rows keep; this "
            "one has none: fit it again with all rows"
        )
    if model.edits_:
        raise ValueError(
            f"{what} would undo {len(model.edits_)} edits of this model by hand; take the model "
            "before them"
        )
    assert isinstance(kept, Kept)
    return kept
