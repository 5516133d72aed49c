"""Every row of the paper's hyper-parameter table once, through `preset(...)` with its own settings.

Optimiser, batch, rate and decay are those of the row; data and lengths are small, so that all of it
takes minutes. Where the data are not here the run is a smoke test on made-up rows, and says so.

- imagenet: one RAN-FFN layer with AdamW on made-up tokens, to copy a GELU layer (smoke);
- cifar10: RAN-ConvNet, 2,000 images, one epoch;
- mnist, two-block, two-block-read: 10,000 images of Fashion-MNIST, five epochs; the last two are
  the two networks that the count of the vision model fits, at 50,008 parameters;
- tabular: five tables, 0.5 d learned pairs, Adam, 60 epochs; `RANRegressor` beside it;
- higgs: 28 made-up columns, 100 random pairs, Adam (smoke: no data);
- lorentzian, lorentzian-72, runge: the functions, L-BFGS, with and without a constant in q; where
  |q| + 1e-6 is the denominator the start is scaled to the range, as in experiments.lorentzian;
- many-body: five particles on a line in a trap, V = sum of x_i^2/2 + sum over the pairs of
  1/(1 + (x_i - x_j)^2); all d(d - 1)/2 pairs, Adam, batches of 200.

A second run goes on where the first stopped. Images and tables need RAN_DATA.

python -m experiments.presets [--smoke] [--only ...]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

import rational_anova as ra
from experiments import lorentzian, tables_data
from experiments.table import Row
from experiments.table import Table as Results

KEY = ("preset", "data", "constant", "model", "seed")
Found = tuple[nn.Module | None, str, float]  # network, what is measured, its value


def train(name: str, net: nn.Module, data: Any, epochs: int, seed: int = 0, **more: Any) -> None:
    """Fit a network with the settings of a preset."""
    row = ra.preset(name)
    ra.fit(
        net, data, optimizer=row.optimizer, learning_rate=row.learning_rate,
        weight_decay=row.weight_decay, epochs=epochs, seed=seed,
        **({} if row.batch_size is None else {"batch_size": row.batch_size}), **more,
    )  # fmt: skip


def pictures(name: str, count: int, flat: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return images and labels to learn from and of the test set."""
    parts = []
    for each in (ra.images.load(name), ra.images.load(name, "test")):
        x = (each.images[:count].float() / 255 - 0.4) / 0.3
        parts += [x.flatten(1) if flat else x, each.labels[:count].long()]
    return parts[0], parts[1], parts[2], parts[3]


def accuracy(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return percent correct."""
    with torch.no_grad():
        found = torch.cat([net(part).argmax(1) for part in x.split(500)])
    return 100 * float((found == y).double().mean())


def mse(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the mean square error."""
    with torch.no_grad():
        return float((net(x) - y).square().mean())


def imagenet(smoke: bool, **_: Any) -> Found:
    x = torch.randn(2048, 48)
    teacher = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))
    net = ra.preset("imagenet").build(48, 48)
    with torch.no_grad():
        y = teacher(x)
    train("imagenet", net, (x, y), 2 if smoke else 50)
    return net, "MSE over the variance", mse(net, x, y) / float(y.var())


def cifar10(smoke: bool, **_: Any) -> Found:
    count = 64 if smoke else 2000
    x, y, u, v = pictures("cifar10", count, flat=False)
    net = ra.preset("cifar10").build(3, 10)
    train("cifar10", net, (x, y), 1)
    return net, "test accuracy, %", accuracy(net.eval(), u, v)


def on_images(name: str, smoke: bool, seed: int, constant: bool) -> Found:
    x, y, u, v = pictures("fashion_mnist", 200 if smoke else 10_000)
    changes = {} if name == "mnist" else {"topology": 779}
    net = ra.preset(name).build(784, 10, constant=constant, **changes)
    train(name, net, (x, y), 1 if smoke else 5, seed)
    return net, "test accuracy, %", accuracy(net.eval(), u, v)


def tabular(table: str, model: str, smoke: bool, seed: int, constant: bool) -> Found:
    split = tables_data.read_table(table, tables_data.find_tables()[table], seed)
    (x, y), (u, v), (t, w) = ((a.float(), b.float()) for a, b in split)
    said = "test MSE over the variance"
    if model != "RAN":
        both = torch.cat([x, u]).numpy(), torch.cat([y, v])[:, 0].numpy()
        found = ra.RANRegressor().fit(*both).predict(t.numpy())
        return None, said, float((torch.tensor(found) - w[:, 0]).square().mean() / w.var())
    net = ra.preset("tabular").build(x.shape[1], 1, constant=constant)
    train("tabular", net, (x, y), 2 if smoke else 60, seed, validation=(u, v),
          topology="learned", size="0.5d")  # fmt: skip
    return net, said, mse(net, t, w) / float(w.var())


