"""Tables of docs/results/transformers.md, from what is recorded."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from statistics import mean
from typing import Any

from experiments.results import FOLDER, read
from experiments.vit.models import NAMES

Cells = list[str]
# The paper's table on ImageNet-1K: parameters in millions, operations in billions, top-1.
PAPER = {
    "gelu": ("5.7 M", "1.08 G", "72.3"), "ran": ("5.7 M", "1.08 G", "74.2"),
    "kaf": ("5.9 M", "1.12 G", "73.2"),
}  # fmt: skip
LAYERS = {
    **NAMES, "kan": "KAN, same widths", "pykan": "the same by pykan",
    "kan_matched": "KAN, same parameters", "pykan_matched": "the same by pykan",
}  # fmt: skip
PLACES = {"channel": "a unit a channel", "8": "8 units a layer", "layer": "one unit a layer",
          "model": "one unit in all"}  # fmt: skip
GIGABYTE = 2**30
CARD = 128  # images at once on one card of eight


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a recorded table, none if there is no such file."""
    path = FOLDER / f"vit_{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def sizes() -> Iterator[Cells]:
    yield ["feed-forward layers", "parameters", "to GELU", "operations, products", "in units",
           "paper: parameters", "operations", "top-1 on ImageNet"]  # fmt: skip
    found = read("vit_sizes").get("models", [])
    for row in found:
        share = row["parameters"] / found[0]["parameters"] - 1
        numbers = [f"{row['products'] / 1e9:.3f} G", f"{row['units'] / 1e9:.3f} G"]
        paper = PAPER.get(row["kind"], ("", "", ""))
        yield [NAMES[row["kind"]], f"{row['parameters']:,}", f"{share:+.3%}", *numbers, *paper]


def kan() -> Iterator[Cells]:
    yield ["feed-forward layer", "parameters", "kept for one image", f"{CARD} images, 12 layers",
           "1,024 images, 12 layers"]  # fmt: skip
    found = read("vit_sizes")
    for row in found.get("layers", []):
        whole = [row["kept"] * found["depth"] * n / GIGABYTE for n in (CARD, found["batch"])]
        texts = [f"{size:,.0f} GB" if size >= 10 else f"{size:.1f} GB" for size in whole]
        yield [
            LAYERS[row["kind"]],
            f"{row['parameters']:,}",
            f"{row['kept'] / 2**20:.1f} MB",
            *texts,
        ]


def cifar10() -> Iterator[Cells]:
    yield ["feed-forward layers", "parameters", "operations", "seeds", "test accuracy", "held out",
           "training loss", "seconds", "paper: top-1 on ImageNet"]  # fmt: skip
    for kind, rows in _by(rows_of("cifar10"), "kind").items():
        first = rows[0]
        operations = f"{float(first['flops']) / 1e6:.1f} M"
        yield [
            NAMES[kind], f"{int(first['parameters']):,}", operations, str(len(rows)),
            _spread(rows, "test", 100), _spread(rows, "held", 100),
            f"{mean(float(row['training_loss']) for row in rows):.3f}",
            f"{mean(float(row['seconds']) for row in rows):.0f}", PAPER.get(kind, ("",) * 3)[2],
        ]  # fmt: skip


def speed() -> Iterator[Cells]:
    yield ["feed-forward layers", "time of a step", "quartiles", "kept memory"]
    for row in read("vit_speed").get("rows", []):
        quartiles = f"{row['low']:.2f} to {row['high']:.2f}"
        yield [NAMES[row["job"]], f"{row['ratio']:.2f}", quartiles, f"{row['kept_ratio']:.2f}"]


def same() -> Iterator[Cells]:
    yield ["units", "parameters", "to the original", "operations to the original",
           "largest difference of embeddings"]  # fmt: skip
    for row in rows_of("minilm"):
        if row["part"] == "same":
            grown = int(row["parameters"]) / int(row["original"]) - 1
            work = int(row["flops"]) / int(row["original_flops"]) - 1
            sizes = [f"{int(row['parameters']):,}", f"{grown:+.4%}", f"{work:+.2%}"]
            yield [PLACES[row["kind"]], *sizes, f"{float(row['error']):.1e}"]


def fit() -> Iterator[Cells]:
    yield ["units, fitted to GELU", "largest error on the range", "least cosine", "mean cosine"]
    for row in rows_of("minilm"):
        if row["part"] == "fit":
            reach = row["kind"].rpartition(" to ")
            name = f"{reach[0]}, on [-{reach[2]}, {reach[2]}]"
            yield [name, f"{float(row['error']):.1e}", row["cosine"], row["mean_cosine"]]


