"""Oscillations in several columns: products and sums of columns whose sine a target follows."""

from ._phases import Phase as Phase
from ._phases import phases as phases
