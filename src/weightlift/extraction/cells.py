"""The units behind the kinks of a line: gradients in its cells, and their jumps.

Between two neighbouring kinks of the line the network is affine, f = Gᵀξ + const in the whole cell around it; across the kink
of unit i the gradient jumps by a (r − l) n, with n the unit's normal turned along the line, r and l the slopes of φ. One
gradient costs d − 1 queries: value and slope along the line are known. Where both are zero nothing is asked: on a random line
they would vanish by chance alone if the gradient did not. With m outputs up to m units are told apart by one
difference of gradients, for their bends on the line show their output weights. A query whose step crosses another unit is
found out by the units themselves, once they are roughly known, and asked again with a shorter step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.extraction.fat import wide_gradient
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.lines import Broken

Ask = Callable[[np.ndarray], np.ndarray]  # (n, d) standardised rows -> (n, m)


@dataclass(frozen=True, eq=False)
class ProbedLine:
    """ξ = origin + t·direction."""

    origin: np.ndarray  # (d,)
    direction: np.ndarray  # (d,)

    def at(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(self.origin + np.multiply.outer(t, self.direction))


@dataclass(frozen=True, eq=False)
class Jumps:
    """What the kinks of a line say: the first cell's gradient, and each unit's normal, place and jump."""

    gradient: np.ndarray  # (d, m) of the first cell
    normals: np.ndarray  # (d, k) of length one, ⟨n, direction⟩ > 0
    places: np.ndarray  # (k,): the unit's kink is ⟨n, ξ⟩ + place = 0
    sizes: np.ndarray  # (k, m): the gradient jumps by n sizeᵀ
    origin: tuple[np.ndarray, np.ndarray]  # a point of the first cell, and the value there
    steps: np.ndarray | None = None  # (cells,) shortest of each gradient: its error is that of the answers over it


def jumps(ask: Ask, line: ProbedLine, broken: Broken, noise: float = 0.0) -> Jumps:
    """Gradients in some cells of the line, and the units between them.

    noise: of the answers; where it is given, cells so narrow that it shows in their units are measured where they are wide.
    """
    places, steps = _centres(broken)
    slopes = np.array([piece.slope for piece in broken.pieces])  # (k + 1, m)
    cells = _measured(np.diff(slopes, axis=0), steps)
    base = np.array([broken.pieces[c].at(places[c]) for c in cells])  # (cells, m)
    length = float(np.linalg.norm(line.direction))
    Q = _complement(line.direction / length)  # (d, d − 1)
    points = line.at(places[cells])
    part = LIMITS.cell_wider if noise else LIMITS.cell_step
    H = np.repeat((part * length * np.minimum(steps[cells], 1.0))[:, None], Q.shape[1], axis=1)  # (cells, d − 1)
    across = np.zeros((*H.shape, base.shape[1]))  # derivatives along Q
    along = np.multiply.outer(slopes[cells], line.direction / length**2).transpose(0, 2, 1)  # (cells, d, m)
    asked = np.array([not broken.pieces[c].zero for c in cells])[:, None]
    wrong = np.broadcast_to(asked, H.shape)
    for _ in range(LIMITS.cell_repairs):
        cell, column = np.nonzero(wrong)
        if cell.size:
            rows = points[cell] + H[cell, column, None] * Q.T[column]
            across[cell, column] = (ask(rows) - base[cell]) / H[cell, column, None]
        gradients = along + np.einsum("dj,cjm->cdm", Q, across)
        shortest = np.where(asked[:, 0], H.min(axis=1, initial=np.inf), np.inf)
        found = _units(line, broken.kinks, np.diff(slopes, axis=0), cells, gradients, (points[0], base[0]))
        crossed, H = _crossed(found, points, Q, H)
        wrong = crossed & asked
        if not wrong.any():
            break
    if noise:
        gradients = _again(ask, found, cells, points, gradients, noise / shortest)
        found = _units(line, broken.kinks, np.diff(slopes, axis=0), cells, gradients, (points[0], base[0]))
    return replace(found, steps=shortest)


def _again(
    ask: Ask, found: Jumps, cells: np.ndarray, points: np.ndarray, gradients: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """The gradients, those with errors that spoil a neighbouring unit replaced."""
    size = np.linalg.norm(found.sizes, axis=1)
    least = np.array([min(size[max(c - 1, 0) : c + 1]) for c in cells])  # the weaker of a cell's two units
    gradients = gradients.copy()
    for i in np.flatnonzero(errors * np.sqrt(len(found.normals)) > LIMITS.cell_spoilt * least):
        side = np.where(np.arange(len(size)) < cells[i], 1.0, -1.0)
        better = wide_gradient(ask, points[i], found.normals, found.places, side)
        gradients[i] = gradients[i] if better is None else better
    return gradients


def _measured(bends: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Cells whose gradients are asked for: the first, the last, and so many that the bends (k, m) between two are independent.

    One output: all cells. Of those that may come next the widest is taken, for its differences are the most exact.
    """
    k = len(bends)
    size = np.linalg.norm(bends, axis=1, keepdims=True)
    units = bends / np.maximum(size, 1e-300)
    cells = [0]
    while cells[-1] < k:
        first, last = cells[-1], cells[-1] + 1
        while last < k and last - first < bends.shape[1] and np.linalg.cond(units[first : last + 1]) < LIMITS.cell_dependent:
            last += 1
        nearest = first + 1 + (last - first) // 2 if last < k else last
        nearest = min(nearest, last)
        cells.append(nearest + int(np.argmax(steps[nearest : last + 1])))
    return np.array(cells)


