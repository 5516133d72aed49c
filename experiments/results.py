"""Writing of results: JSON with versions, moved into place when whole; rows one at a time."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import rational_anova

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "results"
FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def read(name: str) -> dict[str, Any]:
    """Return a recorded result, empty if there is none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(name: str, result: dict[str, Any], quiet: bool = False) -> Path:
    """Write a result, with the versions that made it."""
    versions = {"rational_anova": rational_anova.__version__, "torch": torch.__version__}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_text(
        json.dumps({**result, "versions": versions}, indent=1, allow_nan=False) + "\n"
    )
    os.replace(temporary, path)
    if not quiet:
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        print(f"wrote {shown}")
    return path


def read_config(path: Path) -> dict[str, Any]:
    """Return what a file in TOML says."""
    return tomllib.loads(path.read_text())


class Log:
    """Rows of a long experiment, each written as soon as it is there; a second run goes on.

    Args:
        name: of the file.
        fresh: forget what is there.
    """

    def __init__(self, name: str, fresh: bool = False) -> None:
        self.name = name
        self.rows: list[dict[str, Any]] = [] if fresh else read(name).get("rows", [])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def has(self, **key: Any) -> bool:
        """Say whether a row with these values is there."""
        return any(all(row.get(k) == v for k, v in key.items()) for row in self.rows)

    def add(self, **row: Any) -> None:
        """Append a row and write the file."""
        self.rows.append(row)
        write(self.name, {"rows": self.rows}, quiet=True)
        words = (f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
        print("  ".join(words), flush=True)
