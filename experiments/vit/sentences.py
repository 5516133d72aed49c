"""Sentences from the rows of a census table, and what they are asked for.

The shipped tables hold no prose, so the rows of `adult` (RAN_DATA/tabular/other) are told in words:
"A man of 39, never married, bachelors, works 40 hours a week in adm clerical (state gov), from
United States." The question is whether the person earns more than 50,000 dollars a year. Numbers
that give the answer away (capital gain and loss) and the survey's weight are left out.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor


def sentence(row: dict[str, object]) -> str:
    """Return a row in words; what is not known is left out."""

    def words(column: str) -> str:
        value = row.get(column)
        known = isinstance(value, str) and value not in ("", "?")
        return str(value).replace("-", " ").lower() if known else ""

    person = "man" if words("sex") == "male" else "woman"
    place = f" ({words('workclass')})" if words("workclass") else ""
    work = f" in {words('occupation')}" if words("occupation") else ""
    parts = [
        f"A {person} of {row['age']}",
        words("marital_status"),
        words("education"),
        f"works {row['hours_per_week']} hours a week{work}{place}",
    ]
    if words("native_country"):
        parts.append(f"from {str(row['native_country']).replace('-', ' ')}")
    return ", ".join(part for part in parts if part) + "."


def census(sizes: tuple[int, ...], seed: int = 0) -> list[tuple[list[str], Tensor]]:
    """Return disjoint parts of so many sentences with their answers, 0 or 1."""
    root = os.environ.get("RAN_DATA")
    path = Path(root or ".") / "tabular" / "other" / "adult.csv.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not there: set RAN_DATA to the folder that holds tabular/other/adult.csv.gz"
            " (the UCI set Adult with a header line)"
        )
    table = pd.read_csv(path)
    order = np.random.default_rng(seed).permutation(len(table))[: sum(sizes)]
    rows = table.iloc[order]
    texts = [sentence(row) for row in rows.to_dict("records")]
    answers = torch.tensor((rows["income"].str.strip(". ") == ">50K").to_numpy(dtype=np.int64))
    cuts = np.cumsum((0, *sizes))
    return [(texts[a:b], answers[a:b]) for a, b in pairwise(cuts)]
