"""Directions of biased ReLU units by two consecutive Hermite coefficients  [awasthi2021, Alg. 1, steps 1–4].

Model   T_j = Σᵢ aᵢ c_j(bᵢ) wᵢ^{⊗j}, c_j(b) = (−1)ʲ He_{j−2}(b) e^{−b²/2}/√(2π), for j = 2ℓ+1 and 2ℓ+2. He_{2ℓ−1} and He_{2ℓ}
        have no common root, so each unit is in one of the two [awasthi2021, Lemma 4.3; the proof of Thm. 4.2 prints He_{2ℓ+1}
        for the second].
Steps   flatten to matrices on Sym^ℓ(Rᵈ), two contractions of the last slots each; count the singular values above the floor
        of the noise; Jennrich; w from each w^{⊗ℓ}; merge what both tensors found, up to sign.
Floor   the largest singular value that random signs of y leave, over a few draws with 5 % margin; 1e-9 of the largest for exact
        moments.
Cost    O(n D²) a contraction, D = C(d+ℓ−1, ℓ); nothing of size d^{2ℓ+2} is formed. Rows: of the order of d^{2ℓ+1}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.arguments import generator
from weightlift.decomposition import Pencil, shared_directions
from weightlift.errors import SingularError, TooFewRowsError, WeightliftError
from weightlift.hermite import polynomials
from weightlift.hermite.symmetric import symmetric_basis
from weightlift.initialization.directions import UnitDirections, rank_error
from weightlift.initialization.limits import LIMITS
from weightlift.moments import DirectionalMoments, remove_linear
from weightlift.moments.flattened_moment import FlattenedMoment, check_flattening
from weightlift.namespaces import to_numpy
from weightlift.samples import RandomSigns, Samples
from weightlift.subspace import SecondMoment, leading_subspace


@dataclass(frozen=True)
class TensorDirections:
    """What one tensor shows, all over √order!."""

    U: np.ndarray  # (d, r)
    strength: np.ndarray  # (r,) |coefficient|
    error: np.ndarray  # (r,) the floor over the strength
    impurity: np.ndarray  # (r,) s₂/s₁ of each w^{⊗ℓ}
    singular_values: np.ndarray  # of the contractions side by side
    floor: float
    gap: float  # between eigenvalues of the pencil; 0 where some are complex


def two_tensor_directions(
    samples: Samples,
    n_units: int | None,
    *,
    order: int = 1,
    max_memory: float | None = None,
    rng: np.random.Generator | int = 0,
) -> UnitDirections:
    """Steps 1–4. n_units None: as many as are found; else mergers go on until so many are left, and too few are an error."""
    rng = generator(rng)
    check_flattening(samples.d, order, max_memory=max_memory)
    frames = rng.normal(size=(LIMITS.row_frames if math.isfinite(samples.n) else LIMITS.exact_frames, samples.d))
    frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    slices = [_contractions(samples, order, filled, frames) for filled in (1, 2)]
    spectra = [_spectrum(M) for M in slices]
    scale = max(float(s[0]) for s in spectra)
    if scale == 0.0:
        raise SingularError(f"T_{2 * order + 1} and T_{2 * order + 2} vanish; no unit has a kink that moments see.")
    found = []
    for filled, M, s in zip((1, 2), slices, spectra, strict=True):
        floor = max(_noise_floor(samples, order, filled, frames, rng), LIMITS.relative_floor * scale)
        found.append(_one_tensor(samples, order, filled, M, s, floor))
    U, impurity = merge(found, n_units)
    values = np.sort(np.concatenate(spectra))[::-1]
    if U.shape[1] < (1 if n_units is None else n_units):
        raise _missing(samples, found, U.shape[1], n_units or 1, order)
    gap = min(t.gap for t in found if t.U.shape[1])
    inverse = 1.0 / max(gap, np.finfo(float).tiny)
    return UnitDirections(U, order, values, impurity, inverse, f"Jennrich on T{2 * order + 1} and T{2 * order + 2}")


def merge(found: list[TensorDirections], n_units: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates and antipodes removed, the stronger kept  [awasthi2021, Alg. 1, step 4].

    Two directions are one if they are closer than three times their errors, up to half the least distance inside a tensor,
    whose directions are all different. With more left than n_units, the closest pairs go on merging.
    """
    U = np.hstack([t.U for t in found])
    strength = np.concatenate([t.strength for t in found])
    error = np.concatenate([t.error for t in found])
    impurity = np.concatenate([t.impurity for t in found])
    source = np.concatenate([np.full(t.U.shape[1], i) for i, t in enumerate(found)])
    gaps = _distances(U)
    within = gaps[(source[:, None] == source) & ~np.eye(len(source), dtype=bool)]
    half = 0.5 * float(within.min()) if within.size else 0.5
    radius = np.minimum(np.maximum(LIMITS.errors_apart * (error[:, None] + error), LIMITS.same_direction), half)
    gaps = np.where(source[:, None] == source, np.inf, gaps)  # within a tensor nothing merges
    kept = _merged(gaps, np.argsort(-strength), radius, least=0)
    if n_units is not None:
        kept = _merged(gaps, kept, np.full_like(gaps, half), least=n_units)[:n_units]
    return U[:, kept], impurity[kept]


def _merged(gaps: np.ndarray, kept: np.ndarray, radius: np.ndarray, *, least: int) -> np.ndarray:
    """Of the closest pair the weaker goes, the later in `kept`, while it is within its radius and more than `least` stay."""
    while len(kept) > max(least, 1):
        among = np.where(np.tri(len(kept), k=-1, dtype=bool), gaps[np.ix_(kept, kept)], np.inf)
        p, q = np.unravel_index(int(np.argmin(among)), among.shape)  # p stands after q
        if not among[p, q] <= radius[kept[p], kept[q]]:
            break
        kept = np.delete(kept, p)
    return kept


