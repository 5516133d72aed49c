"""How far inputs of units leave what they saw in training, layer by layer, and the worst pixel.

A unit whose denominator stays near 1 on one side grows like a cube there; in a row of blocks one
input larger than any in training may run away. What a channel saw are the crops it was trained on;
what it meets are the whole validation pictures, where the norms of the blocks are others, too.
Needs the weights that `run` keeps, and RAN_DATA (--smoke needs neither).

python -m experiments.denoising.tails
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor, nn

import rational_anova as ra
from experiments import results
from experiments.denoising.config import Protocol, read
from experiments.denoising.examples import kept
from experiments.denoising.frame import Frame, denoised
from experiments.denoising.models import build
from experiments.denoising.pictures import Parts, crops, made_up, real, scaled

SHOWN = ("ran_conv_50k", "ran_conv_200k", "ran_conv_square_200k")


class Largest:
    """Within it, the largest inputs of each layer of units are kept, a number a channel."""

    def __init__(self, model: nn.Module) -> None:
        self.units = [module for module in model.modules() if isinstance(module, ra.Rational1d)]
        self.seen: dict[nn.Module, Tensor] = {}

    def __enter__(self) -> Largest:
        self._hooks = [unit.register_forward_pre_hook(self._look) for unit in self.units]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _look(self, unit: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found = inputs[0].abs().amax((0, 2, 3))
        self.seen[unit] = torch.maximum(self.seen.get(unit, found), found)

    def over(self, other: Largest) -> list[float]:
        """Return by how much each layer's inputs exceed the other's, in the worst channel."""
        return [float((self.seen[unit] / other.seen[unit]).max()) for unit in self.units]


@torch.no_grad()
def measured(name: str, model: Frame, parts: Parts, protocol: Protocol) -> dict[str, Any]:
    """Return the ratios to training of one network, and its worst pixel on validation pictures."""
    generator = torch.Generator().manual_seed(0)  # of the kept weights: the same crops again
    model.eval()
    with Largest(model) as known:
        for _ in range(protocol.steps):
            model(crops(parts.train, protocol.crops, protocol.size, generator)[0])
    with Largest(model) as met:
        found = denoised(model, parts.validation.noisy)
    worst = float((found - scaled(parts.validation.clean)).abs().max())
    return {"model": name, "layers": met.over(known), "worst": worst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    parts = made_up() if smoke else real()
    protocol = read()[0]
    protocol = protocol._replace(steps=2, crops=2, size=16) if smoke else protocol
    rows = []
    for name in ("smoke",) if smoke else SHOWN:
        model = build("ran_conv", 4, width=6, hidden=8, blocks=1) if smoke else kept(name)
        if model is None:
            raise SystemExit(f"no weights of {name}: run `python -m experiments.denoising.run`")
        model = model.measure(parts.train) if smoke else model
        rows.append(measured(name, model, parts, protocol))
    results.write("denoising_tails_smoke" if smoke else "denoising_tails", {"rows": rows})


if __name__ == "__main__":
    main()
