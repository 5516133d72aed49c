"""Trained networks: certified Lipschitz constants and ranges over sampled ones, before and after.

Six networks of six inputs learn 2 sin(x0 x1) + x2^2 - x3 + x4/(1 + x5^2) on [-2, 2]^6 (4000 rows,
30 epochs of Adam). They are certified on boxes about 0 with half widths 2, 0.5 and 0.1: by
intervals and products of norms alone (`planes=False`, all there was before), by planes, and by
planes on 16 pieces. *Sampled* are 20,000 points and the ascent from the best of them, so ratios are
upper bounds of the truth. Every sample is held against every bound: one beyond ends the run.

python -m experiments.certificates.networks [--smoke]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import rational_anova as ra
from experiments.results import Log

INPUTS = 6
WIDTHS = (2.0, 0.5, 0.1)
NETWORKS = {
    "DeepRAN": lambda: ra.DeepRAN(INPUTS, 1),
    "DeepRAN, width 16": lambda: ra.DeepRAN(INPUTS, 1, width=16),
    "RANFFN, 32 hidden": lambda: ra.RANFFN(INPUTS, 32, 1),
    "four gated blocks of 16": lambda: nn.Sequential(
        nn.Linear(INPUTS, 16),
        *(ra.GatedRationalBlock(16, gate=0.3) for _ in range(4)),
        nn.Linear(16, 1),
    ),
    "MLP 32, 32, GELU": lambda: ra.MLP(INPUTS, 1, (32, 32)),
    "MLP 32, 32, ReLU": lambda: ra.MLP(INPUTS, 1, (32, 32), "relu"),
}
WAYS: dict[str, dict[str, Any]] = {
    "intervals and norms": {"planes": False, "pieces": 1},
    "planes": {"pieces": 1},
    "planes, 16 pieces": {"pieces": 16},
}


def target(x: Tensor) -> Tensor:
    y = 2 * torch.sin(x[:, 0] * x[:, 1]) + x[:, 2] ** 2 - x[:, 3] + x[:, 4] / (1 + x[:, 5] ** 2)
    return ((y - 1.3) / 2.2)[:, None]


def trained(name: str, rows: int, epochs: int) -> tuple[nn.Module, float]:
    """Return a network and its share of the variance left unexplained on fresh rows."""
    torch.manual_seed(0)
    x = 4 * torch.rand(rows + 2000, INPUTS) - 2
    y, net = target(x), NETWORKS[name]()
    ra.fit(net, (x[:rows], y[:rows]), loss="mse", optimizer="adam", epochs=epochs, seed=0,
           learning_rate=3e-3, batch_size=128)  # fmt: skip
    with torch.no_grad():
        left = (net.eval()(x[rows:]) - y[rows:]).square().mean() / y[rows:].var()
    return net.double(), left.item()


def slopes(net: nn.Module, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs and gradients at points."""
    points = torch.tensor(x, requires_grad=True)
    y = net(points)
    (slope,) = torch.autograd.grad(y.sum(), points)
    return y.detach().numpy()[:, 0], slope.numpy()


def sampled(net: nn.Module, width: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs and gradients at points of the box, the nearer to the steepest the more."""
    rng = np.random.default_rng(0)
    x = width * (2 * rng.random((count, INPUTS)) - 1)
    x[: count // 10] = np.sign(x[: count // 10]) * width
    x[0] = 0.0
    outputs, found = slopes(net, x)
    everything, reach = [(outputs, found)], width / 4
    best = x[np.linalg.norm(found, axis=1).argsort()[-20:]]
    for _ in range(25):
        near = best[:, None] + reach * (2 * rng.random((20, 20, INPUTS)) - 1)
        x = np.concatenate([best, np.clip(near.reshape(-1, INPUTS), -width, width)])
        outputs, found = slopes(net, x)
        everything.append((outputs, found))
        best, reach = x[np.linalg.norm(found, axis=1).argsort()[-20:]], reach * 0.7
    return tuple(np.concatenate(parts) for parts in zip(*everything, strict=True))  # type: ignore[return-value]


def study(
    net: nn.Module, width: float, count: int, ways: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    outputs, gradients = sampled(net, width, count)
    steepest, spread = float(np.linalg.norm(gradients, axis=1).max()), float(np.ptp(outputs))
    rows = []
    for way, options in ways.items():
        start = time.perf_counter()
        found = ra.certify(net, [(-width, width)] * INPUTS, **options)
        seconds = time.perf_counter() - start
        beyond = 0
        for verdict in found.monotone:
            (least, most), slope = verdict.slopes, gradients[:, verdict.input]
            beyond += int(((slope < least - 1e-9) | (slope > most + 1e-9)).sum())
        low, high = found.range[0]
        beyond += int(((outputs < low - 1e-9) | (outputs > high + 1e-9)).sum())
        beyond += int(steepest > found.lipschitz * (1 + 1e-12))
        if beyond:
            raise SystemExit(f"{beyond} samples beat a bound by {way} at {width}")
        rows.append({"way": way, "lipschitz": found.lipschitz, "met": steepest,
                     "range": high - low, "spread": spread, "seconds": seconds,
                     "denominator_min": min(found.denominator_min, 1e308)})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("certificates_networks_smoke" if smoke else "certificates_networks", fresh=smoke)
    names = ["RANFFN, 32 hidden"] if smoke else list(NETWORKS)
    for name in names:
        if log.has(network=name):
            continue
        net, left = trained(name, 300 if smoke else 4000, 1 if smoke else 30)
        for width in WIDTHS[-1:] if smoke else WIDTHS:
            ways = dict(list(WAYS.items())[:2]) if smoke else WAYS
            for row in study(net, width, 500 if smoke else 20_000, ways):
                log.add(network=name, unexplained=left, width=width, **row)


if __name__ == "__main__":
    main()
