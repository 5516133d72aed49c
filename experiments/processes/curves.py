"""Losses and weights of `ra.fit` on 1, 2 and 4 processes: the same to rounding.

python -m experiments.processes.curves [--smoke]

The workers are started by torchrun, over gloo, on one machine. Each case fits the same network on
the same rows, which all processes are given (`split`), or of which each is given a part
(`shards`). Recorded are the largest differences from one process: of the losses on training and
validation rows over all records, as a share of the first loss, and of the weights at the end, as a
share of the largest; that all processes end with the same weights to the bit; and the last epoch.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.utils.data import DataLoader, Dataset

import rational_anova as ra
from experiments.processes.launch import gathered, work
from experiments.results import write

MODULE = "experiments.processes.curves"
COUNTS = (1, 2, 4)
_ROWS = 602  # which no number of processes divides

Result = dict[str, Any]


class Items(Dataset[Any]):
    """Rows that are read one by one."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, at: int) -> Any:
        return self.x[at], self.y[at]


def _rows(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(_ROWS, 6, generator=generator, dtype=torch.float64)
    noise = torch.randn(_ROWS, generator=generator, dtype=torch.float64)
    y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * noise
    return x.to(dtype), y.to(dtype)


def _own(*parts: Tensor) -> tuple[Tensor, ...]:
    rank, count = distributed.get_rank(), distributed.get_world_size()
    first, last = (len(parts[0]) * n // count for n in (rank, rank + 1))
    return tuple(part[first:last] for part in parts)


def _ran(dtype: torch.dtype = torch.float64, outputs: int = 1) -> nn.Module:
    return ra.RAN(6, outputs, topology="all", noise=0.1, dtype=dtype)


def _deep(dtype: torch.dtype = torch.float64) -> nn.Module:
    return ra.DeepRAN(6, 1, width=12, noise=0.1, dtype=dtype)


def _ddp(model: nn.Module) -> nn.Module:
    if distributed.get_world_size() == 1:
        return model
    return nn.parallel.DistributedDataParallel(model)


def _cases(epochs: int) -> dict[str, Any]:
    """Return for each case a function that gives model, data and settings."""
    x, y = _rows(torch.float64)
    x32, y32 = _rows(torch.float32)
    third = torch.full((_ROWS,), 1 / 3, dtype=torch.float64)
    weight = torch.where(torch.arange(_ROWS) % 3 == 0, 1.0, third)
    classes = torch.bucketize(y, torch.tensor([-1.0, 1.0], dtype=y.dtype))
    adam = {"optimizer": "adam", "batch_size": 64, "epochs": epochs, "validation": 0.2}
    adam["learning_rate"] = 0.01
    return {
        "adam, the same rows": lambda: (_ran(), (x, y), adam),
        "adam, shards": lambda: (_ran(), _own(x, y), adam),
        "adam, shards, weights": lambda: (_ran(), _own(x, y, weight), adam),
        "adamw, float32, DDP": lambda: (_ddp(_deep(x32.dtype)), (x32, y32), {**adam,
            "optimizer": "adamw", "weight_decay": 0.01}),
        "adam, DDP, batches in 3 parts": lambda: (_ddp(_deep()), (x, y), {**adam, "accumulate": 3}),
        "adam, bf16, DDP": lambda: (_ddp(_deep(x32.dtype)), (x32, y32),
            {**adam, "precision": "bf16"}),
        "adam, Dataset": lambda: (_deep(), Items(x, y), adam),
        "adam, DataLoader, clipped": lambda: (_deep(), DataLoader(Items(x, y), 50, shuffle=True),
            {**adam, "batch_size": None, "clip": 0.5}),
        "adam, group lasso": lambda: (_ran(), (x, y), {**adam, "penalty": 0.02}),
        "adam, patience": lambda: (_ran(), (x, y), {**adam, "patience": 1, "epochs": 40,
            "learning_rate": 0.1}),
        "lm": lambda: (_ran(), (x, y), {"optimizer": "lm", "epochs": 10, "validation": 0.2}),
        "lm, shards, classes": lambda: (_ran(outputs=3), _own(x, classes), {"optimizer": "lm",
            "epochs": 6}),
        "lm, DeepRAN, DDP": lambda: (_ddp(_deep()), (x, y), {"optimizer": "lm", "epochs": 3}),
        "lbfgs, shards": lambda: (_ran(), _own(x, y), {"optimizer": "lbfgs", "epochs": 5}),
    }  # fmt: skip


def _work(epochs: int) -> Result:
    results = {}
    for name, make in _cases(epochs).items():
        torch.manual_seed(0)
        model, data, settings = make()
        history = ra.fit(model, data, **settings)
        weights = [p.detach().double().flatten() for p in model.parameters()]
        results[name] = {
            "losses": [[r.loss, r.validation] for r in history.records],
            "weights": torch.cat(weights).tolist(),
            "stopped": history.stopped,
            "epoch": history.records[-1].epoch,
            "best": history.best,
        }
    return results


def _compared(one: Result, many: list[Result]) -> Result:
    """Return how far a case is from itself on one process."""
    losses = [
        torch.tensor([[v or 0.0 for v in row] for row in run["losses"]], dtype=torch.float64)
        for run in (one, many[0])
    ]
    same_end = losses[0].shape == losses[1].shape
    weights = [torch.tensor(run["weights"], dtype=torch.float64) for run in (one, many[0])]
    return {
        "records": len(one["losses"]),
        "loss": float((losses[0] - losses[1]).abs().max() / losses[0][0, 0]) if same_end else None,
        "weights": float((weights[0] - weights[1]).abs().max() / weights[0].abs().max()),
        "alike": all(run["weights"] == many[0]["weights"] for run in many),
        "epochs": [one["epoch"], many[0]["epoch"]],
        "best": [one["best"], many[0]["best"]],
        "stopped": many[0]["stopped"],
        "curve": [row[0] for row in many[0]["losses"]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.worker:
        folder, epochs = options.worker
        work(folder, lambda: _work(int(epochs)))
        return
    counts, epochs = ((1, 2), 1) if options.smoke else (COUNTS, 6)
    found = {count: gathered(MODULE, count, epochs) for count in counts}
    rows = [
        {"case": name, "processes": count, **_compared(one, [run[name] for run in found[count]])}
        for name, one in found[1][0].items()
        for count in counts
    ]
    write("processes_curves_smoke" if options.smoke else "processes_curves", {"rows": rows})


if __name__ == "__main__":
    main()
