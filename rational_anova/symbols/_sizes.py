"""How large the numbers of a formula would become, told before sympy computes any of them.

sympy works out 9**9999 to the last digit as it is read, and floor(exp(exp(100))) to 10**43 of
them. Here a formula is followed in float64, with a bound on the digits of exact numbers; one that
would leave the range of float64, or have too many digits, is refused.
"""

from __future__ import annotations

import ast
import cmath
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

_LARGEST = 1e300
_SMALLEST = 1e-300
_MOST_BITS = 10_000  # of an exact number: a fraction whose terms have 3,000 digits
_LONGEST = 20_000  # letters of a formula
_DEEPEST = 30  # functions and powers in one another: sympy goes down dozens of calls for each
_ROUNDING = 1e-15
_UNSURE = 1e-3  # relative error from which a value is not known

Function = Callable[..., complex]
_CONSTANTS = {
    "pi": math.pi, "E": math.e, "I": 1j, "EulerGamma": 0.57722, "Catalan": 0.91597,
    "GoldenRatio": 1.61803,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], Function] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_SAME = {name: getattr(cmath, name) for name in (
    "sqrt", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
    "acosh", "atanh",
)}  # fmt: skip


def _logarithm(x: complex, base: complex = math.e) -> complex:
    return cmath.log(x) / cmath.log(base)


def _largest(*values: complex) -> complex:
    return max(values, key=abs)


_FUNCTIONS: dict[str, Function] = {
    **_SAME, "abs": abs, "Abs": abs, "cbrt": lambda x: x ** (1 / 3), "log": _logarithm,
    "ln": _logarithm, "cot": lambda x: 1 / cmath.tan(x), "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x), "coth": lambda x: 1 / cmath.tanh(x),
    "acoth": lambda x: cmath.atanh(1 / x), "floor": lambda x: x, "ceiling": lambda x: x,
    "Max": _largest, "max": _largest, "Min": _largest, "min": _largest,
}  # fmt: skip


@dataclass(frozen=True)
class _Size:
    """What is known of a part of a formula.

    Args:
        value: of a part that is a number, about; of other parts, that of the number that sympy
            keeps before them.
        bits: of numerator and denominator of an exact number, at most.
        error: of the value, relative.
        number: whether the part is a number.
    """

    value: complex = 1.0
    bits: int = 0
    error: float = 0.0
    number: bool = False


def check_sizes(tree: ast.AST, line: str, values: Mapping[str, float]) -> None:
    """Raise ValueError if a number of a formula would be too large, or have too many digits.

    Args:
        tree: the formula.
        line: its text.
        values: of names that stand for numbers.
    """
    if len(line) > _LONGEST:
        raise ValueError(f"the formula has {len(line):,} letters; {_LONGEST:,} are the most")
    if _depth(tree) > _DEEPEST:
        raise ValueError(f"the formula has functions of functions, more than {_DEEPEST} deep")
    _size(tree, values)


def _depth(node: ast.AST) -> int:
    """Return how many functions and powers stand in one another."""
    own = isinstance(node, ast.Call) or isinstance(getattr(node, "op", None), ast.Pow)
    return own + max(map(_depth, ast.iter_child_nodes(node)), default=0)


def _size(node: ast.AST, values: Mapping[str, float]) -> _Size:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _literal(node, node.value)
    if isinstance(node, ast.Name):
        value = values.get(node.id, _CONSTANTS.get(node.id))
        return _Size() if value is None else _Size(value, 0, _ROUNDING, True)
    if isinstance(node, ast.UnaryOp):
        found = _size(node.operand, values)
        return replace(found, value=-found.value) if isinstance(node.op, ast.USub) else found
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _operation(node, _size(node.left, values), _size(node.right, values))
    if isinstance(node, ast.Call):
        return _call(node, [_size(part, values) for part in node.args])
    return _Size()


def _literal(node: ast.AST, value: float) -> _Size:
    if abs(value) > _LARGEST:
        raise too_large(node)
    return _Size(float(value), value.bit_length() if isinstance(value, int) else 0, _ROUNDING, True)


def _operation(node: ast.BinOp, left: _Size, right: _Size) -> _Size:
    number, bits = left.number and right.number, left.bits + right.bits
    if isinstance(node.op, ast.Pow):
        if not right.number:
            return _Size()
        bits = int(min(left.bits * max(abs(right.value), 1.0), 2 * _MOST_BITS))
    elif not number and isinstance(node.op, ast.Add | ast.Sub):
        return _Size()
    return _found(node, _OPERATORS[type(node.op)], (left, right), bits, number)


def _call(node: ast.Call, given: list[_Size]) -> _Size:
    if not given or not all(one.number for one in given):
        return _Size()
    known = _FUNCTIONS.get(getattr(node.func, "id", ""))
    if known is None:  # such as erf: none of them leaves [-4, 4]
        return _Size(4.0, 0, _ROUNDING, True)
    return _found(node, known, given, 0, True)


def _found(node: ast.AST, work: Function, given: Sequence[_Size], bits: int, number: bool) -> _Size:
    """Return what comes of parts, and how far it moves as they move by their errors."""
    if bits > _MOST_BITS:
        raise too_large(node)
    try:
        value = work(*(one.value for one in given))
        moved = [
            work(*(one.value * (1 + sign**at * one.error) for at, one in enumerate(given)))
            for sign in (1, -1)
        ]
        away = max(abs(other - value) for other in moved)
        size = abs(value)
    except (OverflowError, ValueError, ZeroDivisionError, TypeError):
        raise too_large(node) from None
    known = away <= _UNSURE * size
    too_small = number and not (known and size > _SMALLEST) and not size == away == 0
    if too_small or not size < _LARGEST:
        raise too_large(node)
    return _Size(value, bits, _ROUNDING + (away / size if size else 0.0), number)


def too_large(number: ast.AST | str) -> ValueError:
    """Return the error for a number that no formula may have."""
    text = number if isinstance(number, str) else ast.unparse(number)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return ValueError(
        f"the formula has {shown!r}, which is too large or too small a number (below 1e-300, above "
        "1e300), or has too many digits; write its value"
    )
