"""Records as JSON: a header that names format and version, and numbers that JSON does not know."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any) -> Any:
    """Return the same of types that JSON has; nan, inf and -inf become texts."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def content_of(source: str, noun: str, version: int) -> dict[str, Any]:
    """Read a record whose format is `rational-anova noun`, up to a version of it.

    Args:
        source: the text.
        noun: what it shall hold, such as `law`; the class of that name wrote it.
        version: the last one that can be read.
    """
    try:
        content = json.loads(source)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON, so no {noun}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != f"rational-anova {noun}":
        raise ValueError(
            f"this JSON was not written by {noun.capitalize()}.to_json: it holds no {noun}"
        )
    if not isinstance(content.get("version"), int) or content["version"] > version:
        raise ValueError(
            f"this {noun} has format version {content.get('version')}, this library reads up to "
            f"{version}: upgrade it with pip install --upgrade rational-anova"
        )
    return content
