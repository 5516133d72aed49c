"""Exact numbers for floats, symbols for the names of columns, functions from formulas."""

from ._names import Names
from ._numeric import numeric
from ._parse import check_formula, names_in, parse
from ._snap import snap

__all__ = ["Names", "check_formula", "names_in", "numeric", "parse", "snap"]
