"""From a settled system to the record that is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from .._core.types import Array
from ..discovery import Evidence, Law, Noise, Parameter
from ..symbols import Names
from ._choice import Choice, Fitted, key_of, listed
from ._claims import Judgement
from ._finish import Finished
from ._groups import renamed, typical
from ._runs import Series
from ._units import MotionUnits
from .known import called
from .record import Dynamics, Start


def recorded(
    series: Series, choice: Choice, best: Fitted, settled: Finished, verdict: Judgement,
    order: int, provenance: dict[str, Any], seconds: float, units: MotionUnits | None = None,
) -> Dynamics:  # fmt: skip
    """The system as a `Dynamics`.

    Args:
        series: the data.
        choice: systems that were fitted.
        best: the one that is returned.
        settled: the same with shared and exact numbers.
        verdict: its grade.
        order: of the equations.
        provenance: version, options and notes.
        seconds: that it took.
        units: of all columns, if they are known.
    """
    states = state_names(series, order)
    timed = [series.time] if choice.rows.timed else []
    inputs = (*series.inputs, *timed)
    found = settled.trajectories
    groups = None
    if series.groups:
        settled, groups = typical(series, choice, settled)
    covariance = _covariance(settled)
    parameters = _parameters(settled, covariance)
    names = {old.name: new.name for old, new in called(listed(best.sides)).items()}
    own = {p.symbol: replace(p, name=names[p.name]).symbol for p in parameters}
    settled = replace(settled, right=tuple(e.xreplace(own) for e in settled.right))
    parameters = tuple(replace(p, name=names[p.name]) for p in parameters)
    groups = None if groups is None else renamed(groups, names)
    if units is not None:
        parameters = _with_units(settled, parameters, states, units)
    spread = np.nanstd(choice.rows.X, axis=0)
    noise = found.noise * np.sqrt(found.counts / np.maximum(found.counts - _share(settled), 1))
    models, level = _levels(choice, settled)
    laws = _laws(
        choice, settled, Names([*states, *inputs]), noise / spread, parameters, covariance, verdict
    )
    return Dynamics(
        equations=laws,
        measured=series.states, inputs=inputs, time=series.time, parameters=parameters,
        covariance=covariance, starts=_starts(series, settled, covariance, len(states)),
        noise=dict(zip(series.states, (noise / level).tolist(), strict=True)),
        noise_model=dict(zip(series.states, models, strict=True)),
        name=_name(choice, best), groups=groups,
        units={} if units is None else dict(units.columns),
        explained=_explained(series, choice, settled), rows=len(choice.rows.X), grade=verdict.grade,
        doubts=verdict.doubts, rivals=verdict.rivals, discrete=choice.discrete, seconds=seconds,
        candidates=len(choice.seen), provenance=provenance, data=series.runs,
    )  # fmt: skip


def _name(choice: Choice, best: Fitted) -> str:
    """What textbooks call the system, if they have it."""
    named = choice.named.get(key_of(best.sides))
    return "" if named is None else named.name


def _levels(choice: Choice, settled: Finished) -> tuple[list[str], Array]:
    """The model of the noise of each state, and what its size is relative to: 1 if constant."""
    X = choice.rows.X
    sizes = np.broadcast_to(choice.rows.sizes, X.shape)
    models = ["constant" if (size == 1).all() else "proportional" for size in sizes.T]
    level = np.median(settled.trajectories.nodes[:, : X.shape[1]] / sizes, axis=0)
    return models, np.where(np.array(models) == "constant", 1.0, level)


def state_names(series: Series, order: int) -> list[str]:
    """Names of all states: those measured, and the velocities of positions."""
    velocities = [f"{name}_dot" for name in series.states] if order == 2 else []
    return [*series.states, *velocities]


def _share(settled: Finished) -> float:
    """Fitted numbers, starts among them, for each measured state."""
    return len(settled.trajectories.covariance) / len(settled.sigma)


def _order(settled: Finished) -> list[sp.Symbol]:
    """All parameters in the order of their numbers, exact ones among them."""
    symbols = {*settled.system.parameters, *settled.exact}
    return sorted(symbols, key=lambda s: int(s.name[1:]))


def _covariance(settled: Finished) -> Array:
    """Of starts and all parameters; exact ones have none."""
    own, free = settled.trajectories.covariance, list(settled.system.parameters)
    starts = len(own) - len(free)
    parameters = _order(settled)
    places = [*range(starts), *(starts + parameters.index(p) for p in free)]
    out = np.zeros((starts + len(parameters), starts + len(parameters)))
    out[np.ix_(places, places)] = own
    return out


def _parameters(settled: Finished, covariance: Array) -> tuple[Parameter, ...]:
    values = dict(zip(settled.system.parameters, settled.trajectories.theta, strict=True))
    parameters = _order(settled)
    errors = np.sqrt(np.maximum(np.diag(covariance)[len(covariance) - len(parameters) :], 0.0))
    return tuple(
        Parameter(p.name, float(settled.exact[p]), float(settled.stderr[p]), settled.exact[p])
        if p in settled.exact
        else Parameter(p.name, float(values[p]), float(error))
        for p, error in zip(parameters, errors, strict=True)
    )


def _with_units(
    settled: Finished, parameters: tuple[Parameter, ...], states: list[str], units: MotionUnits
) -> tuple[Parameter, ...]:
    found: dict[str, str] = {}
    for right, state in zip(settled.right, states, strict=True):
        found |= units.labelled(right, parameters, state)
    return tuple(replace(p, unit=found.get(p.name, "")) for p in parameters)


def _laws(
    choice: Choice, settled: Finished, names: Names, left: Array,
    parameters: tuple[Parameter, ...], covariance: Array, verdict: Judgement,
) -> dict[str, Law]:  # fmt: skip
    """The right-hand side of each state as a law of all states and inputs."""
    inputs = len(choice.rows.runs[0].U.T) - len(choice.groups)
    values = np.c_[settled.trajectories.nodes,
                   np.concatenate([run.U[:, :inputs] for run in choice.rows.runs])]  # fmt: skip
    if choice.rows.timed:
        values = np.c_[values, np.concatenate([run.t for run in choice.rows.runs])]
    box = tuple(zip(values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True))
    laws = {}
    for k, right in enumerate(settled.right):
        own = [n for n, p in enumerate(parameters) if right.has(p.symbol)]
        at = np.array(own, dtype=int) + len(covariance) - len(parameters)
        error = float(left[min(k, len(left) - 1)])
        evidence = Evidence(rows=len(values), noise=error, error=error, stage="trajectories",
                            candidates=len(choice.seen))  # fmt: skip
        laws[names.columns[k]] = Law(
            right, tuple(parameters[n] for n in own), names, _target(names.columns[k], choice),
            box, covariance[np.ix_(at, at)], evidence, grade=verdict.grade, doubts=verdict.doubts,
            noise=Noise("constant", error),
        )  # fmt: skip
    return laws


def _target(state: str, choice: Choice) -> str:
    return f"next {state}" if choice.discrete else f"d{state}/dt"


def _starts(series: Series, settled: Finished, covariance: Array, size: int) -> tuple[Start, ...]:
    nodes, at, out = settled.trajectories.nodes, 0, []
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    for k, run in enumerate(series.runs):
        own = nodes[at : at + len(run.t)]
        at += len(run.t)
        out.append(Start(run.label, (float(run.t[0]), float(run.t[-1])), own[0], own[-1],
                         errors[size * k : size * (k + 1)], run.group))  # fmt: skip
    return tuple(out)


def _explained(series: Series, choice: Choice, settled: Finished) -> dict[str, float]:
    X = choice.rows.X
    whole = np.nansum((X - np.nanmean(X, axis=0)) ** 2, axis=0)
    left = X - settled.trajectories.nodes[:, : X.shape[1]]
    shares = 1 - np.nansum(left**2, axis=0) / whole
    return dict(zip(series.states, shares.tolist(), strict=True))
