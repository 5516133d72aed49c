"""The record that `certify` returns."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..serialization import write_whole
from . import _json, _summary
from ._interval import Pair
from ._monotone import Monotone
from ._state import Layer
from ._units import UnitCertificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MARGIN = (
    "float64; interval operations are rounded outward, sums of products carry a bound of their "
    "rounding, elementary functions a relative margin of 2e-14, spectral norms one of 1e-10"
)


@dataclass(frozen=True, repr=False)
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
        pieces: that the box was cut into.
        names: of the inputs; none for modules.
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
    pieces: int = 1
    names: tuple[str, ...] = ()
    margin: str = MARGIN

    @property
    def gap(self) -> float:
        """How much of `lipschitz` was not met by any sample, relative to it."""
        if not math.isfinite(self.lipschitz):
            return 1.0
        return 1 - self.sampled / self.lipschitz if self.lipschitz > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries and numbers."""
        return _json.as_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """Return everything as JSON; an infinite number becomes the text `inf` or `-inf`."""
        return _json.to_json(self, indent)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate that `to_json` wrote."""
        return _json.from_json(cls, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file, which appears whole or not at all."""
        write_whole(path, (self.to_json(indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate from a file written by `save`."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def summary(self) -> str:
        """Return what is proved, in plain lines."""
        return _summary.summary(self)

    def table(self) -> pd.DataFrame:
        """Return a table of pandas with one row for each unit."""
        return _summary.table(self)

    def plot(self) -> Figure:
        """Draw the bounds of each unit, what was met, the theorem's bound, and those of slopes."""
        return _summary.plot(self)

    def __repr__(self) -> str:
        return (
            f"Certificate(lipschitz={self.lipschitz:.6g}, sampled={self.sampled:.6g}, "
            f"denominator_min={self.denominator_min:.6g}, {len(self.range)} outputs, "
            f"{len(self.box)} inputs, {len(self.units)} units)"
        )
