"""Networks of rational units, and the baselines they are compared with."""

from ._baselines import KAF as KAF
from ._baselines import KAN as KAN
from ._baselines import MLP as MLP
from ._conv import CNN as CNN
from ._conv import RANConvNet as RANConvNet
from ._deep import DeepRAN as DeepRAN
from ._deep import GatedRationalBlock as GatedRationalBlock
from ._deep import MessageBlock as MessageBlock
from ._deep import TwoBlockRAN as TwoBlockRAN
from ._ffn import RANFFN as RANFFN
from ._ffn import RANFFNPlus as RANFFNPlus
from ._layered import EdgeLayer as EdgeLayer
from ._layered import LayeredRAN as LayeredRAN
from ._presets import PRESETS as PRESETS
from ._presets import Preset as Preset
from ._presets import preset as preset
from ._ran import RAN as RAN
from ._snapping import Snaps as Snaps
