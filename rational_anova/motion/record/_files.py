"""A system as JSON: everything it holds but its data, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import records
from ..._core.fields import made
from ...discovery import Grade, Groups, Law, Parameter
from ...discovery.law import groups_from_json, groups_to_json, plain, text
from ...symbols import Names
from ._records import Rival, Start

if TYPE_CHECKING:
    from ._dynamics import Dynamics

_KEPT = ("measured", "inputs", "time", "rows", "doubts", "discrete", "seconds", "candidates",
         "name")  # fmt: skip
_MADE = (
    "equations", "parameters", "covariance", "starts", "noise", "noise_model", "units", "groups",
    "explained", "grade", "rivals", "provenance",
)  # fmt: skip
_NOISE = {"constant", "proportional"}


def to_json(dynamics: Dynamics) -> str:
    """Write a system; its equations are the laws' own JSON."""
    content = {name: getattr(dynamics, name) for name in _KEPT} | {
        "equations": {n: json.loads(law.to_json()) for n, law in dynamics.equations.items()},
        "parameters": [
            {**asdict(p), "exact": None if p.exact is None else text(p.exact)}
            for p in dynamics.parameters
        ],
        "covariance": dynamics.covariance,
        "starts": [vars(start) for start in dynamics.starts],
        "noise": dict(dynamics.noise),
        "noise_model": dict(dynamics.noise_model),
        "units": dict(dynamics.units),
        "groups": None if dynamics.groups is None else groups_to_json(dynamics.groups),
        "explained": dict(dynamics.explained),
        "grade": dynamics.grade.value,
        "rivals": [{**vars(r), "formulas": [text(e) for e in r.formulas]} for r in dynamics.rivals],
        "provenance": plain(dynamics.provenance),
    }
    return records.to_text("dynamics", content) + "\n"


def arguments(found: records.Found) -> dict[str, Any]:
    """Return the arguments of a `Dynamics` from its file, which must agree with each other."""
    content = found.content
    records.check_entries(found, (*_KEPT, *_MADE))
    names = Names([*content["equations"], *content["inputs"]])
    laws: dict[str, Law] = {
        name: records.from_text(
            json.dumps(law), "law", f"the equation of {name!r:.60} in {found.source}", found.edited
        )
        for name, law in content["equations"].items()
    }
    read = {name: content[name] for name in _KEPT} | {
        "equations": laws,
        "parameters": tuple(_parameter(names, p) for p in content["parameters"]),
        "covariance": np.array(content["covariance"], dtype=float),
        "starts": tuple(_start(s) for s in content["starts"]),
        "noise": dict(content["noise"]),
        "noise_model": dict(content["noise_model"]),
        "units": dict(content["units"]),
        "groups": None if content["groups"] is None else groups_from_json(content["groups"]),
        "explained": dict(content["explained"]),
        "grade": Grade(content["grade"]),
        "rivals": tuple(
            made(Rival, {**r, "formulas": tuple(names.parse(e) for e in r["formulas"])})
            for r in content["rivals"]
        ),
        "provenance": dict(content["provenance"]),
    }
    for name in ("measured", "inputs", "doubts"):
        read[name] = tuple(read[name])
    _check(read, names)
    return read


def _check(read: dict[str, Any], names: Names) -> None:
    """Raise unless equations, parameters, starts and errors are those of one system."""
    laws, parameters = read["equations"], {p.name: p for p in read["parameters"]}
    states, starts, covariance = tuple(laws), read["starts"], read["covariance"]
    if not states or not starts:
        raise ValueError("a system needs an equation and a run")
    if len(parameters) < len(read["parameters"]):
        raise ValueError("two parameters have one name")
    for state, law in laws.items():
        if law.names.columns != names.columns or any(
            p.name not in parameters for p in law.parameters
        ):
            raise ValueError(f"the equation of {state!r} is of other columns or parameters")
        for p in law.parameters:
            if repr(p.value) != repr(parameters[p.name].value):
                raise ValueError(
                    f"{p.name} is {parameters[p.name].value!r} among the parameters, and "
                    f"{p.value!r} in the equation of {state!r}"
                )
    if (
        read["measured"] != states[: len(read["measured"])]
        or tuple(read["noise"]) != read["measured"]
    ):
        raise ValueError(f"measured must be the first of the states {states}, with their noise")
    for start in starts:
        if {start.state.shape, start.last.shape, start.stderr.shape} != {(len(states),)}:
            raise ValueError(f"the start of run {start.run!r} needs {len(states)} numbers")
    least = len(starts) * len(states) + len(parameters)
    if covariance.size and (
        covariance.ndim != 2 or not least <= len(covariance) == len(covariance.T)
    ):
        raise ValueError(f"covariance must be ({least}, {least}), got {covariance.shape}")
    if not _NOISE.issuperset(read["noise_model"].values()):
        raise ValueError(f"noise_model must be one of {sorted(_NOISE)} for each state")
    _check_groups(read["groups"], set(parameters), starts)


def _check_groups(groups: Groups | None, parameters: set[str], starts: tuple[Start, ...]) -> None:
    """Raise unless groups have numbers of this system, and every run a group."""
    if groups is None:
        return
    if not parameters.issuperset((*groups.own, *groups.shared)):
        raise ValueError("the numbers of groups are of other parameters")
    if not {*groups.own, *(f"{name} stderr" for name in groups.own)} <= {*groups.values.columns}:
        raise ValueError("groups lack a number of their own, or its error")
    if not {start.group for start in starts} <= {*groups.values.index}:
        raise ValueError("a run is of a group that has no numbers")


def _parameter(names: Names, entry: dict[str, Any]) -> Parameter:
    exact = entry["exact"]
    return made(Parameter, {**entry, "exact": None if exact is None else names.parse(exact)})


def _start(entry: dict[str, Any]) -> Start:
    arrays = {k: np.array(entry[k], dtype=float) for k in ("state", "last", "stderr")}
    return made(Start, {**entry, "t": tuple(entry["t"]), **arrays})
