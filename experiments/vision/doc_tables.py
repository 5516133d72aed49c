"""Tables of docs/results/vision.md: made of the recorded CSV, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean, stdev

from experiments.vision import recipe
from experiments.vision.ablation import CELLS, RATES
from experiments.vision.recorded import (
    NAMES,
    PAPER,
    PAPER_CELLS,
    SETS,
    Scores,
    chosen,
    read,
    runs,
    scores,
)

Cells = list[str]
AHEAD = {"mnist": 0.0, "fashion_mnist": 0.5, "cifar10": 0.5}  # points that are aimed at


def _said(values: list[float] | None) -> str:
    """Return mean and spread over seeds; a single run has no spread."""
    if not values:
        return "-"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


def accuracy(name: str = "accuracy") -> Iterator[Cells]:
    """Give test accuracy by data and budget, a column a model of a recipe."""
    given, found = recipe.read(name), scores(runs(name))
    yield ["data", "parameters", *(NAMES[model] for model in given.models), "seeds"]
    for data, about in given.data.items():
        for budget in about.budgets:
            row = {model: found.get((data, budget, model)) for model in given.models}
            seeds = sorted({len(values) for values in row.values() if values})
            count = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1])))) if seeds else "-"
            yield [SETS[data], f"{budget:,}", *map(_said, row.values()), count]


def beside_the_paper() -> Iterator[Cells]:
    """Give ours and the paper's of the models that both have, and the best setting of ours."""
    models = ("mlp", "kan", "kaf", "ran")
    heads = (f"{NAMES[m].split(',')[0]}: {whose}" for m in models for whose in ("paper", "here"))
    yield ["data", "parameters", *heads, "RAN, chosen setting: here"]
    frame = runs("accuracy")
    found, held = scores(frame), scores(frame, "held")
    for (data, budget), theirs in PAPER.items():
        cells = [
            text
            for model in models
            for text in (f"{theirs[model]:.2f}", _said(found.get((data, budget, model))))
        ]
        best = chosen(held, data, budget)
        ours = _said(found[data, budget, best]) if best else "-"
        yield [SETS[data], f"{budget:,}", *cells, ours]


def against_the_mlp() -> Iterator[Cells]:
    """Give points between RAN and the matched MLP: the paper's model, and the chosen setting."""
    yield ["data", "parameters", "the paper's model", "chosen on held-out images", "ahead by",
           "aimed at", ""]  # fmt: skip
    frame = runs("accuracy")
    found, held = scores(frame), scores(frame, "held")
    for data, budget in PAPER:
        best, aim = chosen(held, data, budget), AHEAD[data]
        paper, ours = (_ahead(found, data, budget, model) for model in ("ran", best))
        word = "not measured" if ours is None else "met" if ours >= aim else "missed"
        said = ["-" if each is None else f"{each:+.2f}" for each in (paper, ours)]
        yield [SETS[data], f"{budget:,}", said[0], NAMES[best] if best else "-", said[1],
               f"{aim:+.1f} or more", word]  # fmt: skip


def _ahead(found: Scores, data: str, budget: int, model: str | None) -> float | None:
    """Return the points between the means of a model and of the MLP, over the seeds each has."""
    ours, base = (found.get((data, budget, each)) for each in (model or "", "mlp"))
    return round(mean(ours) - mean(base), 2) if ours and base else None


def cells() -> Iterator[Cells]:
    """Give the cells of the ablation at the rate that held-out images choose, and the paper's."""
    yield ["cell", *(f"held out, rate {rate:g}" for rate in RATES.values()), "test, chosen rate",
           "seeds", "paper"]  # fmt: skip
    frame = read("ablation")
    for cell in CELLS:
        tried = [frame[frame["model"] == f"{cell}{said}"] if len(frame) else [] for said in RATES]
        held = [mean(rows["held"]) if len(rows) else -1.0 for rows in tried]
        best = tried[held.index(max(held))]
        paper = f"{PAPER_CELLS[cell]:.1f}" if cell in PAPER_CELLS else "-"
        said = ["-" if each < 0 else f"{each:.2f}" for each in held]
        yield [cell, *said, _said(list(best["test"]) if len(best) else None), str(len(best)), paper]


def search() -> Iterator[Cells]:
    """Give what was tried, on held-out images only."""
    yield ["data", "parameters", "epochs", "model", "rate", "held-out accuracy"]
    for row in read("search").itertuples():
        yield [SETS[row.data], f"{row.budget:,}", str(row.epochs), NAMES.get(row.model, row.model),
               f"{row.rate:g}", f"{row.held:.2f}"]  # fmt: skip


def steps() -> Iterator[Cells]:
    """Give the time of a training step, and what it keeps in memory."""
    yield ["images", "model", "parameters", "MFLOPs an image", "time / MLP", "quartiles",
           "kept, MB", "kept / MLP"]  # fmt: skip
    for row in read("steps").itertuples():
        yield [row.size, NAMES[row.model], f"{row.parameters:,}", f"{row.flops / 1e6:.3g}",
               f"{row.ratio:.2f}", f"{row.low:.2f} to {row.high:.2f}",
               f"{row.kept:.1f}", f"{row.kept_ratio:.1f}"]  # fmt: skip


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "vision_accuracy": accuracy,
    "vision_paper": beside_the_paper,
    "vision_marks": against_the_mlp,
    "vision_convolution": partial(accuracy, "convolution"),
    "vision_long": partial(accuracy, "long"),
    "vision_cells": cells,
    "vision_search": search,
    "vision_steps": steps,
}


def lines(name: str) -> Iterator[Cells]:
    """Return the lines of a table, the head first."""
    return TABLES[name]()
