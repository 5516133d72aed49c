"""Pictures (JPEG, PNG, WebP) as arrays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ._files import BadFile


def decoded(path: Path | str, content: bytes) -> np.ndarray:
    """Return a picture as (height, width, 3), uint8; grey ones and those with a palette, too."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return np.asarray(picture.convert("RGB"))
    except UnidentifiedImageError as error:
        raise BadFile(path, f"is no picture in a known format ({len(content):,} bytes)") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise BadFile(path, f"is not whole ({error})") from error
