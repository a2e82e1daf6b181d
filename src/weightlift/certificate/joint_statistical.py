"""The certificate of a network with several outputs, or a linear part, on noisy rows.

In standard inputs and targets [joint_standard] `joint_noise` tests the fit and gives its regions. Rivals are other networks of
the width with Σ w ‖r‖² nearly as small: with units reflected, where that is no symmetry; with a unit drawn anew; and those that
a combination of the outputs has [rivals.examine_noisy]. Each is refitted to all outputs with A, V and c projected out, and
counts if it ends below the ceiling and outside of the regions.
Cost  that of `joint_noise`, and a few dozen steps for a batch of proposals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.joint_noise import JointNoise, examine_joint_noise
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.significance import odds
from weightlift.certificate.statement import Kind, Statement, Topic, assumed, named, of_finding
from weightlift.certificate.status import Certificate
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import double
from weightlift.evidence.stacked import Stacked
from weightlift.namespaces import Array, array_namespace, as_like
from weightlift.network import Network
from weightlift.refinement.variable_projection import Hidden, Model, variable_projection
from weightlift.rivals import Bar, Finding, Outcome, examine_noisy, examine_uncounted
from weightlift.rivals.cells import some_inputs
from weightlift.rivals.discrete import discrete_columns
from weightlift.rivals.reflected import _nearest
from weightlift.rivals.trial import stay
from weightlift.samples import Block, Samples, Sums


def certify_noisy(blank: Certificate, samples: Samples, model: Model, *, rng: np.random.Generator) -> Certificate:
    """`blank` with the statements of a noisy fit and, where it is regular, regions and what rivals there are."""
    form = StandardForm.of(blank.network, samples, model)
    found = examine_joint_noise(form, rng)
    case = NoisyCase(blank, form, found)
    claim = case.with_statements()
    if found.regions is None:
        return claim
    claim = case.with_regions(claim)
    if len({i for s in claim.failing for i in s.units}) == form.stacked.network.n_units:
        return claim  # nothing is left to be claimed
    return replace(claim, statements=(*claim.statements, *case.rivals(claim, rng, case.margin)))


@dataclass(frozen=True, eq=False)
class NoisyCase:
    """What is known before, the network in its standard form, and what was found of it."""

    blank: Certificate
    form: StandardForm
    found: JointNoise

    def with_statements(self) -> Certificate:
        found, information, scale = self.found, self.form.information, self.form.scaled.scale
        sizes = np.sqrt(np.diagonal(self.form.noise) * information.rows / information.total) * scale
        limit = None if found.fit is None else float((found.fit.limits * scale).max())
        evidence = replace(
            self.blank.evidence,
            condition=information.condition,
            p_value=None if found.fit is None else found.fit.p_value,
            noise_std=float(np.sqrt(np.mean(sizes**2))),
            detection_limit=limit,
        )
        errors = assumed("The errors of different rows are independent, with mean zero given x; those of a row may depend.")
        statements = (*found.statements, self.form.determined(), errors, *self.blank.statements)
        return replace(self.blank, evidence=evidence, statements=statements)

    def with_regions(self, claim: Certificate) -> Certificate:
        assert self.found.regions is not None
        assert self.found.wide_regions is not None
        regions, wide = (self.form.raw_regions(R) for R in (self.found.regions, self.found.wide_regions))
        slices = self.form.slices if self.form.stacked.homogeneous else None
        sizes = self.form.raw_sizes(self.found.regions)
        return replace(claim, precision=sizes, regions=regions, wide_regions=wide, slices=slices)

    @property
    def margin(self) -> float:
        """By how much Σ w ‖r‖² of a rival may exceed the network's own."""
        return self.odds * float(np.linalg.eigvalsh(self.form.noise)[-1])

    @property
    def odds(self) -> float:
        return odds(self.blank.network.n_units)

    def rivals(self, claim: Certificate, rng: np.random.Generator, margin: float) -> tuple[Statement, ...]:
        own = self.form.information.rss
        hidden, findings = self._proposals(margin, rng)
        shown = replace(claim, statements=(*claim.statements, of_finding(NONE)))
        apart = [(square, net) for square, net in self._refitted(hidden, margin) if not self._inside(shown, net)]
        if apart and min(square for square, _ in apart) < own - margin:
            sentence = "Another network of this width explains the data better; refine it, or search longer."
            return (Statement(Topic.MINIMUM, Kind.TESTED, False, sentence, apart[0][0], own - margin), of_finding(NONE))
        if apart:
            moved = tuple(sorted({int(i) for _, net in apart for i in np.flatnonzero(~self._located(shown, net))}))
            sentence = f"Another network of this width fits as well, with others in the place of {named(moved, verb=False)}."
            findings.append(Finding(Outcome.FOUND, sentence, len(apart), 0.0, moved))
        return tuple(of_finding(f) for f in findings or [NONE])

    def _proposals(self, margin: float, rng: np.random.Generator) -> tuple[list[Hidden], list[Finding]]:
        """Hidden layers to be refitted, and findings that need no refit."""
        net, model = self.form.stacked.network, self.form.stacked.model
        u = rng.normal(size=net.n_outputs)
        u = u / np.linalg.norm(u)
        one = net.combined(u)
        gauge = Gauge.of(replace(one, V=None), bias=model.bias, offset=model.offset)
        signs = [np.ones(net.n_units)]
        if net.activation.reflection is not None and not net.turns:
            signs = [np.where(pattern, -1.0, 1.0) for pattern in _nearest(replace(gauge, network=one))]
        layers = [(net.W * s, net.b * s) for s in signs if (s < 0).any()]
        for i in range(net.n_units):
            W, b = net.W.copy(), net.b.copy()
            fresh = rng.normal(size=net.n_inputs)
            W[:, i], b[i] = fresh * np.linalg.norm(W[:, i]) / np.linalg.norm(fresh), model.bias * rng.normal() * 0.5
            layers.append((W, b))
        if self.form.information.rows <= gauge.size + LIMITS.spare_rows:
            findings = of_few_rows(some_inputs(self.form.rows), gauge, noisy=True)
        else:
            findings = []
            combined = self.form.rows.map(CombinedTargets(net, u))
            bar = Bar(float(u @ self.form.information.squares @ u) + margin, self.odds)
            for finding in examine_noisy(combined, gauge, bar):
                layers += [(rival.W, rival.b) for rival in finding.rivals]
                findings += [finding] if not finding.rivals else []
        return [Hidden(W[:, None], b[None], net.activation) for W, b in layers], findings

    def _refitted(self, proposals: list[Hidden], margin: float) -> list[tuple[float, Network]]:
        """Σ w ‖r‖² and the raw networks of those that stay [rivals.trial.Bar]: a race on some of the rows, beside the network's
        own units, then a refit on all of them."""
        rows, model, unit = self.form.rows, self.form.stacked.model, self.form.stacked.homogeneous
        share = LIMITS.race_rows / rows.n
        some = rows if share >= 0.5 else rows.split(share, 1 - share, seed=0)[0].persist()
        itself = Hidden.of(self.form.stacked.network)
        start = _together([itself, *proposals])
        first = variable_projection(some, start, model, iterations=0)
        chosen = np.argsort(first.risks[1:], kind="stable")[: LIMITS.racers] + 1
        racers = start.take(np.append(0, chosen))
        fit = variable_projection(some, racers, model, iterations=LIMITS.race, unit=unit, damping=1e-3)
        near = np.flatnonzero(2 * some.total * (fit.risks[1:] - fit.risks[0]) <= LIMITS.reach * margin) + 1
        if not near.size:
            return []
        fit = variable_projection(rows, fit.hidden.take(near), model, iterations=LIMITS.refit, unit=unit, damping=1e-4)
        found = [fit.network_of(s) for s in range(len(near))]
        contrast = JointContrast(self.form.stacked.network, tuple(found))
        squares, stays = stay(rows, contrast, self.form.information.rss + margin, self.odds)
        return [(float(squares[s]), Stacked.of(self.form.back(found[s]), model).network) for s in np.flatnonzero(stays)]

    def _located(self, claim: Certificate, rival: Network) -> np.ndarray:
        as_raw = replace(rival, a=rival.a[:, 0], c=float(rival.c[0]), V=None if rival.V is None else rival.V[:, 0])
        inside, _ = claim.locate(rival if claim.network.a.ndim == 2 else as_raw, wide=False)
        return inside

    def _inside(self, claim: Certificate, rival: Network) -> bool:
        certain = list(claim.certified_units)
        return bool(self._located(claim, rival)[certain].all())


