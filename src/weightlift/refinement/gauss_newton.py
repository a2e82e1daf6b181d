"""Levenberg–Marquardt for a batch of networks, on averages alone  [Levenberg 1944; Marquardt 1963].

Step    (JᵀJ + μ diag(JᵀJ)) δ = −Jᵀr for several dampings μ at once; each start keeps the candidate with the least risk. Where
        all risks have just fallen steeply, the least damping is tried alone.
        Output weights, where they are free, are solved for after every step (variable projection, Golub & Pereyra 1973).
        A fit without noise ends with one step of all parameters together, from the rows' residuals: corrected seminormal
        equations [bjorck1987], by which it ends at rounding up to condition numbers of 10⁶.
Rate    quadratic for smooth φ without noise; for piecewise linear φ the fit is exact once no row changes side and μ is small.
Cost    two passes a step: normal equations O(n d² S k²/2) and the risk of the candidates O(n d S k); or, matrix-free, one
        pass O(n d S k) for every step of conjugate gradients.
"""

from __future__ import annotations

import enum
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.namespaces import Array, array_namespace, as_like, device, from_numpy, on_host, solve, to_numpy
from weightlift.network import Network
from weightlift.refinement.conjugate_gradients import conjugate_gradients
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.normal_equations import Free, NormalEquations, OutputEquations
from weightlift.risk import Risk, Students
from weightlift.samples import Samples
from weightlift.samples.protocol import check_source

TINY = 2.0**-1022  # the least normal number: a dead unit divides by it, not by zero
TIE = 2.0**-50  # relative: risks this close are one, and the step decides, which knows the minimum to more digits
Ridge = float | np.ndarray  # one weight for all parameters, or (p,) for each

NEAR_ROUNDING = 1e-26  # relative risk at which every residual is a hundred ulp


class RefinementEnding(enum.Enum):
    """Why a refinement stopped."""

    EXACT = "the residuals are at rounding level"
    STATIONARY = "the risk no longer decreases; it is at a minimum"
    STALLED = "no damping decreases the risk; start elsewhere"
    ITERATIONS = "the steps were used up; allow more"
    BEYOND = "its goal is out of reach in the steps that are left"


@dataclass(frozen=True)
class Refinement:
    """Refined students with, for each start, the risk ½ E r² and why it ended."""

    students: Students
    risks: np.ndarray  # (S,)
    endings: tuple[RefinementEnding, ...]
    iterations: int
    history: np.ndarray  # (T + 1, S)

    @property
    def best(self) -> int:
        return int(np.argmin(self.risks))

    @property
    def network(self) -> Network:
        """The best start's network."""
        return self.students.network(self.best)


