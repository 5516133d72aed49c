"""Whether a formula is sound in its units, and which units its parameters have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from ._homogeneity import Dimension, Misfit, System, Unknown, Walk, plus
from ._scales import generic
from ._units import Units, Unsound, pint_unit, registry, written

_TARGET = "target"  # apart from symbols, which are the other keys
_BASE = {
    "[length]": "m", "[mass]": "kg", "[time]": "s", "[current]": "A", "[temperature]": "K",
    "[substance]": "mol", "[luminosity]": "cd",
}  # fmt: skip

_Misfit = Callable[[Misfit, Dimension, Dimension], None]


def is_sound(formula: sp.Expr, units: Units) -> bool:
    """Say whether a formula has the units of the target, with numbers that have none.

    Example:
        >>> from rational_anova.discovery.dimensions import read_units
        >>> units = read_units({"m": "kg", "v": "m/s", "E": "J"}, ["m", "v"], "E")
        >>> m, v = units.symbols
        >>> is_sound(m * v**2 / 2, units), is_sound(m * v / 2, units)
        (True, False)
    """
    try:
        check_sound(formula, units)
    except Unsound:
        return False
    return True


def check_sound(formula: sp.Expr, units: Units) -> None:
    """Raise `Unsound` with the part that does not fit; numbers have no units."""
    formula = sp.sympify(formula)
    known = {symbol: units.of(symbol).dimension for symbol in formula.free_symbols}
    Walk(known, {}, _raises(units)).solve(formula, units.of_target.dimension)


def parameter_units(
    formula: sp.Expr,
    parameters: Sequence[sp.Symbol],
    units: Units,
    values: Mapping[sp.Symbol, float] | None = None,
) -> dict[str, str]:
    """Return the unit of every parameter, in terms of the units of the columns.

    Args:
        formula: in columns, constants and parameters; its numbers have no units.
        parameters: the free numbers.
        units: of the columns, the target and the constants.
        values: of the parameters; needed for those in exponents, by which the units of others may
            depend, and rounded to thousandths there.

    Returns:
        Text by name of the parameter: "1" for none, "" where it depends on an exponent whose value
        is not given. Where only a product of parameters has a unit, the first one gets it.

    Raises:
        Unsound: whatever the parameters are, some part does not fit.

    Example:
        >>> from rational_anova.discovery.dimensions import read_units
        >>> units = read_units({"S": "mmol/L", "v": "mmol/L/min"}, ["S"], "v")
        >>> a, b, S = sp.symbols("a b S")
        >>> parameter_units(a * S / (b + S), (a, b), units)
        {'a': 'mmol/L/min', 'b': 'mmol/L'}
    """
    formula = sp.sympify(formula)
    inputs = {s: units.of(s).dimension for s in formula.free_symbols - set(parameters)}
    first, second = (_exponents(parameters, values or {}, number) for number in (0, 1))
    target, raises = units.of_target.dimension, _raises(units)
    real = _solved(formula, parameters, inputs, target, first, raises)
    again = _solved(formula, parameters, inputs, target, second, raises)
    # Once more with a key for each column, to have the answer in the units that were given.
    own: dict[sp.Symbol, Dimension] = {symbol: {symbol: Fraction(1)} for symbol in inputs}
    given = _solved(formula, parameters, own, {_TARGET: Fraction(1)}, first, _ignores)
    return {
        parameter.name: _text(given[parameter], units)
        if real[parameter] == again[parameter]
        else ""
        for parameter in parameters
    }


def _exponents(
    parameters: Sequence[sp.Symbol], values: Mapping[sp.Symbol, float], number: int
) -> dict[sp.Symbol, sp.Rational]:
    """Return the values of exponents: those given, others at random."""
    given = {str(key): value for key, value in values.items()}
    free = generic(parameters, number)
    return {
        parameter: _rounded(given[parameter.name]) if parameter.name in given else free[parameter]
        for parameter in parameters
    }


def _rounded(value: Any) -> sp.Rational:
    exact = sp.sympify(value)
    return exact if exact.is_Rational else sp.Rational(round(1000 * float(exact)), 1000)


def _solved(
    formula: sp.Expr,
    parameters: Sequence[sp.Symbol],
    inputs: Mapping[sp.Symbol, Dimension],
    target: Dimension,
    exponents: Mapping[sp.Symbol, sp.Rational],
    misfit: _Misfit,
) -> dict[sp.Symbol, Dimension]:
    """Return the dimension of every parameter; none for what the formula leaves open."""
    known: dict[sp.Symbol, Dimension] = dict(inputs)
    known |= {symbol: {Unknown(symbol): Fraction(1)} for symbol in parameters}
    system = Walk(known, exponents, misfit).solve(formula, target)
    result = [(symbol, _closed(system, Unknown(symbol))) for symbol in reversed(parameters)]
    return dict(result)


def _closed(system: System, unknown: Unknown) -> Dimension:
    if system.solved(unknown) is None:
        system.require({unknown: Fraction(1)}, {})
    return system.solved(unknown) or {}


def _ignores(_: Misfit, left: Dimension, right: Dimension) -> None:
    """Let a misfit be: columns of one unit are of one kind, which their symbols do not show."""


def _raises(units: Units) -> _Misfit:
    def misfit(found: Misfit, left: Dimension, right: Dimension) -> None:
        raise Unsound(_words(found, left, right, units))

    return misfit


def _words(found: Misfit, left: Dimension, right: Dimension, units: Units) -> str:
    """Return a sentence on what does not fit."""
    one = _has(found.left, left, units)
    if found.right is not None:
        other = _has(found.right, right, units)
        return f"the units do not fit in {found.part}: {one}, {other}"
    if found.of_target:
        return f"{one}, but {units.target} is in {units.of_target.text}"
    return f"the units do not fit in {found.part}: {one}, and must have no unit"


def _has(part: sp.Expr, dimension: Dimension, units: Units) -> str:
    text = _named(dimension, part, units)
    return f"{part} has no unit" if text == "1" else f"{part} is in {text}"


def _named(dimension: Dimension, part: sp.Expr, units: Units) -> str:
    """Return the text of a dimension: the own unit of a symbol, one that is in use, or SI."""
    symbols = {symbol.name: name for symbol, name in units.symbols.items()}
    if part.is_Symbol and part.name in symbols:
        return units.inputs[symbols[part.name]].text
    for unit in (units.of_target, *units.inputs.values()):
        if unit.dimension == dimension:
            return unit.text
    return _in_base_units(dimension)


def _in_base_units(dimension: Dimension) -> str:
    if not dimension.keys() <= _BASE.keys():
        return "an open unit"  # of parameters that could not be solved yet
    return written(_power_product({_BASE[str(key)]: power for key, power in dimension.items()}))


def _power_product(powers: Mapping[str, Fraction]) -> Any:
    result = registry().parse_units("")
    for text, power in powers.items():
        whole = power.denominator == 1
        result = result * pint_unit(text) ** (int(power) if whole else float(power))
    return result


def _text(given: Dimension, units: Units) -> str:
    """Return a unit as a product of those of the columns and the target."""
    texts = {symbol: units.of(symbol).text for symbol in given if symbol != _TARGET}
    texts[_TARGET] = units.of_target.text
    powers: Dimension = {}
    for key, power in given.items():
        powers = plus(powers, {texts[key]: power})
    unit = _power_product({str(text): power for text, power in powers.items()})
    own = [each.text for each in (units.of_target, *units.inputs.values())]
    return next((text for text in own if pint_unit(text) == unit), written(unit))
