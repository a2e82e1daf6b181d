"""The same question has the same answer: bit for bit from the same seed, to 1e-9 whatever the order, chunks, source or threads.

And nothing that belongs to the caller is touched: the global random state, NumPy's error state, warning filters, BLAS threads.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.adversarial.calls import CALLS, NOISY, TRUTH, X, Y, public
from tests.conftest import optional
from threadpoolctl import threadpool_info, threadpool_limits

import weightlift as wl
from weightlift import refinement, samples


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


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_the_same_bits_twice_and_the_world_as_it_was(name: str) -> None:
    CALLS[name]()  # loads what it needs
    before = World()
    first = bits(CALLS[name]())
    np.random.seed(99)  # noqa: NPY002
    moved = World()
    assert bits(CALLS[name]()) == first
    assert World() == moved
    assert vars(moved) | {"random": ""} == vars(before) | {"random": ""}


def test_every_public_entry_point_is_called() -> None:
    assert public() <= set(CALLS)


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


@pytest.mark.parametrize("problem", ["exact", "noisy"])
def test_parquet_is_as_good_as_memory(problem: str, tmp_path: Path) -> None:
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    A, y, options = PROBLEMS[problem]
    expected = recovered(A, y, **options)
    for rows in (400, 61):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table({**{f"x{i}": A[:, i] for i in range(5)}, "y": y}), path, row_group_size=rows)
        found = recovered(samples.open(path, target="y"), **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"{rows}")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_recovery_is_the_same_with_two_threads(problem: str) -> None:
    A, y, options = PROBLEMS[problem]
    with threadpool_limits(limits=1):
        expected = recovered(A, y, **options)
    with threadpool_limits(limits=2):
        np.testing.assert_allclose(recovered(A, y, **options), expected, rtol=1e-9, atol=1e-9)


def test_several_outputs_in_any_order() -> None:
    """Rows, and the outputs themselves, whose weights come back in the same order."""
    truth = wl.teachers.several(wl.teachers.biased(5, 2, activation="tanh", rng=0), 3, rng=1)
    A, y = wl.draw(truth, 300, rng=2)
    order, outputs = np.random.default_rng(5).permutation(300), np.array([2, 0, 1])
    found = [
        wl.recover(B, z, n_units=2, activation="tanh", bias=True, rng=3).network
        for B, z in ((A, y), (A[order], y[order]), (A, y[:, outputs]))
    ]
    units = [wl.match(net.output(0 if i < 2 else 1), truth.output(0)) for i, net in enumerate(found)]
    assert max(match.max_error for match in units) < 1e-9
    for net, chosen in zip(found, (slice(None), slice(None), outputs), strict=True):
        np.testing.assert_allclose(net.predict(A), truth.predict(A)[:, chosen], rtol=1e-9, atol=1e-9)


def test_an_estimator_does_not_see_the_order_of_its_rows() -> None:
    order = np.random.default_rng(5).permutation(400)
    found = [
        wl.OneHiddenLayerRegressor(2, random_state=3).fit(A, y).predict(X[:50])
        for A, y in ((X, NOISY), (X[order], NOISY[order]), (np.asfortranarray(X), NOISY))
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-9)


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


def at_once(calls: list[Callable[[], Any]]) -> list[str]:
    """The bits of every call, each in a thread of its own."""
    found, failures = dict[int, str](), list[BaseException]()

    def run(number: int) -> None:
        try:
            found[number] = bits(calls[number]())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    return [found[number] for number in range(len(calls))]


EIGHT = {
    "one problem": [lambda seed=seed: wl.recover(X[:80], Y[:80], n_units=2, rng=seed).network for seed in range(8)],
    "eight doors": [
        CALLS[name]
        for name in (
            "recover, noise", "recover, tanh", "recover, outputs", "certify", "extract",
            "OneHiddenLayerRegressor", "decompose", "learning.learn_1nn",
        )
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", EIGHT)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_eight_fits_at_once_give_what_one_gives_alone(calls: str) -> None:
    """And leave everything as it was, though each of them limits the threads and silences NumPy meanwhile."""
    alone = [bits(call()) for call in EIGHT[calls]]
    before = World()
    assert at_once(EIGHT[calls]) == alone
    assert World() == before


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_numpy_may_be_told_to_raise(name: str) -> None:
    """A caller who wants every overflow, division by zero and underflow raised gets the same answer, and no error."""
    expected = bits(CALLS[name]())
    with np.errstate(all="raise"):
        assert bits(CALLS[name]()) == expected
        assert set(np.geterr().values()) == {"raise"}


@pytest.mark.parametrize("phi", wl.activations.examples(), ids=lambda phi: phi.name)
def test_tails_may_fade_where_numpy_raises(phi: wl.activations.Activation) -> None:
    """Far from the kinks values and slopes vanish below the least number: that is right, and no error."""
    z = np.concatenate([side * np.geomspace(1e-3, 3e3, 200) for side in (-1.0, 1.0)])
    with np.errstate(under="raise"):
        found = [phi(z), phi.derivative(z), phi.second_derivative(z), phi.hermites(4, [0.01, 1.0, 30.0], [-9.0, 0.0, 40.0])]
    for value, again in zip(found, (phi(z), phi.derivative(z), phi.second_derivative(z)), strict=False):
        np.testing.assert_array_equal(value, again)
