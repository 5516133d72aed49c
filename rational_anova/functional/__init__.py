"""The functional core: one definition of the rational unit, and the functions that apply it."""

from ._autograd import apply as apply
from ._bases import BASES as BASES
from ._bases import Base as Base
from ._denominators import DENOMINATORS as DENOMINATORS
from ._denominators import Denominator as Denominator
from ._form import Form as Form
from ._jacobian import jacobian_buffer as jacobian_buffer
from ._jacobian import write_jacobian as write_jacobian
from ._messages import Sent as Sent
from ._messages import send as send
from ._messages import spread as spread
from ._paths import unit_inputs as unit_inputs
from ._polynomial import Powers as Powers
from ._polynomial import differentiate as differentiate
from ._polynomial import evaluate as evaluate
from ._polynomial import monomials as monomials
from ._rational import rational_1d as rational_1d
from ._rational import rational_2d as rational_2d
