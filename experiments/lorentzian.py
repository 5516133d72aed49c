"""The Lorentzian potential 1/(1 + x^2 + y^2): RAN against an MLP and a KAN (paper Sec. E).

A 200 x 200 grid on [-4, 4]^2; the error is the MSE on that grid, as in the paper, so nothing here
measures generalisation. Everything runs in float64 on one thread. Of each baseline the best of its
optimisers is what the table compares with. "Constant" is one in q, as the paper's appendix has it;
72 parameters are `preset("lorentzian-72")`. A second run goes on where the first stopped; the
figure is drawn if all predictions are in build/.

python -m experiments.lorentzian [--smoke]
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import sympy
import torch
from matplotlib.figure import Figure
from torch import Tensor

import rational_anova as ra
from experiments import peers
from experiments.results import FIGURES, Log

PAIR = "RAN softplus, pair only"
# Two heads of a cubic with a constant in q, 72 parameters, as `preset("lorentzian-72")` has them.
CUBIC: dict[str, dict[str, Any]] = {
    "RAN softplus, constant, 72": {"denominator": "softplus", "eps": None},
    "RAN |q| + 1e-6, constant, 72": {},
}
REACH = 4.0


def grid(points: int) -> tuple[Tensor, Tensor]:
    """Return the inputs and the potential on a square grid."""
    axis = torch.linspace(-4, 4, points, dtype=torch.float64)
    X = torch.cartesian_prod(axis, axis)
    return X, 1 / (1 + X.square().sum(1, keepdim=True))


def rans() -> dict[str, dict[str, Any]]:
    """Return the networks: settings of `RAN`."""
    plain = {"topology": "all", "base": "zero", "gate": None, "noise": 0.1}
    return {
        "RAN softplus": {**plain, "denominator": "softplus", "heads": 2},
        "RAN softplus, one head": {**plain, "denominator": "softplus"},
        PAIR: {
            **plain, "denominator": "softplus", "heads": 4,
            "topology": ra.Topology.of([(0, 1)], mains=[]),
        },
        "RAN softplus, constant": {**plain, "denominator": "softplus", "constant": True},
        f"{PAIR}, constant": {
            **plain, "denominator": "softplus", "constant": True,
            "topology": ra.Topology.of([(0, 1)], mains=[]),
        },
        "RAN sos": {**plain, "denominator": "sos"},
        "RAN polynomial": {**plain, "denominator": "polynomial"},
    }  # fmt: skip


class Runs:
    """The runs so far: rows in the log, predictions on the grid in build/, to draw from.

    Args:
        log: of the rows.
        points: of the grid, along each axis.
    """

    def __init__(self, log: Log, points: int) -> None:
        self.log, self.points = log, points
        self.X, self.y = grid(points)
        self.folder = Path("build") / log.name

    def file(self, row: dict[str, Any]) -> Path:
        """Return where the predictions of a run are kept."""
        words = (str(row[k]) for k in ("model", "optimizer", "rate") if row.get(k) is not None)
        return self.folder / f"{' '.join(words)}.npy"

    def done(self, key: dict[str, Any]) -> bool:
        """Say whether a run need not be repeated."""
        return self.log.has(**key)

    def add(self, model: Any, key: dict[str, Any], **more: Any) -> None:
        """Record a run."""
        with torch.no_grad():
            value = torch.cat([model(x) for x in self.X.split(5000)])
        self.folder.mkdir(parents=True, exist_ok=True)
        np.save(self.file(key), value.numpy())
        self.log.rows = [r for r in self.log.rows if any(r.get(k) != v for k, v in key.items())]
        self.log.add(**key, mse=float((value - self.y).square().mean()), **more)

    def best(self, name: str) -> np.ndarray:
        """Return the predictions of a model's best run, as a picture."""
        row = min((r for r in self.log if r["model"] == name), key=lambda r: r["mse"])
        return np.load(self.file(row)).reshape(self.points, self.points)


def run_ran(runs: Runs, restarts: int) -> None:
    for name, settings in rans().items():
        key = {"model": name, "optimizer": "lm"}
        if runs.done(key):
            continue
        torch.manual_seed(0)
        net = ra.RAN(2, **settings, dtype=torch.float64)
        began = time.perf_counter()
        history = ra.fit(net, (runs.X, runs.y), optimizer="lm", restarts=restarts, epochs=300)
        runs.add(
            net,
            key,
            parameters=ra.count_parameters(net),
            seconds=time.perf_counter() - began,
            best_start_seconds=history.seconds,
            restarts=restarts,
            starts=sorted(history.runs.values()),
            note=read_off(net),
        )


def run_cubic(runs: Runs, starts: int) -> None:
    """Fit the networks of 72 parameters: a few starts on a 50 x 50 grid, the best on all rows.

    At the start the coefficients of a monomial of degree k are 4^-k times as large as they were
    drawn: on [-4, 4] |q| would have zeros else, where the function is a million times too large.
    """
    few = grid(min(50, runs.points))
    for name, changes in CUBIC.items():
        key = {"model": name, "optimizer": "lm"}
        if runs.done(key):
            continue
        began = time.perf_counter()
        found = []
        for seed in range(starts):
            torch.manual_seed(seed)
            built = ra.preset("lorentzian-72").build(
                2, 1, base="zero", dtype=torch.float64, **changes
            )
            scale_(built)
            found.append(
                (ra.fit(built, few, optimizer="lm", epochs=150).training_loss, seed, built)
            )
        net = min(found)[2]
        ra.fit(net, (runs.X, runs.y), optimizer="lm", epochs=30)
        runs.add(
            net, key, parameters=ra.count_parameters(net), seconds=time.perf_counter() - began,
            restarts=starts, starts=sorted(loss for loss, *_ in found),
            note="starts on a 50 x 50 grid, the best on all rows",
        )  # fmt: skip


