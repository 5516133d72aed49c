"""Which groups: a complete set that reads well and can be computed on every row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._core.types import Array
from ._exponents import Cost, Exponents, null_basis, particular, spread_out
from ._groups import Groups, Product
from ._units import Unit, Units, Unsound

Powers = dict[str, Fraction]  # of columns and constants, by name


def pi_groups(units: Units, X: Array | None = None) -> Groups:
    """Return a complete set of groups without a unit, and a scale of the target.

    Columns of one dimension give ratios to one of them; the others products of few columns with
    small whole exponents. Constants are used where columns need them.

    Args:
        units: of the columns, the target and the constants.
        X: the table, (rows, columns): columns with zeros in them are not divided by where that can
            be avoided, and ratios are to the column that stays farthest from zero.

    Raises:
        Unsound: no product of columns and constants has the units of the target.

    Example:
        >>> from rational_anova.discovery.dimensions import read_units
        >>> units = {"m_0": "kg", "c": "m/s", "v": "m/s", "m": "kg"}
        >>> print(pi_groups(read_units(units, ["m_0", "c", "v"], "m")))
        m/(m_0) of v/c
    """
    quantities = _Quantities(units, _extremes(units, X))
    leaders = quantities.leaders()
    dimensions = [_dimension(units, units.inputs[name]) for name in leaders]
    found = null_basis(dimensions, _of_constants(units, leaders, dimensions), quantities.group_cost)
    wanted = _dimension(units, units.of_target)
    scale = particular(dimensions, wanted, found, quantities.scale_cost, quantities.good_scale)
    if scale is None:
        raise Unsound(_no_scale(units))
    groups = [quantities.oriented(vector) for vector in found]
    powers = [*quantities.bare(), *quantities.ratios(), *groups]
    return Groups(
        units,
        tuple(_product(units, power) for power in powers),
        _product(units, _named(scale, leaders), 1 / units.of_target.factor),
    )


@dataclass(frozen=True)
class _Quantities:
    """Columns and constants, and what their numbers allow."""

    units: Units
    extremes: Mapping[str, tuple[float, float]]  # smallest size, smallest value; in base units

    def leaders(self) -> list[str]:
        """Return one quantity of each dimension, that ratios are to."""
        return [names[0] for names in self._alike()]

    def bare(self) -> list[Powers]:
        """Return the columns without a dimension: each is a group."""
        return [{name: Fraction(1)} for name, u in self.units.columns.items() if not u.powers]

    def ratios(self) -> list[Powers]:
        """Return the ratios of columns to the leader of their dimension."""
        return [
            {name: Fraction(1), leader: Fraction(-1)}
            for leader, *others in self._alike()
            for name in others
            if name in self.units.columns
        ]

    def _alike(self) -> list[list[str]]:
        """Return the quantities by their dimension, the leader first."""
        classes: dict[frozenset[tuple[str, Fraction]], list[str]] = {}
        for name, unit in self.units.inputs.items():
            if unit.powers:
                classes.setdefault(frozenset(unit.powers.items()), []).append(name)
        return [self._led(names) for names in classes.values()]

    def _led(self, names: list[str]) -> list[str]:
        def order(name: str) -> tuple[bool, float]:
            size = self._size(name)  # roughly, so that the first column leads its like
            return name in self.units.constants, round(math.log2(size)) if size else -math.inf

        leader = max(names, key=order)
        return [leader, *(name for name in names if name != leader)]

    def _size(self, name: str) -> float:
        return self.extremes[name][0]

    def group_cost(self, vector: Exponents) -> Cost:
        """Return what is to be small of a group: divisions by zero, then the exponents."""
        up, down = self._zeros(vector, 1), self._zeros(vector, -1)
        return (min(up, down), *_long(vector))

    def scale_cost(self, vector: Exponents) -> Cost:
        """Return what is to be small of a scale: what it cannot be computed for, roots, length."""
        roots = [
            name
            for name, exponent in zip(self.leaders(), vector, strict=True)
            if exponent.denominator > 1 and self.extremes[name][1] < 0
        ]
        zeros = self._zeros(vector, 1) + self._zeros(vector, -1)
        parts = sum(exponent.denominator > 1 for exponent in vector)
        return (len(roots), zeros, parts, sum(map(bool, vector)), *_long(vector))

    def good_scale(self, vector: Exponents) -> bool:
        """Say whether a scale is whole and can be computed on all rows."""
        return not any(self.scale_cost(vector)[:3])

    def _zeros(self, vector: Exponents, sign: int) -> int:
        """Count the columns with zeros in the numerator (1) or the denominator (-1)."""
        return sum(
            exponent * sign > 0 and self._size(name) == 0
            for name, exponent in zip(self.leaders(), vector, strict=True)
        )

    def oriented(self, vector: Exponents) -> Powers:
        """Return a group or its inverse: zeros above, then the greater exponents above."""
        up, down = self._zeros(vector, 1), self._zeros(vector, -1)
        first = next(exponent for exponent in vector if exponent)
        turned = (down - up, -sum(vector), -first) > (0, 0, 0)
        return _named([-e if turned else e for e in vector], self.leaders())


def _long(vector: Exponents) -> Cost:
    """Return the size of the exponents, then which quantities they are of, the first ones first."""
    size = sum(map(abs, vector))
    return (float(size), float(max(map(abs, vector), default=0)), *(float(not e) for e in vector))


def _extremes(units: Units, X: Array | None) -> dict[str, tuple[float, float]]:
    """Return the smallest size and the smallest value of each quantity; 1 without a table."""
    result = {name: (1.0, 1.0) for name in units.inputs}
    if X is None:
        return result
    columns = zip(units.columns, np.asarray(X, dtype=np.float64).T, strict=True)
    for name, values in {**dict(columns), **units.values}.items():
        sized = units.inputs[name].factor * np.asarray(values)
        result[name] = (float(np.abs(sized).min()), float(sized.min()))
    return result


def _dimension(units: Units, unit: Unit) -> list[Fraction]:
    """Return the powers of all base dimensions that occur."""
    all_units = [*units.inputs.values(), units.of_target]
    base = sorted({key for each in all_units for key in each.powers})
    return [unit.powers.get(key, Fraction(0)) for key in base]


def _of_constants(
    units: Units, leaders: Sequence[str], dimensions: Sequence[Sequence[Fraction]]
) -> list[Exponents]:
    """Return the groups of constants alone: they are numbers."""
    places = [place for place, name in enumerate(leaders) if name in units.constants]
    found = null_basis([dimensions[place] for place in places], [], _long)
    return [spread_out(vector, places, len(leaders)) for vector in found]


def _named(vector: Sequence[Fraction], names: Sequence[str]) -> Powers:
    return {name: exponent for name, exponent in zip(names, vector, strict=True) if exponent}


def _product(units: Units, powers: Powers, factor: float = 1.0) -> Product:
    for name, exponent in powers.items():
        factor *= units.inputs[name].factor ** float(exponent)
    return Product(powers, 1.0 if abs(factor - 1) < 1e-12 else factor)


def _no_scale(units: Units) -> str:
    names = ", ".join(f"{name} [{unit.text}]" for name, unit in units.inputs.items())
    return (
        f"nothing made of {names} has the units of {units.target} [{units.of_target.text}]: give a "
        "constant that has what is missing, or let numbers carry units by absorb_units=True"
    )
