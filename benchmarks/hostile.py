"""Hostile cases for the certificate: small problems with a known truth, and networks that are right, wrong, or nearly right.

    python -m benchmarks.hostile --cases 2000 --store hostile.sqlite     resumes where it stopped; prints the table
    python -m benchmarks.hostile --cases 500 --start 100 --jobs 8 --fit recover     later keys, fits by `recover`

Every case is one certificate, asked without the truth and judged with it. It is false when
    EXACT          a unit differs from its counterpart in the truth by more than its stated precision, or held-out agreement
                   is claimed more often than it holds;
    STATISTICAL    a unit is outside its region, the wider one where the truth has more units than the class or the errors
                   another mean than zero, or a unit of the truth above the detection limit is missing.
Where the truth is no network of the same φ, a certificate is false when the two functions differ: at all (EXACT), or in root
mean square by more than the detection limit (STATISTICAL), on more inputs than n rows may have missed, a share ln(10⁴)/n.
Units that are certified beside others are judged alike. A case is easy where a right network has rows to spare: such
cases should be certified. Two units that are nearly parallel and act as one within the detection limit count as one.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import multiprocessing
import sqlite3
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.hostile_cases import FAMILIES, Case, Fit, portfolio, recovered
from weightlift.certificate import Certificate, Status, certify
from weightlift.identifiability import minimal
from weightlift.network import Network
from weightlift.samples import open as open_samples

ROWS = 4000
NEARLY_PARALLEL = 0.9  # missing units this close to a claimed one are exempt from the detection limit, as it says


def judge(case: Case, certificate: Certificate) -> str | None:
    """Why the certificate is false, or None."""
    if not certificate.certified_units:
        return None
    if case.forbidden:
        return "certified what may never be"
    if not isinstance(case.truth, Network) or case.truth.activation != case.network.activation:
        return _judge_function(case, certificate) if certificate else None
    if case.truth.a.ndim == 2 or case.truth.V is not None:
        return _judge_joint(case.truth, certificate)
    truth = irreducible_truth(case)
    return _judge_units(truth, case, certificate) if certificate else _judge_some(truth, case, certificate)


def _judge_units(truth: Network, case: Case, certificate: Certificate) -> str | None:
    """All units of a network are claimed."""
    if not truth.a.any() or truth.n_units < case.network.n_units:
        return "a unit is claimed that the truth does not have"
    inside, partner = located(certificate, truth, centred=case.centred)
    if not inside.all() and truth.n_units > case.network.n_units:
        if certificate.status is Status.EXACT:
            return _judge_agreement(case, certificate)
        truth = with_pairs_merged(truth, case, certificate)
        inside, partner = certificate.locate(truth)
    if not inside.all():
        return f"units {np.flatnonzero(~inside).tolist()} are not where they are said to be"
    missing = np.setdiff1d(np.arange(truth.n_units), partner)
    if certificate.status is Status.STATISTICAL:
        return _judge_missing(case, certificate, truth, missing)
    return _judge_agreement(case, certificate) if missing.size else None


def _judge_some(truth: Network, case: Case, certificate: Certificate) -> str | None:
    """Units that are certified beside others that are not; a truth of more units than the class has is outside of it."""
    claim = claimed(certificate)
    inside = located(claim, truth, centred=case.centred)[0]
    width = certificate.evidence.width
    if width is not None and truth.n_units > width and certificate.detection_limit is None and not inside.all():
        return _judge_agreement(case, certificate)
    if certificate.detection_limit is not None:
        inside |= claim.locate(with_pairs_merged(truth, case, certificate))[0]
    wrong = [i for i in certificate.certified_units if not inside[i]]
    return f"units {wrong}, certified beside others, are not where they are said to be" if wrong else None


def located(claim: Certificate, truth: Network, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """`Certificate.locate`: a truth of more units than the class has may lie in the wider regions, for units that rows do not
    show, and one whose errors have another mean than zero."""
    width = claim.evidence.width or claim.network.n_units
    return claim.locate(truth, wide=truth.n_units > width or not centred)


def claimed(certificate: Certificate) -> Certificate:
    """The same with nothing in the way of units that are not certified: they have no place, and take none."""
    assert certificate.precision is not None
    unknown = np.setdiff1d(np.arange(certificate.network.n_units), certificate.certified_units)
    precision = certificate.precision.copy()
    precision[unknown] = np.nan
    if certificate.regions is None or certificate.wide_regions is None:
        return replace(certificate, precision=precision)
    regions, wide = certificate.regions.copy(), certificate.wide_regions.copy()
    regions[:, unknown], wide[:, unknown] = np.nan, np.nan
    return replace(certificate, precision=precision, regions=regions, wide_regions=wide)


def _judge_joint(truth: Network, certificate: Certificate) -> str | None:
    """Several outputs or a linear part: the nearest unit of the truth, reflected where that is a symmetry."""
    assert certificate.precision is not None
    if certificate.wide_regions is not None:
        inside = located(claimed(certificate), truth)[0]
        wrong = [i for i in certificate.certified_units if not inside[i]]
        return f"units {wrong} are not where they are said to be" if wrong else None
    theirs = [*_normal_units(truth)]
    if truth.turns and (reflection := truth.activation.reflection) is not None:
        theirs += [(-inner, reflection[0] * outer) for inner, outer in theirs]
    for i, (inner, outer) in enumerate(_normal_units(certificate.network)):
        gaps = [
            max(np.linalg.norm(inner - w) / np.linalg.norm(inner), np.linalg.norm(outer - a) / np.linalg.norm(outer))
            for w, a in theirs
        ]
        if i in certificate.certified_units and min(gaps) > certificate.precision[i]:
            return f"unit {i} is {min(gaps):.2g} from every true one, claimed {certificate.precision[i]:.2g}"
    return None


def _normal_units(net: Network) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """((w, b), a) of every unit; ‖w‖ = 1 for homogeneous φ."""
    for w, b, a in zip(net.W.T, net.b, net.A, strict=True):
        size = float(np.linalg.norm(w)) if net.activation.degree else 1.0
        yield np.append(w, b) / size, a * size ** float(net.activation.degree or 0.0)


def _judge_agreement(case: Case, certificate: Certificate) -> str | None:
    """Where the truth has units that the rows do not show, agreement is what is claimed."""
    X = case.law(200_000, np.random.default_rng(0))
    y = case.truth.predict(X) if isinstance(case.truth, Network) else case.truth(X)
    rate = float(np.mean(np.abs(y - case.network.predict(X)) > 1e-9 * np.abs(y).max()))
    claimed = np.log(1e4) / certificate.n_rows if certificate.disagreement is None else certificate.disagreement
    return f"disagrees on a share {rate:.2g} of fresh rows, claimed {claimed:.2g}" if rate > claimed else None


def irreducible_truth(case: Case) -> Network:
    """The truth without superfluous units: duplicates are merged as long as no row can tell."""
    assert isinstance(case.truth, Network)
    best, y = case.truth, case.truth.predict(case.X)
    for tol in (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8):
        narrow = minimal(case.truth, tol=tol)
        if np.abs(narrow.predict(case.X) - y).max() <= 1e-13 * np.abs(y).max(initial=1e-300):
            best = narrow
    return best


def with_pairs_merged(truth: Network, case: Case, certificate: Certificate) -> Network:
    """Two nearly parallel units count as one, the mean of both, where that changes f by less than the detection limit."""
    X = case.law(ROWS, np.random.default_rng(0))
    y = truth.predict(X)
    V = np.vstack([truth.W, truth.b])
    size = np.abs(truth.a) * (np.linalg.norm(truth.W, axis=0) ** (truth.activation.degree or 0.0))
    for i, j in itertools.combinations(range(truth.n_units), 2):
        cosine = truth.W[:, i] @ truth.W[:, j] / np.linalg.norm(truth.W[:, i]) / np.linalg.norm(truth.W[:, j])
        if cosine < NEARLY_PARALLEL:
            continue
        share = size[[i, j]] * np.sign(truth.a[[i, j]])
        if abs(share.sum()) <= 1e-12 * np.abs(share).sum():
            continue
        units = V[:, [i, j]] / (np.linalg.norm(truth.W[:, [i, j]], axis=0) if truth.activation.degree else 1.0)
        mean = units @ share / share.sum()
        rest = np.setdiff1d(np.arange(truth.n_units), [i, j])
        merged = replace(
            truth,
            W=np.column_stack([truth.W[:, rest], mean[:-1]]),
            b=np.append(truth.b[rest], mean[-1]),
            a=np.append(truth.a[rest], share.sum()),
        )
        if np.sqrt(np.mean((merged.predict(X) - y) ** 2)) <= float(certificate.detection_limit or 0.0):
            return merged
    return truth


def _judge_missing(case: Case, certificate: Certificate, truth: Network, missing: np.ndarray) -> str | None:
    """Units above the detection limit, a root mean square over the rows."""
    weight = np.ones(len(case.X)) if case.weight is None else case.weight
    limit = float(certificate.detection_limit or 0.0)
    claimed = case.network.W / np.linalg.norm(case.network.W, axis=0)
    for i in missing:
        part = replace(truth, W=truth.W[:, [i]], a=truth.a[[i]], b=truth.b[[i]], c=0.0)
        cosine = np.abs(claimed.T @ (truth.W[:, i] / np.linalg.norm(truth.W[:, i]))).max()
        size = float(np.sqrt(np.average(part.predict(case.X) ** 2, weights=weight)))
        if size > limit and cosine < NEARLY_PARALLEL:
            return f"a unit of size {size:.2g} is missing, detection limit {limit:.2g}"
    return None


def _judge_function(case: Case, certificate: Certificate) -> str | None:
    if certificate.status is Status.EXACT:
        return _judge_agreement(case, certificate)
    X = case.law(ROWS, np.random.default_rng(0))
    y = case.truth.predict(X) if isinstance(case.truth, Network) else case.truth(X)
    squares = np.sort((case.network.predict(X) - y) ** 2)
    unseen = int(np.ceil(np.log(1e4) / certificate.n_rows * ROWS))  # what happens on so few inputs no row may have shown
    gap = float(np.sqrt(np.mean(squares[: ROWS - unseen])))
    sampling = float(certificate.noise_std or 0.0) * np.sqrt(certificate.n_parameters / certificate.n_rows) * 3
    limit = float(certificate.detection_limit or 0.0)
    return f"another function: rms difference {gap:.2g}, detection limit {limit:.2g}" if gap > limit + sampling else None


@dataclass(frozen=True)
class Outcome:
    key: str
    status: str
    false: str | None
    easy: bool
    seconds: float
    reason: str


def run(key: str, fit: Fit = portfolio) -> Outcome:
    """One case, from its key "family/number" alone."""
    family, number = key.split("/")
    rng = np.random.default_rng([zlib.crc32(family.encode()), int(number)])
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", UserWarning)
        problem = FAMILIES[family](rng, fit)
        try:
            certificate = certificate_of(problem)
        except Exception as error:  # what a user would see; the sweep goes on
            return Outcome(key, "RAISED", f"raised {error!r}", problem.easy, time.perf_counter() - start, "")
    false = judge(problem, certificate)
    reason = certificate.reasons[0] if certificate.reasons else ""
    return Outcome(key, certificate.status.name, false, problem.easy, time.perf_counter() - start, reason)


def certificate_of(problem: Case) -> Certificate:
    heldout = None if problem.heldout is None else open_samples(*problem.heldout)
    return certify(
        problem.network,
        problem.X,
        problem.y,
        sample_weight=problem.weight,
        bias=problem.bias,
        offset=problem.offset,
        heldout=heldout,
    )


def keys(cases: int, start: int = 0) -> Iterator[str]:
    for number in range(start, start - (-cases // len(FAMILIES))):
        for family in FAMILIES:
            yield f"{family}/{number}"


def sweep(
    store: str,
    wanted: Iterable[str],
    *,
    fit: Fit = portfolio,
    jobs: int = 1,
    report: Callable[[str], None] = print,
) -> list[Outcome]:
    """Run what the store does not hold yet; every outcome is committed as it comes."""
    with contextlib.closing(sqlite3.connect(store)) as base:
        base.execute("PRAGMA synchronous = FULL")
        base.execute(
            "CREATE TABLE IF NOT EXISTS outcomes "
            "(key TEXT PRIMARY KEY, status TEXT, false TEXT, easy INTEGER, seconds REAL, reason TEXT)"
        )
        done = {row[0] for row in base.execute("SELECT key FROM outcomes")}
        for outcome in _outcomes([key for key in wanted if key not in done], fit, jobs):
            base.execute(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)",
                (outcome.key, outcome.status, outcome.false, outcome.easy, outcome.seconds, outcome.reason),
            )
            base.commit()
            if outcome.false:
                report(f"FALSE {outcome.key}: {outcome.status}, {outcome.false}")
        rows = base.execute("SELECT key, status, false, easy, seconds, reason FROM outcomes").fetchall()
    return [Outcome(key, status, false, bool(easy), seconds, reason) for key, status, false, easy, seconds, reason in rows]


def _outcomes(wanted: list[str], fit: Fit, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from (run(key, fit) for key in wanted)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=50) as pool:
        yield from pool.imap_unordered(functools.partial(run, fit=fit), wanted)


def table(outcomes: list[Outcome]) -> str:
    lines = [f"{'family':20} {'cases':>5} {'EXACT':>6} {'STAT.':>6} {'AMBIG.':>6} {'FAILED':>6} {'false':>6} {'easy':>10}"]
    for family in (*FAMILIES, ""):
        part = [o for o in outcomes if not family or o.key.startswith(family + "/")]
        status = Counter(o.status for o in part)
        easy = [o for o in part if o.easy]
        certified = sum(o.status in ("EXACT", "STATISTICAL") for o in easy)
        counts = [status[name] for name in ("EXACT", "STATISTICAL", "AMBIGUOUS", "FAILED")]
        numbers = "".join(f" {count:6}" for count in (*counts, sum(o.false is not None for o in part)))
        share = f"{certified} of {len(easy)}" if easy else ""
        lines.append(f"{family or 'all':20} {len(part):5}{numbers} {share:>10}")
    seconds = sum(o.seconds for o in outcomes)
    return "\n".join([*lines, f"{seconds / max(1, len(outcomes)):.2f} s a case"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="number of the first case of every family")
    parser.add_argument("--jobs", type=int, default=1, help="cases side by side, each with one BLAS thread")
    parser.add_argument("--fit", choices=["portfolio", "recover"], default="portfolio", help="what fits the networks")
    parser.add_argument("--store", default="hostile.sqlite")
    options = parser.parse_args(arguments)
    fit = portfolio if options.fit == "portfolio" else recovered
    outcomes = sweep(options.store, keys(options.cases, options.start), fit=fit, jobs=options.jobs)
    print(table(outcomes))
    return int(any(o.false for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
