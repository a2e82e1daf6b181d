"""The numbers of the starts from moments: noise floors, steps, and what rows can tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # spectra of moments
    relative_floor: float = 1e-9  # of the largest singular value: below it an exact moment has none
    span_sweeps: int = 8  # at most, of the iteration for the span; it ends when the span stays
    span_tolerance: float = 1e-10  # turn of a span that stays: far below the sampling error of any number of rows at hand
    exact_frames: int = 16  # contractions of each exact tensor, from which pairs are formed
    row_frames: int = 4  # the same from rows, where each costs a pass
    tensor_tolerance: float = 1e-4  # of a noisy tensor's residual: a step that gains less is the last. Of its k³ or k⁴ entries
    # k² parameters explain more than that by chance; exact tensors end at rounding all the same
    tensor_sign_draws: int = 5  # random signs whose largest moment is the noise floor: it is exceeded once in six
    floor_margin: float = 1.05  # times that largest: singular values of noise scatter by a few percent
    errors_apart: float = 3.0  # duplicates are closer than three times their errors
    same_direction: float = 1e-3  # the least radius of a merger
    # overcomplete networks: benchmarks/overcomplete.py
    regression_work: float = 5e10  # multiplications n D² of the normal equations: some ten seconds of one core
    tensor_bytes: float = 2.0**30  # for T_4 and the range of its flattening
    scalar_orders: tuple[int, int, int] = (2, 3, 4)  # from which lengths and biases are read: higher ones are noisier
    rows_a_term: int = 10  # of a regression; with fewer, single rows of large He_4 decide
    sign_draws: int = 3  # as above; fewer, as each takes two moments of order 4 and 5
    # lengths, biases and signs
    magnitude_steps: int = 30  # at most, of Gauss–Newton from a grid's best point; it ends when a step is rounding
    scalar_steps: int = 60  # the same for lengths and biases together; damped steps that fail count too
    scalar_step: float = 0.5  # in log σ and b/σ: within it the linearisation of m_j is worth something
    farthest: float = 8.0  # |b|/σ beyond which a unit is a polynomial to rounding
    side_rows: float = 2.0  # rows a parameter of a unit on its minority side, below which its kink is beyond reach
    free_signs: int = 22  # 2²² patterns take about a minute
    dependent: float = 1e-9  # of the largest singular value: below, half of the digits are lost and columns count as dependent
    # the robust stage: benchmarks/awasthi2021_robust.py
    signal: float = 3.0  # standard errors of ζ_2
    spike_level: float = 0.2  # of the largest residual: rows above it belong to the spike
    spike_cap: float = 1.5  # ⟨w, x⟩ of the rows that count: those of one side, where a unit with a large bias is active
    spike_turns: int = 8  # of the direction towards the spike's rows, a pass each
    spike_rounding: float = 1e-12  # largest residual, relative to the largest |y|, that is rounding
    spike_chance: float = 10.0  # times the share of the risk that d + 2 parameters take from noise: a unit must take more
    spike_steps: int = 40  # of each refinement


LIMITS = Limits()
