"""What a law's evidence says, in plain words; the rivals that fit as well."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy as sp

from ._expressions import readable, short
from ._records import Entry

if TYPE_CHECKING:
    from ._law import Law


_CHANCE = 4.0  # twice the log likelihood, two standard errors: less cannot be told from luck


def own_entry(law: Law) -> Entry | None:
    """Return the entry of the front that is the law itself, None if the front has passed it by."""
    same = (entry for entry in law.pareto if entry.complexity == law.complexity)
    return next((entry for entry in same if _alike(entry.formula, law.formula)), None)


def rivals(law: Law) -> list[Entry]:
    """Return the entries that are not the law, the simplest first."""
    own = own_entry(law)
    others = [entry for entry in law.pareto if entry is not own]
    return sorted(others, key=lambda entry: (entry.complexity, entry.error))


def as_good(law: Law) -> list[Entry]:
    """Return the rivals no longer than the law that the rows cannot tell from it."""
    own, rows = own_entry(law), law.evidence.rows
    least = law.evidence.error if own is None else own.error
    if not 0 < least < math.inf:
        return []
    return [
        entry
        for entry in rivals(law)
        if entry.complexity <= law.complexity
        and 2 * rows * math.log(max(entry.error, 1e-300) / least) < _CHANCE
    ]


def _alike(a: sp.Expr, b: sp.Expr) -> bool:
    """Return whether two formulas are one with numbers that differ by a few per cent at most."""
    if a.func is b.func and len(a.args) == len(b.args) and a.args:
        return all(_alike(x, y) for x, y in zip(a.args, b.args, strict=True))
    if a.is_Number and b.is_Number and (a.is_Float or b.is_Float):
        return bool(abs(a - b) <= 0.1 * max(abs(a), abs(b)))
    return bool(a == b)


_EXACT = 1e-9  # a relative error below it is that of arithmetic
_FLOOR = 1.15  # times the error of a smooth function: as good as the noise allows
_FEW = 10  # rows to each input, and one more: fewer do not show where the noise begins
_ASTRAY = 5.0  # times its error: a law does not miss the outer part of the data by so much


def brief(value: float | None) -> str:
    """Return a number with two digits, and without zeros in its exponent: 2e-13, 0.012."""
    if value is None:
        return "unknown"
    return f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def percent(value: float) -> str:
    """Return a relative error as a share, or as a power of ten where it is tiny."""
    if 0.995 <= value < 10:
        return f"{100 * value:.0f}%"
    return f"{brief(100 * value)}%" if 1e-6 <= value < 10 else brief(value)


def counted(operations: int) -> str:
    """Return how many operations a formula has."""
    return f"{operations} operation{'s' * (operations != 1)}"


def sentences(law: Law) -> str:
    """Say how exact a law is, how far it holds, and what is not known of it."""
    parts = [_fit(law), _others(law), _elsewhere(law), _numbers(law), _domain(law)]
    if law.evidence.stopped:
        parts.append("The search ran out of time; more time may find a better law.")
    return " ".join(part for part in parts if part)


def _fit(law: Law) -> str:
    found = law.evidence
    if not law.found:
        seen = found.error if found.held_out is None else found.held_out
        return (
            f"No compact law was found; the formula is the best approximation, with "
            f"{counted(law.complexity)} and an error of {percent(seen)} of the spread of "
            f"{law.target}{_rival(found.surrogate)}."
        )
    if found.error < _EXACT:
        return f"The law fits all {found.rows} rows to rounding error ({brief(found.error)})."
    text = f"The law fits {found.rows} rows to {percent(found.error)} of the spread of {law.target}"
    if not math.isfinite(found.surrogate):
        return f"{text}."
    if found.error <= _FLOOR * found.surrogate:
        if found.rows < _FEW * (1 + len(law.names)):
            return f"{text}. So few rows cannot tell noise from a part of the law that is missed."
        return f"{text}, the level of the noise: a smooth function of any form does no better."
    return (
        f"{text}; a smooth function of no given form gets to {percent(found.surrogate)}, so "
        "that something may be missing."
    )


def _others(law: Law) -> str:
    """Name the simplest formula that fits as well: the law is then not the only one."""
    others = as_good(law) if law.found else []
    if not others:
        return ""
    named = f"{law.target} = {readable(others[0].formula, 4)}"
    return f"The rows do not tell it from {named}." if len(named) <= 120 else ""


def _rival(surrogate: float) -> str:
    if not math.isfinite(surrogate):
        return ""
    return f" (a smooth function of no given form gets to {percent(surrogate)})"


def _elsewhere(law: Law) -> str:
    found = law.evidence
    parts = []
    if found.held_out is not None and law.found:
        parts.append(f"on rows that it has not seen its error is {percent(found.held_out)}")
    if found.extrapolation is not None:
        parts.append(
            "fitted to the inner part of the data it predicts the outer part to "
            f"{percent(found.extrapolation)}"
        )
    text = ", and ".join(parts)
    if found.extrapolation is not None and law.found and _astray(law):
        text += ": outside of the data it is not to be trusted"
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _astray(law: Law) -> bool:
    """Return whether the law misses the outer part of the data by more than a law would."""
    found = law.evidence
    usual = max(found.error, found.held_out or 0.0, _EXACT)
    return found.extrapolation is not None and found.extrapolation > _ASTRAY * usual


def _numbers(law: Law) -> str:
    free = [p for p in law.parameters if p.exact is None]
    if not free:
        return "All its numbers are exact." if law.parameters else ""
    known = [abs(p.stderr / p.value) if p.value else math.inf for p in free]
    if not all(map(math.isfinite, known)):
        return "The errors of some of its numbers are not known."
    worst = max(known)
    which = "Its one fitted number is" if len(free) == 1 else f"Its {len(free)} fitted numbers are"
    if worst < _EXACT:
        return f"{which} known to rounding error."
    return f"{which} known to {percent(worst)}{' or better' * (len(free) > 1)} (standard error)."


def _domain(law: Law) -> str:
    if law.domain.certified:
        return "It is proven to have a value everywhere in the box of the data."
    reason = law.domain.reasons[0]
    return f"{reason[0].upper()}{reason[1:]}."


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
    lines += [f"exact       {step}" for step in found.made_exact]
    for column, (low, high) in zip(law.names.columns, law.box, strict=True):
        unit = f" {units[column]}" if column in units else ""
        lines.append(f"range       {column}: {low:.6g} to {high:.6g}{unit}")
    if law.domain.certified:
        lines.append(f"domain      proven, for a box up to {law.domain.widest:.3g} times as wide")
    else:
        lines += [f"domain      {reason}" for reason in law.domain.reasons]
    return "\n".join([*lines, "", law.trust])
