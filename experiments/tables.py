"""Fill the tables in docs/ from recorded results; a test holds the two together.

python -m experiments.tables
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import tables as benchmark_tables
from experiments import setting_tables, training_tables
from experiments.certificates import doc_tables as certificate_tables
from experiments.denoising import doc_tables as denoising_tables
from experiments.discovery import tables as discovery_tables
from experiments.dynamics import doc_tables as dynamics_tables
from experiments.hostile import doc_tables as hostile_tables
from experiments.many import doc_tables as many_tables
from experiments.measurements import tables as measurement_tables
from experiments.motion import doc_tables as motion_tables
from experiments.processes import doc_tables as process_tables
from experiments.results import read
from experiments.symbolic import doc_tables as symbolic_tables
from experiments.tabular import doc_tables as tabular_tables
from experiments.vision import doc_tables as vision_tables
from experiments.vit import doc_tables as vit_tables

DOCS = Path(__file__).parents[1] / "docs"
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)

Rows = Iterator[list[str]]


def init_fit(result: dict[str, Any]) -> Rows:
    yield ["function", "degrees", "denominator", "RMSE", "maximum", "tail"]
    for row in result["rows"]:
        degrees = "({}, {})".format(*row["degrees"])
        numbers = [f"{row[key]:.1e}" for key in ("rmse", "maximum", "tail")]
        yield [row["function"], degrees, f"`{row['denominator']}`", *numbers]


def gradient_ratio(result: dict[str, Any]) -> Rows:
    depths = sorted({row["depth"] for row in result["gradient_ratio"]})
    yield ["variant", "noise", *(f"{depth} block{'s' * (depth > 1)}" for depth in depths)]
    cells: dict[tuple[str, float], list[str]] = {}
    for row in result["gradient_ratio"]:
        good = [ratio for ratio in row["ratio"] if ratio is not None]
        lost = len(row["ratio"]) - len(good)
        text = _range(good) + (f", {lost} of {len(row['ratio'])} overflow" if lost else "")
        cells.setdefault((row["variant"], row["noise"]), []).append(text.removeprefix(", "))
    for (variant, noise), texts in cells.items():
        yield [variant, f"{noise:g}", *texts]


def training(result: dict[str, Any]) -> Rows:
    yield ["variant", "noise", "rate", "loss at first", "at last", "worst", "not finite"]
    groups: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    for row in result["training"]:
        groups.setdefault((row["variant"], row["noise"], row["rate"]), []).append(row)
    for (variant, noise, rate), rows in groups.items():
        lost = sum(row["last"] is None for row in rows)
        numbers = [
            _middle([row[key] for row in rows if row[key] is not None])
            for key in ("first", "last", "worst")
        ]
        yield [variant, f"{noise:g}", f"{rate:g}", *numbers, f"{lost} of {len(rows)}"]


def _range(values: list[float]) -> str:
    if not values:
        return ""
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"


def _middle(values: list[float]) -> str:
    return f"{median(values):.2g}" if values else "-"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "init_fit": ("init_fit", init_fit),
    "gradient_ratio": ("stability", gradient_ratio),
    "training": ("stability", training),
    **training_tables.TABLES,
    **denoising_tables.TABLES,
    **dynamics_tables.TABLES,
    **certificate_tables.TABLES,
    **hostile_tables.TABLES,
    **process_tables.TABLES,
}

# Modules that read their own files of results.
LINED = (
    benchmark_tables,
    discovery_tables,
    many_tables,
    measurement_tables,
    motion_tables,
    setting_tables,
    symbolic_tables,
    tabular_tables,
    vision_tables,
    vit_tables,
)


def render(name: str) -> str:
    """Return a table as Markdown."""
    own = next((each for each in LINED if name in each.TABLES), None)
    if own is not None:
        head, *rows = own.lines(name)
    else:
        source, make = TABLES[name]
        head, *rows = make(read(source))
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(text: str) -> str:
    """Return a page with all its tables made anew."""
    return _PLACE.sub(lambda m: m[1] + render(m[2]) + m[3], text)


def main() -> None:
    for page in DOCS.rglob("*.md"):
        page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    main()
