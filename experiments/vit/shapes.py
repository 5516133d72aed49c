"""What the units of a trained RAN-FFN have become: a curve for each, GELU beside it.

python -m experiments.vit.shapes [FILE]

FILE is what `python -m experiments.vit.deit --kinds ran --seeds 0 --checkpoints FOLDER` leaves in
its folder; without one the model is trained first, in three minutes of one core. Writes
docs/figures/vit_units.png. Needs RAN_DATA, but for a FILE.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from matplotlib.figure import Figure
from torch import nn

import rational_anova as ra
from experiments.results import FIGURES
from experiments.vit.deit import recipe, work
from experiments.vit.models import build

REACH = 4.0


def draw(units: list[ra.Rational1d]) -> Figure:
    """Return a figure with a panel for each layer."""
    x = torch.linspace(-REACH, REACH, 401)
    figure = Figure(figsize=(2.6 * len(units), 2.9), layout="constrained")
    panels = figure.subplots(1, len(units), sharex=True, sharey=True, squeeze=False)[0]
    for n, (panel, unit) in enumerate(zip(panels, units, strict=True)):
        with torch.no_grad():
            curves = unit(x[:, None].expand(-1, unit.features))[:, :: unit.features // unit.units]
        panel.plot(x, curves, color="tab:blue", alpha=0.6, linewidth=1)
        panel.plot(x, nn.functional.gelu(x), "k--", linewidth=1)
        panel.set_title(f"layer {n + 1}")
        panel.set_xlabel("x, before the unit")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("r(x)")
    panels[0].set_ylim(-1.5, REACH)
    lines = [panels[0].lines[0], panels[0].lines[-1]]
    panels[0].legend(lines, [f"{units[0].units} units", "GELU"], frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?")
    file = parser.parse_args().file
    if file is None:
        torch.set_num_threads(1)
        with TemporaryDirectory() as folder:
            work("ran", 0, "cifar10", Path(folder))
            show(Path(folder) / "cifar10_ran_0.pt")
    else:
        show(file)


def show(file: Path) -> None:
    """Draw the units of a checkpoint of RAN-FFN."""
    settings = recipe("cifar10")
    model = build("ran", settings["model"], settings["kinds"], 0)
    model.load_state_dict(torch.load(file)["best"][2])
    units = [module for module in model.modules() if isinstance(module, ra.Rational1d)]
    draw(units).savefig(FIGURES / "vit_units.png", dpi=110)


if __name__ == "__main__":
    main()
