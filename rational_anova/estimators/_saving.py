"""Models as files, without pickle."""

from __future__ import annotations


class SaveMixin:
    """Filled in later."""
