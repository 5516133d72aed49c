"""A formula with parameters: read, written, evaluated, and exported as Python and C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.c import C99CodePrinter
from sympy.printing.numpy import NumPyPrinter

from ..._core import checks as check
from ...symbols import Names
from ...tables import rows_of
from ._expressions import decimal, operations, settled, short, substitute, to_digits
from ._records import Parameter


def to_python(
    expr: sp.Expr, names: Names, parameters: Sequence[Parameter], name: str, about: str = ""
) -> str:
    """Return the source of a function of the columns that needs nothing but numpy.

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
    body += [f"{p.name} = {p.value!r}{_remark(p, '  # ')}" for p in _used(expr, parameters)]
    value = _text(_NumPy({"fully_qualified_modules": True}), expr, names)
    if not used:
        shapes = ", ".join(f"numpy.shape({column})" for column in names.identifiers)
        value = f"numpy.full(numpy.broadcast_shapes({shapes}), {value}, dtype=float)"
    lines = [f"def {name}({arguments}):", *(f"    {line}" for line in [*body, f"return {value}"])]
    return "import numpy\n\n\n" + "\n".join(lines) + "\n"


def to_c(expr: sp.Expr, names: Names, parameters: Sequence[Parameter], name: str) -> str:
    """Return the source of a C function of the columns; link it with -lm."""
    _check_name(name)
    arguments = ", ".join(f"double {column}" for column in names.identifiers) or "void"
    body = [
        f"const double {p.name} = {p.value!r};{_remark(p, ' /* ', ' */')}"
        for p in _used(expr, parameters)
    ]
    unused = [
        f"(void){identifier};"
        for identifier, symbol in zip(names.identifiers, names.symbols, strict=True)
        if not expr.has(symbol)
    ]
    numbers = {n: sp.Float(float(n), 17) for n in expr.atoms(sp.NumberSymbol)}
    value = _text(_C(), expr.xreplace(numbers), names)
    lines = [*unused, *body, f"return {value};"]
    return (
        "#include <math.h>\n\n"
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


def _remark(parameter: Parameter, before: str, after: str = "") -> str:
    exact = parameter.exact
    return "" if exact is None or exact.is_Integer else f"{before}{exact}{after}"


def _text(printer: Any, expr: sp.Expr, names: Names) -> str:
    code = {s: sp.Symbol(i) for s, i in zip(names.symbols, names.identifiers, strict=True)}
    written = str(printer.doprint(expr.xreplace(code)))
    if "Not supported" in written or "math." in written:  # math knows no arrays
        raise ValueError(f"{expr} has a function that cannot be written as code")
    return written


class _NumPy(NumPyPrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Max(self, expr: sp.Expr) -> str:
        return reduce("numpy.maximum({}, {})".format, map(self._print, expr.args))

    def _print_Min(self, expr: sp.Expr) -> str:
        return reduce("numpy.minimum({}, {})".format, map(self._print, expr.args))


class _C(C99CodePrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Pow(self, expr: sp.Pow) -> str:
        # As numpy does it; pow may differ from it in the last bit.
        if expr.exp == 2 and expr.base.is_Symbol:
            base = self._print(expr.base)
            return f"({base}*{base})"
        return str(super()._print_Pow(expr))


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
        return to_python(self.template, self.names, self.parameters, name, about)

    def to_c(self, name: str = "law") -> str:
        """Return the source of a C function of the columns, to be linked with -lm."""
        return to_c(self.template, self.names, self.parameters, name)

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
        return compiled(self.template, self.names, self.parameters)

    def _repr_latex_(self) -> str:
        target = Names([self.target])
        left = sp.latex(target.symbols[0], symbol_names=target.latex)
        return f"$\\displaystyle {left} = {self.latex()}$"
