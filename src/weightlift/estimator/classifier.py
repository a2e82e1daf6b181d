"""`OneHiddenLayerClassifier`: a classifier recovered from its teacher's scores, logits or probabilities.

Model   P(class 1 | x) = 1/(1 + e^{−f(x)}), f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c; the teacher's answers are f(x) itself, or the
        probability, whose inverse link log p/(1 − p) is f(x): classification becomes regression on f  [zhong2017, §3].
Needs   soft answers. Hard labels say on which side of zero f is, and nothing of its size: units cannot be recovered from them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from weightlift.errors import ArgumentError, DataWarning, warn
from weightlift.estimator.fitting import Options
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.regressor import OneHiddenLayerRegressor
from weightlift.estimator.validation import same_namespace, validated_fit, validated_inputs
from weightlift.namespaces import Array, array_namespace, is_array, to_numpy

TARGETS = ("scores", "logits", "probabilities")


OUT_OF_RANGE = (
    "y must hold probabilities strictly between 0 and 1: at 0 and 1 the score is infinite. Drop those rows, or pass logits "
    "with targets='logits'."
)


class OneHiddenLayerClassifier(OneHiddenLayerRegressor):
    """A teacher's network from its scores, logits or probabilities of class 1.

    The parameters are those of `OneHiddenLayerRegressor`, and one more:

    targets : {"probabilities", "logits", "scores"}, default="probabilities"
        What y holds. Probabilities must lie strictly between 0 and 1. Logits and scores are f(x) itself.

    `classes_` is [0, 1]; the other attributes are the regressor's. Hard labels are refused: use
    `sklearn.neural_network.MLPClassifier`, or ask the teacher for `predict_proba` or `decision_function`.

    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(4, 2, rng=3)
    >>> X, f = wl.draw(truth, 200, rng=4)
    >>> model = OneHiddenLayerClassifier(n_units=2).fit(X, 1 / (1 + np.exp(-f)))
    >>> bool(np.all(model.predict(X) == (f > 0))), wl.match(model.network_, truth).max_error < 1e-8
    (True, True)
    """

    _estimator_type = "classifier"
    _parameter_constraints = {  # noqa: RUF012
        **OneHiddenLayerRegressor._parameter_constraints,
        "targets": [StrOptions(set(TARGETS))],
    }

    def __init__(
        self,
        n_units: int | str = "auto",
        *,
        targets: str = "probabilities",
        activation: Any = "relu",
        bias: bool = True,
        offset: bool = True,
        method: str = "auto",
        refine: bool = True,
        standardize: bool = True,
        alpha: float | str = "auto",
        max_work: float | None = None,
        tol: float = 1e-10,
        random_state: int | np.random.RandomState | None = 0,
        warm_start: bool = False,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            n_units,
            activation=activation,
            bias=bias,
            offset=offset,
            method=method,
            refine=refine,
            standardize=standardize,
            alpha=alpha,
            max_work=max_work,
            tol=tol,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.targets = targets

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Recover the network behind the answers of the kind that `targets` names: y (n,) of class 1, or (n, classes).

        Probabilities of several classes give their logits relative to class 0: a network of one output less.

        X              (n, d) inputs
        sample_weight  (n,) ≥ 0, counts or inverse variances
        """
        options = Options.of(self)
        _refuse_labels(y)
        X, y, w = validated_fit(self, X, y, sample_weight)
        several = y.ndim == 2 and y.shape[1] > 1
        scores = y if self.targets != "probabilities" else _log_ratios(y) if several else _logits(y)
        self._fit_targets(X, scores if several or y.ndim == 1 else scores[:, 0], w, options)
        self.classes_ = np.arange(y.shape[1]) if several else np.array([0, 1])
        return self

    def decision_function(self, X: Any) -> Array:
        """f at the rows of X: the logit of class 1, or (n, classes), relative to class 0 where probabilities were given."""
        check_is_fitted(self)
        same_namespace(X, self, "decision_function")
        return self._scores(X)

    def _scores(self, X: Any) -> Array:
        f = self.network_.predict(validated_inputs(self, X))
        if len(self.classes_) == 2 and self.network_.n_outputs == 1:
            return f if f.ndim == 1 else f[:, 0]
        f = f if f.ndim == 2 else f[:, None]
        xp = array_namespace(f)
        return f if f.shape[1] == len(self.classes_) else xp.concat([xp.zeros_like(f[:, :1]), f], axis=1)

    def predict_proba(self, X: Any) -> Array:
        """(n, classes) probabilities.

        X  (n, d) inputs
        """
        check_is_fitted(self)
        same_namespace(X, self, "predict_proba")
        f = self._scores(X)
        xp = array_namespace(f)
        if f.ndim == 2:
            shares = xp.exp(f - xp.max(f, axis=1, keepdims=True))
            return shares / xp.sum(shares, axis=1, keepdims=True)
        odds = xp.exp(-xp.abs(f))  # of the rarer class: none of its digits is lost
        rare, likely = odds / (1.0 + odds), 1.0 / (1.0 + odds)
        return xp.stack([xp.where(f > 0, rare, likely), xp.where(f > 0, likely, rare)], axis=1)

    def predict(self, X: Any) -> Array:
        """The class of each row, from 0 on.

        X  (n, d) inputs
        """
        check_is_fitted(self)
        same_namespace(X, self, "predict")
        f = self._scores(X)
        xp = array_namespace(f)
        return xp.astype(f > 0, xp.int64) if f.ndim == 1 else xp.argmax(f, axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy against labels.

        X              (n, d) inputs
        y              (n,) classes, from 0 on
        sample_weight  (n,) ≥ 0, how much each row counts
        """
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=True)
        tags.regressor_tags = None
        tags.no_validation = False
        return tags


def _refuse_labels(y: Any) -> None:
    """Two values, or text, are labels, whatever their type."""
    if y is None:
        return  # refused as missing
    values = to_numpy(y) if is_array(y) else np.asarray(y)
    labels = values.dtype.kind in "OUSb" or (values.size > 2 and len(np.unique(values)) == 2)
    if labels:
        raise ArgumentError(
            "y holds hard labels: they tell on which side of zero the score is and nothing of its size, so that no units can "
            "be recovered from them. Ask the teacher for predict_proba or decision_function, or use sklearn's MLPClassifier."
        )


def _log_ratios(p: Array) -> Array:
    """(n, classes − 1) log p/p₀."""
    xp = array_namespace(p)
    if not bool(xp.all((p > 0) & (p < 1))):
        raise ArgumentError(OUT_OF_RANGE)
    if not bool(xp.all(xp.abs(xp.sum(p, axis=1) - 1.0) < LIMITS.sum_of_shares)):
        raise ArgumentError("y holds probabilities of several classes that do not sum to one in each row; pass all classes.")
    return xp.log(p[:, 1:]) - xp.log(p[:, :1])


def _logits(p: Array) -> Array:
    """log p/(1 − p)."""
    xp = array_namespace(p)
    if not bool(xp.all((p > 0) & (p < 1))):
        raise ArgumentError(OUT_OF_RANGE)
    near_one = int(xp.sum(xp.astype(p > 1 - LIMITS.digits_lost, xp.int64)))
    if near_one:
        warn(
            f"{near_one} probabilities are within {LIMITS.digits_lost:g} of 1, where few digits of the score are left, too few "
            "to certify units exactly; pass logits, or the probabilities of the rarer class.",
            DataWarning,
        )
    return xp.log(p) - xp.log1p(-p)
