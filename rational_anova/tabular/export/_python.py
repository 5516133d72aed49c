"""Models as a module of Python that needs nothing but math."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..._core.types import Array
from ..fit import Link, middle_of
from . import _runtime
from ._plan import Columns, Plan, gap_code, plain

HEADER = '"""{what}\n\n{use}\n"""'
CLASSES = "`predict(row)` takes a dict of column names and returns the probability of each class."
NUMBER = "`predict(row)` takes a dict of column names and returns the prediction."


def python(plan: Plan, what: str) -> str:
    """Return the source of a module with `decision(row)` and `predict(row)`."""
    plan = plan.folded()
    runtime = "".join(inspect.getsource(_runtime).partition("import math")[1:])
    parts = [
        HEADER.format(what=what, use=NUMBER if plan.classes is None else CLASSES),
        runtime.strip(),
        *_levels(plan),
        _decision(plan),
        _predict(plan),
    ]
    return "\n\n".join(parts) + "\n"


def _levels(plan: Plan) -> list[str]:
    found = []
    for i in plan.used:
        feature = plan.features[i]
        if feature.category:
            codes = {plain(level, feature.name): k for k, level in enumerate(feature.levels)}
            found.append(f"_LEVELS_{i} = {codes!r}")
    return found


def _decision(plan: Plan) -> str:
    lines = ["def decision(row):"]
    lines += [f"    x{i} = {_input(plan, i)}" for i in plan.used]
    lines.append(f"    f = {plan.intercept.tolist()!r}")
    for axes, pieces in plan.effects.items():
        lines.append(f"    # {plan.title(axes)!a}")
        for piece in pieces:
            numerators = piece.numerators
            if len(axes) == 1 and piece.columns[0].feature.category:
                for k, one in enumerate(numerators.T):
                    lines.append(f"    f[{k}] += {_tuple(one)}[x{axes[0]}]")
                continue
            names = ["u", "v"][: len(axes)]
            for name, columns in zip(names, piece.columns, strict=True):
                lines.append(f"    {name} = {_columns(columns)}")
            call = "_dot" if len(axes) == 1 else "_pair"
            for k in range(len(plan.intercept)):
                one = _tuple(numerators[..., k])
                lines.append(f"    f[{k}] += {call}({', '.join(names)}, {one})")
    return "\n".join([*lines, "    return f"])


def _input(plan: Plan, axis: int) -> str:
    feature, name = plan.features[axis], plan.column(axis)
    if feature.category:
        return f"_code(row, {name!r}, _LEVELS_{axis}, {gap_code(feature)}, {len(feature.levels)})"
    low, high = feature.clip or (-1e308, 1e308)
    part = f"{feature.part!r}, " if feature.kind == "date" else ""
    special = f", {feature.special!r}" if feature.special else ""
    return f"{'_date' if part else '_number'}(row, {name!r}, {part}{low!r}, {high!r}{special})"


def _columns(columns: Columns) -> str:
    x = f"x{columns.axis}"
    if columns.feature.category:
        return f"{_tuple(columns.table)}[{x}]"
    gap, heads = _tuple(columns.gap), columns.heads
    codes = ", ".join(f"{code!r}: {_tuple(at)}" for code, at in columns.codes.items())
    known = f"{{{codes}}}[{x}] if {x} in {columns.feature.special!r} else " if codes else ""
    if heads is None:
        return f"{known}{gap} if {x} is None else {_tuple(columns.flat)}"
    return f"{known}_heads({x}, {_tuple(heads.centre)}, {_tuple(heads.width)}, {heads.odd}, {gap})"


def _tuple(values: Array) -> str:
    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return repr(frozen(np.asarray(values, float).tolist()))


def _predict(plan: Plan) -> str:
    lines = ["def predict(row):"]
    if plan.cuts:
        lines.append("    f = decision(row)[0]")
        lines.append(f"    below = [0.0, *(_expit(c - f) for c in {list(plan.cuts)!r}), 1.0]")
        lines.append("    shares = [b - a for a, b in zip(below, below[1:])]")
        lines.append(f"    return dict(zip({plan.classes!r}, shares))")
        return "\n".join(lines)
    if plan.classes is not None:
        f = "[0.0, *decision(row)]" if len(plan.intercept) == 1 else "decision(row)"
        lines.append(f"    return dict(zip({plan.classes!r}, _softmax({f})))")
        return "\n".join(lines)
    if not plan.names_of_outputs:
        lines.append(f"    return {_mean('decision(row)[0]', plan.link)}")
        return "\n".join(lines)
    lines.append(f"    found = [{_mean('f', plan.link)} for f in decision(row)]")
    if plan.levels:  # none crosses one nearer to the middle
        middle = middle_of(plan.levels)
        lines.append(f"    for k in range({middle + 1}, {len(plan.levels)}):")
        lines.append("        found[k] = max(found[k], found[k - 1])")
        lines.append(f"    for k in range({middle}, 0, -1):")
        lines.append("        found[k - 1] = min(found[k - 1], found[k])")
    lines.append(f"    return dict(zip({list(plan.names_of_outputs)!r}, found))")
    return "\n".join(lines)


def _mean(f: str, link: Link) -> str:
    """Return the way from a decision to the mean."""
    if np.isfinite([link.low, link.high]).all():
        f = f"_clip({f}, {float(link.low)!r}, {float(link.high)!r})"
    smear = float(link.smear)
    back = {
        "log": f"{smear!r} * math.exp({f})",
        "sqrt": f"{f} ** 2 + {smear!r}",
        "logit": f"_expit({f})",
    }
    return back.get(link.name, f)
