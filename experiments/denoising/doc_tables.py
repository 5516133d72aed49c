"""Tables of docs/results/denoising.md, made of the recorded runs."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot
from statistics import median
from typing import Any

from experiments.denoising.config import read as read_config
from experiments.denoising.recorded import NAMES, chosen, noisy, read

Cells = list[str]
_SIZES = ((0, 20_000, "10k"), (20_000, 70_000, "50k"), (70_000, 300_000, "100k to 200k"),
          (300_000, 10**9, "600k"))  # fmt: skip


def models(_: dict[str, Any]) -> Iterator[Cells]:
    """All networks at the chosen rate, and the noisy pictures."""
    yield ["network", "in config.toml", "parameters", "PSNR, test", "gain", "SSIM",
           "PSNR, validation", "rate", "seeds", "CPU s"]  # fmt: skip
    before = noisy()
    if before is None:
        return
    yield ["noisy", "", "", f"{before['test_psnr']:.2f}", "", f"{before['test_ssim']:.4f}", "", "",
           "", ""]  # fmt: skip
    for name, row in chosen().iterrows():
        spread = f" ({row['low']:.2f} to {row['high']:.2f})" if row["seeds"] > 1 else ""
        yield [NAMES[row["family"]], f"`{name}`", f"{row['parameters']:,}",
               f"{row['test']:.2f}{spread}", f"{row['test'] - before['test_psnr']:+.2f}",
               f"{row['ssim']:.4f}", f"{row['validation']:.2f}", f"{row['rate']:g}",
               str(row["seeds"]), f"{row['cpu_seconds']:.0f}"]  # fmt: skip


def by_size(_: dict[str, Any]) -> Iterator[Cells]:
    """The best network of each family within a range of sizes, chosen on validation."""
    families = [family for family in NAMES if (chosen()["family"] == family).any()]
    yield ["parameters", *(NAMES[family] for family in families)]
    table = chosen()
    for low, high, words in _SIZES:
        cells = []
        for family in families:
            rows = table[(table["family"] == family) & table["parameters"].between(low, high)]
            best = rows.sort_values("validation")["test"]
            cells.append(f"{best.iloc[-1]:.2f}" if len(best) else "")
        yield [words, *cells]


def rates(_: dict[str, Any]) -> Iterator[Cells]:
    """Validation PSNR at the rates that were tried, and which was taken."""
    tried = read_config()[0].rates
    yield ["network", *(f"rate {rate:g}" for rate in tried)]
    frame = read()
    for name, rows in frame[frame["seed"] == 0].groupby("model", sort=False):
        if rows["rate"].nunique() > 1:
            found = rows.set_index("rate")["validation_psnr"]
            yield [f"`{name}`", *(f"{found[r]:.2f}" if r in found else "" for r in tried)]


def shifts(result: dict[str, Any]) -> Iterator[Cells]:
    """How far shots and means of the test pictures are apart, and what that costs."""
    yield ["", "median", "largest"]
    rows = result["rows"]
    lengths = sorted(hypot(row["down"], row["right"]) for row in rows)
    gains = sorted(row["psnr_moved"] - row["psnr"] for row in rows)
    for words, values in (("shift [pixels]", lengths), ("PSNR it costs [dB]", gains)):
        yield [words, f"{median(values):.2f}", f"{values[-1]:.2f}"]


def tails(result: dict[str, Any]) -> Iterator[Cells]:
    """How far inputs of units leave what was seen in training, and the worst pixel."""
    rows = result["rows"]
    layers = range(1, len(rows[0]["layers"]) + 1)
    yield ["in config.toml", *(f"layer {n}" for n in layers), "worst pixel, of 1"]
    for row in rows:
        yield [f"`{row['model']}`", *(f"{r:.1f}" for r in row["layers"]), f"{row['worst']:.2f}"]


TABLES = {
    "denoising_shifts": ("denoising_shifts", shifts),
    "denoising_tails": ("denoising_tails", tails),
    "denoising_models": ("denoising", models),
    "denoising_sizes": ("denoising", by_size),
    "denoising_rates": ("denoising", rates),
}