def gauss_newton(
    samples: Samples,
    start: Network | Students,
    *,
    free: str = "W",
    iterations: int = 100,
    tol: float = 1e-9,
    ridge: Ridge = 0.0,
    solver: str = "auto",
    damping: float = LIMITS.first_damping,
    unit: bool = False,
    line: bool = False,
    first: bool = False,
    window: int = LIMITS.window,
    goal: float = math.inf,
    equations: tuple[Array, Array] | None = None,
    deadline: float = math.inf,
) -> Refinement:
    """Minimise ½ E r² (+ ½ Σ ridgeᵢ θᵢ²) over the free parameters among W, a, b, c.

    A start ends when its risk is at rounding level, when a step (six of them, if heavily damped: with noise a minimum lies on
    kinks) lowers it by less than `tol` relatively, or when no damping lowers it.
    solver: "dense" normal equations, matrix-free "cg", or "auto" (dense up to 5,000 parameters, 30,000 on a GPU).
    unit: keep every (wᵢ, bᵢ) at length one; sizes then belong to the free output weights.
    line: the last unit is linear, φ(z) = z, and is solved for with the output weights, direction and all.
    first: end all starts once one of them is exact.
    goal: a risk; a start ends that will not come so low, even if its steps gain more and more.
    equations: E r j (S, p) and E jjᵀ (S, p, p) of the starts, where they are known.
    deadline: a moment of time.perf_counter after which no further step begins.

    samples     rows, as `samples.open` gives them
    start       one network, or a batch of them
    iterations  steps at most
    window      of the heavily damped steps, how many may gain less than `tol` together
    ridge       one weight for all parameters, or one for each
    """
    moves = Free.of(free)
    students = _students(samples, start)
    if unit:
        if not moves.a:
            raise ArgumentError("unit=True leaves sizes to the output weights; add 'a' to free.")
        students = project_outputs(samples, _on_spheres(students), offset=moves.c, line=moves if line else None)
    d, S, k = students.shape
    if solver not in ("auto", "dense", "cg"):
        raise ArgumentError(f"solver must be 'auto', 'dense' or 'cg', not {solver!r}.")
    host = on_host(samples.device)
    limit = LIMITS.dense if host else LIMITS.dense_on_device
    dense = solver == "dense" or (solver == "auto" and moves.size(d, k) <= limit)
    risks, scale = _first_risks(samples, students, moves, ridge)
    dampings = samples.xp.full_like(risks, damping)
    history, endings = [to_numpy(risks)], np.full(S, None, dtype=object)
    floor = rounding(d) * scale
    exact = history[0] <= floor
    endings[exact], active = RefinementEnding.EXACT, np.flatnonzero(~exact)
    dampings, damped = _at(dampings, active), np.full(len(active), damping)
    multiples = as_like(np.array(LIMITS.factors), dampings)
    step, steep = 0, False
    while len(active) and step < iterations and time.perf_counter() < deadline:
        step += 1
        part = students.take(active)
        factors = dampings[:, None] * (multiples[:1] if steep else multiples)
        coarse = host and damped.min() * min(LIMITS.factors) >= LIMITS.coarse_damping
        known = None if equations is None or step > 1 else (_at(equations[0], active), _at(equations[1], active))
        candidates = _candidates(samples, part, moves, factors, ridge, dense, coarse=coarse, known=known)
        candidates = _on_spheres(candidates) if unit else candidates
        found, candidates = _evaluate(samples, candidates, moves, ridge, len(active), line)
        part, after, dampings = _choose(part, candidates, found, _at(risks, active), factors, dampings)
        students, risks = _put(students, part, active), _put_values(risks, after, active)
        reached, damped = np.split(to_numpy(samples.xp.concat([after, dampings])), 2)  # the step's one wait for a device
        before = history[-1][active]
        history.append(history[-1].copy())
        history[-1][active] = reached
        steep = bool(np.all(reached <= LIMITS.steep * before))
        earlier = history[-1 - window][active] if len(history) > window else np.full(len(active), np.inf)
        done = _endings(before, reached, earlier, damped, floor, scale, tol)
        if math.isfinite(goal):
            beyond = _beyond(before, reached, goal, iterations - step)
            done = [RefinementEnding.BEYOND if far and e is None else e for far, e in zip(beyond, done, strict=True)]
        endings[active] = done
        going = np.array([e is None for e in done])
        active, dampings, damped = active[going], _at(dampings, np.flatnonzero(going)), damped[going]
        if first and RefinementEnding.EXACT in done:
            break
    endings[[e is None for e in endings]] = RefinementEnding.ITERATIONS
    if dense and _projects(moves, ridge) and time.perf_counter() < deadline:
        students, history[-1] = _last_step(samples, students, moves, history[-1], floor, scale, unit)
        endings[history[-1] <= NEAR_ROUNDING * scale] = RefinementEnding.EXACT
    return Refinement(students, history[-1], tuple(endings), step, np.array(history))


def rounding(d: int) -> float:
    """The relative risk that is left when sums of d products carry rounding errors of √d ulp at random, and φ a few."""
    return (d + 10) * float(np.finfo(np.float64).eps) ** 2


def _students(samples: Samples, start: Network | Students) -> Students:
    check_source(samples)
    if not isinstance(start, Network | Students):
        raise ArgumentError(f"start must be a Network or Students, not {type(start).__name__}.")
    students = Students.of(start) if isinstance(start, Network) else start
    if students.shape[0] != samples.d:
        raise ArgumentError(f"start has {students.shape[0]} inputs and the data {samples.d}; they must agree.")
    like = samples.xp.zeros((1,), dtype=samples.xp.float64, device=samples.device)
    return students.like(like)


