"""The commands on laws: find one in a table, fit one, and list those that have a name."""

from ._discover import discover as discover
from ._fit_law import fit_law as fit_law
from ._named import laws as laws
from ._outcome import watching as watching
