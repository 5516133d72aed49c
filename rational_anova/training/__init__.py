"""Training: one loop for every optimiser, sparsity that is exact, and the record of it.

`as_tensor`, `read_targets`, `resolve_loss`, `LOSSES` and `active_terms` are for packages that read
data, losses and terms as `fit` does; everything else is for users.
"""

from .._core.callbacks import Callback as Callback
from .._core.callbacks import Progress as Progress
from .._core.callbacks import ProgressBar as ProgressBar
from ._api import fit as fit
from ._api import fit_path as fit_path
from ._api import select_topology as select_topology
from ._api import sweep as sweep
from ._history import Checkpoint as Checkpoint
from ._history import History as History
from ._history import Record as Record
from ._losses import LOSSES as LOSSES
from ._losses import Loss as Loss
from ._losses import huber as huber
from ._losses import read_targets as read_targets
from ._losses import resolve_loss as resolve_loss
from ._parameter_groups import parameter_groups as parameter_groups
from ._path import PathStep as PathStep
from ._path import PenaltyPath as PenaltyPath
from ._restarts import Sweep as Sweep
from ._restarts import Trial as Trial
from ._terms import active_terms as active_terms
from ._terms import prune as prune
from .data import Diverged as Diverged
from .optimizers import Covariance as Covariance
