"""Test pictures as they are, as networks leave them, and as they should be."""

from __future__ import annotations

from matplotlib.figure import Figure
from safetensors.torch import load
from torch import Tensor

from experiments.denoising import config
from experiments.denoising.frame import Frame, denoised
from experiments.denoising.models import build
from experiments.denoising.pictures import Parts, real, scaled
from experiments.denoising.quality import psnr
from experiments.denoising.recorded import chosen, weights

SHOWN = ("ran_paper", "mlp_50k", "cnn_50k", "ran_50k", "ran_conv_50k")
PLACES = (0.1, 0.5, 0.9)  # among the test pictures, by how noisy they are
SIDE = 64
AMPLIFIED = 8  # times the error is shown


def kept(name: str) -> Frame | None:
    """Return a network of config.toml with its recorded weights at the chosen rate and seed 0."""
    table = chosen()
    setting = next(each for each in config.read()[1] if each.name == name)
    file = weights(name, float(table.loc[name, "rate"]), 0) if name in table.index else None
    if file is None or not file.exists():
        return None
    model = build(setting.kind, **setting.arguments)
    model.load_state_dict(load(file.read_bytes()))
    return model


def detail(picture: Tensor) -> tuple[int, int]:
    """Return the corner of the window (SIDE, SIDE) that varies most, on a grid of half windows."""
    step = SIDE // 2
    places = [
        (top, left)
        for top in range(0, picture.shape[-2] - SIDE + 1, step)
        for left in range(0, picture.shape[-1] - SIDE + 1, step)
    ]
    return max(places, key=lambda p: float(_cut(picture, p).std()))


def _cut(picture: Tensor, corner: tuple[int, int]) -> Tensor:
    return picture[..., corner[0] : corner[0] + SIDE, corner[1] : corner[1] + SIDE]


def examples_figure(parts: Parts | None = None) -> Figure | None:
    """Draw crops of three test pictures and their errors; None if no weights are kept.

    The pictures are the ones at fixed places in the order of noise, the crops the most varied ones
    of the clean pictures: neither depends on what the networks do.
    """
    models = {name: model for name in SHOWN if (model := kept(name)) is not None}
    if not models:
        return None
    test = (parts or real()).test
    before = psnr(scaled(test.noisy), scaled(test.clean))
    order = before.argsort()
    rows = [int(order[round(place * (len(order) - 1))]) for place in PLACES]
    columns = ["noisy", *models, "clean"]
    figure = Figure(figsize=(1.9 * len(columns), 4.1 * len(rows)), layout="constrained")
    grid = figure.subplots(2 * len(rows), len(columns), squeeze=False)
    for n, row in enumerate(rows):
        clean, noisy = scaled(test.clean[row]), scaled(test.noisy[row])
        corner = detail(clean)
        results = {
            "noisy": noisy,
            **{k: denoised(m, test.noisy[row : row + 1])[0] for k, m in models.items()},
            "clean": clean,
        }
        for column, name in enumerate(columns):
            upper, lower = grid[2 * n, column], grid[2 * n + 1, column]
            found = results[name]
            said = "" if name == "clean" else f"\n{float(psnr(found[None], clean[None])):.2f} dB"
            upper.imshow(_cut(found, corner).permute(1, 2, 0).numpy(), interpolation="nearest")
            upper.set_title(f"{name}{said}", fontsize=9)
            error = (0.5 + AMPLIFIED * (_cut(found, corner) - _cut(clean, corner))).clamp(0, 1)
            lower.imshow(error.permute(1, 2, 0).numpy(), interpolation="nearest")
        grid[2 * n, 0].set_ylabel(test.names[row].replace("_", " "), fontsize=7)
        grid[2 * n + 1, 0].set_ylabel(f"error x {AMPLIFIED}", fontsize=8)
    for axes in grid.flat:
        axes.set_xticks([])
        axes.set_yticks([])
    return figure