def _centres(broken: Broken) -> tuple[np.ndarray, np.ndarray]:
    """A place in every cell and its distance from the nearest kink; in the end cells not further than their kink's own size."""
    edges = broken.edges.copy()
    if len(broken.kinks):
        inner = np.diff(broken.kinks)
        typical = float(np.median(inner)) if inner.size else 1.0
        edges[0] = max(edges[0], edges[1] - 2 * max(typical, 0.1 * (1 + abs(edges[1]))))
        edges[-1] = min(edges[-1], edges[-2] + 2 * max(typical, 0.1 * (1 + abs(edges[-2]))))
    else:
        edges = np.array([-1.0, 1.0])
    return (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2


def _complement(direction: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the directions orthogonal to a unit vector: the last columns of a Householder reflection."""
    v = direction.copy()
    v[0] += np.copysign(1.0, v[0])
    reflection = np.eye(len(v)) - 2 * np.outer(v, v) / (v @ v)
    return np.asarray(reflection[:, 1:])


def _units(
    line: ProbedLine,
    kinks: np.ndarray,
    bends: np.ndarray,
    cells: np.ndarray,
    gradients: np.ndarray,
    origin: tuple[np.ndarray, np.ndarray],
) -> Jumps:
    """Between two measured cells the gradient jumps by Σ ñᵢ bendᵢᵀ, ñ = n/⟨n, direction⟩: solved for ñ, as bends are known."""
    scaled = np.zeros((len(line.direction), len(kinks)))
    for (first, last), jump in zip(itertools.pairwise(cells), np.diff(gradients, axis=0), strict=True):
        scaled[:, first:last] = np.linalg.lstsq(bends[first:last].T, jump.T, rcond=None)[0].T
    length = np.linalg.norm(scaled, axis=0)
    normals = scaled / length
    places = -(line.at(kinks) * normals.T).sum(axis=1)
    return Jumps(gradients[0], normals, places, bends * length[:, None], origin)


def _crossed(found: Jumps, points: np.ndarray, Q: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(cells, d − 1): whether a step crossed a unit, and the steps to take instead.

    A step h that crossed its cell's own unit at f h shows the part f of the unit's jump, so that the unit seems to lie at
    f h/f = h: steps that end at a unit are wrong as well.
    """
    heights = points @ found.normals + found.places  # (cells, k)
    climbs = np.abs(Q.T @ found.normals)  # (d − 1, k)
    reach = np.empty_like(H)
    for c, height in enumerate(heights):
        with np.errstate(divide="ignore"):
            towards = np.where(np.sign(height) * (Q.T @ found.normals) < 0, np.abs(height) / np.maximum(climbs, 1e-300), np.inf)
        reach[c] = towards.min(axis=1, initial=np.inf)
    wrong = reach < LIMITS.cell_clear * H
    return wrong, np.where(wrong, LIMITS.cell_shorter * reach, H)
