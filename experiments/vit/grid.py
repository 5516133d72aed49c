"""What explodes: stacks of layers, with LayerNorm and without, at two rates, by denominator.

Layers are 6 plain ones (a linear map, the nonlinearity) or 24 residual blocks of width 32; the
target is a smooth function of 32 inputs. No warm-up, no clipping; units have ten times the rate.
Units are fitted to GELU, eight a layer, and have a reach of 2, or none.

python -m experiments.vit.grid [--seeds 0] [--smoke]

Writes experiments/results/vit_grid.csv; a second run goes on. A run has exploded where its last
loss is above ten times that of GELU, or above the first.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import rational_anova as ra
from experiments.table import Table, arguments
from experiments.vit.panel import Residual, Unit

STEPS = 120
STACKS = ("6 plain", "24 residual")
RATES = (1e-3, 5e-3)
_HELD = {"gate": None, "reach": 2.0}
KINDS: dict[str, dict[str, Any] | None] = {
    "gelu": None,
    "square, held": {"denominator": "square", **_HELD},
    "abs, held": {"denominator": "abs", **_HELD},
    "sos, held": {"denominator": "sos", **_HELD},
    "softplus, held": {"denominator": "softplus", **_HELD},
    "square (3, 2) from gate 0, held": {
        "denominator": "square", "degrees": (3, 2), "init": "base", "reach": 2.0
    },
    "square, reach 3": {"denominator": "square", "gate": None, "reach": 3.0},
    "square, reach 4": {"denominator": "square", "gate": None, "reach": 4.0},
    "square": {"denominator": "square", "gate": None},
    "sos": {"denominator": "sos", "gate": None},
}  # fmt: skip


def unit_of(kind: str) -> Unit:
    """Return what makes the nonlinearity for so many channels."""
    given = KINDS[kind]
    options = {"degrees": (5, 4), "base": "gelu", "groups": 8, "init": "gelu", **(given or {})}
    return lambda width: nn.GELU() if given is None else ra.Rational1d(width, **options)


def stacked(stack: str, norm: bool, unit: Unit) -> nn.Module:
    """Return the network."""
    if stack == "24 residual":
        return nn.Sequential(*(Residual(32, unit, norm) for _ in range(24)))
    layers: list[nn.Module] = []
    for _ in range(6):
        layers += [nn.LayerNorm(32)] if norm else []
        layers += [nn.Linear(32, 32), unit(32)]
    return nn.Sequential(*layers, nn.Linear(32, 32))


def trained(
    stack: str, norm: bool, rate: float, kind: str, seed: int, steps: int
) -> dict[str, Any]:
    """Return the losses of a run; one that is not finite ends it."""
    begun = time.process_time()
    torch.manual_seed(seed)
    model = stacked(stack, norm, unit_of(kind))
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(512, 32, generator=generator)
    y = torch.sin(x.roll(1, -1)) * x
    optimizer = torch.optim.Adam(ra.parameter_groups(model, rate))
    losses = []
    for _ in range(steps):
        rows = torch.randint(0, len(x), (64,), generator=generator)
        loss = functional.mse_loss(model(x[rows]), y[rows])
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {
        "stack": stack, "norm": norm, "rate": rate, "kind": kind, "seed": seed,
        "first": losses[0], "last": statistics.median(losses[-10:]), "worst": max(losses),
        "steps": len(losses), "seconds": time.process_time() - begun, "torch": torch.__version__,
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    torch.set_num_threads(1)
    smoke = options.smoke
    key = ("stack", "norm", "rate", "kind", "seed")
    table = Table("grid_smoke" if smoke else "grid", key, fresh=smoke, study="vit")
    runs = [
        (stack, norm, rate, kind, seed)
        for seed in options.seeds
        for rate in (RATES[:1] if smoke else RATES[::-1])
        for norm in (False, True)
        for stack in STACKS
        for kind in (list(KINDS)[:2] if smoke else KINDS)
    ]
    for each in runs:
        if not table.has(**dict(zip(key, each, strict=True))):
            row = trained(*each, steps=2 if smoke else STEPS)
            table.add(row)
            print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)
    if smoke:
        table.path.unlink()


if __name__ == "__main__":
    main()
