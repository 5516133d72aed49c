"""Certificates of single units: a module's coefficients, its poles, its sharp and coarse bounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._core.types import Array
from ..proofs import Extremes, Interval, Pair, down, extremes, positive_on
from ..units import RationalUnit
from ._cells import Bank, looking
from ._curves import known, least_denominator
from ._theorem import Theorem, theorem

BUDGET = {1: 2000, 2: 8000}  # cells a unit
_AXES = ("x", "(u, v)")


class PoleError(ValueError):
    """A denominator is not positive on the box, so nothing can be certified.

    Attributes:
        unit: its name.
        point: as in `Positivity`: in one variable the pole itself.
    """

    def __init__(self, message: str, unit: str, point: tuple[float, ...]) -> None:
        self.unit, self.point = unit, point
        super().__init__(message)

    @classmethod
    def of(cls, unit: str, point: tuple[float, ...], verdict: str) -> PoleError:
        """Return the error for a unit and a verdict on it."""
        where = ", ".join(f"{value:.17g}" for value in point)
        says = "is not positive" if verdict == "refuted" else "could not be proved positive"
        message = (
            f"the denominator of {unit} {says} at {_AXES[len(point) - 1]} = {where}, so nothing is "
            "certified; choose a box without that point, or a denominator that is positive "
            "everywhere, such as 'sos'"
        )
        return cls(message, unit, point)


@dataclass(frozen=True)
class UnitCertificate:
    """What is proved about one unit on the box of its own inputs.

    Args:
        name: of the module, and the number of the unit in it.
        box: (low, high) of each input.
        lipschitz: a bound of the norm of its gradient.
        attained: the largest norm that was met: the true constant lies between the two.
        slopes: bounds (low, high) of each partial derivative.
        range: bounds of its values.
        denominator_min: a lower bound of its denominators.
        theorem: the paper's bound and its parts.
        cells: boxes that the search looked at.
    """

    name: str
    box: tuple[Pair, ...]
    lipschitz: float
    attained: float
    slopes: tuple[Pair, ...]
    range: Pair
    denominator_min: float
    theorem: Theorem
    cells: int

    @property
    def gap(self) -> float:
        """How much of the bound is not attained, relative to it."""
        return 1 - self.attained / self.lipschitz if self.lipschitz > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return {**asdict(self), "gap": self.gap}


@dataclass(frozen=True)
class Bounded:
    """Bounds of a bank of units, as arrays over its units."""

    value: Interval  # (units,)
    slopes: list[Interval]  # for each variable, (units,)
    records: tuple[UnitCertificate, ...]


def bank_of(unit: RationalUnit, copies: int = 1) -> Bank:
    """Read the coefficients of a module; each unit comes `copies` times."""
    known(unit.form)
    top, bottom = (
        np.repeat(unit._heads(rows.detach().cpu().double()).permute(2, 0, 1).numpy(), copies, 0)
        for rows in (unit.numerator, unit.denominator)
    )
    gate = None if unit.gate is None else unit.gate.detach().cpu().double().numpy()
    floor = np.full(len(top), least_denominator(unit.form))
    return Bank(unit.form, top, bottom, None if gate is None else np.repeat(gate, copies), floor)


def bounded(bank: Bank, box: Interval, name: str, tolerance: float, budget: int | None) -> Bounded:
    """Bound units on boxes (units, variables)."""
    with np.errstate(all="ignore"):  # what overflows is unknown, and says so
        bank = _without_poles(bank, box, name)
        variables = box.low.shape[1]
        most = BUDGET[variables] if budget is None else budget
        found = extremes(looking(bank), box.low, box.high, tolerance, most)
        coarse = theorem(bank, box.low, box.high)
    records = tuple(
        _record(f"{name}[{n}]", bank, box, found, coarse[n], n) for n in range(len(coarse))
    )
    b = found.bound
    slopes = [Interval(-b[:, 3 + 2 * v], b[:, 2 + 2 * v]) for v in range(variables)]
    return Bounded(Interval(-b[:, 1], b[:, 0]), slopes, records)


def _without_poles(bank: Bank, box: Interval, name: str) -> Bank:
    """Prove that polynomial denominators are positive, and take the bound over."""
    if bank.form.kind.name != "polynomial":
        return bank
    if bank.form.reach is not None:
        box = box.clipped(-bank.form.reach, bank.form.reach)
    if not np.isfinite(box.low + box.high).all():
        raise ValueError(
            f"the inputs of {name} have no finite bounds, so its denominators may have poles there "
            "and nothing is certified; choose a smaller box, or a denominator such as 'sos'"
        )
    powers = ((0,) * box.low.shape[1], *bank.form.denominator[0])
    floor = np.full(len(bank.floor), np.inf)
    for head in range(bank.heads):
        one = np.full((len(floor), 1), down(1 + bank.form.eps) if bank.form.eps else 1.0)
        rows = np.concatenate([one, bank.denominator[:, head]], 1)
        for n, verdict in enumerate(positive_on(powers, rows.tolist(), box.low, box.high)):
            if not verdict:
                assert verdict.point is not None
                raise PoleError.of(f"{name}[{n}]", verdict.point, verdict.verdict)
            floor[n] = min(floor[n], verdict.bound)
    return replace(bank, floor=floor)


def _record(
    name: str, bank: Bank, box: Interval, found: Extremes, coarse: Theorem, n: int
) -> UnitCertificate:
    b, variables = found.bound[n].tolist(), box.low.shape[1]
    last = 2 + 2 * variables
    return UnitCertificate(
        name,
        tuple(zip(box.low[n].tolist(), box.high[n].tolist(), strict=True)),
        min(b[last], coarse.lipschitz) if coarse.lipschitz == coarse.lipschitz else b[last],
        float(found.attained[n, last]),
        tuple((-b[3 + 2 * v], b[2 + 2 * v]) for v in range(variables)),
        (-b[1], b[0]),
        float(max(-b[last + 1], bank.floor[n])),
        coarse,
        int(found.cells[n]),
    )


def column(records: tuple[UnitCertificate, ...], name: str) -> Array:
    """Return a number of all records as an array; `theorem` is its Lipschitz constant."""
    if name == "theorem":
        return np.array([record.theorem.lipschitz for record in records])
    return np.array([getattr(record, name) for record in records])
