"""`ntk`: the empirical neural tangent kernel of any model; of a shallow `RAN` by its formula."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vjp, vmap

from .._core import checks as check
from .._core.modules import untouched
from ..networks import RAN
from ..units import Rational1d, Rational2d
from ._kernel import Kernel, Parts
from ._model import State, Weights

_NUMBERS = 2**22  # in the gradients that are held at once
# Rows that derivatives are taken at, at once: what a RAN computes on the way is of its own size.
_ROWS = (16, 512)


def gradients(state: State, x: Tensor, outputs: int) -> Iterator[tuple[slice, Weights]]:
    """Yield gradients of all outputs at all rows, some at a time, with an axis in front.

    The places are those of (row, output), flattened.
    """
    pairs = len(x) * outputs
    step = max(1, min(pairs, _NUMBERS // state.size))
    unit = torch.eye(outputs, dtype=x.dtype, device=x.device)

    def gradient(row: Tensor, direction: Tensor) -> Weights:
        pull = vjp(lambda w: state.outputs(w, row.unsqueeze(0)), state.weights)[1]
        found: Weights = pull(direction.unsqueeze(0))[0]
        return found

    for start in range(0, pairs, step):
        places = torch.arange(start, min(start + step, pairs), device=x.device)
        arguments = (x[places // outputs], unit[places % outputs])
        if len(places) > 1:
            yield slice(start, start + len(places)), vmap(gradient)(*arguments)
        else:  # a large model: no need for what vmap holds
            single = gradient(*(a[0] for a in arguments))
            yield slice(start, start + 1), {k: v.unsqueeze(0) for k, v in single.items()}


def slopes(state: State, x: Tensor, steps: Weights) -> Tensor:
    """Return derivatives along several steps, (steps, rows, outputs)."""
    count = len(next(iter(steps.values())))
    found = []
    least, most = _ROWS
    for rows in x.split(min(most, max(least, 4 * _NUMBERS // state.size))):
        if count > 1:
            found.append(vmap(lambda step, rows=rows: state.slope(rows, step))(steps))
        else:
            single = state.slope(rows, {k: v[0] for k, v in steps.items()})
            found.append(single.unsqueeze(0))
    return torch.cat(found, 1)


@torch.no_grad()
def product(
    state: State, x_o: Tensor, x_u: Tensor, outputs: int, masks: list[Weights] | None = None
) -> Tensor:
    """Return J(x_o) J(x_u)^T for each mask of the weights, (masks, rows_o, rows_u, C, C).

    A gradient at x_u is a direction in the weights; the derivative at x_o along it is an entry.
    """
    shape = (len(masks or [{}]), len(x_o), outputs, len(x_u) * outputs)
    result = x_o.new_empty(shape)
    for places, steps in gradients(state, x_u, outputs):
        for n, mask in enumerate(masks or [{}]):
            kept = {k: v * mask[k] if mask else v for k, v in steps.items()}
            result[n, :, :, places] = slopes(state, x_o, kept).permute(1, 2, 0)
    return result.unflatten(-1, (len(x_u), outputs)).transpose(2, 3)


def closed_form(model: Any) -> bool:
    """Return whether the formula holds: a RAN as it came, without hooks or parametrizations."""
    return (
        untouched(model, RAN)
        and (model.main is None or untouched(model.main, Rational1d))
        and (model.pair is None or untouched(model.pair, Rational2d))
        and (model.head is None or untouched(model.head, nn.Linear))
    )


@torch.no_grad()
def closed_kernel(model: RAN, x_o: Tensor, x_u: Tensor) -> Kernel:
    """Return the kernel, split: rows of derivatives of the units, multiplied unit by unit.

    A unit k has w_k w_k^T <grad r_k(x_o), grad r_k(x_u)>; the head has I (phi(x_o)^T phi(x_u) + 1).
    """
    topology = model.topology
    weights = x_o.new_ones(1, topology.num_mains + topology.num_pairs)
    if model.head is not None:
        weights = model.head.weight.detach().to(x_o.dtype)
    inner = _inner(model, x_o, x_u)
    at = topology.num_mains
    main = Parts(list(topology.mains), inner[:at], weights[:, :at])
    pairs = [(int(i), int(j)) for i, j in topology.pairs]
    pair = Parts(pairs, inner[at:], weights[:, at:])
    head = _head(model, x_o, x_u)
    return Kernel(head + main.sum() + pair.sum(), head, main, pair)


def _inner(model: RAN, x_o: Tensor, x_u: Tensor) -> Tensor:
    """Return <grad r_k(x_o), grad r_k(x_u)>, (terms, rows_o, rows_u), in blocks of rows."""
    size = sum(p.numel() for p in model.parameters())
    block = max(1, _NUMBERS // size)
    terms = model.topology.num_mains + model.topology.num_pairs
    result = x_o.new_zeros(terms, len(x_o), len(x_u))
    for first in range(0, len(x_u), block):
        right = _derivatives(model, x_u[first : first + block])
        for start in range(0, len(x_o), block):
            left = _derivatives(model, x_o[start : start + block])
            rows, columns = slice(start, start + block), slice(first, first + block)
            for terms_of, ours, theirs in zip(_spans(model), left, right, strict=True):
                found = torch.einsum("oak,uak->kou", ours, theirs)
                result[terms_of, rows, columns] = found
    return result


def _units(model: RAN) -> list[tuple[Any, bool]]:
    return [(unit, unit is model.main) for unit in (model.main, model.pair) if unit is not None]


def _spans(model: RAN) -> list[slice]:
    ends = [0]
    for unit, _ in _units(model):
        ends.append(ends[-1] + unit.units)
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def _chosen(model: RAN, x: Tensor, main: bool) -> Tensor:
    return x if not main or model._mains is None else x.index_select(-1, model._mains)


def _derivatives(model: RAN, x: Tensor) -> list[Tensor]:
    """Return the units' derivatives by what may move, (rows, coefficients, units) each."""
    found = []
    for unit, main in _units(model):
        rows = unit.jacobian(_chosen(model, x, main))[1]
        moving = [name for name, p in unit.named_parameters() if p.requires_grad]
        lines = [rows[name].reshape(len(x), -1, unit.units) for name in moving]
        found.append(torch.cat(lines, 1) if lines else x.new_zeros(len(x), 0, unit.units))
    return found


