"""Laws as JSON: everything they hold, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.records import ODD, content_of, plain
from ...symbols import Names
from ._expressions import text
from ._records import Entry, Evidence, Parameter

if TYPE_CHECKING:
    from ._law import Law

FORMAT, VERSION = "rational-anova law", 1


def to_json(law: Law) -> str:
    """Write a law; numbers that JSON does not know are the texts "nan", "inf" and "-inf"."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "formula": text(law.formula),
        "template": text(law.template),
        "parameters": [
            {**asdict(p), "exact": None if p.exact is None else text(p.exact)}
            for p in law.parameters
        ],
        "columns": list(law.names.columns),
        "target": law.target,
        "box": law.box,
        "covariance": law.covariance.tolist(),
        "evidence": asdict(law.evidence),
        "pareto": [{**vars(entry), "formula": text(entry.formula)} for entry in law.pareto],
        "found": law.found,
        "units": law.units,
    }
    return json.dumps(plain(content), allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def from_json(source: str) -> dict[str, Any]:
    """Read what `to_json` wrote, as the arguments of a `Law`."""
    content = content_of(source, "law", VERSION)
    try:
        return _arguments(content)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this law is damaged: {error!r}") from error


def _arguments(content: dict[str, Any]) -> dict[str, Any]:
    names = Names(content["columns"])
    parameters = [
        Parameter(
            p["name"],
            _number(p["value"]),
            _number(p["stderr"]),
            None if p["exact"] is None else names.parse(p["exact"]),
            bool(p.get("given", False)),
        )
        for p in content["parameters"]
    ]
    known = {field.name for field in fields(Evidence)}
    texts = {"stage", "route", "stopped"}
    evidence = {
        key: value if key in texts else _number(value)
        for key, value in content["evidence"].items()
        if key in known
    }
    evidence["route"] = tuple(evidence["route"])
    size = len(parameters)
    covariance = [[_number(value) for value in row] for row in content["covariance"]]
    return {
        "template": names.parse(content["template"]),
        "parameters": tuple(parameters),
        "names": names,
        "target": content["target"],
        "box": tuple((_number(low), _number(high)) for low, high in content["box"]),
        "covariance": np.array(covariance, dtype=float).reshape(size, size),
        "evidence": Evidence(**evidence),
        "pareto": tuple(
            Entry(names.parse(e["formula"]), e["complexity"], _number(e["error"]), e["parameters"])
            for e in content["pareto"]
        ),
        "found": bool(content["found"]),
        "units": dict(content["units"]),
    }


def _number(value: Any) -> Any:
    return ODD.get(value, value) if isinstance(value, str) else value
