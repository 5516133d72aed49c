"""Checkpoints: one file with everything a run needs to go on to the same bits."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..serialization import write_whole
from ._data import Rows, Source

FORMAT = "rational-anova checkpoint 1"


def fingerprint(
    model: nn.Module, sources: Iterable[Source | None], settings: dict[str, Any]
) -> str:
    """Return a digest of model, data and settings: only the same run may go on.

    Equal shapes are not enough: another denominator, or other pairs, have the same shapes. Of a
    stream only the number of rows is known.
    """
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    digest.update(f"{type(model).__name__}{model!r}".encode())
    for name, parameter in model.named_parameters():
        digest.update(f"{name}{parameter.shape}{parameter.dtype}{parameter.requires_grad}".encode())
    kept = model.state_dict()
    for name, buffer in model.named_buffers():
        if name not in kept:  # part of the architecture, such as the pairs
            digest.update(_bytes(buffer))
    for source in sources:
        digest.update(f"{type(source).__name__}{0 if source is None else len(source)}".encode())
        if isinstance(source, Rows):
            for part in source.batch:
                if isinstance(part, Tensor):
                    digest.update(_bytes(part))
    return digest.hexdigest()


def _bytes(values: Tensor) -> bytes:
    flat = values.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def write(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint, which appears whole or not at all."""
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **state}, buffer)
    write_whole(path, buffer.getvalue())


def read(path: str | os.PathLike[str], mark: str) -> dict[str, Any]:
    """Read a checkpoint of the run with the given fingerprint."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as a checkpoint ({error}); delete it to start anew"
        ) from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of this library; delete it or name another")
    if state["fingerprint"] != mark:
        raise ValueError(
            f"{path} belongs to another run (its model, data or settings differ); pass "
            "resume=False to start anew and overwrite it, or name another file"
        )
    return state
