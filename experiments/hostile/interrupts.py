"""Ctrl-C at random moments: how long it takes until the work has ended, with what there is.

python -m experiments.hostile.interrupts [--times 5]

Children are forks, as in `kills`, each with much to do, and one that imports the library. Seconds
are those of the clock, and of the processor after the signal: on a busy machine the first say more
of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import rational_anova as ra
from experiments.results import Log
from rational_anova.cli import app

_RNG = np.random.default_rng(0)
X = pd.DataFrame(_RNG.uniform(0.5, 3, (1500, 6)), columns=list("abcdef"))
Y = np.sin(X["a"] * X["b"]) + np.exp(-X["c"]) * X["d"] + X["e"] / X["f"] + _RNG.normal(size=1500)
T = np.linspace(0, 20, 400)
STATES = np.exp(-0.1 * T)[:, None] * np.column_stack([np.sin(T), np.cos(T)])
STATES = STATES + 0.01 * _RNG.normal(size=STATES.shape)
LONGEST = 4.0  # seconds after which the signal is sent at the latest


def discover(folder: Path) -> None:
    ra.discover(X, Y, target="y", time_limit=60)


def train(folder: Path) -> None:
    x = torch.tensor(X.to_numpy(), dtype=torch.float32)
    ra.fit(ra.RAN(6, 1, "all"), (x, x.prod(1)), optimizer="adam", epochs=100_000)


def estimator(folder: Path) -> None:
    ra.RANRegressor().fit(X, Y)


def classifier(folder: Path) -> None:
    ra.RANClassifier().fit(X, Y.mean() < Y)


def dynamics(folder: Path) -> None:
    ra.discover_dynamics(T, STATES, names=["x", "v"])


def law(folder: Path) -> None:
    for _ in range(100):
        ra.fit_law("p*exp(-q*a)*sin(r*b + s) + t*c**u", X[["a", "b", "c"]], Y, target="y")


def certify(folder: Path) -> None:
    torch.manual_seed(0)
    ra.certify(ra.RAN(12, 1, "all", noise=0.5), [(-3, 3)] * 12, tolerance=1e-5)


def predict(folder: Path) -> None:
    model, much = ra.load(folder / "model.ran"), pd.concat([X] * 400)
    while True:
        model.predict(much)


def imports(folder: Path) -> None:
    program = "import rational_anova as ra; ra.discover, ra.RANRegressor, ra.fit, ra.certify"
    os.execv(sys.executable, [sys.executable, "-c", program])


def _command(*words: object) -> None:
    app([str(word) for word in words], standalone_mode=False)


def discover_command(folder: Path) -> None:
    _command("discover", folder / "t.csv", "--target", "y", "--quiet", "--json", folder / "l.json")


def fit_command(folder: Path) -> None:
    _command("fit", folder / "t.csv", "--target", "y", "--quiet", "--out", folder / "m.ran")


def dynamics_command(folder: Path) -> None:
    _command("dynamics", folder / "m.csv", "--time", "t", "--quiet", "--json", folder / "d.json")


WORK: dict[str, Callable[[Path], None]] = {
    "discover": discover, "fit of a network": train, "estimator": estimator,
    "ran discover": discover_command, "ran fit": fit_command, "classifier": classifier,
    "dynamics": dynamics, "ran dynamics": dynamics_command, "fit_law": law, "certify": certify,
    "predict": predict, "import": imports,
}  # fmt: skip


def interrupted(work: Callable[[Path], None], folder: Path, after: float) -> tuple[float, float]:
    """Interrupt a child after some seconds; return those until it ended, and its processor's."""
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        with contextlib.suppress(BaseException):
            work(folder)
        os._exit(0)
    time.sleep(after)
    used = _processor(child)
    start = time.perf_counter()
    os.kill(child, signal.SIGINT)
    _, _, usage = os.wait4(child, 0)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime - used


def _processor(process: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    log, rng = Log("hostile_interrupts"), random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        X.assign(y=Y).to_csv(folder / "t.csv", index=False)
        pd.DataFrame({"t": T, "x": STATES[:, 0], "v": STATES[:, 1]}).to_csv(
            folder / "m.csv", index=False
        )
        ra.RANRegressor(pairs=2, refinements=0).fit(X, Y).save(folder / "model.ran")
        ra.discover(X.head(40), Y.head(40), target="y", time_limit=2)  # imports what there is
        for name, work in WORK.items():
            if log.has(work=name):
                continue
            found = [
                interrupted(work, folder, rng.uniform(0.5, LONGEST)) for _ in range(options.times)
            ]
            clock, processor = (round(max(part), 2) for part in zip(*found, strict=True))
            log.add(work=name, times=options.times, clock=clock, processor=processor)


if __name__ == "__main__":
    main()
