"""Which main terms and which pairs a network has, and the ways to choose them."""

from ._coupling import coupling as coupling
from ._pairs import max_pairs as max_pairs
from ._pairs import resolve_size as resolve_size
from ._topology import Topology as Topology
