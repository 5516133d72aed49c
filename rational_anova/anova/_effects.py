"""An effect: a curve or a surface with its share, and a band where there is one; all by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._core import checks as check
from .._core.types import Array
from ._inputs import Input

if TYPE_CHECKING:
    import pandas as pd

BAND = 1.96  # standard deviations of the posterior on either side: 95 %


class Function(Protocol):
    """What a model must offer for each of its effects."""

    def at(self, values: Array) -> Array:
        """Return the effect at rows (rows, all inputs of the model), as (rows, outputs)."""
        ...

    def spread(self, values: Array) -> Array | None:
        """Return its standard deviation at these rows, (rows, outputs); None if not known."""
        ...


@dataclass(frozen=True)
class Effect:
    """What one input, or two, add to f; its mean over the data is zero.

    Args:
        name: of the input, or of both as in `age x income`.
        axes: positions of the inputs.
        seen: the inputs.
        share: of the variance of f; for several outputs, of all of them together.
        shares: of the variance of each output.
        stds: standard deviation over the data of each output.
        heights: what 99 % of the rows have less of, in absolute value, of each output; for colours.
        classes: what outputs are called; none if there is but one.
        function: computes the effect.
        columns: how many inputs the model has.
        table: of a pair, the share of the rows in each of its `cells`; None if not known.
        covariances: Cov(effect, f)/Var(f) of each output; None where it is the share.
    """

    name: str
    axes: tuple[int, ...]
    seen: tuple[Input, ...]
    share: float
    shares: Array
    stds: Array
    heights: Array
    classes: tuple[Any, ...]
    function: Function
    columns: int
    table: Array | None = None
    covariances: Array | None = None

    def __repr__(self) -> str:
        return f"Effect({self.name!r}, share={self.share:.4f}, std={self.std:.4g})"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(one.name for one in self.seen)

    @property
    def kind(self) -> str:
        """`main` or `pair`."""
        return "main" if len(self.axes) == 1 else "pair"

    @property
    def outputs(self) -> int:
        """How many outputs the model has."""
        return len(self.shares)

    @property
    def std(self) -> float:
        """Standard deviation over the data; for several outputs the root mean square."""
        return float(np.sqrt(np.mean(self.stds**2)))

    def at(self, values: Array) -> Array:
        """Return the effect at rows (rows, all inputs of the model), as (rows, outputs)."""
        return self.function.at(values)

    def spread(self, values: Array) -> Array | None:
        """Return the posterior's standard deviation at rows, (rows, outputs); None without one."""
        return self.function.spread(values)

    def curve(self, points: int = 200) -> pd.DataFrame:
        """Return a main effect as a table.

        Args:
            points: for a number with many values; half of them are evenly spaced, half quantiles.

        Returns:
            Columns `value` (of a category `level`), `effect`, and the 95 % band of the posterior,
            `lower` and `upper`, if the model has one; `shared`, half of the band of what the data
            cannot tell from other effects, which is not in `lower` and `upper`; with several
            outputs a column `class` in front. Special values come after the others; if the number
            has gaps the last row, of value NaN, is what a gap adds.
        """
        if self.kind == "pair":
            raise ValueError(f"{self.name!r} is a surface, not a curve; use grid()")
        x = self.seen[0].points(check.integer(points, "points", 2))
        x = np.append(x, self.seen[0].special)
        if not self.seen[0].category and self.seen[0].gaps:
            x = np.append(x, np.nan)
        name = "level" if self.seen[0].category else "value"
        return self._table({name: self.seen[0].readable(x)}, x[:, None])

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
        x, y = (one.points(points, levels, even=True) for one in self.seen)
        both = np.stack([np.repeat(x, len(y)), np.tile(y, len(x))], 1)
        shown: dict[str, Any] = {}
        for k, one in enumerate(self.seen):
            reserved = {"effect", "lower", "upper", "class", *shown}
            name = f"{one.name} (input)" if one.name in reserved else one.name
            shown[name] = one.readable(both[:, k])
        return self._table(shown, both)

    def _table(self, shown: dict[str, Any], x: Array) -> pd.DataFrame:
        import pandas as pd

        values = np.zeros((len(x), self.columns))
        values[:, self.axes] = x
        effect, spread = self.at(values), self.spread(values)
        known = getattr(self.function, "shared_spread", None)
        shared = known(values) if known is not None and self.kind == "main" else None
        tables = []
        for k in range(self.outputs):
            front = {"class": [self.classes[k]] * len(x)} if self.classes else {}
            band = {}
            if spread is not None:
                away = BAND * spread[:, k]
                band = {"lower": effect[:, k] - away, "upper": effect[:, k] + away}
                if shared is not None:
                    band["shared"] = BAND * shared[:, k]
            tables.append(pd.DataFrame({**front, **shown, "effect": effect[:, k], **band}))
        return pd.concat(tables, ignore_index=True)


class Effects(Mapping[str, Effect]):
    """Effects by name, the largest share first; those of unknown share last."""

    def __init__(self, effects: list[Effect]) -> None:
        order = sorted(effects, key=lambda e: -np.nan_to_num(e.share, nan=-np.inf))
        self._effects = {effect.name: effect for effect in order}

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
