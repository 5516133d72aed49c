"""The Runge function 1/(1 + 25 x^2): fit on [-1, 1], look at [-2.5, 2.5] (paper Sec. F).

RAN units of degrees (4, 3) as in the paper, q without a constant (Eq. 4) and with one (appendix).
By `lm` from eight starts, by `lm` with a trace of ridge, by `lm` followed by `auto_rational`, which
sets to zero what the data say nothing of, and by L-BFGS (the paper's) from three; an MLP and a KAN
beside them. 201 equidistant points, float64, one thread; of the starts the one with the least
training loss is kept, and the outside is only looked at. How many of the starts come to 1e-12
inside, and outside too, stands beside.

A second run goes on where the first stopped; the predictions for the figure are in build/.

python -m experiments.runge [--smoke]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

import rational_anova as ra
from experiments import peers
from experiments.results import FIGURES, Log
from rational_anova.functional import DENOMINATORS


def runge(x: Tensor) -> Tensor:
    """Return the function."""
    return 1 / (1 + 25 * x**2)


def ends() -> tuple[Tensor, Tensor]:
    """Return fine grids inside and outside of the data."""
    inside = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    out = torch.linspace(1, 2.5, 1501, dtype=torch.float64)
    return inside[:, None], torch.cat([-out, out])[:, None]


def mse(model: Any, x: Tensor) -> float:
    """Return the mean square error."""
    with torch.no_grad():
        return float((model(x) - runge(x)).square().mean())


EXACT = 1e-12
RIDGE = 1e-18
# Optimisers of the RANs: name in the table, arguments of `fit`, whether `auto_rational` follows.
WAYS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("lm", {"optimizer": "lm"}, False),
    ("lm, ridge", {"optimizer": "lm", "weight_decay": RIDGE}, False),
    ("lm, auto_rational", {"optimizer": "lm"}, True),
    ("lbfgs", {"optimizer": "lbfgs", "learning_rate": 0.1}, False),  # the paper's rate
)
BARE = ("lm", "lbfgs")  # without a constant the others change nothing
PICTURE = torch.linspace(-2.5, 2.5, 1001, dtype=torch.float64)[:, None]
BUILD = Path("build") / "runge"


def record(log: Log, net: Any, **row: Any) -> None:
    """Add a row, and keep what the figure draws."""
    inside, outside = ends()
    log.add(**row, inside=mse(net, inside), outside=mse(net, outside))
    BUILD.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        np.save(BUILD / f"{row['model']}, {row['optimizer']}.npy", net(PICTURE)[:, 0].numpy())


def rans(log: Log, X: Tensor, starts: int, epochs: int | None) -> None:
    """Fit the RANs, each way."""
    for way, options, snapping in WAYS:
        for kind, entry in DENOMINATORS.items():
            for constant in (False,) if entry.refuses_constant else (False, True):
                name = f"RAN {kind}" + ", constant" * constant
                if log.has(model=name, optimizer=way) or (not constant and way not in BARE):
                    continue
                count = (
                    min(starts, 3) if way == "lbfgs" else starts
                )  # a start takes ten times as long
                found = [one(X, kind, constant, options, epochs, seed) for seed in range(count)]
                if snapping:
                    for net, _ in found:
                        net.auto_rational(X, runge(X), precision=1e-9)
                inside, outside = ends()
                errors = [(mse(net, inside), mse(net, outside)) for net, _ in found]
                best = min(range(count), key=lambda n: found[n][1].training_loss)
                record(
                    log, found[best][0], model=name, optimizer=way,
                    parameters=ra.count_parameters(found[best][0]),
                    seconds=sum(history.seconds for _, history in found), starts=count,
                    exact_inside=sum(i <= EXACT for i, _ in errors),
                    exact_outside=sum(max(pair) <= EXACT for pair in errors),
                )  # fmt: skip


def one(
    X: Tensor, kind: str, constant: bool, options: dict[str, Any], epochs: int | None, seed: int
) -> tuple[ra.RAN, ra.History]:
    """Fit one RAN from one start."""
    torch.manual_seed(seed)
    net = ra.RAN(
        1, 1, "none", (4, 3), denominator=kind, base="zero", gate=None, noise=0.5,
        constant=constant, dtype=torch.float64,
    )  # fmt: skip
    return net, ra.fit(net, (X, runge(X)), epochs=epochs, **options)


def mlps(log: Log, X: Tensor, epochs: int) -> None:
    """Train the MLPs."""
    for activation in ("relu", "gelu"):
        for optimizer in ("adam", "lbfgs"):
            if log.has(model=f"MLP ({activation})", optimizer=optimizer):
                continue
            torch.manual_seed(0)
            net = ra.MLP(1, 1, (64, 64), activation).double()
            options = {"learning_rate": 3e-3, "schedule": "cosine"} if optimizer == "adam" else {}
            steps = epochs if optimizer == "adam" else max(2, epochs // 50)
            history = ra.fit(net, (X, runge(X)), optimizer=optimizer, epochs=steps, **options)
            record(log, net, model=f"MLP ({activation})", optimizer=optimizer,
                   parameters=ra.count_parameters(net), seconds=history.seconds)  # fmt: skip


def kans(log: Log, X: Tensor, seconds: float) -> None:
    """Train pykan."""
    for optimizer, rate, steps in (("LBFGS", 1.0, 200), ("Adam", 1e-2, 5000)):
        if log.has(model="KAN (pykan)", optimizer=optimizer.lower()):
            continue
        model, count, taken, _ = peers.fit_pykan(
            X, runge(X), [1, 5, 1], optimizer, steps, seconds=seconds, rate=rate, grid=10
        )
        record(log, model, model="KAN (pykan)", optimizer=optimizer.lower(), parameters=count,
               seconds=taken)  # fmt: skip


def draw(names: tuple[str, ...]) -> None:
    """Draw the functions and their errors."""
    x = PICTURE
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x[:, 0], runge(x)[:, 0], "k:", label="truth")
    for name in names:
        value = torch.from_numpy(np.load(BUILD / f"{name}.npy"))
        left.plot(x[:, 0], value, label=name)
        right.plot(x[:, 0], (value - runge(x)[:, 0]).abs() + 1e-18, label=name)
    left.set(xlabel="x", ylabel="f(x)", ylim=(-0.3, 1.1), title="Fit on [-1, 1] (shaded)")
    right.set(xlabel="x", ylabel="|error|", yscale="log", title="Error")
    for axes in (left, right):
        axes.axvspan(-1, 1, color="0.93", zorder=0)
    left.legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "runge.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("runge_smoke" if smoke else "runge", fresh=smoke)
    X = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    rans(log, X, *(1, 3) if smoke else (8, None))
    mlps(log, X, 20 if smoke else 5000)
    if not peers.has_pykan():
        print(peers.MISSING)
    elif not smoke:
        kans(log, X, 60.0)
    names = ("RAN sos, lm", "RAN softplus, lm", "RAN softplus, constant, lm", "MLP (relu), lbfgs",
             "MLP (gelu), adam", "KAN (pykan), lbfgs")  # fmt: skip
    if not smoke:
        draw(tuple(name for name in names if (BUILD / f"{name}.npy").exists()))


if __name__ == "__main__":
    main()
