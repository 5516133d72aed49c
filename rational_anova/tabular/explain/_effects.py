"""The effects of a fitted model: sums of its parts, with bands from the posterior's draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.types import Array
from ...anova import Effect, Effects, Input, named
from ..model import Additive, Heads, Part, Rows
from ._statistics import Measured, as_input

TAKEN = ("intercept", "prediction")  # columns of local explanations that are no effects


@dataclass(frozen=True)
class Parts:
    """A sum of parts of a model, as a function of encoded rows.

    Args:
        parts: whose sum it is.
        outputs: how many there are.
        shared: parts whose draws are what the effect shares with others.
    """

    parts: tuple[Part, ...]
    outputs: int
    shared: tuple[Part, ...] = ()

    def at(self, values: Array) -> Array:
        """Return the sum at rows, (rows, outputs)."""
        result = np.zeros((len(values), self.outputs))
        for piece, some in Rows(values).chunks():
            for part in self.parts:
                result[piece] += part.at(some)
        return result

    def spread(self, values: Array) -> Array:
        """Return the posterior's standard deviation at rows, (rows, outputs)."""
        return self._std(values, self.parts)

    def shared_spread(self, values: Array) -> Array:
        """Return the standard deviation of what goes from this effect to others and back."""
        return self._std(values, self.shared)

    def _std(self, values: Array, parts: tuple[Part, ...]) -> Array:
        result = np.zeros((len(values), self.outputs))
        for piece, some in Rows(values).chunks(512):
            if parts:
                result[piece] = sum(part.drawn(some) for part in parts).std(2)  # type: ignore[union-attr]
        return result


def inputs_of(model: Additive, measured: Measured, names: Any = None) -> list[Input]:
    """Return the inputs of a model, perhaps under other names."""
    pairs = zip(model.features, measured.inputs, strict=True)
    return named([as_input(feature, seen) for feature, seen in pairs], names)


def effects_of(
    model: Additive, measured: Measured, classes: tuple[Any, ...], inputs: Sequence[Input]
) -> Effects:
    """Return all effects of a model, the largest share first."""
    overall = measured.shares()
    found: list[Effect] = []
    taken = set(TAKEN)
    for axes in model.axes:
        seen = tuple(inputs[i] for i in axes)
        name = " x ".join(one.name for one in seen)
        while name in taken:
            name += " (effect)"
        taken.add(name)
        # An edited model may have effects that were not there when it was measured.
        known = axes in measured.axes
        at = measured.axes.index(axes) if known else 0
        none = np.full(model.outputs, np.nan)
        parts, shared = tuple(model.effect(axes)), tuple(model.shared_effect(axes))
        found.append(
            Effect(
                name, axes, seen, float(overall[at]) if known else float("nan"),
                measured.share[at] if known else none, measured.std[at] if known else none,
                measured.height[at] if known else none, classes,
                Parts(parts, model.outputs, shared), len(model.features),
                measured.tables.get(axes),
                none if measured.covariance is None or not known else measured.covariance[at],
            )
        )  # fmt: skip
    return Effects(found)


def poles_of(model: Additive) -> dict[int, dict[int, Array]]:
    """Return the poles of the heads, centre +- i width, by number and partner; -1 for the main.

    Heads of categories are functions of the numbers that stand for levels: they are left out.
    """
    found: dict[int, dict[int, Any]] = {
        i: {} for i, feature in enumerate(model.features) if not feature.category
    }
    for part in model.parts:
        axes, bases = part.term.axes, part.term.bases
        for side, (i, basis) in enumerate(zip(axes, bases, strict=True)):
            if i in found and isinstance(basis, Heads):
                other = axes[1 - side] if len(axes) == 2 else -1
                poles = basis.centre + 1j * np.outer([1, -1], basis.width)
                found[i].setdefault(other, []).append(poles.ravel())
    return {
        i: {other: np.unique(np.concatenate(poles)) for other, poles in partners.items()}
        for i, partners in found.items()
    }
