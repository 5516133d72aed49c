"""The tables of the guide of several processes, from what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Rows = Iterator[list[str]]


def curves(result: dict[str, Any]) -> Rows:
    yield ["case", "processes", "records", "losses apart", "weights apart", "last epoch", "kept"]
    for row in result["rows"]:
        if row["processes"] > 1:
            apart = [_apart(row["loss"]), _apart(row["weights"])]
            epochs = [_same(row["epochs"]), _same(row["best"])]
            yield [row["case"], str(row["processes"]), str(row["records"]), *apart, *epochs]


def _same(pair: list[int]) -> str:
    """An epoch; beside it that of one process, if it is another."""
    return str(pair[1]) if pair[0] == pair[1] else f"{pair[1]}, not {pair[0]}"


def kills(result: dict[str, Any]) -> Rows:
    yield ["processes", "killed", "torchrun", "file at step", "goes on with", "losses apart"]
    for row in result["rows"]:
        yield [
            str(row["processes"]),
            "the first" if row["victim"] == 0 else "the last",
            f"exit {row['exit']} after {row['seconds']:.0f} s"
            + (", names SIGKILL" if row["torchrun names the signal"] else ""),
            str(row["step of the file"]),
            str(row["on"]),
            _apart(row["loss"]),
        ]


def sharded(result: dict[str, Any]) -> Rows:
    yield ["network", "processes", "way", "plain", "in 2 parts", "bf16", "compiled"]
    groups: dict[tuple[str, int, str], dict[str, str]] = {}
    for row in result["rows"]:
        kind = "bf16" if row["mixed"] else "in 2 parts" if row["pieces"] > 1 else "plain"
        kind = "compiled" if row["compiled"] else kind
        cells = groups.setdefault((row["model"], row["processes"], row["how"]), {})
        cells[kind] = "fails" if "error" in row else _apart(row["loss"])
    for (model, processes, how), cells in groups.items():
        kinds = ("plain", "in 2 parts", "bf16", "compiled")
        yield [model, str(processes), how, *(cells.get(kind, "") for kind in kinds)]


def _apart(value: float | None) -> str:
    return "other records" if value is None else "0" if value == 0 else f"{value:.0e}"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "processes_curves": ("processes_curves", curves),
    "processes_kills": ("processes_kills", kills),
    "processes_sharded": ("processes_sharded", sharded),
}
