"""A system as JSON: everything it holds but its data, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..._core import records
from ...discovery import Grade, Law, Parameter
from ...discovery.law import groups_from_json, groups_to_json, plain, text
from ...symbols import Names
from ._records import Rival, Start

if TYPE_CHECKING:
    from ._dynamics import Dynamics

_KEPT = ("measured", "inputs", "time", "rows", "doubts", "discrete", "seconds", "candidates",
         "name")  # fmt: skip


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
    """Return the arguments of a `Dynamics` from its file."""
    content = found.content
    names = Names([*content["equations"], *content["inputs"]])
    laws = {n: Law.from_json(json.dumps(law)) for n, law in content["equations"].items()}
    kept = {name: content[name] for name in _KEPT}
    for name in ("measured", "inputs", "doubts"):
        kept[name] = tuple(kept[name])
    return kept | {
        "equations": laws,
        "parameters": tuple(_parameter(p) for p in content["parameters"]),
        "covariance": np.array(content["covariance"], dtype=float),
        "starts": tuple(_start(s) for s in content["starts"]),
        "noise": dict(content["noise"]),
        "noise_model": dict(content["noise_model"]),
        "units": dict(content["units"]),
        "groups": None if content["groups"] is None else groups_from_json(content["groups"]),
        "explained": dict(content["explained"]),
        "grade": Grade(content["grade"]),
        "rivals": tuple(
            Rival(**{**r, "formulas": tuple(names.parse(e) for e in r["formulas"])})
            for r in content["rivals"]
        ),
        "provenance": dict(content["provenance"]),
    }


def _parameter(entry: dict[str, Any]) -> Parameter:
    exact = entry["exact"]
    return Parameter(**{**entry, "exact": None if exact is None else sp.Rational(exact)})


def _start(entry: dict[str, Any]) -> Start:
    arrays = {k: np.array(entry[k], dtype=float) for k in ("state", "last", "stderr")}
    return Start(entry["run"], tuple(entry["t"]), **arrays, group=entry["group"])
