"""The deep part: networks on top of the shallow model, and how much of them is mixed in."""

from ._ensemble import Deep as Deep
from ._ensemble import deepen as deepen
from ._ensemble import effects_only as effects_only
from ._ensemble import has_deep_part as has_deep_part
