"""Laws as JSON: everything they hold but their data, without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..._core import records
from ..._core.fields import made
from ...symbols import Names
from ._expressions import text
from ._records import Entry, Evidence, Grade, Groups, Noise, Parameter, Rival

if TYPE_CHECKING:
    from ._law import Law


_ENTRIES = (
    "formula", "template", "parameters", "columns", "target", "name", "grade", "doubts", "box",
    "covariance", "evidence", "noise", "rivals", "pareto", "groups", "outliers", "units",
    "provenance",
)  # fmt: skip


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
        "name": law.name,
        "grade": law.grade.value,
        "doubts": law.doubts,
        "box": law.box,
        "covariance": law.covariance,
        "evidence": asdict(law.evidence),
        "noise": {**vars(law.noise), "compared": dict(law.noise.compared)},
        "rivals": [{**vars(rival), "formula": text(rival.formula)} for rival in law.rivals],
        "pareto": [{**vars(entry), "formula": text(entry.formula)} for entry in law.pareto],
        "groups": None if law.groups is None else groups_to_json(law.groups),
        "outliers": law.outliers,
        "units": law.units,
        "provenance": plain(law.provenance),
    }
    return records.to_text("law", content) + "\n"


def plain(value: Any) -> Any:
    """Return what JSON can hold; whatever else is written as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, Grade) else value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [plain(one) for one in value]
    return str(value)


def groups_to_json(groups: Groups) -> dict[str, Any]:
    """Return the numbers of several experiments as JSON has them."""
    return {
        "column": groups.column,
        "shared": list(groups.shared),
        "own": list(groups.own),
        "names": [plain(name) for name in groups.values.index],
        "label": groups.values.index.name,
        "values": {str(c): groups.values[c].to_numpy(dtype=float) for c in groups.values.columns},
        "spread": dict(groups.spread),
        "shrunk": groups.shrunk,
    }


def arguments(found: records.Found) -> dict[str, Any]:
    """Return the arguments of a `Law` from its file."""
    content = found.content
    records.check_entries(found, _ENTRIES)
    names = Names(content["columns"])
    parameters = tuple(_parameter(names, p) for p in content["parameters"])
    known = {field.name for field in fields(Evidence)}
    evidence = {key: value for key, value in content["evidence"].items() if key in known}
    size = len(parameters)
    return {
        "template": _real(
            names,
            content["template"],
            [p.name for p in parameters],
            {p.name: p.value for p in parameters},
        ),
        "parameters": parameters,
        "names": names,
        "target": content["target"],
        "box": tuple((low, high) for low, high in content["box"]),
        "covariance": np.array(content["covariance"], dtype=float).reshape(size, size),
        "evidence": made(Evidence, evidence),
        "pareto": tuple(
            made(Entry, {**e, "formula": names.parse(e["formula"])}) for e in content["pareto"]
        ),
        "grade": Grade(content["grade"]),
        "units": dict(content["units"]),
        "name": content["name"],
        "rivals": tuple(
            made(Rival, {**r, "formula": names.parse(r["formula"])}) for r in content["rivals"]
        ),
        "doubts": tuple(content["doubts"]),
        "noise": made(Noise, content["noise"]),
        "groups": None if content["groups"] is None else groups_from_json(content["groups"]),
        "outliers": tuple(content["outliers"]),
        "provenance": dict(content["provenance"]),
    }


def _real(names: Names, formula: str, *numbers: Any) -> sp.Expr:
    """Read a formula whose values are numbers."""
    found = names.parse(formula, *numbers)
    if found.has(sp.I, sp.oo, -sp.oo, sp.zoo, sp.nan):
        raise ValueError(f"the formula {formula!r:.80} has infinite or imaginary numbers")
    return found


def _parameter(names: Names, entry: dict[str, Any]) -> Parameter:
    exact = entry["exact"]
    return made(Parameter, {**entry, "exact": None if exact is None else _real(names, exact)})


def groups_from_json(entry: dict[str, Any]) -> Groups:
    """Return what `groups_to_json` was made of."""
    import pandas as pd

    index = pd.Index(entry["names"], name=entry["label"])
    values = pd.DataFrame(entry["values"], index=index, dtype=float)
    return Groups(
        entry["column"],
        tuple(entry["shared"]),
        tuple(entry["own"]),
        values,
        entry["spread"],
        bool(entry["shrunk"]),
    )
