"""Parts of the Table view: where tables come in, their columns, and what is chosen of them."""

from ._choice import LIMITS as LIMITS
from ._choice import Chooser as Chooser
from ._columns import ColumnList as ColumnList
from ._intake import arrivals as arrivals
