"""Systems as data: ODEBench's, and others with quotients; trajectories with noise, and a judge."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

FILE = "odes/odebench.json"
ROWS, LAST = 150, 10.0
_RATIONAL = (15, 18, 19, 53)  # with denominators in the states, other than of angles
# Systems with quotients that the file does not have, with numbers and starts of our own: forms as
# in Strogatz, "Nonlinear dynamics and chaos" (gene switch: exercise 3.7.5; chlorine dioxide, iodine
# and malonic acid: section 8.3), Murray, "Mathematical biology" (enzyme, predation, chemostat),
# Gardner, Cantor and Collins (2000) (toggle switch).
_OWN: tuple[dict[str, Any], ...] = (
    {"id": 101, "name": "Gene switch", "starts": [[0.3], [2.4]],
     "equations": ["0.1 - 0.45*x_0 + x_0**2/(1 + x_0**2)"]},
    {"id": 102, "name": "CDIMA reaction", "starts": [[1.0, 2.0], [3.0, 6.0]],
     "equations": ["10 - x_0 - 4*x_0*x_1/(1 + x_0**2)", "4*x_0 - 4*x_0*x_1/(1 + x_0**2)"]},
    {"id": 103, "name": "Michaelis-Menten", "starts": [[5.0], [2.0]],
     "equations": ["-1.2*x_0/(0.8 + x_0)"]},
    {"id": 104, "name": "Rosenzweig-MacArthur", "starts": [[1.0, 0.5], [2.0, 1.0]],
     "equations": ["x_0 - x_0**2/3 - 1.5*x_0*x_1/(0.7 + x_0)",
                   "1.2*x_0*x_1/(0.7 + x_0) - 0.6*x_1"]},
    {"id": 105, "name": "Monod chemostat", "starts": [[4.0, 0.1], [1.0, 1.5]],
     "equations": ["1.2 - 0.3*x_0 - 2*x_0*x_1/(1.5 + x_0)", "x_0*x_1/(1.5 + x_0) - 0.3*x_1"]},
    {"id": 106, "name": "Toggle switch", "starts": [[0.2, 1.0], [2.5, 0.4]],
     "equations": ["3/(1 + x_1**2) - x_0", "2.5/(1 + x_0**2) - x_1"]},
)  # fmt: skip
_MOST_CALLS = 50_000  # of right-hand sides, in a simulation
_DIGITS = 1  # of exponents that are compared


@dataclass(frozen=True)
class Case:
    """A system of ODEBench.

    Args:
        number: as in the benchmark.
        name: what it is of.
        formulas: right-hand sides with their numbers.
        starts: two of them.
    """

    number: int
    name: str
    formulas: tuple[sp.Expr, ...]
    starts: tuple[tuple[float, ...], ...]

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the states."""
        return sp.symbols(f"x_0:{len(self.formulas)}")

    @property
    def rational(self) -> bool:
        """Whether it has quotients."""
        return self.number in _RATIONAL or self.number >= _OWN[0]["id"]

    def path(self, start: Sequence[float], t: np.ndarray) -> np.ndarray:
        """Return the true states at times."""
        return integrated(self.symbols, self.formulas, start, t)

    def runs(self, decibels: float, count: int) -> list[np.ndarray]:
        """Return trajectories from the first starts, with noise of this ratio to the signal."""
        rng = np.random.default_rng(self.number)
        out = []
        for start in self.starts[:count]:
            X = self.path(start, times())
            level = 0.0 if np.isinf(decibels) else 10 ** (-decibels / 20)
            out.append(X + level * np.sqrt(np.mean(X**2, axis=0)) * rng.normal(size=X.shape))
        return out

    def new_start(self, count: int) -> np.ndarray:
        """Return a start that no run had: the second, or the middle of both."""
        second = np.array(self.starts[1])
        return second if count == 1 else (np.array(self.starts[0]) + second) / 2


def times() -> np.ndarray:
    """Return the times of all runs."""
    return np.linspace(0.0, LAST, ROWS)


