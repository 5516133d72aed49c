"""Training of one network, and what is measured of it."""

from __future__ import annotations

import time
from copy import deepcopy
from importlib.metadata import version
from typing import Any

import torch

import rational_anova as ra
from experiments.denoising.config import Protocol, Setting
from experiments.denoising.frame import Frame, denoised
from experiments.denoising.models import build
from experiments.denoising.pictures import Parts, crops, scaled
from experiments.denoising.quality import psnr, ssim
from rational_anova.images import NoisyPairs

Row = dict[str, Any]


def trained(
    setting: Setting, protocol: Protocol, parts: Parts, rate: float, seed: int
) -> tuple[Frame, float]:
    """Return a network with the weights that did best on validation, and their PSNR there.

    Adam on the mean absolute error of random crops, as in the paper, with its rate lowered to zero
    along a cosine. The crops depend on the seed alone: all networks see the same ones.
    """
    torch.manual_seed(seed)
    model = build(setting.kind, **setting.arguments).measure(parts.train)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, protocol.steps)
    generator = torch.Generator().manual_seed(seed)
    best, kept = -1.0, deepcopy(model.state_dict())
    for step in range(1, protocol.steps + 1):
        noisy, clean = crops(parts.train, protocol.crops, protocol.size, generator)
        loss = (model(noisy) - clean).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step * protocol.checks % protocol.steps < protocol.checks:
            found = quality(model, parts.validation, protocol.margin)["psnr"]
            if found > best:
                best, kept = found, deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return model, best


def quality(model: Frame | None, pairs: NoisyPairs, margin: int = 0, similar: bool = False) -> Row:
    """Return the mean PSNR, and SSIM if asked for; without a model, of the noisy pictures."""
    height, width = pairs.clean.shape[-2:]
    inner = (..., slice(margin, height - margin), slice(margin, width - margin))
    clean = scaled(pairs.clean[inner])
    found = scaled(pairs.noisy[inner]) if model is None else denoised(model, pairs.noisy, margin)
    row = {"psnr": float(psnr(found, clean).mean())}
    if similar:
        each = [float(ssim(f[None], c[None])) for f, c in zip(found, clean, strict=True)]
        row["ssim"] = sum(each) / len(each)
    return row


def measured(
    setting: Setting, protocol: Protocol, parts: Parts, rate: float, seed: int
) -> tuple[Row, Frame]:
    """Train a network; return its row of results and the network."""
    start = time.process_time()
    model, validation = trained(setting, protocol, parts, rate, seed)
    seconds = time.process_time() - start
    test = quality(model, parts.test, similar=True)
    row = {
        "model": setting.name, "family": setting.family, "rate": rate, "seed": seed,
        "parameters": ra.count_parameters(model.net, trainable=False), "steps": protocol.steps,
        "validation_psnr": f"{validation:.4f}", "test_psnr": f"{test['psnr']:.4f}",
        "test_ssim": f"{test['ssim']:.5f}", "cpu_seconds": seconds,
        "torch": version("torch"), "version": version("rational-anova"),
    }  # fmt: skip
    return row, model
