"""`read_network`: names for the units of a network, and one formula that is fitted to the data."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .._core import checks as check
from .._core.types import Array
from ..discovery.stages import auto_rational
from ..networks import RAN, LayeredRAN
from ..tables import input_names, read_matrix, read_targets
from ..units import symbols as symbols_of
from ._composed import Composed, Term
from ._curves import Choice, suggested
from ._library import OF_TWO, forms
from ._record import Reading, ReadUnit, relative_error, values
from ._units import Units, check_readable, units_of

_BLUR = 3.0  # curves are known to so many times the error of the network
_FINEST = 1e-12
_SHORT, _LONG = 12, 60  # steps of Levenberg-Marquardt: for every composition, for a good one
_GOOD = 3.0  # times the best error, up to which a composition is worth more steps
_ROUNDING = 1e-13
_LARGEST = 1e6  # a number of a composition; functions with larger ones are limits of others
_ALGEBRA = 30  # numbers of a formula up to which they are made exact
_NOTHING = 1e-10  # of the largest coefficient of a polynomial
_MOST_CHOICES = 5  # of a unit


def read_network(
    net: LayeredRAN | RAN,
    X: Any,
    y: Any,
    *,
    held_out: Any = 0.2,
    names: Sequence[Any] | None = None,
    functions: Sequence[str] | None = None,
    constants: Sequence[str] = ("pi",),
    tolerance: float = 0.03,
    tries: int = 200,
    time_limit: float = 60.0,
    seed: int = 0,
) -> Reading:
    """Read a network as a formula of named functions.

    The curve of each unit, on the range of its data, is fitted by every known function with free
    numbers inside and outside: a sine, an exponential, a power, ...; a unit of two nodes by their
    product and quotient. Functions that fit to `tolerance` are its choices; a unit without one
    stays the quotient of polynomials that it is. Then the choices of all units are tried together,
    the likeliest first: functions held, all numbers are fitted to the data by Levenberg-Marquardt.
    The shortest description wins, and its numbers become exact where the data cannot tell the
    difference. It is measured on rows that no number was fitted to.

    Args:
        net: a fitted `LayeredRAN`, or a `RAN` of one output. Prune it first: an edge that is
            not needed is one more function in the formula.
        X: (rows, in_features), array, tensor or table.
        y: (rows,) or (rows, outputs).
        held_out: a share of the rows, drawn at random, or (X, y) of others. Rows that the network
            was trained on have had a say in the choice of functions; others have not.
        names: of the inputs; those of a table by default.
        functions: to choose from, names such as `"sin(x)"` or formulas in x; None for all known.
        constants: that numbers may be multiples of, as in `symbols.snap`.
        tolerance: root mean square that a function may leave of a unit's curve, over its spread.
        tries: compositions that are fitted at most.
        time_limit: seconds after which no further composition is begun.
        seed: of the held-out share.

    Example:
        >>> import torch
        >>> X = torch.rand(200, 1, dtype=torch.float64, generator=torch.manual_seed(0))
        >>> net = LayeredRAN(1, 1, hidden=(), degrees=(4, 4), dtype=torch.float64)
        >>> _ = net.fit((X, torch.sin(3 * X[:, 0])))
        >>> reading = read_network(net, X, torch.sin(3 * X[:, 0]))
        >>> reading.formula, reading.exact
        (sin(3*x0), True)
    """
    check_readable(net)
    limit = check.nonnegative(tolerance, "tolerance")
    most = check.integer(tries, "tries", 1)
    stop = time.monotonic() + check.nonnegative(time_limit, "time_limit")
    known = forms(functions)
    table = read_matrix(X, net.in_features)
    target = read_targets(y, len(table))
    if target.shape[1] != net.out_features:
        raise ValueError(
            f"y has {target.shape[1]} columns for a network of {net.out_features} outputs"
        )
    inputs = tuple(symbols_of(input_names(names, X), net.in_features))
    (fit_X, fit_y), (new_X, new_y) = _split(table, target, held_out, net, seed)
    seen = units_of(net, fit_X)
    blur = max(_BLUR * relative_error(seen.outputs, fit_y), _FINEST)
    ranked = [
        suggested(unit.inputs, unit.curve, known if len(unit.nodes) == 1 else OF_TWO)
        for unit in seen.units
    ]
    choices = [
        _plausible(own, limit, blur) or [unit.as_it_is()]
        for own, unit in zip(ranked, seen.units, strict=True)
    ]
    best, picked, tried = _searched(seen, choices, blur, fit_X, fit_y, most, stop)
    formulas = tuple(
        _exact(formula, fit_X, fit_y[:, k], inputs, constants)
        for k, formula in enumerate(best.written(inputs))
    )
    read = tuple(
        ReadUnit(unit.layer, unit.nodes, unit.target, choice.name, choice.error,
                 tuple((c.name, c.error) for c in own if c.name != choice.name))
        for unit, choice, own in zip(seen.units, picked, ranked, strict=True)
    )  # fmt: skip
    return Reading(
        formulas,
        inputs,
        read,
        relative_error(values(formulas, inputs, new_X), new_y),
        relative_error(units_of(net, new_X).outputs, new_y),
        len(new_X),
        tried,
    )


def _split(
    X: Array, y: Array, held_out: Any, net: LayeredRAN | RAN, seed: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    if isinstance(held_out, tuple | list):
        new_X = read_matrix(held_out[0], net.in_features)
        return (X, y), (new_X, read_targets(held_out[1], len(new_X)))
    share = check.real(held_out, "held_out")
    count = round(share * len(X))
    if not 0 < share < 1 or not 0 < count < len(X):
        raise ValueError(
            f"held_out must be a share between 0 and 1 that leaves rows on both sides, or (X, y), "
            f"got {held_out!r} of {len(X)} rows"
        )
    order = np.random.default_rng(seed).permutation(len(X))
    rest, some = np.sort(order[count:]), np.sort(order[:count])
    return (X[rest], y[rest]), (X[some], y[some])


def _plausible(ranked: Sequence[Choice], tolerance: float, blur: float) -> list[Choice]:
    """The choices of a unit, by their price."""
    near = [choice for choice in ranked if choice.error <= tolerance]
    return sorted(near, key=lambda choice: _price(choice, blur))[:_MOST_CHOICES]


def _price(choice: Choice, blur: float) -> float:
    """Errors below that of the network are not told apart; there the shortest function is first."""
    return choice.form.cost + float(np.log(max(choice.error, blur) / blur))


def _searched(
    seen: Units,
    choices: Sequence[Sequence[Choice]],
    blur: float,
    X: Array,
    y: Array,
    most: int,
    stop: float,
) -> tuple[Composed, list[Choice], int]:
    """Fit compositions, the cheapest first, until one is exact or nothing is left to try."""
    best: tuple[float, Composed, list[Choice]] | None = None
    lowest, tried = np.inf, 0
    for picked in _combinations(choices, blur):
        if tried and (tried >= most or time.monotonic() > stop):
            break
        tried += 1
        trial, error = composed(seen, picked).refitted(X, y, _SHORT)
        if error <= _GOOD * lowest:
            trial, error = trial.refitted(X, y, _LONG)
        if not np.isfinite(error) or np.abs(trial.theta).max() > _LARGEST:
            continue
        lowest = min(lowest, error)
        length = _length(trial, error, y)
        if best is None or length < best[0]:
            best = length, trial, picked
        if error < _ROUNDING:
            break
    if best is None:
        raise ArithmeticError(
            "no composition of the functions is finite on these rows; raise tolerance, or let the "
            "network train longer"
        )
    return best[1], best[2], tried


def _combinations(choices: Sequence[Sequence[Choice]], blur: float) -> Iterator[list[Choice]]:
    """One choice for each unit, all ways, the cheapest sum of prices first."""
    prices = [[_price(choice, blur) for choice in own] for own in choices]
    first = (0,) * len(choices)
    queue = [(sum(own[0] for own in prices), first)]
    known = {first}
    while queue:
        _, places = heapq.heappop(queue)
        yield [own[n] for own, n in zip(choices, places, strict=True)]
        for k, own in enumerate(prices):
            after = (*places[:k], places[k] + 1, *places[k + 1 :])
            if after[k] < len(own) and after not in known:
                known.add(after)
                heapq.heappush(
                    queue, (sum(p[n] for p, n in zip(prices, after, strict=True)), after)
                )


def composed(seen: Units, picked: Sequence[Choice]) -> Composed:
    """Return the network with functions in place of its units."""
    layers: list[list[Term]] = [[] for _ in seen.shifts]
    numbers: list[list[float]] = [[] for _ in seen.shifts]
    shifts = [shift.copy() for shift in seen.shifts]
    for unit, choice in zip(seen.units, picked, strict=True):
        layers[unit.layer].append(Term(unit.nodes, unit.target, choice.form))
        numbers[unit.layer] += choice.values
        shifts[unit.layer][unit.target] += choice.shift
    theta = [value for own, shift in zip(numbers, shifts, strict=True) for value in (*own, *shift)]
    return Composed(tuple(map(tuple, layers)), seen.widths, np.array(theta))


def _length(trial: Composed, error: float, y: Array) -> float:
    """Description length: of what is left over, of the numbers and of the functions."""
    fit = y.size * np.log(max(error, _ROUNDING) ** 2)
    return float(fit + len(trial.theta) * np.log(len(y)) + 2 * trial.cost)


def _exact(
    formula: sp.Expr, X: Array, y: Array, symbols: Sequence[sp.Symbol], constants: Sequence[str]
) -> sp.Expr:
    """Make numbers exact where the data cannot tell the difference, if that is no worse."""
    formula = _tidied(formula, symbols)
    if len(formula.atoms(sp.Float)) > _ALGEBRA or not formula.free_symbols:
        return formula
    names = [str(symbol) for symbol in symbols]
    found = auto_rational(formula, X, y, names=names, constants=constants)
    own = {s.name: s for s in symbols}
    return found.xreplace({s: own[s.name] for s in found.free_symbols if s.name in own})


def _tidied(formula: sp.Expr, symbols: Sequence[sp.Symbol]) -> sp.Expr:
    """A polynomial as its monomials, without those that are rounding."""
    if not formula.is_polynomial(*symbols):
        return formula
    polynomial = sp.Poly(formula, *symbols)
    terms = {powers: float(c) for powers, c in polynomial.terms()}
    largest = max(map(abs, terms.values()))
    return sp.Add(
        *(
            sp.Float(c, 17) * sp.Mul(*(s**k for s, k in zip(symbols, powers, strict=True)))
            for powers, c in terms.items()
            if abs(c) > _NOTHING * largest
        )
    )
