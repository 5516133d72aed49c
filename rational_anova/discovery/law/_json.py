"""Laws as JSON: everything they hold, without loss."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import records
from ...symbols import Names
from ._expressions import text
from ._records import Entry, Evidence, Parameter

if TYPE_CHECKING:
    from ._law import Law


def to_json(law: Law) -> str:
    """Write a law."""
    content = {
        "formula": text(law.formula),
        "template": text(law.template),
        "parameters": [
            {**asdict(p), "exact": None if p.exact is None else text(p.exact)}
            for p in law.parameters
        ],
        "columns": list(law.names.columns),
        "target": law.target,
        "box": law.box,
        "covariance": law.covariance,
        "evidence": asdict(law.evidence),
        "pareto": [{**vars(entry), "formula": text(entry.formula)} for entry in law.pareto],
        "found": law.found,
        "units": law.units,
    }
    return records.to_text("law", content) + "\n"


def arguments(content: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a `Law` from the content of its file."""
    names = Names(content["columns"])
    parameters = [
        Parameter(
            p["name"],
            p["value"],
            p["stderr"],
            None if p["exact"] is None else names.parse(p["exact"]),
            bool(p.get("given", False)),
        )
        for p in content["parameters"]
    ]
    known = {field.name for field in fields(Evidence)}
    evidence = {key: value for key, value in content["evidence"].items() if key in known}
    evidence["route"] = tuple(evidence["route"])
    size = len(parameters)
    return {
        "template": names.parse(content["template"]),
        "parameters": tuple(parameters),
        "names": names,
        "target": content["target"],
        "box": tuple((low, high) for low, high in content["box"]),
        "covariance": np.array(content["covariance"], dtype=float).reshape(size, size),
        "evidence": Evidence(**evidence),
        "pareto": tuple(
            Entry(names.parse(e["formula"]), e["complexity"], e["error"], e["parameters"])
            for e in content["pareto"]
        ),
        "found": bool(content["found"]),
        "units": dict(content["units"]),
    }
