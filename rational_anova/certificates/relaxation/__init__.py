"""Bounds by linear relaxation: planes below and above each function, carried back to the input."""

from ._bounds import Relaxation as Relaxation
from ._bounds import Relaxed as Relaxed
from ._bounds import relaxation as relaxation
