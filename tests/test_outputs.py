"""Networks of several outputs and with a linear part: prediction, symmetries, distances, files, data."""

import copy
import json
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import activations, errors
from weightlift.network import Network

TURNING = ["relu", "leaky_relu", "softplus"]  # φ(−z) = φ(z) + p₁z: reflected beside a linear part
PHI = [*TURNING, "tanh", "sigmoid", "absolute", "squared_relu"]


def random_network(rng, activation="relu", d=4, k=3, m=2, linear=True):
    V = rng.normal(size=(d, m)) if linear else None
    return Network(rng.normal(size=(d, k)), rng.normal(size=(k, m)), rng.normal(size=k), rng.normal(size=m), activation, V)


@pytest.mark.parametrize("activation", PHI)
def test_predict_is_the_formula(rng, as_xp, activation):
    net, X = random_network(rng, activation), rng.normal(size=(11, 4))
    units = sum(net.activation(X @ net.W[:, i] + net.b[i])[:, None] * net.a[i] for i in range(3))
    expected = units + X @ net.V + net.c
    found = net.predict(as_xp(X))
    np.testing.assert_allclose(np.asarray(wl.namespaces.to_numpy(found)), expected, rtol=1e-12, atol=1e-12)
    for i in range(2):
        np.testing.assert_allclose(net.output(i).predict(X), expected[:, i], rtol=1e-12, atol=1e-12)
    u = rng.normal(size=2)
    np.testing.assert_allclose(net.combined(u).predict(X), expected @ u, rtol=1e-12, atol=1e-12)
    assert net.predict(X[:0]).shape == (0, 2)


def test_one_output_with_its_axis_predicts_a_column(rng):
    net = random_network(rng, m=1)
    X = rng.normal(size=(5, 4))
    assert net.predict(X).shape == (5, 1)
    np.testing.assert_allclose(net.output(0).predict(X), net.predict(X)[:, 0])


def test_no_units_is_the_linear_part_alone(rng, tmp_path):
    V, X = rng.normal(size=(4, 2)), rng.normal(size=(6, 4))
    net = Network(np.zeros((4, 0)), c=[1.0, 2.0], V=V)
    np.testing.assert_allclose(net.predict(X), X @ V + [1.0, 2.0])
    net.save(tmp_path / "line.safetensors")
    assert Network.load(tmp_path / "line.safetensors").equivalent(net)
    assert net.canonical().n_units == 0
    assert wl.match(net, net).max_error == 0.0
    assert float(wl.distance(net, replace(net, c=[1.0, 5.0]))) == pytest.approx(3.0)


