"""`auto_rational`: coefficients become exact numbers where nothing speaks against it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._core import checks as check
from ..tables import read_tensor
from ._coefficients import Coefficient, Key, coefficients, remember
from ._trial import Trial

if TYPE_CHECKING:
    import sympy

    from ._ran import RAN


_CHEAP = 1e-3  # below this share of what it may move, a coefficient counts as zero already
_LEGS = 8  # of a way that cannot be gone in one


class Snapping(Trial):
    """Snap the coefficients of a float64 network that may be changed; see `Trial`.

    Args:
        model: the network.
        places: its coefficients.
        x: (rows, features).
        y: (rows, outputs) or None.
        precision: how far predictions may move, over the spread.
        constants: names for `snap`.
    """

    def __init__(
        self,
        model: RAN,
        places: list[Coefficient],
        x: Tensor,
        y: Tensor | None,
        precision: float,
        constants: Sequence[str],
    ) -> None:
        super().__init__(model, x, y, precision)
        self.places, self.constants = places, constants
        self.exact: dict[int, sympy.Expr] = {}
        self.tried: dict[tuple[int, Any], str] = {}

    def run(self) -> tuple[dict[int, sympy.Expr], dict[int, str]]:
        """Return the exact numbers by place, and why the others stayed."""
        self._fold_gates()
        phases: list[Callable[[Tensor], Iterator[tuple[int, Any]]]]
        # Twice, since what could not be done before may be done once others are fixed.
        phases = [*(self._wholes, self._zeros) * 2, self._unseen, *(self._simple,) * 2]
        for phase in phases:
            self.tried.clear()
            # Once one more is fixed, the errors of the others are smaller.
            reach = self.tolerance()
            while any(self._attempt(n, value, float(reach[n])) for n, value in phase(reach)):
                reach = self.tolerance()
        reasons = {}
        for n in self._order():
            told = [reason for (place, _), reason in self.tried.items() if place == n]
            none = f"no simple number lies within {reach[n]:.1g}, as far as it may move"
            reasons[n] = told[-1] if told else none
        return self.exact, reasons

    def _fold_gates(self) -> None:
        """Put gates of units with base zero into the numerators: gate p/d has a scale too many."""
        import sympy

        place = {(each.parameter, each.place): n for n, each in enumerate(self.places)}
        for n, each in enumerate(self.places):
            unit = getattr(self.model, each.parameter.partition(".")[0])
            gate = float(self.theta[n])
            if each.part != "gate" or unit.base != "zero" or gate in (0.0, 1.0):
                continue
            name = each.parameter.replace("gate", "numerator")
            top = [m for (parameter, at), m in place.items()
                   if parameter == name and at[-1] == each.place[0]]  # fmt: skip
            if self.free[[n, *top]].all():
                theta = self.theta.clone()
                theta[top] *= gate
                theta[n] = 1.0
                if not self.verdict(theta):
                    self._accept(n, sympy.Integer(1), theta)

    # What to try, the most likely first.

    def _wholes(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Gates that may be open or shut, and weights that may be one."""
        import sympy

        for n in self._order("gate", "weight"):
            for value in (1, 0) if self.places[n].part == "gate" else (1,):
                if abs(float(self.theta[n]) - value) <= reach[n]:
                    yield n, sympy.Integer(value)

    def _zeros(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients that may be zero, those that cost least first."""
        import sympy

        cost = torch.where(self.theta == 0, 0.0, self.theta.abs() / reach).tolist()
        for n in sorted(self._order(), key=lambda n: max(cost[n], _CHEAP)):
            if cost[n] <= 1:
                yield n, sympy.Integer(0)

    def _unseen(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients that may be anything: round numbers near them."""
        import sympy

        for n in self._order():
            value = float(self.theta[n])
            if reach[n] == torch.inf and value:
                yield n, sympy.Integer(1 if value > 0 else -1)
                for digits in range(3):
                    yield n, sympy.Rational(f"{value:.{digits}e}")

    def _simple(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients next to a simple number, the shortest number first."""

        from ..symbols import snap

        found = []
        for n in self._order():
            value = float(self.theta[n])
            number = snap(value, min(float(reach[n]), abs(value) / 2), self.constants)
            if number is not None:
                found.append((len(str(number)), n, number))
        for _, n, number in sorted(found, key=lambda entry: entry[:2]):
            yield n, number

    def _order(self, *parts: str) -> list[int]:
        """Return the free coefficients, those that are rather done without first."""

        def rank(n: int) -> tuple[Any, ...]:
            each = self.places[n]
            return -len(each.term), each.part != "denominator", -sum(each.power), n

        chosen = self.free.nonzero().flatten().tolist()
        return sorted((n for n in chosen if not parts or self.places[n].part in parts), key=rank)

    def _attempt(self, n: int, value: Any, reach: float) -> bool:
        """Fix a coefficient, let the others follow, and keep that if the data allow it."""
        if not self.free[n] or (n, value) in self.tried:
            return False
        self.free[n] = False
        theta, reason = self._move(self.theta, n, float(value))
        if reason and reach == torch.inf:
            # What the data do not see may still be a long way off, and curved.
            theta = self.theta
            legs = torch.linspace(float(theta[n]), float(value), _LEGS + 1, dtype=theta.dtype)
            for goal in legs[1:].tolist():
                theta, again = self._move(theta, n, goal)
                if again:
                    break
            else:
                reason = ""
        self.free[n] = bool(reason)
        if reason:
            self.tried[n, value] = f"{value} {reason}"
            return False
        self._accept(n, value, theta)
        return True

    def _move(self, theta: Tensor, n: int, value: float) -> tuple[Tensor, str]:
        theta = theta.clone()
        theta[n] = value
        return self.settle(theta)

    def _accept(self, n: int, value: sympy.Expr, theta: Tensor) -> None:
        self.theta, self.exact[n], self.free[n] = theta, value, False
        self.fixed += 1
        self.cost = max(self.first, self.squares(theta))


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

    from ..symbols import snap

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
        rows = read_tensor(X, model.in_features)
        target = None if y is None else _target(y, len(rows), model.out_features)
        twin = copy.deepcopy(model).double().cpu()
        search = Snapping(twin, places, rows, target, precision, constants)
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
    target = read_tensor(y, outputs, "y")
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
    import sympy

    from ..symbols import snap

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
