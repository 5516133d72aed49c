"""Sums of unlike parts: a target as a few terms, each a product of functions of single columns."""

from ._atoms import Atom as Atom
from ._functions import read_functions as read_functions
from ._pursuit import EFFORT as EFFORT
from ._pursuit import Effort as Effort
from ._pursuit import pursued as pursued
from ._pursuit import some_rows as some_rows
from ._sum import Sum as Sum
