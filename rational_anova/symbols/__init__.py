"""Exact numbers for floats, symbols for the names of columns, functions from formulas."""

from ._numeric import numeric
from .names import Names
from .snap import snap

__all__ = ["Names", "numeric", "snap"]
