"""A certificate for people: lines of text, a table and a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._interval import Pair
from ._monotone import Monotone

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._certificate import Certificate

_MOST = 12  # lines of one kind


def input_names(certificate: Certificate) -> tuple[str, ...]:
    """Return the names of the inputs, x0, x1, ... if they have none."""
    return certificate.names or tuple(f"x{n}" for n in range(len(certificate.box)))


def summary(certificate: Certificate) -> str:
    """Return what is proved, in plain lines."""
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
    from matplotlib.figure import Figure

    slopes = [verdict for verdict in certificate.monotone if np.isfinite(verdict.slopes).all()]
    panels = bool(certificate.units) + bool(slopes)
    figure = Figure(figsize=(5.5 * max(panels, 1), 4), layout="constrained")
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
