"""The record that `certify` returns: as JSON, as lines of text, as a table and a figure."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import records
from .._core.fields import made
from ..proofs import Pair
from ._layer_bounds import Layer
from ._monotone import Monotone
from ._theorem import Theorem
from ._units import UnitCertificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a `Certificate` from the content of its file."""
    read = {key: _tuples(value) for key, value in content.items()}
    units = [{**unit, "theorem": made(Theorem, unit["theorem"])} for unit in read.pop("units")]
    return {
        **{key: value for key, value in read.items() if key != "gap"},
        "monotone": tuple(made(Monotone, entry) for entry in read["monotone"]),
        "layers": tuple(made(Layer, entry) for entry in read["layers"]),
        "units": tuple(_filled(UnitCertificate, unit) for unit in units),
    }


def _filled(kind: Any, entry: dict[str, Any]) -> Any:
    return made(kind, {field.name: entry[field.name] for field in fields(kind)})


def _tuples(value: Any) -> Any:
    """Lists, which JSON has, as the tuples that they were."""
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def as_dict(record: Any) -> dict[str, Any]:
    """Return a record as plain lists, dictionaries and numbers, with gaps beside the bounds."""
    found = asdict(record)
    found["units"] = [unit.to_dict() for unit in record.units]
    return {**found, "gap": record.gap}


_MOST = 12  # lines of one kind


def input_names(certificate: Certificate) -> tuple[str, ...]:
    """Return the names of the inputs, x0, x1, ... if they have none."""
    return certificate.names or tuple(f"x{n}" for n in range(len(certificate.box)))


def summary(certificate: Certificate) -> str:
    """Return the proved bounds as text."""
    names, c = input_names(certificate), certificate
    lines = []
    if c.box:
        boxes = [f"{name} in {_span(ends)}" for name, ends in zip(names, c.box, strict=True)]
        if len(set(c.box)) == 1 and len(c.box) > 2:
            boxes = [f"all {len(c.box)} inputs in {_span(c.box[0])}"]
        lines.append(f"for every point with {_listed(boxes)}:")
        theorem = "" if c.lipschitz_theorem == np.inf else f"; by theorem {c.lipschitz_theorem:.4g}"
        lines.append(
            f"Lipschitz constant: at most {c.lipschitz:.6g} (met: {c.sampled:.6g}{theorem})"
        )
    if c.denominator_min < np.inf:
        where = "" if c.box else " everywhere"
        lines.append(f"denominators: at least {c.denominator_min:.6g}{where}")
    lines += _cut([f"output {k}: in {_span(ends)}" for k, ends in enumerate(c.range)])
    several = len(c.range) > 1
    lines += _cut([_sentence(verdict, names, several) for verdict in c.monotone])
    return "\n".join(lines)


def _sentence(verdict: Monotone, names: tuple[str, ...], several: bool) -> str:
    what = f"output {verdict.output} in " if several else ""
    head = f"{what}{names[verdict.input]}: slope in {_span(verdict.slopes)}, "
    if verdict.increasing == "proved":
        return head + "never falls"
    if verdict.decreasing == "proved":
        return head + "never rises"
    found = [
        f"{word} at ({', '.join(f'{v:.4g}' for v in at)})"
        for word, at in (("falls", verdict.falls_at), ("rises", verdict.rises_at))
        if at is not None
    ]
    if len(found) == 1:
        other = "rises" if verdict.rises_at is None else "falls"
        return f"{head}{found[0]}; whether it {other} anywhere is undecided"
    return head + (" and ".join(found) if found else "sign undecided")


def _span(ends: Pair) -> str:
    return f"[{ends[0]:.5g}, {ends[1]:.5g}]"


def _listed(parts: list[str]) -> str:
    more = f" and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    return ", ".join(parts[:_MOST]) + more


def _cut(lines: list[str]) -> list[str]:
    return [*lines[:_MOST], f"... and {len(lines) - _MOST} more"] if len(lines) > _MOST else lines


def table(certificate: Certificate) -> pd.DataFrame:
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
        for unit in certificate.units
    ]
    return pd.DataFrame(rows)


def plot(certificate: Certificate) -> Figure:
    """Draw bounds of the units, and of the slopes if there are few."""
    from .._core.figures import Picture

    slopes = [verdict for verdict in certificate.monotone if np.isfinite(verdict.slopes).all()]
    panels = bool(certificate.units) + bool(slopes)
    figure = Picture(figsize=(5.5 * max(panels, 1), 4), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, max(panels, 1))))
    if certificate.units:
        _units(axes.pop(0), certificate)
    if slopes:
        _slopes(axes.pop(0), slopes[:40], input_names(certificate), len(certificate.range) > 1)
    return figure


