"""Denominators and bases of a user's: registered by name, and checked against the contract."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..functional import BASES, DENOMINATORS, Base, Denominator, Form
from ._bivariate import Rational2d
from ._univariate import Rational1d

Entry = Base | Denominator

_BUILT_IN = frozenset((*DENOMINATORS, *BASES))
_POINTS = (-30.0, -8.0, -2.5, -1.0, -0.3, -1e-3, 0.02, 0.4, 1.1, 3.0, 9.0, 30.0)


class ContractError(ValueError):
    """A denominator or base that breaks the contract; the message says where."""


def register(entry: Entry) -> None:
    """Make a denominator or a base known by its name, for all units of this process.

    It runs on torch's operations, in networks, exports and certificates as those that are built in
    do. A file of such a network can be read where the same name is registered.

    Args:
        entry: with value and slope in torch, and the same as a formula of sympy.

    Raises:
        ContractError: the name belongs to one that is built in, or cannot be a name.

    Example:
        >>> import sympy
        >>> from rational_anova.functional import Base
        >>> register(Base("sine", torch.sin, torch.cos, sympy.sin))
        >>> check_entry(BASES["sine"])[0]
        'name'
        >>> unregister("sine")
    """
    _named(entry)
    table: dict[str, Any] = DENOMINATORS if isinstance(entry, Denominator) else BASES
    table[entry.name] = entry
    Form.make.cache_clear()


def unregister(name: str) -> None:
    """Forget a denominator or a base of a user's."""
    if name in _BUILT_IN:
        raise ValueError(f"{name!r} is built in")
    DENOMINATORS.pop(name, None)
    BASES.pop(name, None)
    Form.make.cache_clear()


def check_entry(entry: Entry) -> tuple[str, ...]:
    """Check a denominator or a base as the built-in ones are checked, and say what was looked at.

    Args:
        entry: registered or not.

    Raises:
        ContractError: at the first thing that does not hold.
    """
    checks: list[Callable[[Entry], None]] = [
        _named, _shaped, _finite, _slope, _formula, _bounded, _start, _gradients, _saved
    ]  # fmt: skip
    _named(entry)
    with _registered(entry):
        for one in checks:
            one(entry)
    return ("name", "dtype and shape", "finite values", "slope", "formula", "least value",
             "start", "gradients", "files")  # fmt: skip


@contextlib.contextmanager
def _registered(entry: Entry) -> Iterator[None]:
    table: dict[str, Any] = DENOMINATORS if isinstance(entry, Denominator) else BASES
    before = table.get(entry.name)
    if before is None:
        register(entry)
    try:
        yield
    finally:
        if before is None:
            unregister(entry.name)


def _fail(entry: Entry, what: str) -> ContractError:
    kind = "denominator" if isinstance(entry, Denominator) else "base"
    return ContractError(f"the {kind} {entry.name!r}: {what}")


def _named(entry: Entry) -> None:
    if not isinstance(entry, Base | Denominator):
        raise TypeError(f"a Base or a Denominator is needed, got {type(entry).__name__}")
    if not isinstance(entry.name, str) or not entry.name.isidentifier():
        raise _fail(entry, "a name is letters, digits and _, not beginning with a digit")
    table: dict[str, Any] = DENOMINATORS if isinstance(entry, Denominator) else BASES
    if entry.name in _BUILT_IN and table.get(entry.name) is not entry:
        raise _fail(entry, "the name belongs to one that is built in; choose another")


def _points(dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(_POINTS, dtype=dtype)


def _shaped(entry: Entry) -> None:
    for name in ("value", "slope"):
        function = getattr(entry, name)
        for dtype in (torch.float32, torch.float64):
            x = _points(dtype).reshape(3, 4)
            y = function(x)
            if not isinstance(y, Tensor) or y.dtype != dtype or y.shape != x.shape:
                got = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y)
                raise _fail(entry, f"{name} of {dtype} of shape (3, 4) gives {got}")


def _finite(entry: Entry) -> None:
    for name in ("value", "slope"):
        y = getattr(entry, name)(_points())
        bad = (~torch.isfinite(y)).nonzero()
        if len(bad):
            at = _POINTS[int(bad[0])]
            raise _fail(entry, f"{name} at {at:g} is {y[bad[0]].item()}")


def _slope(entry: Entry) -> None:
    x, h = _points(), 1e-5
    wanted = (entry.value(x + h) - entry.value(x - h)) / (2 * h)
    _compare(entry, "slope", entry.slope(x), wanted, 1e-6, "its value's difference quotient")
    y = x.clone().requires_grad_()
    value = entry.value(y)
    if not value.requires_grad:
        return  # a constant, of which torch keeps nothing
    (found,) = torch.autograd.grad(value.sum(), y)
    _compare(entry, "slope", entry.slope(x), found, 1e-10, "what torch differentiates")