def tune() -> Iterator[Cells]:
    yield ["model", "parameters", "seeds", "test accuracy", "test log loss", "held-out log loss",
           "mean gate, largest layer", "seconds"]  # fmt: skip
    rows = [row for row in rows_of("minilm") if row["part"] == "tune"]
    kinds = len({row["kind"] for row in rows})
    whole = [row for row in rows if sum(row["seed"] == other["seed"] for other in rows) == kinds]
    for kind, found in _by(whole, "kind").items():
        yield [
            kind, f"{int(found[0]['parameters']):,}", str(len(found)),
            _spread(found, "accuracy", 100), _spread(found, "test_loss", 1, 3),
            _spread(found, "held_loss", 1, 3),
            f"{mean(float(row['gate']) for row in found):.3f}",
            f"{mean(float(row['seconds']) for row in found):.0f}",
        ]  # fmt: skip


SETTINGS = {
    "gelu": "GELU", "held": "fitted (5, 4) square, 8 a layer, reach 2",
    "fitted": "fitted (5, 4) sos, 8 a layer, no reach",
    "kat": "KAT-style: fitted (5, 4) abs, 8 a layer",
    "square": "(3, 2) square from gate 0, 8 a layer, no reach",
    "square held": "(3, 2) square from gate 0, 8 a layer, reach 2 (the default)",
    "sos held": "(5, 4) sos from gate 0, 8 a layer, reach 2",
    "channel": "(3, 2) softplus from gate 0, a unit a channel, rate of the weights",
}  # fmt: skip
TASKS = {
    "images": "images",
    "language": "language",
    "language_slow": "language at 1e-3",
    "sentences": "sentences",
    "deep": "24 blocks",
    "deep_plain": "24 blocks without LayerNorm",
}


def panel() -> Iterator[Cells]:
    yield ["nonlinearity", *TASKS.values()]
    rows = {(row["task"], row["kind"], row["seed"]): row for row in rows_of("panel")}
    for kind, words in SETTINGS.items():
        cells = []
        for task in TASKS:
            pairs = [(row, rows.get((task, "gelu", seed))) for (t, k, seed), row in rows.items()
                     if (t, k) == (task, kind)]  # fmt: skip
            both = [
                (float(row["held_loss"]), float(other["held_loss"]))
                for row, other in pairs
                if other
            ]
            cells.append(_difference(both, kind == "gelu"))
        if any(cells):
            yield [words, *cells]


def _difference(both: list[tuple[float, float]], itself: bool) -> str:
    """Return a mean and its range, of losses or of losses minus those of GELU."""
    if not both:
        return ""
    found = [loss if itself else loss - other for loss, other in both]
    wild = sum(not abs(value) < 100 for value in found)
    if wild:
        return f"explodes ({wild} of {len(found)})"
    sign = "" if itself else "+"
    span = (
        f" ({min(found):{sign}.3f} to {max(found):{sign}.3f})" if len(found) > 1 else " (one seed)"
    )
    return f"{mean(found):{sign}.3f}{span}"


def panel_time() -> Iterator[Cells]:
    yield ["nonlinearity", "task", "step to GELU's", "quartiles", "pairs of steps"]
    for row in rows_of("panel_time"):
        quartiles = f"{float(row['low']):.2f} to {float(row['high']):.2f}"
        ratio = f"{float(row['ratio']):.2f}"
        yield [SETTINGS[row["kind"]], TASKS[row["task"]], ratio, quartiles, row["rounds"]]


def grid() -> Iterator[Cells]:
    rows = rows_of("grid")
    cells = list(dict.fromkeys((r["stack"], r["norm"], r["rate"]) for r in rows))
    norms = {"True": "LayerNorm", "False": "none"}
    yield ["units", *(f"{stack}, {norms[norm]}, {float(rate):g}" for stack, norm, rate in cells)]
    for kind, own in _by(rows, "kind").items():
        found = {(r["stack"], r["norm"], r["rate"]): r for r in own}
        yield [kind, *(_ended(found.get(cell)) for cell in cells)]


def _ended(row: dict[str, str] | None) -> str:
    """Return the last loss; a run is said to explode that was above ten times its first."""
    if row is None:
        return ""
    first, last, worst = (float(row[name]) for name in ("first", "last", "worst"))
    if int(row["steps"]) < max(int(r["steps"]) for r in rows_of("grid")):
        return f"not finite after {row['steps']} steps"
    return f"{last:.3g}" + (f" (worst {worst:.1e})" if worst > 10 * first else "")


def _by(rows: list[dict[str, str]], column: str) -> dict[str, list[dict[str, str]]]:
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _spread(rows: list[dict[str, str]], column: str, scale: float, digits: int = 1) -> str:
    values = [scale * float(row[column]) for row in rows]
    text = f"{mean(values):.{digits}f}"
    if len(values) == 1:
        return text
    return f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "vit_sizes": sizes, "vit_kan": kan, "vit_cifar10": cifar10, "vit_speed": speed,
    "vit_panel": panel, "vit_panel_time": panel_time, "vit_grid": grid,
    "minilm_same": same, "minilm_fit": fit, "minilm_tune": tune,
}  # fmt: skip


def lines(name: str) -> Any:
    """Return the lines of a table, its head first."""
    return TABLES[name]()
