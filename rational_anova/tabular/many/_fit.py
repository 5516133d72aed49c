"""A model of a table in pieces: the passes over its rows, and what is done between them.

1. Columns, levels, ends, and a part of the rows by chance (`_scan`).
2. Sums over the levels of categories, where there are any.
3. A smaller part chooses the terms, as for a table in memory; for this, pairs are screened by sums
   over all rows.
4. Gram matrices of the chosen terms: once for squared errors, once for each step of Newton else.

What explanations need (projections of pairs, shares, distributions) is measured on the part of
100,000 rows: a share of the rows is then known to within 0.5 % (see `_scan`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..._core.types import Array
from .._fitting import PART, additive, choose_link, judge_of
from ..explain import Measured, measure
from ..fit import (
    Fit,
    Gains,
    Link,
    Options,
    Pair,
    Problem,
    Recipe,
    standard,
)
from ..fit import check as check_link
from ..model import Additive, Feature, LevelSums, identify, purify
from ._data import Encoder, chosen_rows, encoder_of, loss_of, typed
from ._engines import Engine
from ._panel import Panel, rough
from ._scan import KEY, ROW, Given, Scan
from ._solve import Statistics, solve_all
from ._sums import Encoded, Sums, Work, check_room, finished, unit_of
from ._works import SINGLE, OfCells, OfColumns, OfLevels, Scanning, Summing, edges_of


@dataclass(frozen=True)
class Wanted:
    """What an estimator asks for.

    Args:
        options: of the recipe, for given inputs.
        link: of a regressor, or `auto`; None for classes.
        special: numbers that are codes, as the estimators take them.
        seed: of the part and the folds.
    """

    options: Callable[[list[Feature]], Options]
    link: str | None
    special: Any
    seed: int


@dataclass(frozen=True)
class Found:
    """A fitted model.

    Args:
        model: with effects that are purified.
        measured: what explanations need.
        encoder: that turns chunks into rows of the model.
        link: with its way back.
        terms: the fit of the numerators.
        statistics: the sums that the numerators came from.
        part: rows on which explanations were measured.
    """

    model: Additive
    measured: Measured
    encoder: Encoder
    link: Link
    terms: Fit
    statistics: Statistics
    part: Encoded


def scanned(engine: Engine, given: Given, seed: int) -> Scan:
    """Make the first pass."""
    found: Scan = engine.run(Scanning(given, seed))
    return found


def whole(scan: Scan) -> pd.DataFrame:
    """Return all rows of a table that is no larger than the part, in their order."""
    part = scan.part.frame()
    part = part.iloc[np.argsort(part[ROW].to_numpy(), kind="stable")]
    return typed(scan, part.drop(columns=[KEY, ROW]).reset_index(drop=True))


def fit_pieces(engine: Engine, scan: Scan, wanted: Wanted, share: float) -> Found:
    """Return the model of a table, after the first pass over it.

    Args:
        engine: that runs the passes.
        scan: the first pass.
        wanted: what the estimator asks for.
        share: of its weight that a row has in the fit.
    """
    return _Fitting(engine, scan, wanted, share).run()


class _Fitting:
    def __init__(self, engine: Engine, scan: Scan, wanted: Wanted, share: float) -> None:
        self.engine, self.scan, self.wanted, self.seed = engine, scan, wanted, wanted.seed
        self.unit = unit_of(scan.weight * share)
        self.encoder = encoder_of(scan, wanted.special, wanted.seed, share)
        self.loss = loss_of(self.encoder.classes)

    def run(self) -> Found:
        frame, stands = chosen_rows(self.scan, PART)
        if self.wanted.link is not None:
            self._choose_link(frame)
        options = self.wanted.options(self.encoder.features)
        if options.report is not None:
            options.report("levels")
        self._number_levels()
        rows = self._encoded(frame)
        problem = self._problem(rows, stands)
        chosen = self._chosen(problem, options)
        if options.report is not None:
            options.report("all rows")
        fit, statistics = self._solved(chosen)
        line = ("all rows", len(fit.terms), len(fit.theta), float(fit.edf.sum()))
        fit = replace(fit, edf_heads=chosen.edf_heads, history=[*chosen.history, line])
        return explained(fit, statistics, self.encoder, self._part(), self.scan.ends, self.seed)

    # -- the stages

    def _choose_link(self, frame: pd.DataFrame) -> None:
        """Choose the link by the part, and put targets on its scale."""
        y, weight = self._targets(frame)
        name = self.wanted.link
        ends = self.scan.ends
        if name == "auto":
            self._number_levels(frame)
            rows = self._encoded(frame)
            problem = self._problem(replace(rows, y=standard(y, weight)[0]), np.ones(len(y)))
            name = choose_link(problem, self.encoder.features, y, self.seed)
            if name != "identity" and (ends[0] < 0 or (name == "log" and ends[0] == 0)):
                name = "identity"  # of other rows than those of the part
            self.encoder = replace(self.encoder, levels={})
        else:
            check_link(str(name), ends)
        link = Link(str(name))
        _, scale, mean = standard(link.forward(y), weight)
        self.encoder = replace(self.encoder, link=link, scale=scale, shift=mean)

    def _targets(self, frame: pd.DataFrame) -> tuple[Array, Array]:
        encoder = self.encoder
        y = encoder.given.clean(frame[encoder.given.target])
        weight = encoder.given.weight
        if weight is None:
            return y, np.ones(len(y))
        return y, frame[weight].to_numpy(float) * encoder.share

    def _number_levels(self, frame: pd.DataFrame | None = None) -> None:
        """Find the numbers that stand for levels, by all rows or by those of a frame."""
        features = self.encoder.features
        inputs = [i for i, feature in enumerate(features) if feature.category]
        if not inputs:
            return
        work = OfLevels(self.encoder, inputs, self.unit)
        if frame is None:
            found = work.levels(self._sums(work))
        else:
            found = work.levels(work(self._encoded(frame)))
        numbered = list(features)
        for i, sums in found.items():
            numbered[i] = replace(features[i], values=sums.numbers())
        crowded: dict[int, LevelSums] = {i: s for i, s in found.items() if features[i].crowded}
        self.encoder = replace(self.encoder, features=numbered, levels=crowded)

    def _chosen(self, problem: Problem, options: Options) -> Fit:
        """Return the fit of the part, whose terms are used."""
        recipe: Recipe

        def screen(fit: Fit, pairs: list[Pair]) -> Gains:
            panel, theta = _start(fit)
            work = OfCells(
                self.encoder.features, panel, theta, self.loss,
                [edges_of(spread) for spread in recipe.spreads], pairs, self.unit,
            )  # fmt: skip
            if options.report is not None:
                options.report("pairs, on all rows")
            return work.gains(self._sums(work), fit.noise)

        recipe = Recipe(problem, self.encoder.features, options, screen)
        return recipe.run()

    def _solved(self, chosen: Fit) -> tuple[Fit, Statistics]:
        panel, theta = _start(chosen)
        single = self.scan.rows > SINGLE

        def run(panel: Panel, theta: Array) -> Statistics:
            work = OfColumns(panel, self.loss, theta, single, self.unit)
            return Statistics.of(self._sums(work), panel, theta)

        return solve_all(run, panel, theta, chosen.penalty, self.loss, chosen.terms)

    # -- help

    def _sums(self, work: Work) -> Sums:
        sums = finished(self.engine.run(Summing(self.encoder, work)), work)
        check_room(sums, self.unit)
        return sums

    def _encoded(self, frame: pd.DataFrame) -> Encoded:
        return self.encoder.of(frame, frame[ROW].to_numpy().astype(np.int64))

    def _part(self) -> Encoded:
        part = self.scan.part.frame()
        part = part.iloc[np.argsort(part[ROW].to_numpy(), kind="stable")]
        return self._encoded(typed(self.scan, part.reset_index(drop=True)))

    def _problem(self, rows: Encoded, stands: Array) -> Problem:
        return Problem(rows.rows, rows.y, rows.weight * stands, self.loss, rows.fold % 2)


def _start(fit: Fit) -> tuple[Panel, Array]:
    """Return the columns of a fit, scaled so that all rows can be summed, and its coefficients."""
    design = fit.design
    mean, scale = rough(design.mean, design.scale)
    return Panel(fit.terms, mean, scale), fit.theta * (scale / design.scale)[:, None]


def explained(
    fit: Fit, statistics: Statistics, encoder: Encoder, part: Encoded, ends: Array, seed: int
) -> Found:
    """Return the model that a fit makes, purified and measured on a part of the rows."""
    loss = loss_of(encoder.classes)
    model = additive(fit, encoder.features, encoder.scale, encoder.shift, seed)
    rows = replace(part.rows, target_encoded={})
    pure = purify(model, rows, part.weight, seed)
    problem = Problem(part.rows, part.y, part.weight, loss, part.fold % 2)
    model = identify(pure, rows, part.weight, judge_of(problem, encoder.scale, encoder.shift))
    link = encoder.link
    if encoder.classes is None:
        f = model.decision(part.rows)[:, 0]
        y = _inverse(link, part.y[:, 0] * encoder.scale + encoder.shift)
        link = link.smeared(f, y, part.weight, ends)
    return Found(model, measure(model, rows, part.weight), encoder, link, fit, statistics, part)


def _inverse(link: Link, t: Array) -> Array:
    return {"log": np.exp, "sqrt": np.square}.get(link.name, np.asarray)(t)
