"""Certificates: bounds on a box that no sample can beat."""

from ..proofs import Positivity as Positivity
from ..proofs import positive_on as positive_on
from ._box import inputs_of as inputs_of
from ._certificate import Certificate as Certificate
from ._certify import ModelBounds as ModelBounds
from ._certify import certify as certify
from ._certify import register_certifier as register_certifier
from ._isometry import Isometry as Isometry
from ._isometry import gradient_ratio as gradient_ratio
from ._isometry import isometry as isometry
from ._layer_bounds import Layer as Layer
from ._layer_bounds import LayerBounds as LayerBounds
from ._layers import register_layer as register_layer
from ._monotone import Monotone as Monotone
from ._monotone import Witnesses as Witnesses
from ._theorem import Theorem as Theorem
from ._units import PoleError as PoleError
from ._units import UnitCertificate as UnitCertificate
from .verification import PropertyError as PropertyError
from .verification import Unsupported as Unsupported
from .verification import Verdict as Verdict
from .verification import verify as verify