@torch.no_grad()
def scale_(net: Any) -> None:
    """Divide the coefficients of each monomial by its value at the end of the range."""
    for unit in (net.main, net.pair):
        layouts = (unit.form.numerator, unit.form.denominator[0])
        for rows, powers in zip((unit.numerator, unit.denominator), layouts, strict=True):
            rows *= torch.tensor([[REACH ** -sum(row)] for row in powers])


def read_off(net: ra.RAN) -> str:
    """Return the coefficients of the pair's denominator over its constant, if a polynomial."""
    if net.pair is None or net.pair.kind not in ("sos", "polynomial"):
        return ""
    x, y = sympy.symbols("x y")
    _, bottom = sympy.fraction(sympy.together(net.pair.to_sympy([x, y])[0]))
    poly = sympy.Poly(sympy.expand(bottom), x, y)
    constant = poly.coeff_monomial(1)
    wanted = {"x^2": x**2, "y^2": y**2, "x y": x * y, "x": x, "y": y}
    parts = (f"{k}: {float(poly.coeff_monomial(v) / constant):.12f}" for k, v in wanted.items())
    return "; ".join(parts)


def run_mlp(runs: Runs, seconds: float) -> None:
    rates: list[float | None] = [None, 1e-3, 3e-3, 1e-2]
    for rate in rates:
        optimizer = "lbfgs" if rate is None else "adam"
        key = {"model": "MLP", "optimizer": optimizer, "rate": rate}
        if runs.done(key):
            continue
        torch.manual_seed(0)
        net = ra.MLP(2, 1, (70, 70)).double()
        options: dict[str, Any] = {"epochs": 1000}
        if rate is not None:
            options = {"learning_rate": rate, "batch_size": 1024, "schedule": "cosine"}
            options["epochs"] = epochs_in(net, runs, options, seconds)
        history = ra.fit(net, (runs.X, runs.y), optimizer=optimizer, time_limit=seconds, **options)
        count = ra.count_parameters(net)
        runs.add(net, key, parameters=count, seconds=history.seconds, stopped=history.stopped)


def epochs_in(net: Any, runs: Runs, options: dict[str, Any], seconds: float) -> int:
    """Return how many epochs fill the time, so that the schedule ends with it."""
    probe = ra.fit(copy.deepcopy(net), (runs.X, runs.y), optimizer="adam", **options, epochs=2)
    return max(2, int(0.9 * seconds / (probe.seconds / 2)))


def run_kan(runs: Runs, seconds: float, points: int) -> None:
    """Train pykan on a thinned grid: on all rows one of its L-BFGS steps takes minutes."""
    few = grid(points)
    for optimizer, rate in (("LBFGS", 1.0), ("Adam", 1e-2), ("Adam", 1e-3)):
        key = {"model": "KAN (pykan)", "optimizer": optimizer.lower(), "rate": rate}
        if runs.done(key):
            continue
        batch = -1 if optimizer == "LBFGS" else 1024
        model, count, taken, steps = peers.fit_pykan(
            *few, [2, 21, 22, 1], optimizer, 10**6, seconds=seconds, rate=rate, batch=batch
        )
        note = f"{steps} steps on a {points} x {points} grid"
        runs.add(model, key, parameters=count, seconds=taken, note=note)


def draw(runs: Runs, names: list[str]) -> None:
    """Draw error maps, and the cross-section at y = 0."""
    axis = np.linspace(-4, 4, runs.points)
    truth = runs.y.reshape(runs.points, runs.points).numpy()
    figure = Figure(figsize=(3.6 * len(names), 7.2), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    maps = upper.subplots(1, len(names), sharey=True)
    section, error_section = lower.subplots(1, 2)
    middle = runs.points // 2
    section.plot(axis, truth[:, middle], "k:", label="truth")
    for axes, name in zip(maps, names, strict=True):
        value = runs.best(name)
        error = np.abs(value - truth)
        picture = np.log10(error + 1e-17)
        mesh = axes.pcolormesh(axis, axis, picture.T, vmin=-17, vmax=-2, rasterized=True)
        axes.set(xlabel="x", aspect="equal")
        axes.set_title(f"{name}\nMSE {np.mean(error**2):.1e}", fontsize=9)
        section.plot(axis, value[:, middle], label=name)
        error_section.plot(axis, error[:, middle] + 1e-18, label=name)
    maps[0].set_ylabel("y")
    upper.colorbar(mesh, ax=maps, label="log10 |error|")
    section.set(xlabel=f"x, at y = {axis[middle]:.2f}", ylabel="f", title="Cross-section")
    error_section.set(xlabel=f"x, at y = {axis[middle]:.2f}", ylabel="|error|", yscale="log")
    error_section.set_title("Error there")
    section.legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "lorentzian.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    points, seconds, restarts = (12, 0.2, 1) if smoke else (200, 120.0, 8)
    log = Log("lorentzian_smoke" if smoke else "lorentzian", fresh=smoke)
    runs = Runs(log, points)
    run_ran(runs, restarts)
    run_cubic(runs, min(3, restarts))
    run_mlp(runs, seconds)
    if not peers.has_pykan():
        print(peers.MISSING)
    elif not smoke:
        run_kan(runs, seconds, 50)
    if not smoke:
        names = ["RAN sos", PAIR, "RAN softplus", "MLP", "KAN (pykan)"]
        if all(runs.file(row).exists() for row in log):  # else keep the figure that is there
            draw(runs, [name for name in names if any(row["model"] == name for row in log)])


if __name__ == "__main__":
    main()
