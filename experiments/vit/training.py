"""One training run of a recipe: AdamW, warm-up and cosine, the epoch chosen on held-out images.

Where torchrun has started several processes (gloo or NCCL), each takes its part of every batch,
DistributedDataParallel averages the gradients, accuracies are counted over all, and the first
process prints and writes. What is random in images and mixing is each process's own.
"""

from __future__ import annotations

import copy
import io
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional

import rational_anova as ra
from experiments.files import write_whole
from experiments.vit.data import Folders, Memory, Share
from experiments.vit.mixing import mixed

Settings = dict[str, Any]


def train(
    model: nn.Module,
    data: Memory | Folders,
    settings: Settings,
    classes: int,
    seed: int,
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Train a model and return what is recorded: the chosen epoch's accuracies, and the seconds.

    Args:
        model: from images to logits.
        data: gives batches.
        settings: the table `train` of a recipe.
        classes: number of them.
        seed: of the order, of shifts and of mixing.
        checkpoint: a file to keep the run in after each epoch, and to go on from.
    """
    run = _Run(model, data, settings, classes, seed)
    if checkpoint is not None and checkpoint.exists():
        run.restore(torch.load(checkpoint))
    while run.epoch < settings["epochs"]:
        run.one_epoch()
        if checkpoint is not None and run.share[0] == 0:
            file = io.BytesIO()
            torch.save(run.state(), file)
            write_whole(checkpoint, file.getvalue())
    run.averaged.load_state_dict(run.best[2])
    return {
        "epoch": run.best[1],
        "held": run.best[0],
        "test": accuracy(run.averaged, data, "test", settings["batch_size"], run.share),
        "training_loss": run.loss,
        "seconds": run.seconds,
    }


class _Run:
    """The state of a run between two epochs."""

    def __init__(
        self, model: nn.Module, data: Any, settings: Settings, classes: int, seed: int
    ) -> None:
        self.model, self.data, self.settings, self.classes = model, data, settings, classes
        self.share, self.seed = share(), seed
        self.generator = torch.Generator().manual_seed(seed + 1000 * self.share[0])
        self.run = model
        if self.share[1] > 1:
            self.run = nn.parallel.DistributedDataParallel(model)
        rates = {k: settings[k] for k in ("numerator_rate", "denominator_rate", "gate_rate")}
        self.optimizer = torch.optim.AdamW(
            ra.parameter_groups(model, settings["learning_rate"], settings["weight_decay"], **rates)
        )
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.averaged = copy.deepcopy(model) if settings["average"] else model
        self.step = self.epoch = 0
        self.seconds = self.loss = 0.0
        self.best: tuple[float, int, dict[str, Tensor]] = (-1.0, 0, {})

    def one_epoch(self) -> None:
        """Go once through the data, then look at the held-out images."""
        begun = time.process_time()
        settings, losses = self.settings, []
        steps = settings["epochs"] * math.ceil(len(self.data) / settings["batch_size"])
        self.model.train()
        own: tuple[Any, ...] = ()
        if self.share[1] > 1:  # the order is everybody's, and follows from the epoch
            own = (torch.Generator().manual_seed(1000 * self.seed + self.epoch), self.share)
        for x, y in self.data.training(settings["batch_size"], self.generator, *own):
            x, target = mixed(x, y, self.classes, settings, self.generator)
            for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                group["lr"] = rate * _factor(self.step / steps, settings)
            self.optimizer.zero_grad()
            loss = functional.cross_entropy(self.run(x), target)
            loss.backward()
            if settings["clip"]:
                nn.utils.clip_grad_norm_(self.model.parameters(), settings["clip"])
            self.optimizer.step()
            if settings["average"]:
                _follow(self.averaged, self.model, settings["average"])
            losses.append(float(loss.detach()))
            self.step += 1
        self.epoch += 1
        self.loss = sum(losses) / len(losses)
        held = accuracy(self.averaged, self.data, "held", settings["batch_size"], self.share)
        self.seconds += time.process_time() - begun
        if held > self.best[0]:
            self.best = (held, self.epoch, copy.deepcopy(self.averaged.state_dict()))
        if self.share[0] == 0:
            print(f"epoch {self.epoch}  loss {self.loss:.3f}  held {held:.4f}", flush=True)

    def state(self) -> dict[str, Any]:
        """Return all that the run needs to go on."""
        return {
            "model": self.model.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "numbers": (self.step, self.epoch, self.seconds, self.loss),
            "best": self.best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a run."""
        self.model.load_state_dict(state["model"])
        self.averaged.load_state_dict(state["averaged"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.share[0] == 0:
            self.generator.set_state(state["generator"])
        else:  # the file has the first process's
            self.generator.manual_seed(self.seed + 1000 * self.share[0] + state["numbers"][1])
        self.step, self.epoch, self.seconds, self.loss = state["numbers"]
        self.best = state["best"]


def share() -> Share:
    """Return which of how many processes this is."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


@torch.no_grad()
def accuracy(
    model: nn.Module, data: Memory | Folders, part: str, size: int, among: Share = (0, 1)
) -> float:
    """Return the share of images whose class is found."""
    model.eval()
    counts = torch.zeros(2, dtype=torch.float64)
    for x, y in data.plain(part, size, *([among] if among[1] > 1 else [])):
        counts += torch.tensor([float((model(x).argmax(-1) == y).sum()), len(y)])
    if among[1] > 1:
        distributed.all_reduce(counts)
    return float(counts[0] / counts[1])


def _factor(done: float, settings: Settings) -> float:
    """The learning rate's factor: a rise over the warm-up, then half a wave down to `final`."""
    if done < settings["warmup"]:
        return max(done, 1e-3) / settings["warmup"]
    rest = (done - settings["warmup"]) / (1 - settings["warmup"])
    return settings["final"] + (1 - settings["final"]) * (1 + math.cos(math.pi * rest)) / 2


@torch.no_grad()
def _follow(averaged: nn.Module, model: nn.Module, decay: float) -> None:
    for mean, now in zip(averaged.parameters(), model.parameters(), strict=True):
        mean.lerp_(now, 1 - decay)
