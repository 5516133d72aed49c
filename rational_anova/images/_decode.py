"""Pictures (JPEG, PNG, WebP) as arrays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ._files import BadFile


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
