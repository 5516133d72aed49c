"""The ways to take a step: first-order optimisers, Levenberg-Marquardt, group lasso."""

from ._first_order import LBFGS as LBFGS
from ._first_order import FirstOrder as FirstOrder
from ._group_lasso import PENALIZED as PENALIZED
from ._group_lasso import Penalty as Penalty
from ._jacobian import Covariance as Covariance
from ._jacobian import Vector as Vector
from ._jacobian import all_outputs as all_outputs
from ._jacobian import covariance as covariance
from ._jacobian import evaluate as evaluate
from ._levenberg_marquardt import Guard as Guard
from ._levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
