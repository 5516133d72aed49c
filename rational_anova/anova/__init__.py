"""Effects, their shares, purification and pictures: one protocol for networks and estimators."""

from ._effects import Effect as Effect
from ._effects import Effects as Effects
from ._effects import Function as Function
from ._inputs import Input as Input
from ._inputs import Observed as Observed
from ._inputs import cells as cells
from ._inputs import named as named
from ._panels import panels as panels
from ._panels import short as short
from ._plots import MODES as MODES
from ._plots import Anova as Anova
from ._plots import Local as Local
from ._plots import plot as plot
from ._purification import Independent as Independent
from ._purification import directions as directions
from ._purification import project as project
from ._shares import Moments as Moments
from ._shares import percent as percent
from ._shares import shares as shares
from ._shares import split as split
from ._shares import together as together
