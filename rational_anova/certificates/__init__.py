"""Certificates: bounds on a box that no sample can beat."""

from ._bernstein import Positivity as Positivity
from ._bernstein import positive_on as positive_on
from ._box import inputs_of as inputs_of
from ._certificate import Certificate as Certificate
from ._certify import Parts as Parts
from ._certify import certify as certify
from ._certify import register_certifier as register_certifier
from ._isometry import Isometry as Isometry  # with it come the steps of all networks
from ._isometry import gradient_ratio as gradient_ratio
from ._isometry import isometry as isometry
from ._layers import register_layer as register_layer
from ._monotone import Monotone as Monotone
from ._monotone import Witnesses as Witnesses
from ._search import extremes as extremes
from ._state import Layer as Layer
from ._state import State as State
from ._theorem import Theorem as Theorem
from ._units import PoleError as PoleError
from ._units import UnitCertificate as UnitCertificate
