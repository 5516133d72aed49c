"""Tables of the paper's settings, of the panel of defaults, and of laws by networks, for the docs.

`experiments.tables` asks for `TABLES` and `lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean, median

from experiments.discovery.by_networks import MODELS
from experiments.discovery.paper import FOURTEEN
from experiments.discovery.recorded import Cells, by
from experiments.panel import STACK_RATES
from experiments.table import Table

Rows = Iterator[Cells]


def _rows(study: str, name: str) -> list[dict[str, str]]:
    return Table(name, (), study=study).rows


def presets() -> Rows:
    yield [
        "preset",
        "data",
        "model",
        "constant in q",
        "parameters",
        "optimiser",
        "measured",
        "value",
    ]
    groups = by(_rows("presets", "runs"), "preset", "data", "model", "constant")
    for (preset, data, model, constant), rows in groups.items():
        values = [float(row["value"]) for row in rows]
        seeds = f" (mean of {len(rows)})" if len(rows) > 1 else ""
        first = rows[0]
        yield [
            f"`{preset}`", data, model, "yes" if constant == "True" else "no",
            f"{int(first['parameters']):,}" if first["parameters"] else "",
            f"`{first['optimizer']}`" if first["optimizer"] else "",
            first["measured"], f"{mean(values):.4g}{seeds}",
        ]  # fmt: skip


def panel() -> Rows:
    """Held-out errors over those of the paper's unit with our start, by task."""
    rows = _rows("panel", "defaults")
    tables = list(dict.fromkeys(row["task"] for row in rows if row["task"] not in _OTHERS))
    yield [
        "denominator", "constant", "start", "unit rate", "tables, over the first row",
        "images, % wrong", *(f"stack at {rate:g}" for rate in STACK_RATES), "seeds",
    ]  # fmt: skip
    groups = by(rows, "denominator", "constant", "start", "unit_rate")
    reference = _by_run(groups[next(iter(groups))], tables)
    for (kind, constant, start, rate), runs in groups.items():
        own = _by_run(runs, tables)
        ratios = [own[key] / reference[key] for key in own if key in reference]
        images = [float(row["held_out"]) for row in runs if row["task"] == "fashion_mnist"]
        stack = []
        for each in STACK_RATES:
            found = [
                float(row["held_out"]) for row in runs
                if row["task"] == "stack" and float(row["rate"]) == each
            ]  # fmt: skip
            stack.append(f"{median(found):.3f}" if found else "")
        yield [
            f"`{kind}`", "yes" if constant == "True" else "no", f"`{start}`", f"{float(rate):g}",
            f"{median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "",
            f"{mean(images):.1f}" if images else "", *stack,
            str(len({row["seed"] for row in runs})),
        ]  # fmt: skip


_OTHERS = ("stack", "fashion_mnist")


def _by_run(rows: list[dict[str, str]], tables: list[str]) -> dict[tuple[str, str], float]:
    return {
        (row["task"], row["seed"]): float(row["held_out"]) for row in rows if row["task"] in tables
    }


def by_networks() -> Rows:
    yield ["equation", *(f"{model}" for model in MODELS), "paper: RAN", "KAN", "MLP", "seeds"]
    for (problem,), rows in by(_rows("discovery", "by_networks"), "problem").items():
        cells, seeds = [], {row["seed"] for row in rows}
        for model in MODELS:
            found = [float(row["rmse"]) for row in rows if row["model"] == model]
            cells.append(f"{median(found):.1e}" if found else "not run")
        mlp, kan, ran, _ = FOURTEEN[problem.partition(",")[0]]
        yield [problem, *cells, f"{ran:.1e}", f"{kan:.1e}", f"{mlp:.1e}", str(len(seeds))]


def workflow() -> Rows:
    yield [
        "law",
        "model",
        "terms left",
        "R²",
        "RMSE",
        "operations",
        "exact numbers, floats",
        "formula",
    ]
    for row in _rows("discovery", "workflow"):
        yield [
            row["problem"], row["model"].removeprefix("RAN "), row["terms"], row["r2"],
            f"{float(row['rmse']):.1e}", row["operations"],
            f"{row['exact_numbers']}, {row['floats']}", f"`{_short(row['formula'])}`",
        ]  # fmt: skip


def _short(formula: str) -> str:
    return formula if len(formula) <= 60 else f"{formula[:57]}..."


TABLES: dict[str, Callable[[], Rows]] = {
    "presets": presets,
    "panel": panel,
    "by_networks": by_networks,
    "workflow": workflow,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    return list(TABLES[name]())
