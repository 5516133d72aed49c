"""Levenberg-Marquardt against L-BFGS, Adam and AdamW: five tables, and sizes where it stops paying.

    RAN_DATA=... python -m experiments.optimizers    about forty minutes, on one thread
    python -m experiments.optimizers --smoke         synthetic data, a few seconds

Seconds are those of the processor, on one thread: the machine is shared, and its clock on the wall
is not to be trusted. What is compared (all runs on a split of a table, all runs of a size) runs in
the same process, one after another. A second call goes on where the last one ended.
Writes experiments/results/optimizers.json and docs/figures/optimizers.png.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import rational_anova as ra
from experiments.results import FIGURES, Log
from experiments.tables_data import TABLES, Split, find_tables, read_table, split, synthetic

SECONDS = {"yacht_hydrodynamics": 5.0, "concrete_compressive_strength": 5.0}
SECONDS_LARGE = 12.0  # of the other tables
SEEDS = 1  # splits of each table; more of them go on from the recorded rows
RATES = (1e-3, 3e-3, 1e-2)
FEATURES = (3, 8, 21, 53, 106)  # 19 parameters each
ROWS = (500, 5_000, 50_000)
MOST = 1e11  # rows times squared parameters
NEAR = 1.01  # within one percent
POINTS = 30
PATIENCE = {"lm": 200, "lbfgs": 30}  # steps; with patience `fit` validates after each
COLOURS = {"lm": "C3", "lm, ridge": "C1", "lbfgs": "C2", "adam": "C0", "adamw": "C4"}
NAMES = {"lm": "lm", "lm, ridge": "lm, weight_decay 1e-4", "lbfgs": "L-BFGS", "adam": "Adam",
         "adamw": "AdamW"}  # fmt: skip

Row = dict[str, Any]

RUNS = (("lm", "lm", 0.0), ("lm, ridge", "lm", 1e-4), ("lbfgs", "lbfgs", 0.0))


def fit(data: Split, topology: ra.Topology, **settings: Any) -> tuple[ra.RAN, ra.History]:
    net = ra.RAN(topology.features, 1, topology, (3, 2), dtype=torch.float64)
    return net, ra.fit(net, data.train, validation=data.validation, **settings)


def batch_of(data: Split) -> int:
    rows = len(data.train[0])
    return rows if rows <= 1024 else 256


def epochs_within(data: Split, topology: ra.Topology, seconds: float) -> int:
    """Return how many epochs Adam ends in nine tenths of the time, so that its schedule ends."""
    batch = batch_of(data)
    trial = {"epochs": max(2, 200 * batch // len(data.train[0])), "batch_size": batch}
    # `fit` validates at most some 500 times: short epochs seldom, long ones each time.
    for validation in (None, data.validation):
        net = ra.RAN(topology.features, 1, topology, (3, 2), dtype=torch.float64)
        fitted = ra.fit(net, data.train, validation=validation, optimizer="adam", **trial)
        first, last = fitted.records[0], fitted.records[-1]
        pace = (last.epoch - first.epoch) / (last.seconds - first.seconds)
        if 0.9 * seconds * pace > 1000:
            break
    return max(1, round(0.9 * seconds * pace))


def second_order(seconds: float) -> Iterator[tuple[str, Row]]:
    for name, optimizer, decay in RUNS:
        settings = {"optimizer": optimizer, "weight_decay": decay, "patience": PATIENCE[optimizer]}
        yield name, {**settings, "epochs": 10**6, "time_limit": seconds}


def first_order(
    data: Split, topology: ra.Topology, seconds: float, rates: tuple[float, ...], seed: int
) -> Iterator[tuple[str, Row]]:
    common = {"epochs": epochs_within(data, topology, seconds), "schedule": "cosine"}
    common |= {"time_limit": seconds, "batch_size": batch_of(data), "seed": seed}
    for rate in rates:
        common["learning_rate"] = rate
        yield "adam", {"optimizer": "adam", **common}
        yield "adamw", {"optimizer": "adamw", "weight_decay": 1e-2, **common}


def curve(history: ra.History) -> list[tuple[float, float]]:
    """Return (seconds, lowest validation loss so far) wherever it fell."""
    best, result = math.inf, []
    for record in history.records:
        if record.validation is not None and record.validation < best:
            best = record.validation
            result.append((record.seconds, best))
    return result


def reached(points: list[tuple[float, float]], target: float) -> float | None:
    return next((seconds for seconds, value in points if value <= target), None)


def thinned(points: list[tuple[float, float]]) -> Row:
    """Return at most POINTS points, evenly spread over the logarithm of the time."""
    low, high = math.log(points[0][0]), math.log(points[-1][0] + 1e-9)
    bins = {int((POINTS - 2) * (math.log(t) - low) / (high - low + 1e-9)): (t, v)
            for t, v in points}  # fmt: skip
    kept = sorted({points[0], *bins.values()})
    return {
        "seconds": [float(f"{t:.3g}") for t, _ in kept],
        "validation": [float(f"{v:.5g}") for _, v in kept],
    }


def on_table(log: Log, table: str, data: Split, seconds: float, seed: int) -> None:
    """Run all optimisers on one split of a table; the test rows are looked at last."""
    topology = ra.Topology.residual(*data.train, "d")
    fit(data, topology, optimizer="lm", epochs=2)  # the first steps of a process are slow
    runs = []
    for name, settings in itertools.chain(
        second_order(seconds), first_order(data, topology, seconds, RATES, seed)
    ):
        net, history = fit(data, topology, **settings)
        with torch.no_grad():
            test = float((net(data.test[0]) - data.test[1]).square().mean())
        runs.append((name, settings, history, test))
    lowest = min(history.validation_loss for _, _, history, _ in runs)
    for name, settings, history, test in runs:
        points = curve(history)
        steps = history.records[-1].epoch * -(-len(data.train[0]) // batch_of(data))
        log.add(
            part="tables",
            table=table,
            seed=seed,
            rows=len(data.train[0]),
            parameters=sum(p.numel() for p in net.parameters()),
            optimizer=name,
            rate=settings.get("learning_rate"),
            limit=seconds,
            validation=history.validation_loss,
            training=history.training_loss,
            test=test,
            near=reached(points, NEAR * lowest),
            ran=history.seconds,
            steps=steps if "adam" in name else history.records[-1].epoch,
            best_epoch=history.best,
            stopped=history.stopped,
            events=len(history.events),
            curve=thinned(points),
        )


def at_size(log: Log, features: int, rows: int, seconds: float) -> None:
    """Compare lm and Adam on one number of rows and parameters.

    Adam has two rates, each with a schedule over all of the time and over an eighth of it. The
    times are those to the loss that both reach: the higher of the two lowest, and one percent.
    """
    data, topology = synthetic(features, rows, max(500, rows // 10))
    fit(data, topology, optimizer="lm", epochs=1)  # the first steps of a process are slow
    net, lm = fit(data, topology, **next(second_order(seconds))[1])
    size = sum(p.numel() for p in net.parameters())
    adam = [
        fit(data, topology, **settings)[1]
        for part in (seconds / 8, seconds)
        for name, settings in first_order(data, topology, part, RATES[1:], 0)
        if name == "adam"
    ]
    lm_best, adam_best = lm.validation_loss, min(each.validation_loss for each in adam)
    target = NEAR * max(lm_best, adam_best)
    times = [reached(curve(each), target) for each in adam]
    lm_time, adam_time = reached(curve(lm), target), min(t for t in times if t is not None)
    log.add(
        part="sizes",
        features=features,
        rows=rows,
        parameters=size,
        operations=float(rows * size**2),
        limit=seconds,
        lm=lm_best,
        adam=adam_best,
        lm_seconds=lm_time,
        adam_seconds=adam_time,
        ratio=adam_time / lm_time,
        lm_steps=lm.records[-1].epoch,
        lm_ran=lm.seconds,
        lm_best_step=lm.best,
        lm_stopped=lm.stopped,
    )


def chosen(log: Log, table: str, seed: int, optimizer: str) -> Row:
    """Return the run of an optimiser; of several rates the one best on the validation rows."""
    key = {"part": "tables", "table": table, "seed": seed, "optimizer": optimizer}
    rows = [row for row in log if all(row.get(k) == v for k, v in key.items())]
    return min(rows, key=lambda row: row["validation"])


def seeds_of(log: Log, table: str) -> list[int]:
    return sorted({row["seed"] for row in log if row.get("table") == table})


def tables_of(log: Log) -> list[str]:
    return list(dict.fromkeys(row["table"] for row in log if row["part"] == "tables"))


def draw(log: Log) -> Figure:
    figure = Figure((11, 6.2), layout="constrained")
    axes = figure.subplots(2, 3).flat
    for ax, table in zip(axes, tables_of(log), strict=False):
        draw_table(ax, log, table)
    handles, labels = next(iter(figure.axes)).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    several = any(len(seeds_of(log, table)) > 1 for table in tables_of(log))
    text = "MSE in units of the variance of the target"
    figure.supxlabel(text + "; thin lines: other splits" * several, fontsize=9)
    draw_sizes(figure.axes[5], [row for row in log if row["part"] == "sizes"])
    return figure


def draw_table(ax: Axes, log: Log, table: str) -> None:
    for name, colour in COLOURS.items():
        for seed in seeds_of(log, table):
            row = chosen(log, table, seed, name)
            seconds, values = row["curve"]["seconds"], row["curve"]["validation"]
            style = {"color": colour, "lw": 1.6 if seed == 0 else 0.7}
            label = NAMES[name] if seed == 0 else None
            ends = ([*seconds, row["limit"]], [*values, values[-1]])
            ax.step(*ends, where="post", label=label, alpha=1.0 if seed == 0 else 0.5, **style)
    best = min(min(r["curve"]["validation"]) for r in log if r.get("table") == table)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="processor seconds",
        ylabel="best validation MSE so far",
    )
    low, high = best / 1.05, best * 100 if best < 0.01 else min(1.1, best * 8)
    ax.set_ylim(low, high)
    ticks = [t * 10.0**n for n in range(-5, 1) for t in (1, 2, 3, 5) if low < t * 10.0**n < high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.grid(alpha=0.3)
    ax.set_title(f"{table.replace('_', ' ')}\n{row['rows']:,} rows, {row['parameters']} parameters",
                 fontsize=10)  # fmt: skip


def draw_sizes(ax: Axes, rows: list[Row]) -> None:
    for count, marker in zip(ROWS, "os^", strict=True):
        some = sorted((r for r in rows if r["rows"] == count), key=lambda r: r["operations"])
        points = [r["operations"] for r in some], [r["ratio"] for r in some]
        ax.plot(*points, marker=marker, lw=0.8, color="0.4", mfc="w", label=f"{count:,} rows")
    ax.axhline(1, color="k", lw=0.6)
    ax.axvline(2e10, color="C3", lw=0.8, ls=":", label="limit of auto")
    ax.set(xscale="log", yscale="log", ylabel="time of Adam / time of lm")
    ax.set_xlabel(r"rows $\times$ parameters$^2$")
    ax.set_title("to the loss that both reach\n(synthetic, above 1: lm is faster)", fontsize=10)
    ax.set_ylim(0.1, 1000)
    ax.legend(fontsize=8, loc="upper left", ncols=2)
    ax.grid(alpha=0.3)


def report(log: Log) -> None:
    for table in tables_of(log):
        seeds = seeds_of(log, table)
        print(f"\n{table}, medians of {len(seeds)} splits")
        for name in COLOURS:
            rows = [chosen(log, table, seed, name) for seed in seeds]
            near = [math.inf if row["near"] is None else row["near"] for row in rows]
            numbers = [median(row[k] for row in rows) for k in ("validation", "test", "training")]
            text = "  ".join(f"{number:.5f}" for number in numbers)
            print(f"  {name:10}{text}  near {median(near):6.2f} s  steps {rows[0]['steps']}"
                  f"  rate {rows[0]['rate']}  {rows[0]['stopped']}")  # fmt: skip
    print("\nparameters  rows  operations  lm  Adam  seconds of lm  of Adam  ratio  steps of lm")
    for r in (r for r in log if r["part"] == "sizes"):
        print(f"{r['parameters']:6} {r['rows']:7} {r['operations']:9.1e}  {r['lm']:.4f} "
              f"{r['adam']:.4f} {r['lm_seconds']:8.2f} {r['adam_seconds']:8.2f} "
              f"{r['ratio']:8.2f} {r['lm_steps']:6}  {r['lm_stopped']}")  # fmt: skip


def run_tables(log: Log, seeds: list[int]) -> None:
    paths = find_tables()
    for seed, table in itertools.product(seeds, TABLES):
        if not log.has(part="tables", table=table, seed=seed):
            data = read_table(table, paths[table], seed)
            on_table(log, table, data, SECONDS.get(table, SECONDS_LARGE), seed)


def run_sizes(log: Log) -> None:
    for rows, features in itertools.product(ROWS, FEATURES):
        if rows * (19 * features) ** 2 <= MOST and not log.has(features=features, rows=rows):
            at_size(log, features, rows, 15.0 if rows == ROWS[-1] else 6.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="synthetic data, a few seconds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock of `fit`, for its limits and its records
    if options.smoke:
        log = Log("optimizers_smoke", fresh=True)
        (x, y), *_ = synthetic(4, 400, 10)[0]
        on_table(log, "synthetic", split(x, y, 0), 0.3, 0)
        at_size(log, 3, 500, 0.5)
    else:
        find_tables()
        log = Log("optimizers")
        run_tables(log, [0])
        run_sizes(log)
        run_tables(log, list(range(1, SEEDS)))
    figure = draw(log)
    report(log)
    if not options.smoke:
        FIGURES.mkdir(exist_ok=True)
        figure.savefig(FIGURES / "optimizers.png", dpi=130)


if __name__ == "__main__":
    main()
