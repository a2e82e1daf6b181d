"""The network: prediction in every namespace, normal form, equivalence, files."""

import json
import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import ENTRIES
from tests.conftest import optional

from weightlift import activations, errors
from weightlift.identifiability import reflect
from weightlift.matching import match
from weightlift.namespaces import device, to_numpy
from weightlift.network import Network

ACTIVATIONS = [phi.name for phi in ENTRIES if phi.name not in ("linear", "polynomial")]


def random_network(rng, activation="relu", d=4, k=3):
    return Network(rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=k), rng.normal(), activation)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_predict_is_the_formula_in_every_namespace(rng, as_xp, activation):
    net = random_network(rng, activation)
    X = rng.normal(size=(11, 4))
    expected = sum(net.a[i] * net.activation(X @ net.W[:, i] + net.b[i]) for i in range(3)) + net.c
    result = net.predict(as_xp(X))
    assert isinstance(result, type(as_xp(X)))
    np.testing.assert_allclose(to_numpy(result), expected, rtol=1e-12, atol=1e-12)
    single = net.predict(as_xp(X, dtype="float32"))
    assert to_numpy(single).dtype == np.float32
    np.testing.assert_allclose(to_numpy(single), expected, rtol=1e-4, atol=1e-4)


def test_predict_stays_on_the_second_device():
    strict = optional("array_api_strict")
    X = strict.asarray(np.ones((3, 4)), device=strict.Device("device1"))
    assert device(random_network(np.random.default_rng(0)).predict(X)) == strict.Device("device1")


