"""`OneHiddenLayerRegressor`: `recover` with scikit-learn's fit and predict.

Data from a network of the asked form give its units, certified. Any other data give a warning, a useful fit, and a certificate
that says no: a ridge regression, and beside it penalised units, where rows held out gain by them.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from weightlift.activations import Activation
from weightlift.certificate import Certificate, Summary
from weightlift.errors import DataWarning, NotCertifiedWarning, TooFewRowsError, warn
from weightlift.estimator.fitting import Fit, Options, fit_collection, fit_rows
from weightlift.estimator.inspection import findings
from weightlift.estimator.rows import Rows
from weightlift.estimator.several import fit_several
from weightlift.estimator.validation import same_namespace, validated_fit, validated_inputs
from weightlift.namespaces import Array, from_numpy
from weightlift.network import Network
from weightlift.recovery import Recovery
from weightlift.samples import dask as lazy


class OneHiddenLayerRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Recover y = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c from rows, with a certificate.

    Parameters
    ----------
    n_units : int or "auto", default="auto"
        The width. "auto" looks for a width that can be certified, and failing that takes the one with the least held-out risk,
        which may be 0: a line.
    activation : str or Activation, default="relu"
        φ: "relu", "leaky_relu", "squared_relu", "tanh", "sigmoid", "erf", "softplus", …; scikit-learn's "identity" and
        "logistic" are understood.
    bias, offset : bool, default=True
        Whether the units have biases b, and the output a constant c.
    method : {"auto", "tensor", "search"}, default="auto"
        "tensor" takes its start from moments: Gaussian inputs. "search" assumes nothing of the inputs. "auto" takes both.
    refine : bool, default=True
        False keeps the start's directions (from moments where they apply, else random) and fits the output weights alone.
    standardize : bool, default=True
        Whether scales are taken out before the fit: columns that differ much are scaled by powers of two, which is exact, and
        the ridge acts on standardised inputs and target. The network returned is that of the raw inputs.
    alpha : "auto" or float, default="auto"
        Ridge ½ α ‖(W, a, b)‖² on the units. "auto": none where they can be certified, otherwise the α with the least held-out
        risk. 0: never. A positive one is used always, and its fit is never certified. A fit with a ridge has a linear part,
        whose own ridge is that of the least leave-one-out error.
    max_work : float, optional
        Bound on recovery, in Gauss–Newton steps of one start, and as many again for the choice of a ridge: counted, so that
        results repeat. By default 3,000.
    tol : float, default=1e-10
        Relative decrease of the penalised risk at which a ridge fit ends; recovery itself goes on to rounding. Wide networks
        whose α is chosen end after a fixed number of steps.
    random_state : int, RandomState or None, default=0
        The same seed gives the same network.
    warm_start : bool, default=False
        Whether the previous network is refined and certified first; the search follows only if that fails.
    verbose : bool, default=False
        Print where the recovery stands every two seconds, and in the end what each stage did.

    Attributes
    ----------
    network_ : Network
    certificate_ : Certificate
        `bool(certificate_)` says whether the units may be read; `certificate_.reasons` says why.
    recovery_ : Recovery or None
        The stages behind it; None where none ran to an end.
    n_units_, alpha_, n_iter_ : width and ridge that were used, Gauss–Newton steps that were spent
    coefs_, intercepts_ : lists of arrays
        [W (d, k), a (k, m)] and [b (k,), c (m,)], as MLPRegressor has them.
    coef_ : array (d,) or (d, m)
        The linear part V beside the units; zeros where there is none.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(5, 2, rng=0)
    >>> X, y = wl.draw(truth, 200, rng=1)
    >>> model = OneHiddenLayerRegressor(n_units=2).fit(X, y)
    >>> model.certificate_.status.name, wl.match(model.network_, truth).max_error < 1e-10
    ('EXACT', True)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  (scikit-learn's name and place)
        "n_units": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "activation": [str, Activation],
        "bias": ["boolean"],
        "offset": ["boolean"],
        "method": [StrOptions({"auto", "tensor", "search"})],
        "refine": ["boolean"],
        "standardize": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "max_work": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    network_: Network
    certificate_: Certificate
    recovery_: Recovery | None

    def __init__(
        self,
        n_units: int | str = "auto",
        *,
        activation: str | Activation = "relu",
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
        self.n_units = n_units
        self.activation = activation
        self.bias = bias
        self.offset = offset
        self.method = method
        self.refine = refine
        self.standardize = standardize
        self.alpha = alpha
        self.max_work = max_work
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Recover the network behind rows X (n, d), y (n,) or (n, m); weights are counts or inverse variances.

        Predictions have the shape of y. Several targets are fitted jointly, without a ridge, and have no standard errors.

        Dask collections stay where they are: units are recovered there, without scaling, without a ridge to fall back on.

        sample_weight  (n,) ≥ 0, counts or inverse variances
        """
        options = Options.of(self)
        if lazy.is_collection(X):
            return self._fit_collection(X, y, sample_weight, options)
        X, y, w = validated_fit(self, X, y, sample_weight)
        return self._fit_targets(X, y, w, options)

    def _fit_targets(self, X: Array, y: Array, w: Array | None, options: Options) -> Self:
        if y.ndim == 2 and y.shape[1] > 1:
            return self._kept(fit_several(X, y, w, options, rng=self._rng()), X)
        self._fit(X, y if y.ndim == 1 else y[:, 0], w, options)
        if y.ndim == 2:
            net, V = self.network_, self.network_.V
            self.network_ = replace(net, a=net.A, c=np.atleast_1d(net.c), V=None if V is None else V[:, None])
        return self

    def _fit(self, X: Array, y: Array, w: Array | None, options: Options) -> Self:
        with np.errstate(all="ignore"):  # values near the ends of double precision are looked at too
            rows = Rows.of(X, y, w, scaled=self.standardize)
            if len(rows.host[1]) < 2:
                raise TooFewRowsError(f"X and y hold one distinct row of positive weight, {rows.copies + 1} times; give more.")
            found = findings(*rows.host[:2], rows.copies, getattr(self, "feature_names_in_", None))
        for sentence in found:
            warn(sentence, DataWarning)
        previous = getattr(self, "network_", None) if self.warm_start else None
        return self._kept(fit_rows(rows, options, previous=previous, rng=self._rng()), X)

    def _fit_collection(self, X: Any, y: Any, w: Any, options: Options) -> Self:
        fit = fit_collection(lazy.open(X, y, sample_weight=w), options, rng=self._rng())
        self.n_features_in_ = fit.network.n_inputs
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self._kept(fit, fit.network.W)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _kept(self, fit: Fit, like: Array) -> Self:
        self._keep(fit, like)
        if self.verbose and fit.recovery is not None:
            print(fit.recovery)
        if not fit.certificate:
            warn(
                f"The units are not certified. {' '.join(fit.certificate.reasons)} Predictions may be useful; the units are "
                "not to be read.",
                NotCertifiedWarning,
            )
        return self

    def _keep(self, fit: Fit, X: Array) -> None:
        net = fit.network
        self.network_ = net
        self.certificate_ = fit.certificate
        self.recovery_ = fit.recovery
        self.n_units_ = net.n_units
        self.alpha_ = fit.alpha
        self.n_iter_ = max(1, round(fit.work))
        self._table = fit.table
        W, a, b, c = (from_numpy(np.array(v), like=X) for v in (net.W, net.A, net.b, np.atleast_1d(net.c)))
        V = np.zeros((net.n_inputs, *net.a.shape[1:])) if net.V is None else np.array(net.V)
        self.coefs_ = [W, a]
        self.coef_ = from_numpy(V, like=X)
        self.intercepts_ = [b, c]
        self._W = W  # the namespace and device of the fit, for scikit-learn's check

    def predict(self, X: Any) -> Array:
        """f at the rows of X (n, d), in its namespace and on its device; lazy for a Dask collection."""
        check_is_fitted(self)
        if lazy.is_collection(X):
            return lazy.predict(self.network_, X)
        same_namespace(X, self, "predict")
        return self.network_.predict(validated_inputs(self, X))

    def summary(self, level: float = 0.95) -> Summary:
        """Estimates with standard errors and intervals, as text, HTML or a data frame.

        Where the units are not certified the objection comes first; a ridge fit has estimates alone.

        level  the probability with which an interval covers
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        table = replace(self._table, level=level)
        return table if names is None else table.named(names)

    def conf_int(self, level: float = 0.95) -> np.ndarray:
        """(P, 2) confidence intervals in the order of `summary`; NaN where a fit has none, infinite where rows tell nothing.

        level  the probability with which an interval covers
        """
        return self.summary(level).inference.intervals(level)

    def _html_repr(self) -> str:
        html: str = super()._html_repr()
        if not hasattr(self, "certificate_"):
            return html
        names = getattr(self, "feature_names_in_", None)
        return html + self.certificate_._repr_html_() + self.network_.html(None if names is None else names.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.target_tags.multi_output = True
        return tags