def higgs(smoke: bool, **_: Any) -> Found:
    x = torch.randn(4096, 28)
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3].sin() + 0.5 * torch.randn(4096, 1) > 0).long()[:, 0]
    net = ra.preset("higgs").build(28, 2)
    train("higgs", net, (x[:3072], y[:3072]), 1 if smoke else 20)
    return net, "accuracy on other rows, %", accuracy(net, x[3072:], y[3072:])


def law(name: str, smoke: bool, seed: int, constant: bool) -> Found:
    if name == "runge":
        x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
        y, sizes = 1 / (1 + 25 * x**2), (1, 1)
    else:
        (x, y), sizes = lorentzian.grid(10 if smoke else 60), (2, 1)
    changes: dict[str, Any] = {"base": "zero", "gate": None, "noise": 0.1}
    if name != "lorentzian-72":
        changes["constant"] = constant
    net = ra.preset(name).build(*sizes, dtype=torch.float64, **changes)
    if name == "lorentzian-72":
        lorentzian.scale_(net)
    train(name, net, (x, y), 2 if smoke else 40, seed)
    return net, "MSE", mse(net, x, y)


def many_body(smoke: bool, seed: int, constant: bool) -> Found:
    x = 4 * torch.rand(3000, 5) - 2
    first, second = torch.triu_indices(5, 5, 1)
    pairs = 1 / (1 + (x[:, first] - x[:, second]).square())
    y = (x.square() / 2).sum(1, keepdim=True) + pairs.sum(1, keepdim=True)
    net = ra.preset("many-body").build(5, 1, constant=constant)
    train("many-body", net, (x[:2000], y[:2000]), 1 if smoke else 100, seed)
    return net, "test MSE over the variance", mse(net, x[2000:], y[2000:]) / float(y.var())


def runs(seeds: int) -> Iterator[tuple[Row, Callable[..., Found]]]:
    """Yield the key of each run, and what does it."""

    def key(
        preset: str, data: str, constant: bool = False, model: str = "RAN", seed: int = 0
    ) -> Row:
        return {"preset": preset, "data": data, "constant": constant, "model": model, "seed": seed}

    yield key("imagenet", "made up (smoke)"), imagenet
    yield key("higgs", "made up (smoke)"), higgs
    for seed in range(seeds):
        for name in ("runge", "lorentzian", "lorentzian-72"):
            for constant in (True,) if name == "lorentzian-72" else (False, True):
                yield key(name, "the function", constant, seed=seed), law
        for constant in (False, True):
            yield key("many-body", "five particles", constant, seed=seed), many_body
        for name in ("two-block", "two-block-read", "mnist"):
            for constant in (False, True):
                yield key(name, "Fashion-MNIST", constant, seed=seed), on_images
        for table in tables_data.TABLES:
            for constant in (False, True):
                yield key("tabular", table, constant, seed=seed), tabular
    yield key("cifar10", "CIFAR-10"), cifar10
    for seed, table in itertools.product(range(seeds), tables_data.TABLES):
        yield key("tabular", table, model="RANRegressor", seed=seed), tabular


def do(key: Row, work: Callable[..., Found], smoke: bool) -> Row:
    """Run one and return its row."""
    torch.manual_seed(key["seed"])
    options: dict[str, Any] = {"smoke": smoke, "seed": key["seed"], "constant": key["constant"]}
    if work in (law, on_images):
        options["name"] = key["preset"]
    if work is tabular:
        options |= {"table": key["data"], "model": key["model"]}
    began = time.process_time()
    net, said, value = work(**options)
    size = "" if net is None else ra.count_parameters(net)
    row = ra.preset(key["preset"])
    return {
        **key, "optimizer": row.optimizer if net is not None else "", "parameters": size,
        "measured": said, "value": value, "cpu_seconds": time.process_time() - began,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run without data")
    parser.add_argument("--only", nargs="+", choices=ra.PRESETS, default=list(ra.PRESETS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    smoke = options.smoke
    results = Results("smoke" if smoke else "runs", KEY, smoke, "presets")
    for key, work in runs(1 if smoke else options.seeds):
        without_data = work in (imagenet, higgs, law, many_body)
        if key["preset"] not in options.only or results.has(**key) or (smoke and not without_data):
            continue
        results.add(do(key, work, smoke))
        print(*results.rows[-1].values(), flush=True)


if __name__ == "__main__":
    main()