def test_predict_works_in_blocks(rng, monkeypatch):
    net, X = random_network(rng), rng.normal(size=(100, 4))
    expected = net.predict(X)
    monkeypatch.setattr("weightlift.network.BLOCK_BYTES", 400)
    np.testing.assert_allclose(net.predict(X), expected, rtol=1e-13)
    assert net.predict(X[:0]).shape == (0,)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_canonical_is_the_same_function_and_a_fixed_point(rng, activation):
    net = random_network(rng, activation)
    X = rng.normal(size=(50, 4))
    normal = net.canonical()
    np.testing.assert_allclose(normal.predict(X), net.predict(X), rtol=1e-10, atol=1e-10)
    again = normal.canonical()
    np.testing.assert_allclose(again.W, normal.W, rtol=1e-14)
    np.testing.assert_allclose(again.a, normal.a, rtol=1e-14)
    if net.activation.degree is not None:
        np.testing.assert_allclose(np.linalg.norm(normal.W, axis=0), 1)
    if activation in {"tanh", "sigmoid", "erf"}:
        assert np.all(normal.a > 0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_symmetric_copies_are_equivalent_and_share_the_normal_form(rng, activation):
    net = random_network(rng, activation)
    W, a, b, c = net.W.copy(), net.a.copy(), net.b.copy(), net.c
    phi = net.activation
    if phi.degree:
        t = rng.uniform(0.5, 2, size=3)
        W, b, a = W * t, b * t, a / t**phi.degree
    if activation in {"tanh", "erf"}:
        W[:, 0], b[0], a[0] = -W[:, 0], -b[0], -a[0]
    if activation in {"absolute", "quadratic"}:
        W[:, 0], b[0] = -W[:, 0], -b[0]
    if activation == "sigmoid":
        W[:, 0], b[0], c = -W[:, 0], -b[0], c + a[0]
        a[0] = -a[0]
    order = rng.permutation(3)
    copy = Network(W[:, order], a[order], b[order], c, activation)
    X = rng.normal(size=(20, 4))
    np.testing.assert_allclose(copy.predict(X), net.predict(X), rtol=1e-10, atol=1e-10)
    assert net.equivalent(copy, tol=1e-10)
    np.testing.assert_allclose(copy.canonical().W, net.canonical().W, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(copy.canonical().a, net.canonical().a, rtol=1e-10)
    assert copy.canonical().c == pytest.approx(net.canonical().c, rel=1e-10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_other_networks_are_not_equivalent(rng, activation):
    net = random_network(rng, activation)
    for name in ("W", "a", "b"):
        values = {"W": net.W, "a": net.a, "b": net.b}
        values[name] = values[name] + 1e-5 * rng.choice([-1, 1], size=values[name].shape)
        assert not net.equivalent(Network(**values, c=net.c, activation=activation), tol=1e-7)
    assert not net.equivalent(Network(net.W, net.a, net.b, net.c + 1e-4, activation), tol=1e-7)
    assert not net.equivalent(Network(net.W[:, :2], net.a[:2], net.b[:2], net.c, activation))


def test_relu_direction_sign_is_no_symmetry(rng):
    net = random_network(rng)
    assert not net.equivalent(Network(-net.W, net.a, -net.b, net.c, "relu"))


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "absolute"])
def test_absorbed_moves_sizes_into_the_units(rng, activation):
    net = random_network(rng, activation)
    X = rng.normal(size=(20, 4))
    assert set(np.abs(net.absorbed().a)) == {1.0}
    np.testing.assert_allclose(net.absorbed().predict(X), net.predict(X), rtol=1e-11, atol=1e-11)
    with pytest.raises(errors.ActivationError, match="tanh"):
        random_network(rng, "tanh").absorbed()


def test_network_is_frozen(rng):
    net = random_network(rng)
    with pytest.raises(ValueError, match="read-only"):
        net.W[0, 0] = 1.0
    with pytest.raises(AttributeError):
        net.c = 1.0
    source = np.ones((2, 2))
    Network(source)
    source[0, 0] = 2.0  # the caller's array stays writeable
    assert "4 inputs, 3 units, relu, with biases" in repr(net)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_save_and_load_keep_every_bit(rng, tmp_path, activation):
    net = random_network(rng, activation)
    path = tmp_path / "net.safetensors"
    net.save(path)
    back = Network.load(path)
    for name in ("W", "a", "b"):
        assert np.array_equal(getattr(back, name), getattr(net, name))
    assert back.c == net.c
    assert back.activation == net.activation
    assert [p.name for p in tmp_path.iterdir()] == ["net.safetensors"]


def test_a_failed_save_leaves_the_old_file(rng, tmp_path, monkeypatch):
    net, path = random_network(rng), tmp_path / "net.safetensors"
    net.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        random_network(rng, "tanh").save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def damaged(content: bytes) -> dict[str, bytes]:
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])

    def with_header(change):
        altered = json.loads(json.dumps(header))
        inner = json.loads(altered["__metadata__"]["weightlift"])
        change(inner, altered)
        if "__metadata__" in altered:
            altered["__metadata__"]["weightlift"] = json.dumps(inner)
        text = json.dumps(altered).encode()
        return struct.pack("<Q", len(text)) + text + content[8 + length :]

    return {
        "empty": b"",
        "truncated": content[:-9],
        "header only": content[: 8 + length],
        "short": content[:20],
        "huge header": struct.pack("<Q", 2**60) + content[8:],
        "flipped bit": content[:-1] + bytes([content[-1] ^ 1]),
        "not ours": with_header(lambda inner, outer: outer.pop("__metadata__")),
        "future": with_header(lambda inner, outer: inner.update(version=99)),
        "wrong shape": with_header(lambda inner, outer: inner.update(n_units=7)),
        "unknown activation": with_header(lambda inner, outer: inner.update(activation={"name": "magic"})),
        "pickle": b"\x80\x04\x95" + content,
    }


DAMAGE = [
    "empty",
    "truncated",
    "header only",
    "short",
    "huge header",
    "flipped bit",
    "not ours",
    "future",
    "wrong shape",
    "unknown activation",
    "pickle",
]


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_refused(tmp_path, kind):
    path = tmp_path / "net.safetensors"
    random_network(np.random.default_rng(0)).save(path)
    path.write_bytes(damaged(path.read_bytes())[kind])
    with pytest.raises(errors.FileFormatError):
        Network.load(path)


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    random_network(np.random.default_rng(0)).save(path)
    monkeypatch.setattr("weightlift.network.MAX_FILE_BYTES", 100)
    with pytest.raises(errors.FileFormatError, match="bytes"):
        Network.load(path)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"W": np.zeros(3)}, errors.ShapeError, "W"),
        ({"W": np.zeros((0, 3))}, errors.ShapeError, "W"),
        ({"W": np.ones((3, 2)), "a": np.ones((2, 0))}, errors.ShapeError, "a"),
        ({"W": np.ones((3, 2)), "V": np.ones((3, 2)), "a": [1.0, 2.0]}, errors.ShapeError, "V"),
        ({"W": np.ones((3, 2)), "a": np.ones((2, 2)), "c": [1.0, 2.0, 3.0]}, errors.ShapeError, "c"),
        ({"W": np.ones((3, 2)), "a": [1.0]}, errors.ShapeError, "a"),
        ({"W": np.ones((3, 2)), "b": [[1.0, 2.0]]}, errors.ShapeError, "b"),
        ({"W": np.ones((3, 2)), "c": [1.0, 2.0]}, errors.ShapeError, "c"),
        ({"W": [[np.nan]]}, errors.NotFiniteError, "W"),
        ({"W": [[1j]]}, errors.NotFiniteError, "complex"),
        ({"W": [["a"]]}, errors.ArgumentError, "W"),
        ({"W": [[1.0], [1.0, 2.0]]}, errors.ShapeError, "W"),
        ({"W": [[1.0]], "activation": "rleu"}, errors.ActivationError, "relu"),
    ],
)
def test_bad_parameters_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        Network(**arguments)


