"""Figures of docs/results/tabular.md: ranks, time, ratios by table, cost against rows, effects.

python -m experiments.tabular.figures
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from experiments import results
from experiments.tabular.figure_ranks import rank_figure, time_figure
from experiments.tabular.figure_ratios import ratio_figure
from experiments.tabular.figure_scaling import scaling_figure
from experiments.tabular.recorded import read


def effects_figure() -> Figure:
    """Draw the main effects of a model of scikit-learn's table on diabetes."""
    from sklearn.datasets import load_diabetes

    import rational_anova as ra

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    y = y.rename("progression")
    return ra.RANRegressor().fit(X, y).plot_anova(mode="main", top=6)


def main() -> None:
    frame = read()
    figures = {"effects": effects_figure()}
    scaling = scaling_figure()
    if scaling is not None:
        figures["scaling"] = scaling
    if frame.empty:
        print("no comparison is recorded: run python -m experiments.tabular.compare")
    else:
        figures |= {
            "ranks": rank_figure(frame),
            "time": time_figure(frame),
            "ratios": ratio_figure(frame),
        }
    for name, figure in figures.items():
        path = Path(results.FIGURES) / f"tabular_{name}.png"
        figure.savefig(path, dpi=110)
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
