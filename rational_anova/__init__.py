"""Rational ANOVA Networks: learnable rational units on an explicit, sparse ANOVA topology."""

from . import certificates as certificates
from . import discovery as discovery
from . import dynamics as dynamics
from . import functional as functional
from . import kernels as kernels
from . import training as training
from .budgets import Architecture as Architecture
from .budgets import FlopCount as FlopCount
from .budgets import count_flops as count_flops
from .budgets import count_parameters as count_parameters
from .budgets import match_budget as match_budget
from .certificates import Certificate as Certificate
from .certificates import certify as certify
from .discovery import Law as Law
from .discovery import discover as discover
from .estimators import RANClassifier as RANClassifier
from .estimators import RANRegressor as RANRegressor
from .functional import rational_1d as rational_1d
from .functional import rational_2d as rational_2d
from .networks import KAF as KAF
from .networks import KAN as KAN
from .networks import MLP as MLP
from .networks import PRESETS as PRESETS
from .networks import RAN as RAN
from .networks import RANFFN as RANFFN
from .networks import DeepRAN as DeepRAN
from .networks import GatedRationalBlock as GatedRationalBlock
from .networks import Preset as Preset
from .networks import RANConvNet as RANConvNet
from .networks import RANFFNPlus as RANFFNPlus
from .networks import preset as preset
from .serialization import load as load
from .serialization import save as save
from .topology import Topology as Topology
from .training import Diverged as Diverged
from .training import History as History
from .training import fit as fit
from .training import fit_path as fit_path
from .training import prune as prune
from .training import select_topology as select_topology
from .training import sweep as sweep
from .units import FitError as FitError
from .units import Rational1d as Rational1d
from .units import Rational2d as Rational2d

__version__ = "0.1.0"
