"""Averaged SGD: blocks are the sequential iteration, measures are their definitions, a resumed run has the same bits."""

import dataclasses
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from tests import catalogue
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import activations, samples
from weightlift.errors import ArgumentError, DivergedError, FileFormatError, NotFiniteError, ShapeError
from weightlift.network import Network
from weightlift.refinement import Windows, nearest_weight_distance, sgd, stable_step
from weightlift.refinement.sgd.elements import compiled, evaluate
from weightlift.refinement.sgd.progress import Progress
from weightlift.samples import Fresh

CUBIC = activations.polynomial([0.3, -1.0, 0.2, 0.1])
TINY = 4e-37  # float32 exponentials stay at e^{−87} where they would vanish
EPS = {"float32": float(np.finfo("f4").eps), "float64": float(np.finfo("f8").eps)}


def sequential(X, y, start, steps, *, bias=False, w=None):
    """The iteration as it is written: one row, one gradient, one average; residuals before each step."""
    W, b = start.W.copy(), start.b.copy()
    averages = [W.copy(), b.copy()]
    residuals, averaged = [], []
    for j, x in enumerate(X):
        averaged.append(start.a @ start.activation(x @ averages[0] + averages[1]) + start.c - y[j])
        z = x @ W + b
        residuals.append(start.a @ start.activation(z) + start.c - y[j])
        g = (1.0 if w is None else w[j]) * steps[j] * residuals[-1] * start.a * start.activation.derivative(z)
        W -= np.outer(x, g)
        b -= bias * g
        averages = [m + (v - m) / (j + 1) for m, v in zip(averages, (W, b), strict=True)]
    return W, b, *averages, np.array(residuals), np.array(averaged)


def problem(rng, activation, n=500, d=7, k=9):
    truth = Network(rng.normal(size=(d, k)) / math.sqrt(d), a=rng.choice([-1.0, 1.0], k), c=0.3, activation=activation)
    X, y = wl.draw(truth, n, noise_std=0.1, rng=rng)
    start = Network(rng.normal(size=(d, k)) / math.sqrt(d), truth.a, rng.normal(size=k) / 3, 0.3, activation)
    return X, y, start


@pytest.mark.parametrize("activation", [*catalogue.EVERY, CUBIC], ids=catalogue.name)
def test_the_blocks_are_the_sequential_iteration(activation, rng):
    """Rounding of 500 steps, amplified by the iteration: 1e-11 leaves room, a wrong index or weight is of order 1e-3."""
    X, y, start = problem(rng, activation)
    s = 0.1 * stable_step(start, X, y)
    for bias in (False, True):
        run = sgd(samples.open(X, y), start, step=s, window=100, bias=bias)
        W, b, W_mean, b_mean, residuals, averaged = sequential(X, y, start, np.full(len(y), s), bias=bias)
        for net, weights, biases in ((run.network, W, b), (run.average, W_mean, b_mean)):
            np.testing.assert_allclose(net.W, weights, rtol=0, atol=1e-11 * np.abs(weights).max())
            np.testing.assert_allclose(net.b, biases, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.windows.last_squared_error, (residuals**2).reshape(5, 100).mean(axis=1), rtol=1e-10)
        np.testing.assert_allclose(run.windows.squared_error, (averaged**2).reshape(5, 100).mean(axis=1), rtol=1e-10)


def test_float32_follows_float64(rng):
    X, y, start = problem(rng, "tanh(2.5x)", n=2000)
    one, two = (sgd(samples.open(X, y), start, step=2e-3, dtype=dtype) for dtype in ("float32", "float64"))
    assert 0 < np.abs(one.network.W - two.network.W).max() < 1e-4
    assert 0 < np.abs(one.average.W - two.average.W).max() < 1e-4