@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("m", [1, 3])
def test_canonical_is_the_same_function_and_a_fixed_point(rng, activation, m):
    net, X = random_network(rng, activation, m=m), rng.normal(size=(50, 4))
    normal = net.canonical()
    np.testing.assert_allclose(normal.predict(X), net.predict(X), rtol=1e-10, atol=1e-10)
    again = normal.canonical()
    for name in ("W", "a", "b", "V"):
        np.testing.assert_allclose(getattr(again, name), getattr(normal, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", TURNING)
def test_a_reflection_moves_the_linear_part_and_nothing_else(rng, activation):
    """a φ(z) = a φ(−z) − a p₁ z: the same function, equivalent, matched, and at distance zero."""
    net, X = random_network(rng, activation), rng.normal(size=(20, 4))
    turned = net.reflected(np.array([True, False, True]))
    assert not np.allclose(turned.V, net.V)
    np.testing.assert_allclose(turned.predict(X), net.predict(X), rtol=1e-11, atol=1e-11)
    assert net.equivalent(turned)
    np.testing.assert_allclose(turned.canonical().V, net.canonical().V, atol=1e-11)
    found = wl.match(turned, net)
    assert max(found.max_error, found.a_error, found.b_error, found.c_error, found.V_error) < 1e-12
    assert list(found.signs) == [-1, 1, -1]
    assert float(wl.distance(turned, net)) < 1e-13
    assert not net.equivalent(replace(turned, V=turned.V + 1e-4))
    assert wl.match(replace(turned, V=turned.V + 0.5), net).V_error == pytest.approx(0.5 * 8**0.5)
    without = replace(net, V=None)
    with pytest.raises(errors.ActivationError, match="linear part"):
        without.reflected(np.array([True, False, False]))
    zero = replace(net, V=np.zeros((4, 2)))
    assert without.equivalent(zero.reflected(np.array([False, True, False])))


def test_equivalence_sees_every_parameter(rng):
    net = random_network(rng, "tanh")
    order = np.array([2, 0, 1])
    same = Network(-net.W[:, order], -net.a[order], -net.b[order], net.c, "tanh", net.V)
    assert net.equivalent(same)
    for name in ("W", "a", "b", "c", "V"):
        assert not net.equivalent(replace(same, **{name: getattr(same, name) + 1e-4}))
    assert not net.equivalent(net.output(0))


def test_absorbed_output_weights_have_length_one(rng):
    net, X = random_network(rng, "squared_relu"), rng.normal(size=(20, 4))
    np.testing.assert_allclose(np.linalg.norm(net.absorbed().a, axis=1), 1.0)
    np.testing.assert_allclose(net.absorbed().predict(X), net.predict(X), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_distances_are_those_of_many_rows(rng, activation):
    f, g = random_network(rng, activation), random_network(rng, activation, k=2)
    X = rng.standard_normal((400_000, 4))
    squares = ((f.predict(X) - g.predict(X)) ** 2).sum(axis=1)
    found = wl.distance(f, g)
    assert abs(found.squared - squares.mean()) < 5 * squares.std() / 400_000**0.5
    one = wl.distance(f, replace(g, V=None, activation=activations.get("erf")))
    squares = ((f.predict(X) - replace(g, V=None, activation=activations.get("erf")).predict(X)) ** 2).sum(axis=1)
    assert abs(one.squared - squares.mean()) < 5 * squares.std() / 400_000**0.5
    products = (f.predict(X) * g.predict(X)).sum(axis=1)
    assert abs(wl.geometry.inner(f, g) - products.mean()) < 5 * products.std() / 400_000**0.5
    np.testing.assert_allclose(wl.geometry.mean(f), f.predict(X).mean(axis=0), atol=0.05)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("size", [1e-3, 1e-9])
def test_distances_of_near_networks_keep_their_digits(rng, activation, size):
    """‖f − g‖ is linear in the step for small ones: halving it halves the distance."""
    f, step = random_network(rng, activation), random_network(rng, activation)

    def moved(t):
        return Network(*(getattr(f, n) + t * getattr(step, n) for n in ("W", "a", "b", "c")), activation, f.V + t * step.V)

    ratio = float(wl.distance(f, moved(size))) / float(wl.distance(f, moved(size / 2)))
    assert ratio == pytest.approx(2.0, rel=20 * size + 1e-5)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh", "polynomial"])
def test_files_keep_every_bit(rng, tmp_path, activation, linear):
    phi = activations.polynomial([0.0, 1.0, 0.5, 0.25]) if activation == "polynomial" else activations.get(activation)
    net, path = random_network(rng, phi, linear=linear), tmp_path / "net.safetensors"
    net.save(path)
    back = Network.load(path)
    for name in ("W", "a", "b", "c", *(["V"] if linear else [])):
        assert np.array_equal(getattr(back, name), getattr(net, name))
    assert back.activation == net.activation
    assert (back.V is None) == (not linear)


def rewritten(path, change):
    """The file with its inner header altered."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + length])
    inner = json.loads(outer["__metadata__"]["weightlift"])
    change(inner)
    outer["__metadata__"]["weightlift"] = json.dumps(inner)
    text = json.dumps(outer).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(activation={"name": "tanh"}),
        lambda h: h["activation"]["parameters"].update(slope=0.825),
        lambda h: h["activation"].pop("parameters"),
        lambda h: h.update(version=1),
        lambda h: h.update(inputs=["b", "a", "c"]),
        lambda h: h.pop("inputs"),
    ],
)
def test_the_checksum_covers_activation_and_names(rng, tmp_path, change):
    path = tmp_path / "net.safetensors"
    Network(rng.normal(size=(3, 2)), activation=activations.leaky_relu(0.125)).save(path, inputs=["a", "b", "c"])
    assert Network.load(path).activation == activations.leaky_relu(0.125)
    rewritten(path, change)
    with pytest.raises(errors.FileFormatError):
        Network.load(path)


def test_copies_stay_frozen(rng):
    net = random_network(rng)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(twin.V, net.V)
        with pytest.raises(ValueError, match="read-only"):
            twin.W[0, 0] = 1.0


def test_teachers_with_outputs_have_the_units_of_those_without():
    plain = wl.teachers.biased(5, 3, rng=1)
    net = wl.teachers.several(plain, 4, linear=True, rng=2)
    np.testing.assert_array_equal(net.W, plain.W)
    np.testing.assert_allclose(np.linalg.norm(net.a, axis=1), np.abs(plain.a))
    assert net.V.shape == (5, 4)
    assert wl.teachers.several(plain, linear=True).a is not None
    X, Y = wl.draw(net, 2000, noise_std=0.1, rng=3)
    residuals = Y - net.predict(X)
    np.testing.assert_allclose(np.cov(residuals.T), 0.01 * np.eye(4), atol=0.002)


def test_what_is_for_one_output_says_so(rng):
    net, X = random_network(rng), rng.normal(size=(30, 4))
    with pytest.raises(errors.ShapeError, match="one output"):
        wl.samples.population(net)
    source = wl.samples.open(X, net.predict(X))
    assert source.n_outputs == 2
    with pytest.raises(errors.ShapeError, match="2 columns"):
        wl.refinement.gradient_descent(source, Network(np.ones((4, 2))), iterations=1)
    with pytest.raises(errors.ShapeError, match="outputs"):
        wl.match(net, net.output(0))
    with pytest.raises(errors.ShapeError, match="outputs"):
        wl.distance(net, net.output(0))


def test_targets_of_several_columns_travel_with_their_rows(rng, tmp_path):
    """Arrays, Parquet and Dask fold the same sums, and split alike."""
    pandas, dask_frame = optional("pandas"), optional("dask.dataframe")
    optional("pyarrow")
    net, X = random_network(rng), rng.normal(size=(300, 4))
    Y = net.predict(X)
    names = [*"abcd", "y1", "y2"]
    frame = pandas.DataFrame(np.column_stack([X, Y]), columns=names)
    frame.to_parquet(tmp_path / "rows.parquet")
    sources = [
        wl.samples.open(X, Y),
        wl.samples.open(tmp_path / "rows.parquet", target=["y1", "y2"]),
        wl.samples.open(dask_frame.from_pandas(frame, npartitions=3), target=["y1", "y2"]),
    ]
    sums = []
    for source in sources:
        assert source.n_outputs == 2
        part = source.split(0.3, 0.7, seed=4)[0].persist()
        assert part.n_outputs == 2
        blocks = list(part.blocks(1000))
        sums.append(blocks[0].X.T @ blocks[0].y)
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-12)
    np.testing.assert_allclose(sums[2], sums[0], rtol=1e-12)
    with pytest.raises(errors.ArgumentError, match="y3"):
        wl.samples.open(tmp_path / "rows.parquet", target=["y1", "y3"])
    with pytest.raises(errors.ArgumentError, match="twice"):
        wl.samples.open(tmp_path / "rows.parquet", target=["y1", "y1"])
