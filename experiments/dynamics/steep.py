"""A steep transition, tanh(20 x) on [-1, 1]: polynomials, splines and rational units compared.

All have the same number of parameters and learn 201 equidistant points by least squares:
polynomials exactly (Chebyshev basis), cubic splines exactly (uniform knots), rational units by `lm`
from eight starts. Recorded are the errors on a fine grid; the overshoot, how far |f| goes beyond 1;
and the steepest slope (the truth: 20).

python -m experiments.dynamics.steep [--smoke]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.interpolate import make_lsq_spline

import rational_anova as ra
from experiments.results import FIGURES, Log

STEEPNESS = 20.0
DEGREES = {"sos": ((2, 2), (3, 2), (5, 4)), "softplus": ((3, 2), (4, 3), (5, 4))}
Function = Callable[[np.ndarray], np.ndarray]


def truth(x: np.ndarray) -> np.ndarray:
    """Return the function."""
    return np.tanh(STEEPNESS * x)


def rational(x: np.ndarray, kind: str, degrees: tuple[int, int], starts: int) -> Any:
    """Return a RAN of one input, fitted."""
    torch.manual_seed(0)
    net = ra.RAN(
        1, 1, "none", degrees, denominator=kind, base="zero", gate=None, noise=0.1,
        dtype=torch.float64,
    )  # fmt: skip
    X = torch.from_numpy(x)[:, None]
    y = torch.from_numpy(truth(x))
    ra.fit(net, (X, y), optimizer="lm", restarts=starts, restart_noise=1.0,
           epochs=3 if starts == 1 else 300)  # fmt: skip
    return net


def values_of(net: Any) -> Function:
    def function(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.from_numpy(x)[:, None])[:, 0].numpy()

    return function


def spline(x: np.ndarray, count: int) -> Function:
    """Return the cubic spline with so many coefficients."""
    inner = np.linspace(-1, 1, count - 2)[1:-1]
    return make_lsq_spline(x, truth(x), np.r_[[-1.0] * 4, inner, [1.0] * 4], 3)


def record(log: Log, function: Function, **row: Any) -> None:
    x = np.linspace(-1, 1, 20001)
    value = function(x)
    error = value - truth(x)
    log.add(**row, rmse=float(np.sqrt((error**2).mean())), largest=float(np.abs(error).max()),
            overshoot=float(max(0.0, np.abs(value).max() - 1)),
            slope=float(np.abs(np.diff(value) / np.diff(x)).max()))  # fmt: skip


def study(log: Log, starts: int, kinds: dict[str, Any]) -> dict[str, Function]:
    x = np.linspace(-1, 1, 201)
    found: dict[str, Function] = {}
    done = set()
    for kind, cases in kinds.items():
        for degrees in cases:
            net = rational(x, kind, degrees, starts)
            count = ra.count_parameters(net)
            found[f"rational, {kind}"] = values_of(net)
            record(log, values_of(net), model=f"rational, {kind}", degrees=list(degrees),
                   parameters=count)  # fmt: skip
            if count in done:
                continue
            done.add(count)
            found["polynomial"] = np.polynomial.Chebyshev.fit(x, truth(x), count - 1)
            found["spline"] = spline(x, count)
            for name in ("polynomial", "spline"):
                record(log, found[name], model=name, parameters=count)
    return found


def draw(found: dict[str, Function]) -> None:
    """Draw the fits with the most parameters, and their errors."""
    x = np.linspace(-1, 1, 2001)
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x, truth(x), "k:", label="truth")
    for name, function in found.items():
        left.plot(x, function(x), label=name)
        right.plot(x, np.abs(function(x) - truth(x)) + 1e-12, label=name)
    left.set(xlabel="x", ylabel="f(x)", title="tanh(20 x), ten parameters each")
    right.set(xlabel="x", ylabel="|error|", yscale="log", ylim=(1e-5, 1), title="Error")
    left.legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "dynamics_steep.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("dynamics_steep_smoke" if smoke else "dynamics_steep", fresh=True)
    found = study(log, 1 if smoke else 8, {"sos": [(2, 2)]} if smoke else DEGREES)
    if not smoke:
        draw(found)


if __name__ == "__main__":
    main()
