"""A formula with parameters: read, written, evaluated, and exported as Python and C."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.c import C99CodePrinter
from sympy.printing.latex import LatexPrinter
from sympy.printing.numpy import NumPyPrinter

from ..._core import checks as check
from ...symbols import Names
from ...tables import rows_of
from ._expressions import (
    decimal,
    in_latex,
    operations,
    settled,
    short,
    substitute,
    to_digits,
    with_error,
)
from ._records import Parameter


def to_python(
    expr: sp.Expr, names: Names, parameters: Sequence[Parameter], name: str, about: str = ""
) -> str:
    """Return the source of a function of the columns.

    It needs numpy, and scipy for functions such as erf that numpy has not.

    Args:
        expr: in the symbols of the columns and of the parameters.
        names: of the columns; they are the arguments, in this order.
        parameters: written as numbers inside the function.
        name: of the function.
        about: its docstring; none if empty.
    """
    _check_name(name)
    arguments = ", ".join(names.identifiers)
    pairs = zip(names.identifiers, names.symbols, strict=True)
    used = [identifier for identifier, symbol in pairs if expr.has(symbol)]
    body = [f'"""{about}"""'] if about else []
    # Whole numbers in an array would not take negative powers.
    body += [f"{column} = numpy.asarray({column}, dtype=float)" for column in used]
    code = _code_names(names, parameters)
    body += [f"{code[p.name]} = {p.value!r}{_remark(p, '  # ')}" for p in _used(expr, parameters)]
    value = _text(_NumPy({"fully_qualified_modules": True}), expr, names, code)
    if not used:
        shapes = ", ".join(f"numpy.shape({column})" for column in names.identifiers)
        value = f"numpy.full(numpy.broadcast_shapes({shapes}), {value}, dtype=float)"
    lines = [f"def {name}({arguments}):", *(f"    {line}" for line in [*body, f"return {value}"])]
    needed = ["import numpy", *(["import scipy.special"] if "scipy.special." in value else [])]
    return "\n".join(needed) + "\n\n\n" + "\n".join(lines) + "\n"


def to_c(expr: sp.Expr, names: Names, parameters: Sequence[Parameter], name: str) -> str:
    """Return the source of a C function of the columns; link it with -lm."""
    _check_name(name)
    arguments = ", ".join(f"double {column}" for column in names.identifiers) or "void"
    code = _code_names(names, parameters)
    body = [
        f"const double {code[p.name]} = {p.value!r};{_remark(p, ' /* ', ' */')}"
        for p in _used(expr, parameters)
    ]
    unused = [
        f"(void){identifier};"
        for identifier, symbol in zip(names.identifiers, names.symbols, strict=True)
        if not expr.has(symbol)
    ]
    numbers = {n: sp.Float(float(n), 17) for n in expr.atoms(sp.NumberSymbol)}
    value = _text(_C(), expr.xreplace(numbers), names, code)
    lines = [*unused, *body, f"return {value};"]
    posix = "#define _XOPEN_SOURCE 700 /* for jn */\n" if expr.has(sp.besselj) else ""
    return (
        f"{posix}#include <math.h>\n\n"
        + f"double {name}({arguments})\n{{\n"
        + "".join(f"    {line}\n" for line in lines)
        + "}\n"
    )


def compiled(expr: sp.Expr, names: Names, parameters: Sequence[Parameter]) -> Any:
    """Return the function that `to_python` writes."""
    scope: dict[str, Any] = {}
    exec(to_python(expr, names, parameters, "law"), scope)
    return scope["law"]


def _check_name(name: str) -> None:
    if name != "law" and (not isinstance(name, str) or Names([name]).identifiers != (name,)):
        raise ValueError(f"{name!r} cannot be the name of a function; take one like 'law'")


def _used(expr: sp.Expr, parameters: Sequence[Parameter]) -> list[Parameter]:
    return [p for p in parameters if expr.has(p.symbol)]


def _code_names(names: Names, parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return how code calls each parameter: by its name, unless the language has taken it."""
    taken, code = set(names.identifiers), {}
    for name in (p.name for p in parameters):
        free = name if re.fullmatch("c[0-9]+", name) else Names([name]).identifiers[0]
        while free in taken:
            free += "_"
        taken.add(free)
        code[name] = free
    return code


