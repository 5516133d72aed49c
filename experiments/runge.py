"""The Runge function 1/(1 + 25 x^2): fit on [-1, 1], look at [-2.5, 2.5] (paper Sec. F).

RAN units of degrees (4, 3) as in the paper, by `lm` from eight starts and by L-BFGS as the paper
has it; an MLP and a KAN beside them. 201 equidistant points, float64, one thread; of the starts
the one with the least training loss is kept, and the outside is only looked at.

python -m experiments.runge [--smoke]
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

import rational_anova as ra
from experiments import peers
from experiments.results import FIGURES, Log


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


def record(log: Log, net: Any, **row: Any) -> None:
    inside, outside = ends()
    log.add(**row, inside=mse(net, inside), outside=mse(net, outside))


def rans(log: Log, X: Tensor, restarts: int, epochs: int | None) -> dict[str, Any]:
    models = {}
    for kind in ("sos", "polynomial", "square", "abs", "squareplus", "softplus"):
        for optimizer in ("lm", "lbfgs"):
            torch.manual_seed(0)
            net = ra.RAN(
                1, 1, "none", (4, 3), denominator=kind, base="zero", gate=None, noise=0.1,
                dtype=torch.float64,
            )  # fmt: skip
            rate = 0.1 if optimizer == "lbfgs" else None  # the paper's
            history = ra.fit(
                net, (X, runge(X)), optimizer=optimizer, restarts=restarts, restart_noise=0.5,
                learning_rate=rate, epochs=epochs,
            )  # fmt: skip
            good = sum(loss <= 10 * history.training_loss for loss in history.runs.values())
            record(log, net, model=f"RAN {kind}", optimizer=optimizer,
                   parameters=ra.count_parameters(net), seconds=history.seconds, starts=restarts,
                   starts_within_10x=good)  # fmt: skip
            models[f"RAN {kind}, {optimizer}"] = net
    return models


def mlps(log: Log, X: Tensor, epochs: int) -> dict[str, Any]:
    models = {}
    for activation in ("relu", "gelu"):
        best: tuple[float, Any] | None = None
        for optimizer in ("adam", "lbfgs"):
            torch.manual_seed(0)
            net = ra.MLP(1, 1, (64, 64), activation).double()
            options = {"learning_rate": 3e-3, "schedule": "cosine"} if optimizer == "adam" else {}
            steps = epochs if optimizer == "adam" else max(2, epochs // 50)
            history = ra.fit(net, (X, runge(X)), optimizer=optimizer, epochs=steps, **options)
            record(log, net, model=f"MLP ({activation})", optimizer=optimizer,
                   parameters=ra.count_parameters(net), seconds=history.seconds)  # fmt: skip
            if best is None or history.training_loss < best[0]:
                best = (history.training_loss, net)
        assert best is not None
        models[f"MLP ({activation})"] = best[1]
    return models


def kans(log: Log, X: Tensor, seconds: float) -> dict[str, Any]:
    found = {}
    for optimizer, rate, steps in (("LBFGS", 1.0, 200), ("Adam", 1e-2, 5000)):
        model, count, taken, _ = peers.fit_pykan(
            X, runge(X), [1, 5, 1], optimizer, steps, seconds=seconds, rate=rate, grid=10
        )
        record(log, model, model="KAN (pykan)", optimizer=optimizer.lower(), parameters=count,
               seconds=taken)  # fmt: skip
        found[optimizer] = model
    return {"KAN (pykan)": min(found.values(), key=lambda m: mse(m, X))}


def draw(models: dict[str, Any]) -> None:
    """Draw the functions and their errors."""
    x = torch.linspace(-2.5, 2.5, 1001, dtype=torch.float64)[:, None]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x[:, 0], runge(x)[:, 0], "k:", label="truth")
    for name, model in models.items():
        with torch.no_grad():
            value = model(x)
        left.plot(x[:, 0], value[:, 0], label=name)
        right.plot(x[:, 0], (value - runge(x)).abs()[:, 0] + 1e-18, label=name)
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
    log = Log("runge_smoke" if smoke else "runge", fresh=True)
    X = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    models = rans(log, X, *(1, 3) if smoke else (8, None)) | mlps(log, X, 20 if smoke else 5000)
    if not peers.has_pykan():
        print(peers.MISSING)
    elif not smoke:
        models |= kans(log, X, 60.0)
    if not smoke:
        names = ("RAN sos, lm", "RAN softplus, lm", "MLP (relu)", "MLP (gelu)", "KAN (pykan)")
        draw({name: models[name] for name in names if name in models})


if __name__ == "__main__":
    main()
