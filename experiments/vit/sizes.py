"""DeiT-Tiny with each kind of feed-forward layer: parameters, operations, and what training keeps.

The paper has no numbers for a KAN here ("OOM" on 48 GB). Its feed-forward layers are therefore
measured as well, at the same widths and at the same number of parameters: ours, whose splines are
one product a layer, and pykan's, which keeps a number for each edge. Kept are the bytes that
autograd saves of one layer for one image of 197 tokens; they grow with the images, so that a batch
and twelve layers can be computed.

python -m experiments.vit.sizes [--smoke]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from typing import Any

import torch
from torch import nn

import rational_anova as ra
from benchmarks import jobs, memory
from experiments.results import write
from experiments.vit.deit import recipe
from experiments.vit.models import KINDS, Settings, build


def models(settings: Settings) -> list[dict[str, Any]]:
    """Return parameters and operations of each kind."""
    size = settings["model"]["image_size"]
    rows = []
    for kind in KINDS:
        model = build(kind, settings["model"], settings["kinds"], 0)
        flops = ra.count_flops(model, (1, 3, size, size))
        row = {"kind": kind, "parameters": ra.count_parameters(model)}
        rows.append({**row, "products": flops.products, "units": flops.units})
    return rows


def layers(settings: Settings) -> dict[str, tuple[nn.Module, int]]:
    """Return one feed-forward layer of each kind with its parameters, KANs among them."""
    width, hidden = (settings["model"][k] for k in ("hidden_size", "intermediate_size"))
    one = {**settings["model"], "num_hidden_layers": 1}
    found: dict[str, nn.Module] = {
        kind: build(kind, one, settings["kinds"], 0).model.vit.layers[0].mlp
        for kind in KINDS
        if kind != "ran_channel"
    }
    # Ten numbers an edge, where a linear map has one.
    inner = {"": hidden, "_matched": ra.count_parameters(found["gelu"]) // (2 * width * 10)}
    sizes: dict[str, int] = {}
    for name, size in inner.items():
        found[f"kan{name}"] = ra.KAN(width, width, hidden=(size,))
        if jobs.installed("kan", "pykan"):
            found[f"pykan{name}"] = _pykan(width, size)
            sizes[f"pykan{name}"] = ra.count_parameters(found[f"kan{name}"])
    sizes = {kind: ra.count_parameters(layer) for kind, layer in found.items()} | sizes
    return {kind: (layer, sizes[kind]) for kind, layer in found.items()}


def _pykan(width: int, hidden: int) -> nn.Module:
    """Return pykan's network of the same shape; its symbolic branch is switched off."""
    import kan

    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        network = kan.KAN(
            [width, hidden, width], 5, 3, auto_save=False, device="cpu", ckpt_path=folder
        )
    return network.speed()


def kept(settings: Settings, tokens: int) -> list[dict[str, Any]]:
    """Return what autograd keeps of one layer for one image."""
    rows = []
    for kind, (layer, parameters) in layers(settings).items():
        x = jobs.inputs(tokens, settings["model"]["hidden_size"])
        saved = memory.kept(jobs.Job(layer, x, torch.empty(0)))
        size = sum(saved.values())
        print(f"{kind}: {size / 2**20:.1f} MB kept, {parameters} parameters", flush=True)
        rows.append({"kind": kind, "parameters": parameters, "kept": size, "tokens": tokens})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    settings = recipe("imagenet")
    if options.smoke:
        settings["model"] |= {"image_size": 8, "patch_size": 4, "hidden_size": 12}
        settings["model"] |= {"intermediate_size": 24, "num_hidden_layers": 1, "num_labels": 2}
        settings["kinds"] |= {"groups": 2, "pairs": 3, "plus_hidden": 20}
        models(settings)
        kept(settings, 5)
        return
    tokens = (settings["model"]["image_size"] // settings["model"]["patch_size"]) ** 2 + 1
    result = {
        "models": models(settings),
        "layers": kept(settings, tokens),
        "batch": settings["train"]["batch_size"],
        "depth": settings["model"]["num_hidden_layers"],
    }
    write("vit_sizes", result)


if __name__ == "__main__":
    main()
