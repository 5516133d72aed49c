"""Properties of networks as VNN-LIB writes them: boxes of inputs, and linear demands on outputs.

A file describes what must not happen. It is brought to a list of cases, any of which suffices; a
case is a box of inputs and rows a with a.y <= b that all hold. Numbers are the float64 that are
nearest to the text.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._core.types import Array
from ...proofs import Interval, down, up

_MOST = 20_000_000  # bytes of a file
_DEEPEST, _CASES = 50, 10_000
_NAME = re.compile(r"([XY])_(\d+)$")


class PropertyError(ValueError):
    """A file that is no property, or one that cannot be read here."""


@dataclass(frozen=True)
class Case:
    """A box of inputs, and what the outputs do there: rows @ y <= bounds."""

    box: Interval
    rows: Array  # (demands, outputs)
    bounds: Array  # (demands,)


@dataclass
class _Demand:
    """A sum of inputs or of outputs that is at most a number."""

    terms: dict[tuple[str, int], float] = field(default_factory=dict)
    bound: float = 0.0


def read_vnnlib(path: str | os.PathLike[str]) -> list[Case]:
    """Read a property.

    Raises:
        PropertyError: the file is damaged, or has demands that are not linear.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    if file.stat().st_size > _MOST:
        raise PropertyError(f"{file} has {file.stat().st_size:,} bytes; at most {_MOST:,} are read")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PropertyError(f"{file} is not text in UTF-8") from None
    names: set[tuple[str, int]] = set()
    cases: list[list[_Demand]] = [[]]
    for command in _parsed(text):
        if not isinstance(command, list) or not command:
            raise PropertyError(f"a command was expected, got {command!r}")
        if command[0] == "declare-const" and len(command) == 3:
            names.add(_variable(command[1]))
        elif command[0] == "assert" and len(command) == 2:
            more = _cases(command[1], 0)
            if len(cases) * len(more) > _CASES:
                raise PropertyError(f"{file} has more than {_CASES:,} cases")
            cases = [[*one, *two] for one, two in itertools.product(cases, more)]
        elif command[0] not in ("set-logic", "set-info", "check-sat", "get-model", "exit"):
            raise PropertyError(f"{command[0]!r} is not known; known are declare-const and assert")
    return [_case(one, names) for one in cases]


def _parsed(text: str) -> list[Any]:
    """Read lists in parentheses."""
    whole: list[Any] = []
    open_lists = [whole]
    for token in _tokens(text):
        if token == "(":
            new: list[Any] = []
            open_lists[-1].append(new)
            open_lists.append(new)
            if len(open_lists) > _DEEPEST:
                raise PropertyError(f"parentheses are more than {_DEEPEST} deep")
        elif token == ")":
            if len(open_lists) == 1:
                raise PropertyError("there is a closing parenthesis too many")
            open_lists.pop()
        else:
            open_lists[-1].append(token)
    if len(open_lists) > 1:
        raise PropertyError(f"{len(open_lists) - 1} parentheses are not closed")
    return whole


def _tokens(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from re.findall(r"[()]|[^\s()]+", line.split(";")[0])


def _cases(term: Any, depth: int) -> list[list[_Demand]]:
    """Bring a demand to cases, each a list of demands that all hold."""
    if not isinstance(term, list) or not term:
        raise PropertyError(f"a demand was expected, got {term!r}")
    head, *rest = term
    if head == "or":
        return [case for part in rest for case in _cases(part, depth + 1)]
    if head == "and":
        found: list[list[_Demand]] = [[]]
        for part in rest:
            more = _cases(part, depth + 1)
            if len(found) * len(more) > _CASES:
                raise PropertyError(f"there are more than {_CASES:,} cases")
            found = [[*one, *two] for one, two in itertools.product(found, more)]
        return found
    if head in ("<=", ">=") and len(rest) == 2:
        one, two = rest if head == "<=" else rest[::-1]
        demand = _Demand()
        _collect(one, 1.0, demand)
        _collect(two, -1.0, demand)
        return [[demand]]
    raise PropertyError(f"{head!r} is not known; known are and, or, <= and >=")


def _collect(term: Any, sign: float, into: _Demand) -> None:
    """Add a term to a demand; numbers go to its right side."""
    if isinstance(term, str):
        value = _number(term)
        if value is not None:
            into.bound -= sign * value
            return
        key = _variable(term)
        into.terms[key] = into.terms.get(key, 0.0) + sign
        return
    if term and term[0] == "+":
        for part in term[1:]:
            _collect(part, sign, into)
    elif term and term[0] == "-" and len(term) > 1:
        parts = term[1:]
        _collect(parts[0], -sign if len(parts) == 1 else sign, into)
        for part in parts[1:]:
            _collect(part, -sign, into)
    elif term and term[0] == "*" and len(term) == 3:
        values = [_number(part) if isinstance(part, str) else None for part in term[1:]]
        if (values[0] is None) == (values[1] is None):
            raise PropertyError(f"only numbers times one variable are linear, got {term!r}")
        at = 0 if values[0] is not None else 1
        _collect(term[2 - at], sign * float(values[at] or 0.0), into)
    else:
        raise PropertyError(f"only sums, differences and multiples are known, got {term!r}")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not np.isfinite(value):
        raise PropertyError(f"{text!r} is not a finite number")
    return value


def _variable(text: Any) -> tuple[str, int]:
    match = _NAME.match(text) if isinstance(text, str) else None
    if match is None:
        raise PropertyError(f"variables are X_0, X_1, ... and Y_0, Y_1, ..., got {text!r}")
    return match[1], int(match[2])


def _case(demands: list[_Demand], names: set[tuple[str, int]]) -> Case:
    counts = {kind: sum(one == kind for one, _ in names) for kind in "XY"}
    for kind, count in counts.items():
        missing = [n for n in range(count) if (kind, n) not in names]
        if missing or not count:
            raise PropertyError(f"{kind}_{missing[0] if missing else 0} is not declared")
    low, high = (np.full(counts["X"], end) for end in (-np.inf, np.inf))
    rows, bounds = [], []
    for demand in demands:
        terms = {key: factor for key, factor in demand.terms.items() if factor}
        for kind, n in terms:
            if (kind, n) not in names:
                raise PropertyError(f"{kind}_{n} is used and not declared")
        kinds = {kind for kind, _ in terms}
        if kinds == {"Y"}:
            row = np.zeros(counts["Y"])
            for (_, n), factor in terms.items():
                row[n] = factor
            rows.append(row)
            bounds.append(demand.bound)
        elif kinds == {"X"} and len(terms) == 1:
            (((_, n), factor),) = terms.items()
            value = demand.bound / factor
            exact = abs(factor) == 1
            if factor > 0:
                high[n] = min(high[n], value if exact else float(up(value)))
            else:
                low[n] = max(low[n], value if exact else float(down(value)))
        else:
            raise PropertyError("a demand must be on one input, or on outputs alone")
    open_ended = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(open_ended):
        raise PropertyError(
            f"X_{open_ended[0]} has no finite bounds; give both a lower and an upper"
        )
    if not rows:
        raise PropertyError("there is no demand on the outputs")
    return Case(Interval(low, high), np.array(rows), np.array(bounds))
