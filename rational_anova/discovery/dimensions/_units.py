"""Units of columns, read by pint: what each is a power of, and how it converts."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import sympy as sp

from ...symbols import Names
from ._homogeneity import Dimension

_NO_UNIT = frozenset({"", "1", "-", "none", "dimensionless"})
_DIGITS = re.compile(r"(?<=[^\W\d_])([+-]?\d+)(?!\w|\.)")  # of m2, s-1
_DOTTED = re.compile(r"[^\W\d]\.")  # of a.u.
_HEADER = re.compile(r"^(?P<name>.*?\S)\s*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>.+)\))\s*$")
_SIGNS = str.maketrans(
    {"\u2212": "-", "\u22c5": "*", "\u2219": "*", "\u00d7": "*"}
)  # minus, dots, cross
_DENOMINATOR = 100  # of a power in a unit


class Unsound(ValueError):
    """A formula, or a wish for one, in which the units do not fit."""


@dataclass(frozen=True)
class Unit:
    """A unit that numbers are multiples of.

    Args:
        text: as it was given, "1" for none.
        powers: of the base dimensions, such as {"[length]": 3, "[substance]": -1}.
        factor: one of it in base units (m, kg, s, A, K, mol, cd, rad).
    """

    text: str
    powers: Mapping[str, Fraction] = field(default_factory=dict)
    factor: float = 1.0

    @property
    def dimension(self) -> Dimension:
        """The powers, as a dimension to compute with."""
        return {key: power for key, power in self.powers.items()}


@dataclass(frozen=True)
class Units:
    """The units of a table.

    Args:
        columns: name and unit of each input, in the order of the table.
        target: name of the target.
        of_target: its unit.
        constants: name and unit of each known constant.
        values: the numbers of the constants, in those units.
    """

    columns: Mapping[str, Unit]
    target: str
    of_target: Unit
    constants: Mapping[str, Unit] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def symbols(self) -> dict[sp.Symbol, str]:
        """The symbol of each column, as `Names` makes it, and of each constant."""
        columns = zip(Names(tuple(self.columns)).symbols, self.columns, strict=True)
        return {**dict(columns), **{sp.Symbol(name): name for name in self.constants}}

    @property
    def inputs(self) -> dict[str, Unit]:
        """Units of columns and of constants."""
        return {**self.columns, **self.constants}

    def of(self, symbol: sp.Symbol) -> Unit:
        """Return the unit of a symbol in a formula, by its name or by that of the column."""
        names = {own.name: name for own, name in self.symbols.items()}
        name = names.get(symbol.name, symbol.name)
        if name in self.inputs:
            return self.inputs[name]
        known = ", ".join(own.name for own in self.symbols)
        raise ValueError(f"the formula has {symbol}, which has no unit; there are {known}")

    def __str__(self) -> str:
        inputs = (f"{name} [{unit.text}]" for name, unit in self.inputs.items())
        return f"{self.target} [{self.of_target.text}] of {', '.join(inputs)}"


def read_units(
    units: Mapping[str, str],
    columns: Sequence[str],
    target: str,
    constants: Mapping[str, float] | None = None,
) -> Units:
    """Read the unit of every column, of the target and of every constant.

    Args:
        units: such as {"T": "K", "V": "L/mol", "R": "J/(mol K)", "angle": "1"}; nobody is left out.
        columns: names of the inputs.
        target: name of the target.
        constants: known numbers by name.

    Example:
        >>> read_units({"V": "L/mol", "T": "K", "p": "bar"}, ["T", "V"], "p").columns["V"].powers
        {'[length]': Fraction(3, 1), '[substance]': Fraction(-1, 1)}
    """
    if not isinstance(units, Mapping):
        raise TypeError(f'units must be a dict such as {{"T": "K"}}, got {units!r}')
    known = [*columns, target, *(constants or {})]
    _check_names(units, known)
    read = {name: _read(units[name], name) for name in known}
    return Units(
        {name: read[name] for name in columns},
        target,
        read[target],
        {name: read[name] for name in constants or {}},
        dict(constants or {}),
    )


def units_in_header(header: str) -> tuple[str, str] | None:
    """Return name and unit of a header such as "T [K]" or "p (bar)"; None if it has no unit.

    Example:
        >>> units_in_header("T [K]"), units_in_header("rate (state)"), units_in_header("time_s")
        (('T', 'K'), None, None)
    """
    found = _HEADER.match(header)
    if found is None:
        return None
    square = found["square"] is not None
    text = (found["square"] if square else found["round"]).strip()
    if text in _NO_UNIT:  # "run (1)" counts runs
        return (found["name"], "1") if square else None
    try:
        pint_unit(text)
    except ValueError:
        return None
    return found["name"], text


def parse_unit(text: str) -> Unit:
    """Return a unit from text; ValueError says what is wrong with it."""
    if not isinstance(text, str):
        raise TypeError(f'a unit must be text such as "K" or "1", got {text!r}')
    text = text.strip()
    return Unit("1") if text in _NO_UNIT else _parsed(text)


@lru_cache(maxsize=1000)
def _parsed(text: str) -> Unit:
    found = pint_unit(text)
    constant = [name for name in _names(found) if name.endswith("_constant")]
    if constant:
        raise ValueError(f"{text!r} is the {constant[0].replace('_', ' ')}{_case_hint(text)}")
    zero, one = (_in_base(number, found) for number in (0.0, 1.0))
    if zero != 0:
        raise ValueError(
            f"{text!r} has another zero than its base unit, so no law is a product of powers of "
            "it: convert the column first, temperatures to K, levels in dB to a ratio"
        )
    powers = {key: _exact(power) for key, power in found.dimensionality.items()}
    return Unit(text, {key: power for key, power in powers.items() if power}, _short(one))


def pint_unit(text: str) -> Any:
    """Return pint's unit from text; ValueError if it has none."""
    if text in _NO_UNIT:
        return registry().parse_units("")
    if _DOTTED.search(text):
        raise ValueError(f'{text!r} is no unit that pint knows; write "1" for plain numbers')
    plain = text.translate(_SIGNS)
    wrong: Exception | None = None
    for spelt in dict.fromkeys([plain, _DIGITS.sub(r"**\1", plain)]):
        try:
            return registry().parse_units(spelt)
        except ImportError:
            raise
        except Exception as error:  # pint has no common kind: AttributeError, AssertionError, ...
            wrong = error
    raise ValueError(_wrong(text, wrong))


