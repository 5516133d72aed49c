"""`ran show`: what a file of this library holds, in plain lines."""

from __future__ import annotations

import os


def show(path: str | os.PathLike[str]) -> None:
    """Print what a file holds: its kind and version, and a summary of the object."""
    from .._core.records import open_file
    from ..report import described
    from ._console import console, say

    say(console(), described(open_file(path))[1])
