"""Kills with -9 at random moments: what was there before is whole, and a run goes on to the end.

python -m experiments.hostile.kills [--kills 200]

Children are forks of one process, which has imported everything: `ran fit`, `ran discover --json
--report`, and `fit` of a network with a checkpoint, which is then resumed and must end in the same
bits as a run that nobody killed. After each kill every file that is there must open; files of a
killed writer have hidden names that end in .tmp, and are counted.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import rational_anova as ra
from experiments.results import Log
from rational_anova.cli import app


def _command(*words: object) -> None:
    app([str(word) for word in words], standalone_mode=False)


def fit_table(folder: Path) -> None:
    _command("fit", folder / "table.csv", "--target", "y", "--quiet", "--out", folder / "model.ran")


def discover_law(folder: Path) -> None:
    outputs = ("--json", folder / "law.json", "--report", folder / "law.html")
    _command(
        "discover", folder / "table.csv", "--target", "y", "--quiet", "--time-limit", 2, *outputs
    )


def train(folder: Path) -> torch.Tensor:
    torch.manual_seed(0)
    net, x = ra.RAN(2, 1, "all"), torch.linspace(-1, 1, 80).reshape(40, 2)
    ra.fit(net, (x, x.prod(1)), optimizer="adam", epochs=60, checkpoint=folder / "run.ckpt",
           checkpoint_every=0.0)  # fmt: skip
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


WORK: dict[str, tuple[Callable[[Path], object], float]] = {  # and seconds within which it is killed
    "ran fit": (fit_table, 5.0),
    "ran discover --json --report": (discover_law, 6.0),
    "fit with checkpoints": (train, 3.0),
}
OPENED = (".ran", ".json", ".ckpt")


def killed(work: Callable[[Path], object], folder: Path, seconds: float) -> bool:
    """Do work in a child, and kill it after so many seconds; say whether it was still at work."""
    child = os.fork()
    if not child:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work(folder)
        finally:
            os._exit(0)
    time.sleep(seconds)
    ended, _ = os.waitpid(child, os.WNOHANG)
    if ended:
        return False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def check(folder: Path, counts: Counter[str]) -> None:
    """Open every file; count those that are whole, and what killed writers left."""
    for path in folder.iterdir():
        if path.name.endswith(".tmp"):
            counts["left over"] += 1
            path.unlink()
        elif path.suffix in OPENED:
            ra.load(path)
            counts["opened"] += 1
        elif path.suffix == ".html":
            assert path.read_text().rstrip().endswith("</html>")
            counts["opened"] += 1


def campaign(name: str, kills: int, seed: int = 0) -> dict[str, object]:
    """Kill one kind of work so often."""
    work, longest = WORK[name]
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        x = np.random.default_rng(0).uniform(1, 5, 40)
        table = pd.DataFrame({"x": x, "y": 2 * x / (1 + x)}).to_csv(index=False)
        (folder / "table.csv").write_text(table)
        (folder / "whole").mkdir()
        straight = train(folder / "whole") if work is train else None
        while counts["kills"] < kills:
            counts["kills"] += killed(work, folder, rng.uniform(0, longest))
            check(folder, counts)
            assert (folder / "table.csv").read_text() == table
            if straight is not None and rng.random() < 0.2:
                assert torch.equal(train(folder), straight), "a resumed run ended elsewhere"
                (folder / "run.ckpt").unlink()
                counts["resumed to the same bits"] += 1
    return {"work": name, **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    log = Log("hostile_kills")
    for name in WORK:
        share = options.kills // len(WORK) + 1
        if not log.has(work=name):
            log.add(**campaign(name, share))


if __name__ == "__main__":
    main()
