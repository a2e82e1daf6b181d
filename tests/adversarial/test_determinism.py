"""The same question has the same answer: bit for bit from the same seed, to 1e-9 whatever the order, chunks, source or threads.

And nothing that belongs to the caller is touched: the global random state, NumPy's error state, warning filters, BLAS threads.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from tests.conftest import optional
from threadpoolctl import threadpool_info, threadpool_limits

import weightlift as wl
from weightlift import decomposition, diagnose, initialization, learning, refinement, samples

TRUTH = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
X, Y = wl.draw(TRUTH, 400, rng=1)
NOISY = Y + 0.05 * np.random.default_rng(2).normal(size=400)
BOX = wl.teachers.biased(4, 2, rng=0)
SQUARED = wl.teachers.conditioned(5, 2, activation="squared_relu", rng=0)
Z, T = wl.draw(SQUARED, 4000, rng=1)
TENSOR = np.einsum("ai,bi,ci->abc", *3 * [np.random.default_rng(0).normal(size=(4, 3))])

ENTRIES: dict[str, Callable[[], Any]] = {
    "draw": lambda: wl.draw(TRUTH, 20, noise_std=0.1, rng=3),
    "teachers.conditioned": lambda: wl.teachers.conditioned(5, 3, rng=3),
    "teachers.haar": lambda: wl.teachers.haar(5, 3, rng=3),
    "teachers.biased": lambda: wl.teachers.biased(5, 3, rng=3),
    "teachers.smoothed": lambda: wl.teachers.smoothed(TRUTH, 0.1, rng=3),
    "recover, moments": lambda: wl.recover(Z, T, n_units=2, activation="squared_relu", method="tensor", rng=3),
    "recover, search": lambda: wl.recover(X[:60], Y[:60], n_units=2, method="search", rng=3),
    "recover, noise": lambda: wl.recover(X, NOISY, n_units=2, rng=3),
    "recover, biases": lambda: wl.recover(X, Y, n_units=2, bias=True, offset=True, rng=3),
    "recover, auto": lambda: wl.recover(X, Y, n_units="auto", rng=3),
    "recover, outputs": lambda: wl.recover(X, np.stack([Y, 2 * Y], 1), n_units=2, linear="auto", rng=3),
    "certify": lambda: wl.certify(TRUTH, X, Y, rng=3),
    "certify, noise": lambda: wl.certify(wl.recover(X, NOISY, n_units=2).network, X, NOISY, rng=3),
    "extract": lambda: wl.extract(BOX.predict, 4, rng=3).network,
    "regressor": lambda: wl.OneHiddenLayerRegressor(2, random_state=3).fit(X, Y).predict(X[:9]),
    "classifier": lambda: wl.OneHiddenLayerClassifier(2, random_state=3).fit(X, 1 / (1 + np.exp(-Y))).predict_proba(X[:9]),
    "decompose": lambda: wl.decompose(TENSOR, 3, rng=3),
    "decompose, jennrich": lambda: wl.decompose(TENSOR, 3, method="jennrich", rng=3),
    "decompose, power": lambda: decomposition.decompose(TENSOR, 3, method="power", rng=3),
    "match": lambda: wl.match(TRUTH, wl.teachers.smoothed(TRUTH, 0.1, rng=3)),
    "distance": lambda: wl.distance(TRUTH, wl.teachers.smoothed(TRUTH, 0.1, rng=3)),
    "diagnose.shape": lambda: diagnose.shape(20, 5),
    "diagnose.data": lambda: diagnose.data(X, Y, n_units=2, rng=3),
    "learn_1nn": lambda: learning.learn_1nn(Z, T, n_units=2, activation="squared_relu", iterations=20, rng=3),
    "tensor_init": lambda: initialization.tensor_init(samples.open(Z, T), 2, wl.activations.squared_relu, rng=gen()),
    "sgd": lambda: refinement.sgd(samples.open(X, Y), wl.Network(TRUTH.W + 0.1, TRUTH.a), step=1e-3),
    "gauss_newton": lambda: refinement.gauss_newton(samples.open(X, NOISY), TRUTH, free="Wa", iterations=5).network,
    "split": lambda: samples.open(X, Y).split(0.3, 0.7, seed=3)[0].persist(),
    "fold": lambda: samples.open(X, Y).fold(samples.Covariance(5)),
}


def gen() -> np.random.Generator:
    return np.random.default_rng(3)


def bits(value: Any) -> str:
    """A digest of every number and word inside, times and functions left out."""
    digest = hashlib.sha256()
    _feed(digest, value, set())
    return digest.hexdigest()


def _feed(digest: Any, value: Any, above: set[int]) -> None:
    if id(value) in above or callable(value):
        return
    above = above | {id(value)}
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in ("seconds", "milliseconds"):
                _feed(digest, getattr(value, field.name), above)
    elif isinstance(value, list | tuple):
        for item in value:
            _feed(digest, item, above)
    elif isinstance(value, dict):
        _feed(digest, sorted(value.items(), key=lambda pair: str(pair[0])), above)
    elif isinstance(value, str | int | float | bool | None | np.generic):
        digest.update(repr(value).encode())


class World:
    """What belongs to the caller."""

    def __init__(self) -> None:
        state = np.random.get_state()  # noqa: NPY002
        self.random = bits([state[1], state[2], state[3], state[4]])
        self.errors, self.filters = np.geterr(), list(warnings.filters)
        self.threads = sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"World({vars(self)})"


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_the_same_bits_twice_and_the_world_as_it_was(name: str) -> None:
    ENTRIES[name]()  # loads what it needs
    before = World()
    first = bits(ENTRIES[name]())
    np.random.seed(99)  # noqa: NPY002
    moved = World()
    assert bits(ENTRIES[name]()) == first
    assert World() == moved
    assert vars(moved) | {"random": ""} == vars(before) | {"random": ""}


def test_the_digest_sees_every_number() -> None:
    certificate = wl.certify(TRUTH, X, Y)
    assert bits(TRUTH) != bits(wl.Network(np.nextafter(TRUTH.W, 9.0), TRUTH.a))
    assert bits(certificate) != bits(wl.certify(TRUTH, X[1:], Y[1:]))


def parameters(network: wl.Network) -> np.ndarray:
    net = network.canonical()
    return np.concatenate([net.W.ravel(), net.a.ravel(), net.b, np.atleast_1d(net.c)])


PROBLEMS: dict[str, tuple[np.ndarray, np.ndarray, dict[str, Any]]] = {
    "exact": (X, Y, {}),
    "noisy": (X, NOISY, {}),
    "biases": (X, np.maximum(X @ TRUTH.W + 0.3, 0) @ TRUTH.a + 1.0, {"bias": True, "offset": True}),
    "tanh": (X, wl.Network(TRUTH.W, TRUTH.a, activation="tanh").predict(X), {"activation": "tanh"}),
}


def recovered(X: Any, y: Any = None, **options: Any) -> np.ndarray:
    found = wl.recover(X, y, n_units=2, **options)
    assert found.certificate
    return parameters(found.network)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_order_chunks_and_sources_do_not_matter(problem: str) -> None:
    A, y, options = PROBLEMS[problem]
    expected = recovered(A, y, **options)
    order = np.random.default_rng(5).permutation(len(y))
    answers = {
        "shuffled": recovered(A[order], y[order], **options),
        "reversed": recovered(A[::-1], y[::-1], **options),
        "weights of one": recovered(A, y, sample_weight=np.full(len(y), 3.0), **options),
        "Fortran": recovered(np.asfortranarray(A), y, **options),
    }
    for name, found in answers.items():
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("problem", ["exact", "noisy"])
def test_chunks_of_dask_do_not_matter(problem: str) -> None:
    da = optional("dask.array")
    A, y, options = PROBLEMS[problem]
    expected = recovered(A, y, **options)
    for rows in (400, 150, 37):
        found = recovered(da.from_array(A, chunks=(rows, 5)), da.from_array(y, chunks=rows), **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"{rows}")


def test_the_number_of_threads_does_not_matter() -> None:
    """Above the size up to which one thread is used anyway: the answers agree to 1e-9, and have the same bits at one number."""
    truth = wl.teachers.conditioned(60, 2, activation="relu", rng=0)
    A, y = wl.draw(truth, 2_000, noise_std=0.05, rng=1)

    def fitted() -> np.ndarray:
        return parameters(refinement.gauss_newton(samples.open(A, y), truth, free="Wa").network)

    answers = {}
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            answers[threads] = [fitted() for _ in range(2)]
        assert np.array_equal(*answers[threads])
    np.testing.assert_allclose(answers[2][0], answers[1][0], rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
def test_eight_fits_at_once_give_what_one_gives_alone() -> None:
    """And leave everything as it was, though each of them limits the threads and silences NumPy meanwhile."""
    seeds = range(8)
    alone = [bits(wl.recover(X[:80], Y[:80], n_units=2, rng=seed).network) for seed in seeds]
    before, together, failures = World(), dict[int, str](), list[BaseException]()

    def fit(seed: int) -> None:
        try:
            together[seed] = bits(wl.recover(X[:80], Y[:80], n_units=2, rng=seed).network)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [together[seed] for seed in seeds] == alone
    assert World() == before


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_numpy_may_be_told_to_raise(name: str) -> None:
    """A caller who wants every overflow, division by zero and underflow raised gets the same answer, and no error."""
    expected = bits(ENTRIES[name]())
    with np.errstate(all="raise"):
        assert bits(ENTRIES[name]()) == expected
        assert set(np.geterr().values()) == {"raise"}
