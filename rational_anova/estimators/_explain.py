"""Explanations: effects, shares, tables and plots."""

from __future__ import annotations


class ExplainMixin:
    """Filled in later."""
