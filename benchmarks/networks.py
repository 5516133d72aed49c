"""A training step of networks of about 200,000 parameters, as multiples of the MLP's.

python -m benchmarks.networks [--rounds 25] [--threads 1 2] [--smoke]

A step is forward, cross entropy, backward and Adam on a batch of 256 rows with 784 inputs and 10
classes. Writes benchmarks/results/networks.csv.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import jobs, records
from benchmarks.timing import Row, paired, show
from rational_anova import kernels, match_budget

BASE = "MLP, GELU"
COLUMNS = ("job", "architecture", "parameters", "ratio", "low", "high", "milliseconds", "rounds")


@dataclass(frozen=True)
class Task:
    """The size of everything."""

    parameters: int = 200_000
    inputs: int = 784
    classes: int = 10
    batch: int = 256

    def match(self, family: str, **changes: object) -> tuple[nn.Module, str]:
        """Return the network of a family that matches the budget, and its architecture."""
        found = match_budget(self.parameters, family, self.inputs, self.classes)
        return found.build(**changes), found.summary

    def pykan(self) -> tuple[nn.Module, str]:
        """Return pykan's network with the widths of ours: its symbolic branch is switched off."""
        import kan

        found = match_budget(self.parameters, "KAN", self.inputs, self.classes)
        width = [self.inputs, *found.arguments["hidden"], self.classes]
        grid, order = found.arguments["grid"], found.arguments["order"]
        with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
            net = kan.KAN(width, grid, order, auto_save=False, device="cpu", ckpt_path=folder)
        return net.speed(), found.summary


def step(net: nn.Module, x: Tensor, labels: Tensor, path: str | None = None) -> Callable[[], None]:
    """Return a training step."""
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        with kernels.using(path) if path else contextlib.nullcontext():
            functional.cross_entropy(net(x), labels).backward()
        optimizer.step()

    return run


def size(net: nn.Module) -> int:
    """Return the number of parameters that are trained."""
    # Those of pykan's symbolic branch get no gradient.
    trained = ((name, p.numel()) for name, p in net.named_parameters() if p.requires_grad)
    return sum(count for name, count in trained if not name.startswith("symbolic_fun"))


def measure(task: Task, threads: int, rounds: int) -> list[Row]:
    """Time all networks and print them."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    networks = {
        BASE: task.match("MLP"),
        "DeepRAN, softplus": task.match("DeepRAN"),
        "DeepRAN, square": task.match("DeepRAN", denominator="square"),
        "DeepRAN, softplus, torch path": task.match("DeepRAN"),
        "KAN, B-splines": task.match("KAN"),
        "KAF": task.match("KAF"),
    }
    if jobs.installed("kan", "pykan"):
        networks["KAN, pykan"] = task.pykan()
    x = torch.rand(task.batch, task.inputs) * 2 - 1  # where the splines live
    labels = torch.randint(task.classes, (task.batch,))
    steps = {
        name: step(net, x, labels, "torch" if name.endswith("torch path") else None)
        for name, (net, _) in networks.items()
    }
    rows = paired(steps, BASE, rounds, f"threads: {threads}", threads=threads)
    for row in rows:
        net, row["architecture"] = networks[row["job"]]
        row["parameters"] = size(net)
    title = f"a training step, batch {task.batch}, threads: {threads}; multiples of {BASE}"
    show(rows, title, COLUMNS)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    if options.smoke:
        measure(Task(parameters=2_000, inputs=20, classes=4, batch=8), 1, 2)
        return
    rows = []
    for threads in options.threads:
        rows += measure(Task(), threads, options.rounds)
        records.write("networks", rows)


if __name__ == "__main__":
    main()
