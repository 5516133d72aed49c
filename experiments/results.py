"""Writing of results: JSON with versions, moved into place when whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

import rational_anova

FOLDER = Path(__file__).parent / "results"


def read(name: str) -> dict[str, Any]:
    """Return a recorded result, empty if there is none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(name: str, result: dict[str, Any]) -> Path:
    """Write a result, with the versions that made it."""
    versions = {"rational_anova": rational_anova.__version__, "torch": torch.__version__}
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_text(
        json.dumps({**result, "versions": versions}, indent=1, allow_nan=False) + "\n"
    )
    os.replace(temporary, path)
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return path
