"""Mutated files of every kind: each must be a clear error or an equal object, soon, in bounds.

python -m experiments.hostile.fuzz [--count 20000] [--kind law] [--seed 0]

Half of the mutations change bytes: the object must then be equal to that of the file, or there is
an error. The other half change the structure, and take the checksum out: the file is refused, and
whatever opens with `edited=True` must also work. A finding is anything else: an error that is not
ours, one that a user of the object meets, an unequal object, a file without its checksum that
opens, more than `SECONDS` or `MEGABYTES`, or a file that was written.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.hostile import mutations as change
from experiments.hostile.specimens import Specimen, specimens
from experiments.results import Log

SECONDS, MEGABYTES = 10, 500
ADDRESSES = 8 * 2**30  # bytes that the process may ask for: whoever wants more has found a fault
OURS = (ValueError, TypeError, OSError)


class TooLong(BaseException):
    """The time for one file is over."""


def _alarm(*_: Any) -> None:
    raise TooLong


def ours(error: BaseException) -> bool:
    """Say whether an error was raised by the library, as one of its kinds."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, OURS) and "rational_anova" in frames[-1].filename


def outcome(specimen: Specimen, path: Path, whole: Any) -> str:
    """Return what opening a file and using it comes to; `whole` is what it must equal, if any."""
    try:
        found = (specimen.edited if whole is None else specimen.read)(path)
    except Exception as error:
        return "error" if ours(error) else f"raw {type(error).__name__}: {error}"[:120]
    try:
        if whole is not None:
            return "equal" if specimen.same(found) == whole else "unequal"
        if specimen.sealed and not _refused(specimen, path):
            return "opens without its checksum"
        specimen.use(found)
    except Exception as error:
        return (
            "error in use" if ours(error) else f"raw in use {type(error).__name__}: {error}"[:120]
        )
    return "usable"


def _refused(specimen: Specimen, path: Path) -> bool:
    try:
        specimen.read(path)
    except ValueError as error:
        return change.CHECKSUM in str(error)
    return False


def attack(specimen: Specimen, folder: Path, seed: int) -> tuple[str, float]:
    """Mutate once, open, and say what it came to and how many seconds it took."""
    rng = random.Random(seed)
    sealed = rng.random() < 0.5 and specimen.sealed
    mutate = change.of_bytes if sealed else specimen.mutate
    whole = read_whole(specimen, folder) if sealed else None
    path = folder / f"mutated{specimen.ending}"
    path.write_bytes(mutate(specimen.content, rng))
    before = sorted(folder.iterdir())
    start = time.perf_counter()
    signal.alarm(SECONDS)
    try:
        result = outcome(specimen, path, whole)
    except TooLong:
        result = f"longer than {SECONDS} s"
    finally:
        signal.alarm(0)
    if sorted(folder.iterdir()) != before:
        result = "wrote a file"
    return result, time.perf_counter() - start


_WHOLE: dict[int, Any] = {}


def read_whole(specimen: Specimen, folder: Path) -> Any:
    """Return what an object must equal, from the file as it is."""
    if id(specimen) not in _WHOLE:
        path = folder / f"whole{specimen.ending}"
        path.write_bytes(specimen.content)
        _WHOLE[id(specimen)] = specimen.same(specimen.read(path))
        path.unlink()
    return _WHOLE[id(specimen)]


FINE = ("error", "error in use", "equal", "usable")


def campaign(name: str, specimen: Specimen, folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Attack one kind of file so often, and return the counts."""
    signal.signal(signal.SIGALRM, _alarm)
    counts: Counter[str] = Counter()
    slowest, findings = 0.0, []
    memory = _megabytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            result, seconds = attack(specimen, folder, seed * 1_000_003 + number)
            counts[result if result in FINE else "finding"] += 1
            slowest = max(slowest, seconds)
            if result not in FINE:
                findings.append(f"{seed * 1_000_003 + number}: {result}")
    more = _megabytes() - memory
    if more > MEGABYTES:
        findings.append(f"{more:.0f} MB more memory")
    return {
        "kind": name, "seed": seed, "mutations": count, **{word: counts[word] for word in FINE},
        "findings": len(findings), "first": findings[:20], "slowest": round(slowest, 2),
        "megabytes": round(more),
    }  # fmt: skip


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", nargs="*")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    log = Log("hostile_fuzz", options.fresh)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        every = specimens(folder)
        for name in options.kind or every:
            key = {"kind": name, "seed": options.seed, "mutations": options.count}
            if not log.has(**key):
                log.add(**campaign(name, every[name], folder, options.count, options.seed))
    sys.exit(1 if any(row["findings"] for row in log) else 0)


if __name__ == "__main__":
    main()
