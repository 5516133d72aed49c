"""Groups of variables that enter together: as a sum or difference, or by their ratios."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._basis import definite
from ._factors import nearest
from ._state import State


@dataclass(frozen=True)
class Guess:
    """A symmetry that the gradients suggest: how far it is from holding, and how to use it."""

    violation: float
    make: Callable[[], State | None]


# phi and its slope: f depends on phi_i(u_i) + s phi_j(u_j) only, if f_i / phi_i' = f_j / (s phi_j')
SHAPES: dict[str, tuple[Callable, Callable, Callable[[Array], bool], float]] = {
    "u": (lambda u: u, lambda u: 1 + 0 * u, lambda u: True, 0.0),
    "u^2": (lambda u: u**2, lambda u: 2 * u, lambda u: True, 0.03),
    "1/u": (lambda u: 1 / u, lambda u: -1 / u**2, definite, 0.03),
    "sqrt u": (lambda u: u ** sp.Rational(1, 2) if isinstance(u, sp.Basic) else np.sqrt(u),
               lambda u: 0.5 / np.sqrt(u), lambda u: bool((u > 0).all()), 0.05),
    "1/u^2": (lambda u: 1 / u**2, lambda u: -2 / u**3, definite, 0.05),
}  # fmt: skip


def translations(state: State, U: Array, G: Array, tolerance: float) -> Iterator[Guess]:
    """Pairs that enter as a sum or difference of simple functions of each."""
    r = U.shape[1]
    shapes = {k: s for k, s in SHAPES.items() if not ({k.split()[0]} & state.forbidden)}
    usable = [[k for k, s in shapes.items() if s[2](state.U[:, i])] for i in range(r)]
    slopes = [{k: SHAPES[k][1](U[:, i]) for k in usable[i]} for i in range(r)]
    for i, j in itertools.combinations(range(r), 2):
        for a, b in itertools.product(usable[i], usable[j]):
            left, right = G[:, j] * slopes[i][a], G[:, i] * slopes[j][b]  # left = s right
            size = float(right @ right)
            if not np.isfinite(size) or size == 0:
                continue
            s = float(left @ right) / size
            norm = np.linalg.norm(left) + abs(s) * np.linalg.norm(right)
            violation = 2 * float(np.linalg.norm(left - s * right)) / (float(norm) or 1.0)
            if violation < tolerance and s != 0 and np.isfinite(violation):
                cost = SHAPES[a][3] + SHAPES[b][3]
                for value, extra in _ratios(s, tolerance):
                    yield Guess(
                        violation + cost + extra,
                        lambda i=i, j=j, a=a, b=b, s=value: _joined(state, i, j, a, b, s),  # type: ignore[misc]
                    )


def _ratios(s: float, tolerance: float) -> Iterator[tuple[sp.Expr, float]]:
    """Simple values near s, and s itself."""
    free = 0.05
    for value in (1, 2, sp.Rational(1, 2)):
        if abs(abs(s) / float(value) - 1) < tolerance:
            yield sp.sympify(value) * int(np.sign(s)), 0.0 if value == 1 else 0.01
            if abs(abs(s) / float(value) - 1) < 1e-3:
                return
            free = 0.2
    yield sp.Float(s, 15), free


def _joined(state: State, i: int, j: int, a: str, b: str, s: sp.Expr) -> State:
    new = SHAPES[a][0](state.U[:, i]) + float(s) * SHAPES[b][0](state.U[:, j])
    expression = SHAPES[a][0](state.variables[i]) + s * SHAPES[b][0](state.variables[j])
    rest = [k for k in range(state.U.shape[1]) if k not in (i, j)]
    return state.reduced(
        np.column_stack([new, state.U[:, rest]]),
        (expression, *(state.variables[k] for k in rest)),
        f"{state.variables[i]} and {state.variables[j]} enter as {expression} only",
    )


WEIGHTS = {2: (1.0, -1.0, 2.0, -2.0, 0.5, -0.5), 3: (1.0, -1.0, 2.0, -2.0), 4: (1.0, -1.0)}


def scalings(state: State, f: Array, L: Array, size: int, tolerance: float) -> Iterator[Guess]:
    """Groups with sum w_i u_i f_i = k f for small w: one variable can be divided out.

    The weights are enumerated, not solved for and rounded: under noise 4/3 fits as well as 1.
    """
    r = L.shape[1]
    norms = np.linalg.norm(L, axis=0)
    gram, cross, square = L.T @ L, L.T @ f, float(f @ f)
    for group in itertools.combinations(range(r), size):
        index = list(group)
        if norms[index].min() == 0:
            continue
        for rest in itertools.product(WEIGHTS[size], repeat=size - 1):
            w = np.array([1.0, *rest])
            along = float(w @ cross[index])
            k = nearest(along / square, (1, 2))
            left = float(w @ gram[np.ix_(index, index)] @ w) - 2 * float(k) * along
            left += float(k) ** 2 * square
            violation = np.sqrt(max(left, 0.0)) / norms[index].max()
            if violation < tolerance:
                exact = dict(zip(group, (sp.nsimplify(x) for x in w), strict=True))
                cost = 0.01 * float(sum(abs(v) + v.q for v in exact.values()))
                yield Guess(
                    violation + cost,
                    lambda exact=exact, k=k: divide_out(state, exact, k),  # type: ignore[misc]
                )


def divide_out(state: State, weights: dict[int, sp.Rational], k: sp.Rational) -> State | None:
    """The table with one variable of the group used as the unit of the others."""
    pivots = [p for p in weights if definite(state.U[:, p])]
    if not pivots:
        return None

    def cost(p: int) -> float:
        powers = [w / weights[p] for w in weights.values()]
        return float(sum(v.q for v in powers) + (k / weights[p]).q + abs(k / weights[p]) / 100)

    p = min(pivots, key=cost)
    unit, base = state.U[:, p], state.variables[p]
    if unit[0] < 0:
        unit, base = -unit, -base
    columns, expressions = [], []
    for i, e in enumerate(state.variables):
        if i == p:
            continue
        power = -weights.get(i, sp.Integer(0)) / weights[p]
        columns.append(state.U[:, i] * unit ** float(power))
        expressions.append(sp.powsimp(e * base**power, force=True))
    power = k / weights[p]
    divided = state.divided(unit ** float(power), base**power) if power != 0 else state
    U = np.column_stack(columns) if columns else np.zeros((len(state.y), 0))
    others = ", ".join(str(state.variables[i]) for i in weights if i != p)
    note = f"{base} sets the scale of {others}"
    if power != 0:
        note += f" and enters as the factor {base**power}"
    return divided.reduced(U, tuple(expressions), note)
