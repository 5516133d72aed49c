"""Accuracy at equal numbers of parameters (the paper's Table 1): MNIST, Fashion-MNIST, CIFAR-10.

The recipe is in accuracy.toml; convolution.toml has one for convolutions, long.toml twenty epochs.
A tenth of the training images selects the epoch; the test images are looked at once, at that epoch.
First seeds of all rows come first. Needs RAN_DATA (--smoke does not).

python -m experiments.vision.accuracy [--recipe convolution] [--data ...] [--models ...] [--seeds 0]
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version

import torch

from experiments.table import Row, arguments, run
from experiments.table import Table as Results
from experiments.vision import recipe
from experiments.vision.recipe import Recipe
from experiments.vision.training import Split, train
from rational_anova import images

KEY = ("data", "budget", "model", "seed", "epochs")


@functools.lru_cache(maxsize=1)
def split_of(name: str, share: float) -> Split:
    """Read a set of images; the last one is kept."""
    if name == "made_up":
        return Split.of(made_up(0), made_up(1), share)
    return Split.of(images.load(name), images.load(name, "test"), share)


def made_up(seed: int, shape: tuple[int, int, int] = (1, 6, 6)) -> images.ImageSet:
    """Return a few small images: noise with a bright row, whose number is the class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(240) % recipe.CLASSES
    pixels = torch.randint(0, 150, (240, *shape), generator=generator)
    pixels[torch.arange(240), :, labels % shape[1]] += 100
    return images.ImageSet(pixels.to(torch.uint8), labels, tuple(map(str, range(recipe.CLASSES))))


def work(data: str, budget: int, model: str, seed: int, epochs: int, given: Recipe) -> Row:
    """Train one model on one set of images."""
    about, made = given.data[data], given.models[model]
    split = split_of(data, given.training.held)
    rate = made.rates[about.planes]
    torch.manual_seed(seed)
    net = made.build(budget, about.shape, split.inputs)
    found = train(net, split, given.training, rate, seed, flat=made.flat, flip=about.flip)
    assert found.test is not None
    return {
        "data": data, "budget": budget, "model": model, "seed": seed,
        "parameters": recipe.parameters(net), "rate": f"{rate:g}", "epochs": epochs,
        "epoch": found.epoch, "held": f"{found.held:.2f}", "test": f"{found.test:.2f}",
        "seconds": f"{found.seconds:.0f}",
        "version": f"rational-anova {version('rational-anova')}, torch {torch.__version__}",
    }  # fmt: skip


def tasks(given: Recipe, seeds: list[int]) -> Iterator[Row]:
    """Give what is to be run: a first seed of everything, quick models first, then the next."""
    for seed in seeds:
        for model in given.models:
            for data, about in given.data.items():
                for budget in about.budgets:
                    yield {"data": data, "budget": budget, "model": model, "seed": seed,
                           "epochs": given.training.epochs}  # fmt: skip


def small(given: Recipe) -> Recipe:
    """Return the recipe for the tests: made-up images, two epochs."""
    about = recipe.Data((1, 6, 6), (6_000,), True)
    training = replace(given.training, epochs=2, batch=32, seeds=1)
    return Recipe(training, {"made_up": about}, given.models)


def record(name: str, given: Recipe, options: argparse.Namespace) -> None:
    """Run what the options ask for of a recipe, and is not there yet."""
    if options.smoke:
        name, given = f"{name}_smoke", small(given)
    chosen = [
        {**task, "given": given}
        for task in tasks(given, options.seeds or list(range(given.training.seeds)))
        if (not options.data or task["data"] in options.data)
        and (not options.models or task["model"] in options.models)
        and (not options.budgets or task["budget"] in options.budgets)
    ]
    run(Results(name, KEY, fresh=options.smoke, study="vision"), work, chosen, options.jobs)


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that choose among the runs of a recipe."""
    parser = arguments(doc, jobs=1)
    parser.add_argument("--data", nargs="+", help="names; all by default")
    parser.add_argument("--models", nargs="+", help="names; all by default")
    parser.add_argument("--budgets", nargs="+", type=int, help="all by default")
    parser.add_argument("--seeds", nargs="+", type=int, help="as many as the recipe says")
    return parser


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--recipe", default="accuracy", choices=recipe.NAMES)
    options = parser.parse_args()
    record(options.recipe, recipe.read(options.recipe), options)


if __name__ == "__main__":
    main()