def integrated(
    symbols: Sequence[sp.Symbol], formulas: Sequence[sp.Expr], start: Sequence[float], t: np.ndarray
) -> np.ndarray:
    """Return states at times by formulas; nan from where there is no solution."""
    formula, calls = sp.lambdify(symbols, list(formulas)), count()

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        if next(calls) > _MOST_CALLS:
            raise OverflowError("too stiff to be simulated")
        return np.array(formula(*x), dtype=float)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = solve_ivp(
                rates, (t[0], t[-1]), np.array(start), t_eval=t, rtol=1e-10, atol=1e-12,
                method="LSODA",
            )  # fmt: skip
        except (ValueError, ZeroDivisionError, TypeError, OverflowError):
            return np.full((len(t), len(start)), np.nan)
    out = np.full((len(t), len(start)), np.nan)
    out[: found.y.shape[1]] = found.y.T
    return out


def cases() -> list[Case]:
    """Return the systems of the file that RAN_DATA has."""
    folder = os.environ.get("RAN_DATA")
    path = Path(folder or "") / FILE
    if folder is None or not path.exists():
        raise FileNotFoundError(f"no {FILE} in the folder that RAN_DATA names, {folder!r}")
    return [_case(entry) for entry in json.loads(path.read_text())["systems"]]


def own_rational() -> list[Case]:
    """Return systems with quotients that the file does not have."""
    return [_case({"constants": {}, "dim": len(e["equations"]), **e}) for e in _OWN]


def _case(entry: dict[str, Any]) -> Case:
    symbols = {f"x_{k}": sp.Symbol(f"x_{k}") for k in range(entry["dim"])}
    formulas = tuple(
        sp.sympify(text, locals=symbols).subs(entry["constants"]) for text in entry["equations"]
    )
    starts = tuple(tuple(map(float, start)) for start in entry["starts"])
    return Case(entry["id"], entry["name"], formulas, starts)


def explained(truth: np.ndarray, found: np.ndarray) -> float:
    """Return the share of variance of the worst state that is explained; -inf without a path."""
    if not np.isfinite(found).all():
        return -np.inf
    left = np.sum((truth - found) ** 2, axis=0)
    whole = np.sum((truth - truth.mean(axis=0)) ** 2, axis=0)
    return float(np.min(1 - left / np.maximum(whole, 1e-300)))


def same_structure(found: Sequence[sp.Expr], truth: Sequence[sp.Expr]) -> bool:
    """Return whether all right-hand sides have the true terms, whatever their numbers.

    Both are brought over one denominator; numerators and denominators must have the same products
    of powers and functions. A superfluous term counts against it.
    """
    return all(skeleton(a) == skeleton(b) for a, b in zip(found, truth, strict=True))


def skeleton(formula: sp.Expr) -> tuple[frozenset[sp.Expr], ...]:
    """Return the products of a numerator and a denominator, without their numbers."""
    plain = sp.expand(sp.expand_trig(sp.sympify(formula).replace(sp.cot, _quotient)))
    plain = sp.expand(plain.replace(_is_cosine_squared, _by_sine))
    return tuple(_products(sp.expand(part)) for part in sp.fraction(sp.together(plain)))


def _quotient(angle: sp.Expr) -> sp.Expr:
    return sp.cos(angle) / sp.sin(angle)


def _is_cosine_squared(e: sp.Expr) -> bool:
    return bool(e.is_Pow and isinstance(e.base, sp.cos) and e.exp == 2)


def _by_sine(e: sp.Expr) -> sp.Expr:
    return 1 - sp.sin(e.base.args[0]) ** 2


def _products(part: sp.Expr) -> frozenset[sp.Expr]:
    out = set()
    for term in sp.Add.make_args(part):
        symbols = term.free_symbols
        _, rest = term.as_independent(*symbols, as_Add=False) if symbols else (term, sp.S.One)
        floats = {f: sp.Float(round(float(f), _DIGITS)) for f in rest.atoms(sp.Float)}
        out.add(rest.xreplace(floats))
    return frozenset(out)
