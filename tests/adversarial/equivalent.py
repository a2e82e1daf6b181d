"""Mutants that compute the same, each with its reason: no test can kill them, and none of them counts as killed."""

from __future__ import annotations

from typing import Any

UNREAD = "one order more is computed, which is not read"
FIRST = "the first independent rows, however many are looked at together"
SIEVE = "a sieve: what it leaves is checked on all rows"
ORDER = "the order in which halves are looked up"
SQUARE = "regions are square"
DRAWS = "a hundredth of 512 or 4,600 draws, rounded down, is one of 513 or 4,601 too"
SAME: dict[tuple[str, str, str], str] = {  # file, before, after
    (
        "certificate/precision.py",
        "V[:, :, None] + t * V[:, None, :]",
        "V[:, :, None] - t * V[:, None, :]",
    ): "t is 1 and −1",
    ("hermite/contractions.py", "range(order)", "range(order + 1)"): "an entry more of a list, which is not read",
    ("initialization/scalars.py", "range(max(candidates) + 2)", "range(max(candidates) + 2 + 1)"): UNREAD,
    ("initialization/scalars.py", "max(candidates) - 2", "max(candidates) + 2"): UNREAD,
    (
        "initialization/scalars.py",
        "damping[:, None] * diagonal + np.where(diagonal > floor, 0.0, 1.0)",
        "damping[:, None] * diagonal - np.where(diagonal > floor, 0.0, 1.0)",
    ): "where the tangent vanishes, so does the right-hand side, and the step is zero",
    ("moments/flattened_moment.py", "range(half + 1)", "range(half + 1 + 1)"): UNREAD,
    ("moments/hermite_moment.py", "range(5)", "range(5 + 1)"): UNREAD,
    ("refinement/normal_equations.py", "S > 1", "S <= 1"): "two ways of taking the same numbers to the same places",
    ("certificate/breadth.py", "regions.shape[-1]", "regions.shape[-2]"): SQUARE,
    ("certificate/precision.py", "self.regions.shape[-1]", "self.regions.shape[-2]"): SQUARE,
    (
        "certificate/precision.py",
        "xp.concat([X, one], axis=1)[:, :self.regions.shape[-1]]",
        "xp.concat([X, one], axis=1)[:, :self.regions.shape[-2]]",
    ): SQUARE,
    ("certificate/standard.py", "regions.shape[-1]", "regions.shape[-2]"): SQUARE,
    (
        "certificate/lack_of_fit.py",
        "self.own[self.kept] - np.tensordot(self.score, self.white, axes=1)",
        "self.own[self.kept] + np.tensordot(self.score, self.white, axes=1)",
    ): "the scores of a minimum are rounding errors",
    ("certificate/lack_of_fit.py", "units[0]", "units[1]"): "all units have one activation",
    (
        "certificate/lack_of_fit.py",
        "np.sort(draws)[-int(LIMITS.level * (1 + len(draws)))]",
        "np.sort(draws)[-int(LIMITS.level * (2 + len(draws)))]",
    ): DRAWS,
    ("certificate/joint_noise.py", "range(len(at))", "range(len(at) + 1)"): "the number of a unit that there is not",
    ("certificate/joint_statistical.py", "layers[0]", "layers[1]"): "all layers have one activation",
    ("certificate/quantum.py", "0.0 * largest", "largest"): "it is read where it is zero",
    ("certificate/statement.py", "range(n_units)", "range(n_units + 1)"): "the number of a unit that there is not",
    ("evidence/information.py", "p <= DENSE", "p > DENSE"): "two routes to the same number",
    ("evidence/rows.py", "lead < 0", "lead >= 0"): "the other of x and −x in every pair",
    ("rivals/analytic.py", "t + beta", "t - beta"): "what repeats one way repeats the other way",
    **{
        ("rivals/analytic.py", f"{best}[:12]{end}", f"{best}[:13]{end}"): "a start more is refined"
        for gaps, of in (("gaps[least]", "points[least]"), ("np.apply_along_axis(gap, -1, far)", "far"))
        for best, end in ((f"np.argsort({gaps}, kind='stable')", ""), (f"{of}[np.argsort({gaps}, kind='stable')", "]"))
    },
    ("rivals/analytic.py", "beta - b", "beta + b"): "b is 0 in both trivial places",
    ("certificate/inference.py", "0.0 * X[:, 0]", "X[:, 0]"): "the targets do not enter the information",
    ("rivals/bases.py", "slopes.B > 0", "slopes.B <= 0"): "the same classes of rows, whose spans are asked for together",
    ("rivals/bases.py", "2 * slopes.width", "slopes.width"): FIRST,
    ("rivals/bases.py", "order[:2 * slopes.width]", "order[:3 * slopes.width]"): FIRST,
    ("rivals/bases.py", "order[row:row + 1]", "order[row:row + 2]"): "the first of them is taken",
    ("rivals/bases.py", "range(K)", "range(K + 1)"): "no column is alive after K steps",
    ("rivals/bases.py", "LIMITS.listed_rows * r", "LIMITS.listed_rows"): SIEVE,
    ("rivals/bases.py", "start + size", "start - size"): SIEVE,
    ("rivals/bases.py", "2 * size", "size"): SIEVE,
    ("rivals/bases.py", "-right", "right"): ORDER,
    ("rivals/bases.py", "right > target", "right <= target"): ORDER,
    (
        "rivals/bases.py",
        "-int(np.count_nonzero(right > target))",
        "int(np.count_nonzero(right > target))",
    ): ORDER,
    ("rivals/cells.py", "lead < 0", "lead >= 0"): "the other sign of every row: the same rows are one draw",
    ("rivals/discrete.py", "Z[:, i] + sign * Z[:, j]", "Z[:, i] - sign * Z[:, j]"): "the sign is −1 and 1",
    ("rivals/discrete.py", "kept < net.n_inputs", "kept >= net.n_inputs"): "all four pairs of signs are tried",
    ("rivals/lattice.py", "range(k - 2, -1, -1)", "range(k - 2 + 1, -1, -1)"): "the column before is taken off already",
    (
        "rivals/pieces.py",
        "pieces.different[:LIMITS.rows // 8, chosen]",
        "pieces.different[:LIMITS.rows // 9, chosen]",
    ): "where those do not show all sides, all rows are looked at",
    ("rivals/pieces.py", "-rows", "rows"): "θ and −θ are both within the bounds of the programme",
    (
        "rivals/reflected.py",
        "change * z[:, 0, :] + coefficient",
        "change * z[:, 0, :] - coefficient",
    ): "−p throughout, and products of two are all that is used",
    ("rivals/places.py", "range(net.n_units)", "range(net.n_units + 1)"): "coordinates of a unit that there is not",
    ("rivals/places.py", "net.a[i] < 0", "net.a[i] >= 0"): "all units are turned: the same equations of −f",
    ("rivals/polynomial.py", "q - j", "q + j"): "whether it is even is asked alone",
}


def reason(mutant: dict[str, Any]) -> str | None:
    return SAME.get((mutant["path"], mutant["before"], mutant["after"]))
