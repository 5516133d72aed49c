"""Limits and shapes that the user knows: formulas are chosen by them, and the law is proved to have
them where that can be done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from ..._core import checks as check
from ..._core.types import Array
from ...certificates import Certificate, certify
from ...tables import Table
from ..fitting import Fit
from ..law import Grade, Law
from ._restored import worse

_OF_COLUMNS = ("rising", "falling", "convex", "concave")
_OF_TARGET = ("positive", "negative")
_OPPOSITE = (("rising", "falling"), ("convex", "concave"), ("positive", "negative"))
_ENDS = {"oo": math.inf, "+oo": math.inf, "inf": math.inf, "-oo": -math.inf, "-inf": -math.inf}
_POINTS = 201  # along a column
_LINES = 12  # places of the other columns
_FAR = 10.0 ** np.arange(2, 15, 2)  # times the largest value of a column
_NEAR = 10.0 ** -np.arange(2, 15, 2)  # of the range, on the way to a place without a value
_SHRINKS = 0.9  # a sequence whose steps do has a limit
_ERRORS = 2.6  # standard errors that a limit may be off by ...
_SHARE = 0.05  # ... but no more than this part of the spread of the target
_ROUNDING = 1e-6
_PROVEN = 60  # operations of the longest formula whose limits are looked for by algebra

Said = Callable[[Array], Array]  # a formula on rows


@dataclass(frozen=True)
class Limit:
    """A value that the target goes to.

    Args:
        column: place of the column.
        name: of the column.
        at: where; infinite for one far out.
        value: a number, infinite or not; None for any that is finite.
    """

    column: int
    name: str
    at: float
    value: float | None

    def __str__(self) -> str:
        what = "finite" if self.value is None else f"{self.value:g}".replace("inf", "oo")
        return f"{what} at {self.name} = {f'{self.at:g}'.replace('inf', 'oo')}"

    def holds(self, said: Said, error: Said, known: Knowledge) -> bool:
        """Return whether a formula goes there, from every place of the other columns."""
        return all(self._on(line, said, error, known) for line in known.places)

    def _on(self, place: Array, said: Said, error: Said, known: Knowledge) -> bool:
        if math.isfinite(self.at):
            here = np.atleast_2d(place).copy()
            here[:, self.column] = self.at
            value = float(said(here)[0])
            if math.isfinite(value):
                return self._is(value, float(error(here)[0]), known)
        rows = self._way(place, known)
        value, last = _limit(said(rows))
        return self._is(value, float(error(rows[last : last + 1])[0]), known)

    def _way(self, place: Array, known: Knowledge) -> Array:
        """Rows on the way to where it is."""
        low, high = known.box[self.column]
        if math.isfinite(self.at):
            start = high if abs(high - self.at) > abs(low - self.at) else low
            x = self.at + (start - self.at) * _NEAR
        else:
            x = math.copysign(max(abs(low), abs(high)) or 1.0, self.at) * _FAR
        rows = np.tile(place, (len(x), 1))
        rows[:, self.column] = x
        return rows

    def _is(self, value: float, error: float, known: Knowledge) -> bool:
        if math.isnan(value):
            return False
        if self.value is None:
            return math.isfinite(value)
        if math.isinf(self.value):
            return value == self.value
        error = error if math.isfinite(error) else 0.0
        slack = min(_ERRORS * error, _SHARE * known.spread)
        return abs(value - self.value) <= max(slack, _ROUNDING * max(known.spread, abs(self.value)))


@dataclass(frozen=True)
class Shape:
    """How the target goes with a column, or its sign, all over the box of the data.

    Args:
        column: place of the column; -1 for the target itself.
        name: of the column or the target.
        word: "rising", "falling", "convex", "concave"; "positive", "negative": zero is both.
    """

    column: int
    name: str
    word: str

    def __str__(self) -> str:
        return f"{self.word} in {self.name}" if self.column >= 0 else self.word

    def holds(self, said: Said, error: Said, known: Knowledge) -> bool:
        """Return whether a formula does so on a grid."""
        columns = range(len(known.box)) if self.column < 0 else (self.column,)
        return all(self._on(said(line)) for k in columns for line in known.lines(k))

    def _on(self, values: Array) -> bool:
        sign = -1 if self.word in ("falling", "concave", "negative") else 1
        order = {"rising": 1, "falling": 1, "convex": 2, "concave": 2}.get(self.word, 0)
        moved = sign * np.diff(values, order) if order else sign * values
        return bool((moved >= -1e-9 * np.abs(values).max()).all())


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the user knows of a law.

    Args:
        statements: limits and shapes.
        box: range of each column.
        places: rows that stand for all, (places, columns).
        spread: standard deviation of the target.
    """

    statements: tuple[Limit | Shape, ...]
    box: tuple[tuple[float, float], ...]
    places: Array
    spread: float

    @classmethod
    def read(
        cls, limits: Mapping[str, Any] | None, shape: Mapping[str, Any] | None, table: Table
    ) -> Knowledge:
        """Read what is known.

        Args:
            limits: such as {"S=0": 0.0, "S=oo": "finite"}: a number, "finite", "oo" or "-oo".
            shape: such as {"S": ["rising", "concave"], "v": "positive"}: of a column "rising",
                "falling", "convex", "concave"; of the target "positive", "negative".
            table: of the law.
        """
        box = tuple(zip(table.X.min(0).tolist(), table.X.max(0).tolist(), strict=True))
        order = np.argsort(table.X[:, 0], kind="stable")
        some = order[np.unique(np.linspace(0, len(order) - 1, _LINES - 1).astype(int))]
        return cls(
            (*_limits(limits, table), *_shapes(shape, table)),
            box,
            np.vstack([np.median(table.X, axis=0), table.X[some]]),
            float(np.std(table.y)) or 1.0,
        )

    def lines(self, column: int) -> Iterator[Array]:
        """Points along a column, from each of the places."""
        low, high = self.box[column]
        for place in self.places:
            line = np.tile(place, (_POINTS, 1))
            line[:, column] = np.linspace(low, high, _POINTS)
            yield line

    def allows(self, fit: Fit) -> bool:
        """Return whether a fit has all that is known, as far as points can tell."""

        def error(X: Array) -> Array:
            J = fit.form.jacobian(X, fit.values)
            return np.sqrt(np.einsum("ij,jk,ik->i", J, fit.covariance, J))

        return not any(self._broken(fit.predict, error))

    def _broken(self, said: Said, error: Said) -> Iterator[Limit | Shape]:
        with np.errstate(all="ignore"):
            yield from (s for s in self.statements if not s.holds(said, error, self))

    def judged(self, law: Law) -> Law:
        """Return a law with what is proved of it; one that breaks what is known with a doubt.

        What is proved and what is merely checked stands in `law.provenance["known"]`.
        """

        def error(X: Array) -> Array:
            low, high = law.predict_interval(X)
            return (high - low) / 4

        broken = tuple(self._broken(law.predict, error))
        noted = replace(law, provenance={**law.provenance, "known": list(self.proved(law, broken))})
        if not broken:
            return noted
        texts = "; ".join(map(str, broken))
        doubt = f"No formula that was tried meets what is known: {texts}."
        return replace(
            noted, doubts=(*law.doubts, doubt), grade=worse(law.grade, Grade.INTERPOLATION)
        )

    def proved(self, law: Law, broken: Sequence[Limit | Shape] = ()) -> tuple[str, ...]:
        """Return a sentence on each statement: proved, checked at points only, or not met."""
        return tuple(_sentence(s, law, broken) for s in self.statements)