def _first_risks(samples: Samples, students: Students, moves: Free, ridge: Ridge) -> tuple[Array, float]:
    """The starts' risks, and ½ E y², the risk of a student that is zero, in one pass."""
    first = students.take(np.array([0]))
    zero = replace(first, a=0.0 * first.a, c=0.0 * first.c)
    risks = samples.mean(Risk(students.joined(zero)))[0]
    return _with_penalty(risks[:-1], students, moves, ridge), float(to_numpy(risks[-1:])[0])


def _risks(samples: Samples, students: Students, moves: Free, ridge: Ridge) -> Array:
    return _with_penalty(samples.mean(Risk(students))[0], students, moves, ridge)


def _with_penalty(risk: Array, students: Students, moves: Free, ridge: Ridge) -> Array:
    if not np.any(ridge):
        return risk
    theta = moves.pack(students)
    return risk + 0.5 * array_namespace(theta).sum(as_like(np.asarray(ridge), theta) * theta * theta, axis=1)


def _candidates(
    samples: Samples,
    students: Students,
    moves: Free,
    dampings: Array,
    ridge: Ridge,
    dense: bool,
    *,
    coarse: bool = False,
    known: tuple[Array, Array] | None = None,
) -> Students:
    """One student for every (damping, start): C·S of them, damping the slower index.

    coarse  whether JᵀJ may be in single precision
    known   Jᵀr and JᵀJ, if they are
    """
    theta = moves.pack(students)
    xp = array_namespace(theta)
    if dense:
        if known is None:
            equations = NormalEquations(students, moves, coarse)
            known = equations.assembled(samples.mean(equations))[1:]
        gradient, gram = known
        gradient, gram = _with_ridge(gradient, gram, theta, ridge)
        steps = _damped_steps(gram, gradient, dampings, coarse)
    else:
        steps = conjugate_gradients(samples, students, moves, theta, dampings, ridge)
    stacked = xp.concat([theta - s for s in steps], axis=0)
    return moves.unpack(stacked, students.repeated(dampings.shape[1]))


def _with_ridge(gradient: Array, gram: Array, theta: Array, ridge: Ridge) -> tuple[Array, Array]:
    if not np.any(ridge):
        return gradient, gram
    xp, weights = array_namespace(gram), as_like(np.asarray(ridge), gram)
    return gradient + weights * theta, gram + weights * xp.eye(theta.shape[1], dtype=gram.dtype, device=gram.device)


def _damped_steps(gram: Array, gradient: Array, dampings: Array, coarse: bool = False) -> list[Array]:
    """(JᵀJ + μ D)⁻¹ Jᵀr for every damping, scaled by D^{-1/2}, D = diag(JᵀJ) kept away from zero for dead units."""
    xp = array_namespace(gram)
    root = _root_diagonal(gram, 1e-10)
    scaled, target = gram / (root[:, :, None] * root[:, None, :]), (gradient / root)[:, :, None]
    if coarse:
        scaled, target = (xp.astype(v, xp.float32) for v in (scaled, target))
    count, S = dampings.shape[1], gram.shape[0]
    shifts = [dampings[:, i] for i in range(count)]
    if on_host(device(gram)):  # one after the other: their matrices fill the caches
        solutions = [solve(_shifted(scaled, mu), target) for mu in shifts]
    else:
        together = solve(xp.concat([_shifted(scaled, mu) for mu in shifts], axis=0), xp.concat(count * [target], axis=0))
        solutions = [together[i * S : (i + 1) * S, ...] for i in range(count)]
    steps = [xp.astype(v[:, :, 0], root.dtype, copy=False) / root for v in solutions]
    return [xp.where(xp.isfinite(v), v, xp.zeros_like(v)) for v in steps]


