"""Pi groups: a table with units as one without, and a law of it back in the columns.

Buckingham's theorem: a sound law y = f(columns) is y = scale * g(groups), where the scale is a
product of powers with the dimension of y, and the groups are products without a dimension. There
are fewer groups than columns, so that there is less to search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ..._core.types import Array
from ._units import Units

_DENOMINATOR = 10**6  # of a factor that is taken to be exact


@dataclass(frozen=True)
class Product:
    """A product of powers of columns and constants.

    Args:
        exponents: by name of the column or constant.
        factor: by which it is multiplied, so that units of one dimension agree: 1000 for a ratio
            of a column in kPa to one in Pa.
    """

    exponents: Mapping[str, Fraction]
    factor: float = 1.0

    def of(self, values: Mapping[str, Array | float], rows: int) -> Array:
        """Return the product of numbers, one a row."""
        result = np.full(rows, self.factor)
        for name, exponent in self.exponents.items():
            result = result * np.asarray(values[name], dtype=np.float64) ** float(exponent)
        return result

    def formula(self, symbols: Mapping[str, sp.Expr]) -> sp.Expr:
        """Return the product of symbols."""
        powers = (symbols[name] ** _rational(e) for name, e in self.exponents.items())
        return sp.Mul(_exact(self.factor), *powers)


@dataclass(frozen=True)
class Groups:
    """The groups of a table, see `pi_groups`.

    Args:
        units: of the table.
        products: the groups.
        scale: by which the target is divided.
    """

    units: Units
    products: tuple[Product, ...]
    scale: Product

    @cached_property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """One symbol a group: pi1, pi2, ...; another name where a column has that."""
        taken = {symbol.name for symbol in self.units.symbols}
        stem = "pi"
        while any(f"{stem}{n + 1}" in taken for n in range(len(self.products))):
            stem += "_"
        return tuple(sp.Symbol(f"{stem}{n + 1}") for n in range(len(self.products)))

    @cached_property
    def formulas(self) -> tuple[sp.Expr, ...]:
        """The groups in the symbols of columns and constants."""
        return tuple(product.formula(self._symbols) for product in self.products)

    @property
    def _symbols(self) -> dict[str, sp.Expr]:
        return {name: symbol for symbol, name in self.units.symbols.items()}

    def usable(self, X: Array) -> NDArray[np.bool_]:
        """Say of each row whether its groups and its scale are finite, and the scale is not 0."""
        with np.errstate(all="ignore"):
            groups, scale = self._values(X)
        return np.isfinite(groups).all(axis=1) & np.isfinite(scale) & (scale != 0)

    def reduce(self, X: Array, y: Array) -> tuple[Array, Array]:
        """Return the groups, (rows, groups), and the target over its scale.

        Args:
            X: (rows, columns).
            y: (rows,).
        """
        bad = np.flatnonzero(~self.usable(X))
        if len(bad):
            raise ValueError(
                f"{len(bad)} rows have no value of {self}, the first is row {bad[0]}: a column is "
                "zero, or negative below a root; leave out these rows, see `usable`"
            )
        groups, scale = self._values(X)
        return groups, np.asarray(y, dtype=np.float64) / scale

    def _values(self, X: Array) -> tuple[Array, Array]:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.units.columns):
            names = ", ".join(self.units.columns)
            raise ValueError(f"X must have the columns {names}, got shape {X.shape}")
        columns = dict(zip(self.units.columns, X.T, strict=True))
        values = {**columns, **self.units.values}
        groups = [product.of(values, len(X)) for product in self.products]
        return np.array(groups).reshape(-1, len(X)).T, self.scale.of(values, len(X))

    def restore(self, formula: sp.Expr, constants: Mapping[str, sp.Expr] | None = None) -> sp.Expr:
        """Return the law of the target from that of the reduced target.

        Args:
            formula: in the symbols of the groups.
            constants: what is written for constants, such as numbers; their symbols by default.

        Example:
            >>> from rational_anova.discovery.dimensions import pi_groups, read_units
            >>> units = {"g": "m/s^2", "L": "m", "T": "s"}
            >>> groups = pi_groups(read_units(units, ["L", "g"], "T"))
            >>> groups.restore(2 * sp.pi)
            2*pi*sqrt(L)/sqrt(g)
        """
        written = {**self._symbols, **(constants or {})}
        groups = [product.formula(written) for product in self.products]
        own = dict(zip(self.symbols, groups, strict=True))
        return self.scale.formula(written) * sp.sympify(formula).xreplace(own)

    def __str__(self) -> str:
        scale = self.scale.formula(self._symbols)
        whole = self.units.target if scale == 1 else f"{self.units.target}/({scale})"
        return f"{whole} of {', '.join(map(str, self.formulas)) or 'nothing'}"


def _rational(number: Fraction) -> sp.Rational:
    return sp.Rational(number.numerator, number.denominator)


def _exact(factor: float) -> sp.Expr:
    """Return a factor as the fraction, or the multiple of pi, that it is; else as it is."""
    for unit, denominator in ((sp.Integer(1), _DENOMINATOR), (sp.pi, 1000)):
        part = Fraction(factor / float(unit))
        near = part.limit_denominator(denominator)
        if near and math.isclose(near, part, rel_tol=1e-13):
            return unit * _rational(near)
    return sp.Float(factor)