def _formula(entry: Entry) -> None:
    import sympy as sp

    z = sp.Symbol("z", real=True)
    formula = sp.sympify(entry.expression(z))
    if formula.free_symbols - {z}:
        raise _fail(entry, f"expression has symbols of its own: {formula.free_symbols - {z}}")
    values = [float(sp.N(formula.subs(z, sp.Float(x, 30)), 30)) for x in _POINTS]
    wanted = torch.tensor(values, dtype=torch.float64)
    _compare(entry, "value", entry.value(_points()), wanted, 1e-10, "its expression")


def _compare(
    entry: Entry, name: str, found: Tensor, wanted: Tensor, share: float, what: str
) -> None:
    off = (found - wanted).abs() > share * (1 + wanted.abs())
    if off.any():
        at = int(off.nonzero()[0])
        raise _fail(
            entry, f"{name} at {_POINTS[at]:g} is {found[at].item():.12g}, and {what} says "
            f"{wanted[at].item():.12g}",
        )  # fmt: skip


def _bounded(entry: Entry) -> None:
    if not isinstance(entry, Denominator):
        return
    least = 1 + entry.value(torch.linspace(-50, 50, 20_001, dtype=torch.float64)).min().item()
    if least < entry.minimum * (1 - 1e-12):
        raise _fail(entry, f"1 + psi falls to {least:.6g}, below its minimum={entry.minimum:g}")


def _units(entry: Entry) -> list[Any]:
    own: dict[str, Any] = {"dtype": torch.float64}
    if isinstance(entry, Denominator):
        own["denominator"] = entry.name
        return [Rational1d(3, (3, 2), **own), Rational2d([(0, 1), (1, 2)], 2, **own)]
    return [Rational1d(3, (3, 2), base=entry.name, **own),
            Rational2d([(0, 1), (1, 2)], 2, base=entry.name, **own)]  # fmt: skip


def _start(entry: Entry) -> None:
    """A unit starts at its base, and the error that it states is the true one."""
    x = torch.linspace(-2, 2, 15, dtype=torch.float64).reshape(5, 3)
    for unit in _units(entry):
        inputs = [x] if isinstance(unit, Rational1d) else [x[:, [0, 1]], x[:, [1, 2]]]
        mean = x if len(inputs) == 1 else torch.stack([one.mean(1) for one in inputs], 1)
        base = unit.form.base
        off = (unit(x) - base.value(mean)).abs().max().item()
        stated = unit.init_error.maximum
        if off > stated + 1e-9 * (1 + base.value(mean).abs().max().item()):
            raise _fail(entry, f"a unit starts {off:.3g} off its base, and states {stated:.3g}")
        if isinstance(entry, Denominator) and len(inputs) == 1 and off > 1e-9:
            raise _fail(entry, f"a unit starts {off:.3g} off the identity")


def _gradients(entry: Entry) -> None:
    torch_state = torch.random.get_rng_state()
    try:
        torch.manual_seed(0)
        for unit in _units(entry):
            with torch.no_grad():
                for one in unit.parameters():
                    one.add_(0.1 * torch.randn_like(one))
            x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
            unit(x).sum().backward()
            for name, one in [("its input", x), *unit.named_parameters()]:
                _along(entry, unit, x, one, name)
    finally:
        torch.random.set_rng_state(torch_state)


def _along(entry: Entry, unit: Any, x: Tensor, one: Tensor, name: str) -> None:
    """Compare a gradient with the difference quotient along it."""
    assert one.grad is not None
    length, h = one.grad.norm(), 1e-6
    if not length > 0:
        return
    step = one.grad / length * h
    with torch.no_grad():
        kept = one.clone()
        one.copy_(kept + step)
        above = unit(x).sum()
        one.copy_(kept - step)
        below = unit(x).sum()
        one.copy_(kept)
    quotient = ((above - below) / (2 * h)).item()
    if abs(quotient - length.item()) > 1e-5 * (1 + length.item()):
        raise _fail(
            entry, f"the gradient of {name} is {length.item():.8g}, a quotient {quotient:.8g}"
        )


def _saved(entry: Entry) -> None:
    for unit in _units(entry):
        twin = _units(entry)[0 if isinstance(unit, Rational1d) else 1]
        twin.load_state_dict(copy.deepcopy(unit.state_dict()))
        x = torch.tensor(np.linspace(-1, 1, 6).reshape(2, 3))
        if not torch.equal(twin(x), unit(x)):
            raise _fail(entry, "a unit that was saved and read computes something else")
