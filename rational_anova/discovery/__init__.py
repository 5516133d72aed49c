"""From a table of measurements to the law behind it."""

from ..tables import Table as Table
from ..tables import prepare as prepare
from ..tables import read_table as read_table
from ._discover import discover as discover
from ._equivalence import Verdict as Verdict
from ._equivalence import equivalent as equivalent
from .law import Domain as Domain
from .law import Entry as Entry
from .law import Evidence as Evidence
from .law import Law as Law
from .law import Parameter as Parameter
from .stages import auto_rational as auto_rational
from .stages import few_terms as few_terms
from .stages import lifted as lifted
from .stages import project as project
from .stages import refine as refine
from .stages import structure as structure
from .stages import symmetries as symmetries
