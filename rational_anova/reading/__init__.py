"""Networks read as formulas, unit by unit, pruned for it, and drawn."""

from ._diagram import plot_network as plot_network
from ._prune import pruned as pruned
from ._read import read_network as read_network
from ._record import Reading as Reading
from ._record import ReadUnit as ReadUnit
