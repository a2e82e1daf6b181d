"""Constructions in which rows leave a second network: no certificate may call either the only one.

    python -m benchmarks.rivals_attack --instances 50                 every construction, a table
    python -m benchmarks.rivals_attack twins mirrored --instances 500 --jobs 8

An instance gives rows, and networks that agree with the truth on all of them. A certificate is false when it is EXACT for one
of them and a unit of the truth lies outside its stated precision, or when rows are known to leave a second network and a unit
in which the two differ is certified. Units certified beside others are judged alike; a truth of more units than the headline
names counts as an assumption broken. Constructions that break an assumption which no row can show (`zero_set`, `one_unit_more`,
`offset_withheld`) are counted apart: there the assumption must stand in the headline, and is false otherwise. `split` is noisy:
a unit that the rows do not show is missing, and the truth's others must be within the wider regions. `held_out_copies` is
false if rows that were fitted count as held out. Controls should be certified.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.hostile import claimed, located
from benchmarks.rivals_constructions import CONSTRUCTIONS, Instance
from weightlift import Network
from weightlift.certificate import Certificate, certify
from weightlift.errors import WeightliftError
from weightlift.identifiability import minimal


def judged(name: str, seed: int) -> Counter[str]:
    """How the certificates of one instance came out."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    told: Counter[str] = Counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        instance = CONSTRUCTIONS[name](rng)
        truth = instance.networks[0]
        y = truth.predict(instance.X) + instance.noise
        for net in instance.networks[instance.kind == "noisy" :]:
            if np.any(net.c) and instance.options.get("offset") is False:
                continue
            try:
                certificate = certify(net, instance.X, y, **instance.options)
            except WeightliftError:
                told["refused"] += 1
                continue
            except Exception as error:
                print(f"{name} {seed}: {error!r}", file=sys.stderr, flush=True)
                told["error"] += 1
                continue
            told[verdict(instance, net, certificate)] += 1
            told["proved"] += certificate.proved
    return told


def verdict(instance: Instance, net: Network, certificate: Certificate) -> str:
    """Refused, right, false, or true but for an assumption that no row can show."""
    if instance.kind == "copies":
        return "FALSE" if certificate.heldout_rows or certificate.disagreement is not None else "right"
    if instance.kind == "rivals":
        width = certificate.evidence.width or net.n_units
        others = [other for other in instance.networks if other is not net and other.n_units <= width]
        if not others and certificate.certified_units:
            return "assumed"  # "at most", in the headline
        differ = np.any([np.zeros(net.n_units, dtype=bool), *(_moved(net, other) for other in others)], axis=0)
        return "FALSE" if differ[list(certificate.certified_units)].any() else "refused"
    if instance.kind == "assumed":
        return "refused" if not certificate else "assumed" if instance.breaks in certificate.headline else "FALSE"
    truth, known = instance.networks[0], list(certificate.certified_units)
    if truth.a.ndim == 1 and truth.V is None:
        narrow = minimal(truth, tol=1e-14)  # which may reflect units, and move c
        truth = narrow if certificate.offset or not narrow.c else truth
    if known and not located(claimed(certificate), truth)[0][known].all():
        width = certificate.evidence.width
        return "assumed" if width is not None and truth.n_units > width else "FALSE"  # "at most", in the headline
    return "right" if certificate else "refused"


def _moved(net: Network, other: Network) -> np.ndarray:
    """(k,) units that the other network does not have in the same place."""
    gaps = np.abs(net.W - other.W).max(axis=0) + np.abs(net.b - other.b)
    return np.asarray(gaps > 1e-6 * np.abs(net.W).max())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CONSTRUCTIONS))
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--limit", type=float, default=np.inf, help="seconds a construction, after which no more are waited for"
    )
    options = parser.parse_args(arguments)
    print("| construction | instances | false | right | of them proved | assumption broken | refused | errors | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    false = 0
    for name in options.names:
        began = time.perf_counter()
        each = dict(told_of(name, range(options.start, options.start + options.instances), options.jobs, options.limit))
        told = sum(each.values(), Counter())
        false += told["FALSE"]
        columns = [told[c] for c in ("FALSE", "right", "proved", "assumed", "refused", "error")]
        cells = [name, len(each), *columns, f"{time.perf_counter() - began:.0f}"]
        print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)
        if wrong := sorted(seed for seed, counts in each.items() if counts["FALSE"]):
            print(f"false in {name}: {wrong[:40]}", file=sys.stderr, flush=True)
    return int(false > 0)


def told_of(name: str, seeds: range, jobs: int, limit: float) -> Iterator[tuple[int, Counter[str]]]:
    """Seeds and what came of them, until the time is over."""
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(jobs) if jobs > 1 else nullcontext() as pool:
        run = functools.partial(_numbered, name)
        for found in map(run, seeds) if pool is None else pool.imap_unordered(run, seeds):
            yield found
            if time.perf_counter() - began > limit:
                return


def _numbered(name: str, seed: int) -> tuple[int, Counter[str]]:
    return seed, judged(name, seed)


if __name__ == "__main__":
    raise SystemExit(main())
