"""The blocks of `blocks` on a GPU: products by PyTorch, a block's steps in one Triton kernel, all in a CUDA graph.

One multiprocessor holds z_t = Wᵀx_t of all steps of a block in its registers. Step t takes its row, evaluates φ, sums over the
units and subtracts s_t e_t ⟨x_t, x_τ⟩ g_t from the rows τ > t: no memory is touched between steps. B is chosen such that B k
numbers fit. W and W̄ lie side by side, (d, 2k); a block is a product, the kernel, and three updates. What concerns the running
average's predictions alone is left to the end of a piece and done for all its rows at once.
Only PyTorch (with Triton) and NumPy are needed here.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import torch
    import triton
    import triton.language as tl

    MISSING = "" if torch.cuda.is_available() else "a GPU, and PyTorch finds none"
except ImportError as error:
    MISSING = f"PyTorch with Triton ({error})"

REGISTERS = 2**17  # bytes of z that one multiprocessor holds beside its other work
MOST_STEPS = 32  # in a block


class DeviceRun:
    """Steps on a device, with the buffers and the graph for pieces of `rows` rows; shorter pieces are padded."""

    def __init__(
        self, output: Any, code: tuple[int, np.ndarray], value: Callable[[Any], Any], *, inputs: int, rows: int, device: str
    ) -> None:
        """output and code as `runners.Output` and `elements.compiled` make them, φ's value for PyTorch's arrays."""
        a, (self.kind, coefficients), d = output.a, code, inputs
        self.device, self.c, self.limit, self.value = torch.device(device), float(output.c), output.limit, value
        self.a, self.coefficients = (torch.as_tensor(v, device=self.device).contiguous() for v in (a, coefficients))
        self.columns = triton.next_power_of_2(len(a))
        self.steps = min(MOST_STEPS, REGISTERS // (self.columns * a.itemsize))
        if self.steps < 2:
            raise ValueError(f"{len(a)} units are too many for one multiprocessor; run on the processor instead.")
        self.blocks, self.units = -(-rows // self.steps), len(a)
        shape, new = (self.blocks, self.steps), self._empty
        self.X, self.U, self.late = (new(*shape, d) for _ in range(3))
        self.y, self.s, self.residual = (new(*shape) for _ in range(3))
        self.gram, self.share = new(*shape, self.steps), new(self.blocks, 1, 1)
        self.weights, self.Z, self.P = new(d, 2 * len(a)), new(*shape, 2 * len(a)), new(*shape, len(a))
        self.graph: Any = None

    def __call__(self, W: np.ndarray, average: np.ndarray, piece: Any) -> tuple[np.ndarray, np.ndarray, int]:
        """As `runners.Runner`, for a `runners.Piece`."""
        B, k, n = self.steps, self.units, len(piece.y)
        self.weights.copy_(torch.from_numpy(np.hstack([W, average])))
        for buffer, rows in (
            (self.X, piece.X), (self.U, piece.moving), (self.y, piece.y - self.c), (self.s, piece.steps),
        ):  # fmt: skip
            flat = buffer.reshape(self.blocks * B, -1)
            flat[:n].copy_(torch.from_numpy(np.ascontiguousarray(rows.reshape(n, -1))))
            flat[n:].zero_()
        first = np.arange(self.blocks)[:, None] * B  # steps before each block, in this piece
        m = np.clip(n - first, 0, B)
        t = np.arange(B)
        after = np.maximum(1, piece.done + first + m)
        self.share.copy_(self._tensor((m / after)[:, :, None]))
        self.late.copy_(self.U * self._tensor(np.maximum(m - t, 0) / after)[:, :, None])
        torch.bmm(self.U, self.X.mT, out=self.gram)
        self._replay()
        before = np.maximum(1, piece.done + first + t)  # iterates averaged before step t
        lags = np.tril(t[:, None] - t) / before[:, :, None]
        L = self.gram.mT * self._tensor(lags)
        Zbar = torch.lerp(self.Z[:, :, k:], self.Z[:, :, :k], self._tensor(t / before)[:, :, None])
        Zbar = torch.baddbmm(Zbar, L, self.P, alpha=-1)
        smooth = self.value(Zbar) @ self.a - self.y
        residual, averaged = (v.reshape(-1)[:n].cpu().numpy() for v in (self.residual, smooth))
        W[:], average[:] = np.hsplit(self.weights.cpu().numpy(), 2)
        wrong = np.flatnonzero(~(np.abs(residual) <= self.limit))
        return residual, averaged, int(wrong[0]) if wrong.size else n

    def _replay(self) -> None:
        """All blocks: launched one by one where there is no graph, else as one graph, captured at the first call."""
        if self.device.type != "cuda":
            return self._all_blocks()
        if self.graph is None:
            start = self.weights.clone()
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._all_blocks()  # compiles, and lets the libraries allocate
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._all_blocks()
            self.weights.copy_(start)
        self.graph.replay()
        return None

    def _all_blocks(self) -> None:
        for b in range(self.blocks):
            self._block(b)

    def _block(self, b: int) -> None:
        k = self.units
        W, average = self.weights[:, :k], self.weights[:, k:]
        torch.mm(self.X[b], self.weights, out=self.Z[b])
        kernel[(1,)](
            self.Z[b], self.P[b], self.gram[b], self.y[b], self.s[b], self.a, self.coefficients, self.residual[b],
            k, 2 * k, self.coefficients.shape[1], KIND=self.kind, B=self.steps, K=self.columns,
            num_warps=min(16, max(1, self.columns // 32)),  # all along the units: a step's row is taken within threads
        )  # fmt: skip
        average.lerp_(W, self.share[b])
        average.addmm_(self.late[b].mT, self.P[b], alpha=-1)
        W.addmm_(self.U[b].mT, self.P[b], alpha=-1)

    def _empty(self, *shape: int) -> Any:
        return torch.zeros(shape, dtype=self.a.dtype, device=self.device)

    def _tensor(self, values: np.ndarray) -> Any:
        return torch.as_tensor(values, dtype=self.a.dtype, device=self.device)


def _steps(  # noqa: C901  (a branch for each kind)
    Z, P, gram, y, steps, a, coefficients, residual, k, stride, degrees, KIND: tl.constexpr, B: tl.constexpr, K: tl.constexpr
):
    """B steps: Z (B, stride) holds Wᵀx_t, P (B, k) receives s_t e_t g_t, residual (B,) the e_t."""
    rows, columns = tl.arange(0, B), tl.arange(0, K)
    inside = columns < k
    z = tl.load(Z + rows[:, None] * stride + columns[None, :], mask=inside[None, :], other=0.0)
    outputs = tl.load(a + columns, mask=inside, other=0.0)
    factor = tl.load(coefficients)
    for t in range(B):
        x = tl.sum(tl.where(rows[:, None] == t, z, 0.0), axis=0)
        if KIND == 0:
            value, slope = 0.0 * x, 0.0 * x
            for i in range(degrees):
                n = degrees - 1 - i
                slope = slope * x + value
                value = value * x + tl.where(x > 0, tl.load(coefficients + degrees + n), tl.load(coefficients + n))
        elif KIND == 1:
            e = tl.exp(-2.0 * tl.abs(factor * x))
            size = (1.0 - e) / (1.0 + e)
            value, slope = tl.where(x > 0, size, -size), factor * 4.0 * e / ((1.0 + e) * (1.0 + e))
        elif KIND == 4:
            value, slope = tl.erf(factor * x), factor * 1.1283791670955126 * tl.exp(-factor * x * factor * x)
        elif KIND == 5:
            u = factor * x
            below = 0.5 + 0.5 * tl.erf(0.7071067811865476 * u)
            value, slope = u * below, factor * (below + 0.3989422804014327 * u * tl.exp(-0.5 * u * u))
        elif KIND == 7:
            u, alpha = factor * x, tl.load(coefficients + 1)
            e = alpha * tl.exp(tl.minimum(u, 0.0))
            value, slope = tl.where(u > 0, u, e - alpha), factor * tl.where(u > 0, 1.0, e)
        elif KIND == 8:
            value, slope = tl.sin(factor * x), factor * tl.cos(factor * x)
        else:
            e = tl.exp(-tl.abs(factor * x))
            logistic = tl.where(x > 0, 1.0, e) / (1.0 + e)
            if KIND == 2:
                value, slope = logistic, factor * e / ((1.0 + e) * (1.0 + e))
            elif KIND == 6:
                value = factor * x * logistic
                slope = factor * (logistic + factor * x * e / ((1.0 + e) * (1.0 + e)))
            else:
                value, slope = tl.where(x > 0, factor * x, 0.0) + tl.log(1.0 + e), factor * logistic
        error = tl.sum(outputs * value, axis=0) - tl.load(y + t)
        change = tl.load(steps + t) * error * outputs * slope
        tl.store(P + t * k + columns, change, mask=inside)
        tl.store(residual + t, error)
        z -= tl.load(gram + t * B + rows)[:, None] * change[None, :]


kernel: Any = None if "triton" not in globals() else triton.jit(_steps)
