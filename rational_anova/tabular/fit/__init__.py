"""The fit of a model: designs, ridges with a penalty a term, losses, screening of pairs, links."""

from ._links import FORWARD as FORWARD
from ._links import Link as Link
from ._links import check as check
from ._links import possible as possible
from ._links import standard as standard
from ._recipe import SMALL as SMALL
from ._recipe import Options as Options
from ._recipe import Recipe as Recipe
from ._recipe import Screen as Screen
from ._recipe import pooled as pooled
from ._ridge import Solution as Solution
from ._ridge import _factor as _factor
from ._ridge import evidence_ridge as evidence_ridge
from ._screening import Gains as Gains
from ._screening import Pair as Pair
from ._screening import gain_of as gain_of
from ._solve import LEAST_WEIGHT as LEAST_WEIGHT
from ._solve import START_PENALTY as START_PENALTY
from ._solve import Fit as Fit
from ._solve import Logistic as Logistic
from ._solve import Loss as Loss
from ._solve import Problem as Problem
from ._solve import Softmax as Softmax
from ._solve import Squared as Squared
from ._solve import solve as solve
