"""tables."""

from ._arrays import Numbers as Numbers
from ._arrays import read_matrix as read_matrix
from ._arrays import read_target as read_target
from ._arrays import read_targets as read_targets
from ._arrays import read_weight as read_weight
from ._arrays import standardise as standardise
from ._files import read_table as read_table
from ._rows import rows_of as rows_of
from ._table import Table as Table
from ._table import prepare as prepare
