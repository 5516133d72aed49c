"""Formulas with numbers put in, counted, and written so that they can be read back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
from sympy.printing.str import StrPrinter

from ...symbols import program

_ALL_DIGITS = 16
_SEEN = 0.01  # of what a formula spans on a box: a difference that a reader would see


def substitute(expr: sp.Expr, values: Mapping[sp.Basic, sp.Basic]) -> sp.Expr:
    """Put values in for symbols or numbers; a number times a sum stays so, for the reader."""
    if expr in values:
        return values[expr]
    if not expr.args:
        return expr
    args = [substitute(arg, values) for arg in expr.args]
    if all(new is old for new, old in zip(args, expr.args, strict=True)):
        return expr
    if expr.is_Mul:
        number = sp.Mul(*(arg for arg in args if arg.is_Number))
        rest = sp.Mul(*(arg for arg in args if not arg.is_Number))
        if rest.is_Add and number not in (0, 1):
            return sp.Mul(number, rest, evaluate=False)
    return expr.func(*args)


def settled(expr: sp.Expr) -> sp.Expr:
    """Give every float of a formula 17 digits, so that what text brings back is equal."""
    floats = {number: sp.Float(float(number), 17) for number in expr.atoms(sp.Float)}
    return substitute(expr, {old: new for old, new in floats.items() if old != new})


def text(expr: sp.Expr) -> str:
    """Write a formula with every digit that its floats need to be read back without loss."""
    return str(_FullPrinter({"order": None}).doprint(expr))


def short(expr: sp.Expr) -> str:
    """Write a formula for reading: no zeros at the end of a number."""
    return str(sp.sstr(expr, full_prec=False))


def readable(expr: sp.Expr, digits: int = 6) -> str:
    """Write a formula with its floats rounded to so many digits."""
    floats = expr.atoms(sp.Float)
    return short(substitute(expr, {f: to_digits(float(f), math.nan, digits) for f in floats}))


def readable_on(
    expr: sp.Expr, symbols: Sequence[sp.Symbol], box: Sequence[tuple[float, float]], digits: int = 4
) -> str:
    """Write a formula with few digits, or as many as it takes to be the same on a box.

    Example:
        >>> x = sp.Symbol("x")
        >>> readable_on((x - sp.Float(2450003.991)) ** 2, [x], [(2450000, 2450008)])
        '(x - 2450004.0)**2'
    """
    low, high = np.array(box, dtype=float).reshape(-1, 2).T
    points = low + np.linspace(0, 1, 41)[:, None] * (high - low)
    for more in range(digits, _ALL_DIGITS):
        shown = readable(expr, more)
        rounded = substitute(
            expr, {f: to_digits(float(f), math.nan, more) for f in expr.atoms(sp.Float)}
        )
        true, said = (program(symbols, [e])(*points.T)[0] for e in (expr, rounded))
        apart, span = np.max(np.abs(true - said)), np.ptp(np.broadcast_to(true, len(points)))
        if not apart > _SEEN * span:  # where neither has a value, nothing is to be compared
            return shown
    return shown


def to_digits(value: float, stderr: float, digits: int) -> sp.Expr:
    """Round to `digits` significant digits, and to no more than the standard error supports.

    Two digits of the error are kept: 8.31446 with an error of 0.02 becomes 8.314.
    """
    if value == 0:
        return sp.Integer(0)
    size = math.floor(math.log10(abs(value)))
    kept = digits
    if math.isfinite(stderr) and stderr > 0:
        kept = min(digits, size - math.floor(math.log10(stderr)) + 2)
    kept = max(kept, 1)
    rounded = float(f"{value:.{kept - 1}e}")
    return sp.Float(repr(rounded), max(kept, 2))


def decimal(number: sp.Expr) -> sp.Expr:
    """Write a fraction such as 4157/50000 as the decimal that it is; others stay."""
    if not number.is_Rational or number.q == 1 or max(abs(number.p), number.q) <= 12:
        return number
    rest = number.q
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return sp.Float(repr(float(number)), 15) if rest == 1 else number


def with_error(value: float, stderr: float, power: str = "e{}") -> str:
    """Write a number with the error of its last digits in brackets, as particle physicists do.

    The error has two digits if they are below 3.55, else one.

    Args:
        value: the number.
        stderr: its standard error, positive and finite.
        power: how a power of ten is written behind it.

    Example:
        >>> with_error(2.2591, 0.0123), with_error(1.2345e-5, 4e-7), with_error(-12345.0, 120.0)
        ('2.259(12)', '1.23(4)e-5', '-1.234(12)e4')
    """
    lead = math.floor(math.log10(stderr))
    leading = round(stderr / 10.0 ** (lead - 2))
    place = lead - 1 if leading < 355 else lead  # of the last digit that is kept
    shown = round(stderr / 10.0**place)
    size = math.floor(math.log10(max(abs(value), stderr)))
    shift = size if place > 0 or size < -3 else 0
    decimals = max(shift - place, 0)
    number = f"{value / 10.0**shift:.{decimals}f}({shown})"
    return number + (power.format(shift) if shift else "")


_GREEK = frozenset(
    (
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
        "omega",
    )
)  # fmt: skip


def in_latex(name: str) -> str:
    r"""Write a name in LaTeX: words upright, Greek letters and single letters as they are.

    Example:
        >>> in_latex("vmax"), in_latex("k_cat"), in_latex("theta0"), in_latex("x1")
        ('\\mathrm{vmax}', 'k_{\\mathrm{cat}}', '\\theta_{0}', 'x_{1}')
    """
    head, _, index = name.partition("_")
    if not index:
        head = name.rstrip("0123456789") or name
        index = name[len(head) :]
    written = [_word(part) for part in (head, index) if part]
    return written[0] + "".join(f"_{{{part}}}" for part in written[1:])


def _word(part: str) -> str:
    plain = len(part) == 1 or part.isdigit() or part.lower() in _GREEK
    return str(sp.latex(sp.Symbol(part))) if plain else rf"\mathrm{{{part}}}"


def operations(expr: sp.Expr) -> int:
    """Count the operations of a formula, as the paper's tables do.

    Each + - * / counts one, as does each function (sqrt, exp, ...) and each power of more than a
    name; a whole power of a name, as in a/V**2, counts none, nor does a sign. So R*T/(V - b) -
    a/V**2 has five operations, V*S/(K + S) three and 1/((E**2 - M**2)**2 + M**2*G**2) five.

    Example:
        >>> R, T, V, a, b = sp.symbols("R T V a b")
        >>> operations(R * T / (V - b) - a / V**2)
        5
    """
    if not expr.args or expr.is_Number:
        return int(expr.is_Rational and expr.q != 1)
    if expr.is_Pow and not expr.exp.is_number:
        return 1 + operations(expr.base) + operations(expr.exp)
    if expr.is_Mul or expr.is_Pow:
        return _product(sp.Mul.make_args(expr))
    inner = sum(operations(arg) for arg in expr.args)
    if isinstance(expr, sp.Piecewise):
        return inner + len(expr.args) - 1
    return inner + (len(expr.args) - 1 if len(expr.args) > 1 else 1)


def _product(factors: tuple[sp.Expr, ...]) -> int:
    above = below = inside = 0
    for factor in factors:
        if factor.is_Rational:
            above += abs(factor.p) != 1
            below += factor.q != 1
            continue
        base, exponent = factor.as_base_exp()
        if not exponent.is_number:
            base, exponent = factor, sp.Integer(1)
        if exponent.is_negative:
            below, exponent = below + 1, -exponent
        else:
            above += 1
        plain = exponent == 1 or (exponent.is_Integer and base.is_Symbol)
        inside += operations(base) + (not plain)
    return int(max(above, 1) - 1 + below + inside)


class _FullPrinter(StrPrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))
