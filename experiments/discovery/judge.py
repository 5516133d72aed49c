"""One law, one table made of it, one call of `discover`, and the verdict on what came back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from experiments.discovery.calling import SECONDS, discovered
from experiments.discovery.laws import Problem
from experiments.discovery.structure import (
    INSIDE,
    OUTSIDE,
    has_structure,
    opened,
    relative_error,
    widened,
)

ROWS = 2000
NOISES = (0.0, 0.001, 0.01, 0.1)
_LONG = 300  # of a formula in the results, in characters

Row = dict[str, Any]


def noisy_table(
    problem: Problem, noise: float, seed: int, rows: int = ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the law, uniform in its box, with Gaussian noise relative to its spread."""
    random = np.random.default_rng([seed, *problem.name.encode()])
    X, y = problem.sample(rows, random)
    return X, y + noise * y.std() * random.standard_normal(rows)


def judge(
    problem: Problem,
    noise: float = 0.0,
    seed: int = 0,
    *,
    rows: int = ROWS,
    seconds: float = SECONDS,
    find: Callable[..., Any] | None = None,
    same: Callable[..., Any] | None = None,
) -> Row:
    """Return what `discover` makes of a law: one row of a table of results.

    `solved` is SRBench's rule on the law as it stands; `exact` the numerical check (without noise
    the two should agree); `structure` says that only the numbers are off. `on_front` and
    `structure_on_front` ask the same of every law on the Pareto front.

    Args:
        problem: the truth.
        noise: standard deviation of the noise over that of y.
        seed: of the table.
        rows: of the table.
        seconds: time limit.
        find: in place of `rational_anova.discovery.discover`.
        same: in place of the library's `equivalent`.
    """
    X, y = noisy_table(problem, noise, seed, rows)
    row: Row = {"problem": problem.name, "group": problem.group, "noise": noise, "seed": seed}
    law, taken, failure = discovered(
        X, y, problem.names, problem.target, seconds=seconds, find=find
    )
    seen = _missed(failure) if law is None else verdict(problem, law, same)
    return {**row, "seconds": taken, **seen}


def verdict(problem: Problem, law: Any, same: Callable[..., Any] | None = None) -> Row:
    """Return the columns of `judge` that look at the law."""
    same = same or _equivalent()
    plain = dict(zip(law.names.symbols, map(sp.Symbol, problem.names), strict=True))
    error = relative_error(problem, law.predict)
    wide = relative_error(problem, law.predict, widened(problem.box))
    sameness = same(law.formula.xreplace(plain), problem.formula, box=named_box(problem))
    solved = bool(sameness.solved)
    structure = solved or has_structure(problem, *in_plain_symbols(problem, law))
    front = [entry.formula.xreplace(plain) for entry in law.pareto]
    on_front = solved or any(same(f, problem.formula, box=named_box(problem)).solved for f in front)
    return {
        "solved": solved,
        "exact": bool(error < INSIDE and wide < OUTSIDE),
        "structure": structure,
        "on_front": on_front,
        "structure_on_front": structure
        or on_front
        or any(has_structure(problem, *opened(formula)) for formula in front),
        "found": bool(law.grade.claimed),
        "grade": str(law.grade),
        "error": error,
        "wide": wide,
        "decided_by": str(getattr(sameness, "by", "")),
        "complexity": int(law.complexity),
        "parameters": len(law.parameters),
        "stage": law.evidence.stage,
        "stopped": bool(law.evidence.stopped),
        "formula": str(law.rounded()).replace("\n", " ")[:_LONG],
        "route": "; ".join(law.evidence.route)[:_LONG],
        "failure": "",
    }


def in_plain_symbols(problem: Problem, law: Any) -> tuple[sp.Expr, dict[sp.Symbol, float]]:
    """Return a law's template in the problem's symbols, and its parameters, named apart."""
    own = {sp.Symbol(p.name): sp.Symbol(f"_{p.name}") for p in law.parameters}
    plain = dict(zip(law.names.symbols, map(sp.Symbol, problem.names), strict=True))
    start = {sp.Symbol(f"_{p.name}"): float(p.value) for p in law.parameters}
    return law.template.xreplace({**own, **plain}), start


def _missed(failure: str) -> Row:
    """Return the columns of a run without a law."""
    no = ("solved", "exact", "structure", "on_front", "structure_on_front", "found", "stopped")
    nan = ("error", "wide", "complexity", "parameters")
    text = ("grade", "decided_by", "stage", "formula", "route")
    row: Row = {**dict.fromkeys(no, False), **dict.fromkeys(nan, np.nan), **dict.fromkeys(text, "")}
    return {**row, "failure": failure}


def named_box(problem: Problem) -> dict[sp.Symbol, tuple[float, float]]:
    """Return the ranges of the inputs by their symbols."""
    return {sp.Symbol(n): b for n, b in zip(problem.names, problem.box, strict=True)}


def _equivalent() -> Callable[..., Any]:
    from rational_anova.discovery import equivalent

    return equivalent
