"""Work on several processes of this machine, started by torchrun over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import distributed


def torchrun(module: str, processes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the workers of a module, and return how they ended and what they said."""
    words = ["--standalone", "--nproc-per-node", str(processes), "-m", module, "--worker"]
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *words, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def gathered(module: str, processes: int, *arguments: object) -> list[Any]:
    """Run the workers of a module, and return what each of them has handed in."""
    with tempfile.TemporaryDirectory() as folder:
        ended = torchrun(module, processes, folder, *arguments)
        if ended.returncode:
            raise RuntimeError(f"{processes} processes of {module}:\n{ended.stderr[-3000:]}")
        return [json.loads((Path(folder) / f"{n}.json").read_text()) for n in range(processes)]


def work(folder: str, do: Callable[[], Any]) -> None:
    """Do the work of one process, and hand in the result."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    try:
        rank, result = distributed.get_rank(), do()
        (Path(folder) / f"{rank}.json").write_text(json.dumps(result))
    finally:
        distributed.destroy_process_group()
