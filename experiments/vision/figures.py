"""The figure of docs/results/vision.md: accuracy against parameters, a panel a set of images.

python -m experiments.vision.figures
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from experiments import results
from experiments.vision import recipe
from experiments.vision.recorded import NAMES, SETS, runs, scores

COLOURS = {
    "ran_local": "#c1272d", "ran_block": "#e0706f", "ran_embedded": "#b8860b",
    "ran": "#f08a24", "mlp": "#0072b2", "mlp_relu": "#7fb3d5",
    "kaf": "#2e8b57", "kan": "#7a5195",
}  # fmt: skip


def accuracy_figure() -> Figure | None:
    """Draw test accuracy against parameters; every seed a dot, lines through means."""
    found = scores(runs("accuracy"))
    if not found:
        return None
    given = recipe.read()
    figure = Figure(figsize=(11, 4.1), layout="constrained")
    for axes, (data, about) in zip(figure.subplots(1, 3), given.data.items(), strict=True):
        for model in given.models:
            points = [(b, found[key]) for b in about.budgets if (key := (data, b, model)) in found]
            if not points:
                continue
            axes.plot(
                [budget for budget, _ in points], [mean(values) for _, values in points], "o-",
                color=COLOURS[model], label=NAMES[model], ms=4,
                lw=2 if model.startswith("ran") else 1.2,
            )  # fmt: skip
            for budget, values in points:
                axes.plot(
                    [budget] * len(values), values, ".", color=COLOURS[model], ms=3, alpha=0.5
                )
        axes.set_xscale("log")
        axes.set_xticks(about.budgets)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:,.0f}k"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(SETS[data])
        axes.set_xlabel("parameters")
        axes.set_ylabel(f"test accuracy in %, {given.training.epochs} epochs")
        axes.grid(alpha=0.3)
    lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    named = {name: lines[name] for name in NAMES.values() if name in lines}
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def main() -> None:
    figure = accuracy_figure()
    if figure is None:
        print("nothing is recorded: run python -m experiments.vision.accuracy")
        return
    path = Path(results.FIGURES) / "vision_accuracy.png"
    figure.savefig(path, dpi=110)
    print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
