"""The search for a law on a table, stage by stage."""

from ._candidate import Candidate as Candidate
from ._judge import constant as constant
from ._judge import finished as finished
from ._judge import judged as judged
from ._rates import scanned_rates as scanned_rates
from ._reduce import reduce_table as reduce_table
from ._reduced_table import F as F
from ._reduced_table import OutOfTime as OutOfTime
from ._reduced_table import ReducedTable as ReducedTable
from ._separate import interactions as interactions
from ._solver import Counter as Counter
from ._solver import Search as Search
from ._solver import solve as solve
from ._stages import lifts as lifts
from ._stages import null_space as null_space
from ._stages import rational_terms as rational_terms
from ._surrogate import Basis as Basis
from ._surrogate import definite as definite
from ._template import Data as Data
from ._template import Template as Template
from ._template import simple_cost as simple_cost
from ._template import small_sample as small_sample
from ._template import written as written
from ._vocabulary import LINKS as LINKS
from ._vocabulary import USUAL as USUAL
from ._vocabulary import permitted as permitted
