"""Column names as symbols: any name a table may have, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ._clean import identifiers, symbol_names
from ._parse import parse


@dataclass(frozen=True)
class Names:
    """Column names and the symbols and identifiers that stand for them, one to one.

    A symbol bears the name of its column where a formula with it can be written and read back:
    `T`, `temperature`, `N` and `gamma` do. Other names get a symbol close to them: `lambda_` for
    `lambda`, `x_1` for `x-1`, `E_` for `E` (which is Euler's number), `c0_` for `c0` (which is a
    parameter of a law).

    Args:
        columns: the names, in the order of the columns; no name twice.

    Example:
        >>> names = Names(["T", "lambda", "x-1"])
        >>> names.symbols
        (T, lambda_, x_1)
        >>> names.original(names.symbols[2])
        'x-1'
        >>> names.parse("2*T/lambda_ + sqrt(x_1)")
        2*T/lambda_ + sqrt(x_1)
    """

    columns: tuple[str, ...]

    def __init__(self, columns: Sequence[str]) -> None:
        if isinstance(columns, str):
            raise TypeError(f"names must be a sequence of names, got the text {columns!r}")
        for column in columns:
            if not isinstance(column, str):
                raise TypeError(f"every name must be text, got {column!r}; write {str(column)!r}")
        twice = [c for n, c in enumerate(columns) if c in columns[:n]]
        if twice:
            raise ValueError(
                f"the name {twice[0]!r} is given twice; every column needs a name of its own"
            )
        object.__setattr__(self, "columns", tuple(columns))

    @cached_property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """One symbol a column."""
        return tuple(sp.Symbol(name) for name in symbol_names(self.columns))

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """One name a column that is valid in Python and in C, all different, in ASCII."""
        return identifiers(self.columns)

    @cached_property
    def latex(self) -> dict[sp.Symbol, str]:
        """How LaTeX shall write the columns that it would not write by their names.

        For `sympy.latex(formula, symbol_names=names.latex)`.
        """
        written = {}
        for symbol, column in zip(self.symbols, self.columns, strict=True):
            parts = column.split("_")  # TeX takes a lone underscore for an index
            if symbol.name != column or len(parts) > 2 or not all(parts):
                written[symbol] = _in_latex(column or symbol.name)
        return written

    def parse(self, text: str, extra: Sequence[str] = ()) -> sp.Expr:
        """Read a formula as `str` writes it.

        Nothing is evaluated but arithmetic and functions that sympy knows, so that text from
        elsewhere is safe. Numbers with more than 15 digits are read as the nearest float64.

        Args:
            text: the formula, in the symbols of the columns and the parameters c0, c1, ...
            extra: further names that may occur, such as those of known constants.
        """
        symbols = {symbol.name: symbol for symbol in self.symbols}
        return parse(text, {**{name: sp.Symbol(name) for name in extra}, **symbols})

    def original(self, symbol: sp.Symbol | str) -> str:
        """Return the name of the column that a symbol stands for."""
        name = symbol if isinstance(symbol, str) else symbol.name
        for own, column in zip(self.symbols, self.columns, strict=True):
            if own.name == name:
                return column
        known = ", ".join(own.name for own in self.symbols) or "none"
        raise ValueError(f"{name!r} is the symbol of no column; there are {known}")

    def symbol(self, column: str) -> sp.Symbol:
        """Return the symbol of a column."""
        if column not in self.columns:
            known = ", ".join(map(repr, self.columns)) or "none"
            raise ValueError(f"there is no column {column!r}; there are {known}")
        return self.symbols[self.columns.index(column)]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def _in_latex(column: str) -> str:
    """Return the name as TeX writes it: that of a Greek letter or a word, else upright text."""
    if column.isidentifier() and "_" not in column:
        return sp.latex(sp.Symbol(column))
    marks = {
        "\\": r"\backslash ", "{": r"\{", "}": r"\}", "$": r"\$", "%": r"\%", "#": r"\#",
        "&": r"\&", "_": r"\_", "^": r"\hat{}", "~": r"\sim ",
    }  # fmt: skip
    spaced = [r"\ " if letter.isspace() else letter for letter in column]
    return rf"\mathrm{{{''.join(marks.get(c, c) for c in spaced)}}}"
