"""Experiments and benchmarks run: small, and without touching the recorded results."""

import importlib
import inspect
import sys
import time
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
RECORDED = [ROOT / "experiments" / "results", ROOT / "benchmarks" / "results"]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # peers warn
@pytest.mark.parametrize(
    "command",
    [
        ["experiments.stability", "--smoke"],
        ["experiments.init_fit", "--smoke"],
        ["experiments.runge", "--smoke"],
        ["experiments.lorentzian", "--smoke"],
        ["experiments.sharpened", "--smoke"],
        ["experiments.panel", "--smoke"],
        ["experiments.presets", "--smoke"],
        ["experiments.needle", "--smoke"],
        ["experiments.ablation", "--smoke"],
        ["experiments.optimizers", "--smoke"],
        ["experiments.discovery.feynman", "--smoke", "--jobs", "1"],
        ["experiments.discovery.paper", "--smoke", "--jobs", "1"],
        ["experiments.discovery.by_networks", "--smoke"],
        ["experiments.discovery.workflow", "--smoke"],
        ["experiments.discovery.run_harder", "--smoke", "--jobs", "1"],
        ["experiments.discovery.lsr", "--smoke", "--jobs", "1"],
        ["experiments.discovery.chapters", "--smoke", "--jobs", "1"],
        ["experiments.discovery.kan", "--smoke", "--jobs", "1"],
        ["experiments.discovery.extrapolation", "--smoke", "--jobs", "1"],
        ["experiments.discovery.irrelevant", "--smoke", "--jobs", "1"],
        ["experiments.discovery.nothing", "--smoke", "--jobs", "1"],
        ["experiments.discovery.outside", "--smoke", "--jobs", "1"],
        ["experiments.discovery.limits", "--smoke"],
        ["experiments.discovery.overlap", "--smoke"],
        ["experiments.discovery.coverage", "--smoke", "--jobs", "1"],
        ["experiments.discovery.real", "--smoke", "--jobs", "1"],
        ["experiments.discovery.peers_laws", "--smoke"],
        ["experiments.discovery.lsr_peers", "--smoke"],
        ["experiments.measurements.nist", "--smoke", "--jobs", "1"],
        ["experiments.measurements.textbook", "--smoke", "--jobs", "1"],
        ["experiments.measurements.curves", "--smoke", "--jobs", "1"],
        ["experiments.measurements.curves_peers", "--smoke", "--jobs", "1"],
        ["experiments.measurements.smooth", "--smoke", "--jobs", "1"],
        ["experiments.measurements.coverage", "--smoke", "--jobs", "1"],
        ["experiments.measurements.groups", "--smoke", "--jobs", "1"],
        ["experiments.measurements.outliers", "--smoke", "--jobs", "1"],
        ["experiments.measurements.errors_in_x", "--smoke", "--jobs", "1"],
        ["experiments.certificates.soundness", "--smoke"],
        ["experiments.certificates.positivity", "--smoke"],
        ["experiments.certificates.tightness", "--smoke"],
        ["experiments.certificates.isometry", "--smoke"],
        ["experiments.certificates.networks", "--smoke"],
        ["experiments.denoising.run", "--smoke"],
        ["experiments.denoising.shifts", "--smoke"],
        ["experiments.denoising.tails", "--smoke"],
        ["experiments.dynamics.reach", "--smoke"],
        ["experiments.dynamics.steep", "--smoke"],
        ["experiments.dynamics.steady", "--smoke"],
        ["experiments.many.faults", "--smoke"],
        ["experiments.symbolic.functions", "--smoke", "--jobs", "1"],
        ["experiments.tabular.compare", "--smoke", "--jobs", "1"],
        ["experiments.vit.deit", "--smoke"],
        ["experiments.processes.curves", "--smoke"],
        ["experiments.processes.kills", "--smoke"],
        ["experiments.processes.sharded", "--smoke"],
        ["experiments.behaviour", "--smoke", "--jobs", "1"],
        ["benchmarks.house", "--smoke"],
        ["benchmarks.units", "--smoke"],
        ["benchmarks.memory", "--smoke"],
        ["benchmarks.networks", "--smoke"],
        ["benchmarks.scaling", "--smoke"],
        ["benchmarks.imports", "--smoke"],
        ["benchmarks.first_call", "--smoke"],
    ],
    ids=lambda command: command[0],
)
def test_runs(command, monkeypatch):
    files = [path for folder in RECORDED for path in folder.glob("*.*")]
    before = {path: path.read_bytes() for path in files}
    module, *arguments = command
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    for clock in ("perf_counter", "monotonic"):  # some scripts put another there, for their process
        monkeypatch.setattr(time, clock, getattr(time, clock))
    script = importlib.import_module(module)  # in this process: imports take seconds
    assert inspect.getsource(script).endswith('if __name__ == "__main__":\n    main()\n')
    dtype = torch.get_default_dtype()
    try:
        script.main()
    finally:
        torch.set_default_dtype(dtype)
    for path, content in before.items():
        if "smoke" not in path.name:
            assert path.read_bytes() == content
