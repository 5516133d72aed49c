"""The format of MNIST: a magic number, the sizes, the bytes; by custom in gzip."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np

from ._files import BadFile

_UNSIGNED = 0x08  # the third byte of the magic number: 8-bit values


def read_idx(path: Path | str, content: bytes, axes: int) -> np.ndarray:
    """Return the array of an idx file.

    Args:
        path: of the file, for messages.
        content: of the file, with gzip or without.
        axes: how many the array must have: 3 for images, 1 for labels.
    """
    raw = unzipped(path, content)
    start = 4 + 4 * axes
    magic = bytes([0, 0, _UNSIGNED, axes])
    if raw[:4] != magic:
        raise BadFile(path, f"starts with {raw[:4].hex()!r}, and should with {magic.hex()!r}")
    if len(raw) < start:
        raise BadFile(path, f"ends after {len(raw)} bytes, within its header")
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", axes, offset=4))
    wanted = int(np.prod(shape, dtype=np.int64))
    if len(raw) - start != wanted:
        raise BadFile(
            path, f"holds {len(raw) - start:,} values, and its header promises {shape}: {wanted:,}"
        )
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def unzipped(path: Path | str, content: bytes) -> bytes:
    """Return what a gzip file holds; a file without gzip is returned as it is."""
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise BadFile(path, f"is no whole gzip file ({error})") from error
