"""The commands on laws: find one in a table or in time series, fit one, list the named ones."""

from ._discover import discover as discover
from ._dynamics import dynamics as dynamics
from ._fit_law import fit_law as fit_law
from ._named import laws as laws
from ._outcome import watching as watching
