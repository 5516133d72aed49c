"""Training: one loop for every optimiser, sparsity that is exact, and the record of it."""

from ._api import fit as fit
from ._api import fit_path as fit_path
from ._api import select_topology as select_topology
from ._api import sweep as sweep
from ._check import Diverged as Diverged
from ._covariance import Covariance as Covariance
from ._history import History as History
from ._history import Record as Record
from ._losses import LOSSES as LOSSES
from ._losses import Loss as Loss
from ._losses import huber as huber
from ._path import Path as Path
from ._prune import prune as prune
from ._restarts import Sweep as Sweep
from ._terms import active_terms as active_terms
