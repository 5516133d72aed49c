"""A table of any number of rows as Parquet files: 20 columns in single precision, and a target.

Ten columns have a curve each, three pairs a product; ten columns say nothing. A file has a million
rows and a seed of its own, so files can be made, lost and made again one by one.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS, ACTIVE, NOISE, PART, GROUP = 20, 10, 0.3, 1_000_000, 1 << 17
NAMES = [f"x{k}" for k in range(COLUMNS)]


def truth(X: np.ndarray) -> np.ndarray:
    """Return a sum of ten curves and three products."""
    y = np.zeros(len(X))
    for k in range(ACTIVE):
        x = X[:, k]
        y += (np.sin(2 * x), 1 / (1 + 4 * x**2), np.tanh(3 * x), 0.3 * x**2)[k % 4]
    for k in range(3):
        y += 0.7 * np.tanh(X[:, 2 * k]) * X[:, 2 * k + 1]
    return y


def part(number: int, rows: int) -> pd.DataFrame:
    """Return the first rows of a file."""
    random = np.random.default_rng([20, number])
    X = random.normal(size=(PART, COLUMNS)).astype(np.float32)
    y = truth(X.astype(float)) + NOISE * random.normal(size=PART)
    return pd.DataFrame(X, columns=NAMES).assign(y=y.astype(np.float32))[:rows]


def write(folder: Path, rows: int) -> Path:
    """Write a table of so many rows to a folder, unless it is there; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // PART)):
        path = folder / f"part-{number:04d}.parquet"
        if not path.exists():
            new = path.with_suffix(".new")
            part(number, rows - number * PART).to_parquet(new, row_group_size=GROUP, index=False)
            os.replace(new, path)
    return folder


def held(rows: int = 20_000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of no file, and what a model should say of them."""
    random = np.random.default_rng([20, 10**6])
    X = random.normal(size=(rows, COLUMNS))
    return pd.DataFrame(X, columns=NAMES), truth(X)
