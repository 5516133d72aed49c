"""Estimators for tables, as scikit-learn has them: `RANRegressor`, `RANClassifier`."""

from ._classifier import RANClassifier as RANClassifier
from ._files import load_estimator as load_estimator
from ._regressor import RANRegressor as RANRegressor
