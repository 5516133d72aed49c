"""Dimensions of columns and of the numbers in a law: units, groups without a unit, scales."""

from ._groups import Groups as Groups
from ._groups import Product as Product
from ._headers import Headers as Headers
from ._headers import read_headers as read_headers
from ._pi import pi_groups as pi_groups
from ._scales import scales as scales
from ._soundness import check_sound as check_sound
from ._soundness import is_sound as is_sound
from ._soundness import parameter_units as parameter_units
from ._units import Unit as Unit
from ._units import Units as Units
from ._units import Unsound as Unsound
from ._units import read_units as read_units
from ._units import units_in_header as units_in_header
