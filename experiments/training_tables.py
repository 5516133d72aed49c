"""Tables of the training experiments, for docs/results/training.md."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median, pstdev
from typing import Any

Rows = Iterator[list[str]]
Result = dict[str, Any]

LORENTZIAN_PAPER = {
    "MLP": "1.2e-5",
    "KAN (pykan)": "1.5e-4",
    "RAN softplus": "1.3e-7 (72)",
    "RAN softplus, constant": "1.3e-7 (72)",
    "RAN softplus, constant, 72": "1.3e-7 (72)",
    "RAN |q| + 1e-6, constant, 72": "1.3e-7 (72)",
}
RUNGE_PAPER = {
    "MLP (relu)": ("2.5e-4", "1.1e-1"),
    "KAN (pykan)": ("1.8e-5", "4.5e-1"),
    "RAN softplus": ("1.2e-7", "1.5e-7"),
    "RAN softplus, constant": ("1.2e-7", "1.5e-7"),
}
NEEDLE_PAPER = {
    "main effects": "0.2450 (40)",
    "random 0.5d": "0.0820 (52)",
    "full pairwise": "0.0012 (85)",
    "gradient 0.25d": "0.0015 (48)",
}
# The best of the paper's three rates, on test points, by family, depth and width.
SHARPENED_PAPER = {
    ("MLP", 2, 10): "3.9e-2", ("MLP", 2, 100): "8.9e-3", ("MLP", 3, 10): "7.4e-3",
    ("MLP", 3, 100): "4.5e-3", ("MLP", 4, 10): "5.2e-3", ("MLP", 4, 100): "1.9e-3",
    ("KAN", 2, 10): "4.5e-4", ("KAN", 2, 100): "2.5e-4", ("KAN", 3, 10): "2.8e-4",
    ("KAN", 3, 100): "1.5e-4", ("KAN", 4, 10): "2.4e-4", ("KAN", 4, 100): "1.2e-4",
    ("RAN", 2, 10): "1.4e-7", ("RAN", 2, 100): "1.1e-7", ("RAN", 3, 10): "9.5e-8",
    ("RAN", 3, 100): "7.8e-8", ("RAN", 4, 10): "8.5e-8", ("RAN", 4, 100): "6.5e-8",
}  # fmt: skip


def grouped(rows: list[Result], *names: str) -> dict[tuple[Any, ...], list[Result]]:
    """Return rows by their values of some columns, in order of appearance."""
    result: dict[tuple[Any, ...], list[Result]] = {}
    for row in rows:
        result.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return result


def lorentzian(result: Result) -> Rows:
    yield ["model", "optimiser", "parameters", "MSE on the grid", "seconds", "the paper's MSE"]

    def place(row: Result) -> tuple[int, int]:  # networks of ours first
        ours = row["model"].startswith("RAN")
        return (0, 0) if ours else (1, result["rows"].index(row))

    for row in sorted(result["rows"], key=place):
        rate = f", {row['rate']:g}" if row.get("rate") and row["optimizer"] != "lbfgs" else ""
        starts = f" ({row['restarts']} starts)" if "restarts" in row else ""
        yield [
            row["model"].replace("|", "\\|"),
            f"{row['optimizer']}{rate}{starts}",
            f"{row['parameters']:,}",
            f"{row['mse']:.1e}",
            f"{row['seconds']:.0f}",
            LORENTZIAN_PAPER.get(row["model"], ""),
        ]


def runge(result: Result) -> Rows:
    yield ["model", "optimiser", "parameters", "MSE inside", "MSE outside",
           "starts at 1e-12 inside, outside too", "the paper's"]  # fmt: skip
    order = {name: n for n, name in enumerate(dict.fromkeys(r["model"] for r in result["rows"]))}
    for row in sorted(result["rows"], key=lambda row: order[row["model"]]):
        paper = RUNGE_PAPER.get(row["model"])
        starts = row.get("starts")
        yield [
            row["model"],
            row["optimizer"],
            f"{row['parameters']:,}",
            f"{row['inside']:.1e}",
            f"{row['outside']:.1e}",
            f"{row['exact_inside']}, {row['exact_outside']} of {starts}" if starts else "",
            "" if paper is None else " / ".join(paper),
        ]


def sharpened(result: Result) -> Rows:
    rates = ("1e-4", "1e-3", "1e-2")
    yield ["family", "D", "W", "parameters", *(f"test MSE at {r}" for r in rates), "paper, best"]
    for (family, depth, width), rows in grouped(result["rows"], "family", "depth", "width").items():
        if depth is None:
            continue
        tests = {row["rate"]: row["test"] for row in rows}
        cells = (f"{tests[float(r)]:.1e}" if float(r) in tests else "not run" for r in rates)
        yield [
            family, str(depth), str(width), f"{rows[0]['parameters']:,}", *cells,
            SHARPENED_PAPER[family.partition(",")[0], depth, width],
        ]  # fmt: skip


def needle_fits(result: Result) -> Rows:
    yield ["network", "pairs", "parameters", "test MSE (mean)", "median", "std", "time",
           "pair found", "the paper's MSE"]  # fmt: skip
    rows = [row for row in result["rows"] if row["part"] == "fit"]
    table = grouped(rows, "network", "topology")
    for (network, topology), group in table.items():
        base = {row["seed"]: row["seconds"] for row in table[network, "main effects"]}
        errors = [row["mse"] for row in group]
        ratio = median((row["seconds"] + row["selection"]) / base[row["seed"]] for row in group)
        yield [
            network, topology, str(group[0]["parameters"]), f"{mean(errors):.2g}",
            f"{median(errors):.2g}", f"{pstdev(errors):.1g}", f"{ratio:.1f}x",
            f"{sum(row['hit'] for row in group)} of {len(group)}",
            NEEDLE_PAPER.get(topology, "") if network == "counts" else "",
        ]  # fmt: skip


def needle_choices(result: Result) -> Rows:
    yield ["inputs", "rows", "noise", "method", "pair found", "CPU seconds"]
    rows = [row for row in result["rows"] if row["part"] == "select"]
    for key, group in grouped(rows, "features", "rows", "noise", "method").items():
        hits = sum(row["hit"] for row in group)
        cpu = median(row["cpu"] for row in group)
        yield [
            *(str(part) for part in key[:2]), f"{key[2]:.0%}", f"`{key[3]}`",
            f"{hits} of {len(group)}", f"{cpu:.2g}",
        ]  # fmt: skip


def needle_scale(result: Result) -> Rows:
    yield ["method", "of 10 planted pairs, among 50", "seconds", "CPU seconds", "peak GiB"]
    rows = [row for row in result["rows"] if row["part"] == "scale"]
    for (method,), group in grouped(rows, "method").items():
        found = ", ".join(str(row["found"]) for row in group)
        numbers = [f"{max(row[name] for row in group):.3g}" for name in ("seconds", "cpu", "gib")]
        yield [f"`{method}`", found, *numbers]


def ablation(result: Result) -> Rows:
    rates = (3e-3, 1e-2, 3e-2)
    yield ["variant", *(f"test MSE at {rate:g}" for rate in rates), "runs with a retreat"]
    table = grouped(result["rows"], "variant", "rate")
    for variant in dict.fromkeys(row["variant"] for row in result["rows"]):
        cells, bad, count = [], 0, 0
        for rate in rates:
            group = table[variant, rate]
            tests = sorted(row["test"] for row in group if row["test"] is not None)
            cells.append(f"{median(tests):.3g} ({tests[0]:.2g} to {tests[-1]:.2g})")
            bad += sum(row["retreats"] is None or row["retreats"] > 0 for row in group)
            count += len(group)
        yield [variant, *cells, f"{bad} of {count}"]


def optimizers(result: Result) -> Rows:
    names = ("lm", "lm, ridge", "lbfgs", "adam", "adamw")
    yield ["table", "rows", "parameters", *(f"{n}: test, s" for n in names)]
    rows = [row for row in result["rows"] if row["part"] == "tables" and row["seed"] == 0]
    for (table,), group in grouped(rows, "table").items():
        cells = []
        for name in names:
            runs = [row for row in group if row["optimizer"] == name]
            best = min(runs, key=lambda row: row["validation"])
            near = best["near"]
            cells.append(f"{best['test']:.3g}, {'-' if near is None else f'{near:.2g}'}")
        yield [table, f"{group[0]['rows']:,}", str(group[0]["parameters"]), *cells]


def sizes(result: Result) -> Rows:
    yield ["rows", "parameters", "rows x parameters^2", "time of Adam / time of lm"]
    for row in result["rows"]:
        if row["part"] == "sizes":
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2g}"
            yield [f"{row['rows']:,}", f"{row['parameters']:,}", f"{row['operations']:.1e}", ratio]


TABLES = {
    "lorentzian": ("lorentzian", lorentzian),
    "runge": ("runge", runge),
    "sharpened": ("sharpened", sharpened),
    "needle_fits": ("needle", needle_fits),
    "needle_choices": ("needle", needle_choices),
    "needle_scale": ("needle", needle_scale),
    "ablation": ("ablation", ablation),
    "optimizers": ("optimizers", optimizers),
    "sizes": ("optimizers", sizes),
}