def _limit(values: Array) -> tuple[float, int]:
    """The limit of a sequence, infinite or nan if it has none, and the last place with a value."""
    if np.isinf(values).any():
        first = int(np.argmax(np.isinf(values)))
        return float(values[first]), max(first - 1, 0)
    good = np.flatnonzero(np.isfinite(values))
    if len(good) < 3:
        return math.nan, 0
    a, b, c = values[good[-3:]]
    last, step, before = int(good[-1]), c - b, b - a
    if abs(step) <= 1e-12 * max(abs(c), abs(a), 1e-300) or abs(step) <= _SHRINKS * abs(before):
        ratio = step / before if before else 0.0
        return float(c + step * ratio / (1 - ratio)), last
    return math.copysign(math.inf, step), last


# -- reading


def _limits(limits: Mapping[str, Any] | None, table: Table) -> Iterator[Limit]:
    if limits is not None and not isinstance(limits, Mapping):
        raise TypeError(f'limits must be a dict such as {{"S=0": 0.0}}, got {limits!r}')
    for key, value in (limits or {}).items():
        name, _, place = str(key).partition("=")
        column = _column(name.strip(), table, "limits")
        try:
            at = _ENDS[place.strip()] if place.strip() in _ENDS else float(place)
        except ValueError:
            raise ValueError(
                f'limits has the key {key!r}; write "S=0", "S=2.5", "S=oo" or "S=-oo"'
            ) from None
        yield Limit(column, table.names.columns[column], at, _value(value, key))


def _value(value: Any, key: str) -> float | None:
    if isinstance(value, str):
        if value == "finite":
            return None
        if value in _ENDS:
            return _ENDS[value]
        raise ValueError(
            f'limits[{key!r}] must be a number, "finite", "oo" or "-oo", got {value!r}'
        )
    return check.real(value, f"limits[{key!r}]")


