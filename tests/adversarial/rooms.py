"""Bad arguments of the rooms, from moments and decompositions to plots and reports; more of the doors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from tests.adversarial.arrays import TRUTH, X, Y, fit, put
from tests.adversarial.cases import Case, refused, same, uncertified
from tests.adversarial.commands import mistaken
from tests.adversarial.oracles import BOX, extract

import weightlift as wl
from weightlift import (
    certificate,
    decomposition,
    errors,
    hermite,
    identifiability,
    initialization,
    learning,
    moments,
    plots,
    refinement,
    report,
    samples,
    teachers,
    theory,
)

ROWS, NAN = samples.open(X, Y), float("nan")
YY = np.stack([Y, 2 * Y - X[:, 0]], 1)
PAIR = samples.open(X, YY)
TWO = teachers.several(TRUTH, 2, rng=0)
NARROW = wl.Network(np.eye(2))
CUBE = np.ones((2, 2, 2))
Shape, NotFinite = errors.ShapeError, errors.NotFiniteError


def regressor(X: Any = X, y: Any = Y, weights: Any = None, **options: Any) -> Any:
    return wl.OneHiddenLayerRegressor(**{"n_units": 2, "max_work": 20, **options}).fit(X, y, sample_weight=weights)


def classifier(y: Any) -> Any:
    return wl.OneHiddenLayerClassifier(2).fit(X, y)


MOMENTS = [
    refused("a moment of order −1", lambda: moments.hermite_coefficient(ROWS, -1), "order must be a non-negative integer"),
    refused("a moment of order 1.5", lambda: moments.hermite_coefficient(ROWS, 1.5), "order must be a non-negative integer"),
    refused("a moment of order 60", lambda: moments.hermite_coefficient(ROWS, 60), "T_60 in 3 dimensions need"),
    refused("a moment of arrays", lambda: moments.hermite_coefficient(X, 2), "samples must be rows as samples.open"),
    refused("a regression of degree −1", lambda: moments.hermite_regression(ROWS, -1), "degree must be a non-negative"),
    refused("a regression of degree 30", lambda: moments.hermite_regression(ROWS, 30), "degree 30 in 3 inputs"),
    refused("a regression of two outputs", lambda: moments.hermite_regression(PAIR, 2), "y has 2 columns", Shape),
    refused("moments of an unknown φ", lambda: moments.choose_moments("rellu"), "relu", errors.ActivationError),
    refused("a form of order 0", lambda: moments.power_form(ROWS, 0)(X[:2].T), "order must be"),
    refused("He_−1(x)", lambda: hermite.tensor(-1, X), "order must be a non-negative integer"),
    refused("He_20 of rows", lambda: hermite.tensor(20, X), "contract it instead"),
    refused("He_1.5", lambda: hermite.polynomial(1.5, Y), "order must be a non-negative integer, not 1.5"),
    refused("He_'2'", lambda: hermite.normalized("2", Y), "order must be a non-negative integer, not '2'"),
    same("moments of a name", lambda: (moments.choose_moments("squared_relu").j3, 3)),
]

DECOMPOSITIONS = [
    refused("Jennrich of NaN", lambda: decomposition.jennrich(np.full((2, 2, 2), NAN)), "R holds 8 entries", NotFinite),
    refused("one projection", lambda: decomposition.kcl(CUBE, projections=0), "projections must be at least 2"),
    refused("a diagonalizer that is none", lambda: decomposition.joint_diagonalize(CUBE, method="x"), "method must be one of"),
    refused("slices of zeros", lambda: decomposition.joint_diagonalize(0 * CUBE), "null vector", errors.SingularError),
    refused("slices of one axis", lambda: decomposition.joint_diagonalize(np.ones(3)), "M must be slices", Shape),
    refused("no starts", lambda: decomposition.subspace_power(np.ones((2, 2, 2, 2)), rank=1, starts=0), "starts must be"),
    refused("an implicit rank of 0", lambda: decomposition.implicit_cp(CUBE, rank=0), "rank must be at least 1"),
    refused("a beginning that is none", lambda: decomposition.power_iteration(CUBE, rank=1, begin="x"), "begin must be one"),
    refused("pencils of two sizes", lambda: decomposition.shared_directions(np.eye(2), np.eye(3)), "of one size", Shape),
    refused("components of two lengths", lambda: decomposition.compose([1.0], np.eye(3), 3), "weights must have", Shape),
    refused("a tensor of order 40", lambda: decomposition.compose([1.0, 1, 1], np.eye(3), 40), "order must be.*not 40"),
    refused("a tensor of order −1", lambda: decomposition.compose([1.0, 1, 1], np.eye(3), -1), "order must be.*not -1"),
]

REFINEMENT = [
    refused("Gauss–Newton on arrays", lambda: refinement.gauss_newton(X, TRUTH), "samples must be rows as samples.open"),
    refused("Gauss–Newton from text", lambda: refinement.gauss_newton(ROWS, "x"), "start must be a Network"),
    refused("Gauss–Newton of other inputs", lambda: refinement.gauss_newton(ROWS, NARROW), "start has 2 inputs and the data 3"),
    refused("parameters that are none", lambda: refinement.gauss_newton(ROWS, TRUTH, free="Q"), "free must name parameters"),
    refused("a solver that is none", lambda: refinement.gauss_newton(ROWS, TRUTH, solver="x"), "solver must be"),
    refused("Gauss–Newton of two outputs", lambda: refinement.gauss_newton(PAIR, TRUTH), "y has 2 columns", Shape),
    refused("a step of text", lambda: refinement.gradient_descent(ROWS, TRUTH, step="big"), "step must be a positive number"),
    refused("a step of NaN", lambda: refinement.gradient_descent(ROWS, TRUTH, step=NAN), "step must be a positive number"),
    refused("no parts", lambda: refinement.gradient_descent(ROWS, TRUTH, parts=0), "parts must be at least 1"),
    refused(
        "more parts than rows",
        lambda: refinement.gradient_descent(ROWS, TRUTH, parts=1000),
        "parts = 1000, of 60 rows",
        errors.TooFewRowsError,
    ),
    refused("SGD backwards", lambda: refinement.sgd(ROWS, TRUTH, step=-1.0), "step must be a positive number"),
    refused("SGD of no steps", lambda: refinement.sgd(ROWS, TRUTH, steps=0), "steps must be at least 1"),
    refused("SGD of no window", lambda: refinement.sgd(ROWS, TRUTH, window=0), "window must be at least 1"),
    refused("SGD in bytes", lambda: refinement.sgd(ROWS, TRUTH, dtype="int8"), "dtype must be"),
    refused("SGD of two outputs", lambda: refinement.sgd(PAIR, TWO), "start must have one output"),
    refused(
        "variable projection of text",
        lambda: refinement.variable_projection(PAIR, "x", refinement.Model()),
        "start must be a Network",
    ),
    refused(
        "variable projection of arrays",
        lambda: refinement.variable_projection(X, TWO, refinement.Model()),
        "samples must be rows",
    ),
    refused("a stable step of NaN", lambda: refinement.stable_step(TRUTH, X * NAN, Y), "not finite"),
]

INITIALIZATION = [
    refused("more units than inputs", lambda: initialization.tensor_init(ROWS, 5, "relu"), "n_units = 5 with 3 inputs"),
    refused("a preset that is none", lambda: initialization.tensor_init(ROWS, 2, "relu", preset="x"), "preset must be one of"),
    refused("moments of order 40", lambda: initialization.hermite_init(ROWS, 2, order=40), "order must be below 21"),
    refused("no inputs to draw", lambda: initialization.gaussian_init(0, 2, "relu"), "n_inputs must be at least 1"),
    refused("no units to start", lambda: initialization.overcomplete_init(ROWS, 0), "n_units must be at least 1"),
    refused("a robust fit of text", lambda: initialization.robust_fit(ROWS, "x"), "units must be a Network"),
    refused("no iterations", lambda: learning.learn_relu(X, Y, n_units=2, iterations=0), "iterations must be at least 1"),
    refused("a start that is none", lambda: learning.learn_relu(X, Y, n_units=2, initialization="x"), "initialization must"),
    refused("learning two outputs", lambda: learning.learn_relu(X, YY, n_units=2), "y has 2 columns", Shape),
    refused(
        "resampling in words",
        lambda: learning.learn_1nn(X, Y, n_units=2, activation="relu", resample="yes"),
        "resample must be True, False or a number",
    ),
]

THEORY = [
    refused("reducible text", lambda: identifiability.irreducible("x"), "network must be a Network"),
    refused("the order of NaN", lambda: identifiability.least_order(np.full((3, 2), NAN)), "W holds NaN", NotFinite),
    refused("no orders", lambda: identifiability.least_order(TRUTH, max_order=0), "max_order must be"),
    refused("a tolerance of NaN", lambda: identifiability.sign_patterns(TRUTH, tol=NAN), "tol and near must satisfy"),
    refused("no patterns", lambda: identifiability.sign_patterns(TRUTH, max_patterns=0), "max_patterns must be at least 1"),
    refused("the least of two outputs", lambda: identifiability.minimal(TWO), "is for one output", Shape),
    refused("a pattern too short", lambda: identifiability.reflect(TRUTH, np.array([True])), "pattern must have shape", Shape),
    refused("twins of unit 9", lambda: identifiability.twin(TRUTH, [9]), "subset must name different units"),
    refused("conditions of two outputs", lambda: theory.conditioning(TWO), "is for one output", Shape),
    refused("a risk of other inputs", lambda: theory.population_risk(TRUTH, NARROW), "student has 3 inputs", Shape),
    refused("a negative noise", lambda: theory.population_risk(TRUTH, TRUTH, noise_std=-1.0), "noise_std must be"),
    refused("scales below zero", lambda: theory.check_properties("relu", scales=[-1.0]), "scales must be"),
    refused("no points", lambda: theory.local_constants(TRUTH, points=0), "points must be at least 1"),
    refused("power sums of NaN", lambda: theory.power_sums(np.full((3, 3, 3), NAN)), "tensor holds 27", NotFinite),
    refused("no steps to contract", lambda: theory.contraction(TRUTH, TRUTH, steps=0), "steps and rows must be"),
    refused("a bound of NaN noise", lambda: certificate.cramer_rao(TRUTH, X, NAN), "noise_std must not be negative"),
    refused("a bound from two rows", lambda: certificate.cramer_rao(TRUTH, X[:2], 0.1), "not determine", errors.SingularError),
    refused("robust = 'no'", lambda: certificate.inference(TRUTH, X, Y, robust="no"), "robust must be True or False"),
    refused("errors from four rows", lambda: certificate.inference(TRUTH, X[:4], Y[:4]), "4 rows", errors.TooFewRowsError),
]

PAGES = [
    refused("a page of nothing", lambda: report.page(None), "found must be what `recover` returns"),
    refused("a report to a number", lambda: fit().report(3), "path must be the name of a file, not 3"),
    refused("a network to a number", lambda: TRUTH.save(3), "path must be the name of a file, not 3"),
    refused("a summary at level 2", lambda: fit().summary(level=2.0), "level must be between 0 and 1"),
    refused("a summary at level NaN", lambda: fit().summary(level=NAN), "level must be between 0 and 1"),
    refused("units of other inputs", lambda: plots.UnitsDisplay.from_networks(TRUTH, NARROW), "pass equal numbers", Shape),
    refused(
        "one name for three inputs",
        lambda: plots.UnitsDisplay.from_networks(TRUTH, TRUTH, feature_names=["a"]),
        "one name an input",
        Shape,
    ),
    refused("a pie of units", lambda: plots.UnitsDisplay.from_networks(TRUTH, TRUTH, kind="pie"), "kind must be one of"),
    refused("a pie of residuals", lambda: plots.ResidualsDisplay(Y, Y).plot(kind="pie"), "kind must be one of"),
    refused("residuals of two lengths", lambda: plots.ResidualsDisplay(Y, Y[:3]), "must have one length", Shape),
    refused("a spectrum of NaN", lambda: plots.SpectrumDisplay.from_data(X * NAN, Y), "X holds NaN", NotFinite),
]

REGRESSORS = [
    refused("a regressor, sparse", lambda: regressor(scipy.sparse.csr_array(X)), "toarray", TypeError),
    refused("a regressor, NaN in one output", lambda: regressor(y=put(YY, (3, 1), NAN)), "y contains NaN", ValueError),
    refused("a regressor, unknown φ", lambda: regressor(activation="rellu"), "relu", errors.ActivationError),
    refused("a regressor, method", lambda: regressor(method="magic"), "'method' parameter", ValueError),
    refused("a regressor, one row", lambda: regressor(X[:1], Y[:1]), "minimum of 2", ValueError),
    refused("a regressor, words", lambda: regressor(y=np.array(["a"] * 60)), "numeric", ValueError),
    refused("a regressor, weights 0", lambda: regressor(weights=np.zeros(60)), "non-zero", ValueError),
    refused("a regressor, weights < 0", lambda: regressor(weights=-np.ones(60)), "Negative values", ValueError),
    refused("a regressor, three weights", lambda: regressor(weights=np.ones(3)), "sample_weight", ValueError),
    refused("a regressor, NaN to predict", lambda: regressor().predict(X * NAN), "X contains NaN", ValueError),
    refused("a regressor, scored on three", lambda: regressor().score(X, Y[:3]), "inconsistent numbers", ValueError),
    refused("a regressor, an option more", lambda: regressor().set_params(foo=3), "Invalid parameter 'foo'", ValueError),
    refused("one class alone", lambda: classifier(np.ones(60)), "strictly between 0 and 1"),
    refused("probabilities of nine", lambda: classifier(Y * 9), "strictly between 0 and 1"),
    refused("probabilities of NaN", lambda: classifier(Y * NAN), "y contains NaN", ValueError),
    refused("classes that sum to 1.5", lambda: classifier(np.full((60, 3), 0.5)), "sum to one"),
    same("a regressor of a constant", lambda: (regressor(y=np.ones(60)).predict(X[:2]), np.ones(2))),
    same("a regressor of zeros", lambda: (regressor(y=np.zeros(60)).predict(X[:2]), np.zeros(2))),
]

SEVERAL = [
    refused("two outputs of zeros", lambda: fit(y=np.zeros((60, 2))), "zero on every row"),
    refused("an output of 1e200", lambda: fit(y=np.stack([Y, Y * 1e200], 1)), "squares overflow"),
    refused("an infinite output", lambda: fit(y=put(YY, (3, 1), np.inf)), r"y holds.*row 3\b", NotFinite),
    refused("complex outputs", lambda: fit(y=YY * 1j), "y is complex", NotFinite),
    refused("masked outputs", lambda: fit(y=np.ma.masked_greater(YY, 1)), "masked", NotFinite),
    refused("two outputs, three weights", lambda: fit(y=YY, sample_weight=np.ones(3)), "sample_weight must have", Shape),
    refused("three outputs for two", lambda: wl.certify(TWO, X, np.zeros((60, 3))), "y has 3 columns", Shape),
    refused("held out for one of two", lambda: wl.certify(TWO, X, YY, heldout=(X, Y)), "y of heldout has no", Shape),
    refused("output True", lambda: TWO.output(True), "one of the 2 outputs"),
    refused("matched with one of two", lambda: wl.match(TWO, TRUTH), "same outputs", Shape),
    uncertified("an output that is constant", lambda: fit(y=np.stack([Y, np.ones(60)], 1))),
    uncertified("outputs that are noise", lambda: fit(y=np.random.default_rng(0).normal(size=(60, 3)))),
    uncertified("two outputs, no time", lambda: fit(y=YY, max_time=0)),
    same("an output twice", lambda: (fit(y=np.stack([Y, Y], 1)).network.predict(X)[:, 1], Y)),
    same("an output of 1e12", lambda: (fit(y=np.stack([Y, Y * 1e12], 1)).network.predict(X)[:, 1] / 1e12, Y)),
    same("an output of 1e-200", lambda: (1e200 * fit(y=np.stack([Y, Y * 1e-200], 1)).network.predict(X)[:, 1], Y)),
    same("more outputs than rows", lambda: (fit(y=np.tile(Y[:, None], (1, 100))).network.predict(X)[:, 99], Y)),
]

LINES = [
    mistaken("extract net.safetensors --inputs 3 --retries -1", "--retries|retries"),
    mistaken("extract net.safetensors --inputs 3 --activation rellu", "relu"),
    mistaken("extract net.safetensors --inputs 3 --out net.txt", "must end in .safetensors"),
    mistaken("extract net.safetensors --inputs 3 --out there.safetensors", "--force"),
    mistaken("recover data.npz --units 2 --max-time -1", "--max-time|max_time"),
    mistaken("recover data.csv --units 2 --target y --bias maybe", "unexpected extra argument|none of|--bias"),
    mistaken("predict net.safetensors data.npz --out there.safetensors", ".csv or .npy"),
    mistaken("show net.safetensors net.safetensors", "unexpected extra argument"),
    mistaken("convert net.safetensors --to onnx --out model.txt", "must end in"),
    mistaken("diagnose net.safetensors data.npz data.npz", "unexpected extra argument"),
    mistaken("demo --units 0", "--units"),
    mistaken("demo --inputs -3", "--inputs"),
]

BOXES = [
    refused("a scale without end", lambda: extract(scale=np.inf), "scale must be"),
    refused("a center of two", lambda: extract(center=[1.0, 2.0]), "center must be", Shape),
    refused("a center beyond all", lambda: extract(center=1e300), "oracle is constant", errors.OracleError),
    refused("a budget in words", lambda: extract(budget="all"), "budget must be an integer"),
    refused("a journal that is a number", lambda: extract(journal=3), "journal must be"),
    refused("a box that is a class", lambda: extract(dict), ".", errors.WeightliftError),
    uncertified("steps instead of kinks", lambda: extract(lambda X: np.floor(X.sum(1)))),
    uncertified("the largest input", lambda: extract(lambda X: X.max(axis=1))),
    uncertified("answers of 1e200", lambda: extract(lambda X: 1e200 * BOX.predict(X))),
    uncertified("answers of 1e-200", lambda: extract(lambda X: 1e-200 * BOX.predict(X))),
    same("one question at a time", lambda: (extract(batch_size=1).network.n_units, 2)),
    same("a series for answers", lambda: (extract(lambda X: list(map(float, BOX.predict(X)))).network.n_units, 2)),
]

CASES: dict[str, list[Case]] = {
    "rooms, moments": MOMENTS,
    "rooms, decompositions": DECOMPOSITIONS,
    "rooms, refinement": REFINEMENT,
    "rooms, initialization": INITIALIZATION,
    "rooms, theory": THEORY,
    "rooms, pages": PAGES,
    "doors, regressors": REGRESSORS,
    "doors, outputs": SEVERAL,
    "doors, lines": LINES,
    "doors, boxes": BOXES,
}
