"""Where arrays live: nothing leaves its device in a pass, devices and libraries are not mixed, memory that runs out."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.conftest import one_threaded_torch, optional

from weightlift import errors, moments, samples
from weightlift.namespaces import array_namespace, as_like, device, from_numpy, out_of_memory, to_numpy
from weightlift.refinement import gauss_newton
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Gradient, Hessian, HessianProduct, Risk, Students
from weightlift.samples import Block, Covariance, RandomSigns, Whitening
from weightlift.samples.limits import LIMITS
from weightlift.teachers import conditioned, draw

D = 5


def data(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D))
    return X, np.maximum(X @ rng.normal(size=(D, 2)), 0).sum(axis=1), rng.uniform(0.5, 2.0, size=n)


def statistics():
    rng = np.random.default_rng(1)
    V, alpha = np.linalg.qr(rng.normal(size=(D, 2)))[0], rng.normal(size=D)
    network = conditioned(D, 2, activation="tanh", rng=0)
    students = Students.of(network, conditioned(D, 2, activation="tanh", rng=1))
    return [
        Covariance(D),
        moments.HermiteMoment(D, 2),
        moments.HermiteMoment(D, 3, V, 1, alpha),
        moments.MomentProduct(V, 1, alpha),
        moments.UnfoldedMoment(V),
        moments.DirectionalMoments(V, (0, 1, 2, 3, 4)),
        Risk(students),
        Gradient(students),
        Hessian(network),
        HessianProduct(network, rng.normal(size=(D, 2))),
        NormalEquations(students, Free.of("Wabc")),
    ]


def second_device():
    xp = optional("array_api_strict")
    return xp, xp.Device("device1")


def test_a_pass_stays_on_its_device():
    """array-api-strict refuses to mix devices: what it lets through on its second one does not pass through the first."""
    xp, where = second_device()
    X, y, w = data()
    near = samples.open(X, y, sample_weight=w)
    far = samples.open(*(xp.asarray(v, device=where) for v in (X, y)), sample_weight=xp.asarray(w, device=where))
    assert far.device == where
    white = Whitening.estimated(near)
    for p, q in zip(near.split(0.6, 0.4, seed=1), far.split(0.6, 0.4, seed=1), strict=True):
        assert p.n == q.n
        for statistic in statistics():
            a, b = (s.map(white).map(RandomSigns(2)).mean(statistic) for s in (p, q))
            for u, v in zip(a, b, strict=True):
                assert device(v) == where
                np.testing.assert_allclose(to_numpy(v), u, rtol=1e-11, atol=1e-12)


def test_refinement_stays_on_its_device():
    xp, where = second_device()
    truth = conditioned(D, 2, activation="relu", rng=0)
    X, y = draw(truth, 200, rng=1)
    start = type(truth)(truth.W + 0.1, truth.a, activation="relu")
    found = gauss_newton(samples.open(xp.asarray(X, device=where), xp.asarray(y, device=where)), start, free="Wa", unit=True)
    assert device(found.students.W) == where
    expected = gauss_newton(samples.open(X, y), start, free="Wa", unit=True)
    np.testing.assert_allclose(found.network.W, expected.network.W, atol=1e-9)


def test_devices_and_libraries_are_not_mixed():
    xp, where = second_device()
    X, y, w = data()
    here, there = xp.asarray(X), xp.asarray(y, device=where)
    with pytest.raises(errors.ArgumentError, match=r"X is on .*CPU.* and y on .*device1.*; move"):
        samples.open(here, there)
    with pytest.raises(errors.ArgumentError, match=r"sample_weight on .*device1.*; move"):
        samples.open(here, xp.asarray(y), sample_weight=xp.asarray(w, device=where))
    with pytest.raises(errors.ArgumentError, match=r"different libraries \(X a numpy array, y a array_api_strict array\)"):
        samples.open(X, xp.asarray(y))


def test_dtypes_may_be_mixed_because_every_block_is_upcast(as_xp):
    X, y, w = data()
    X = X.astype(np.float32)
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w, dtype="float32"))
    expected = samples.open(X.astype(np.float64), y, sample_weight=w.astype(np.float32).astype(np.float64))
    for a, b in zip(source.mean(Covariance(D)), expected.mean(Covariance(D)), strict=True):
        assert a.dtype == source.xp.float64
        np.testing.assert_allclose(to_numpy(a), b, rtol=1e-12, atol=1e-13)


class FakeOutOfMemoryError(RuntimeError):
    """By its name, as PyTorch's and CuPy's."""


@dataclass(frozen=True)
class Hungry:
    """Sums of y; fails where a block has more rows than the device has room for."""

    room: int
    floats_per_row: int = 0

    def __call__(self, block: Block):
        xp = array_namespace(block.y)
        if block.y.shape[0] > self.room:
            raise FakeOutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return (xp.sum(block.y),)


def test_smaller_blocks_are_tried_when_memory_runs_out(as_xp):
    X, y, _ = data(n=50_000)
    source = samples.open(as_xp(X), as_xp(y))
    for room in (50_000, 3000, LIMITS.least_rows):
        assert to_numpy(source.fold(Hungry(room))[0]) == pytest.approx(y.sum(), rel=1e-11)
    with pytest.raises(errors.OutOfMemoryError, match=rf"over {LIMITS.least_rows} rows .*2\.00 GiB.*fewer") as caught:
        source.fold(Hungry(LIMITS.least_rows - 1))
    assert isinstance(caught.value, MemoryError)


def test_the_libraries_errors_are_known(torch):
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes."))
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@pytest.fixture
def cuda():
    torch = one_threaded_torch()
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return torch


def test_the_host_does_not_wait_in_a_pass(cuda):
    """With its debug mode PyTorch raises wherever the host would wait for the device."""
    source = samples.open(*(cuda.as_tensor(v, device="cuda") for v in data(n=20_000)[:2]))
    white = Whitening.estimated(source)
    mapped = source.split(0.9, seed=1)[0].map(white)
    for statistic in statistics():
        mapped.mean(statistic)
        cuda.cuda.set_sync_debug_mode("error")
        try:
            mapped.mean(statistic)
        finally:
            cuda.cuda.set_sync_debug_mode("default")


def test_parameters_reach_a_gpu_unchanged(cuda):
    like = cuda.zeros(1, dtype=cuda.float32, device="cuda")
    values = np.random.default_rng(0).normal(size=(3, 4))
    assert as_like(values, like).dtype == cuda.float32
    np.testing.assert_array_equal(to_numpy(from_numpy(values, like=like)), values)


def test_a_gpu_gives_what_the_processor_gives(cuda):
    X, y, w = data(n=5000)
    near = samples.open(X, y, sample_weight=w)
    far = samples.open(*(cuda.as_tensor(v, device="cuda") for v in (X, y)), sample_weight=cuda.as_tensor(w, device="cuda"))
    for statistic in statistics():
        for a, b in zip(near.mean(statistic), far.mean(statistic), strict=True):
            np.testing.assert_allclose(to_numpy(b), a, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("library", ["jax", "cupy"])
def test_other_libraries(library):
    module = optional(library)
    X, y, w = data()
    if library == "jax":
        with pytest.raises(errors.ArgumentError, match="jax_enable_x64"), pytest.warns(UserWarning, match="float64"):
            samples.open(module.numpy.asarray(X), module.numpy.asarray(y))
        module.config.update("jax_enable_x64", True)
        module = module.numpy
    near, far = samples.open(X, y, sample_weight=w), samples.open(*map(module.asarray, (X, y)), sample_weight=module.asarray(w))
    for p, q in zip(near.split(0.6, 0.4, seed=1), far.split(0.6, 0.4, seed=1), strict=True):
        assert p.n == q.n
        for statistic in statistics():
            for a, b in zip(p.mean(statistic), q.mean(statistic), strict=True):
                np.testing.assert_allclose(to_numpy(b), a, rtol=1e-10, atol=1e-12)
