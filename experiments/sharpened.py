"""The sharpened Lorentzian 1/(1 + 10 (x^2 + y^2)) over depth, width and learning rate (Sec. J).

As in the paper's table: D in 2, 3, 4, W in 10, 100, Adam at 1e-4, 1e-3, 1e-2. The paper gives
neither the domain nor the number of points and steps; here 50 x 50 grid points on [-4, 4]^2 to
learn from, 2,000 random points to test on, 300 epochs in batches of 256, float32. MLP: ReLU, D
layers of weights. KAN: our B-spline layers, D of them. RAN: `DeepRAN` with D blocks of W nodes and
W random pairs, q without a constant (Eq. 4) and with one (appendix). Beside the table: a shallow
RAN of 21 parameters, 24 with the constant, by `lm`, the setting that suits this function.
A second run goes on where the first stopped, rate by rate, the middle one first.

python -m experiments.sharpened [--smoke]
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import torch
from torch import Tensor

import rational_anova as ra
from experiments.results import Log

FAMILIES = ("MLP", "KAN", "RAN", "RAN, constant")
DEPTHS, WIDTHS, RATES = (2, 3, 4), (10, 100), (1e-3, 1e-2, 1e-4)


def data(points: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training and test inputs and targets."""
    axis = torch.linspace(-4, 4, points)
    X = torch.cartesian_prod(axis, axis)
    T = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0)) * 8 - 4
    return X, f(X), T, f(T)


def f(X: Tensor) -> Tensor:
    """Return the function."""
    return 1 / (1 + 10 * X.square().sum(1, keepdim=True))


def build(family: str, depth: int, width: int) -> Any:
    """Return a network of a family."""
    torch.manual_seed(0)
    hidden = (width,) * (depth - 1)
    if family == "MLP":
        return ra.MLP(2, 1, hidden, "relu")
    if family == "KAN":
        return ra.KAN(2, 1, hidden, grid_range=(-4, 4))
    return ra.DeepRAN(2, 1, width, depth, topology="d", constant=family != "RAN")


def mse(model: Any, X: Tensor, y: Tensor) -> float:
    """Return the mean square error."""
    with torch.no_grad():
        return float((model(X) - y).double().square().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("sharpened_smoke" if smoke else "sharpened", fresh=smoke)
    X, y, T, t = data(10 if smoke else 50)
    depths, widths, rates = ((2,), (10,), (1e-2,)) if smoke else (DEPTHS, WIDTHS, RATES)
    shallow(log, X.double(), T.double(), 1 if smoke else 8)
    for family, rate, depth, width in itertools.product(FAMILIES, rates, depths, widths):
        key = {"family": family, "depth": depth, "width": width, "rate": rate}
        if not log.has(**key):
            run(log, key, (X, y, T, t), 2 if smoke else 300)


def run(log: Log, key: dict[str, Any], parts: tuple[Tensor, ...], epochs: int) -> None:
    X, y, T, t = parts
    net = build(key["family"], key["depth"], key["width"])
    began = time.perf_counter()
    try:
        history = ra.fit(
            net, (X, y), optimizer="adam", epochs=epochs, batch_size=256,
            learning_rate=key["rate"],
        )  # fmt: skip
        events = len(history.events)
    except ra.Diverged:
        events = -1
    log.add(
        **key,
        parameters=ra.count_parameters(net),
        train=mse(net, X, y),
        test=mse(net, T, t),
        seconds=time.perf_counter() - began,
        retreats=events,
    )


def shallow(log: Log, X: Tensor, T: Tensor, restarts: int) -> None:
    for kind, constant in (("softplus", False), ("softplus", True), ("sos", False)):
        name = kind + ", constant" * constant
        if log.has(family="RAN shallow", denominator=name):
            continue
        torch.manual_seed(0)
        net = ra.RAN(2, topology="all", denominator=kind, base="zero", gate=None, noise=0.1,
                     constant=constant, dtype=torch.float64)  # fmt: skip
        history = ra.fit(net, (X, f(X)), optimizer="lm", restarts=restarts)
        log.add(
            family="RAN shallow",
            denominator=name,
            parameters=ra.count_parameters(net),
            train=mse(net, X, f(X)),
            test=mse(net, T, f(T)),
            seconds=history.seconds,
        )


if __name__ == "__main__":
    main()