def _contractions(samples: Samples, order: int, filled: int, frames: np.ndarray) -> np.ndarray:
    """T_{2ℓ+q}(·, ·, u^q)/√(2ℓ+q)! for every frame u: (S, D, D)."""
    scale = math.sqrt(math.factorial(2 * order + filled))
    return np.stack([to_numpy(samples.mean(FlattenedMoment(samples.d, order, filled, u))[0]) / scale for u in frames])


def _spectrum(slices: np.ndarray) -> np.ndarray:
    """Singular values of [M_1 M_2 …]/√S, as many as there are rows."""
    wide = slices.transpose(1, 0, 2).reshape(slices.shape[1], -1)
    return np.asarray(np.linalg.svd(wide, compute_uv=False)) / math.sqrt(len(slices))


def _noise_floor(samples: Samples, order: int, filled: int, frames: np.ndarray, rng: np.random.Generator) -> float:
    """What random signs of y leave of the same matrix: zero for exact moments."""
    if not math.isfinite(samples.n):
        return 0.0
    seeds = rng.integers(2**31, size=LIMITS.tensor_sign_draws)
    draws = (_contractions(samples.map(RandomSigns(int(seed))), order, filled, frames) for seed in seeds)
    return LIMITS.floor_margin * max(float(_spectrum(M)[0]) for M in draws)


def _one_tensor(
    samples: Samples, order: int, filled: int, slices: np.ndarray, spectrum: np.ndarray, floor: float
) -> TensorDirections:
    """Rank, Jennrich on the pair of contractions with the widest gap, w from each w^{⊗ℓ}, coefficients."""
    rank, basis = int(np.sum(spectrum > floor)), symmetric_basis(samples.d, order)
    if rank == 0:
        none = np.zeros(0)
        return TensorDirections(np.zeros((samples.d, 0)), none, none, none, spectrum, floor, 0.0)
    pencils = [pencil for pencil in _pencils(slices, rank) if pencil is not None]
    if not pencils:
        raise rank_error(spectrum, rank, f"T_{2 * order + filled}")
    best = max(pencils, key=lambda pencil: (-pencil.n_complex, pencil.gap))
    powers = [basis.direction(z) for z in best.factors.T]
    U, impurity = np.stack([u for u, _ in powers], axis=1), np.array([share for _, share in powers])
    j = 2 * order + filled
    target = to_numpy(samples.mean(DirectionalMoments(U, (j,)))[0])
    strength = np.abs(np.linalg.lstsq((U.T @ U) ** j, target, rcond=1e-12)[0]) / math.sqrt(math.factorial(j))
    error = floor / np.maximum(strength, np.finfo(float).tiny)
    return TensorDirections(U, strength, error, impurity, spectrum, floor, 0.0 if best.n_complex else best.gap)


def _pencils(slices: np.ndarray, rank: int) -> list[Pencil | None]:
    def pencil(M_a: np.ndarray, M_b: np.ndarray) -> Pencil | None:
        try:
            return shared_directions(M_a, M_b, rank=rank)
        except SingularError:
            return None

    return [pencil(M_a, M_b) for M_a, M_b in zip(slices[::2], slices[1::2], strict=True)]


def _distances(U: np.ndarray) -> np.ndarray:
    """min(‖u − v‖, ‖u + v‖) between columns."""
    differences = U[:, :, None] - U[:, None, :], U[:, :, None] + U[:, None, :]
    return np.asarray(np.minimum(*(np.linalg.norm(D, axis=0) for D in differences)))


def _missing(
    samples: Samples, found: list[TensorDirections], seen: int, n_units: int, order: int
) -> WeightliftError:
    """Fewer units than asked for: a degenerate network, or noise above the weakest; then the rows that would do.

    With β = |a| e^{−b²/2}/√(2π), a unit has β min_b max(|He_{2ℓ−1}|/√(2ℓ+1)!, |He_{2ℓ}|/√(2ℓ+2)!) at least in one of
    the two tensors, about d^{−1/2} of that after a contraction; floors fall like n^{−1/2}.
    """
    names = f"T_{2 * order + 1} and T_{2 * order + 2}"
    if not math.isfinite(samples.n):
        return rank_error(np.append(np.ones(max(seen, 1)), 0.0)[: seen + 1] * (seen > 0), n_units, names)
    floor = min(t.floor for t in found)
    if n_units <= samples.d:
        T2 = leading_subspace(remove_linear(samples), SecondMoment(), n_units)
        heights = polynomials(2 * order, np.linspace(-3.0, 3.0, 601))
        pair = [np.abs(heights[j - 2]) / math.sqrt(math.factorial(j)) for j in (2 * order + 1, 2 * order + 2)]
        signal = float(abs(T2.eigenvalues[-1]) * np.min(np.maximum(*pair))) / math.sqrt(samples.d)
    else:
        signal = max(float(t.singular_values[min(n_units, len(t.singular_values)) - 1]) for t in found) / 2
    needed = samples.n * max(1.5, (floor / max(signal, np.finfo(float).tiny)) ** 2)
    return TooFewRowsError(
        f"{names} from {samples.n:,} rows show {seen} of {n_units} units above their noise floor {floor:.2g}. About "
        f"{needed:.1g} rows would do, or preset='default', which needs far fewer."
    )