def _shapes(shape: Mapping[str, Any] | None, table: Table) -> Iterator[Shape]:
    if shape is not None and not isinstance(shape, Mapping):
        raise TypeError(f'shape must be a dict such as {{"S": "rising"}}, got {shape!r}')
    for name, words in (shape or {}).items():
        words = [words] if isinstance(words, str) else list(words)
        of_target = name == table.target
        column = -1 if of_target else _column(name, table, "shape")
        for word in words:
            allowed = _OF_TARGET if of_target else _OF_COLUMNS
            if word not in allowed:
                kind = "the target" if of_target else "a column"
                raise ValueError(
                    f"shape[{name!r}] must be some of {allowed} for {kind}, got {word!r}"
                )
            yield Shape(column, name if of_target else table.names.columns[column], word)
        for one, other in _OPPOSITE:
            if one in words and other in words:
                raise ValueError(f"shape[{name!r}] is both {one} and {other}: no law is")


def _column(name: str, table: Table, option: str) -> int:
    symbols = [s.name for s in table.names.symbols]
    for known in (list(table.names.columns), symbols):
        if name in known:
            return known.index(name)
    also = f" and {table.target!r}" if option == "shape" else ""
    raise ValueError(
        f"{option} names {name!r}, but the columns are {list(table.names.columns)}{also}"
    )


# -- proofs


def _sentence(statement: Limit | Shape, law: Law, broken: Sequence[Limit | Shape]) -> str:
    what = f"{law.target} is {statement}" if isinstance(statement, Shape) else (
        f"the limit of {law.target} is {statement}"
    )  # fmt: skip
    if statement in broken:
        return f"Not met: {what}."
    if isinstance(statement, Limit):
        return (
            f"Proved: {what}." if _limit_proved(statement, law) else f"Checked at points: {what}."
        )
    if _shape_proved(statement, law):
        return f"Proved on the box of the data: {what}."
    return f"Checked at points of the box: {what}."


def _shape_proved(shape: Shape, law: Law) -> bool:
    bent = shape.word in ("convex", "concave")
    certificate = _certificate(_slope(law, shape.column) if bent else law)
    if certificate is None:
        return False
    if shape.column < 0:
        low, high = certificate.range[0]
        return low >= 0 if shape.word == "positive" else high <= 0
    verdict = next((v for v in certificate.monotone if v.input == shape.column), None)
    if verdict is None:  # a law that the column is not in
        return not law.formula.has(law.names.symbols[shape.column])
    up = shape.word in ("rising", "convex")
    return (verdict.increasing if up else verdict.decreasing) == "proved"


def _certificate(law: Law) -> Certificate | None:
    try:
        return certify(law)
    except (ValueError, ArithmeticError, NotImplementedError):  # a pole that cannot be ruled out
        return None


def _slope(law: Law, column: int) -> Law:
    """The slope of a law in a column, as a law: it rises where the first is convex."""
    slope = sp.diff(law.formula, law.names.symbols[column])
    return replace(
        law, template=slope, parameters=(), covariance=np.zeros((0, 0)), pareto=(), rivals=(),
        groups=None, data=None,
    )  # fmt: skip


def _limit_proved(limit: Limit, law: Law) -> bool:
    """Return whether algebra gives the limit, whatever the other columns are in their ranges."""
    found = _algebraic(limit, law)
    if found is None or not found.is_number:
        return limit.value is None and found is not None and bool(found.is_finite)
    if limit.value is None:
        return bool(found.is_finite)
    if math.isinf(limit.value):
        return bool(found == (sp.oo if limit.value > 0 else -sp.oo))
    return bool(found.is_finite) and math.isclose(
        float(found), limit.value, rel_tol=1e-12, abs_tol=1e-300
    )


def _algebraic(limit: Limit, law: Law) -> sp.Expr | None:
    formula = law.formula
    odd = [p.exp for p in formula.atoms(sp.Pow) if p.exp.is_number and sp.nsimplify(p.exp).q > 4]
    if sp.count_ops(formula) > _PROVEN or odd:
        return None  # sympy cannot be told to stop
    boxes = zip(law.names.symbols, law.box, strict=True)
    signs = {s: sp.Symbol(s.name, real=True, positive=low > 0 or None) for s, (low, _) in boxes}
    symbol = signs[law.names.symbols[limit.column]]
    plain = sp.Symbol(symbol.name, real=True)
    exact = sp.nsimplify(formula.xreplace(signs), rational=True).xreplace({symbol: plain})
    low, high = law.box[limit.column]
    at = (
        sp.oo
        if limit.at == math.inf
        else -sp.oo
        if limit.at == -math.inf
        else sp.Rational(limit.at)
    )
    side = "+" if not math.isfinite(limit.at) or limit.at <= (low + high) / 2 else "-"
    try:
        return sp.limit(exact, plain, at, side)
    except Exception:  # sympy has many kinds; what cannot be worked out is not proved
        return None