def _shifted(A: Array, shifts: Array) -> Array:
    """A + shift · I for a batch of A (S, p, p)."""
    xp, (_, p, _) = array_namespace(A), A.shape
    if isinstance(A, np.ndarray):  # without the two matrices that the sum would write
        A = A.copy()
        A.reshape(len(A), p * p)[:, :: p + 1] += shifts[:, None]
        return A
    return A + xp.astype(shifts, A.dtype, copy=False)[:, None, None] * xp.eye(p, dtype=A.dtype, device=A.device)


def _root_diagonal(gram: Array, floor: float) -> Array:
    xp = array_namespace(gram)
    diagonal = xp.linalg.diagonal(gram)
    return xp.sqrt(xp.maximum(diagonal, floor * xp.max(diagonal, axis=1, keepdims=True)) + TINY)


def _on_spheres(students: Students) -> Students:
    """Every (wᵢ, bᵢ) scaled to length one."""
    length = _lengths(students)
    return replace(students, W=students.W / length, b=students.b / length)


def _lengths(students: Students) -> Array:
    xp = array_namespace(students.W)
    return xp.sqrt(xp.sum(students.W**2, axis=0) + students.b**2 + TINY)


def _evaluate(samples: Samples, candidates: Students, moves: Free, ridge: Ridge, S: int, line: bool) -> tuple[Array, Students]:
    """Risks (C, S) of the candidates, after the output layer is solved for where it is free."""
    if _projects(moves, ridge):
        candidates = project_outputs(samples, candidates, offset=moves.c, line=moves if line else None)
    risks = _risks(samples, candidates, moves, ridge)
    xp = array_namespace(risks)
    risks = xp.where(xp.isfinite(risks), risks, xp.full_like(risks, xp.inf))
    return xp.reshape(risks, (risks.shape[0] // S, S)), candidates


def _projects(moves: Free, ridge: Ridge) -> bool:
    """Whether every step solves for the output layer."""
    return moves.a and moves.W and not np.any(ridge)


def project_outputs(samples: Samples, students: Students, *, offset: bool, line: Free | None = None) -> Students:
    """The students with a (and c where `offset`) at their least-squares values.

    samples  rows, as `samples.open` gives them
    line     what of the last unit, which is linear, is free: it is solved for too
    """
    gram, target = samples.mean(OutputEquations(students, offset, line))
    xp = array_namespace(gram)
    eye = xp.eye(target.shape[1], dtype=gram.dtype, device=gram.device)
    root = _root_diagonal(gram, 1e-12)
    scaled = gram / (root[:, :, None] * root[:, None, :]) + 1e-14 * eye
    solution = solve(scaled, (target / root)[:, :, None])[:, :, 0] / root
    rest = target - xp.matmul(gram, solution[:, :, None])[:, :, 0]  # undoes the guard's bias
    solution = solution + solve(scaled, (rest / root)[:, :, None])[:, :, 0] / root
    students = replace(students, c=solution[:, -1]) if offset else students
    d, _, k = students.shape
    return replace(students, a=solution[:, :k]) if line is None else _with_line(students, solution[:, : k - 1 + line.inputs(d)])


def _with_line(students: Students, solution: Array) -> Students:
    """The students with output weights and, as their last unit, the linear function that the solution ends with."""
    xp = array_namespace(solution)
    d, _, k = students.shape
    a, line = solution[:, : k - 1], solution[:, k - 1 :]
    size = xp.sqrt(xp.sum(line * line, axis=1, keepdims=True) + TINY)
    W = xp.concat([students.W[:, :, :-1], xp.permute_dims(line[:, :d] / size, (1, 0))[:, :, None]], axis=2)
    last = line[:, d:] / size if line.shape[1] > d else students.b[:, -1:]
    return replace(students, W=W, a=xp.concat([a, size], axis=1), b=xp.concat([students.b[:, :-1], last], axis=1))


def _choose(
    students: Students, candidates: Students, found: Array, risks: Array, factors: Array, damping: Array
) -> tuple[Students, Array, Array]:
    """For every start the best candidate if it lowers the risk; the damping follows it, or rises."""
    xp = array_namespace(found)
    C, S = found.shape
    best = xp.argmin(found, axis=0)
    flat = best * S + xp.arange(S, device=found.device)
    value = xp.take(xp.reshape(found, (C * S,)), flat)
    better = value <= (1.0 + TIE) * risks
    chosen = xp.take(xp.reshape(xp.permute_dims(factors, (1, 0)), (C * S,)), flat)
    raised = xp.maximum(LIMITS.raised * damping, xp.full_like(damping, LIMITS.felt))
    damping = xp.clip(xp.where(better, chosen, raised), LIMITS.least_damping, 10 * LIMITS.largest_damping)
    taken = candidates.take(flat)
    merged = replace(
        students,
        W=xp.where(better[None, :, None], taken.W, students.W),
        a=xp.where(better[:, None], taken.a, students.a),
        b=xp.where(better[:, None], taken.b, students.b),
        c=xp.where(better, taken.c, students.c),
    )
    return merged, xp.where(better, value, risks), damping


def _endings(
    before: np.ndarray, after: np.ndarray, earlier: np.ndarray, damping: np.ndarray, floor: float, scale: float, tol: float
) -> list[RefinementEnding | None]:
    endings: list[RefinementEnding | None] = []
    for old, new, past, mu in zip(before, after, earlier, damping, strict=True):
        if new <= floor or (new <= NEAR_ROUNDING * scale and new > 0.25 * old):
            endings.append(RefinementEnding.EXACT)
        elif (new < old and old - new <= tol * old and mu <= 1.0) or past - new <= tol * old:
            endings.append(RefinementEnding.STATIONARY)
        elif mu > LIMITS.largest_damping:
            endings.append(RefinementEnding.STALLED)
        else:
            endings.append(None)
    return endings


def _beyond(before: np.ndarray, after: np.ndarray, goal: float, steps: int) -> np.ndarray:
    """Which starts stay above the goal though every step left gains twice as much as the one before it, as some do that cross
    kinks towards a minimum; a step that lowered nothing says nothing."""
    gain = before - after
    return np.asarray((gain > 0) & (after - 2.0 * (2.0**steps - 1.0) * gain > goal))


def _last_step(
    samples: Samples, students: Students, moves: Free, risks: np.ndarray, floor: float, scale: float, unit: bool
) -> tuple[Students, np.ndarray]:
    """One step of all parameters together, for the fits without noise that have ended above rounding; kept where it is better.

    Output weights that are solved for have the error κ² ε of their normal equations, which the units then try to make up for.
    """
    close, degree = np.flatnonzero((risks > floor) & (risks <= LIMITS.noiseless * scale)), students.activation.degree
    if not close.size or (unit and degree is None):
        return students, risks
    part = students.take(close)
    damping = as_like(np.full((close.size, 1), LIMITS.least_damping), part.a)
    near = on_host(samples.device) and bool(np.all(risks[close] <= NEAR_ROUNDING * scale))
    for coarse in (True, False) if near else (False,):  # from there a step needs few digits
        moved = _candidates(samples, part, moves, damping, 0.0, dense=True, coarse=coarse)
        if unit:
            moved = replace(_on_spheres(moved), a=moved.a * _lengths(moved) ** degree)
        found = to_numpy(_risks(samples, moved, moves, 0.0))
        if coarse and np.all(found <= floor):
            break
    better = np.flatnonzero(found < risks[close])
    if not better.size:
        return students, risks
    risks = risks.copy()
    risks[close[better]] = found[better]
    return _put(students, moved.take(better), close[better]), risks


def _at(values: Array, index: np.ndarray) -> Array:
    if np.array_equal(index, np.arange(values.shape[0])):
        return values
    return array_namespace(values).take(values, from_numpy(index, like=values), axis=0)


def _put(students: Students, part: Students, index: np.ndarray) -> Students:
    """The students with those at `index` replaced."""
    _, S, _ = students.shape
    if len(index) == S:
        return part
    order = np.arange(S)
    order[index] = S + np.arange(len(index))
    return students.joined(part).take(order)


def _put_values(values: Array, part: Array, index: np.ndarray) -> Array:
    if len(index) == values.shape[0]:
        return part
    order = np.arange(values.shape[0])
    order[index] = values.shape[0] + np.arange(len(index))
    return _at(array_namespace(values).concat([values, part], axis=0), order)