def test_schedules_and_weights(rng):
    """A schedule sees the step numbers 1, 2, …; a row of weight w takes w times the step."""
    X, y, start = problem(rng, "sigmoid", n=300)
    w = rng.uniform(0.0, 2.0, size=300)
    run = sgd(samples.open(X, y, sample_weight=w), start, step=lambda j: 0.05 / np.sqrt(j), window=77)
    W, _, W_mean, _, _, averaged = sequential(X, y, start, 0.05 / np.sqrt(np.arange(1, 301)), w=w)
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.average.W, W_mean, rtol=0, atol=1e-12)
    assert run.windows.ends.tolist() == [77, 154, 231, 300]
    assert run.windows.squared_error[-1] == pytest.approx(np.average(averaged[231:] ** 2, weights=w[231:]))


def test_custom_activations_run_in_numpy(rng):
    X, y, start = problem(rng, "tanh")
    tanh = start.activation
    custom = activations.custom("my tanh", np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    assert compiled(custom, "float64") is None
    one, two = (sgd(samples.open(X, y), dataclasses.replace(start, activation=f), step=0.01, bias=True) for f in (tanh, custom))
    np.testing.assert_allclose(two.network.W, one.network.W, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.average.b, one.average.b, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.windows.sums, one.windows.sums, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vector_activations_are_right_to_rounding(dtype):
    """Against the catalogue in float64. The argument's own rounding enters the value |z φ′| times, the slope |z φ″| times."""
    z = np.concatenate([np.linspace(-9, 9, 20_001), np.geomspace(1e-30, 1, 100), [0.0, -80.0, 80.0]]).astype(dtype)
    value, slope, exact = np.empty_like(z), np.empty_like(z), z.astype(float)
    for act in catalogue.EVERY:
        evaluate(*compiled(act, dtype), z, value, slope)
        wanted, bend = act.derivative(exact), np.abs(exact * act.second_derivative(exact))
        sizes = np.abs(act(exact)) + np.abs(exact * wanted) / 4, np.abs(wanted) + bend
        if "coefficients" in dict(act.parameters):
            sizes = (1 + 2 * np.abs(exact) ** 3,) * 2
        room, tiny = (2, 1e-18) if act.name == "gelu" else (1, TINY)  # 1 − erf(1) = 0.16; below −8.5 φ itself is 1e-17
        assert np.all(np.abs(value - act(exact)) <= 4 * room * EPS[dtype] * sizes[0] + tiny), act
        assert np.all(np.abs(slope - wanted) <= 6 * room * EPS[dtype] * sizes[1] + tiny), act


def test_any_stream_gives_the_same_run(rng, as_xp):
    X, y, start = problem(rng, "tanh")
    plain = sgd(samples.open(X, y), start, step=0.01, window=130)
    for source in (samples.open(as_xp(X), as_xp(y)), Awkward(source=samples.open(X, y))):
        run = sgd(source, start, step=0.01, window=130)
        np.testing.assert_array_equal(run.network.W, plain.network.W)
        np.testing.assert_array_equal(run.windows.sums, plain.windows.sums)


def test_fresh_rows_start_anywhere(seed):
    stream = Fresh(wl.teachers.haar(5, 10), seed=seed, noise_std=0.2, arithmetic="float32")
    whole = next(stream.blocks(9_000))
    for start in (0, 1, 4_095, 4_096, 8_000):
        blocks = stream.blocks(300, start=start)
        for i in range(start, start + 900, 300):
            part = next(blocks)
            np.testing.assert_array_equal(part.X, whole.X[i : i + 300])
            np.testing.assert_array_equal(part.y, whole.y[i : i + 300])
    assert whole.y.dtype == whole.X.dtype == np.float32
    noise = whole.y - stream.network.predict(whole.X)
    assert noise.std() == pytest.approx(0.2, rel=4 / math.sqrt(2 * 9_000))
    assert np.abs(whole.X.mean(axis=0)).max() < 5 / math.sqrt(9_000)
    assert abs(np.corrcoef(whole.X[:4096, 0], whole.X[4096:8192, 0])[0, 1]) < 5 / 64


def test_fresh_rows_refuse_nonsense():
    with pytest.raises(ArgumentError, match="arithmetic"):
        Fresh(Network([[1.0]]), arithmetic="float16")
    with pytest.raises(ArgumentError, match="seed"):
        Fresh(Network([[1.0]]), seed=-1)
    with pytest.raises(ArgumentError, match="noise_std"):
        Fresh(Network([[1.0]]), noise_std=-1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_resumed_run_has_the_same_bits(tmp_path, dtype, seed):
    """Stopped in the middle of a window, taken up twice, and lengthened beyond its first end."""
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(seed).normal(size=(6, 12)) / 3, activation=truth.activation)
    stream = Fresh(truth, seed=seed)
    options = {"step": lambda j: 0.01 / np.sqrt(1 + j / 500), "window": 500, "truth": truth, "dtype": dtype}
    whole = sgd(stream, start, steps=3_210, **options)
    path = tmp_path / "run.safetensors"
    for steps in (740, 1_000, 2_999, 3_210):
        part = sgd(stream, start, steps=steps, checkpoint=path, **options)
        assert part.steps == steps
    np.testing.assert_array_equal(part.network.W, whole.network.W)
    np.testing.assert_array_equal(part.average.W, whole.average.W)
    for name in ("ends", "sums", "nearest"):
        np.testing.assert_array_equal(getattr(part.windows, name), getattr(whole.windows, name))


@pytest.mark.slow
def test_a_new_process_has_the_same_bits(tmp_path):
    """Whether it compiles the blocks or finds them compiled."""
    code = """
import hashlib, numpy as np, weightlift as wl
truth = wl.teachers.haar(50, 350)
start = wl.Network(np.random.default_rng(0).normal(size=(50, 350)) / 7, activation=truth.activation)
run = wl.refinement.sgd(wl.samples.Fresh(truth), start, step=1e-5, steps=3_000, window=1_000, dtype="float32")
print(hashlib.sha256(run.network.W.tobytes() + run.average.W.tobytes() + run.windows.sums.tobytes()).hexdigest())
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != b""


class Interrupted:
    """A stream that breaks off."""

    def __init__(self, stream, rows):
        self.stream, self.rows, self.n, self.d = stream, rows, stream.n, stream.d

    def blocks(self, rows, *, start=0):
        for block in self.stream.blocks(rows, start=start):
            if start >= self.rows:
                raise KeyboardInterrupt
            start += len(block.y)
            yield block


def test_an_interrupted_run_is_kept(tmp_path):
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(0).normal(size=(6, 12)) / 3, activation=truth.activation)
    options = {"step": 0.01, "steps": 9_000, "window": 1_500, "checkpoint": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        sgd(Interrupted(Fresh(truth), 4_000), start, **options)
    counted = Counting(Fresh(truth))
    run = sgd(counted, start, **options)
    assert counted.starts == [0, 3_000], "the first rows are looked at, then the run goes on"
    whole = sgd(Fresh(truth), start, **{**options, "checkpoint": None})
    np.testing.assert_array_equal(run.average.W, whole.average.W)
    np.testing.assert_array_equal(run.windows.ratio(), whole.windows.ratio())


class Counting:
    def __init__(self, stream):
        self.stream, self.n, self.d, self.starts = stream, stream.n, stream.d, []

    def blocks(self, rows, *, start=0):
        self.starts.append(start)
        return self.stream.blocks(rows, start=start)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    truth = wl.teachers.haar(4, 8)
    start = Network(np.ones((4, 8)) / 2, activation=truth.activation)
    path = tmp_path / "run"
    options = {"step": 0.01, "steps": 100, "window": 50, "checkpoint": path}
    sgd(Fresh(truth), start, **options)
    assert sgd(Fresh(truth), start, **{**options, "window": np.int64(50)}).steps == 100
    for name, value in {"step": 0.02, "window": 25, "dtype": "float32", "truth": truth}.items():
        with pytest.raises(ArgumentError, match=f"another {name}"):
            sgd(Fresh(truth), start, **{**options, name: value})
    with pytest.raises(ArgumentError, match="another start"):
        sgd(Fresh(truth), Network(start.W + 1e-9, activation=truth.activation), **options)
    with pytest.raises(ArgumentError, match="another first rows"):
        sgd(Fresh(truth, seed=5), start, **options)
    with pytest.raises(ArgumentError, match="already"):
        sgd(Fresh(truth), start, **{**options, "steps": 70})
    content = path.read_bytes()
    for damaged in (content[:40], content[:-8], content[:-1] + bytes([content[-1] ^ 1]), b"", b"\0" * 100):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            sgd(Fresh(truth), start, **options)
    start.save(path)
    with pytest.raises(FileFormatError, match="not a run"):
        sgd(Fresh(truth), start, **options)


def test_the_window_ratio_is_its_definition(rng):
    """Σ(y − ȳ)² over the residual sum of squares of the least-squares fit of y on (1, ‖x‖²)."""
    X, y, start = problem(rng, "softplus", n=600)
    windows = sgd(samples.open(X, y), start, step=1e-3, window=200).windows
    q = (X**2).sum(axis=1)
    design = np.column_stack([np.ones(600), q])
    fit = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(windows.norm_fit, fit, rtol=1e-9)
    best = y - fit[0] - fit[1] * (X**2).sum(axis=1)
    assert windows.norm_share == pytest.approx(best.var() / y.var(), rel=1e-9)
    *_, residuals, averaged = sequential(X, y, start, np.full(600, 1e-3))
    for given, coefficients in ((None, fit), ((0.4, 0.1), np.array([0.4, 0.1]))):
        baseline = ((y - design @ coefficients) ** 2).reshape(3, 200).sum(axis=1)
        np.testing.assert_allclose(windows.ratio(given), (averaged**2).reshape(3, 200).sum(axis=1) / baseline, rtol=1e-9)
        np.testing.assert_allclose(windows.last_ratio(given), (residuals**2).reshape(3, 200).sum(axis=1) / baseline, rtol=1e-9)


def test_norms_that_do_not_vary_explain_nothing(rng):
    X = rng.normal(size=(200, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] + 2.0
    windows = sgd(samples.open(X, y), Network(np.eye(3), activation="tanh"), step=1e-3).windows
    assert windows.norm_fit == (pytest.approx(y.mean()), 0.0)


def test_the_weight_distance_is_its_definition(rng):
    for estimates, truths in ((300, 280), (3, 600), (1, 1)):
        E, T = rng.normal(size=(5, estimates)), rng.normal(size=(5, truths))
        gaps = ((E[:, :, None] - T[:, None, :]) ** 2).sum(axis=0)
        wanted = (gaps.min(axis=0).mean() + gaps.min(axis=1).mean()) / 2
        assert nearest_weight_distance(E, T) == pytest.approx(wanted, rel=1e-13)
        assert nearest_weight_distance(T, E) == pytest.approx(wanted, rel=1e-13)
    W = rng.normal(size=(5, 40))
    assert nearest_weight_distance(W + 1e-9, W[:, rng.permutation(40)]) == pytest.approx(5e-18, rel=1e-6), "no cancellation"
    assert nearest_weight_distance(W[:, :7], W) == pytest.approx(wl.match(Network(W[:, :7]), Network(W)).nearest_error)
    with pytest.raises(ShapeError, match="one length"):
        nearest_weight_distance(W, W[:3])
    with pytest.raises(ArgumentError, match="no weights"):
        nearest_weight_distance(W[:, :0], W)


def test_distances_are_of_the_average_at_the_ends_of_windows():
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(0).normal(size=(6, 12)) / 3, activation=truth.activation)
    runs = [sgd(Fresh(truth), start, step=0.02, steps=n, window=100, truth=truth) for n in (100, 200, 250)]
    expected = [nearest_weight_distance(run.average.W, truth.W) for run in runs]
    np.testing.assert_array_equal(runs[-1].windows.nearest, expected)


def test_it_learns_what_gradient_descent_learns():
    """A well-conditioned ReLU teacher, started near it: the last iterate finds it from noiseless rows."""
    truth = wl.teachers.conditioned(8, 4, activation="relu", rng=1)
    start = Network(truth.W + 0.1 * np.random.default_rng(2).normal(size=truth.W.shape), truth.a, activation="relu")
    run = sgd(Fresh(truth), start, steps=20_000, truth=truth, window=5_000)
    assert run.network.equivalent(truth, tol=1e-6)
    assert (np.diff(run.windows.nearest) < 0).all()
    assert (np.diff(run.windows.ratio()) < 0).all()


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "linear", "softplus"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergence_names_the_step_and_a_stable_one(activation, dtype, tmp_path):
    truth = wl.teachers.conditioned(10, 5, activation=activation, rng=0)
    start = Network(np.random.default_rng(1).normal(size=(10, 5)) / 3, truth.a, activation=activation)
    s = 100 * stable_step(start, *wl.draw(truth, 500))
    with pytest.raises(DivergedError, match=r"at step \d+ .* Try step = ") as caught:
        sgd(Fresh(truth), start, step=s, steps=5_000, dtype=dtype, checkpoint=tmp_path / "run")
    error = caught.value
    assert 1 < error.step_number < 5_000
    assert error.suggested_step < s / 3
    assert np.isfinite(error.result.network.W).all()
    run = sgd(Fresh(truth), start, step=error.suggested_step, steps=5_000, window=1_000, dtype=dtype)
    assert run.windows.last_squared_error[-1] < run.windows.last_squared_error[0]


def test_divergence_keeps_the_windows_before(rng):
    truth = wl.teachers.conditioned(10, 5, activation="relu", rng=0)
    start = Network(truth.W + 0.01, truth.a)
    with pytest.raises(DivergedError) as caught:
        sgd(Fresh(truth), start, step=lambda j: np.where(j <= 300, 1e-3, 10.0), steps=900, window=100)
    assert caught.value.result.steps == 300
    assert caught.value.result.windows.ends.tolist() == [100, 200, 300]
    assert caught.value.suggested_step < 2.5


def test_a_device_gives_the_same_run_or_says_what_it_needs(rng):
    from weightlift.refinement.sgd import device as gpu

    X, y, start = problem(rng, "tanh(2.5x)", n=300)
    custom = activations.custom("my tanh", np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    with pytest.raises(ArgumentError, match="no compiled kernel"):
        sgd(samples.open(X, y), dataclasses.replace(start, activation=custom), step=0.01, device="cuda")
    if gpu.MISSING:
        with pytest.raises(ArgumentError, match="'cuda' needs"):
            sgd(samples.open(X, y), start, step=0.01, device="cuda")
        return
    for phi in catalogue.EVERY:
        X, y, start = problem(rng, phi, n=300)
        options = {"step": 0.1 * stable_step(start, X, y), "window": 70, "bias": True}
        one, two = (sgd(samples.open(X, y), start, device=device, **options) for device in (None, "cuda"))
        np.testing.assert_allclose(two.average.W, one.average.W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(two.windows.sums, one.windows.sums, rtol=1e-10)


def test_threads_are_those_asked_for(rng, monkeypatch):
    """The products' BLAS is loaded, and limited, before the first step; the bits may differ, the numbers do not."""
    import threadpoolctl

    from weightlift.refinement.sgd import blocks

    seen = []
    run = blocks.blocks

    def spy(*arguments):
        seen.append({pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"})
        return run(*arguments)

    monkeypatch.setattr(blocks, "blocks", spy)
    X, y, start = problem(rng, "tanh", n=100)
    one, two = (sgd(samples.open(X, y), start, step=0.01, threads=threads) for threads in (1, 2))
    assert seen == [{1}, {2}]
    np.testing.assert_allclose(one.network.W, two.network.W, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("d", "k", "n", "window"), [(1, 1, 2, 1), (3, 1, 17, 16), (1, 700, 40, 1_000), (4, 5, 33, 33)])
def test_small_and_odd_sizes(d, k, n, window, rng):
    """One unit, one input, more units than a panel holds, windows shorter and longer than the run."""
    X, y, start = problem(rng, "tanh", n=n, d=d, k=k)
    run = sgd(samples.open(X, y), start, step=1e-3, window=window)
    W, _, W_mean, *_ = sequential(X, y, start, np.full(n, 1e-3))
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12 * np.abs(W).max())
    np.testing.assert_allclose(run.average.W, W_mean, rtol=0, atol=1e-12 * np.abs(W).max())
    assert run.windows.ends[-1] == n
    assert len(run.windows.ends) == -(-n // window)


def test_bad_arguments_are_named(rng):
    X, y, start = problem(rng, "tanh", n=50)
    data = samples.open(X, y)
    for arguments, word in (
        ({"step": -1.0}, "step"),
        ({"step": math.inf}, "step"),
        ({"step": "fast"}, "step"),
        ({"step": lambda j: -1.0 * j}, "step"),
        ({"step": lambda j: 1.0}, "step"),
        ({"steps": 0}, "steps"),
        ({"steps": 51}, "50 rows"),
        ({"window": 0}, "window"),
        ({"window": 2.5}, "window"),
        ({"threads": 0}, "threads"),
        ({"dtype": "float16"}, "dtype"),
        ({"truth": Network(np.eye(3))}, "truth"),
    ):
        with pytest.raises(ArgumentError, match=word):
            sgd(data, start, **{"step": 1e-3, **arguments})
    for several in (Network(start.W, np.ones((9, 2)), activation="tanh"), Network(start.W, V=np.ones(7), activation="tanh")):
        with pytest.raises(ArgumentError, match="one output and no linear part"):
            sgd(data, several, step=1e-3)
    with pytest.raises(ArgumentError, match="no end"):
        sgd(Fresh(start), start, step=1e-3)
    with pytest.raises(ArgumentError, match="blocks of rows"):
        sgd(X, start, step=1e-3)
    with pytest.raises(ShapeError, match="inputs"):
        sgd(data, Network(np.eye(3)), step=1e-3)
    with pytest.raises(ArgumentError, match="gradient is zero"):
        sgd(data, Network(np.zeros((7, 2)), activation="quadratic"))
    assert not sgd(data, Network(np.zeros((7, 2)), activation="quadratic"), step=1e-3).network.W.any()
    broken = X.copy()
    broken[30, 2] = np.nan
    with pytest.raises(NotFiniteError, match="stream"):
        sgd(data.map(lambda block: dataclasses.replace(block, X=broken)), start, step=1e-3)


def test_progress_is_shown_late_and_on_terminals_only(capfd):
    with Progress(10, "SGD") as bar:
        bar.reach(5, "")
    with Progress(10, "SGD", shown=True) as bar:
        bar.reach(5, "")
    assert bar.bar is None, "no bar before two seconds"
    bar.started -= 3.0
    with bar:
        bar.reach(6, "error 0.1")
    assert bar.bar is not None
    assert bar.bar.tasks[0].completed == 6
    assert capfd.readouterr().out == ""


def test_a_target_that_the_norm_explains_has_no_finite_ratio():
    """No warning, and no number: the baseline is zero."""
    windows = Windows(np.array([4]), np.array([[1.0, 2.0, 4.0, 0.0, 0.0, 4.0, 0.0, 4.0]]), 3, None)  # y = 1
    assert windows.ratio() == [np.inf]
