"""The functional core: one definition of the rational unit, and the functions that apply it."""

from ._autograd import apply as apply
from ._autograd import unit_inputs as unit_inputs
from ._bases import BASES as BASES
from ._bases import Base as Base
from ._denominators import DENOMINATORS as DENOMINATORS
from ._denominators import Denominator as Denominator
from ._derivatives import by_row as by_row
from ._derivatives import gradients as gradients
from ._form import Form as Form
from ._polynomial import Powers as Powers
from ._polynomial import differentiate as differentiate
from ._polynomial import evaluate as evaluate
from ._polynomial import monomials as monomials
from ._rational import rational_1d as rational_1d
from ._rational import rational_2d as rational_2d
