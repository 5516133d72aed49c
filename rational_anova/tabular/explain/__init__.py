"""Explanations: effects with their shares, what adds up to a prediction, pictures."""

from ...anova import Observed as Observed
from ._mixin import ExplainMixin as ExplainMixin
from ._stability import agreement as agreement
from ._stability import effect_values as effect_values
from ._statistics import Measured as Measured
from ._statistics import measure as measure
