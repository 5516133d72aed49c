"""Files: read and written whole, or not at all; and the folder where the user's caches are kept."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APPLICATION = "rational_anova"
CACHE_VARIABLE = "RAN_CACHE"
MOST_UNPACKED = 2**31  # bytes that a packed file may unpack to


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a pipe or a device, which may never end, is refused."""
    path = Path(path)
    check_regular(path, "read")
    return path.read_bytes()


def check_regular(path: Path, doing: str) -> None:
    """Raise if something is at a path that is no file: a folder, a pipe or a device."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"cannot {doing} {path}: it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise ValueError(f"cannot {doing} {path}: it is a pipe or a device; name a file")


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file by way of a temporary one beside it: it appears whole or not at all.

    Of a symbolic link the file that it names is written, and the link stays.

    Raises:
        OSError: it cannot be written, as on a full disk; it names the file, not the temporary one.
    """
    path = Path(os.path.realpath(path))
    check_regular(path, "write")
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")  # a long name has no room for more
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_through(temporary, content)
        os.replace(temporary, path)
    except OSError as error:
        why = f"{error.strerror or error}; nothing was written, name a place that can be written to"
        raise OSError(error.errno, why, str(path)) from error
    finally:
        with contextlib.suppress(OSError):  # such as a folder that is none
            temporary.unlink()


def _write_through(path: Path, content: bytes) -> None:
    """Write a new file, down to the disk."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def gunzip(content: bytes, most: int = MOST_UNPACKED) -> bytes:
    """Unpack gzip, all members of it; raises ValueError if it is damaged or unpacks to too much."""
    parts: list[bytes] = []
    room = most
    try:
        while content:
            member = zlib.decompressobj(wbits=31)
            parts.append(member.decompress(content, room + 1))
            room -= len(parts[-1])
            if room < 0:
                raise ValueError(f"it unpacks to more than {most:,} bytes")
            if not member.eof:
                raise ValueError("it ends within its data")
            content = member.unused_data.lstrip(b"\0")  # padding, as of tapes
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return b"".join(parts)


def write_figure(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a figure of matplotlib in the format that the ending of the name says, else as PNG."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:] or "png", dpi=120)
    write_whole(path, content.getvalue())


def cache_folder() -> Path | None:
    """Return the folder of compiled kernels and of data: `RAN_CACHE`, else the user's cache.

    Returns:
        The folder, which need not be there yet; None for a user who has no home folder.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    try:
        folder = user_cache_path(APPLICATION, appauthor=False)
    except RuntimeError:  # no home; older releases return a path with "~" instead
        return None
    return folder if folder.is_absolute() else None


def foreign(path: Path) -> str:
    """Return why code at a path is not to be run: somebody else may have written it; else empty.

    Args:
        path: a file or a folder that is there. It must belong to this user or to the superuser,
            and nobody else may be allowed to write it.
    """
    if not hasattr(os, "getuid"):  # Windows keeps a user's cache folder to the user
        return ""
    found = path.stat()
    if found.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to another user (number {found.st_uid})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):o})"
    return ""
