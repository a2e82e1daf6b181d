"""Bad arguments of every other public entry point: certify, decompose, diagnose, networks, exports, estimators, teachers."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse
from tests.adversarial.arrays import TRUTH, X, Y, fit, put
from tests.adversarial.cases import Case, refused, same, uncertified
from tests.adversarial.commands import mistaken
from tests.adversarial.oracles import BOX, W, extract

import weightlift as wl
from weightlift import activations, errors, export

TENSOR = wl.decomposition.compose([2.0, -1.0], [[1.0, 0.6], [0.0, 0.8]], 3)
TWO = wl.teachers.several(TRUTH, 2)
NONE = wl.Network(np.zeros((3, 0)))
STEEP = wl.Network(TRUTH.W * 1e60)
BAD = errors.FileFormatError
NET = "net.safetensors"


def estimator(**options: Any) -> Any:
    return wl.OneHiddenLayerRegressor(**{"n_units": 2, "max_work": 20, **options}).fit(X, Y)


def cube(z: Any) -> Any:
    return z**3


def slope(z: Any) -> Any:
    return 3 * z**2


RECOVER = [
    refused("explore = 'no'", lambda: fit(explore="no"), "explore must be True or False"),
    refused("explore an array", lambda: fit(explore=np.array([1, 2])), "explore must be True or False"),
    refused("n_units = 'AUTO'", lambda: fit(n_units="AUTO"), "n_units must be a positive integer or 'auto'"),
    refused("n_units = b'2'", lambda: fit(n_units=b"2"), "n_units must be a positive integer"),
    refused("n_units infinite", lambda: fit(n_units=float("inf")), "n_units must be a positive integer"),
    refused("bias = None", lambda: fit(bias=None), "bias must be True or False"),
    refused("linear = None", lambda: fit(linear=None), "linear must be"),
    refused("max_time complex", lambda: fit(max_time=1j), "max_time must be a number"),
    refused("max_work an array", lambda: fit(max_work=np.array([1, 2])), "max_work must be a number"),
    refused("rng a class", lambda: fit(rng=np.random.default_rng), "rng must be a seed"),
    refused("known weights complex", lambda: fit(output_weights=[1j, 1]), "output_weights must be"),
    refused("known weights a set", lambda: fit(output_weights={1.0, 2.0}), "output_weights must be"),
    refused("method a list", lambda: fit(method=["auto"]), "method must be one of"),
    refused("numbers beyond floats in X", lambda: fit([[10**400, 1, 2]] * 60), "X holds object values"),
    refused("None in y", lambda: fit(y=[None, *Y[1:]]), "y holds object values"),
    refused("weights as text", lambda: fit(sample_weight="ones"), "sample_weight holds"),
    refused("weights a number", lambda: fit(sample_weight=2.0), "sample_weight must have shape", errors.ShapeError),
    refused("weights complex", lambda: fit(sample_weight=np.ones(60) * 1j), "sample_weight is complex", errors.NotFiniteError),
    refused("weights sparse", lambda: fit(sample_weight=scipy.sparse.csr_array(np.ones((1, 60)))), "sample_weight is sparse"),
    refused("one spike of 1e100", lambda: fit(y=Y + put(np.zeros(60), 3, 1e100)), r"y has the size 1e\+"),
    refused("a callback that raises", lambda: fit(callback=lambda event: 1 / 0), "division", ZeroDivisionError),
    uncertified("weights from 1e-300 to 1", lambda: fit(sample_weight=np.logspace(-300, 0, 60))),
    uncertified("inputs around 2⁵²", lambda: fit(X + 2.0**52)),
    uncertified("inputs around 1e12", lambda: fit(X + 1e12)),
    uncertified("one spike", lambda: fit(y=put(np.zeros(60), 3, 1.0))),
    uncertified("all rows alike", lambda: fit(np.ones((60, 3)))),
    uncertified("no time", lambda: fit(max_time=0)),
    uncertified("no work", lambda: fit(max_work=0)),
    same("work without end", lambda: (fit(max_work=10**400).network.W, fit().network.W)),
    same("a buffer", lambda: (fit(memoryview(np.ascontiguousarray(X))).network.W, fit().network.W)),
]

CERTIFY = [
    refused("held-out rows of three things", lambda: wl.certify(TRUTH, X, Y, heldout=(X, Y, Y)), r"a pair \(X, y\), not 3"),
    refused("held-out NaN", lambda: wl.certify(TRUTH, X, Y, heldout=(X * np.nan, Y)), "X holds NaN", errors.NotFiniteError),
    refused("one held-out row", lambda: wl.certify(TRUTH, X, Y, heldout=(X[:1], Y[:1])), "1 rows", errors.TooFewRowsError),
    refused("a network without units", lambda: wl.certify(NONE, X, Y), "neither units"),
    refused("a class to certify", lambda: wl.certify(wl.Network, X, Y), "network must be a Network"),
    refused(
        "one weight to certify", lambda: wl.certify(TRUTH, X, Y, sample_weight=[1.0]), "must have shape", errors.ShapeError
    ),
    uncertified("weights that are zero", lambda: wl.certify(wl.Network(np.zeros((3, 2))), X, Y)),
    uncertified("weights of 1e200", lambda: wl.certify(wl.Network(TRUTH.W * 1e200), X, Y)),
    uncertified(
        "a unit in two halves",
        lambda: wl.certify(wl.Network(np.hstack([TRUTH.W, TRUTH.W[:, :1]]), [0.5, -0.8, 0.5]), X, Y),
    ),
    same(
        "held-out rows in a list",
        lambda: (wl.certify(TRUTH, X, Y, heldout=[X, Y]).status, wl.certify(TRUTH, X, Y, heldout=(X, Y)).status),
    ),
]

DECOMPOSE = [
    refused("a number as a tensor", lambda: wl.decompose(3.0, 1), "order 3 or more, not 0", errors.ShapeError),
    refused("a ragged tensor", lambda: wl.decompose([[[1], [2, 3]]], 1), "rectangular", errors.ShapeError),
    refused("a masked tensor", lambda: wl.decompose(np.ma.masked_greater(TENSOR, 1), 2), "masked", errors.NotFiniteError),
    refused("a tensor of objects", lambda: wl.decompose(TENSOR.astype(object), 2), "must hold real numbers"),
    refused("a rank beyond all tensors", lambda: wl.decompose(TENSOR, 10**9, method="implicit_cp"), "rank=1000000000"),
    refused("a rank of text", lambda: wl.decompose(TENSOR, "2"), "rank must be an integer"),
    refused("refine = 'no'", lambda: wl.decompose(TENSOR, 2, refine="no"), "refine must be True or False"),
    refused("methods in a list", lambda: wl.decompose(TENSOR, 2, method=["kcl"]), "method must be"),
    refused("a method that returns nothing", lambda: wl.decompose(TENSOR, 2, method=lambda R, rng: None), "a Decomposition"),
    refused(
        "a second moment of NaN",
        lambda: wl.decompose(TENSOR, 2, method="power", second_moment=np.full((2, 2), np.nan)),
        "second_moment",
        errors.NotFiniteError,
    ),
    same("a tensor of 1e-320", lambda: (len(wl.decompose(TENSOR * 1e-320, 2).weights), 2)),
    same("a tensor of 1e308", lambda: (wl.decompose(TENSOR * 8e307, 2).weights / 8e307, np.array([2.0, 1.0]))),
]

DIAGNOSE = [
    refused("10⁴⁰⁰ inputs", lambda: wl.diagnose.shape(10**400, 2), "n_inputs must be below"),
    refused("10⁴⁰⁰ rows", lambda: wl.diagnose.shape(3, 2, n=10**400), "n must be below"),
    refused("diagnose bias = 'no'", lambda: wl.diagnose.shape(3, 2, bias="no"), "bias must be True or False"),
    refused("diagnose offset = 'no'", lambda: wl.diagnose.network(TRUTH, offset="no"), "offset must be"),
    refused("diagnose data, bias = 'no'", lambda: wl.diagnose.data(X, Y, bias="no"), "bias must be"),
    refused("diagnose no units", lambda: wl.diagnose.network(NONE), "no units"),
    refused("diagnose two outputs", lambda: wl.diagnose.data(X, np.stack([Y, Y], 1)), "y has 2 columns", errors.ShapeError),
    refused("diagnose NaN", lambda: wl.diagnose.data(X * np.nan, Y), "X holds NaN", errors.NotFiniteError),
    refused("diagnose text", lambda: wl.diagnose.network("x"), "net must be a Network"),
]

NETWORKS = [
    refused(
        "masked weights of units", lambda: wl.Network(np.ma.masked_greater(TRUTH.W, 0.5)), "W has masked", errors.NotFiniteError
    ),
    refused(
        "a masked linear part",
        lambda: wl.Network(TRUTH.W, V=np.ma.masked_greater([1.0, 2, 3], 2)),
        "V has masked",
        errors.NotFiniteError,
    ),
    refused("a weight of 10⁴⁰⁰", lambda: wl.Network([[10**400]]), "W must hold numbers"),
    refused("sparse weights of units", lambda: wl.Network(scipy.sparse.eye(3)), "W must hold numbers"),
    refused("output 5 of one", lambda: TRUTH.output(5), "one of the 1 outputs"),
    refused("output 'a'", lambda: TWO.output("a"), "one of the 2 outputs"),
    refused("equivalent to text", lambda: TRUTH.equivalent("x"), "other must be a Network"),
    refused("equivalent to NaN", lambda: TRUTH.equivalent(TRUTH, tol=np.nan), "tol must be"),
    refused("distance to text", lambda: wl.distance(TRUTH, "x"), "g must be a Network"),
    refused("the population of text", lambda: wl.samples.population("x"), "network must be a Network"),
    refused("predict of None", lambda: TRUTH.predict(None), "X has dtype object"),
    refused("predict of complex rows", lambda: TRUTH.predict(X * 1j), "X is complex", errors.NotFiniteError),
    refused("names in one text", lambda: TRUTH.save(NET, inputs="abc"), "inputs must be 3 names"),
    refused("names that are numbers", lambda: TRUTH.save(NET, inputs=[1, 2, 3]), "inputs must be 3 names"),
    refused("save to a folder", lambda: TRUTH.save("."), "Is a directory", IsADirectoryError),
    refused("save to no name", lambda: TRUTH.save(""), "Is a directory", IsADirectoryError),
    refused("load a device without end", lambda: wl.Network.load("/dev/zero"), "is a device", BAD),
    refused("load nothing", lambda: wl.Network.load("/dev/null"), "is a device", BAD),
    refused("load a link to itself", lambda: (os.symlink("l", "l"), wl.Network.load("l")), "symbolic links", OSError),
    refused("a name of 300 letters", lambda: TRUTH.save("x" * 300), "too long", OSError),
    same(
        "a name of a lone surrogate",
        lambda: (TRUTH.save(NET, inputs=["\ud800", "b", "c"]), (wl.Network.load(NET).W, TRUTH.W))[1],
    ),
    same("no rows to predict", lambda: (TRUTH.predict(np.zeros((0, 3))), np.zeros(0))),
]

ACTIVATIONS = [
    refused(
        "a custom φ without function",
        lambda: activations.custom("x", None, slope),
        "value must be a function",
        errors.ActivationError,
    ),
    refused(
        "kinks as text",
        lambda: activations.custom("x", cube, slope, kinks="ab"),
        "kinks must be numbers",
        errors.ActivationError,
    ),
    refused(
        "a kink at NaN",
        lambda: activations.custom("x", cube, slope, kinks=[np.nan]),
        "kinks must be finite",
        errors.ActivationError,
    ),
    refused(
        "a derivative of another φ", lambda: activations.custom("x", cube, cube), "derivative disagrees", errors.ActivationError
    ),
    refused("a name of the catalogue", lambda: activations.custom("relu", cube, slope), "name must be", errors.ActivationError),
    refused(
        "a polynomial of degree 10⁵", lambda: activations.polynomial(np.ones(10**5)), "degree 99999", errors.ActivationError
    ),
    refused("a polynomial of text", lambda: activations.polynomial("abc"), "coefficients must be", errors.ActivationError),
    refused("an elu of −1", lambda: activations.elu(-1.0), "alpha must be positive", errors.ActivationError),
    refused("a leaky relu of slope 1", lambda: activations.leaky_relu(1.0), "linear", errors.ActivationError),
    refused("φ described by a list", lambda: activations.from_json([1]), "description", errors.ActivationError),
]

EXPORTS = [
    refused("a state in float32 that overflows", lambda: export.to_safetensors(STEEP, "s", dtype="float32"), "float32 ends at"),
    refused("no model of scikit-learn", lambda: export.from_sklearn("x"), "fitted MLPRegressor"),
    refused(
        "a φ that scikit-learn lacks",
        lambda: export.to_sklearn(wl.Network(TRUTH.W, activation="erf")),
        "erf",
        errors.ActivationError,
    ),
    refused("a linear part for scikit-learn", lambda: export.to_sklearn(wl.Network(TRUTH.W, V=[1.0, 2, 3])), "linear part"),
    refused(
        "a φ against the file's",
        lambda: (export.to_safetensors(TRUTH, "s.safetensors"), export.from_safetensors("s.safetensors", activation="tanh")),
        "says 'relu'",
    ),
    refused("a state that is a folder", lambda: export.from_safetensors("."), "directory", OSError),
    refused("a report on a folder", lambda: fit().report("."), "Is a directory", IsADirectoryError),
    refused("a report in no folder", lambda: fit().report("no/where.html"), "no/where.html", FileNotFoundError),
]

ESTIMATORS = [
    refused("an estimator of 0 units", lambda: estimator(n_units=0), "'n_units' parameter", ValueError),
    refused("alpha = −1", lambda: estimator(alpha=-1), "'alpha' parameter", ValueError),
    refused("alpha = NaN", lambda: estimator(alpha=np.nan), "'alpha' parameter", ValueError),
    refused("tol = NaN", lambda: estimator(tol=np.nan), "'tol' parameter", ValueError),
    refused("standardize = 'no'", lambda: estimator(standardize="no"), "'standardize' parameter", ValueError),
    refused("random_state = −1", lambda: estimator(random_state=-1), "'random_state' parameter", ValueError),
    refused("not fitted", lambda: wl.OneHiddenLayerRegressor(2).predict(X), "not fitted", ValueError),
    refused("fewer columns at predict", lambda: estimator().predict(X[:, :2]), "2 features", ValueError),
    refused("no targets", lambda: wl.OneHiddenLayerRegressor(2).fit(X, None), "y", ValueError),
    refused("hard labels", lambda: wl.OneHiddenLayerClassifier(2).fit(X, np.where(Y > 0, "a", "b")), "hard labels"),
]

TEACHERS = [
    refused("a draw of 10¹² rows", lambda: wl.draw(TRUTH, 10**12), "draw fewer"),
    refused(
        "a covariance of NaN",
        lambda: wl.draw(TRUTH, 5, covariance=np.full((3, 3), np.nan)),
        "covariance",
        errors.NotFiniteError,
    ),
    refused("a mean of NaN", lambda: wl.draw(TRUTH, 5, mean=np.full(3, np.nan)), "mean", errors.NotFiniteError),
    refused("a draw from text", lambda: wl.draw("x", 5), "net must be a Network"),
    refused("κ infinite", lambda: wl.teachers.conditioned(3, 2, kappa=np.inf), "kappa"),
    refused("τ = −1", lambda: wl.teachers.smoothed(TRUTH, -1.0), "tau"),
    refused("no outputs at all", lambda: wl.teachers.several(TRUTH, 0), "n_outputs"),
]

BOXES = [
    refused("10⁹ inputs to extract", lambda: extract(n_inputs=10**9), "n_inputs = 1,000,000,000"),
    refused("n_inputs = '3'", lambda: extract(n_inputs="3"), "n_inputs must be an integer"),
    refused("a callback that is none, of extract", lambda: extract(callback=3), "callback must be a function"),
    refused("masked answers", lambda: extract(lambda X: np.ma.masked_greater(BOX.predict(X), 0)), "masked", W),
    refused("answers of objects", lambda: extract(lambda X: np.array([object()] * len(X))), "real numbers", W),
    refused("a generator of answers", lambda: extract(lambda X: (v for v in BOX.predict(X))), "real numbers", W),
    refused("a box out of memory", lambda: extract(memoryless), "MemoryError", W),
    refused("a box without end", lambda: extract(endless), "RecursionError", W),
    refused(
        "a journal of other inputs",
        lambda: (extract(journal="j"), extract(wl.teachers.biased(4, 2).predict, 4, journal="j")),
        "3 inputs",
        BAD,
    ),
    uncertified("answers that are signs", lambda: extract(lambda X: X[:, 0] > 0)),
    uncertified("answers rounded to integers", lambda: extract(lambda X: np.round(BOX.predict(X)).astype(int))),
    uncertified("answers that know their batch", lambda: extract(lambda X: BOX.predict(X) + len(X))),
]


def memoryless(X: np.ndarray) -> np.ndarray:
    raise MemoryError


def endless(X: np.ndarray) -> np.ndarray:
    return endless(X)


COMMANDS = [
    mistaken("recover data.npz --units 2 --report report.txt", "must end in .html"),
    mistaken("recover data.npz --units 2 --report no/where.html", "does not exist"),
    mistaken("recover data.npz --units auto --activation polynomial", "coefficients"),
    mistaken("recover data.csv --target ,, --units 2", "no column ''"),
    mistaken("recover data.npz data.csv --units 2", "unexpected extra argument"),
    mistaken("predict data.npz data.npz", "not a safetensors file"),
    mistaken("predict net.safetensors net.safetensors", "suffix must be one of"),
    mistaken("show .", "Is a directory"),
    mistaken("show /dev/zero", "is a device"),
    mistaken("convert . --to onnx", "is a folder"),
    mistaken("convert net.safetensors --to safetensors", "exists"),
    mistaken("extract :f --inputs 3", "package.module:function"),
    mistaken("extract math: --inputs 3", "package.module:function"),
    mistaken("extract math:sqrt --inputs 3 --retries 0", "TypeError"),
    mistaken("extract net.safetensors --inputs 99999999999999999999", "n_inputs"),
    mistaken("extract net.safetensors --inputs 3 --center inf", "center must be finite"),
    mistaken("extract net.safetensors --inputs 3 --journal .", "Is a directory"),
    mistaken("diagnose --units 3", "--inputs and --units"),
    mistaken("diagnose net.safetensors --inputs 3", "leave the option out"),
    mistaken("diagnose --inputs 3 --units 2 --out no/f.png", "does not exist"),
    mistaken("diagnose --inputs 99999999999999999999999 --units 2", "n_inputs must be below"),
    mistaken("demo --rows 1", "1 rows"),
    mistaken("demo --noise inf", "--noise"),
    mistaken("demo --inputs 100000 --units 1 --rows 5", "5 rows"),
    mistaken("reproduce all --trials -1 --out o", "trials"),
]

CASES: dict[str, list[Case]] = {
    "recover": RECOVER,
    "certify": CERTIFY,
    "decompose": DECOMPOSE,
    "diagnose": DIAGNOSE,
    "networks": NETWORKS,
    "activations": ACTIVATIONS,
    "exports": EXPORTS,
    "estimators": ESTIMATORS,
    "teachers": TEACHERS,
    "boxes": BOXES,
    "commands": COMMANDS,
}