def written(unit: Any) -> str:
    """Return a unit of pint in short, such as "mmol/L/min"; "1" for none."""
    text = f"{unit:~P}"
    if "⋅" in text:  # a decimal point among superscripts
        text = f"{unit:~C}".replace("**", "^").replace("*", "·")
    return text or "1"


@lru_cache(maxsize=1)
def registry() -> Any:
    """Return the one registry of units, made when it is first needed."""
    try:
        import pint
    except ImportError:
        raise ImportError(
            "units need pint: pip install 'rational-anova[units]', or leave out units="
        ) from None
    result: Any = pint.UnitRegistry(on_redefinition="ignore")
    result.define("liter = decimeter ** 3 = L = l = litre")  # "l" reads like "1"
    return result


def _in_base(number: float, unit: Any) -> float:
    try:
        return float(registry().Quantity(number, unit).to_base_units().magnitude)
    except Exception:  # compounds with offsets have no conversion at all
        return math.nan


def _short(number: float) -> float:
    """Return the short decimal that was meant: a litre is 0.001, not 0.0010000000000000002."""
    near = float(f"{number:.12g}")
    return near if math.isclose(near, number, rel_tol=2e-15) else number


def _names(unit: Any) -> list[str]:
    return [name for name, _ in registry().Quantity(1, unit).unit_items()]


def _exact(power: Any) -> Fraction:
    return Fraction(power).limit_denominator(_DENOMINATOR)


def _wrong(text: str, error: Exception | None) -> str:
    """Return what is wrong with the text of a unit, with what may be meant."""
    if type(error) is ValueError:  # pint's own kinds are others
        return f"{text!r} has a number in it: multiply the column by it, and give the unit alone"
    unknown = getattr(error, "unit_names", None) or [text]
    name = unknown if isinstance(unknown, str) else next(iter(unknown))
    return f"{text!r} is no unit that pint knows{_near(str(name), registry())}"


def _case_hint(text: str) -> str:
    return f"; did you mean {text.upper()!r}?" if text == "k" else "; give it by constants="


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 3, 0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _check_names(units: Mapping[str, str], known: Sequence[str]) -> None:
    for name in units:
        if name not in known:
            hint = _near(str(name), known) or f"; there are {', '.join(map(repr, known))}"
            raise ValueError(f"units names {name!r}, which is no column{hint}")
    missing = [name for name in known if name not in units]
    if missing:
        raise ValueError(
            f"units says nothing of {', '.join(map(repr, missing))}; "
            f'give each a unit, "1" where it has none: {missing[0]!r}: "1"'
        )


def _read(text: Any, name: str) -> Unit:
    try:
        return parse_unit(text)
    except ValueError as error:
        raise ValueError(f"the unit of {name!r}: {error}") from None
    except TypeError as error:
        raise TypeError(f"the unit of {name!r}: {error}") from None
