"""From time series to the differential equations behind them."""

from ._discover import discover_dynamics as discover_dynamics
from ._smooth import Curve as Curve
from ._smooth import smooth as smooth
from .record import Conserved as Conserved
from .record import Dynamics as Dynamics
from .record import FixedPoint as FixedPoint
from .record import Rival as Rival
