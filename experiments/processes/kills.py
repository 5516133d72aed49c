"""One of several processes is killed with -9 in the middle of a fit; others go on from its file.

python -m experiments.processes.kills [--smoke]

Two or four processes, started by torchrun, fit a network with a checkpoint after every step. In the
middle the last one kills itself with SIGKILL; once it is the first, which writes the file. Recorded
are how the rest ended (exit code of torchrun, seconds, what the other processes said), and how far
the end of a second run from the file, on 1, 2 or 4 processes, is from a fit that nobody killed: the
largest difference of the losses, as a share of the first, and of the weights.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import distributed

import rational_anova as ra
from experiments.processes.curves import _rows
from experiments.processes.launch import torchrun, work
from experiments.results import write

MODULE = "experiments.processes.kills"
_STEPS = 25  # after which the victim ends: 8 steps an epoch, 6 epochs
_SETTINGS = {"optimizer": "adam", "batch_size": 64, "epochs": 6, "validation": 0.2}

Result = dict[str, Any]


def _fit(checkpoint: str, victim: int) -> Result:
    x, y = _rows(torch.float64)
    torch.manual_seed(0)
    model = ra.RAN(6, topology="all", noise=0.1, dtype=torch.float64)
    if distributed.get_rank() == victim:
        seen = []

        def die(module: object, inputs: object) -> None:
            seen.append(torch.is_grad_enabled())
            if sum(seen) > _STEPS:
                os.kill(os.getpid(), signal.SIGKILL)

        model.register_forward_pre_hook(die)
    history = ra.fit(model, (x, y), checkpoint=checkpoint, checkpoint_every=0, **_SETTINGS)
    return {
        "losses": [record.loss for record in history.records],
        "weights": torch.cat([p.detach().flatten() for p in model.parameters()]).tolist(),
    }


def _run(folder: Path, count: int, name: str, victim: int = -1) -> tuple[Any, Result]:
    begun = time.perf_counter()
    ended = torchrun(MODULE, count, folder, folder / name, victim)
    seconds = time.perf_counter() - begun
    told = {
        "exit": ended.returncode,
        "seconds": round(seconds, 1),
        "torchrun names the signal": "SIGKILL" in ended.stderr or "Signal 9" in ended.stderr,
        "another process says so": "another process of this fit" in ended.stderr,
    }
    path = folder / "0.json"
    result = json.loads(path.read_text()) if not ended.returncode else {}
    return result, told


def _apart(one: Any, other: Any) -> tuple[float, float]:
    losses, weights = (
        [torch.tensor(run[k], dtype=torch.float64) for run in (one, other)]
        for k in ("losses", "weights")
    )
    return (
        float((losses[0] - losses[1]).abs().max() / losses[0][0]),
        float((weights[0] - weights[1]).abs().max() / weights[0].abs().max()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=3)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.worker:
        folder, checkpoint, victim = options.worker
        work(folder, lambda: _fit(checkpoint, int(victim)))
        return
    cases = [(2, 1, 2)] if options.smoke else [(2, 1, 2), (2, 0, 1), (4, 3, 2), (2, 1, 4)]
    rows = []
    with tempfile.TemporaryDirectory() as home:
        whole, _ = _run(Path(home), 1, "whole")
        for at, (count, victim, again) in enumerate(cases):
            _, told = _run(Path(home), count, f"{at}", victim)
            left = ra.load(Path(home) / f"{at}")
            resumed, after = _run(Path(home), again, f"{at}")
            losses, weights = _apart(whole, resumed)
            rows.append({
                "processes": count, "victim": victim, **told,
                "step of the file": left.position["step"], "on": again,
                "exit again": after["exit"], "loss": losses, "weights": weights,
            })  # fmt: skip
    write("processes_kills_smoke" if options.smoke else "processes_kills", {"rows": rows})


if __name__ == "__main__":
    main()
