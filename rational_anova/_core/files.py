"""Files: written whole or not at all, and the folder where the user's caches are kept."""

from __future__ import annotations

import io
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APPLICATION = "rational_anova"
CACHE_VARIABLE = "RAN_CACHE"


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file by way of a temporary one beside it: it appears whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
