"""Exact numbers for floats, symbols for the names of columns, functions from formulas."""

from ._names import Names
from ._numeric import numeric, with_softplus
from ._parse import FUNCTIONS, check_formula, names_in, parse, unknown_function
from ._program import Program, program
from ._snap import snap

__all__ = [
    "FUNCTIONS", "Names", "Program", "check_formula", "names_in", "numeric", "parse", "program",
    "snap", "unknown_function", "with_softplus",
]  # fmt: skip
