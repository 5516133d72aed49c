"""Families of lifts that are tried together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._basis import definite
from ._terms import Atom, Powers, monomial, monomial_expression


@dataclass(frozen=True)
class Family:
    """Atoms that are tried together; `rates` are scanned in units of 1 / typical argument."""

    name: str
    atoms: tuple[Atom, ...]
    rates: tuple[float, float] | None = None  # the range of rate * largest |argument|


def _atoms(argument: Powers, *functions: str) -> tuple[Atom, ...]:
    return tuple(Atom(f, argument) for f in functions)


def families(U: Array, forbidden: frozenset[str] = frozenset()) -> list[Family]:
    """Small families of lifts that the values of the variables allow."""
    r = U.shape[1]
    out: list[Family] = []
    for argument in _arguments(U):
        z = monomial(argument, U)
        label = str(monomial_expression(argument, sp.symbols(f"u0:{r}")))
        single = sum(p != 0 for p in argument) == 1
        plain = single and sum(argument) == 1
        if np.abs(z).max() < 200 and "sin" not in forbidden and "cos" not in forbidden:
            out.append(Family(f"trig {label}", _atoms(argument, "sin", "cos", "cos^2"), (0.3, 40)))
        if "exp" not in forbidden:
            out.append(Family(f"exp {label}", _atoms(argument, "exp", "exp-"), (0.05, 30)))
        if plain and "log" not in forbidden and (z > 0).all():
            out.append(Family(f"log {label}", _atoms(argument, "log")))
        if "log" not in forbidden and (z > 0).all() and (r == 1 or not single):
            out.append(Family(f"log(1 + {label})", _atoms(argument, "log(1+)"), (0.1, 100)))
        if "log" not in forbidden and (z > 0).all() and z.max() < 1:
            atoms = _atoms(argument, "log(1-)") + (_atoms(argument, "log") if r == 1 else ())
            out.append(Family(f"log(1 - {label})", atoms))
        if r == 1 and "sqrt" not in forbidden and (z > 0).all():
            out.append(Family(f"sqrt(1 + {label})", _atoms(argument, "sqrt(1+)"), (0.1, 100)))
        if plain and (z > 0).all() and "power" not in forbidden:
            out.append(Family(f"power {label}", _atoms(argument, "power"), None))
        if single and abs(sum(argument)) == 1 and "tanh" not in forbidden:
            odd = ("tanh", "coth") if definite(z) else ("tanh",)
            out.append(Family(f"tanh {label}", _atoms(argument, *odd), (0.2, 10)))
    if r == 2 and "sin" not in forbidden and "cos" not in forbidden:
        both = (1.0, 1.0)
        for one in ((1.0, 0.0), (0.0, 1.0)):
            label = str(monomial_expression(one, sp.symbols("u0:2")))
            atoms = (*_atoms(both, "cos", "sin"), *_atoms(one, "cos", "sin"))
            out.append(Family(f"beats {label}", atoms))
    if r == 2 and "power" not in forbidden:
        for j in (0, 1):
            for shift in (0, 1):
                if (U[:, j] + shift > 0).all():
                    atoms = tuple(Atom(f, (1.0, 1.0), j, shift) for f in ("exp", "exp-"))
                    out.append(Family(f"exponent {1 - j} {shift}", atoms))
    return out


def _arguments(U: Array) -> list[Powers]:
    r = U.shape[1]
    unit = [tuple(float(i == k) for k in range(r)) for i in range(r)]
    out: list[Powers] = list(unit)
    for i in range(r):
        if r <= 2 and definite(U[:, i]):
            out.append(tuple(-p if p else 0.0 for p in unit[i]))
        if r == 1:
            out.append(tuple(2 * p for p in unit[i]))
            if definite(U[:, i]):
                out.append(tuple(-2 * p if p else 0.0 for p in unit[i]))
    if r == 2:
        out.append((1.0, 1.0))
        if definite(U[:, 1]):
            out.append((1.0, -1.0))
        elif definite(U[:, 0]):
            out.append((-1.0, 1.0))
    return out
