"""All effects of a model by name, the largest share first."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._effects import Effect
from ._measured import Measured
from ._model import Additive

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
