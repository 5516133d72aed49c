"""An effect as an object: a curve or a surface with its band and its share; all of them by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..._core import checks as check
from ..._core.types import Array
from ..model import Additive, Axes, Feature, Part, Rows
from ._statistics import Measured, Observed, cells

BAND = 1.96  # standard deviations of the posterior on either side: 95 %


@dataclass(frozen=True)
class Effect:
    """What one input, or two, add to f; its mean over the training rows is zero.

    Args:
        name: of the input, or of both as in `age x income`.
        inputs: their names.
        share: of the variance of f; for several classes, of all their decisions together.
        std: standard deviation over the training rows; for several classes the root mean square.
        shares: `share` of each output.
        stds: `std` of each output.
        classes: one for each output; none if there is but one.
        axes: positions of the inputs.
        features: the inputs.
        observed: how the inputs are distributed.
        parts: whose sum the effect is.
        columns: how many inputs the model has.
    """

    name: str
    inputs: tuple[str, ...]
    share: float
    std: float
    shares: Array
    stds: Array
    classes: tuple[Any, ...]
    axes: Axes
    features: tuple[Feature, ...]
    observed: tuple[Observed, ...]
    parts: tuple[Part, ...]
    columns: int

    def __repr__(self) -> str:
        return f"Effect({self.name!r}, share={self.share:.4f}, std={self.std:.4g})"

    @property
    def kind(self) -> str:
        """`main` or `pair`."""
        return "main" if len(self.axes) == 1 else "pair"

    @property
    def outputs(self) -> int:
        """How many decisions there are: 1, or the number of classes."""
        return len(self.shares)

    def at(self, rows: Rows) -> Array:
        """Return the effect at encoded rows, (rows, outputs)."""
        result = np.zeros((len(rows), self.outputs))
        for piece, some in rows.chunks():
            for part in self.parts:
                result[piece] += part.at(some)
        return result

    def spread(self, rows: Rows) -> Array:
        """Return the posterior's standard deviation at encoded rows, (rows, outputs)."""
        result = np.zeros((len(rows), self.outputs))
        for piece, some in rows.chunks(512):
            if self.parts:
                result[piece] = sum(part.drawn(some) for part in self.parts).std(2)  # type: ignore[union-attr]
        return result

    def curve(self, points: int = 200) -> pd.DataFrame:
        """Return a main effect as a table.

        Args:
            points: for a number with many values; half of them are evenly spaced, half quantiles.

        Returns:
            Columns `value` (of a category `level`), `effect`, and the 95 % band of the posterior,
            `lower` and `upper`; with several classes a column `class` in front. If the number
            has gaps the last row, of value NaN, is what a gap adds.
        """
        if self.kind == "pair":
            raise ValueError(f"{self.name!r} is a surface, not a curve; use grid()")
        x = self._points(0, check.integer(points, "points", 2), None)
        if not self.features[0].category and self.features[0].gaps:
            x = np.append(x, np.nan)
        name = "level" if self.features[0].category else "value"
        return self._table({name: readable(self.features[0], x)}, x[:, None])

    def grid(self, points: int = 40, levels: int | None = None) -> pd.DataFrame:
        """Return a pair as a long table, for `pivot`; gaps of numbers are left out.

        Args:
            points: along each number, the middles of equal cells of the range that pictures show.
            levels: along each category, the commonest; None for all.

        Returns:
            A column for either input, then `effect`, `lower`, `upper`, as in `curve`.
        """
        if self.kind == "main":
            raise ValueError(f"{self.name!r} is a curve, not a surface; use curve()")
        check.integer(points, "points", 2)
        x, y = (self._points(k, points, levels, even=True) for k in (0, 1))
        both = np.stack([np.repeat(x, len(y)), np.tile(y, len(x))], 1)
        shown: dict[str, Any] = {}
        for k, feature in enumerate(self.features):
            reserved = {"effect", "lower", "upper", "class", *shown}
            name = f"{feature.name} (input)" if feature.name in reserved else feature.name
            shown[name] = readable(feature, both[:, k])
        return self._table(shown, both)

    def _points(self, k: int, points: int, levels: int | None, even: bool = False) -> Array:
        seen = self.observed[k]
        if self.features[k].category:
            return seen.points[:levels]
        if len(seen.weight) or not len(seen.points):
            return seen.points
        if even:
            borders = cells(self.features[k], seen, points)
            return (borders[1:] + borders[:-1]) / 2
        half = np.linspace(0, 1, points - points // 2)
        quantiles = np.interp(half, np.linspace(0, 1, len(seen.points)), seen.points)
        few = points // 6  # over the whole range, which may have long tails
        whole = np.linspace(seen.points[0], seen.points[-1], few + 2)[1:-1]
        spaced = np.linspace(*seen.shown, points // 2 - few)
        return np.unique(np.concatenate([quantiles, spaced, whole]))

    def _table(self, shown: dict[str, Any], x: Array) -> pd.DataFrame:
        values = np.zeros((len(x), self.columns))
        values[:, self.axes] = x
        rows = Rows(values)
        effect, away = self.at(rows), BAND * self.spread(rows)
        tables = []
        for k in range(self.outputs):
            front = {"class": [self.classes[k]] * len(x)} if self.classes else {}
            band = {"lower": effect[:, k] - away[:, k], "upper": effect[:, k] + away[:, k]}
            tables.append(pd.DataFrame({**front, **shown, "effect": effect[:, k], **band}))
        return pd.concat(tables, ignore_index=True)


def readable(feature: Feature, x: Array) -> Any:
    """Return encoded values as a table has them: levels, dates or numbers."""
    if feature.category:
        return [feature.levels[int(code)] for code in x]
    if feature.part == "day":
        return pd.to_datetime(x, unit="D")
    return x


TAKEN = ("intercept", "prediction")  # columns of local explanations that are no effects


class Effects(Mapping[str, Effect]):
    """Effects by name, the largest share first."""

    def __init__(self, effects: list[Effect]) -> None:
        self._effects = {effect.name: effect for effect in effects}

    def __getitem__(self, name: str) -> Effect:
        if name not in self._effects and isinstance(name, str):
            swapped = " x ".join(reversed(name.split(" x ")))
            if swapped in self._effects:
                return self._effects[swapped]
            near = difflib.get_close_matches(name, self._effects, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"there is no effect {name!r} among {list(self._effects)}{hint}")
        return self._effects[name]

    def __contains__(self, name: object) -> bool:
        return name in self._effects

    def __iter__(self) -> Iterator[str]:
        return iter(self._effects)

    def __len__(self) -> int:
        return len(self._effects)

    def __repr__(self) -> str:
        return f"Effects({list(self._effects.values())})"


def effects_of(model: Additive, measured: Measured, classes: tuple[Any, ...]) -> Effects:
    """Return all effects of a model, the largest share first."""
    overall = measured.shares()
    found: list[Effect] = []
    taken = set(TAKEN)
    for axes in model.axes:
        features = tuple(model.features[i] for i in axes)
        name = " x ".join(feature.name for feature in features)
        while name in taken:
            name += " (effect)"
        taken.add(name)
        # An edited model may have effects that were not there when it was measured.
        known = axes in measured.axes
        at = measured.axes.index(axes) if known else 0
        none = np.full(model.outputs, np.nan)
        stds = measured.std[at] if known else none
        found.append(
            Effect(
                name, tuple(feature.name for feature in features),
                float(overall[at]) if known else float("nan"),
                float(np.sqrt(np.mean(stds**2))),
                measured.share[at] if known else none, stds, classes, axes, features,
                tuple(measured.inputs[i] for i in axes), tuple(model.effect(axes)),
                len(model.features),
            )
        )  # fmt: skip
    return Effects(sorted(found, key=lambda e: -np.nan_to_num(e.share, nan=-np.inf)))
