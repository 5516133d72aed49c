"""Recorded benchmarks: rows as CSV, moved into place when whole, and the machine that made them."""

from __future__ import annotations

import csv
import datetime
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import rational_anova
from rational_anova import kernels

FOLDER = Path(__file__).parent / "results"
PEERS = ("rational-activations", "pykan")

Row = dict[str, Any]


def read(name: str) -> list[Row]:
    """Return recorded rows, numbers as numbers; none if there is no such file."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: _value(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


def write(name: str, rows: list[Row]) -> None:
    """Write the rows of one benchmark, and in `machines.csv` what they were measured on."""
    _replace(name, rows)
    others = [row for row in read("machines") if row["benchmark"] != name]
    _replace("machines", sorted([*others, machine(name)], key=lambda row: row["benchmark"]))


def machine(name: str) -> Row:
    """Return what a measurement depends on besides the code."""
    return {
        "benchmark": name,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "rational_anova": rational_anova.__version__,
        "peers": "; ".join(f"{peer} {version}" for peer, version in _versions()),
        "kernels": summary(kernels.info()),
        "date": datetime.date.today().isoformat(),
    }


def summary(info: Any) -> str:
    """Return the short facts of `kernels.info()`; paths belong to one machine and are left out."""
    if not isinstance(info, dict):
        info = vars(info) if hasattr(info, "__dict__") else {"path": str(info)}
    facts = {key: value for key, value in info.items() if isinstance(value, str | int | None)}
    return "; ".join(f"{key} {value}" for key, value in facts.items() if "/" not in str(value))


def _replace(name: str, rows: list[Row]) -> None:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.csv"
    temporary = path.with_suffix(".tmp")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    os.replace(temporary, path)


def _cell(value: Any) -> Any:
    # Four digits are more than the noise of any measurement here leaves.
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _versions() -> Iterable[tuple[str, str]]:
    for peer in PEERS:
        try:
            yield peer, metadata.version(peer)
        except metadata.PackageNotFoundError:
            continue
