"""Peers that bring their own training loop: pykan (extra `bench`)."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from typing import Any

import torch
from torch import Tensor

MISSING = "pykan is not installed: pip install 'rational-anova[bench]'"


def has_pykan() -> bool:
    """Say whether pykan can be imported."""
    try:
        import kan  # noqa: F401
    except ImportError:
        return False
    return True


def fit_pykan(
    X: Tensor,
    y: Tensor,
    width: list[int],
    optimizer: str,
    steps: int,
    *,
    seconds: float,
    rate: float = 1.0,
    grid: int = 5,
    batch: int = -1,
    seed: int = 0,
) -> tuple[Any, int, float, int]:
    """Train a KAN of pykan in float64 by its own `fit`; return it, its size, time and steps.

    Its symbolic branch is switched off by its own `speed()`, which changes no result here and makes
    it many times faster. Steps are taken ten at a time until the seconds are over.
    """
    import kan

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    low, high = float(X.min()), float(X.max())
    try:
        with _quiet(), tempfile.TemporaryDirectory() as folder:
            model = kan.KAN(
                width=width,
                grid=grid,
                k=3,
                seed=seed,
                auto_save=False,
                device="cpu",
                grid_range=[low, high],
                ckpt_path=folder,
            ).speed()
            data = {"train_input": X, "train_label": y, "test_input": X, "test_label": y}
            began, done = time.perf_counter(), 0
            chunk = 10 if optimizer == "LBFGS" else 200
            while done < steps and time.perf_counter() - began < seconds:
                model.fit(
                    data,
                    opt=optimizer,
                    steps=min(chunk, steps - done),
                    lr=rate,
                    batch=batch,
                    update_grid=False,
                    log=10**9,
                )
                done += min(chunk, steps - done)
            taken = time.perf_counter() - began
    finally:
        torch.set_default_dtype(before)
    # Those of the symbolic branch are switched off.
    count = sum(
        p.numel()
        for name, p in model.named_parameters()
        if p.requires_grad and not name.startswith("symbolic_fun")
    )
    return model, count, taken, done


@contextlib.contextmanager
def _quiet() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
