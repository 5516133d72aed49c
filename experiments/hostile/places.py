"""Bad places to write to and to load from: nothing is half written, nothing foreign is run.

python -m experiments.hostile.places

- Full disks: a tmpfs with room for 0, 20, ... 180 KiB, in which an old file stands. Commands, a
  recorder of experiments, checkpoints and the build of kernels end well, or with an error that
  names the file; the old file is the same to the byte, or a new one that opens, and nothing is left
  over.
- Folders that may only be read: mounted so, and by their mode for a user who does not own them.
- No home folder, for a user whom the system does not know.
- Kernels: two processes that build at once in an empty cache; caches in which somebody may have
  planted a library. One that tells when it is loaded lies there under the right name.

What needs the superuser (mounts, other users) is skipped with a reason where there is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import rational_anova as ra
from experiments.hostile.kills import TABLE, WORK
from experiments.results import Log
from rational_anova import kernels

ROOM = range(0, 200, 20)  # KiB
ROOM_TO_BUILD = (40,)
ROUNDS = 3
STRANGER = 12345  # a number that no user has
LOUD = """
#include <stdio.h>
__attribute__((constructor)) static void tell(void) { fclose(fopen("%s", "w")); }
"""


class Failed(Exception):
    """A command ended with an error; the message is what it printed."""


def _loudly(do: Callable[[Path], Any], folder: Path) -> None:
    """Do work; a command that fails raises what it said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        do(folder)
    if said.getvalue().startswith(("error:", "fault:")):
        raise Failed(said.getvalue().strip())


def _kernels(folder: Path) -> float:
    """Compute with kernels whose cache is in a folder; raise what is said if there are none."""
    os.environ.update(RAN_CACHE=str(folder / "cache"), RAN_CFLAGS="-O0", RAN_KERNELS="auto")
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = ra.Rational1d(3, dtype=torch.float64)(torch.ones(4, 3, dtype=torch.float64))
    if kernels.info()["cpu"] != "c":
        raise Failed(str(caught[0].message))
    return float(value.detach().sum())


def in_child(work: Callable[[], Any], user: int | None = None) -> str:
    """Do work in a process of its own; return an empty string, or what went wrong.

    Args:
        work: what to do.
        user: number of the user to do it as.
    """
    read, write = os.pipe()
    number = os.fork()
    if not number:
        text = ""
        try:
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            work()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    status = os.waitpid(number, 0)[1]
    return text if status == 0 else f"died with status {status}"


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a tmpfs at a folder."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, capture_output=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def may_mount() -> str:
    """Return why nothing can be mounted here; empty if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs the superuser"
    with tempfile.TemporaryDirectory() as place:
        try:
            with mounted(Path(place), "size=64k"):
                return ""
        except (OSError, subprocess.CalledProcessError) as error:
            return f"cannot mount here ({error})"


def _table(folder: Path) -> None:
    x = np.random.default_rng(0).uniform(1, 5, 40)
    pd.DataFrame({"x": x, "y": 2 * x / (1 + x)}).to_csv(folder / TABLE, index=False)


WORKS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    **{name: (work.do, work.files) for name, work in WORK.items()},
    "build of kernels": (_kernels, ()),
}


def verdict(text: str, folder: Path, files: tuple[str, ...]) -> str:
    """Return "done", "clear error", or what is wrong with what was said or left."""
    for path in folder.rglob("*"):
        if path.name.endswith(".tmp") or (path.name.startswith(".") and path.is_file()):
            return f"left over: {path.name}"
        if path.name in files and path.suffix in (".ran", ".json", ".ckpt"):
            if path.read_bytes() != OLD:
                ra.load(path)
        elif path.suffix == ".html" and path.read_bytes() != OLD:
            assert path.read_bytes().rstrip().endswith(b"</html>"), "cut off"
        elif path.name in files and path.suffix == ".csv" and path.read_bytes() != OLD:
            assert path.read_bytes().endswith(b"\n"), "cut off"
    if not text:
        return "done"
    named = any(name in text for name in (*files, "weights", "cache"))
    own = "Error: [Errno" in text or text.startswith("Failed: ")
    return "clear error" if named and own and "fault:" not in text else f"unclear: {text}"[:200]


OLD = b"what stood there before\n"


def _tried(name: str, folder: Path, user: int | None = None, old: bool = True) -> str:
    do, files = WORKS[name]
    if old and name not in ("recorder of experiments", "fit with checkpoints"):  # these would go on
        for file in files:
            if not (folder / file).exists():
                (folder / file).write_bytes(OLD)
    text = in_child(lambda: _loudly(do, folder), user)
    return verdict(text, folder, files)


def full_disk(name: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for room in ROOM_TO_BUILD if name == "build of kernels" else ROOM:
            with mounted(folder, f"size={room + 16}k,mode=0700"):
                _table(folder)
                counts[_tried(name, folder)] += 1
    return counts


def read_only(name: str) -> Counter[str]:
    """A folder mounted for reading, and one of another user."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        with mounted(folder, "size=1m,mode=0755"):
            _table(folder)
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            counts[_tried(name, folder, old=False)] += 1
        _table(folder)
        counts[_tried(name, folder, user=STRANGER)] += 1
    return counts


