"""The recorded runs: accuracies by data, budget and model, and the paper's beside them."""

from __future__ import annotations

from statistics import mean

import pandas as pd

from experiments import results
from experiments.vision import recipe

NAMES = {
    "ran": "RAN, the paper's", "ran_local": "RAN, local pairs",
    "ran_block": "RAN, local, one block", "ran_embedded": "RAN, embedded", "mlp": "MLP, GELU",
    "mlp_relu": "MLP, ReLU", "kaf": "KAF", "kan": "KAN", "cnn": "CNN, GELU",
    "ran_conv": "RANConvNet",
}  # fmt: skip
Scores = dict[tuple[str, int, str], list[float]]
OURS = ("ran_local", "ran_block", "ran_embedded", "ran")
SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}
# Table 1 of the paper: KAF, MLP, KAN, RAN.
_PAPER = {
    ("mnist", 50_000): (97.45, 97.60, 96.50, 97.55),
    ("mnist", 100_000): (98.15, 98.25, 97.10, 98.20),
    ("mnist", 200_000): (98.35, 98.45, 97.40, 98.40),
    ("mnist", 400_000): (98.65, 98.70, 97.65, 98.75),
    ("fashion_mnist", 50_000): (88.00, 88.50, 86.00, 95.39),
    ("fashion_mnist", 100_000): (89.20, 89.00, 88.00, 96.67),
    ("fashion_mnist", 200_000): (89.50, 89.20, 87.00, 97.49),
    ("fashion_mnist", 400_000): (89.50, 89.30, 86.20, 97.79),
    ("cifar10", 500_000): (56.20, 54.98, 46.81, 58.84),
    ("cifar10", 1_000_000): (56.95, 56.45, 43.32, 59.05),
}
PAPER = {
    key: dict(zip(("kaf", "mlp", "kan", "ran"), row, strict=True)) for key, row in _PAPER.items()
}
# Its Table 3, CIFAR-10 at a million parameters.
PAPER_CELLS = {
    "dense ReLU": 56.0, "dense rational": 56.8, "sparse ReLU": 55.2, "sparse rational": 58.3,
}  # fmt: skip


def read(name: str) -> pd.DataFrame:
    """Return the recorded rows of an experiment, none if there are none."""
    path = results.FOLDER / f"vision_{name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def runs(name: str) -> pd.DataFrame:
    """Return those rows of a recipe that have its number of epochs."""
    frame = read(name)
    return frame[frame["epochs"] == recipe.read(name).training.epochs] if len(frame) else frame


def scores(frame: pd.DataFrame, column: str = "test") -> Scores:
    """Return accuracies of all seeds by data, budget and model."""
    found: Scores = {}
    for row in frame.to_dict("records"):
        found.setdefault((row["data"], row["budget"], row["model"]), []).append(row[column])
    return found


def chosen(held: Scores, data: str, budget: int) -> str | None:
    """Return the setting of ours that is best on held-out images, if any is recorded."""
    means = {m: mean(held[data, budget, m]) for m in OURS if (data, budget, m) in held}
    return max(means, key=lambda model: means[model]) if means else None
