"""Stacks of gated blocks: bounds of the ratio of gradient norms, and the ratio as measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._core.types import Array
from ..networks import GatedRationalBlock
from ..proofs import Interval, point
from ._box import box_of, check_weights
from ._layer_bounds import LayerBounds, Settings, array, interval_norm, spectral
from ._layers import block_jacobian, check_plain, walk


@dataclass(frozen=True)
class Isometry:
    """Bounds of |gradient at the input| / |gradient at the output| for a stack of blocks.

    Args:
        lower: proved from below: product of the least singular values of the blocks.
        upper: proved from above: product of the largest.
        paper_lower: exp(-L eps gamma) of the paper's theorem, gamma = -log(1 - eps (1 + K))/eps.
        paper_upper: exp(L eps (K - 1)), with the largest K |W| and gate eps of the stack.
        lowers: the same as `lower` behind each block.
        uppers: the same as `upper` behind each block.
    """

    lower: float
    upper: float
    paper_lower: float
    paper_upper: float
    lowers: tuple[float, ...]
    uppers: tuple[float, ...]


def isometry(
    stack: GatedRationalBlock | nn.Sequential,
    box: Any,
    *,
    tolerance: float = 0.01,
    budget: int | None = None,
) -> Isometry:
    """Bound how a stack of `GatedRationalBlock` scales gradients (theorem "epsilon-Isometry").

    Args:
        stack: a block, or an `nn.Sequential` of blocks.
        box: (low, high) of each input; the states behind are bounded from it.
        tolerance: as in `certify`.
        budget: as in `certify`.

    Example:
        >>> import rational_anova as ra
        >>> stack = nn.Sequential(*(ra.GatedRationalBlock(4) for _ in range(10)))
        >>> bounds = isometry(stack, [(-1, 1)] * 4)
        >>> 0.7 < bounds.lower < bounds.upper < 1.2
        True
    """
    blocks = _blocks(stack)
    check_weights(stack)
    check_plain(stack)
    start = box_of(box, blocks[0].features)
    state = LayerBounds(start, point(np.eye(len(start.low))), Settings(tolerance, budget))
    lowers, uppers, steep, gates = [1.0], [1.0], [], []
    with np.errstate(all="ignore"):
        for n, block in enumerate(blocks):
            before = len(state.units)
            state = walk(block, state, str(n))
            slopes = np.array([unit.slopes[0] for unit in state.units[before:]])
            least = _least(block, Interval(slopes[:, 0], slopes[:, 1]))
            lowers.append(lowers[-1] * least * (1 - 1e-15))
            uppers.append(uppers[-1] * state.layers[-1].lipschitz * (1 + 1e-15))
            steep.append(np.abs(slopes).max() * spectral(array(block.linear.weight)))
            gates.append(1.0 if block.gate is None else float(block.gate.detach()))
    paper = _paper(len(blocks), max(map(abs, gates)), float(max(steep)))
    return Isometry(lowers[-1], uppers[-1], *paper, tuple(lowers[1:]), tuple(uppers[1:]))


def gradient_ratio(
    stack: GatedRationalBlock | nn.Sequential,
    x: Tensor,  # (rows, features)
    seed: int = 0,
) -> Array:
    """Measure |gradient at the input| / |gradient behind each block|, for a random last gradient.

    Returns:
        (blocks,): entry l is the ratio over the first l + 1 blocks, the median over the rows.

    Example:
        >>> import rational_anova as ra
        >>> gradient_ratio(ra.GatedRationalBlock(4, gate=0.0), torch.randn(8, 4))
        array([1.])
    """
    ratios = []
    h = start = x.detach().clone().requires_grad_()
    generator = torch.Generator().manual_seed(seed)
    with torch.enable_grad():
        for block in _blocks(stack):
            h = block(h)
            cotangent = torch.randn(h.shape, generator=generator).to(h)
            (back,) = torch.autograd.grad(h, start, cotangent, retain_graph=True)
            ratios.append((back.norm(dim=-1) / cotangent.norm(dim=-1)).median().item())
    return np.array(ratios)


def _blocks(stack: Any) -> list[GatedRationalBlock]:
    blocks = [stack] if isinstance(stack, GatedRationalBlock) else stack
    if not isinstance(blocks, list | nn.Sequential) or not len(blocks):
        raise TypeError(f"stack must be blocks in an nn.Sequential, got {type(stack).__name__}")
    for block in blocks:
        if not isinstance(block, GatedRationalBlock):
            raise TypeError(f"stack must hold GatedRationalBlock only, got {type(block).__name__}")
    return list(blocks)


def _least(block: GatedRationalBlock, slopes: Interval) -> float:
    """Bound the least singular value of a block's Jacobian from below."""
    gate = 1.0 if block.gate is None else float(block.gate.detach())
    own = block_jacobian(array(block.linear.weight), slopes, gate)
    if not (np.isfinite(own.low) & np.isfinite(own.high)).all():
        return 0.0
    middle = 0.5 * (own.low + own.high)
    radius = Interval(own.low - middle, own.high - middle).widened(1e-15 * own.most.max())
    values = np.linalg.svd(middle, compute_uv=False)
    spare = 1e-10 * values[0] + interval_norm(radius)
    kept = abs(1 - gate)
    lost = abs(gate) * slopes.most.max() * spectral(array(block.linear.weight))
    return float(max(0.0, values[-1] - spare, kept - lost - 1e-14 * (kept + lost)))


def _paper(depth: int, gate: float, steep: float) -> tuple[float, float]:
    upper = min(depth * gate * (steep - 1), 700.0)
    inside = 1 - gate * (1 + steep)
    lower = math.exp(depth * math.log(inside)) if inside > 0 else 0.0
    return lower, math.exp(upper) if upper < 700.0 else math.inf
