"""Build the C kernels with the system's compiler, once for a machine, and keep them in a cache."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from .._core.files import cache_folder, foreign

SOURCE = Path(__file__).parent / "source"
# Never -ffast-math: linked in, it turns off subnormal numbers for the whole process.
FLAGS = [
    *("-std=gnu11", "-O3", "-fPIC", "-shared", "-pthread"),
    *("-fno-math-errno", "-fno-trapping-math"),
]
# Tried in turn: a compiler may know neither its processor by name nor OpenMP.
OPTIONS: tuple[tuple[str, ...], ...] = (("-march=native", "-fopenmp"), ("-march=native",), ())
_SECONDS = 120


class Unavailable(RuntimeError):
    """The C kernels cannot be had; the message says why."""


def library(single: bool, form: tuple[str, ...] = ()) -> Path:
    """Return the compiled library for float32 or float64, building it if it is not in the cache.

    `form` holds definitions for the compiler that make it serve one form of unit alone, and faster;
    see source/unit.h. Two processes that build at once each write a file of their own and move it
    into place: the last one wins, and both are whole.
    """
    definitions = [*os.environ.get("RAN_CFLAGS", "").split(), f"-DSINGLE={int(single)}", *form]
    kind = "f32" if single else "f64"
    folder = kernel_folder()
    stems = {options: f"rational-{kind}-{_key(options, definitions)}" for options in OPTIONS}
    found = _find(folder, stems[OPTIONS[0]])
    if found is not None:
        return found
    try:
        compiler = find_compiler()
    except Unavailable:
        # Built elsewhere, as for an image without a compiler, or with fewer options.
        for stem in stems.values():
            found = _find(folder, stem)
            if found is not None:
                return found
        raise
    return _compile(compiler, definitions, folder, stems)


def _key(options: tuple[str, ...], definitions: list[str]) -> str:
    """Return a name for what a library is made of, and for the processor it is made for."""
    digest = hashlib.sha256("\0".join([*FLAGS, *options, *definitions, _processor()]).encode())
    for source in sorted(SOURCE.iterdir()):
        if source.suffix in (".c", ".h"):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:20]


def find_compiler() -> list[str]:
    """Return the command of the C compiler: what `CC` says if it is set, else cc, gcc or clang."""
    chosen = os.environ.get("CC", "").strip()
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        try:
            first, *rest = shlex.split(name)  # such as "ccache gcc"
        except ValueError:
            continue
        found = shutil.which(first)
        if found:
            return [found, *rest]
    if chosen:
        raise Unavailable(f"the compiler that the variable CC names, {chosen!r}, is not there")
    raise Unavailable("no C compiler was found (cc, gcc or clang; CC names another)")


def kernel_folder() -> Path:
    """Return the folder of compiled kernels, which is the user's cache folder."""
    folder = cache_folder()
    if folder is None:
        raise Unavailable("there is no home folder to keep a cache in; set RAN_CACHE to a folder")
    return folder


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


def _find(folder: Path, stem: str) -> Path | None:
    """Return a library that nobody else can have written, and that is whole by its checksum."""
    try:
        for path in sorted(folder.glob(f"{stem}-*.so")) if not _foreign(folder) else ():
            whole = path.stem.rpartition("-")[2] == _digest(path.read_bytes())
            if whole and not foreign(path):
                return path
    except OSError:  # a folder that cannot be searched, a name that is too long: `_compile` says so
        pass
    return None


def _foreign(folder: Path) -> str:
    """Return why libraries in a folder are not to be loaded; empty if they are."""
    return foreign(folder) if folder.exists() else ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _compile(
    compiler: list[str], definitions: list[str], folder: Path, stems: dict[tuple[str, ...], str]
) -> Path:
    """Build with the first options that the compiler takes."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if why := _foreign(folder):
            raise Unavailable(
                f"{why}, and a library in it could be anybody's; set RAN_CACHE to a folder that "
                "is yours alone, or take the rights of others away (chmod go-w)"
            )
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError as error:
        raise Unavailable(
            f"the folder for compiled kernels, {folder}, cannot be written to "
            f"({error.strerror}); set RAN_CACHE to one that can"
        ) from None
    os.close(handle)
    try:
        report = ""
        for options, stem in stems.items():
            found = _find(folder, stem)
            if found is not None:
                return found
            # A warning, so that a first call that takes seconds does not do so in silence.
            logging.getLogger(__name__).warning(
                "building C kernels of rational units%s, once for this machine, which takes some "
                "seconds; `ran kernels build` does it ahead (%s)",
                f" for one form ({_told(definitions)})" if len(definitions) > 1 else "", stem,
            )  # fmt: skip
            flags = [*FLAGS, *options, *definitions]
            report = _run([*compiler, *flags, str(SOURCE / "rational.c"), "-o", name, "-lm"])
            if not report:
                target = folder / f"{stem}-{_digest(Path(name).read_bytes())}.so"
                os.chmod(name, 0o755)  # a cache may be shared
                os.replace(name, target)
                return target
        raise Unavailable(f"{' '.join(compiler)} cannot build the kernels in {folder}: {report}")
    finally:
        Path(name).unlink(missing_ok=True)


def _told(definitions: list[str]) -> str:
    return next((one[2:] for one in definitions if one.startswith("-DFORM=")), "RAN_CFLAGS")


def _run(command: list[str]) -> str:
    """Return an empty string, or the first line of what went wrong."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    words = ("error", "failed", "No space")  # of the linker too, before the compiler sums it up
    lines = [line for line in done.stderr.splitlines() if any(w in line for w in words)]
    lines = lines or ["exit code"]
    return f"{lines[0]} ({done.returncode})"
