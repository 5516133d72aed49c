"""The record that `certify` returns."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._state import Layer
from ._units import Pair, UnitCertificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MARGIN = (
    "float64; interval operations are rounded outward, sums of products carry a bound of their "
    "rounding, elementary functions a relative margin of 2e-14, spectral norms one of 1e-10"
)


@dataclass(frozen=True)
class Monotone:
    """Whether an output rises or falls with an input, everywhere on the box.

    Args:
        input: its number.
        output: its number.
        slopes: proved bounds of the partial derivative.
        increasing: `proved`, `refuted` or `undecided`.
        decreasing: the same.
        falls_at: a point of the box where the slope is negative, if one was found.
        rises_at: one where it is positive.
    """

    input: int
    output: int
    slopes: Pair
    increasing: str
    decreasing: str
    falls_at: tuple[float, ...] | None = None
    rises_at: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Certificate:
    """What is proved about a model on a box, as a function of real numbers.

    The true Lipschitz constant (in Euclidean norms) lies between `sampled` and `lipschitz`.
    Rounding in the model's own forward pass comes on top of `range`.

    Args:
        box: (low, high) of each input; empty if only denominators were asked for.
        lipschitz: the smallest bound of the Lipschitz constant that was proved.
        sampled: the largest norm of the Jacobian that was met.
        lipschitz_product: the product of the layers' sharp constants.
        lipschitz_theorem: the same product with the constants of the paper's theorem.
        denominator_min: a lower bound of all denominators.
        range: bounds (low, high) of each output.
        monotone: a verdict for each output and each input that it can depend on.
        units: what is proved about each unit on the box of its own inputs.
        layers: the factors of both products.
        margin: how rounding is accounted for.
    """

    box: tuple[Pair, ...]
    lipschitz: float
    sampled: float
    lipschitz_product: float
    lipschitz_theorem: float
    denominator_min: float
    range: tuple[Pair, ...]
    monotone: tuple[Monotone, ...] = ()
    units: tuple[UnitCertificate, ...] = ()
    layers: tuple[Layer, ...] = ()
    margin: str = MARGIN

    @property
    def gap(self) -> float:
        """How much of `lipschitz` was not met by any sample, relative to it."""
        if not math.isfinite(self.lipschitz):
            return 1.0
        return 1 - self.sampled / self.lipschitz if self.lipschitz > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries and numbers."""
        plain = asdict(self)
        plain["units"] = [unit.to_dict() for unit in self.units]
        return {**plain, "gap": self.gap}

    def to_json(self, indent: int | None = None) -> str:
        """Return everything as JSON; an infinite number becomes the string `inf` or `-inf`."""
        return json.dumps(_finite(self.to_dict()), indent=indent, allow_nan=False)

    def table(self) -> pd.DataFrame:
        """Return a table of pandas with one row for each unit."""
        import pandas as pd

        rows = [
            {
                "unit": unit.name,
                "lipschitz": unit.lipschitz,
                "attained": unit.attained,
                "gap": unit.gap,
                "theorem": unit.theorem.lipschitz,
                "denominator_min": unit.denominator_min,
                "low": unit.range[0],
                "high": unit.range[1],
                "cells": unit.cells,
            }
            for unit in self.units
        ]
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """Draw for each unit the bound, the value that was met, and the theorem's bound."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot()
        at = np.arange(len(self.units))
        series = {
            "theorem": ("^", [unit.theorem.lipschitz for unit in self.units]),
            "certified": ("o", [unit.lipschitz for unit in self.units]),
            "attained": ("x", [unit.attained for unit in self.units]),
        }
        for label, (marker, values) in series.items():
            shown = np.array(values, dtype=np.float64)
            keep = np.isfinite(shown) & (shown > 0)
            axes.plot(at[keep], shown[keep], marker, label=label, markersize=4)
        axes.set_yscale("log")
        axes.set_xlabel("unit")
        axes.set_ylabel("Lipschitz constant on the box of its inputs")
        axes.set_title(f"network: certified {self.lipschitz:.4g}, sampled {self.sampled:.4g}")
        axes.legend()
        return figure


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
