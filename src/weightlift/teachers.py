"""Planted networks of the four papers, and data drawn from them.

A teacher is an ensemble of networks f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ); `draw` gives x ~ N(μ, S) and y = f(x) + ε. `several` gives
the units of any of them m outputs and a linear part.

    conditioned         W = U diag(1 … κ) Vᵀ, aᵢ = ±1, k ≤ d               [zhong2017, §7], [zhang2019, §6]
    centered_gaussian   centred Gaussian directions, ‖wᵢ‖ = 1               [mondelli2019, eq. (2) and (11)]
    haar                Haar orthogonal matrices side by side, centred      [mondelli2019, §6]
    simplex             rotated regular simplices, ⟨wᵢ, wⱼ⟩ = −1/d          [mondelli2019, §3.1]
    biased              uniform directions, biases, aᵢ of either sign       [awasthi2021, §1.1]
    smoothed            a network whose directions are perturbed            [awasthi2021, Cor. 3.3]
    several             a network with m outputs, a linear part, or both

Each takes `rng`, a seed or a Generator: one seed, one network, bit for bit. Cost O(d k min(d, k)) at most.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.arguments import count, generator
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError
from weightlift.network import BLOCK_BYTES, Network
from weightlift.noise import Noise

STEEP_TANH = activations.scaled(activations.tanh, 2.5)  # tanh(5z/2)  [mondelli2019, §6]
MAX_BYTES = 2**36  # of X: 64 GiB, more than most machines have
COVARIANCE_CONDITION = 1e12  # of a covariance: beyond, its root has fewer than four digits


def draw(
    net: Network,
    n: int,
    *,
    noise_std: float = 0.0,
    noise: str = "gaussian",
    mean: np.ndarray | None = None,
    covariance: np.ndarray | None = None,
    rng: int | np.random.Generator = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) with rows x ~ N(mean, covariance), and y = f(x) + ε, (n,) or (n, m), ε of standard deviation `noise_std`.

    The mean is zero and the covariance the identity unless given. `noise`: "gaussian", "uniform" or "rademacher", which
    are sub-Gaussian, or "laplace" or "student" (five degrees of freedom), which are not. X has a random stream of its
    own: one seed gives the same X whatever the noise, and the same first rows whatever n (with a covariance, to
    rounding). Cost O(n d k), with a covariance O(n d² + d³) more; memory that of X and O(n).

    net  f
    rng  a seed or a generator

    >>> net = conditioned(10, 3, kappa=4.0, activation="relu", rng=1)
    >>> X, y = draw(net, 500, noise_std=0.1, noise="uniform", rng=2)
    >>> X.shape, bool(np.abs(y - net.predict(X)).max() <= 0.1 * 3**0.5)
    ((500, 10), True)
    """
    if not isinstance(net, Network):
        raise ArgumentError(f"net must be a Network, not {type(net).__name__}.")
    n, d = count("n", n), net.n_inputs
    if 8 * n * d > MAX_BYTES:
        raise ArgumentError(f"n = {n} rows of {d} inputs take {8 * n * d / 2**30:.0f} GiB (at most 64); draw fewer.")
    law = Noise(noise, noise_std)
    mean = None if mean is None else _finite("mean", mean, (d,))
    root = None if covariance is None else _cholesky(_finite("covariance", covariance, (d, d)))
    inputs, labels = generator(rng).spawn(2)
    X = inputs.standard_normal((n, d))
    if root is not None:
        rows = max(1, BLOCK_BYTES // (8 * d))
        for i in range(0, n, rows):
            X[i : i + rows] = X[i : i + rows] @ root.T
    if mean is not None:
        X += mean
    y = net.predict(X)
    if noise_std > 0:
        y += law.draw(y.size, rng=labels).reshape(y.shape)
    return X, y


def conditioned(
    n_inputs: int,
    n_units: int,
    *,
    kappa: float = 2.0,
    signs: bool = True,
    activation: str | Activation = "relu",
    rng: int | np.random.Generator = 0,
) -> Network:
    """W = U diag(s) Vᵀ with U (d, k), V (k, k) Haar and s = 1, 1 + (κ−1)/(k−1), …, κ; k ≤ d  [zhong2017, §7].

    aᵢ = ±1 with equal chance, or 1 when `signs` is False; a single unit has s = 1. With ReLU and without signs this is
    the teacher of [zhang2019, §6], whose U and V, the singular vectors of a Gaussian matrix, are Haar as well.

    >>> np.linalg.svd(conditioned(10, 3, kappa=4.0).W, compute_uv=False)
    array([4. , 2.5, 1. ])
    """
    d, k = count("n_inputs", n_inputs), count("n_units", n_units)
    if k > d:
        raise ArgumentError(f"n_units must be at most n_inputs, for W of rank k, not {k} > {d}; see `biased`.")
    s = np.linspace(1.0, _number("kappa", kappa, at_least=1.0), k)
    rng = generator(rng)
    U, V = _haar(rng.standard_normal((d, k))), _haar(rng.standard_normal((k, k)))
    a = _signs(rng, k) if signs else np.ones(k)
    return Network(U * s @ V.T, a=a, activation=activations.get(activation))


def centered_gaussian(
    n_inputs: int,
    n_units: int,
    *,
    activation: str | Activation = STEEP_TANH,
    rng: int | np.random.Generator = 0,
) -> Network:
    """wᵢ = (gᵢ − ḡ)/‖gᵢ − ḡ‖ with gᵢ ~ N(0, I/d), ḡ their mean; aᵢ = 1, k ≥ 2  [mondelli2019, eq. (2) and (11)].

    φ(z) = tanh(5z/2) as in the paper's experiments, unless another is named.
    """
    d, k = count("n_inputs", n_inputs), count("n_units", n_units)
    if k < 2:
        raise ArgumentError("n_units must be at least 2 (one weight vector, centred, is zero).")
    g = generator(rng).standard_normal((d, k)) / math.sqrt(d)
    return Network(_unit(g - g.mean(axis=1, keepdims=True)), activation=activations.get(activation))


def haar(
    n_inputs: int,
    n_units: int,
    *,
    center: bool = True,
    activation: str | Activation = STEEP_TANH,
    rng: int | np.random.Generator = 0,
) -> Network:
    """Independent Haar orthogonal (d, d) matrices side by side, then their mean column subtracted  [mondelli2019, §6].

    As in the paper the centred weights keep their lengths, √(1 − 1/d) when k = d, where W has rank d − 1. Where k is no
    multiple of d, the last matrix gives its first columns. `center=False` keeps the orthonormal ones. aᵢ = 1.

    >>> W = haar(4, 8, center=False).W
    >>> np.allclose(W @ W.T, 8 / 4 * np.eye(4))
    True
    """
    d, k = count("n_inputs", n_inputs), count("n_units", n_units)
    if center and k < 2:
        raise ArgumentError("n_units must be at least 2 (one weight vector, centred, is zero); or set center=False.")
    G = generator(rng).standard_normal((-(-k // d), d, d))
    W = np.hstack(list(_haar(G)))[:, :k]
    return Network(W - W.mean(axis=1, keepdims=True) if center else W, activation=activations.get(activation))


def simplex(
    n_inputs: int,
    n_units: int | None = None,
    *,
    activation: str | Activation = STEEP_TANH,
    rng: int | np.random.Generator = 0,
) -> Network:
    """d + 1 unit vectors with ⟨wᵢ, wⱼ⟩ = −1/d, randomly rotated; aᵢ = 1  [mondelli2019, §3.1].

    They are √((d+1)/d) times the rows of a (d+1, d) matrix that is Haar given that its rows sum to zero. More units,
    a multiple of d + 1, are independent such simplices: always Σ wᵢ = 0 and Σ wᵢwᵢᵀ = (k/d) I.

    >>> W = simplex(4).W
    >>> np.allclose(W.T @ W, 5 / 4 * np.eye(5) - 1 / 4)
    True
    """
    d = count("n_inputs", n_inputs)
    k = d + 1 if n_units is None else count("n_units", n_units)
    if k % (d + 1):
        raise ArgumentError(f"n_units must be a multiple of n_inputs + 1 = {d + 1}, not {k}.")
    G = generator(rng).standard_normal((k // (d + 1), d + 1, d))
    rows = _haar(G - G.mean(axis=1, keepdims=True)).reshape(k, d)
    return Network(math.sqrt((d + 1) / d) * rows.T, activation=activations.get(activation))


def biased(
    n_inputs: int,
    n_units: int,
    *,
    bias: float = 1.0,
    activation: str | Activation = "relu",
    rng: int | np.random.Generator = 0,
) -> Network:
    """wᵢ uniform on the sphere, |aᵢ| uniform in [1/2, 3/2] with either sign, bᵢ uniform in [−bias, bias].

    A bounded network with unit weights in the sense of [awasthi2021, §1.1]; any k, also k > d.
    """
    d, k = count("n_inputs", n_inputs), count("n_units", n_units)
    bias = _number("bias", bias, at_least=0.0)
    rng = generator(rng)
    W = _unit(rng.standard_normal((d, k)))
    a = _signs(rng, k) * rng.uniform(0.5, 1.5, k)
    return Network(W, a=a, b=rng.uniform(-bias, bias, k), activation=activations.get(activation))


def smoothed(net: Network | np.ndarray, tau: float, *, rng: int | np.random.Generator = 0) -> Network:
    """The network with τ-smoothed directions: w̄ᵢ + gᵢ, gᵢ ~ N(0, τ²I/d), scaled back to the length of wᵢ.

    Weights W (d, k) alone stand for the ReLU network with aᵢ = 1. The perturbation has root mean square length τ; a, b
    and c stay. Whatever the network was, up to 0.99 C(d+ℓ−1, ℓ) tensors wᵢ^{⊗ℓ} become linearly independent, robustly
    and with high probability [awasthi2021, Cor. 3.3].

    >>> twins = Network([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], a=[1.0, 2.0], b=[0.5, -0.5])
    >>> np.linalg.matrix_rank(smoothed(twins, 0.1).W)
    np.int64(2)
    """
    net = net if isinstance(net, Network) else Network(net)
    tau = _number("tau", tau, at_least=0.0)
    length = np.linalg.norm(net.W, axis=0)
    if not length.all():
        raise ArgumentError(f"unit {int(np.argmin(length))} has weight zero, hence no direction to smooth; remove it.")
    g = generator(rng).standard_normal(net.W.shape) * (tau / math.sqrt(net.n_inputs))
    return replace(net, W=length * _unit(net.W / length + g))


def several(
    net: Network, n_outputs: int | None = None, *, linear: bool = False, rng: int | np.random.Generator = 0
) -> Network:
    """The units of `net` with aᵢ ∈ Rᵐ of the same length and uniform direction, and columns of V from N(0, I/d) where `linear`.

    Without n_outputs a stays as it is; c is zero for several outputs.

    >>> several(biased(4, 3), 2, linear=True).predict(np.zeros((5, 4))).shape
    (5, 2)
    """
    rng = generator(rng)
    if n_outputs is not None:
        directions = _unit(rng.standard_normal((count("n_outputs", n_outputs), net.n_units))).T
        net = replace(net, a=np.linalg.norm(net.A, axis=1)[:, None] * directions, c=0.0, V=None)
    if not linear:
        return net
    return replace(net, V=rng.standard_normal((net.n_inputs, *net.a.shape[1:])) / math.sqrt(net.n_inputs))


def _haar(G: np.ndarray) -> np.ndarray:
    """Orthonormal columns from Gaussian ones: the Q of QR with diag R > 0, which makes Q Haar."""
    Q, R = np.linalg.qr(G)
    return np.asarray(Q * np.copysign(1.0, np.diagonal(R, axis1=-2, axis2=-1))[..., None, :])


def _unit(W: np.ndarray) -> np.ndarray:
    return np.asarray(W / np.linalg.norm(W, axis=0))


def _signs(rng: np.random.Generator, k: int) -> np.ndarray:
    return 2.0 * rng.integers(0, 2, k) - 1.0


def _cholesky(covariance: np.ndarray) -> np.ndarray:
    """L with LLᵀ = S. Symmetry and rank are judged on the correlations, so that the inputs' units do not matter."""
    variance = np.diagonal(covariance)
    smallest = int(np.argmin(variance))
    if variance[smallest] < 0:
        raise ArgumentError(f"covariance must not be negative on its diagonal; input {smallest} has {variance[smallest]:g}.")
    if variance[smallest] == 0:
        raise SingularError(f"covariance is singular: input {smallest} is constant; drop it.")
    scale = np.sqrt(variance)
    correlation = covariance / scale[:, None] / scale
    if np.abs(correlation - correlation.T).max() > 1e-10:
        raise ArgumentError("covariance must be symmetric.")
    correlation = (correlation + correlation.T) / 2
    values = np.linalg.eigvalsh(correlation)
    if values[0] < -1e-10 * values[-1]:
        raise ArgumentError("covariance must be positive definite; it has a negative eigenvalue.")
    if values[0] * COVARIANCE_CONDITION < values[-1]:
        raise SingularError("covariance is singular: some inputs are linearly dependent; drop the redundant ones.")
    return np.asarray(scale[:, None] * np.linalg.cholesky(correlation))


def _finite(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if np.iscomplexobj(value):
        raise NotFiniteError(f"{name} is complex; pass real numbers.")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must be an array of numbers ({error}).") from error
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise NotFiniteError(f"{name} must be finite; it holds NaN or infinity.")
    return array


def _number(name: str, value: float, *, at_least: float) -> float:
    if not (isinstance(value, int | float | np.integer | np.floating) and at_least <= value < math.inf):
        raise ArgumentError(f"{name} must be a finite number, at least {at_least:g}, not {value!r}.")
    return float(value)
