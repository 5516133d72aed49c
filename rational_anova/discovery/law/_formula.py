"""A formula with parameters: read, written, evaluated."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ... import _validation as check
from ...symbols import Names
from ..table._rows import rows_of
from . import _export
from ._expressions import decimal, operations, settled, short, substitute, to_digits
from ._records import Parameter


@dataclass(frozen=True, eq=False, repr=False)
class Formula:
    """The part of a law that needs no data: what it says, not how well it is known."""

    template: sp.Expr
    parameters: tuple[Parameter, ...]
    names: Names
    target: str

    def __post_init__(self) -> None:
        parameters = tuple(self.parameters)
        if len({p.name for p in parameters}) < len(parameters):
            raise ValueError(f"two parameters have one name: {[p.name for p in parameters]}")
        template = sp.sympify(self.template)
        known = {*self.names.symbols, *(p.symbol for p in parameters)}
        unknown = sorted(map(str, template.free_symbols - known))
        if unknown:
            raise ValueError(
                f"the template has {', '.join(unknown)}, which is neither the symbol of a column "
                "nor a parameter"
            )
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "template", settled(template))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # not what was compiled

    @cached_property
    def formula(self) -> sp.Expr:
        """The law with its numbers: exact ones where they are exact, else of 17 digits."""
        return substitute(self.template, {p.symbol: p.number for p in self.parameters})

    def rounded(self, digits: int = 6) -> sp.Expr:
        """Return the formula for reading: `digits` digits, or what the error bars support."""
        check.integer(digits, "digits", 1)
        values = {
            p.symbol: to_digits(p.value, p.stderr, digits) if p.exact is None else decimal(p.exact)
            for p in self.parameters
        }
        return substitute(self.template, values)

    @cached_property
    def complexity(self) -> int:
        """Operations of the formula, counted as in the paper's tables.

        Each + - * / and each function counts one, a whole power of a name counts none:
        R*T/(V - b) - a/V**2 has five.
        """
        return operations(self.rounded(15))

    def latex(self, digits: int = 6) -> str:
        """Return the right-hand side in LaTeX, rounded as by `rounded`."""
        return str(sp.latex(self.rounded(digits), symbol_names=self.names.latex, full_prec=False))

    def to_python(self, name: str = "law") -> str:
        """Return the source of a function of the columns; all it needs is numpy."""
        about = f"{self.target} = {short(self.rounded())}".replace("\\", "\\\\").replace('"', "'")
        return _export.to_python(self.template, self.names, self.parameters, name, about)

    def to_c(self, name: str = "law") -> str:
        """Return the source of a C function of the columns, to be linked with -lm."""
        return _export.to_c(self.template, self.names, self.parameters, name)

    def predict(self, X: Any) -> np.ndarray:
        """Return the target for each row of X; nan or inf where the formula has no value.

        Args:
            X: (rows, columns) in the order of `names`, or a DataFrame with these columns.
        """
        rows = rows_of(X, self.names.columns)
        with np.errstate(all="ignore"):
            values = self._function(*rows.T)
        return np.array(np.broadcast_to(values, len(rows)))

    @cached_property
    def _function(self) -> Any:
        return _export.compiled(self.template, self.names, self.parameters)

    def _repr_latex_(self) -> str:
        target = Names([self.target])
        left = sp.latex(target.symbols[0], symbol_names=target.latex)
        return f"$\\displaystyle {left} = {self.latex()}$"
