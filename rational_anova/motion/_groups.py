"""From numbers by group to a typical system, and a table of what each group has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import sympy as sp

from .._core.types import Array
from ..discovery import Groups
from ._choice import Choice
from ._finish import Finished
from ._runs import Series


def typical(series: Series, choice: Choice, settled: Finished) -> tuple[Finished, Groups]:
    """The system with the mean of each number over the groups, and the numbers of each group.

    Args:
        series: the data.
        choice: systems that were fitted; its numbers stand beside each other, one a group.
        settled: the one that is returned, some of its numbers the same for all groups.
    """
    labels, free = series.groups, list(settled.system.parameters)
    count = len(labels)
    total = 1 + max((int(symbol.name[1:]) for symbol in free), default=-1)
    places = [k for k in range(-(-total // count)) if sp.Symbol(f"c{k * count}") in free]
    names = [sp.Symbol(f"c{k}") for k in places]
    by = [_weights(k, count, free) for k in places]  # each (groups, free)
    theta, found = settled.trajectories.theta, settled.trajectories
    starts = len(found.covariance) - len(free)
    own_errors = found.covariance[starts:, starts:]
    values = {n.name: B @ theta for n, B in zip(names, by, strict=True)}
    errors = {n.name: np.sqrt(np.einsum("gi,ij,gj->g", B, own_errors, B).clip(0))
              for n, B in zip(names, by, strict=True)}  # fmt: skip
    shared = tuple(n.name for n, B in zip(names, by, strict=True) if np.ptp(B, axis=0).max() == 0)
    own = tuple(n.name for n in names if n.name not in shared)
    table = pd.DataFrame(index=pd.Index(labels, name=series.by))
    for name in own:
        table[name], table[f"{name} stderr"] = values[name], errors[name]
    spread = {name: float(np.std(values[name], ddof=1)) for name in own}
    groups = Groups(series.by, shared, own, table, spread)
    mean = np.array([B.mean(axis=0) for B in by]).reshape(len(names), len(free))
    return _averaged(choice, settled, names, mean, count), groups


def renamed(groups: Groups, names: Mapping[str, str]) -> Groups:
    """The same with other names of numbers."""
    columns = {a + end: b + end for a, b in names.items() for end in ("", " stderr")}
    return replace(
        groups,
        shared=tuple(names[n] for n in groups.shared),
        own=tuple(names[n] for n in groups.own),
        values=groups.values.rename(columns=columns),
        spread={names[n]: value for n, value in groups.spread.items()},
    )


def _weights(place: int, count: int, free: list[sp.Symbol]) -> Array:
    """Which free number is that of each group, as rows of zeros and a one."""
    out = np.zeros((count, len(free)))
    for g in range(count):
        own = sp.Symbol(f"c{place * count + g}")
        out[g, free.index(own if own in free else sp.Symbol(f"c{place * count}"))] = 1.0
    return out


def _averaged(
    choice: Choice, settled: Finished, names: list[sp.Symbol], mean: Array, count: int
) -> Finished:
    """The system with one number for all groups."""
    first = dict(zip(choice.groups, (sp.S.One, *[sp.S.Zero] * (count - 1)), strict=True))
    renamed = {sp.Symbol(f"c{int(name.name[1:]) * count}"): name for name in names}
    right = tuple(e.xreplace(first).doit().xreplace(renamed) for e in settled.right)
    found = settled.trajectories
    starts = len(found.covariance) - mean.shape[1]
    turn = np.zeros((starts + len(names), starts + mean.shape[1]))
    turn[:starts, :starts] = np.eye(starts)
    turn[starts:, starts:] = mean
    covariance = turn @ np.nan_to_num(found.covariance, posinf=0.0) @ turn.T
    inputs = tuple(s for s in settled.system.inputs if s not in choice.groups)
    system = replace(settled.system, right=right, parameters=tuple(names), inputs=inputs)
    theta = mean @ found.theta
    trajectories = replace(found, theta=theta, covariance=covariance)
    return replace(settled, right=right, system=system, trajectories=trajectories)
