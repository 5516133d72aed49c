"""Which learning rate each model gets, and which pairs: held-out accuracy after a few epochs.

Fashion-MNIST at 100,000 parameters stands for images of one plane, CIFAR-10 at 500,000 for those of
three. The test images are not read. Needs RAN_DATA (--smoke does not).

python -m experiments.vision.search [--data ...] [--models ...] [--rates ...] [--epochs 4]
"""

from __future__ import annotations

from dataclasses import replace

import torch

from experiments.table import Row, arguments, run
from experiments.table import Table as Results
from experiments.vision import recipe
from experiments.vision.accuracy import small, split_of
from experiments.vision.recipe import Model, Recipe
from experiments.vision.training import train

KEY = ("data", "budget", "model", "rate", "epochs")
BUDGETS = {"mnist": 50_000, "fashion_mnist": 100_000, "cifar10": 500_000, "made_up": 6_000}
RATES = (1e-3, 2e-3, 4e-3, 8e-3)
# Settings of the deep network beside those of the recipe.
_LOCAL = {"denominator": "square", "noise": 0.1}
VARIANTS = {
    "1 block, radius 5": Model("DeepRAN", {}, {**_LOCAL, "blocks": 1}, {"blocks": 1}, radius=5),
    "embedded, base gelu": Model("DeepRAN", {}, {**_LOCAL, "base": "gelu"}, embedding=0.78),
    "radius 1.5": Model("DeepRAN", {}, _LOCAL, radius=1.5),
    "radius 2": Model("DeepRAN", {}, _LOCAL, radius=2),
    "radius 5": Model("DeepRAN", {}, _LOCAL, radius=5),
    "random, square": Model("DeepRAN", {}, _LOCAL),
    "radius 3, softplus": Model("DeepRAN", {}, {**_LOCAL, "denominator": "softplus"}, radius=3),
    "radius 3, base zero": Model("DeepRAN", {}, {**_LOCAL, "base": "zero"}, radius=3),
    "radius 3, base gelu": Model("DeepRAN", {}, {**_LOCAL, "base": "gelu"}, radius=3),
    "radius 3, gates 1": Model("DeepRAN", {}, {**_LOCAL, "gate": 1.0}, radius=3),
    "radius 3, 3 blocks": Model("DeepRAN", {}, {**_LOCAL, "blocks": 3}, {"blocks": 3}, radius=3),
}


def work(data: str, budget: int, model: str, rate: float, epochs: int, given: Recipe) -> Row:
    """Train one model for a few epochs with one rate."""
    about, made = given.data[data], (given.models | VARIANTS)[model]
    split = split_of(data, given.training.held)
    torch.manual_seed(0)
    net = made.build(budget, about.shape, split.inputs)
    found = train(
        net, split, replace(given.training, epochs=epochs), rate, 0,
        flat=made.flat, flip=about.flip, test=False,
    )  # fmt: skip
    return {
        "data": data, "budget": budget, "model": model, "rate": rate, "epochs": epochs,
        "parameters": recipe.parameters(net), "epoch": found.epoch, "held": f"{found.held:.2f}",
        "seconds": f"{found.seconds:.0f}",
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    given = recipe.read()
    parser.add_argument("--data", nargs="+", default=["fashion_mnist", "cifar10"])
    parser.add_argument("--models", nargs="+", default=[*given.models, *VARIANTS])
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    if options.smoke:
        given, options.data, options.rates, options.epochs = small(given), ["made_up"], [1e-2], 1
    tasks = [
        {"data": data, "budget": BUDGETS[data], "model": model, "rate": rate,
         "epochs": options.epochs, "given": given}
        for data in options.data for model in options.models for rate in options.rates
    ]  # fmt: skip
    name = "search_smoke" if options.smoke else "search"
    run(Results(name, KEY, fresh=options.smoke, study="vision"), work, tasks, options.jobs)


if __name__ == "__main__":
    main()
