"""Estimators for tables, as scikit-learn has them: `RANRegressor`, `RANClassifier`."""

from ._classifier import RANClassifier as RANClassifier
from ._regressor import RANRegressor as RANRegressor
