"""Where files of data lie, whether they are the ones they should be, and pictures as arrays."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.files import cache_folder

VARIABLE = "RAN_DATA"


class BadFile(ValueError):
    """A file of data is not what it should be; the message names it and says what to do."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}; fetch the file again")


class Known(NamedTuple):
    """A published file: its name, its checksum (None if none is published) and where it is from."""

    name: str
    digest: str | None  # 32 hexadecimal digits for md5, 64 for sha256
    source: str
    unpacked: str | None = None  # the checksum of what a packed file holds


def data_folders(name: str, root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders in which the files of a set may lie, the first choice first.

    Args:
        name: of the set, which is also the name of its folder.
        root: a folder that holds the set's folder, or is it; None: the folder that the variable
            RAN_DATA names, then the user's cache folder.
    """
    if root is not None:
        return [Path(root) / name, Path(root)]
    folders = []
    if os.environ.get(VARIABLE):
        folders.append(Path(os.environ[VARIABLE]) / name)
    cache = cache_folder()
    if cache is not None:
        folders.append(cache / "data" / name)
    return folders


def find(name: str, folders: Iterable[Path]) -> Path | None:
    """Return the first of the folders' files of this name."""
    return next((f / name for f in folders if (f / name).is_file()), None)


def missing(name: str, folders: list[Path], choices: Iterable[Iterable[Known]]) -> Exception:
    """Return the error that says what to download, from where, and where it goes.

    Args:
        name: of the set.
        folders: where it was looked for.
        choices: the groups of files that would do, each on its own.
    """
    state = "" if os.environ.get(VARIABLE) else f" (the variable {VARIABLE} is not set)"
    searched = " or ".join(map(str, folders)) or "nowhere: there is no home folder"
    groups = ["\n".join(f"  {f.name}  from {f.source}" for f in files) for files in choices]
    return FileNotFoundError(
        f"the files of {name!r} were looked for in {searched}{state} and are not all there. "
        f"Download\n" + "\nor\n".join(groups) + f"\ninto a folder {name}/ and set {VARIABLE} to "
        "the folder that holds it."
    )


def read_verified(path: Path, known: Known | None, verify: bool = True) -> bytes:
    """Return a file's content, once it is known to be the published one.

    Args:
        path: the file.
        known: what is published of it.
        verify: whether to compare the checksum.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadFile(path, f"cannot be read ({error.strerror})") from error
    if verify and known is not None and known.digest is not None:
        check_digest(path, content, known.digest)
    return content


def check_digest(path: Path | str, content: bytes, digest: str) -> None:
    """Raise unless content has the checksum."""
    kind = "md5" if len(digest) == 32 else "sha256"
    found = hashlib.new(kind, content, usedforsecurity=False).hexdigest()
    if found != digest:
        raise BadFile(
            path,
            f"has {len(content):,} bytes with the {kind} {found}, and should have {digest} "
            "(verify=False reads a file that differs from the published one)",
        )


def decoded(path: Path | str, content: bytes) -> np.ndarray:
    """Return a picture as (height, width, 3), uint8; grey ones and those with a palette, too.

    Of 16 bits a value, the upper 8 are kept.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            if picture.mode.startswith("I"):  # grey in 16 bits: `convert` cuts it off at 255
                grey = np.clip(np.asarray(picture) >> 8, 0, 255).astype(np.uint8)
                return np.stack([grey] * 3, axis=-1)
            return np.asarray(picture.convert("RGB"))  # of colours, it keeps the upper 8 bits
    except UnidentifiedImageError as error:
        raise BadFile(path, f"is no picture in a known format ({len(content):,} bytes)") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise BadFile(path, f"is not whole ({error})") from error
