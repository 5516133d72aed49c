"""Learning dynamics: what one step of training at one point does to a model at others."""

from ._decomposition import Decomposition as Decomposition
from ._decomposition import decompose as decompose
from ._influence import Influence as Influence
from ._influence import RateStudy as RateStudy
from ._influence import influence as influence
from ._influence import influence_over_rates as influence_over_rates
from ._kernel import Kernel as Kernel
from ._kernel import Parts as Parts
from ._locality import InfluenceMap as InfluenceMap
from ._locality import Locality as Locality
from ._locality import influence_map as influence_map
from ._locality import locality as locality
from ._ntk import ntk as ntk
from ._plots import plot_influence as plot_influence
from ._plots import plot_kernel as plot_kernel
from ._plots import plot_locality as plot_locality
from ._trajectory import Accumulated as Accumulated
from ._trajectory import Stability as Stability
from ._trajectory import accumulated_influence as accumulated_influence
from ._trajectory import influence_stability as influence_stability
