"""What these experiments share: timed calls, options, scores of fits, the rank of a form."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import rational_anova as ra
from experiments.discovery.calling import SECONDS, discovered
from experiments.measurements.family import Form, function_of, in_columns
from experiments.table import Row, Table, arguments

STUDY = "measurements"
LEVEL = math.e  # times as heavy: two units of BIC, which nobody calls evidence
_LONG = 300
_SMOKE_SECONDS = 5.0
_TINY = 1e-300


def timed(work: Callable[[], Any], seconds: float = SECONDS) -> tuple[Any, float, str]:
    """Return what a call gives, its seconds, and what went wrong; one that hangs is ended."""
    return discovered(
        np.zeros(0), np.zeros(0), (), "", seconds=seconds, find=lambda *_, **__: work()
    )


def found(limit: float, *args: Any, **options: Any) -> tuple[Any, float, str]:
    """Return what `discover` gives within a time limit, its seconds, and what went wrong."""
    return timed(partial(ra.discover, *args, time_limit=limit, seed=0, **options), limit)


def options(doc: str | None, seeds: Sequence[int] = (0,), jobs: int = 2) -> argparse.ArgumentParser:
    """Return a parser with the options of these experiments."""
    parser = arguments(doc, jobs)
    parser.add_argument("--only", nargs="+", help="names, or parts of them, of what to run")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds of a discover")
    parser.add_argument("--retry", action="store_true", help="do again what has failed")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the options of the command line; a small run searches but for seconds."""
    options = parser.parse_args()
    if options.smoke:
        options.limit = min(options.limit, _SMOKE_SECONDS)
    return options


def results(name: str, key: Sequence[str], options: argparse.Namespace) -> Table:
    """Return the table of results of an experiment; a small run has its own, and begins anew."""
    smoke = options.smoke
    table = Table(f"{name}_smoke" if smoke else name, key, fresh=smoke, study=STUDY)
    if options.retry:
        table.rows = [row for row in table.rows if not row.get("failure")]
    return table


def chosen(items: Sequence[Any], only: Sequence[str] | None) -> list[Any]:
    """Return the items whose name has one of the words in it; all of them without words."""
    words = [word.lower() for word in only or ()]
    return [i for i in items if not words or any(word in i.name.lower() for word in words)]


def data_folder(name: str) -> Path:
    """Return a folder of RAN_DATA."""
    path = Path(os.environ.get("RAN_DATA") or "$RAN_DATA") / name
    if not path.is_dir():
        raise FileNotFoundError(
            f"{path} is missing. RAN_DATA must name the folder of the data; see README, Data."
        )
    return path


def printed(formula: Any) -> str:
    """Return a formula in one line, not too long for a cell."""
    return str(formula).replace("\n", " ")[:_LONG]


@dataclass(frozen=True)
class Standing:
    """Where a form stands among the rivals of a law.

    Args:
        rank: 1 is first, 0 not among them.
        weight: of its best version.
        best: the largest weight.
    """

    rank: int
    weight: float
    best: float

    @property
    def level(self) -> bool:
        """Whether it is first, or as heavy as the first within two units of BIC."""
        return self.rank == 1 or (self.rank > 0 and self.weight * LEVEL >= self.best)


def standing(law: Any, form: Form) -> Standing:
    """Return where a form stands among `law.rivals`."""
    best = max((rival.weight for rival in law.rivals), default=math.nan)
    for rank, rival in enumerate(law.rivals, 1):
        if form.same(as_numbers(law, rival.formula, form.columns)):
            return Standing(rank, float(rival.weight), float(best))
    return Standing(0, 0.0, float(best))


def as_numbers(law: Any, formula: sp.Expr, columns: Sequence[str]) -> sp.Expr:
    """Return a formula of a law in plain symbols; names of own constants get the first group's."""
    formula = in_columns(formula, law.names.symbols, columns)
    groups = getattr(law, "groups", None)
    if groups is None:
        return formula
    first = groups.values.iloc[0]
    own = {s: sp.Float(first[s.name]) for s in formula.free_symbols if s.name in first.index}
    return formula.xreplace(own)


def bic(
    y: np.ndarray,
    fitted: np.ndarray,
    parameters: int,
    model: str = "constant",
    floor: float = 0.0,
) -> float:
    """Return n log(RSS/n) + k log(n) for a noise model, up to what all formulas share.

    Args:
        y: measured.
        fitted: values of the formula.
        parameters: fitted numbers k.
        model: "constant", "proportional", "log-normal" or "Poisson" (as `law.noise.model`).
        floor: value of the formula below which proportional noise is constant.
    """
    scale = {"proportional": np.hypot(fitted, floor), "Poisson": np.sqrt(np.abs(fitted))}.get(model)
    with np.errstate(all="ignore"):
        if model == "log-normal":
            left, volume = np.log(y / fitted), 0.0
        elif scale is not None:
            left, volume = (y - fitted) / scale, 2 * float(np.sum(np.log(scale)))
        else:
            left, volume = y - fitted, 0.0
    rss = float(np.sum(left**2))
    if not np.isfinite(rss):
        return math.inf
    n = len(y)
    return n * math.log(max(rss / n, _TINY)) + volume + parameters * math.log(n)


def values_of(law: Any) -> dict[str, float]:
    """Return the parameters of a law by name."""
    return {p.name: float(p.value) for p in law.parameters}


def fitted_values(formula: sp.Expr, columns: Sequence[str], X: np.ndarray) -> np.ndarray:
    """Return the values of a formula with numbers, in plain symbols, on rows."""
    return function_of(formula, [], columns)(np.zeros(0), X)


def described(law: Any) -> Row:
    """Return the columns that say what came out."""
    return {
        "grade": str(getattr(law.grade, "value", law.grade)),
        "name": law.name,
        "law": printed(law.rounded()),
        "noise_model": law.noise.model if law.noise is not None else "",
    }


NOTHING: Row = {"grade": "", "name": "", "law": "", "noise_model": ""}
