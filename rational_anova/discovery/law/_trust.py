"""What a law's evidence says, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._expressions import readable
from ._rivals import as_good

if TYPE_CHECKING:
    from ._law import Law

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
    """Tell whether the law misses the outer part of the data by more than a law would."""
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
