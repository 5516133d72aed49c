"""Exact numbers for floats, and symbols for the names of columns."""

from .names import Names
from .snap import snap

__all__ = ["Names", "snap"]