def _remark(parameter: Parameter, before: str, after: str = "") -> str:
    exact = parameter.exact
    return "" if exact is None or exact.is_Integer else f"{before}{exact}{after}"


def _text(printer: Any, expr: sp.Expr, names: Names, parameters: Mapping[str, str]) -> str:
    code = {s: sp.Symbol(i) for s, i in zip(names.symbols, names.identifiers, strict=True)}
    code |= {sp.Symbol(name): sp.Symbol(new) for name, new in parameters.items()}
    try:
        written = str(printer.doprint(expr.xreplace(code)))
    except NotImplementedError:
        written = "Not supported"
    if "Not supported" in written or "math." in written:  # math knows no arrays
        raise ValueError(f"{expr} has a function that cannot be written as code")
    return written


_SPECIAL = {"erf": "erf", "erfc": "erfc", "besselj": "jv"}  # as scipy calls them


class _NumPy(NumPyPrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Max(self, expr: sp.Expr) -> str:
        return reduce("numpy.maximum({}, {})".format, map(self._print, expr.args))

    def _print_Min(self, expr: sp.Expr) -> str:
        return reduce("numpy.minimum({}, {})".format, map(self._print, expr.args))

    def _special(self, expr: sp.Expr) -> str:
        name = _SPECIAL[expr.func.__name__]
        return f"scipy.special.{name}({', '.join(map(self._print, expr.args))})"

    _print_erf = _print_erfc = _print_besselj = _special


class _C(C99CodePrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Pow(self, expr: sp.Pow) -> str:
        # As numpy does it; pow may differ from it in the last bit.
        if expr.exp == 2 and expr.base.is_Symbol:
            base = self._print(expr.base)
            return f"({base}*{base})"
        return str(super()._print_Pow(expr))

    def _print_besselj(self, expr: sp.Expr) -> str:
        return f"jn({int(expr.order)}, {self._print(expr.argument)})"


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
        columns = dict(zip((s.name for s in self.names.symbols), self.names.columns, strict=True))
        clash = [p.name for p in parameters if p.name in columns]
        if clash:
            raise ValueError(
                f"the parameter {clash[0]!r} has the name of the column {columns[clash[0]]!r}; "
                "give one of them another name"
            )
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
        """Return the formula for reading: `digits` digits, or what the error bars support.

        Constants that were given keep their names.
        """
        check.integer(digits, "digits", 1)
        return self._with_digits(digits)

    def _with_digits(self, digits: int, more: int = 0) -> sp.Expr:
        """The formula with rounded numbers, with so many digits more than errors support."""
        values = {
            p.symbol: decimal(p.exact)
            if p.exact is not None
            else to_digits(p.value, p.stderr / 10.0**more, digits + more)
            for p in self.parameters
            if not p.given
        }
        # numbers of the form itself, such as 273.15, as they were written
        written = {f: sp.Float(repr(float(f)), 15) for f in self.template.atoms(sp.Float)}
        return substitute(self.template, {**written, **values})

    @cached_property
    def complexity(self) -> int:
        """Operations of the formula, counted as in the paper's tables.

        Each + - * / and each function counts one, a whole power of a name counts none:
        R*T/(V - b) - a/V**2 has five.
        """
        return operations(self.rounded(15))

    def latex(self, digits: int = 6, errors: bool = False) -> str:
        r"""Return the right-hand side in LaTeX, rounded as by `rounded`; words are upright.

        Args:
            digits: the most that a number has.
            errors: whether numbers carry their standard error: 2.259(12) is 2.259 +- 0.012.

        Example:
            >>> S, vmax, km = sp.symbols("S vmax km")
            >>> law = Formula(vmax * S / (km + S), (Parameter("vmax", 212.68, 6.9),
            ...               Parameter("km", 0.0641, 0.0083)), Names(["S"]), "rate")
            >>> print(law.latex(errors=True))
            \frac{213(7) \, S}{S + 0.064(8)}
        """
        if not errors:
            words = self._words_in_latex()
            return str(sp.latex(self.rounded(digits), symbol_names=words, full_prec=False))
        check.integer(digits, "digits", 1)
        return _latex_with_errors(self, digits)

    def _words_in_latex(self) -> dict[sp.Symbol, str]:
        """How LaTeX writes columns and the constants that keep their names."""
        given = {p.symbol: in_latex(p.name) for p in self.parameters if p.given}
        return {**given, **names_in_latex(self.names)}

    def to_python(self, name: str = "law") -> str:
        """Return the source of a function of the columns; all it needs is numpy."""
        about = f"{self.target} = {short(self.rounded())}".replace("\\", "\\\\").replace('"', "'")
        return to_python(self.template, self.names, self.parameters, name, about)

    def to_c(self, name: str = "law") -> str:
        """Return the source of a C function of the columns, to be linked with -lm."""
        return to_c(self.template, self.names, self.parameters, name)

    def predict(self, X: Any) -> np.ndarray:
        """Return the target for each row of X; nan or inf where the formula is undefined.

        Args:
            X: (rows, columns) in the order of `names`, or a DataFrame with these columns.
        """
        rows = rows_of(X, self.names.columns)
        with np.errstate(all="ignore"):
            values = self._function(*rows.T)
        return np.array(np.broadcast_to(values, len(rows)))

    @cached_property
    def _function(self) -> Any:
        return compiled(self.template, self.names, self.parameters)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {name_in_latex(self.target)} = {self.latex()}$"


def name_in_latex(name: str) -> str:
    """Return the name of a column or target as LaTeX writes it, words upright."""
    own = Names([name])
    return str(sp.latex(own.symbols[0], symbol_names=names_in_latex(own)))


def names_in_latex(names: Names) -> dict[sp.Symbol, str]:
    """Return how LaTeX writes each column, for `sympy.latex(formula, symbol_names=...)`."""
    return {**{s: in_latex(s.name) for s in names.symbols}, **names.latex}


def _latex_with_errors(formula: Formula, digits: int) -> str:
    """Put marks in for the numbers, which sort before all names, and write these as numbers."""
    values, written = {}, formula._words_in_latex()
    for n, p in enumerate(formula.parameters):
        if p.given:
            continue
        known = p.exact is None and math.isfinite(p.stderr) and p.stderr > 0
        if not known:
            values[p.symbol] = (
                to_digits(p.value, p.stderr, digits) if p.exact is None else decimal(p.exact)
            )
            continue
        mark = sp.Symbol(f"!{n:03}", positive=True)
        values[p.symbol] = -mark if p.value < 0 else mark
        number = with_error(abs(p.value), p.stderr, r"\times 10^{{{}}}")
        raised = any(power.base == p.symbol for power in formula.template.atoms(sp.Pow))
        written[mark] = rf"\left({number}\right)" if raised else number
    shown = substitute(formula.template, values)
    printer = _NumbersLast({"symbol_names": written, "full_prec": False, "mul_symbol": r" \, "})
    # two numbers side by side would read as one
    return re.sub(r"(?<=\)) \\, (?=\d)", r" \\cdot ", printer.doprint(shown))


class _NumbersLast(LatexPrinter):
    """Writes V - 0.043(4), where the order of the marks would put the number first."""

    def _as_ordered_terms(self, expr: sp.Expr, order: Any = None) -> list[sp.Expr]:
        terms = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda term: all(s.name[0] == "!" for s in term.free_symbols))
