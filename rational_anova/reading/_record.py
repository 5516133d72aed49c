"""`Reading`: the formula that a network was read as, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from .._core.types import Array
from ..symbols import numeric
from ..tables import read_matrix

if TYPE_CHECKING:
    import pandas

EXACT = 1e-10  # of the spread: an error that no approximation of few numbers reaches by chance


@dataclass(frozen=True)
class ReadUnit:
    """One unit of a network, and the function that it was read as.

    Attributes:
        layer: of its target, the first being 0.
        nodes: the nodes of the layer before that it reads.
        target: the node that it is added to.
        name: of the function; `quotient` where none was near enough, so that the unit stays.
        error: root mean square of what the function leaves of the unit's curve, over its spread.
        others: further functions and their errors, the best first.
    """

    layer: int
    nodes: tuple[int, ...]
    target: int
    name: str
    error: float
    others: tuple[tuple[str, float], ...]

    @property
    def refused(self) -> bool:
        """Whether no function was near enough, so that the unit stays the quotient that it is."""
        return self.name == "quotient"


@dataclass(frozen=True)
class Reading:
    """What `read_network` returns.

    Attributes:
        formulas: of each output.
        symbols: of the inputs.
        units: what each unit was read as.
        held_out_error: root mean square on rows that no number was fitted to, over their spread.
        network_error: that of the network on the same rows.
        rows: how many rows these are.
        tried: how many compositions of functions were fitted.
    """

    formulas: tuple[sp.Expr, ...]
    symbols: tuple[sp.Symbol, ...]
    units: tuple[ReadUnit, ...]
    held_out_error: float
    network_error: float
    rows: int
    tried: int

    @property
    def formula(self) -> sp.Expr:
        """The formula, of a network of one output."""
        if len(self.formulas) > 1:
            raise AttributeError(f"there are {len(self.formulas)} outputs: use formulas")
        return self.formulas[0]

    @property
    def exact(self) -> bool:
        """Whether the held-out rows are met to 1e-10 of their spread."""
        return self.held_out_error <= EXACT

    @property
    def free_numbers(self) -> int:
        """How many numbers are not exact."""
        return sum(len(formula.atoms(sp.Float)) for formula in self.formulas)

    @property
    def refused(self) -> tuple[ReadUnit, ...]:
        """The units that no function was near enough to."""
        return tuple(unit for unit in self.units if unit.refused)

    def predict(self, X: Any) -> Array:
        """Return the values of the formula on rows, (rows,) or (rows, outputs)."""
        rows = read_matrix(X, len(self.symbols))
        found = values(self.formulas, self.symbols, rows)
        return found[:, 0] if len(self.formulas) == 1 else found

    def latex(self) -> str:
        """Return the formula in LaTeX."""
        return ", ".join(sp.latex(formula) for formula in self.formulas)

    def table(self) -> pandas.DataFrame:
        """Return the units as a table."""
        import pandas

        return pandas.DataFrame(
            {
                "layer": unit.layer,
                "nodes": ", ".join(map(str, unit.nodes)),
                "target": unit.target,
                "function": unit.name,
                "error": unit.error,
                "next": ", ".join(f"{name} ({error:.1e})" for name, error in unit.others[:2]),
            }
            for unit in self.units
        )

    def verdict(self) -> str:
        """Say in a sentence how far the formula may be trusted."""
        error = f"{self.held_out_error:.1e} of the spread on {self.rows} held-out rows"
        if self.exact:
            return f"holds to rounding: {error}"
        beside = f"(the network: {self.network_error:.1e})"
        if self.held_out_error > max(3 * self.network_error, EXACT):
            return f"is worse than the network: {error} {beside}"
        return f"is an approximation as good as the network, no more is claimed: {error} {beside}"

    def __str__(self) -> str:
        """The formula, its verdict, and what each unit was read as."""
        lines = [str(formula) for formula in self.formulas]
        lines.append(self.verdict())
        numbers = self.free_numbers
        lines.append(f"{numbers} numbers are not exact" if numbers else "all numbers are exact")
        for unit in self.units:
            nodes = ", ".join(map(str, unit.nodes))
            beside = "".join(f", {name} {error:.0e}" for name, error in unit.others[:2])
            place = f"layer {unit.layer}: {nodes} -> {unit.target}"
            lines.append(f"  {place}  {unit.name} {unit.error:.0e} (next{beside or ' none'})")
        return "\n".join(lines).replace("(next, ", "(next: ")


def values(formulas: Sequence[sp.Expr], symbols: Sequence[sp.Symbol], X: Array) -> Array:
    """Return formulas on rows, (rows, formulas); nan where they have no real value."""
    found = []
    for formula in formulas:
        with np.errstate(all="ignore"):
            value = np.asarray(numeric([tuple(symbols)], formula, ["scipy", "numpy"])(X.T))
        value = np.where(np.abs(np.imag(value)) > 0, np.nan, np.real(value))
        found.append(np.broadcast_to(value.astype(np.float64), (len(X),)))
    return np.stack(found, 1)


def relative_error(found: Array, y: Array) -> float:
    """Return the root mean square of a difference over the spread of y; inf where it is nan."""
    spread = y.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    error = float(np.sqrt(np.mean(((found - y) / spread) ** 2)))
    return error if np.isfinite(error) else np.inf
