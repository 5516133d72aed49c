"""Memory of forward + backward: tensors kept for the backward pass, and the peak, against GELU.

python -m benchmarks.memory [--smoke]

Writes benchmarks/results/memory.csv. Kept are the tensors that autograd saves, each storage once
and parameters not counted. The peak is that of the resident memory of a fresh process above what it
held before the pass: the allocator of torch does not see what a kernel allocates for itself, the
system does. Inputs and the gradient of the output exist before; output, gradient of the input and
anything between count. In these processes malloc maps every block of 64 kB or more on its own and
gives it back when it is freed, so that the peak is that of memory in use, not of gaps in the heap.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor

from benchmarks import jobs, records
from benchmarks.timing import Row, show

SIZES = {"elementwise": (16384, 768), "pairwise": (4096, 784, 5000)}
SMOKE = {"pairwise": (8, 16, 20)}
# Loads code and starts pools before anything is measured.
SMALL = {"elementwise": (64, 96), "pairwise": (8, 16, 20)}
MAKERS = {"elementwise": jobs.elementwise, "pairwise": jobs.pairwise}
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536"}  # glibc reads it at the start of a process
MEGABYTE = 2**20
COLUMNS = ("job", "kept", "kept_size", "peak", "ratio")


def high_water() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget() -> None:
    """Take the memory of now as the largest so far: making the inputs may have needed more."""
    with contextlib.suppress(OSError):  # Linux only
        Path("/proc/self/clear_refs").write_text("5")


def kept(job: jobs.Job) -> dict[int, int]:
    """Return the storages that autograd keeps, without parameters: address to bytes."""
    parameters = {p.untyped_storage().data_ptr() for p in job.module.parameters()}
    found: dict[int, int] = {}
    alive = []  # a storage that is freed gives its address to the next one

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        alive.append(storage)
        if storage.data_ptr() not in parameters:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), job.on_path():
        job.module(job.x)
    return found


def inside(part: str, name: str, sizes: tuple[int, ...]) -> Row:
    """Measure one job; for a process of its own."""
    torch.set_num_threads(1)
    small = MAKERS[part](*SMALL[part])[name]()
    small()
    job = MAKERS[part](*sizes)[name]()
    forget()
    before = high_water()
    job()
    peak = high_water() - before
    storages = kept(job)
    return {
        "kept": len(storages),
        "kept_size": sum(storages.values()) / MEGABYTE,
        "peak": peak / MEGABYTE,
    }


def outside(part: str, name: str, sizes: tuple[int, ...]) -> Row:
    """Measure one job in a fresh process."""
    argument = json.dumps([part, name, sizes])
    command = [sys.executable, "-m", "benchmarks.memory", "--job", argument]
    environment = {**os.environ, **MALLOC}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise RuntimeError(f"{name}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(inside(*json.loads(options.job))))
        return
    rows: list[Row] = []
    for part, sizes in (SMOKE if options.smoke else SIZES).items():
        names = list(MAKERS[part](*SMALL[part]))
        if options.smoke:
            names = names[1:2]  # one process is enough
        found = []
        for name in names:
            row = outside(part, name, sizes)
            base = found[0]["peak"] if found else row["peak"]
            ratio = row["peak"] / base if base else None
            found.append({"part": part, "shape": _shape(sizes), "job": name, **row, "ratio": ratio})
        title = f"{part}, {_shape(sizes)}: sizes in MB, peak as a multiple of {jobs.GELU}'s"
        show(found, title, COLUMNS)
        rows += found
        if not options.smoke:
            records.write("memory", rows)


def _shape(sizes: tuple[int, ...]) -> str:
    if len(sizes) == 3:
        return f"{sizes[0]:,} x {sizes[2]:,} pairs of {sizes[1]:,}"
    return f"{sizes[0]:,} x {sizes[1]:,}"


if __name__ == "__main__":
    main()
