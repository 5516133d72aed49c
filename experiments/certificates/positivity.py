"""Bernstein positivity against the exact count of real roots by SymPy, one variable.

Polynomials of degree 1 to 12 on random intervals: with random coefficients, with an exact double
root inside or at an end, and with a root that is moved off the real line, or to either side of an
end, by 1e-3 to 1e-15. SymPy counts the roots of the polynomial with exactly these coefficients.

python -m experiments.certificates.positivity [--smoke]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import sympy as sp

from experiments.results import Log
from rational_anova.certificates import positive_on

KINDS = ("random", "small", "double", "double at an end", "nearly double", "nearly outside")


def draw(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """Return coefficients, lowest power first, and an interval."""
    low = float(rng.integers(-16, 8)) / 8
    high = low + float(rng.integers(1, 24)) / 8
    degree = int(rng.integers(1, 13))
    if kind in ("random", "small"):
        rows = rng.normal(size=degree + 1) * (1.0 if kind == "random" else 0.1)
        rows[0] = 1.0
        return rows, low, high
    # a factor that is positive everywhere, with few digits so that products are exact
    factor = np.array([1.0])
    for _ in range(int(rng.integers(0, 4))):
        b = float(rng.integers(-8, 9)) / 8
        factor = np.polynomial.polynomial.polymul(factor, [b * b + 0.5, -2 * b, 1.0])
    inside = float(rng.integers(1, 8)) / 8
    root = low + (high - low) * inside
    if kind == "double at an end":
        root = low if rng.random() < 0.5 else high
    shift = 10 ** -rng.uniform(3, 15)
    pair = np.array([root * root, -2 * root, 1.0])
    if kind == "nearly double":
        pair[0] += shift * rng.choice([-1, 1])
    if kind == "nearly outside":
        pair = np.array([high + shift * rng.choice([-1, 1]), -1.0])
    return np.polynomial.polynomial.polymul(factor, pair), low, high


def exact(rows: np.ndarray, low: float, high: float) -> bool:
    """Say by exact arithmetic whether the polynomial is positive on the interval."""
    x = sp.Symbol("x")
    polynomial = sp.Poly([sp.Rational(float(c)) for c in rows[::-1]], x)
    ends = sp.Rational(low), sp.Rational(high)
    return bool(polynomial.count_roots(*ends) == 0 and polynomial.eval(ends[0]) > 0)


def study(kind: str, count: int) -> dict[str, Any]:
    """Compare verdicts."""
    rng = np.random.default_rng(KINDS.index(kind))
    row: dict[str, Any] = {"polynomials": count, "positive": 0, "disagree": 0, "undecided": 0}
    seconds = 0.0
    for _ in range(count):
        rows, low, high = draw(kind, rng)
        start = time.perf_counter()
        powers = tuple((k,) for k in range(len(rows)))
        (found,) = positive_on(powers, [rows.tolist()], np.array([[low]]), np.array([[high]]))
        seconds += time.perf_counter() - start
        truth = exact(rows, low, high)
        row["positive"] += truth
        row["disagree"] += bool(found) != truth
        row["undecided"] += found.verdict == "undecided"
    return {**row, "seconds": seconds / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    log = Log("certificates_positivity_smoke" if smoke else "certificates_positivity", fresh=smoke)
    for kind in KINDS:
        if not log.has(kind=kind):
            log.add(kind=kind, **study(kind, 5 if smoke else 500))
    if any(row["disagree"] or row["undecided"] for row in log):
        raise SystemExit("a verdict differs from the exact one")


if __name__ == "__main__":
    main()
