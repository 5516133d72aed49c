"""Laws and models of tables as pages: what was found, how good it is, how far it holds."""

from . import _sections as sections
from ._described import described
from ._math import law_svg, math_svg, readable
from ._model import write_model_report
from ._report import write_report

__all__ = [
    "described",
    "law_svg",
    "math_svg",
    "readable",
    "sections",
    "write_model_report",
    "write_report",
]
