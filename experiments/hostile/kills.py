"""Kills with -9 at random moments: what was there before is whole, and a run goes on to the end.

python -m experiments.hostile.kills [--kills 208]

Children are forks of one process, which has done all of it once, so that nothing is left to
import: `ran fit`, `ran discover --json --report`, a recorder of experiments, and `fit` of a network
with checkpoints. One whole run of each is measured. Then half of the kills fall at random moments
of such a run, and half when a file is being written: the child dies up to 20 ms after a new name is
seen in its folder. Every other child of a command finds the files of an earlier run in place. After
each kill every file must be the old one to the byte, or a new one that opens; what killed writers
leave has a hidden name, and is counted. Of the recorder the rows must be the first of those of a
whole run. One in four of the recorders and checkpoints is then taken up again, and must end in the
same bits as a run that nobody killed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import rational_anova as ra
from experiments.results import Log
from experiments.table import Table, run
from rational_anova.cli import app

TABLE = "table.csv"
_ROWS = 40
_AFTER = 0.02  # seconds after the sight of a new name within which a child is killed


def _command(*words: object) -> None:
    app([str(word) for word in words], standalone_mode=False)


def fit_table(folder: Path) -> None:
    _command("fit", folder / TABLE, "--target", "y", "--quiet", "--out", folder / "model.ran")


def discover_law(folder: Path) -> None:
    outputs = ("--json", folder / "law.json", "--report", folder / "law.html")
    _command("discover", folder / TABLE, "--target", "y", "--quiet", "--time-limit", 2, *outputs)


def _row(at: int) -> dict[str, object]:
    time.sleep(0.01)
    return {"at": at, "root": at**0.5}


def record(folder: Path) -> None:
    table = Table("rows", key=("at",), study="killed", folder=folder)
    run(table, _row, [{"at": at} for at in range(_ROWS)], jobs=1)


def train(folder: Path) -> None:
    torch.manual_seed(0)
    net, x = ra.RAN(2, 1, "all"), torch.linspace(-1, 1, 80).reshape(40, 2)
    ra.fit(net, (x, x.prod(1)), optimizer="adam", epochs=60, checkpoint=folder / "run.ckpt",
           checkpoint_every=0.0)  # fmt: skip
    weights = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    (folder / "weights").write_bytes(weights.numpy().tobytes())


@dataclass(frozen=True)
class Work:
    """What is killed.

    Args:
        do: writes into a folder.
        files: that a whole run leaves.
        writes: how often a new name is seen in the folder in such a run, at least.
        resumed: the file that is the same to the byte after a run that was taken up again.
    """

    do: Callable[[Path], None]
    files: tuple[str, ...]
    writes: int
    resumed: str = ""


WORK = {
    "ran fit": Work(fit_table, ("model.ran",), 1),
    "ran discover --json --report": Work(discover_law, ("law.json", "law.html"), 2),
    "recorder of experiments": Work(record, ("killed_rows.csv",), _ROWS, "killed_rows.csv"),
    "fit with checkpoints": Work(train, ("run.ckpt",), 60, "weights"),
}


def child(work: Work, folder: Path) -> int:
    """Begin to work in a process of its own, which says nothing; return its number."""
    number = os.fork()
    if not number:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work.do(folder)
            os._exit(0)
        finally:
            os._exit(1)
    return number


def whole_run(work: Work, folder: Path) -> float:
    """Let a run end, and return the seconds that it took."""
    start = time.perf_counter()
    _, status = os.waitpid(child(work, folder), 0)
    missing = [name for name in work.files if not (folder / name).exists()]
    assert (status, missing) == (0, []), "a run that nobody killed did not end"
    return time.perf_counter() - start


def killed(work: Work, folder: Path, after: float, writes: int) -> bool:
    """Kill a child after some seconds, which begin when so many new names have been seen.

    Returns:
        Whether it was still at work.
    """
    known = set(os.listdir(folder))
    number = child(work, folder)
    while writes:
        names = set(os.listdir(folder))
        writes -= bool(names - known)
        known |= names
        if os.waitpid(number, os.WNOHANG)[0]:
            return False
        time.sleep(0.0002)
    time.sleep(after)
    if os.waitpid(number, os.WNOHANG)[0]:
        return False
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return True


def check(work: Work, folder: Path, before: dict[str, bytes], rows: list[str]) -> Counter[str]:
    """Look at every file; count the old and the new ones, and what killed writers left."""
    counts: Counter[str] = Counter()
    for path in folder.iterdir():
        if path.name.startswith("."):
            counts["left over"] += 1
            path.unlink()
        elif path.name in work.files:
            content = path.read_bytes()
            if content == before.get(path.name):
                counts["old"] += 1
                continue
            counts["new"] += 1
            if path.suffix == ".csv":
                lines = content.decode().splitlines()
                assert lines == rows[: len(lines)], f"{path.name} has other rows"
            elif path.suffix == ".html":
                assert content.rstrip().endswith(b"</html>"), f"{path.name} is cut off"
            else:
                ra.load(path)
    return counts


def campaign(name: str, kills: int, seed: int = 0) -> dict[str, object]:
    """Kill one kind of work so often."""
    work, rng, counts = WORK[name], random.Random(seed), Counter[str]()
    x = np.random.default_rng(0).uniform(1, 5, 40)
    table = pd.DataFrame({"x": x, "y": 2 * x / (1 + x)}).to_csv(index=False)
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        whole.mkdir()
        (whole / TABLE).write_text(table)
        with contextlib.redirect_stdout(io.StringIO()):
            work.do(whole)
        for path in work.files:
            (whole / path).unlink()
        seconds = whole_run(work, whole)
        old = {path: (whole / path).read_bytes() for path in work.files}
        rows = old[work.files[0]].decode().splitlines() if work.do is record else []
        while counts["kills"] < kills:
            with tempfile.TemporaryDirectory(dir=place) as fresh:
                folder = Path(fresh)
                (folder / TABLE).write_text(table)
                before = old if not work.resumed and rng.random() < 0.5 else {}
                for path, content in before.items():
                    (folder / path).write_bytes(content)
                if rng.random() < 0.5:
                    dead = killed(work, folder, rng.uniform(0, seconds), 0)
                    moment = "at any moment"
                else:
                    writes = rng.randint(1, work.writes)
                    dead = killed(work, folder, rng.uniform(0, _AFTER), writes)
                    moment = "while writing"
                counts["kills"] += dead
                counts[moment] += dead
                counts["ended before"] += not dead
                assert (folder / TABLE).read_text() == table, "the table was touched"
                if dead:
                    counts += check(work, folder, before, rows)
                if dead and work.resumed and rng.random() < 0.25:
                    whole_run(work, folder)
                    same = (folder / work.resumed).read_bytes()
                    assert same == (whole / work.resumed).read_bytes(), "it ended elsewhere"
                    counts["resumed to the same bits"] += 1
    return {"work": name, "seconds of a whole run": round(seconds, 2), **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=208)
    options = parser.parse_args()
    torch.set_num_threads(1)
    log = Log("hostile_kills")
    for name in WORK:
        if not log.has(work=name):
            log.add(**campaign(name, -(-options.kills // len(WORK))))


if __name__ == "__main__":
    main()
