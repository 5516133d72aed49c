"""Figures of docs/results/denoising.md: PSNR against parameters, and pictures.

The pictures need RAN_DATA and the weights that experiments.denoising.run keeps.

python -m experiments.denoising.figures
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import results
from experiments.denoising.examples import examples_figure
from experiments.denoising.recorded import NAMES, chosen, noisy

_MARKS = {
    "ran_paper": ("#c0392b", "P"), "ran": ("#c0392b", "o"), "ran_local": ("#c0392b", "v"),
    "ran_conv": ("#8e44ad", "s"), "mlp": ("#2471a3", "o"), "mlp_pixels": ("#2471a3", "P"),
    "ran_p8": ("#c0392b", "*"), "mlp_p8": ("#2471a3", "*"),
    "kan": ("#b7950b", "D"), "cnn": ("#1e8449", "s"), "cnn_blocks": ("#1e8449", "^"),
}  # fmt: skip


def pareto_figure(table: pd.DataFrame, before: float) -> Figure:
    """Draw the PSNR of the test pictures against parameters, with the noisy pictures' own."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes: Axes = figure.subplots()
    for family, rows in table.groupby("family", sort=False):
        colour, mark = _MARKS[str(family)]
        axes.plot(rows["parameters"], rows["test"], color=colour, lw=1, alpha=0.5)
        spread = [rows["test"] - rows["low"], rows["high"] - rows["test"]]
        axes.errorbar(
            rows["parameters"], rows["test"], spread, fmt=mark, color=colour, ms=7, capsize=3,
            label=NAMES[str(family)],
        )  # fmt: skip
    axes.axhline(before, color="0.4", ls="--", lw=1)
    axes.text(1, before, " the noisy pictures", va="bottom", ha="left", fontsize=8, color="0.3",
              transform=axes.get_yaxis_transform())  # fmt: skip
    front = table.sort_values("parameters")
    front = front[front["test"] == front["test"].cummax()]
    axes.step(front["parameters"], front["test"], where="post", color="0.7", lw=5, alpha=0.5,
              zorder=0, label="best at most this large")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("parameters")
    axes.set_ylabel("PSNR of whole pictures, unseen subjects [dB]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def main() -> None:
    before = noisy()
    if before is None:
        print("nothing is recorded: run python -m experiments.denoising.run")
        return
    figures = {"pareto": pareto_figure(chosen(), float(before["test_psnr"]))}
    examples = examples_figure()
    if examples is None:
        print("no weights are kept: run python -m experiments.denoising.run --weights")
    else:
        figures["examples"] = examples
    for name, figure in figures.items():
        path = results.FIGURES / f"denoising_{name}.png"
        figure.savefig(path, dpi=75 if name == "examples" else 110)
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
