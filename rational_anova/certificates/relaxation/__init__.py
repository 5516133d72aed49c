"""Bounds by linear relaxation: planes below and above each function, carried back to the input."""

from ._bounds import Relaxation as Relaxation
from ._bounds import Relaxed as Relaxed
from ._bounds import relaxation as relaxation
from ._graph import Graph as Graph
from ._graph import Local as Local
from ._modules import INVERSE_ROOT as INVERSE_ROOT
from ._modules import SQUARE as SQUARE
from ._modules import CurveJets as CurveJets
from ._norms import layer_norm as layer_norm
from ._state import State as State
