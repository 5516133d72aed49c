"""Editing a fitted model: fix a term, drop a term."""

from __future__ import annotations


class EditMixin:
    """Filled in later."""
