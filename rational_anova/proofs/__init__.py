"""proofs."""

from ._expressions import Condition as Condition
from ._expressions import Unknown as Unknown
from ._expressions import conditions as conditions
from ._intervals import Interval as Interval
from ._intervals import Pair as Pair
from ._intervals import down as down
from ._intervals import hull as hull
from ._intervals import matmul as matmul
from ._intervals import point as point
from ._intervals import total as total
from ._intervals import up as up
from ._sturm import first_root as first_root
from ._subdivision import Bounds as Bounds
from ._subdivision import halves as halves
from ._subdivision import shown as shown
