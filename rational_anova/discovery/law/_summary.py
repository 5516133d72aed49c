"""A law in several plain lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._expressions import short
from ._trust import brief, counted

if TYPE_CHECKING:
    from ._law import Law

_TAKEN = " was taken as "  # in the route, of a number that was made exact


def summary(law: Law) -> str:
    """Return several lines: the law, its error, its numbers, how far it holds."""
    found, units = law.evidence, law.units
    unit = f" [{units[law.target]}]" if law.target in units else ""
    lines = [f"{law.target}{unit} = {short(law.rounded())}", ""]
    lines += [
        f"  {name} = {law.names.columns[n]!r}"
        for n, name in enumerate(map(str, law.names.symbols))
        if name != law.names.columns[n]
    ]
    errors = f"rmse {brief(found.error * found.spread)}, relative {brief(found.error)}"
    for label, value in (("held out", found.held_out), ("extrapolated", found.extrapolation)):
        errors += "" if value is None else f", {label} {brief(value)}"
    lines += [f"error       {errors}", f"complexity  {counted(law.complexity)}"]
    bounds = law.intervals()
    for p in law.parameters:
        low, high = bounds[p.name]
        error = f"+- {brief(p.stderr)}" if math.isfinite(p.stderr) else "+- unknown"
        shown = f"= {short(p.exact)}, exact" if p.exact is not None else f"[{low:.6g}, {high:.6g}]"
        lines.append(f"{p.name:<11} {p.value:.6g} {error} {shown}")
    # numbers in the formula itself have no line above, yet they were measured as well
    lines += [f"exact       {step}" for step in found.route if _TAKEN in step]
    for column, (low, high) in zip(law.names.columns, law.box, strict=True):
        unit = f" {units[column]}" if column in units else ""
        lines.append(f"range       {column}: {low:.6g} to {high:.6g}{unit}")
    if law.domain.certified:
        lines.append(f"domain      proven, for a box up to {law.domain.widest:.3g} times as wide")
    else:
        lines += [f"domain      {reason}" for reason in law.domain.reasons]
    return "\n".join([*lines, "", law.trust])
