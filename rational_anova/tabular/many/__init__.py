"""Tables that are larger than memory: passes over their rows, and the engines that make them."""

from ._engines import Engine as Engine
from ._mixin import REPEATS as REPEATS
from ._mixin import TARGET as TARGET
from ._mixin import ManyMixin as ManyMixin
from ._mixin import table_of as table_of
from ._predict import in_pieces as in_pieces
from ._scan import Given as Given
from ._scan import Scan as Scan
from ._update import Kept as Kept
