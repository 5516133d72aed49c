"""Column names as symbols: any name a table may have, a valid and free name near it, and back."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ._parse import FUNCTIONS, parse

_CONSTANTS = "E I pi oo zoo nan EulerGamma Catalan GoldenRatio TribonacciConstant"
# What generated code calls, and what compilers keep for themselves.
_CODE = (
    "np numpy math law auto break case char const continue default do double else enum extern "
    "float for goto if inline int long register restrict return short signed sizeof static struct "
    "switch typedef union unsigned void volatile while bool true false nullptr constexpr alignas "
    "alignof thread_local static_assert typeof class new delete this template operator private "
    "public protected virtual friend namespace using throw catch try typename explicit export "
    "mutable and or not xor asm fortran linux unix main NULL NAN INFINITY HUGE_VAL M_PI M_E fabs "
    "pow exp2 expm1 log2 log10 log1p hypot fmax fmin fmod ceil round trunc tgamma lgamma isnan "
    "isinf jn power where arctan arcsin arccos array asarray float64"
)
_IN_TEXT = FUNCTIONS | frozenset(_CONSTANTS.split())
_IN_CODE = frozenset(_CODE.split())


def symbol_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the symbols: those of the columns wherever text keeps them."""

    def plain(name: str) -> bool:
        # Python reads identifiers in this normal form, so that others would come back changed.
        return name.isidentifier() and unicodedata.normalize("NFKC", name) == name

    return _distinct(columns, plain, _close, _claimed_in_text)


def identifiers(columns: Sequence[str]) -> tuple[str, ...]:
    """Return names that are valid in Python and in C."""

    def plain(name: str) -> bool:
        return name.isascii() and name.isidentifier()

    def claimed(name: str) -> bool:
        reserved = re.match(r"__|_[A-Z]", name)  # by the C standard
        return bool(reserved) or name in _IN_CODE or _claimed_in_text(name)

    return _distinct(columns, plain, _ascii, claimed)


def _claimed_in_text(name: str) -> bool:
    parameter = re.fullmatch(r"c[0-9]+", name)
    return bool(parameter) or keyword.iskeyword(name) or name in _IN_TEXT


def _distinct(
    columns: Sequence[str],
    plain: Callable[[str], bool],
    near: Callable[[str], str],
    claimed: Callable[[str], bool],
) -> tuple[str, ...]:
    """Keep the names that can stay; give the others the nearest that is free."""
    kept = {name for name in columns if plain(name) and not claimed(name)}
    taken = set(kept)
    result = []
    for place, column in enumerate(columns):
        name = column
        if column not in kept:
            name = stem = near(column) or f"x{place}"
            if claimed(stem):
                stem = stem.lstrip("_") or "x"
                name = stem = stem if not claimed(stem) else f"{stem}_"
            count = 1
            while name in taken or claimed(name):
                count += 1
                name = f"{stem.rstrip('_')}_{count}"
        taken.add(name)
        result.append(name)
    return tuple(result)


def _close(name: str) -> str:
    """Return an identifier near to a name, in any alphabet; empty if nothing of it is left."""
    words = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", name)).strip("_")
    words = f"x{words}" if words and not words[0].isidentifier() else words
    same = unicodedata.normalize("NFKC", words) == words
    return words if words.isidentifier() and same else _ascii(name)


def _ascii(name: str) -> str:
    """Return an ASCII identifier near to a name: accents go, Greek letters are spelt out."""
    letters = []
    for letter in unicodedata.normalize("NFKD", name):
        spelt = unicodedata.name(letter, "").split()
        if letter.isascii():
            letters.append(letter)
        elif spelt[:1] == ["GREEK"] and "LETTER" in spelt:
            word = spelt[spelt.index("LETTER") + 1]
            letters.append(word.capitalize() if "CAPITAL" in spelt else word.lower())
        elif not unicodedata.combining(letter):
            letters.append("_")
    words = re.sub(r"[^0-9a-zA-Z_]+", "_", "".join(letters)).strip("_")
    return f"x{words}" if words[:1].isdigit() else words


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

    def parse(
        self,
        text: str,
        extra: Sequence[str] = (),
        values: Mapping[str, float] | None = None,
    ) -> sp.Expr:
        """Read a formula as `str` writes it.

        Nothing is evaluated but arithmetic and functions that sympy knows, so that text from
        elsewhere is safe. Numbers with more than 15 digits are read as the nearest float64.

        Args:
            text: the formula, in the symbols of the columns and the parameters c0, c1, ...
            extra: further names that may occur, such as those of known constants.
            values: of names that numbers will be put in for; see `symbols.parse`.
        """
        symbols = {symbol.name: symbol for symbol in self.symbols}
        return parse(text, {**{name: sp.Symbol(name) for name in extra}, **symbols}, values)

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
