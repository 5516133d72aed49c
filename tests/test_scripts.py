"""Experiments and benchmarks run: small, and without touching the recorded results."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "experiments" / "results"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["experiments.stability", "--smoke"],
        ["experiments.init_fit", "--smoke"],
        ["experiments.runge", "--smoke"],
        ["experiments.lorentzian", "--smoke"],
        ["experiments.sharpened", "--smoke"],
        ["experiments.needle", "--smoke"],
        ["experiments.ablation", "--smoke"],
        ["experiments.optimizers", "--smoke"],
        ["benchmarks.units", "--rows", "64", "--features", "16", "--rounds", "3"],
    ],
    ids=lambda command: command[0],
)
def test_runs(command):
    before = {path.name: path.read_bytes() for path in RECORDED.glob("*.json")}
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for name, content in before.items():
        if "smoke" not in name:
            assert (RECORDED / name).read_bytes() == content
