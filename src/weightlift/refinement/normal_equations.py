"""Normal equations of the least-squares fit for a batch of networks, by products alone; the Jacobian is never stored.

The Jacobian of f in (wᵢ, bᵢ) is aᵢ φ′(zᵢ) x̃ with x̃ = (x, 1), in aᵢ it is φ(zᵢ), in c it is 1. With Dᵢ = aᵢ φ′(zᵢ),

    (JᵀJ)_{(p, i), (q, j)} = E Dᵢ Dⱼ x̃_p x̃_q,

symmetric in (p, q) and in (i, j): over all starts it is the one product pairs(X̃)ᵀ · pairs(D), half of what JᵀJ costs.
Cost  O(n d² S k²/2) a pass for S starts of k units; memory O(d² + S k²) a row of the block and O(S d² k²) for the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, on_host
from weightlift.refinement.limits import LIMITS
from weightlift.risk import Students
from weightlift.samples import Block, Sums


@dataclass(frozen=True)
class Free:
    """Which parameters move."""

    W: bool = True
    a: bool = False
    b: bool = False
    c: bool = False

    @classmethod
    def of(cls, names: str) -> Free:
        """`Free.of("Wb")`."""
        if not names or set(names) - set("Wabc"):
            raise ArgumentError(f"free must name parameters among 'W', 'a', 'b', 'c', not {names!r}.")
        return cls(*(name in names for name in "Wabc"))

    @property
    def names(self) -> str:
        return "".join(name for name in "Wabc" if getattr(self, name))

    def inputs(self, d: int) -> int:
        """Columns of x̃ that carry parameters."""
        return d * self.W + self.b

    def size(self, d: int, k: int) -> int:
        """Parameters of one network (before any gauge is fixed)."""
        return self.inputs(d) * k + k * self.a + self.c

    def pack(self, students: Students) -> Array:
        """θ (S, p): (W, b) with the input as the slower index, then a, then c."""
        xp = array_namespace(students.W)
        d, S, k = students.shape
        parts = []
        if self.W:
            parts.append(xp.reshape(xp.permute_dims(students.W, (1, 0, 2)), (S, d * k)))
        if self.b:
            parts.append(students.b)
        if self.a:
            parts.append(students.a)
        if self.c:
            parts.append(students.c[:, None])
        return xp.concat(parts, axis=1)

    def unpack(self, theta: Array, students: Students) -> Students:
        """The students with their free parameters taken from θ (S, p)."""
        xp = array_namespace(theta)
        d, _, k = students.shape
        S, at, changes = theta.shape[0], 0, {}
        if self.W:
            changes["W"] = xp.permute_dims(xp.reshape(theta[:, : d * k], (S, d, k)), (1, 0, 2))
            at += d * k
        if self.b:
            changes["b"] = theta[:, at : at + k]
            at += k
        if self.a:
            changes["a"] = theta[:, at : at + k]
            at += k
        if self.c:
            changes["c"] = theta[:, at]
        return replace(students, **changes)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """½ E r², Jᵀr and JᵀJ in the free parameters, in a compact form that `assembled` spreads once the rows are summed.

    Few narrow students (S k² ≤ 100): JᵀJ of a block's Jacobian, a symmetric product. Else the product of pairs.
    coarse: whether each block's part of (JᵀJ) in (W, b) may be a product in single precision, half the time of a double one.
    """

    students: Students
    free: Free
    coarse: bool = False

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.students.shape
        q = self.free.inputs(d)
        products = S * q * k if self._narrow else q * (q + 1) // 2 + S * k * (k + 1) // 2
        return products + S * k * (6 + k * self.free.a)

    @property
    def _narrow(self) -> bool:
        _, S, k = self.students.shape
        return S * k * k <= LIMITS.narrow

    def __call__(self, block: Block) -> Sums:
        """Σ ½ w r² (S,), Σ w x̃ ⊗ (r D, D, D ⊗ φ) (q, S, ·), Σ w (x̃ D)(x̃ D)ᵀ or its pairs, Σ w f̃ f̃ᵀ with f̃ = (φ, 1, r)."""
        xp, free = array_namespace(block.X), self.free
        students = self.students.like(block.X)
        d, S, k = students.shape
        m = block.X.shape[0]
        z = students.preactivations(block.X)
        values = students.activation(z)
        D = students.a * students.activation.derivative(z)
        r = students.residuals(values, block.y)
        sums = []
        if free.inputs(d):
            Xt, wD = parameter_inputs(block.X, free), D if block.w is None else block.w[:, None, None] * D
            beside = [r[:, :, None] * wD, *([wD] if free.c else [])]
            if free.a:
                beside.append(xp.reshape(wD[:, :, :, None] * values[:, :, None, :], (m, S, k * k)))
            columns = sum(v.shape[2] for v in beside)
            sums.append(matmul_transposed(Xt, xp.reshape(xp.concat(beside, axis=2), (m, S * columns))))
            inputs, slopes, weighted = _in_single(Xt, D, wD) if self.coarse else (Xt, D, wD)
            sums.append(_jacobian_gram(inputs, slopes, block.w) if self._narrow else _pair_products(inputs, weighted, slopes))
        one = xp.ones((m, S, 1), dtype=block.X.dtype, device=block.X.device)
        outputs = xp.permute_dims(xp.concat([values, one, r[:, :, None]], axis=2), (1, 0, 2))  # (S, m, k + 2)
        weighted = outputs if block.w is None else outputs * block.w[:, None]
        return *sums, xp.matmul(xp.matrix_transpose(outputs), weighted)

    def assembled(self, sums: Sums) -> tuple[Array, Array, Array]:
        """½ E r² (S,), Jᵀr (S, p) and JᵀJ (S, p, p) from the means of a source."""
        xp, free = array_namespace(sums[-1]), self.free
        d, S, k = self.students.shape
        outputs, gradients, grams = sums[-1], [], {}
        if q := free.inputs(d):
            product = xp.permute_dims(xp.reshape(sums[0], (q, S, -1)), (1, 0, 2))
            gradients.append(xp.reshape(product[:, :, :k], (S, q * k)))
            grams["vv"] = sums[1] if self._narrow else _spread(sums[1], q, S, k)
            if free.c:
                grams["vc"] = xp.reshape(product[:, :, k : 2 * k], (S, q * k, 1))
            if free.a:
                grams["va"] = xp.reshape(product[:, :, -k * k :], (S, q * k, k))
        if free.a:
            gradients.append(outputs[:, :k, k + 1])
            grams["aa"], grams["ac"] = outputs[:, :k, :k], outputs[:, :k, k : k + 1]
        if free.c:
            gradients.append(outputs[:, k : k + 1, k + 1])
            grams["cc"] = outputs[:, k : k + 1, k : k + 1]
        return 0.5 * outputs[:, k + 1, k + 1], xp.concat(gradients, axis=1), _assemble(grams, xp)


@dataclass(frozen=True, eq=False)
class NormalProduct:
    """JᵀJ applied to directions U (S, p), without JᵀJ: O(n d S k)."""

    students: Students
    free: Free
    U: Array

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.students.shape
        return 8 * S * k

    def __call__(self, block: Block) -> Sums:
        xp, free = array_namespace(block.X), self.free
        students = self.students.like(block.X)
        d, S, k = students.shape
        m, q = block.X.shape[0], free.inputs(d)
        U = as_like(self.U, block.X)
        z = students.preactivations(block.X)
        values = students.activation(z)
        D = students.a * students.activation.derivative(z)
        w = xp.ones_like(block.y) if block.w is None else block.w
        tangent = xp.zeros((m, S), dtype=block.X.dtype, device=block.X.device)
        if q:
            Xt = parameter_inputs(block.X, free)
            directions = xp.reshape(xp.permute_dims(xp.reshape(U[:, : q * k], (S, q, k)), (1, 0, 2)), (q, S * k))
            tangent = tangent + xp.sum(D * xp.reshape(xp.matmul(Xt, directions), (m, S, k)), axis=2)
        if free.a:
            tangent = tangent + xp.sum(values * U[:, q * k : q * k + k], axis=2)
        if free.c:
            tangent = tangent + U[:, -1]
        wt = w[:, None] * tangent
        parts = []
        if q:
            product = matmul_transposed(Xt, xp.reshape(wt[:, :, None] * D, (m, S * k)))
            parts.append(xp.reshape(xp.permute_dims(xp.reshape(product, (q, S, k)), (1, 0, 2)), (S, q * k)))
        if free.a:
            parts.append(xp.sum(wt[:, :, None] * values, axis=0))
        if free.c:
            parts.append(xp.sum(wt, axis=0)[:, None])
        return (xp.concat(parts, axis=1),)


@dataclass(frozen=True, eq=False)
class OutputEquations:
    """Normal equations of the output layer alone: features φ(zᵢ), and 1 when c is free; Gram (S, q, q) and target (S, q).

    line: the inputs whose linear function the last unit is, so that they are features in its place.
    """

    students: Students
    offset: bool
    line: Free | None = None

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.students.shape
        return 4 * S * (k + 1 + (self.line is not None) * d)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        students = self.students.like(block.X)
        F = students.activation(students.preactivations(block.X))
        if self.line is not None:
            Xt = parameter_inputs(block.X, self.line)[:, None, :]
            F = xp.concat([F[:, :, :-1], xp.broadcast_to(Xt, (*F.shape[:2], Xt.shape[2]))], axis=2)
        if self.offset:
            F = xp.concat([F, xp.ones((*F.shape[:2], 1), dtype=F.dtype, device=F.device)], axis=2)
        F = xp.permute_dims(F, (1, 0, 2))  # (S, m, q)
        w = xp.ones_like(block.y) if block.w is None else block.w
        y = block.y[:, None] - (0.0 if self.offset else 1.0) * students.c
        weighted = F * w[:, None]
        return (
            xp.matmul(xp.matrix_transpose(F), weighted),
            xp.sum(weighted * xp.permute_dims(y, (1, 0))[:, :, None], axis=1),
        )


def parameter_inputs(X: Array, free: Free) -> Array:
    """x̃: the inputs, and a one where the bias is free."""
    xp = array_namespace(X)
    one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
    parts = [*([X] if free.W else []), *([one] if free.b else [])]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)


def _in_single(*factors: Array) -> tuple[Array, ...]:
    """The factors of JᵀJ in single precision, unless a product of four of them might leave its range."""
    xp = array_namespace(*factors)
    for factor in factors:
        most = xp.max(xp.abs(factor), axis=0) if factor.shape[0] else xp.ones((1,))
        if not bool(xp.all((most == 0) | ((most > 1 / LIMITS.single_range) & (most < LIMITS.single_range)))):
            return factors
    return tuple(xp.astype(factor, xp.float32) for factor in factors)


def _jacobian_gram(Xt: Array, D: Array, w: Array | None) -> Array:
    """Σ w (x̃ D)(x̃ D)ᵀ (S, qk, qk), as a symmetric product of √w x̃ ⊗ D with itself."""
    xp = array_namespace(Xt)
    J = products_by_row(Xt, xp.permute_dims(D if w is None else xp.sqrt(w)[:, None, None] * D, (1, 2, 0)))
    return xp.matmul(J, xp.matrix_transpose(J))


def products_by_row(X: Array, D: Array) -> Array:
    """(S, qk, m) x_p Dᵢ at every row, from X (m, q) and D (S, k, m); rows are the last axis, along which products are fast."""
    xp = array_namespace(X, D)
    (m, q), (S, k, _) = X.shape, D.shape
    across, D = (xp.reshape(xp.reshape(v, (-1,)), v.shape) for v in (xp.matrix_transpose(X), D))  # rows beside each other
    return xp.reshape(across[None, :, None, :] * D[:, None, :, :], (S, q * k, m))


def _pair_products(Xt: Array, wD: Array, D: Array) -> Array:
    """Σ w x̃_p x̃_q DᵢDⱼ over p ≤ q and i ≤ j: one product over all students, (q(q+1)/2, S k(k+1)/2)."""
    xp = array_namespace(Xt)
    m, (_, S, k) = Xt.shape[0], D.shape
    X_pairs, D_pairs = _pairs(Xt, Xt), _pairs(wD, D)
    return matmul_transposed(X_pairs, xp.reshape(D_pairs, (m, S * k * (k + 1) // 2)))


def _pairs(left: Array, right: Array) -> Array:
    """leftᵢ rightⱼ over i ≤ j of the last axis; slices are fastest on a host, two gathers where every kernel is launched."""
    xp, q = array_namespace(left), left.shape[-1]
    if on_host(left.device):
        return xp.concat([left[..., i : i + 1] * right[..., i:] for i in range(q)], axis=-1)
    place = xp.arange(q * (q + 1) // 2, dtype=xp.float64, device=left.device)  # computed there: a copy would wait
    row = xp.floor((2 * q + 1 - xp.sqrt((2.0 * q + 1) ** 2 - 8.0 * place)) / 2)  # roots of squares are exact
    column = place - row * q + row * (row + 1) / 2
    i, j = xp.astype(row, xp.int64), xp.astype(column, xp.int64)
    return xp.take(left, i, axis=-1) * xp.take(right, j, axis=-1)


def _spread(product: Array, q: int, S: int, k: int) -> Array:
    """The sums over pairs at their four symmetric places, (S, qk, qk)."""
    xp = array_namespace(product)
    product = xp.reshape(product, (q * (q + 1) // 2, S, k * (k + 1) // 2))
    if S > 1:  # one index for all, no larger than the result
        pairs = xp.reshape(xp.permute_dims(product, (1, 0, 2)), (S, -1))
        inputs, units = (xp.reshape(_pair_places(n, product), shape) for n, shape in ((q, (q, 1, q, 1)), (k, (1, k, 1, k))))
        places = xp.reshape(inputs * product.shape[2] + units, (-1,))
        return xp.reshape(xp.take(pairs, places, axis=1), (S, q * k, q * k))
    spread = xp.take(xp.take(product, _pair_places(k, product), axis=2), _pair_places(q, product), axis=0)
    spread = xp.permute_dims(xp.reshape(spread, (q, q, S, k, k)), (2, 0, 3, 1, 4))
    return xp.reshape(spread, (S, q * k, q * k))


def _pair_places(q: int, like: Array) -> Array:
    """For every (i, j), flattened, the place of its pair among those with i ≤ j."""
    i, j = np.triu_indices(q)
    places = np.zeros((q, q), dtype=np.int64)
    places[i, j] = places[j, i] = np.arange(len(i))
    return array_namespace(like).asarray(places.reshape(-1), device=like.device)


def _assemble(grams: dict[str, Array], xp: Array) -> Array:
    """The symmetric matrix from its blocks, in the order v, a, c."""
    names = [name for name in "vac" if name + name in grams]
    if len(names) == 1:
        return grams[names[0] * 2]
    rows = []
    for left in names:
        blocks = [grams[left + right] if left + right in grams else xp.matrix_transpose(grams[right + left]) for right in names]
        rows.append(xp.concat(blocks, axis=2))
    return xp.concat(rows, axis=1)
