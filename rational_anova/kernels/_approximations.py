"""Polynomials behind exp, log1p, erfc and tanh of the C kernels, as `source/coefficients.h`.

    python -m rational_anova.kernels._approximations > rational_anova/kernels/source/coefficients.h

Each is the interpolant at Chebyshev points, computed with 60 digits: within a small factor of the
best polynomial of its degree. Degrees are the least with an error below half a unit in the last
place of the format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

# Where the map of y >= 0 to [-1, 1] has its middle; for the tail of the normal distribution.
TAIL_MIDDLE = 4
TANH_SWITCH = 0.5625


def _exp2(f: Any) -> Any:
    return mp.power(2, f)


def _log1p_ratio(e: Any) -> Any:
    return mp.log1p(e) / e if e else mp.mpf(1)


def _tail(t: Any) -> Any:
    """(y + 4) exp(y^2/2) P(Z > y) at t = (y - 4)/(y + 4): the tail without its decay."""
    if t == 1:
        return 1 / mp.sqrt(2 * mp.pi)
    y = TAIL_MIDDLE * (1 + t) / (1 - t)
    return (y + TAIL_MIDDLE) * mp.erfc(y / mp.sqrt(2)) * mp.exp(y * y / 2) / 2


def _tanh_ratio(square: Any) -> Any:
    """(tanh(z)/z - 1)/z^2 as a function of z^2."""
    if square < mp.mpf(10) ** -20:
        return mp.mpf(-1) / 3 + mp.mpf(2) / 15 * square
    z = mp.sqrt(square)
    return (mp.tanh(z) / z - 1) / square


# name: function, interval, degrees for float32 and float64
TABLE: dict[str, tuple[Callable[[Any], Any], tuple[float, float], tuple[int, int]]] = {
    "EXP2": (_exp2, (-0.5, 0.5), (5, 11)),
    "LOG1P": (_log1p_ratio, (0, 1), (7, 20)),
    "TAIL": (_tail, (-1, 0.875), (9, 22)),
    "TANH": (_tanh_ratio, (0, TANH_SWITCH**2), (4, 10)),
}


def polynomial(function: Callable[[Any], Any], low: float, high: float, degree: int) -> list[Any]:
    """Return the coefficients, lowest power first, of the interpolant at Chebyshev points."""
    middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    nodes = [
        middle + half * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / (degree + 1))
        for k in range(degree + 1)
    ]
    matrix = mp.matrix([[node**power for power in range(degree + 1)] for node in nodes])
    return list(mp.lu_solve(matrix, mp.matrix([function(node) for node in nodes])))


def header() -> str:
    """Return the text of coefficients.h."""
    lines = ["// Written by rational_anova/kernels/_approximations.py: change it there.", ""]
    with mp.workdps(60):
        for digits, column, test in ((9, 0, "#if SINGLE"), (17, 1, "#else")):
            lines.append(test)
            for name, (function, (low, high), degrees) in TABLE.items():
                row = polynomial(function, low, high, degrees[column])
                numbers = ", ".join(mp.nstr(c, digits, strip_zeros=False) for c in row)
                lines.append(f"static const REAL {name}[] = {{{numbers}}};")
        lines += [
            "#endif",
            f"#define TAIL_MIDDLE {TAIL_MIDDLE}",
            f"#define TANH_SWITCH {TANH_SWITCH}",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(header(), end="")
