"""What is worth a search: the options of the estimators, and draws from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _validation as check


def search_space(problem_type: str = "regression") -> dict[str, dict[str, Any]]:
    """Return what is worth a search: `choices` (the first is the default) or `low` and `high`.

    Args:
        problem_type: AutoGluon's name: `regression`, `binary` or `multiclass`.
    """
    check.choice(problem_type, ("regression", "binary", "multiclass"), "problem_type")
    space: dict[str, dict[str, Any]] = {
        "pairs": {"choices": ["auto", 0, 5, 15, 30]},
        "refinements": {"low": 0, "high": 4, "default": 2},
        "depth": {"choices": ["shallow", "deep"]},
    }
    if problem_type == "regression":
        space["link"] = {"choices": ["auto", "identity"]}
    return space


def configs(n: int, seed: int = 0, problem_type: str = "regression") -> list[dict[str, Any]]:
    """Return n different configurations, the default first, with the names TabArena gives them.

    Args:
        n: how many; fewer are returned if there are not so many.
        seed: of the draws.
        problem_type: as in `search_space`.
    """
    n = check.integer(n, "n", 1)
    random = np.random.default_rng(seed)
    space = search_space(problem_type)
    found: list[dict[str, Any]] = [{}]
    seen = [{name: _options(entry)[0] for name, entry in space.items()}]
    limit = int(np.prod([len(_options(entry)) for entry in space.values()]))
    while len(found) < min(n, limit):
        drawn = {k: (o := _options(e))[random.integers(len(o))] for k, e in space.items()}
        if drawn not in seen:
            seen.append(drawn)
            found.append(drawn)
    names = ["_c1", *(f"_r{k}" for k in range(1, len(found)))]
    return [
        {**one, "ag_args": {"name_suffix": name}} for one, name in zip(found, names, strict=True)
    ]


def _options(entry: dict[str, Any]) -> list[Any]:
    """Return all values of an entry of the search space, the default first."""
    if "choices" in entry:
        return list(entry["choices"])
    rest = [k for k in range(entry["low"], entry["high"] + 1) if k != entry["default"]]
    return [entry["default"], *rest]
