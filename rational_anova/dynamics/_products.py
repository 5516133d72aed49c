"""Products of Jacobians in pieces, so that no whole Jacobian is ever in memory."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.func import vjp, vmap

from ._state import State, Weights

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
