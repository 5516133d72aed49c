"""Formulas from text, without evaluating any of it as code."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from typing import Any

import sympy as sp

from ._sizes import check_sizes, too_large

_ELEMENTARY = (
    "Abs Max Min abs max min sign sqrt cbrt exp log ln floor ceiling sin cos tan cot sec csc asin "
    "acos atan acot asec acsc atan2 sinh cosh tanh coth asinh acosh atanh acoth erf erfc "
    "besselj"
)
FUNCTIONS = frozenset(_ELEMENTARY.split())  # that a formula may call
_CONSTANTS = {
    "pi": sp.pi, "E": sp.E, "I": sp.I, "oo": sp.oo, "zoo": sp.zoo, "nan": sp.nan,
    "EulerGamma": sp.EulerGamma, "Catalan": sp.Catalan, "GoldenRatio": sp.GoldenRatio,
}  # fmt: skip
# Capitals that people write for an energy or a current, and what has no value.
_NO_NAMES = {
    "E": "Euler's number (say exp(1) for it)", "I": "the imaginary unit", "oo": "infinity",
    "zoo": "infinity", "nan": "no number",
}  # fmt: skip
_PLAIN_FUNCTIONS = {
    "sqrt": sp.sqrt, "cbrt": sp.cbrt, "ln": sp.log, "abs": sp.Abs, "max": sp.Max, "min": sp.Min,
}  # fmt: skip
_ARGUMENTS = {  # least and most, where not one
    "atan2": (2, 2), "log": (1, 2), "ln": (1, 2), "besselj": (2, 2),
    "Max": (1, 99), "max": (1, 99), "Min": (1, 99), "min": (1, 99),
}  # fmt: skip
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_ARITHMETIC = (
    ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.UAdd, ast.USub, *_OPERATORS,
)  # fmt: skip


def parse(
    text: str, symbols: Mapping[str, sp.Symbol], values: Mapping[str, float] | None = None
) -> sp.Expr:
    """Read a formula in the given symbols, and in c0, c1, ... as parameters.

    Args:
        text: the formula.
        symbols: by their names in it.
        values: of names that numbers will be put in for: these must not become too large, either.
    """
    if not isinstance(text, str):
        raise TypeError(f"a formula must be text, got {type(text).__name__}")
    line = " ".join(text.split())
    try:
        tree = ast.parse(line, mode="eval")
        check_sizes(tree.body, line, values or {})
        return _Reader(line, symbols).read(tree.body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read the formula {_short(line)!r}: {error}") from error


def check_formula(text: str) -> None:
    """Raise where `parse` would, whatever the names; a hundred times as fast, for long lists.

    Example:
        >>> check_formula("a*exp(-b*x)")
        >>> check_formula("a*gamma(x)")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: the formula has the unknown function 'gamma'; it may have Abs, Max, ...
    """
    names_in(text)
    for node in ast.walk(ast.parse(" ".join(text.split()), mode="eval").body):
        if isinstance(node, ast.Call):
            _check_call(node)
        elif isinstance(node, ast.BinOp) and not isinstance(node.op, _OPERATORS):
            raise ValueError(f"the formula has {ast.unparse(node)!r}; it may have + - * / and **")
        elif isinstance(node, ast.Constant) and type(node.value) not in (int, float):
            raise ValueError(f"the formula has {node.value!r} where a number should be")
        elif not isinstance(node, _ARITHMETIC):
            raise ValueError(f"cannot read the formula {_short(text)!r}: "
                             f"{ast.unparse(node)!r} is not arithmetic")  # fmt: skip


def _check_call(node: ast.Call) -> None:
    name = getattr(node.func, "id", ast.unparse(node.func))
    if name not in FUNCTIONS:
        raise unknown_function(name)
    least, most = _ARGUMENTS.get(name, (1, 1))
    if node.keywords or not least <= len(node.args) <= most:
        raise ValueError(f"the formula calls {name} in a wrong way: {ast.unparse(node)!r}")


def names_in(text: str) -> tuple[str, ...]:
    """Return the names that a formula is written in, in order of first appearance.

    Functions (whatever is called) and pi are none. A name that the formula could not keep is
    refused: a keyword of Python, a function without its brackets, Euler's number E, I, oo, nan.

    Example:
        >>> names_in("vmax*S/(km + S) + exp(-k*pi)")
        ('vmax', 'S', 'km', 'k')
    """
    if not isinstance(text, str):
        raise TypeError(f"a formula must be text, got {type(text).__name__}")
    line = " ".join(text.split())
    for word in re.findall(r"(?<![\w.])[^\W\d]\w*", line):
        if keyword.iskeyword(word):
            raise ValueError(f"the formula {_short(line)!r} has the name {word!r}, which Python "
                             f"keeps for itself; write {word.lower()}_")  # fmt: skip
    try:
        tree = ast.parse(line, mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read the formula {_short(line)!r}: {error}") from error
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    names = [node.id for node in sorted(found, key=lambda node: node.col_offset)]
    return tuple(dict.fromkeys(name for name in names if _is_free(name, line)))


def _is_free(name: str, line: str) -> bool:
    """Return whether a name is one to choose; raise where it looks so and is not."""
    if name in FUNCTIONS:
        raise ValueError(f"the formula {_short(line)!r} has the function {name!r} without its "
                         f"argument; write {name}(...), or {name}_ for a name")  # fmt: skip
    if name in _NO_NAMES:
        raise ValueError(f"the formula {_short(line)!r} has {name!r}, which is {_NO_NAMES[name]}; "
                         f"write {name}_ for a name")  # fmt: skip
    return name not in _CONSTANTS


class _Reader:
    def __init__(self, line: str, symbols: Mapping[str, sp.Symbol]) -> None:
        self.line, self.symbols = line.encode(), symbols

    def read(self, node: ast.AST) -> sp.Expr:
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Constant):
            return self._number(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.read(node.operand)
            return value if isinstance(node.op, ast.UAdd) else _times(sp.Integer(-1), value)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(node.func.id, [self.read(part) for part in node.args])
        raise ValueError(f"cannot read the formula {_short(self.line.decode())!r}: "
                         f"{ast.unparse(node)!r} is not arithmetic")  # fmt: skip

    def _name(self, name: str) -> sp.Expr:
        if name in self.symbols:
            return self.symbols[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if re.fullmatch(r"c[0-9]+", name):
            return sp.Symbol(name)
        known = ", ".join(self.symbols) or "no columns"
        raise ValueError(f"the formula has the unknown name {name!r}; it may have {known}, "
                         "parameters c0, c1, ... and pi")  # fmt: skip

    def _number(self, node: ast.Constant) -> sp.Expr:
        value: Any = node.value
        if isinstance(value, int) and not isinstance(value, bool):
            return sp.Integer(value)
        if not isinstance(value, float):
            raise ValueError(f"the formula has {value!r} where a number should be")
        written = self.line[node.col_offset : node.end_col_offset].decode().replace("_", "")
        digits = len(written.lower().split("e")[0].replace(".", "").lstrip("0"))
        if digits and value == 0:  # as of 1e-400
            raise too_large(written)
        # 17 digits are how a float64 is written in full, and stand for that number
        return sp.Float(value, 17) if digits in (16, 17) else sp.Float(written)

    def _operation(self, node: ast.BinOp) -> sp.Expr:
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return _times(left, right)
        if isinstance(node.op, ast.Div):
            return _times(left, 1 / right)
        if isinstance(node.op, ast.Pow):
            return left**right
        raise ValueError(f"the formula has {ast.unparse(node)!r}; it may have + - * / and **")

    def _call(self, name: str, arguments: list[sp.Expr]) -> sp.Expr:
        function: Any = _PLAIN_FUNCTIONS.get(name, getattr(sp, name, None))
        # the list keeps out factorial(10**9) and its like
        if name not in FUNCTIONS or function is None:
            raise unknown_function(name)
        if name == "besselj" and arguments and not arguments[0].is_Integer:
            raise ValueError(f"besselj needs a whole number as its order, as in besselj(0, x), "
                             f"got {arguments[0]}")  # fmt: skip
        try:
            return function(*arguments)
        except TypeError as error:
            raise ValueError(f"the formula calls {name} in a wrong way: {error}") from error


def _times(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    """Multiply; a number times a sum stays so, where sympy would multiply it out."""
    for number, other in ((left, right), (right, left)):
        if number.is_Rational and other.is_Add and number not in (0, 1):
            return sp.Mul(number, other, evaluate=False)
    return left * right


def unknown_function(name: str) -> ValueError:
    """Return the error that names a function which no formula may have, and those it may."""
    known = ", ".join(sorted(FUNCTIONS))
    return ValueError(f"the formula has the unknown function {name!r}; it may have {known}")


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
