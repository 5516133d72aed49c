"""The kernel of a shallow `RAN` by its formula: units depend on their own coefficients alone."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn

from .._modules import untouched
from ..networks import RAN
from ..units import Rational1d, Rational2d
from ._kernel import Kernel, Parts
from ._products import _NUMBERS


def closed_form(model: Any) -> bool:
    """Say whether the formula holds: a RAN as it came, without hooks or parametrizations."""
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
