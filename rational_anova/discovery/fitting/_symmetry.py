"""One of the equal ways to write a fit: parts in order, widths and frequencies positive."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..dimensions import scales
from ._form import Form


def canonical(form: Form, values: Array) -> Array:
    """The same curve with parameters in their usual order and sign, bounds kept.

    Of parts of a sum that differ by the names of their numbers only, such as two exponentials or
    two peaks, the slowest comes first, or the leftmost. A number whose sign says nothing is
    positive.

    Example:
        >>> two = Form.of("a*exp(-b*x) + c*exp(-d*x)", ["x"])
        >>> canonical(two, np.array([1.0, 5.0, 2.0, 3.0]))
        array([2., 3., 1., 5.])
    """
    flips, groups = _equal_ways(form.expression, form.inputs, form.parameters, form.nonlinear)
    out = np.array(values, dtype=float)
    if form.bounds:
        return out
    for first, others in flips:
        if out[first] < 0:
            out[[first, *others]] *= -1
    for blocks, key, sign in groups:
        order = sorted(blocks, key=lambda block: sign * out[block[key]])
        taken = [out[list(block)] for block in order]
        for block, new in zip(blocks, taken, strict=True):
            out[list(block)] = new
    return out


Block = tuple[int, ...]
Exchange = tuple[tuple[Block, ...], int, int]  # blocks, which of a block decides, its sign


@lru_cache(512)
def _equal_ways(
    expression: sp.Expr,
    inputs: tuple[sp.Symbol, ...],
    parameters: tuple[sp.Symbol, ...],
    nonlinear: tuple[sp.Symbol, ...],
) -> tuple[tuple[tuple[int, Block], ...], tuple[Exchange, ...]]:
    index = {p: k for k, p in enumerate(parameters)}
    flips = tuple(_flips(expression, parameters, nonlinear, index))
    return flips, tuple(_exchanges(expression, inputs, parameters, nonlinear, index))


def _flips(
    expression: sp.Expr,
    parameters: tuple[sp.Symbol, ...],
    nonlinear: tuple[sp.Symbol, ...],
    index: dict[sp.Symbol, int],
) -> Iterator[tuple[int, Block]]:
    """Parameters whose sign says nothing, alone or together with one other's."""
    for p in nonlinear:
        flipped = expression.xreplace({p: -p})
        if flipped == expression:
            yield index[p], ()
            continue
        for other in parameters:
            if other != p and flipped.xreplace({other: -other}) == expression:
                yield index[p], (index[other],)
                break


def _exchanges(
    expression: sp.Expr,
    inputs: tuple[sp.Symbol, ...],
    parameters: tuple[sp.Symbol, ...],
    nonlinear: tuple[sp.Symbol, ...],
    index: dict[sp.Symbol, int],
) -> Iterator[Exchange]:
    """Sets of parameters that may change places: the first nonlinear one decides the order."""
    blocks: list[list[sp.Symbol]] = []
    seen: set[sp.Symbol] = set()
    for p in nonlinear:
        own = [s for s in parameters if s in _neighbours(expression, p)]
        if p in seen or not own:
            continue
        seen.update(own)
        blocks.append([s for s in own if s not in nonlinear] + [s for s in own if s in nonlinear])
    used: set[int] = set()
    for k, block in enumerate(blocks):
        group = [block]
        for j in range(k + 1, len(blocks)):
            other = blocks[j]
            if j in used or len(other) != len(block) or set(other) & set(block):
                continue
            swap = {**dict(zip(block, other, strict=True)), **dict(zip(other, block, strict=True))}
            if expression.xreplace(swap) == expression:
                group.append(other)
                used.add(j)
        if len(group) > 1:
            key = next(i for i, s in enumerate(block) if s in nonlinear)
            blocks_of = tuple(tuple(index[s] for s in b) for b in group)
            yield blocks_of, key, _direction(expression, inputs, parameters, block[key])


def _direction(
    expression: sp.Expr,
    inputs: tuple[sp.Symbol, ...],
    parameters: tuple[sp.Symbol, ...],
    key: sp.Symbol,
) -> int:
    """1 for rates and places, which rise; -1 for periods and widths: the slowest comes first."""
    power = scales(expression, parameters, inputs).get(key)
    if power is None or not any(p > 0 for p in power[:-1]):
        return 1
    (x,) = [x for x, p in zip(inputs, power, strict=False) if p > 0][:1]
    step = sp.Dummy()
    moved = [
        term.xreplace({x: x + step, key: key + step}) == term or
        sp.simplify(term.xreplace({x: x + step, key: key + step}) - term) == 0
        for term in sp.Add.make_args(expression)
        if term.has(key)
    ]  # fmt: skip
    return 1 if all(moved) else -1


def _neighbours(expression: sp.Expr, parameter: sp.Symbol) -> set[sp.Symbol]:
    """Symbols that stand in one term of the sum with a parameter; none if all do."""
    terms = sp.Add.make_args(expression)
    if len(terms) < 2:
        return set()
    near = [t.free_symbols for t in terms if t.has(parameter)]
    return set().union(*near) if len(near) < len(terms) else set()
