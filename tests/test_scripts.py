"""Experiments and benchmarks run: small, and without touching the recorded results."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = [ROOT / "experiments" / "results", ROOT / "benchmarks" / "results"]


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
        ["experiments.discovery.feynman", "--smoke", "--jobs", "1"],
        ["experiments.discovery.paper", "--smoke", "--jobs", "1"],
        ["experiments.discovery.run_harder", "--smoke", "--jobs", "1"],
        ["experiments.discovery.extrapolation", "--smoke", "--jobs", "1"],
        ["experiments.discovery.irrelevant", "--smoke", "--jobs", "1"],
        ["experiments.discovery.nothing", "--smoke", "--jobs", "1"],
        ["experiments.discovery.coverage", "--smoke", "--jobs", "1"],
        ["experiments.discovery.real", "--smoke", "--jobs", "1"],
        ["experiments.discovery.peers_laws", "--smoke"],
        ["experiments.certificates.soundness", "--smoke"],
        ["experiments.certificates.positivity", "--smoke"],
        ["experiments.certificates.tightness", "--smoke"],
        ["experiments.certificates.isometry", "--smoke"],
        ["experiments.denoising.run", "--smoke"],
        ["experiments.denoising.shifts", "--smoke"],
        ["experiments.dynamics.reach", "--smoke"],
        ["experiments.dynamics.steep", "--smoke"],
        ["experiments.dynamics.steady", "--smoke"],
        ["experiments.tabular.compare", "--smoke", "--jobs", "1"],
        ["experiments.tabular.ablation", "--smoke"],
        ["experiments.vit.deit", "--smoke"],
        ["experiments.vision.accuracy", "--smoke"],
        ["experiments.vision.search", "--smoke"],
        ["experiments.vision.ablation", "--smoke"],
        ["experiments.vision.steps", "--smoke"],
        ["benchmarks.units", "--smoke"],
        ["benchmarks.memory", "--smoke"],
        ["benchmarks.networks", "--smoke"],
        ["benchmarks.scaling", "--smoke"],
    ],
    ids=lambda command: command[0],
)
def test_runs(command):
    files = [path for folder in RECORDED for path in folder.glob("*.*")]
    before = {path: path.read_bytes() for path in files}
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for path, content in before.items():
        if "smoke" not in path.name:
            assert path.read_bytes() == content