def of_few_rows(X: np.ndarray, gauge: Gauge, *, noisy: bool) -> list[Finding]:
    """What rows that are fewer than one output needs leave open by their shape: those of a density nothing."""
    found = list(examine_uncounted(X, gauge, noisy=noisy))
    if discrete_columns(X).any():
        sentence = "The rows are fewer than one output needs, and some inputs are discrete; give more."
        found.append(Finding(Outcome.UNEXAMINED, sentence))
    return found


def _together(layers: list[Hidden]) -> Hidden:
    W, b = np.concatenate([h.W for h in layers], axis=1), np.concatenate([h.b for h in layers])
    return Hidden(W, b, layers[0].activation)


@dataclass(frozen=True, eq=False)
class JointContrast:
    """(S,) Σ w ‖r′‖², Σ w ⟨D, r′⟩ and Σ w² ⟨D, r′⟩²: `rivals.trial.Contrast` of rows whose outputs' errors may depend."""

    network: Network
    rivals: tuple[Network, ...]

    @property
    def floats_per_row(self) -> int:
        return 3 * self.network.n_units + (len(self.rivals) + 4) * self.network.n_outputs

    def __call__(self, block: Block) -> Sums:
        squares, terms = self._residuals(block)
        xp = array_namespace(terms)
        return xp.sum(squares, axis=0), xp.sum(terms, axis=0), xp.sum(terms * terms, axis=0)

    def terms(self, block: Block) -> Array:
        return self._residuals(block)[1]

    def some(self, chosen: np.ndarray) -> JointContrast:
        return replace(self, rivals=tuple(self.rivals[s] for s in chosen))

    def _residuals(self, block: Block) -> tuple[Array, Array]:
        """(m, S) w ‖r′‖² and w ⟨D, r′⟩."""
        X, y, w = double(block)
        xp = array_namespace(X)
        y = y[:, None] if y.ndim == 1 else y
        own, theirs = self.network.predict(X) - y, [rival.predict(X) - y for rival in self.rivals]
        squares = [w * xp.sum(r * r, axis=1) for r in theirs]
        return xp.stack(squares, axis=1), xp.stack([w * xp.sum((r - own) * r, axis=1) for r in theirs], axis=1)


@dataclass(frozen=True, eq=False)
class CombinedTargets:
    """y → ⟨u, y − Vᵀx⟩."""

    network: Network
    u: np.ndarray

    def __call__(self, block: Block) -> Block:
        xp, X = array_namespace(block.X), block.X
        y = block.y[:, None] if block.y.ndim == 1 else block.y
        rest = y if self.network.V is None else y - xp.matmul(X, as_like(self.network.V, X))
        return replace(block, y=xp.matmul(rest, as_like(self.u, X)))


NONE = Finding(Outcome.NONE_FOUND, "No other network was found that fits as well: reflected, exchanged and fresh units.")
