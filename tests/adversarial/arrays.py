"""Bad rows, bad options, bad containers: everything that reaches the library as arrays and keywords."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import scipy.sparse
from tests.adversarial.cases import Case, refused, same, uncertified

import weightlift as wl
from weightlift import errors

TRUTH = wl.Network([[1.0, 0.2], [-0.5, 1.0], [0.3, 0.7]], [1.0, -0.8])
X, Y = wl.draw(TRUTH, 60, rng=1)
DEEP = np.random.default_rng(3).normal(size=(40, 20_000))


def put(A: np.ndarray, index: Any, value: Any) -> np.ndarray:
    A = A.copy()
    A[index] = value
    return A


def fit(X: Any = X, y: Any = Y, **options: Any) -> wl.Recovery:
    return wl.recover(X, y, **{"n_units": 2, "max_work": 30, **options})


def answer(X: Any = X, y: Any = Y, **options: Any) -> np.ndarray:
    """The parameters of what `recover` finds, in normal form."""
    net = fit(X, y, **options).network.canonical()
    return np.concatenate([net.W.ravel(), net.a, net.b])


VALUES = [
    refused("NaN in X", lambda: fit(put(X, (7, 1), np.nan)), r"X holds NaN.*row 7\b.*column 1\b", errors.NotFiniteError),
    refused("infinity in X", lambda: fit(put(X, (0, 0), np.inf)), r"X holds.*row 0\b", errors.NotFiniteError),
    refused("NaN in y", lambda: fit(y=put(Y, 59, np.nan)), r"y holds NaN.*row 59\b", errors.NotFiniteError),
    refused("−infinity in y", lambda: fit(y=put(Y, 3, -np.inf)), r"y holds.*row 3\b", errors.NotFiniteError),
    refused(
        "NaN in a weight", lambda: fit(sample_weight=put(np.ones(60), 5, np.nan)), "sample_weight.*row 5", errors.NotFiniteError
    ),
    refused("negative weight", lambda: fit(sample_weight=-np.ones(60)), "sample_weight holds negative"),
    refused("weights zero", lambda: fit(sample_weight=np.zeros(60)), "sample_weight is zero on every row"),
    refused("weights of 1e200", lambda: fit(sample_weight=np.full(60, 1e200)), "sample_weight goes up to"),
    refused("weights of 1e-200", lambda: fit(sample_weight=np.full(60, 1e-200)), "sample_weight goes up to"),
    refused("complex X", lambda: fit(X * 1j), "X is complex", errors.NotFiniteError),
    refused("complex y", lambda: fit(y=Y * 1j), "y is complex", errors.NotFiniteError),
    refused("masked X", lambda: fit(np.ma.masked_greater(X, 1.0)), "X has masked values", errors.NotFiniteError),
    refused("masked y", lambda: fit(y=np.ma.masked_greater(Y, 1.0)), "y has masked values", errors.NotFiniteError),
    refused("masked weights", lambda: fit(sample_weight=np.ma.masked_less(np.ones(60), 2)), "masked", errors.NotFiniteError),
    refused(
        "masked at predict", lambda: TRUTH.predict(np.ma.masked_greater(X, 1.0)), "X has masked values", errors.NotFiniteError
    ),
    refused("y = 0", lambda: fit(y=np.zeros(60)), "y is constant"),
    refused("y constant", lambda: fit(y=np.full(60, 3.0)), "y is constant"),
    refused("y·1e300", lambda: fit(y=Y * 1e300), "y has values whose squares overflow"),
    refused("y·1e150", lambda: fit(y=Y * 1e150), r"y has the size \de\+149"),
    refused("y·1e-160", lambda: fit(y=Y * 1e-160), r"y has the size \de-161"),
    refused("one y of 1e308", lambda: fit(y=put(Y, 3, 1e308)), "y has values whose squares overflow"),
    refused("X·1e300", lambda: fit(X * 1e300), "X has values whose squares overflow", errors.NotFiniteError),
    refused("X·1e-200", lambda: fit(X * 1e-200), r"column 0 of X has the size \de-20\d"),
    refused("X·1e-160", lambda: fit(X * 1e-160), r"column 0 of X has the size \de-16\d"),
    refused("one column·1e-160", lambda: fit(X * [1.0, 1.0, 1e-160]), "column 2 of X has the size"),
    refused("denormal X", lambda: fit(X * 1e-310), "column 0 of X has the size"),
    uncertified("y without any law", lambda: fit(y=np.random.default_rng(0).normal(size=60))),
    uncertified("alternating 1e±150", lambda: fit(X * np.where(np.arange(60) % 2, 1e150, 1e-150)[:, None])),
    same("negative zeros", lambda: (answer(X), answer(np.where(X == 0, -0.0, X)))),
    same("weights all 7", lambda: (answer(), answer(sample_weight=np.full(60, 7.0)))),
    same(
        "weight 0 on garbage",
        lambda: (
            wl.certify(TRUTH, X, Y).status,
            wl.certify(TRUTH, np.vstack([X, X[:1]]), np.append(Y, 99.0), sample_weight=np.append(np.ones(60), 0.0)).status,
        ),
    ),
]

SHAPES = [
    refused("X of one axis", lambda: fit(X[:, 0]), r"X must have shape \(n, d\)", errors.ShapeError),
    refused("X of three axes", lambda: fit(X[None]), r"X must have shape \(n, d\)", errors.ShapeError),
    refused("X a number", lambda: fit(3.0), r"X must have shape", errors.ShapeError),
    refused("no inputs", lambda: fit(X[:, :0]), r"d ≥ 1", errors.ShapeError),
    refused("no rows", lambda: fit(X[:0], Y[:0]), "X has 0 rows", errors.TooFewRowsError),
    refused("one row", lambda: fit(X[:1], Y[:1]), "X has 1 rows?", errors.TooFewRowsError),
    refused("y too short", lambda: fit(y=Y[:-1]), "y must have shape", errors.ShapeError),
    refused("y of three axes", lambda: fit(y=Y[:, None, None]), "y must have shape", errors.ShapeError),
    refused("y a number", lambda: fit(y=1.0), "y must have shape", errors.ShapeError),
    refused("weights too long", lambda: fit(sample_weight=np.ones(61)), "sample_weight must have shape", errors.ShapeError),
    refused(
        "weights of two axes", lambda: fit(sample_weight=np.ones((60, 1))), "sample_weight must have shape", errors.ShapeError
    ),
    refused("ragged X", lambda: fit([[1.0, 2.0], [3.0]], [1.0, 2.0]), "X must be a rectangular array"),
    refused("ragged y", lambda: fit(X[:2], [[1.0], [2.0, 3.0]]), "y must be a rectangular array"),
    refused("X transposed", lambda: fit(X.T), "y must have shape", errors.ShapeError),
    refused("X missing", lambda: fit(None), "X is missing"),
    refused("y missing", lambda: fit(y=None), "y is missing"),
    refused("predict with another width", lambda: TRUTH.predict(X[:, :2]), r"X must have shape \(n, 3\)", errors.ShapeError),
    refused("predict one row without axis", lambda: TRUTH.predict(X[0]), r"X must have shape \(n, 3\)", errors.ShapeError),
    refused(
        "certify other inputs", lambda: wl.certify(TRUTH, X[:, :2], Y), "X has 2 inputs and the network 3", errors.ShapeError
    ),
    refused(
        "held-out of other inputs",
        lambda: wl.certify(TRUTH, X, Y, heldout=(X[:, :2], Y)),
        "heldout has 2 inputs",
        errors.ShapeError,
    ),
    refused(
        "1,500 units for 100 rows",
        lambda: fit(DEEP[:, :4].repeat(3, 0)[:100], np.ones(100), n_units=1500),
        "n_units = 1,500.*100 rows",
        errors.TooFewRowsError,
    ),
    refused("10⁶ units", lambda: fit(n_units=10**6), "n_units = 1,000,000", errors.TooFewRowsError),
    refused("10³⁰ units", lambda: fit(n_units=10**30), "n_units", errors.ArgumentError),
    refused(
        "20,000 inputs, 40 rows", lambda: fit(DEEP, np.ones(40)), "20,000 inputs.*40 rows|inputs.*rows", errors.TooFewRowsError
    ),
    refused(
        "20,000 inputs, 1,000 rows",
        lambda: fit(DEEP.repeat(25, 0), np.ones(1000)),
        "inputs.*1,000 rows",
        errors.TooFewRowsError,
    ),
    refused(
        "auto width, 20,000 inputs", lambda: fit(DEEP, np.ones(40), n_units="auto"), "inputs.*rows", errors.TooFewRowsError
    ),
    refused("W without inputs", lambda: wl.Network(np.zeros((0, 2))), "W must have at least one input", errors.ShapeError),
    refused("W of one axis", lambda: wl.Network([1.0, 2.0]), "W must have 2 axes", errors.ShapeError),
    refused(
        "a of another length", lambda: wl.Network(np.eye(3), [1.0, 2.0]), "a must have one entry a unit", errors.ShapeError
    ),
    refused("b of another length", lambda: wl.Network(np.eye(3), b=[1.0]), "b must have one entry a unit", errors.ShapeError),
    refused("c a vector beside one output", lambda: wl.Network(np.eye(3), c=[1.0, 2.0]), "c must", errors.ShapeError),
    refused("V of other inputs", lambda: wl.Network(np.eye(3), V=[1.0, 2.0]), "V must have shape", errors.ShapeError),
    refused("NaN in W", lambda: wl.Network([[np.nan]]), "W holds NaN", errors.NotFiniteError),
    refused("complex a", lambda: wl.Network([[1.0]], [1j]), "a is complex", errors.NotFiniteError),
    refused("text in b", lambda: wl.Network([[1.0]], b=["x"]), "b must hold numbers"),
    refused("match of other inputs", lambda: wl.match(TRUTH, wl.Network(np.eye(2))), "inputs", errors.ShapeError),
    refused("distance of other inputs", lambda: wl.distance(TRUTH, wl.Network(np.eye(2))), "inputs", errors.ShapeError),
    refused("a tensor that is no cube", lambda: wl.decompose(np.zeros((2, 3, 2)), 1), "tensor", errors.ShapeError),
    refused("a tensor that is not symmetric", lambda: wl.decompose(np.arange(27.0).reshape(3, 3, 3), 1), "symmetric"),
    refused("a tensor with NaN", lambda: wl.decompose(np.full((3, 3, 3), np.nan), 1), "NaN", errors.NotFiniteError),
    refused("rank 0", lambda: wl.decompose(np.ones((3, 3, 3)), 0), "rank"),
]

DTYPES = [
    refused("strings", lambda: fit(X.astype(str)), "X holds .* values"),
    refused("bytes", lambda: fit(X.astype("S8")), "X holds .* values"),
    refused("objects", lambda: fit(np.full((60, 3), object())), "X holds object"),
    refused("None inside", lambda: fit(put(X.astype(object), (2, 1), None)), "X holds object"),
    refused("dates", lambda: fit(np.full((60, 3), np.datetime64("2020-01-01"))), "X has dtype datetime64|X holds datetime64"),
    refused("time spans", lambda: fit(y=np.full(60, datetime.timedelta(1))), "y holds"),
    refused("records", lambda: fit(np.zeros(60, dtype=[("a", "f8"), ("b", "f8")])), "X"),
    refused("decimals", lambda: fit(y=[decimal.Decimal(1)] * 60), "y holds object"),
    refused("fractions", lambda: fit(y=[fractions.Fraction(1, 3)] * 60), "y holds object"),
    refused("an arithmetic that is none", lambda: wl.samples.open(X, Y, dtype="float16"), "dtype must be"),
    same(
        "float32 X is float64 of the same numbers",
        lambda: (
            answer(X.astype(np.float32)),
            answer(X.astype(np.float32).astype(float)),
        ),
    ),
    same("big-endian", lambda: (answer(), answer(X.astype(">f8"), Y.astype(">f8")))),
    same("integers", lambda: (answer(np.round(9 * X), Y), answer(np.round(9 * X).astype(np.int32), Y))),
    same("booleans", lambda: (fit(X > 0, Y).network.predict(X), fit((X > 0) * 1.0, Y).network.predict(X))),
    same("long doubles", lambda: (TRUTH.predict(X), np.asarray(TRUTH.predict(X.astype(np.longdouble)), dtype=float))),
]

CONTAINERS = [
    refused("sparse X", lambda: fit(scipy.sparse.csr_array(X)), "X is sparse.*toarray"),
    refused("sparse y", lambda: fit(y=scipy.sparse.csr_array(Y[:, None])), "y is sparse.*toarray"),
    refused("a dict", lambda: fit({"a": X[:, 0]}), "X"),
    refused("a set", lambda: fit(y={1.0, 2.0}), "y"),
    refused("a string", lambda: fit("rows"), "X is a path"),
    refused("bytes as X", lambda: fit(b"rows"), "X"),
    refused("a generator", lambda: fit(x for x in X), "X"),
    refused("a function", lambda: fit(len), "X"),
    refused("a network as X", lambda: fit(TRUTH), "X"),
    refused("a path without target", lambda: fit("nowhere.parquet", None), "target"),
    refused("a source and y", lambda: fit(wl.samples.open(X, Y)), "X is a source already"),
    refused("columns named of arrays", lambda: wl.samples.open(X, Y, target="y"), "target, features and weight name columns"),
    refused("a population to certify on", lambda: wl.certify(TRUTH, wl.samples.population(TRUTH)), "population"),
    refused("no network to certify", lambda: wl.certify(X, X, Y), "network must be a Network"),
    same("lists", lambda: (answer(), answer(X.tolist(), Y.tolist()))),
    same("tuples", lambda: (answer(), answer(tuple(map(tuple, X)), tuple(Y)))),
    same("a matrix", lambda: (answer(), answer(np.asmatrix(X), Y))),
    same("Fortran order", lambda: (answer(), answer(np.asfortranarray(X)))),
    same("a negative stride", lambda: (answer(X[::-1].copy(), Y[::-1].copy()), answer(X[::-1], Y[::-1]))),
    same("read-only", lambda: (answer(), answer(locked(X), locked(Y)))),
    same("broadcast rows", lambda: (wl.certify(TRUTH, X, Y).status, wl.certify(TRUTH, np.broadcast_to(X, X.shape), Y).status)),
    same("an unmasked masked array", lambda: (answer(), answer(np.ma.array(X)))),
    same("inputs are left as they are", lambda: (unchanged(), True)),
]


def locked(A: np.ndarray) -> np.ndarray:
    A = A.copy()
    A.flags.writeable = False
    return A


def unchanged() -> bool:
    A, b, w = X.copy(), Y.copy(), np.ones(60)
    fit(A, b, sample_weight=w)
    return np.array_equal(A, X) and np.array_equal(b, Y) and np.array_equal(w, np.ones(60))


STATISTICS = [
    uncertified("fewer rows than parameters", lambda: fit(X[:5], Y[:5])),
    uncertified("sixty copies of three rows", lambda: fit(np.tile(X[:3], (20, 1)), np.tile(Y[:3], 20))),
    uncertified("copies that contradict", lambda: fit(np.vstack([X, X]), np.append(Y, -Y))),
    same("a constant column has the weight 0", lambda: (fit(np.hstack([X, np.ones((60, 1))])).network.W[-1], np.zeros(2))),
    uncertified("a column twice", lambda: fit(np.hstack([X, X[:, :1]]))),
    uncertified("a column of nearly another", lambda: fit(np.hstack([X, X[:, :1] * (1 + 1e-15)]))),
    uncertified("a sum of columns", lambda: fit(np.hstack([X, X.sum(axis=1, keepdims=True)]))),
    uncertified("too many units", lambda: fit(n_units=6)),
    uncertified("too few units", lambda: fit(n_units=1)),
    uncertified("another activation", lambda: fit(activation="tanh")),
    uncertified("binary inputs", lambda: fit(np.sign(X), TRUTH.predict(np.sign(X)))),
    uncertified("y·X collinear", lambda: fit(y=X[:, 0])),
    uncertified("a linear activation", lambda: fit(activation="linear")),
    uncertified("two points", lambda: fit(np.repeat(X[:2], 30, axis=0), np.repeat(Y[:2], 30))),
    uncertified("a network that is another", lambda: wl.certify(wl.Network(TRUTH.W[:, :1]), X, Y)),
    uncertified("y of float32", lambda: wl.certify(TRUTH, X[:9], Y[:9].astype(np.float32))),
]

OPTIONS = [
    refused("n_units = 0", lambda: fit(n_units=0), "n_units must be a positive integer"),
    refused("n_units = −1", lambda: fit(n_units=-1), "n_units must be a positive integer"),
    refused("n_units = 2.0", lambda: fit(n_units=2.0), "n_units must be a positive integer"),
    refused("n_units = True", lambda: fit(n_units=True), "n_units must be a positive integer"),
    refused("n_units = 'two'", lambda: fit(n_units="two"), "n_units must be a positive integer"),
    refused("n_units = [2]", lambda: fit(n_units=[2]), "n_units must be a positive integer"),
    refused("n_units an array", lambda: fit(n_units=np.array([2, 3])), "n_units must be a positive integer"),
    refused("bias = 'no'", lambda: fit(bias="no"), "bias must be True or False"),
    refused("bias an array", lambda: fit(bias=np.array([True, False])), "bias must be True or False"),
    refused("offset = 'yes'", lambda: fit(offset="yes"), "offset must be True or False"),
    refused("linear = 'maybe'", lambda: fit(linear="maybe"), "linear must be"),
    refused("linear an array", lambda: fit(linear=np.array([1, 0])), "linear must be"),
    refused("certify(bias='no')", lambda: wl.certify(TRUTH, X, Y, bias="no"), "bias must be True or False"),
    refused("certify(offset='no')", lambda: wl.certify(TRUTH, X, Y, offset="no"), "offset must be True or False"),
    refused(
        "certify(bias=False) of biases", lambda: wl.certify(wl.Network(TRUTH.W, b=[1.0, 1.0]), X, Y, bias=False), "bias=False"
    ),
    refused("tries = 0", lambda: wl.certify(TRUTH, X, Y, tries=0), "tries must be"),
    refused("tries = 1.5", lambda: wl.certify(TRUTH, X, Y, tries=1.5), "tries must be"),
    refused("method = 'magic'", lambda: fit(method="magic"), "method must be one of"),
    refused("method = None", lambda: fit(method=None), "method must be one of"),
    refused("max_work < 0", lambda: fit(max_work=-1), "max_work must be a number"),
    refused("max_work = NaN", lambda: fit(max_work=np.nan), "max_work must be a number"),
    refused("max_work = '10'", lambda: fit(max_work="10"), "max_work must be a number"),
    refused("max_time < 0", lambda: fit(max_time=-1.0), "max_time must be a number"),
    refused("max_time = True", lambda: fit(max_time=True), "max_time must be a number"),
    refused("a callback that is none", lambda: fit(callback=3), "callback must be a function"),
    refused("rng = −1", lambda: fit(rng=-1), "rng must be a seed"),
    refused("rng = 'seed'", lambda: fit(rng="seed"), "rng must be a seed"),
    refused("rng = RandomState", lambda: fit(rng=np.random.RandomState(0)), "rng must be a seed"),
    refused("rng = 0.5", lambda: fit(rng=0.5), "rng must be a seed"),
    refused("an unknown activation", lambda: fit(activation="rellu"), "relu", errors.ActivationError),
    refused("activation = 3", lambda: fit(activation=3), "activation", errors.ActivationError),
    refused("activation = None", lambda: fit(activation=None), "activation", errors.ActivationError),
    refused("a slope of NaN", lambda: wl.activations.leaky_relu(np.nan), "slope"),
    refused("a slope of text", lambda: wl.activations.get("leaky_relu", slope="x"), "slope"),
    refused("an option that relu lacks", lambda: wl.activations.get("relu", slope=0.1), "slope"),
    refused("a polynomial without coefficients", lambda: wl.activations.polynomial(()), "coefficient"),
    refused("a polynomial with NaN", lambda: wl.activations.polynomial((0.0, np.nan)), "coefficient|finite"),
    refused("stretched by 0", lambda: wl.activations.scaled("tanh", 0.0), "scale|stretch|factor"),
    refused("known weights of text", lambda: fit(output_weights="fixed"), "output_weights must be 'free'"),
    refused("known weights, too few", lambda: fit(output_weights=[1.0]), "output_weights must have shape", errors.ShapeError),
    refused("a known weight of zero", lambda: fit(output_weights=[1.0, 0.0]), r"output_weights\[1\] is 0"),
    refused("a known weight of NaN", lambda: fit(output_weights=[np.nan, 1.0]), r"output_weights\[0\] is nan"),
    refused(
        "known weights without width", lambda: fit(n_units="auto", output_weights=[1.0]), "known output_weights need n_units"
    ),
    refused("draw of −1 rows", lambda: wl.draw(TRUTH, -1), "n must be"),
    refused("draw of 1.5 rows", lambda: wl.draw(TRUTH, 1.5), "n must be"),
    refused("noise of −1", lambda: wl.draw(TRUTH, 5, noise_std=-1.0), "noise_std"),
    refused("noise of NaN", lambda: wl.draw(TRUTH, 5, noise_std=np.nan), "noise_std"),
    refused("noise of an unknown law", lambda: wl.draw(TRUTH, 5, noise_std=1.0, noise="pink"), "noise"),
    refused("a mean of another length", lambda: wl.draw(TRUTH, 5, mean=np.ones(2)), "mean", errors.ShapeError),
    refused("a covariance that is none", lambda: wl.draw(TRUTH, 5, covariance=-np.eye(3)), "covariance"),
    refused("a covariance not symmetric", lambda: wl.draw(TRUTH, 5, covariance=np.triu(np.ones((3, 3)))), "covariance"),
    refused("a teacher of 0 inputs", lambda: wl.teachers.conditioned(0, 1), "n_inputs must be at least 1"),
    refused("a teacher wider than its inputs", lambda: wl.teachers.conditioned(2, 3), "n_units"),
    refused("κ < 1", lambda: wl.teachers.conditioned(3, 2, kappa=0.5), "kappa"),
    refused("an empty name for columns", lambda: wl.samples.open(X, Y, weight=""), "target, features and weight"),
    refused("diagnose of 0 units", lambda: wl.diagnose.shape(3, 0), "n_units"),
    refused("diagnose of −5 rows", lambda: wl.diagnose.shape(3, 2, n=-5), r"\bn\b"),
]

OUTPUTS = [
    refused("y without columns", lambda: fit(y=np.zeros((60, 0))), "y must have shape", errors.ShapeError),
    refused(
        "NaN in one output",
        lambda: fit(y=put(np.stack([Y, Y], 1), (4, 1), np.nan)),
        r"y holds NaN.*row 4\b",
        errors.NotFiniteError,
    ),
    refused(
        "one output to certify, two given",
        lambda: wl.certify(TRUTH, X, np.stack([Y, Y], 1)),
        "y has 2 columns",
        errors.ShapeError,
    ),
    refused(
        "two outputs to certify, one given",
        lambda: wl.certify(wl.teachers.several(TRUTH, 2), X, Y),
        "y has no columns",
        errors.ShapeError,
    ),
    refused(
        "a of no outputs", lambda: wl.Network(TRUTH.W, np.zeros((2, 0))), "a must have at least one output", errors.ShapeError
    ),
    refused(
        "c of another number of outputs",
        lambda: wl.Network(TRUTH.W, np.ones((2, 2)), c=[1.0, 2.0, 3.0]),
        "c must be a number",
        errors.ShapeError,
    ),
    refused(
        "V of another number of outputs",
        lambda: wl.Network(TRUTH.W, np.ones((2, 2)), V=np.ones((3, 3))),
        "V must have shape",
        errors.ShapeError,
    ),
    refused(
        "known weights of several outputs", lambda: fit(y=np.stack([Y, Y], 1), output_weights=[1.0, 1.0]), "output_weights"
    ),
    refused("moments alone of several outputs", lambda: fit(y=np.stack([Y, 2 * Y], 1), method="tensor", max_work=5), "."),
    uncertified("an output that is noise", lambda: fit(y=np.stack([Y, np.random.default_rng(0).normal(size=60)], 1))),
    same(
        "two outputs, one of them zero, too wide",
        lambda: (fit(y=np.stack([Y, 0 * Y], 1), n_units=4).network.predict(X)[:, 0], Y),
    ),
    same(
        "two outputs, too wide: two units, or none is claimed",
        lambda: (len(fit(y=np.stack([Y, 0 * Y], 1), n_units=4).certificate.certified_units) in (0, 2), True),
    ),
    same("one column is one output", lambda: (answer(), fit(y=Y[:, None]).network.output(0).canonical() and answer(y=Y))),
]

CASES: dict[str, list[Case]] = {
    "values": VALUES,
    "shapes": SHAPES,
    "dtypes": DTYPES,
    "containers": CONTAINERS,
    "statistics": STATISTICS,
    "options": OPTIONS,
    "outputs": OUTPUTS,
}
