"""`holdout`: rows set aside, with every class in its share."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import _validation as check


def holdout(labels: Tensor | int, share: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return the rows that stay and the rows that are set aside, each in ascending order.

    Of every class, its share is set aside, rounded; the same seed gives the same rows, whatever
    the state of torch's generator. They lie on the device of the labels, or on the CPU.

    Args:
        labels: (N,) integers; or N itself, for rows of one kind.
        share: of the rows that is set aside, between 0 and 1.
        seed: of the draw.

    Example:
        >>> stay, aside = holdout(torch.tensor([0] * 8 + [1] * 4), share=0.25)
        >>> len(stay), aside.tolist()
        (9, [0, 4, 11])
    """
    share = check.real(share, "share")
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    if not isinstance(labels, Tensor):
        count = check.integer(labels, "labels", 2)
        labels = torch.zeros(count, dtype=torch.int64, device="cpu")
    if labels.dim() != 1 or labels.is_floating_point():
        raise ValueError(
            f"labels must be integers of shape (N,), got {labels.dtype} of {tuple(labels.shape)}"
        )
    # Every device is named: torch's default one may be another than that of the labels.
    generator = torch.Generator("cpu").manual_seed(check.integer(seed, "seed"))
    held = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
    for label in labels.unique():  # sorted, so that the draws do not depend on the rows' order
        rows = (labels == label).nonzero().squeeze(1)
        order = torch.randperm(len(rows), generator=generator, device="cpu")
        held[rows[order[: round(share * len(rows))].to(rows.device)]] = True
    return (~held).nonzero().squeeze(1), held.nonzero().squeeze(1)
