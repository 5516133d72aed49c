"""A law as a page: what was found, how good it is and how far it holds; and its parts for others."""

from . import _sections as sections
from ._described import described
from ._math import law_svg, math_svg, readable
from ._report import write_report

__all__ = ["described", "law_svg", "math_svg", "readable", "sections", "write_report"]
