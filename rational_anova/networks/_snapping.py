"""`auto_rational`: coefficients that are floats become exact numbers where nothing speaks against.

This file has what a user sees, and the way without data; `_resolve.py` has the way with data.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch import Tensor

from .. import _validation as check
from ..symbols import snap
from ._coefficients import Coefficient, Key, coefficients, remember
from ._resolve import Search
from ._table import table

if TYPE_CHECKING:
    from ._ran import RAN

_SHOWN = 12  # lines of each list in a repr
_FINER = (1.0, 1e-4)  # without data: windows tried, as shares of the precision


@dataclass
class Snaps:
    """What `auto_rational` did.

    Attributes:
        snapped: (name, value before, exact number) of the coefficients that are exact now.
        refused: (name, value, reason) of those that stayed floats.
        moved: the largest change of a prediction over the spread, None without data.
    """

    snapped: list[tuple[str, float, sympy.Expr]] = field(default_factory=list)
    refused: list[tuple[str, float, str]] = field(default_factory=list)
    moved: float | None = None

    def __repr__(self) -> str:
        far = "" if self.moved is None else f", predictions moved by {self.moved:.1e} of the spread"
        lines = [f"Snaps({len(self.snapped)} exact, {len(self.refused)} left as floats{far})"]
        changed = [entry for entry in self.snapped if entry[1] or entry[2] != 0]
        lines += [f"  {name}: {before:.10g} -> {exact}" for name, before, exact in changed[:_SHOWN]]
        if len(changed) > _SHOWN:
            lines.append(f"  ... and {len(changed) - _SHOWN} more")
        for name, value, reason in self.refused[:_SHOWN]:
            lines.append(f"  {name}: {value:.10g} stays, {reason}")
        if len(self.refused) > _SHOWN:
            lines.append(f"  ... and {len(self.refused) - _SHOWN} more")
        return "\n".join(lines)


def auto_rational(model: RAN, X: Any, y: Any, precision: float, constants: Sequence[str]) -> Snaps:
    """See `RAN.auto_rational`."""
    if check.nonnegative(precision, "precision") >= 1:
        raise ValueError(f"precision must be below 1, got {precision}")
    snap(1.0, 0.0, constants)  # an unknown name is an error even where nothing would ask for it
    if X is None and y is not None:
        raise ValueError("y was given without X; give both, X alone, or neither")
    if any(not p.isfinite().all() for p in model.parameters()):
        raise ValueError("the network has coefficients that are not finite: fit it again first")
    places = coefficients(model)
    before = _flat(model)
    if X is None:
        exact, reasons = _without_data(model, places, before, precision, constants)
        after, moved = before.clone(), None
        for n, value in exact.items():
            after[n] = float(value)
    else:
        rows = table(X, model.in_features)
        target = None if y is None else _target(y, len(rows), model.out_features)
        twin = copy.deepcopy(model).double().cpu()
        search = Search(twin, places, rows, target, precision, constants)
        exact, reasons = search.run()
        after, moved = search.theta, search.moved(search.theta)
    with torch.no_grad():
        _write(model, after)
    known: dict[Key, sympy.Expr] = {places[n].key: value for n, value in exact.items()}
    remember(model, known)
    values = _flat(model).tolist()
    return Snaps(
        [(places[n].label, float(before[n]), exact[n]) for n in sorted(exact)],
        [(places[n].label, values[n], reason) for n, reason in sorted(reasons.items())],
        moved,
    )


def _flat(model: RAN) -> Tensor:
    return torch.cat([p.detach().double().cpu().reshape(-1) for p in model.parameters()])


def _write(model: RAN, values: Tensor) -> None:
    done = 0
    for parameter in model.parameters():
        part = values[done : done + parameter.numel()].view(parameter.shape)
        # Rounded anew only where it changed: a float32 stays what it was.
        fresh = part.to(parameter)
        parameter.copy_(torch.where(fresh == parameter, parameter, fresh))
        done += parameter.numel()


def _target(y: Any, rows: int, outputs: int) -> Tensor:
    if getattr(y, "ndim", 1) == 1 and outputs == 1:
        y = torch.as_tensor(y if isinstance(y, Tensor) else list(y))[:, None]
    target = table(y, outputs, "y")
    if len(target) != rows:
        raise ValueError(f"X has {rows} rows, y has {len(target)}; they must have as many")
    return target


def _without_data(
    model: RAN,
    places: list[Coefficient],
    values: Tensor,
    precision: float,
    constants: Sequence[str],
) -> tuple[dict[int, sympy.Expr], dict[int, str]]:
    """Snap each coefficient on its own, moved by no more than `precision` of its size."""
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    largest: dict[Any, float] = {}
    for place, value in zip(places, values.tolist(), strict=True):
        group = place.parameter, place.term
        # The constant of a denominator is 1, beside which the others are seen.
        least = 1.0 if place.part == "denominator" else 0.0
        largest[group] = max(largest.get(group, least), abs(value))
    resolution = torch.finfo(next(model.parameters()).dtype).eps
    exact: dict[int, sympy.Expr] = {}
    reasons: dict[int, str] = {}
    for n, (place, value) in enumerate(zip(places, values.tolist(), strict=True)):
        if place.parameter not in trained:
            continue
        if abs(value) <= precision * largest[place.parameter, place.term]:
            exact[n] = sympy.Integer(0)
            continue
        for share in _FINER:
            # A float32 is known to its own resolution only.
            window = max(share * precision, min(precision, resolution)) * abs(value)
            found = snap(value, window, constants)
            if found is not None:
                exact[n] = found
                break
        else:
            reasons[n] = f"no simple number lies within {precision:.1g} of its size"
    return exact, reasons
