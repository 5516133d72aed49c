"""Tables of docs/vision.md: made of the recorded CSV, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean, stdev

from experiments.vision import recipe
from experiments.vision.ablation import CELLS
from experiments.vision.recorded import NAMES, PAPER, PAPER_CELLS, SETS, read, runs, scores

Cells = list[str]
AHEAD = {"mnist": 0.0, "fashion_mnist": 0.5, "cifar10": 0.5}  # points that are aimed at


def _said(values: list[float] | None) -> str:
    """Return mean and spread over seeds; a single run has no spread."""
    if not values:
        return "-"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


def accuracy() -> Iterator[Cells]:
    """Give test accuracy by data and budget, a column a model."""
    found, models = scores(runs("accuracy")), list(recipe.read().models)
    yield ["data", "parameters", *(NAMES[model] for model in models), "seeds"]
    for data, budget in PAPER:
        row = {model: found.get((data, budget, model)) for model in models}
        seeds = sorted({len(values) for values in row.values() if values})
        count = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1])))) if seeds else "-"
        yield [SETS[data], f"{budget:,}", *map(_said, row.values()), count]


def beside_the_paper() -> Iterator[Cells]:
    """Give ours and the paper's of the models that both have."""
    models = ("mlp", "kan", "kaf", "ran")
    heads = (f"{NAMES[m].split(',')[0]}: {whose}" for m in models for whose in ("paper", "here"))
    yield ["data", "parameters", *heads, "RAN, local pairs: here"]
    found = scores(runs("accuracy"))
    for (data, budget), theirs in PAPER.items():
        cells = [
            text for m in models
            for text in (f"{theirs[m]:.2f}", _said(found.get((data, budget, m))))
        ]  # fmt: skip
        yield [SETS[data], f"{budget:,}", *cells, _said(found.get((data, budget, "ran_local")))]


def against_the_mlp() -> Iterator[Cells]:
    """Give the points between both settings and the matched MLP, and whether the mark is met."""
    yield ["data", "parameters", "RAN, the paper's - MLP", "RAN, local pairs - MLP", "aimed at", ""]
    found = scores(runs("accuracy"))
    for data, budget in PAPER:
        base = found.get((data, budget, "mlp"))
        ours = [found.get((data, budget, model)) for model in ("ran", "ran_local")]
        ahead = [mean(each) - mean(base) if each and base else None for each in ours]
        best = max((each for each in ahead if each is not None), default=None)
        aim = AHEAD[data]
        word = "not measured" if best is None else "met" if best >= aim else "missed"
        said = ("-" if each is None else f"{each:+.2f}" for each in ahead)
        yield [SETS[data], f"{budget:,}", *said, f"{aim:+.1f} or more", word]


def convolution() -> Iterator[Cells]:
    """Give convolutions with rational units beside those with GELU."""
    yield ["data", "parameters", "CNN, GELU", "RANConvNet", "seeds"]
    found = scores(runs("convolution"))
    for data, about in recipe.read("convolution").data.items():
        for budget in about.budgets:
            both = [found.get((data, budget, model)) for model in ("cnn", "ran_conv")]
            seeds = min(len(each or []) for each in both)
            yield [SETS[data], f"{budget:,}", *map(_said, both), str(seeds)]


def cells() -> Iterator[Cells]:
    """Give the cells of the ablation, and the paper's four beside them."""
    yield ["cell", "here", "seeds", "paper"]
    frame = read("ablation")
    for cell in CELLS:
        values = list(frame.loc[frame["model"] == cell, "test"]) if len(frame) else []
        paper = f"{PAPER_CELLS[cell]:.1f}" if cell in PAPER_CELLS else "-"
        yield [cell, _said(values), str(len(values)), paper]


def search() -> Iterator[Cells]:
    """Give what was tried, on held-out images only."""
    yield ["data", "parameters", "epochs", "model", "rate", "held-out accuracy"]
    for row in read("search").itertuples():
        yield [SETS[row.data], f"{row.budget:,}", str(row.epochs), NAMES.get(row.model, row.model),
               f"{row.rate:g}", f"{row.held:.2f}"]  # fmt: skip


def steps() -> Iterator[Cells]:
    """Give time and memory of a training step."""
    yield ["images", "model", "parameters", "MFLOPs an image", "time / MLP", "quartiles", "MB",
           "memory / MLP"]  # fmt: skip
    for row in read("steps").itertuples():
        yield [row.size, NAMES[row.model], f"{row.parameters:,}", f"{row.flops / 1e6:.3g}",
               f"{row.ratio:.2f}", f"{row.low:.2f} to {row.high:.2f}", f"{row.peak:.3g}",
               f"{row.peak_ratio:.2f}"]  # fmt: skip


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "vision_accuracy": accuracy,
    "vision_paper": beside_the_paper,
    "vision_marks": against_the_mlp,
    "vision_convolution": convolution,
    "vision_cells": cells,
    "vision_search": search,
    "vision_steps": steps,
}


def lines(name: str) -> Iterator[Cells]:
    """Return the lines of a table, the head first."""
    return TABLES[name]()