def no_home(name: str) -> Counter[str]:
    """A user whom the system does not know, without HOME, in a folder of that user."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _table(folder)
        for path in (folder, folder / TABLE):
            os.chown(path, STRANGER, STRANGER)

        def work() -> None:
            for variable in ("HOME", "XDG_CACHE_HOME", "RAN_CACHE"):
                os.environ.pop(variable, None)
            if name == "build of kernels":
                _without_cache()
            else:
                _loudly(WORKS[name][0], folder)

        counts[verdict(in_child(work, STRANGER), folder, WORKS[name][1])] += 1
    return counts


def _without_cache() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = ra.Rational1d(3)(torch.ones(4, 3))
    assert value.isfinite().all()
    assert kernels.info()["cpu"] == "torch"
    raise Failed(f"cache: {caught[0].message}")


def two_builders() -> Counter[str]:
    """Two processes that build at once in an empty cache: both compute, libraries are whole."""
    counts: Counter[str] = Counter()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            results = folder / "results"
            results.mkdir()

            def work(at: int, folder: Path = folder, results: Path = results) -> None:
                (results / str(at)).write_text(json.dumps(_kernels(folder)))

            first = os.fork()
            if not first:
                os._exit(1 if in_child(lambda: work(0)) else 0)
            said = in_child(lambda: work(1))
            assert (os.waitpid(first, 0)[1], said) == (0, "")
            assert len({path.read_text() for path in results.iterdir()}) == 1
            libraries = sorted(path.name[:12] for path in (folder / "cache").iterdir())
            assert libraries == ["rational-f32", "rational-f64"], libraries
            counts["done"] += 1
    return counts


def planted() -> Counter[str]:
    """A library in a cache that others may write, or have written, is not loaded."""
    counts: Counter[str] = Counter()
    ways: dict[str, Callable[[Path, Path], None]] = {
        "folder of another user": lambda cache, library: os.chown(cache, STRANGER, STRANGER),
        "folder that all may write": lambda cache, library: cache.chmod(0o777),
        "folder that a group may write": lambda cache, library: cache.chmod(0o770),
        "library of another user": lambda cache, library: os.chown(library, STRANGER, STRANGER),
        "library that all may write": lambda cache, library: library.chmod(0o777),
        "library with another checksum": lambda cache, library: library.rename(
            library.with_name(f"{library.stem[:-1]}{'0' if library.stem[-1] != '0' else '1'}.so")
        ),
        "nothing wrong": lambda cache, library: None,
    }
    with tempfile.TemporaryDirectory() as first:
        assert not in_child(lambda: _kernels(Path(first)))
        own = {path.name: path.read_bytes() for path in Path(first, "cache").iterdir()}
    for name, spoil in ways.items():
        with tempfile.TemporaryDirectory() as place:
            folder, cache = Path(place), Path(place, "cache")
            cache.mkdir(mode=0o700)
            told, source, built = folder / "told", folder / "loud.c", folder / "loud.so"
            source.write_text(LOUD % told)
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", built], check=True)
            loud, checksum = built.read_bytes(), hashlib.sha256(built.read_bytes()).hexdigest()[:32]
            for theirs, content in own.items():
                single = theirs.startswith("rational-f32-")
                library = cache / (theirs if single else f"{theirs[:-36]}-{checksum}.so")
                library.write_bytes(content if single else loud)
                library.chmod(0o755)
            library = next(cache.glob(f"*{checksum}.so"))
            spoil(cache, library)
            said = in_child(lambda folder=folder: _kernels(folder))
            if name == "nothing wrong":  # the trap works: who may write the cache may run code
                assert told.exists(), f"the planted library was not even loaded: {said}"
                continue
            assert not told.exists(), f"a foreign library was loaded: {name}"
            counts["done" if not said else "clear error" if "cache" in said else said[:200]] += 1
    return counts


def main() -> None:
    log = Log("hostile_places")
    why = may_mount()
    with tempfile.TemporaryDirectory() as warm, contextlib.redirect_stdout(io.StringIO()):
        _table(Path(warm))
        with kernels.using("torch"):  # children load their own
            for work in WORK.values():  # so that children have nothing left to import
                work.do(Path(warm))
    places: dict[str, Callable[[str], Counter[str]]] = {
        "full disk": full_disk, "folder that may only be read": read_only, "no home": no_home,
    }  # fmt: skip
    for place, attack in places.items():
        for name in WORKS:
            if log.has(place=place, work=name):
                continue
            if why:
                print(f"skipped: {place}, {name}: {why}")
            else:
                log.add(place=place, work=name, **attack(name))
    if not log.has(place="empty cache, two processes"):
        log.add(place="empty cache, two processes", work="build of kernels", **two_builders())
    if not why and not log.has(place="caches of others"):
        log.add(place="caches of others", work="build of kernels", **planted())


if __name__ == "__main__":
    main()
