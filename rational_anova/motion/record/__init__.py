"""`Dynamics`: equations of motion found in data, and what can be done with them."""

from ._dynamics import Dynamics as Dynamics
from ._records import Conserved as Conserved
from ._records import FixedPoint as FixedPoint
from ._records import Rival as Rival
from ._records import Start as Start
