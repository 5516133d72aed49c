"""Oscillations: products and sums of columns whose sine a target follows; lines of one column."""

from ._lines import Lines as Lines
from ._lines import spectral_lines as spectral_lines
from ._phases import Phase as Phase
from ._phases import phases as phases