def _head(model: RAN, x_o: Tensor, x_u: Tensor) -> Tensor:
    outputs = model.out_features
    result = x_o.new_zeros(len(x_o), len(x_u))
    if model.head is not None:
        if model.head.weight.requires_grad:
            result += model.features(x_o) @ model.features(x_u).T
        if model.head.bias.requires_grad:
            result += 1
    eye = torch.eye(outputs, dtype=x_o.dtype, device=x_o.device)
    return result[:, :, None, None] * eye


METHODS = ("auto", "formula", "func")


def ntk(
    model: nn.Module,
    x_o: Any,
    x_u: Any,
    *,
    split: bool = True,
    method: str = "auto",
) -> Kernel:
    r"""Return K(x_o, x_u), the product of the derivatives of outputs by weights (paper Eq. 14).

    For a `RAN` it comes with the exact split into read-out, main effects and pairs (Eq. 15 to 17).
    Any other module works: gradients at x_u are directions in which outputs at x_o are
    differentiated, some at a time, so memory stays bounded however many weights there are.
    Weights that do not require gradients do not move, and do not count. Everything is computed in
    the precision of the model; `model.double()` gives more.

    Args:
        model: the network.
        x_o: (rows_o, features), points that are looked at.
        x_u: (rows_u, features), points of updates.
        split: whether the parts are wanted; large RANs with many points are lighter without.
        method: `formula` (for a RAN), `func` (by torch.func, for all), `auto`: formula if it holds.

    Returns:
        A `Kernel`; `kernel.total` is (rows_o, rows_u, outputs, outputs).

    Example:
        >>> from rational_anova import RAN, MLP
        >>> x = torch.linspace(-1, 1, 12).reshape(4, 3)
        >>> kernel = ntk(RAN(3, topology="all"), x, x[:2])
        >>> kernel.total.shape, list(kernel.main), list(kernel.pair)
        (torch.Size([4, 2, 1, 1]), [0, 1, 2], [(0, 1), (0, 2), (1, 2)])
        >>> whole = kernel.head + kernel.main.sum() + kernel.pair.sum()
        >>> torch.allclose(whole, kernel.total)
        True
        >>> ntk(MLP(3, 2, hidden=(8,)), x, x[:2]).total.shape
        torch.Size([4, 2, 2, 2])
    """
    check.choice(method, METHODS, "method")
    state = State.of(model)
    here, there = state.points(x_o, "x_o"), state.points(x_u, "x_u")
    formula = closed_form(model)
    if method == "formula" and not formula:
        raise ValueError(
            f"there is no formula for a {type(model).__name__}, or it has hooks or "
            "parametrizations; use method='func'"
        )
    if formula and split and method != "func":
        assert isinstance(model, RAN)
        return closed_kernel(model, here, there)
    if split and isinstance(model, RAN):
        return _split(state, model, here, there)
    return Kernel(_total(state, here, there))


def _total(state: State, x_o: Tensor, x_u: Tensor) -> Tensor:
    """Return the kernel; gradients are taken on the side with fewer rows."""
    outputs = state.values(x_o[:1]).shape[1]
    if len(x_u) <= len(x_o):
        return product(state, x_o, x_u, outputs)[0]
    return product(state, x_u, x_o, outputs)[0].transpose(0, 1).transpose(2, 3)


def _split(state: State, model: RAN, x_o: Tensor, x_u: Tensor) -> Kernel:
    """Return the kernel by groups of weights, for a RAN that someone changed, and as a check."""
    mains, pairs = list(model.topology.mains), list(model.topology.pairs)
    masks = [_mask(state, "head.", None)]
    masks += [_mask(state, "main.", n) for n in range(len(mains))]
    masks += [_mask(state, "pair.", n) for n in range(len(pairs))]
    parts = product(state, x_o, x_u, model.out_features, masks)
    at = 1 + len(mains)
    main, pair = Parts(mains, parts[1:at]), Parts(pairs, parts[at:])
    return Kernel(_total(state, x_o, x_u), parts[0], main, pair)


def _mask(state: State, prefix: str, unit: int | None) -> Weights:
    """Return ones where the weights of a unit stand (its last axis counts units), else zeros."""
    masks = {}
    for name, values in state.weights.items():
        masks[name] = torch.zeros_like(values)
        if name.startswith(prefix):
            masks[name][... if unit is None else (..., unit)] = 1
    return masks