def test_predict_refuses_wrong_inputs(rng):
    net = random_network(rng)
    for X in (np.ones(4), np.ones((2, 3)), np.ones((2, 4, 1))):
        with pytest.raises(errors.ShapeError, match="X"):
            net.predict(X)
    with pytest.raises(errors.NotFiniteError, match="complex"):
        net.predict(np.ones((2, 4)) + 1j)


def test_parameters_may_be_arrays_of_any_namespace(rng, as_xp):
    W, a, b = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2)
    net = Network(as_xp(W), as_xp(a), as_xp(b))
    np.testing.assert_array_equal(np.vstack([net.W, net.a, net.b]), np.vstack([W, a, b]))


def test_parameters_may_be_tensors_that_record_gradients(torch):
    layer = torch.nn.Linear(3, 2, dtype=torch.float64)
    net = Network(layer.weight.T, b=layer.bias)
    np.testing.assert_array_equal(net.W, layer.weight.detach().numpy().T)


def test_comparing_units_takes_no_array_of_inputs_times_pairs(rng):
    net = Network(rng.normal(size=(100, 200)), rng.normal(size=200), activation="absolute")
    tracemalloc.start()
    assert net.equivalent(replace(net, W=-net.W[:, ::-1], a=net.a[::-1]))
    assert tracemalloc.get_traced_memory()[1] < 8 * 100 * 200**2 / 2
    tracemalloc.stop()


@pytest.mark.parametrize(
    "phi",
    [
        activations.polynomial([0.3, 1.0, 0.0, 1.0]),
        activations.scaled(activations.polynomial([-0.7, 2.0]), 2.0),
        activations.custom("bump", lambda z: 0.5 + np.tanh(z), lambda z: 1 / np.cosh(z) ** 2, reflection=(-1, (1.0, 0.0))),
    ],
    ids=lambda phi: phi.name,
)
def test_odd_functions_beside_a_constant_are_symmetric(rng, phi):
    """a φ(z) = −a φ(−z) + p₀ a, however the polynomial p = p₀ is written."""
    net = Network(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), 0.5, phi)
    copy = reflect(net, np.array([True, False]))
    X = rng.normal(size=(9, 3))
    np.testing.assert_allclose(copy.predict(X), net.predict(X), rtol=1e-12, atol=1e-12)
    assert net.equivalent(copy)
    assert match(copy, net).max_error < 1e-14
    assert match(copy, net).c_error < 1e-14


def test_a_custom_activation_goes_to_a_file_by_name_and_comes_back_with_the_caller_s(tmp_path):
    def swish(factor):
        return activations.custom(
            "swish",
            lambda z: z / (1 + np.exp(-factor * z)),
            lambda z: 1 / (1 + np.exp(-factor * z)) * (1 + factor * z / (1 + np.exp(factor * z))),
        )

    mine = swish(1.0)
    net = Network([[1.0], [2.0]], [0.5], [0.1], activation=mine)
    net.save(tmp_path / "net.safetensors")
    again = Network.load(tmp_path / "net.safetensors", activations=[mine])
    X = np.array([[0.3, -0.7], [1.0, 2.0]])
    np.testing.assert_array_equal(again.predict(X), net.predict(X))
    with pytest.raises(errors.FileFormatError, match=r"'swish' is a custom one.* load it with activations=\[φ\]") as missing:
        Network.load(tmp_path / "net.safetensors")
    assert "save it again" not in str(missing.value)
    with pytest.raises(errors.FileFormatError, match="other values than the one that was saved"):
        Network.load(tmp_path / "net.safetensors", activations=[swish(2.0)])
    Network([[1.0]], activation="tanh").save(tmp_path / "plain.safetensors")
    assert Network.load(tmp_path / "plain.safetensors", activations=[mine]).activation.name == "tanh"
