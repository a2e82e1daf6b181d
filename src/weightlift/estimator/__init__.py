"""Estimators in the manner of scikit-learn: `recover` behind fit and predict."""

from weightlift.estimator.classifier import OneHiddenLayerClassifier
from weightlift.estimator.regressor import OneHiddenLayerRegressor

__all__ = ["OneHiddenLayerClassifier", "OneHiddenLayerRegressor"]
