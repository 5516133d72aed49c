"""From a table of measurements to the law behind it."""

from ._discover import discover as discover
from .law._domain import Domain as Domain
from .law._law import Law as Law
from .law._records import Entry as Entry
from .law._records import Evidence as Evidence
from .law._records import Parameter as Parameter
from .sameness._equivalence import Verdict as Verdict
from .sameness._equivalence import equivalent as equivalent
from .stages import auto_rational as auto_rational
from .stages import few_terms as few_terms
from .stages import lifted as lifted
from .stages import project as project
from .stages import refine as refine
from .stages import structure as structure
from .stages import symmetries as symmetries
from .table._table import Table as Table
from .table._table import prepare as prepare
from .table._table import read_table as read_table
