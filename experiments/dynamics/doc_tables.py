"""Tables of the experiments on learning dynamics, for docs/results/learning_dynamics.md."""

from __future__ import annotations

from statistics import mean, median

from experiments.training_tables import Result, Rows, grouped


def _range(values: list[float]) -> str:
    return f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def reach(result: Result) -> Rows:
    yield ["model", "parameters", "when", "MSE", "distance below 0.5", "1 to 1.5", "2 and more",
           "apart in every input"]  # fmt: skip
    for (model, stage), rows in grouped(result["rows"], "model", "stage").items():
        bins = [_range([row["by_distance"][n] for row in rows]) for n in (0, 2, 4)]
        error = median(row["mse"] for row in rows)
        apart = _range([row["apart"] for row in rows])
        yield [model, str(rows[0]["parameters"]), stage, f"{error:.1e}", *bins, apart]


def steep(result: Result) -> Rows:
    yield ["parameters", "model", "degrees", "RMSE", "largest error", "overshoot", "slope"]
    for row in sorted(result["rows"], key=lambda row: row["parameters"]):
        degrees = "({}, {})".format(*row["degrees"]) if "degrees" in row else ""
        numbers = [f"{row[key]:.2g}" for key in ("rmse", "largest", "overshoot", "slope")]
        yield [str(row["parameters"]), row["model"], degrees, *numbers]


def steady(result: Result) -> Rows:
    yield ["model", "rate", "least correlation in a window", "error of the sum of first orders"]
    for (model, rate), rows in grouped(result["rows"], "model", "rate").items():
        good = [row for row in rows if row["worst"] is not None]
        lost = f", {len(rows) - len(good)} of {len(rows)} lost" if len(good) < len(rows) else ""
        worst = f"{min(row['worst'] for row in good):.4f}" if good else "-"
        error = f"{max(row['error'] for row in good):.1e}" if good else "-"
        yield [model, f"{rate:g}", worst + lost, error]


TABLES = {
    "reach": ("dynamics_reach", reach),
    "steep": ("dynamics_steep", steep),
    "steady": ("dynamics_steady", steady),
}
