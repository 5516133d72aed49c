"""From what the first pass found to inputs, and from chunks of a table to encoded rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..._core.types import Array
from ...tables import check_range
from ..fit import Link, Logistic, Loss, Softmax, Squared
from ..model import (
    CODE_FOLDS,
    Feature,
    LevelSums,
    equals,
    features_of,
    folds,
    read,
    special_values,
)
from ._scan import KEY, ROW, Column, Given, Scan, check_names, naming, settled
from ._sums import Encoded


def loss_of(classes: Array | None) -> Loss:
    """Return the loss of a classifier's classes, or of a regressor."""
    if classes is None:
        return Squared()
    return Logistic() if len(classes) == 2 else Softmax(len(classes))


@dataclass(frozen=True)
class Encoder:
    """Turns chunks of the table into rows as the model sees them.

    Args:
        given: which columns are what.
        names: of the columns, in the order of the features.
        where: the part whose columns these are.
        features: of the model.
        share: of its weight that a row has in the fit.
        classes: of a classifier.
        link: of a regressor.
        scale: of the targets on the link's scale.
        shift: their mean.
        seed: of the folds.
        spread: whether equal rows go to several folds.
        levels: sums of each crowded category, once they are known.
    """

    given: Given
    names: list[Any]
    where: str
    features: list[Feature]
    share: float = 1.0
    classes: Array | None = None
    link: Link = field(default_factory=Link)
    scale: float = 1.0
    shift: float = 0.0
    seed: int = 0
    spread: bool = False
    levels: dict[int, LevelSums] = field(default_factory=dict)

    def encoded(self, chunks: Iterable[tuple[str, pd.DataFrame]], start: int) -> Iterator[Encoded]:
        """Yield the rows of named chunks, which begin at a row of the table."""
        for where, frame in chunks:
            if not len(frame):
                continue
            check_names(
                self.names, self.where, [n for n in frame.columns if n not in self._others()], where
            )
            with naming(where):
                yield self.of(frame, np.arange(start, start + len(frame)))
            start += len(frame)

    def _others(self) -> tuple[Any, ...]:
        return (self.given.target, self.given.weight)

    def of(self, frame: pd.DataFrame, row: Array) -> Encoded:
        """Return rows with their targets."""
        weight = np.ones(len(frame))
        if self.given.weight is not None:
            weight = frame[self.given.weight].to_numpy(float)
        columns = {name: settled(frame[name], name) for name in self.names}
        values = read(self.features, pd.DataFrame(columns, frame.index)).values
        fold = folds(values, 2 * CODE_FOLDS, self.seed, row if self.spread else None)
        coded = {i: s.encoded(values[:, i], fold // 2) for i, s in self.levels.items()}
        y = self.targets(self.given.clean(frame[self.given.target]))
        return Encoded(int(row[0]) if len(row) else 0, values, y, weight * self.share, fold, coded)

    def targets(self, y: Array) -> Array:
        """Return targets on the fitted scale, (rows, outputs)."""
        if self.classes is None:
            return (self.link.forward(y)[:, None] - self.shift) / self.scale
        found = pd.Index(self.classes).get_indexer(pd.Index(y))
        if (found < 0).any():
            raise ValueError(
                f"class {y[found < 0][0]!r} was not there in the fit; classes are "
                f"{list(self.classes)}: fit again with all rows"
            )
        targets = np.zeros((len(y), len(self.classes)))
        targets[np.flatnonzero(found >= 0), found[found >= 0]] = 1
        return targets[:, 1:] if len(self.classes) == 2 else targets


def encoder_of(scan: Scan, special: Any, seed: int, share: float) -> Encoder:
    """Return what encodes the table, but for targets and the numbers that stand for levels."""
    if scan.names is None or not scan.used:
        raise ValueError("the table has no rows of positive weight: there is nothing to fit")
    part = typed(scan, scan.part.frame())
    weight = weights_of(scan.given, part) * share
    found = special_values(features_of(part[scan.names]), part[scan.names], weight, special)
    features = [_learned(f, scan.columns[scan.names[f.column]], scan.weight, share) for f in found]
    classes = None
    if scan.given.classes:
        classes = np.unique(np.array(list(scan.counts)))
        if len(classes) < 2:
            raise ValueError(
                f"there must be two classes or more, got 1 class: {classes[0]!r} in all rows (of "
                "positive weight)"
            )
    values = read(features, part[scan.names]).values
    return Encoder(
        scan.given, scan.names, scan.where, features, share, classes, seed=seed,
        spread=equals(values, seed),
    )  # fmt: skip


def typed(scan: Scan, part: pd.DataFrame) -> pd.DataFrame:
    """Return rows of several parts with columns of the kinds that the whole table has."""
    columns = {}
    for name in part.columns:
        kind = scan.columns[name].kind if name in scan.columns else ""
        column = part[name]
        if kind == "date":
            column = pd.to_datetime(column)
        elif kind in ("number", "empty"):
            column = column.astype(float)
        elif kind == "category":
            column = column.astype(object)
        columns[name] = column
    return pd.DataFrame(columns)


def weights_of(given: Given, part: pd.DataFrame) -> Array:
    """Return the weights of rows."""
    return np.ones(len(part)) if given.weight is None else part[given.weight].to_numpy(float)


def _learned(feature: Feature, column: Column, weight: float, share: float) -> Feature:
    """Return a feature with what the whole table says of it."""
    if not feature.category:
        ends = column.ends.get(feature.part, np.zeros(0))
        ends = ends[~np.isin(ends, feature.special)]
        check_range(ends, f"column {feature.name!r}")
        clip = (float(ends[0]), float(ends[-1])) if len(ends) else None
        return replace(feature, gaps=column.gaps, clip=clip)
    counts = {level: float(count) * share for level, count in column.levels.items()}
    order = sorted(counts, key=lambda level: (-round(counts[level], 6), str(level)))
    often = sum(count > 1 for count in counts.values())
    return replace(feature, levels=tuple(order), often=often, rows=weight * share)


def chosen_rows(scan: Scan, most: int) -> tuple[pd.DataFrame, Array]:
    """Return so many rows of the part, and what each of them stands for.

    Of a class that would have few, as many as there are come in, and stand for fewer.
    """
    part = scan.part.frame()
    if not scan.given.classes:
        part = part.iloc[:most]
        return _ordered(scan, part, np.ones(len(part)))
    target = scan.given.target
    rows, each = min(most, len(part)), scan.used / max(min(most, len(part)), 1)
    some, stands = [], []
    for one, count in sorted(scan.counts.items(), key=lambda pair: str(pair[0])):
        inside = part[part[target] == one].iloc[: max(int(np.ceil(rows * count / scan.used)), 1)]
        least = min(count, most // (4 * len(scan.counts)))
        if len(inside) < least:
            inside = scan.reserve[one].frame().iloc[:least]
        some.append(inside)
        stands.append(np.full(len(inside), count / max(len(inside), 1) / each))
    return _ordered(scan, pd.concat(some, ignore_index=True), np.concatenate(stands))


def _ordered(scan: Scan, part: pd.DataFrame, stands: Array) -> tuple[pd.DataFrame, Array]:
    order = np.argsort(part[ROW].to_numpy(), kind="stable")
    return typed(scan, part.iloc[order].drop(columns=KEY).reset_index(drop=True)), stands[order]
