"""How large a model is, and which architecture has a given size."""

from ._architecture import Architecture as Architecture
from ._families import FAMILIES as FAMILIES
from ._families import IMAGE_FAMILIES as IMAGE_FAMILIES
from ._flops import FlopCount as FlopCount
from ._flops import count_flops as count_flops
from ._match import match_budget as match_budget
from ._parameters import count_parameters as count_parameters
