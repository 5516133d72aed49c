"""From time series to the differential equations behind them."""

from ._claims import Rival as Rival
from ._discover import discover_dynamics as discover_dynamics
from .record import Dynamics as Dynamics
