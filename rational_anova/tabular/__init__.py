"""Estimators for tables, as scikit-learn has them."""

from ._classifier import RANClassifier as RANClassifier
from ._ordinal import RANOrdinal as RANOrdinal
from ._regressor import RANRegressor as RANRegressor
from ._survival import RANSurvival as RANSurvival
