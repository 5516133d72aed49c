"""Which main terms and which pairs a network has, and the ways to choose them."""

from ._coupling import coupling as coupling
from ._sizes import max_pairs as max_pairs
from ._sizes import resolve_size as resolve_size
from ._topology import Topology as Topology
