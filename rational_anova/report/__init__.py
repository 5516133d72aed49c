"""A law as a page: what was found, how good it is, how far it holds; and parts of it."""

from . import _sections as sections
from ._described import described
from ._math import law_svg, math_svg, readable
from ._report import write_report

__all__ = ["described", "law_svg", "math_svg", "readable", "sections", "write_report"]
