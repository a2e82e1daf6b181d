"""scikit-learn's MLPRegressor with the weights filled in; and back, from an MLPClassifier too."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.export.plain import name_in, refuse_linear, unscaled
from weightlift.network import Network

LOGITS = ("identity", "softmax", "logistic")


def to_sklearn(network: Network) -> Any:
    """A fitted `MLPRegressor` with this network's weights; its predictions are the network's.

    >>> net = Network([[1.0, 0.0], [2.0, -1.0]], a=[1.0, -1.0], b=[0.5, 0.0], c=2.0)
    >>> to_sklearn(net).predict([[1.0, 1.0]])
    array([5.5])
    """
    from sklearn.neural_network import MLPRegressor

    net = unscaled(network)
    name = name_in("sklearn", net, "scikit-learn's MLPRegressor")
    refuse_linear(net, "scikit-learn's MLPRegressor")
    model = MLPRegressor(hidden_layer_sizes=(net.n_units,), activation=name)
    model.coefs_ = [np.array(net.W), np.array(net.A)]
    model.intercepts_ = [np.array(net.b), np.array(np.atleast_1d(net.c))]
    model.n_features_in_, model.n_outputs_, model.n_layers_ = net.n_inputs, net.n_outputs, 3
    model.out_activation_ = "identity"
    model.n_iter_, model.t_, model.loss_, model.best_loss_, model.loss_curve_ = 0, 0, float("nan"), None, []
    return model


def from_sklearn(model: Any) -> Network:
    """The network of a fitted MLPRegressor with one hidden layer, or that of an MLPClassifier's logits.

    With one output a is (k,), else (k, m), a column a target or class.

    model  a fitted MLPRegressor or MLPClassifier
    """
    coefs, intercepts = getattr(model, "coefs_", None), getattr(model, "intercepts_", None)
    if coefs is None or intercepts is None:
        raise ArgumentError(f"model must be a fitted MLPRegressor or MLPClassifier, not {type(model).__name__} without coefs_.")
    if len(coefs) != 2:
        shape = " × ".join(str(c.shape[1]) for c in coefs)
        raise ArgumentError(f"model has layers of {shape} units; a network here has one hidden layer.")
    if getattr(model, "out_activation_", "identity") not in LOGITS:
        raise ArgumentError(f"model ends in {model.out_activation_!r}; known are {', '.join(LOGITS)}.")
    single = coefs[1].shape[1] == 1
    a, c = (coefs[1][:, 0], intercepts[1][0]) if single else (coefs[1], intercepts[1])
    return Network(coefs[0], a, intercepts[0], c, activation=model.activation)