def _units(axes: Axes, certificate: Certificate) -> None:
    units = certificate.units
    series = {
        "theorem": ("^", [unit.theorem.lipschitz for unit in units]),
        "certified": ("o", [unit.lipschitz for unit in units]),
        "attained": ("x", [unit.attained for unit in units]),
    }
    for label, (marker, values) in series.items():
        shown = np.array(values, dtype=np.float64)
        keep = np.isfinite(shown) & (shown > 0)
        axes.plot(np.flatnonzero(keep), shown[keep], marker, label=label, markersize=5)
    axes.set_yscale("log")
    if len(units) <= _MOST:
        axes.set_xticks(range(len(units)), [unit.name for unit in units], rotation=45, ha="right")
    axes.set_xlabel("unit")
    axes.set_ylabel("Lipschitz constant on the box of its inputs")
    axes.set_title(f"whole: certified {certificate.lipschitz:.4g}, met {certificate.sampled:.4g}")
    axes.legend()


def _slopes(axes: Axes, found: list[Monotone], names: tuple[str, ...], several: bool) -> None:
    low, high = np.array([verdict.slopes for verdict in found]).T
    rows = np.arange(len(found))
    signs = np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
    for sign, label, colour in (
        (1, "never falls", "C2"), (-1, "never rises", "C0"), (0, "both, or undecided", "C7"),
    ):  # fmt: skip
        at = signs == sign
        if at.any():
            axes.hlines(rows[at], low[at], high[at], colour, lw=5, label=label)
    axes.plot(np.concatenate([low, high]), np.tile(rows, 2), "|", color="black", markersize=8)
    axes.axvline(0, color="black", lw=0.8)
    labels = [
        f"{names[verdict.input]}, output {verdict.output}" if several else names[verdict.input]
        for verdict in found
    ]
    axes.set_yticks(rows, labels)
    axes.invert_yaxis()
    axes.set_xlabel("slope on the box: proved bounds")
    axes.set_title("slopes")
    axes.legend(fontsize=8)


MARGIN = (
    "float64; interval operations are rounded outward, sums of products carry a bound of their "
    "rounding, elementary functions a relative margin of 2e-14, spectral norms one of 1e-10"
)


@dataclass(frozen=True, repr=False)
class Certificate:
    """Proved bounds on a model in a box, as a function of real numbers.

    The true Lipschitz constant (in Euclidean norms) lies between `sampled` and `lipschitz`.
    Rounding in the model's own forward pass comes on top of `range`.

    Args:
        box: (low, high) of each input; empty if only denominators were asked for.
        lipschitz: the smallest bound of the Lipschitz constant that was proved.
        sampled: the largest norm of the Jacobian among the samples.
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
        """Relative distance between `lipschitz` and the largest sampled value."""
        if not math.isfinite(self.lipschitz):
            return 1.0
        return 1 - self.sampled / self.lipschitz if self.lipschitz > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries and numbers."""
        return as_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """Return everything as JSON; an infinite number becomes the text `inf` or `-inf`."""
        return records.to_text("certificate", self.to_dict(), indent)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate that `to_json` wrote."""
        certificate: Certificate = records.from_text(text, "certificate")
        return certificate

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file, which appears whole or not at all."""
        records.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate from a file written by `save`."""
        certificate: Certificate = records.load_kind(path, "certificate")
        return certificate

    def summary(self) -> str:
        """Return the proved bounds as text."""
        return summary(self)

    def table(self) -> pd.DataFrame:
        """Return a table of pandas with one row for each unit."""
        return table(self)

    def plot(self) -> Figure:
        """Draw the bounds of each unit, what was met, the theorem's bound, and those of slopes."""
        return plot(self)

    def __repr__(self) -> str:
        return (
            f"Certificate(lipschitz={self.lipschitz:.6g}, sampled={self.sampled:.6g}, "
            f"denominator_min={self.denominator_min:.6g}, {len(self.range)} outputs, "
            f"{len(self.box)} inputs, {len(self.units)} units)"
        )


def _read(found: records.Found) -> Certificate:
    certificate = made(Certificate, _arguments(found.content))
    certificate.summary()  # inputs and outputs that are named must be there
    return certificate


records.register(
    "certificate",
    Certificate,
    write=lambda certificate: f"{certificate.to_json(indent=1)}\n".encode(),
    read=_read,
)
