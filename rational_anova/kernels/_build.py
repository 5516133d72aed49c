"""Build the C kernels with the system's compiler, once for a machine, and keep them in a cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "source"
# Never -ffast-math: linked in, it turns off subnormal numbers for the whole process.
FLAGS = [
    *("-std=gnu11", "-O3", "-fPIC", "-shared", "-pthread"),
    *("-fno-math-errno", "-fno-trapping-math"),
]
# Tried in turn: a compiler may know neither its processor by name nor OpenMP.
OPTIONS = (("-march=native", "-fopenmp"), ("-march=native",), ())
_SECONDS = 120


class Unavailable(RuntimeError):
    """The C kernels cannot be had; the message says why."""


def library(single: bool, form: tuple[str, ...] = ()) -> Path:
    """Return the compiled library for float32 or float64, building it if it is not in the cache.

    `form` holds definitions for the compiler that make it serve one form of unit alone, and faster;
    see source/unit.h. Two processes that build at once each write a file of their own and move it
    into place: the last one wins, and both are whole.
    """
    compiler = find_compiler()
    sources = sorted(path for path in SOURCE.iterdir() if path.suffix in (".c", ".h"))
    definitions = [*os.environ.get("RAN_CFLAGS", "").split(), f"-DSINGLE={int(single)}", *form]
    facts = [*compiler, *FLAGS, *definitions, _processor()]
    digest = hashlib.sha256("\0".join(facts).encode())
    for source in sources:
        digest.update(source.read_bytes())
    target = cache_folder() / f"rational-{'f32' if single else 'f64'}-{digest.hexdigest()[:20]}.so"
    if not _there(target):
        _compile(compiler, definitions, target)
    return target


def find_compiler() -> list[str]:
    """Return the command of the C compiler: `CC` if it is set, else cc, gcc or clang."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        first, *rest = shlex.split(name)  # such as "ccache gcc"
        found = shutil.which(first)
        if found:
            return [found, *rest]
    raise Unavailable("no C compiler was found (cc, gcc or clang, or the one that CC names)")


def cache_folder() -> Path:
    """Return where compiled kernels are kept: `RAN_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("RAN_CACHE")
    if chosen:
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:
        reason = "there is no home folder to keep compiled kernels in; set RAN_CACHE to a folder"
        raise Unavailable(reason) from None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "rational_anova"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "rational_anova"


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


def _there(target: Path) -> bool:
    try:
        return target.exists()
    except OSError:  # a folder that cannot be searched, a name that is too long: `_compile` says so
        return False


def _compile(compiler: list[str], definitions: list[str], target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    except OSError as error:
        raise Unavailable(
            f"the folder for compiled kernels, {target.parent}, cannot be written to "
            f"({error.strerror}); set RAN_CACHE to one that can"
        ) from None
    os.close(handle)
    try:
        report = ""
        for choice in OPTIONS:
            command = [
                *compiler,
                *FLAGS,
                *choice,
                *definitions,
                str(SOURCE / "rational.c"),
                "-o",
                name,
            ]
            report = _run([*command, "-lm"])
            if not report:
                os.chmod(name, 0o755)  # a cache may be shared
                os.replace(name, target)
                return
        raise Unavailable(f"{' '.join(compiler)} cannot build the kernels: {report}")
    finally:
        Path(name).unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    """Return an empty string, or the first line of what went wrong."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line] or ["exit code"]
    return f"{lines[0]} ({done.returncode})"
