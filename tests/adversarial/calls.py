"""One call of every public entry point, each small, each with a seed where it has one: what determinism is tried on."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.conftest import optional
from typer.testing import CliRunner

import weightlift as wl
from weightlift import (
    activations,
    certificate,
    decomposition,
    diagnose,
    export,
    hermite,
    identifiability,
    initialization,
    learning,
    moments,
    refinement,
    report,
    samples,
    teachers,
    theory,
)
from weightlift.risk import Students

Calls = dict[str, Callable[[], Any]]
TRUTH = teachers.conditioned(5, 2, activation="relu", rng=0)
NEAR = wl.Network(TRUTH.W + 0.1, TRUTH.a)
X, Y = wl.draw(TRUTH, 400, rng=1)
NOISY = Y + 0.05 * np.random.default_rng(2).normal(size=400)
BOX = teachers.biased(4, 2, rng=0)
SMOOTH = wl.Network(BOX.W, BOX.a, BOX.b, activation="tanh")
SQUARED = teachers.conditioned(5, 2, activation="squared_relu", rng=0)
Z, T = wl.draw(SQUARED, 4000, rng=1)
FACTORS = np.random.default_rng(0).normal(size=(4, 3))
TENSOR = np.einsum("ai,bi,ci->abc", *3 * [FACTORS])
FOURTH = np.einsum("ai,bi,ci,di->abcd", *4 * [FACTORS])
SLICES = np.einsum("mi,ai,bi->mab", np.random.default_rng(1).normal(size=(6, 3)), FACTORS[:3], FACTORS[:3])
CUBE = activations.polynomial([0, 0, 0, 1])
ROWS, POPULATION = samples.open(X, Y), samples.population(BOX)
SIGNLESS = wl.Network(-BOX.W + 0.05, np.ones(2), -BOX.b)
SIMPLICES = [teachers.simplex(9, activation="absolute", rng=seed) for seed in (0, 1)]
STEEPER = wl.Network(SQUARED.W + 0.01, SQUARED.a, activation="squared_relu")


def gen() -> np.random.Generator:
    return np.random.default_rng(3)


def box_rows() -> samples.Samples:
    return samples.open(*wl.draw(BOX, 400, rng=1))


def in_a_folder(call: Callable[[Path], Any]) -> Any:
    with TemporaryDirectory() as folder:
        return call(Path(folder))


def command(line: str) -> Callable[[], Any]:
    """What a command prints, the seconds left out."""
    from weightlift.cli import app

    def call() -> Any:
        def run(folder: Path) -> Any:
            np.savez(folder / "data.npz", X=X[:80], y=Y[:80])
            TRUTH.save(folder / "net.safetensors")
            result = CliRunner().invoke(app, line.replace("@", f"{folder}/").split(), catch_exceptions=False)
            if "--json" not in line:
                return result.exit_code, re.sub(r"[\d.]+ s in all", "", result.stdout.replace(str(folder), ""))
            return result.exit_code, without_seconds(json.loads(result.stdout))

        return in_a_folder(run)

    return call


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_seconds(v) for name, v in value.items() if "seconds" not in name}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


def onnx_bytes() -> bytes:
    optional("onnx")
    return bytes(export.to_onnx(TRUTH).SerializeToString())


def through_onnx() -> wl.Network:
    optional("onnx")
    return export.from_onnx(export.to_onnx(TRUTH))


def through_torch() -> wl.Network:
    optional("torch")
    return export.from_torch(export.to_torch(TRUTH))


def through_a_state(folder: Path) -> Any:
    export.to_safetensors(TRUTH, folder / "s.safetensors")
    return (folder / "s.safetensors").read_bytes(), export.from_safetensors(folder / "s.safetensors")


def saved(folder: Path) -> Any:
    TRUTH.save(folder / "net.safetensors")
    return (folder / "net.safetensors").read_bytes(), wl.Network.load(folder / "net.safetensors")


def parquet(folder: Path) -> Any:
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    pq.write_table(pa.table({**{f"x{i}": X[:, i] for i in range(5)}, "y": Y}), folder / "rows.parquet", row_group_size=90)
    found = wl.recover(samples.open(folder / "rows.parquet", target="y"), n_units=2, rng=3)
    return found.network, found.certificate  # the source remembers its folder


def dask(rows: int) -> Any:
    da = optional("dask.array")
    return wl.recover(da.from_array(X, chunks=(rows, 5)), da.from_array(Y, chunks=rows), n_units=2, rng=3)


def students(net: wl.Network) -> Students:
    return Students.of(net)


FITS: Calls = {
    "recover": lambda: wl.recover(Z, T, n_units=2, activation="squared_relu", method="tensor", rng=3),
    "recover, search": lambda: wl.recover(X[:60], Y[:60], n_units=2, method="search", rng=3),
    "recover, noise": lambda: wl.recover(X, NOISY, n_units=2, rng=3),
    "recover, biases": lambda: wl.recover(X, Y, n_units=2, bias=True, offset=True, rng=3),
    "recover, auto": lambda: wl.recover(X, Y, n_units="auto", rng=3),
    "recover, outputs": lambda: wl.recover(X, np.stack([Y, 2 * Y], 1), n_units=2, linear="auto", rng=3),
    "recover, tanh": lambda: wl.recover(X, np.tanh(X @ TRUTH.W) @ TRUTH.a, n_units=2, activation="tanh", rng=3),
    "recover, Dask": lambda: dask(150),
    "recover, Parquet": lambda: in_a_folder(parquet),
    "recover, report": lambda: report.page(wl.recover(X[:80], Y[:80], n_units=2, rng=3)).count("<svg"),
    "recover, summary": lambda: str(wl.recover(X, NOISY, n_units=2, rng=3).summary()),
    "certify": lambda: wl.certify(TRUTH, X, Y, rng=3),
    "certify, noise": lambda: wl.certify(wl.recover(X, NOISY, n_units=2).network, X, NOISY, rng=3),
    "extract": lambda: wl.extract(BOX.predict, 4, rng=3).network,
    "extract, smooth": lambda: wl.extract(SMOOTH.predict, 4, activation="tanh", rng=3),
    "OneHiddenLayerRegressor": lambda: wl.OneHiddenLayerRegressor(2, random_state=3).fit(X, Y).predict(X[:9]),
    "OneHiddenLayerClassifier": lambda: classified(),
    "decompose": lambda: wl.decompose(TENSOR, 3, rng=3),
    "decompose, jennrich": lambda: wl.decompose(TENSOR, 3, method="jennrich", rng=3),
    "decompose, power": lambda: wl.decompose(TENSOR, 3, method="power", rng=3),
    "match": lambda: wl.match(TRUTH, teachers.smoothed(TRUTH, 0.1, rng=3)),
    "distance": lambda: wl.distance(TRUTH, teachers.smoothed(TRUTH, 0.1, rng=3)),
    "draw": lambda: wl.draw(TRUTH, 20, noise_std=0.1, rng=3),
    "Network": lambda: (TRUTH.predict(X), TRUTH.canonical(), TRUTH.equivalent(NEAR), in_a_folder(saved)),
}


def classified() -> np.ndarray:
    return wl.OneHiddenLayerClassifier(2, random_state=3).fit(X, 1 / (1 + np.exp(-Y))).predict_proba(X[:9])


COMMANDS: Calls = {
    f"weightlift {line.split()[0]}": command(line)
    for line in (
        "demo --units 2 --inputs 3 --seed 3 --out @figure.png",
        "recover @data.npz --units 2 --seed 3 --json",
        "extract @net.safetensors --inputs 5 --seed 3 --json",
        "predict @net.safetensors @data.npz",
        "show @net.safetensors",
        "diagnose --inputs 5 --units 2",
    )
}

ROOMS: Calls = {
    "activations.custom": lambda: activations.custom("cube", lambda z: z**3, lambda z: 3 * z**2)(X),
    "activations.described": lambda: activations.described(activations.gelu),
    "activations.elu": lambda: activations.elu(0.5)(X),
    "activations.leaky_relu": lambda: activations.leaky_relu(0.1)(X),
    "activations.polynomial": lambda: activations.polynomial([1, 2, 3])(X),
    "activations.scaled": lambda: activations.scaled("tanh", 2.0)(X),
    "activations.get": lambda: activations.get("silu")(X),
    "activations.examples": lambda: [phi(X) for phi in activations.examples()],
    "activations.to_json": lambda: activations.to_json(activations.leaky_relu(0.1)),
    "activations.from_json": lambda: activations.from_json({"name": "tanh"})(X),
    "activations.recognized": lambda: activations.recognized({"name": "tanh"})(X),
    "certificate.certify": lambda: certificate.certify(NEAR, X, Y, rng=3),
    "certificate.cramer_rao": lambda: certificate.cramer_rao(TRUTH, X, 0.1),
    "certificate.inference": lambda: certificate.inference(wl.recover(X, NOISY, n_units=2).network, X, NOISY),
    "certificate.summarize": lambda: str(
        certificate.summarize(TRUTH, wl.certify(TRUTH, X, Y), lambda: certificate.inference(TRUTH, X, NOISY))
    ),
    "decomposition.compose": lambda: decomposition.compose([1.0, 2.0, 3.0], FACTORS, 4),
    "decomposition.decompose": lambda: decomposition.decompose(FOURTH, 3, rng=3),
    "decomposition.fit_implicit": lambda: decomposition.fit_implicit(moments.power_form(POPULATION, 4), 4, 2, 4, rng=3),
    "decomposition.implicit_cp": lambda: decomposition.implicit_cp(FOURTH, rank=3, rng=3),
    "decomposition.jennrich": lambda: decomposition.jennrich(TENSOR[:3, :3, :3], rng=3),
    "decomposition.joint_diagonalize": lambda: decomposition.joint_diagonalize(SLICES, rng=3),
    "decomposition.kcl": lambda: decomposition.kcl(TENSOR[:3, :3, :3], rng=3),
    "decomposition.polish": lambda: decomposition.polish(TENSOR, wl.decompose(TENSOR, 3, refine=False, rng=3)),
    "decomposition.power_iteration": lambda: decomposition.power_iteration(TENSOR, rank=3, rng=3),
    "decomposition.power_method": lambda: decomposition.power_method(TENSOR[:3, :3, :3], rng=3),
    "decomposition.shared_directions": lambda: decomposition.shared_directions(SLICES[0], SLICES[1]),
    "decomposition.subspace_power": lambda: decomposition.subspace_power(FOURTH, rank=3, rng=3),
    "diagnose.data": lambda: diagnose.data(X, Y, n_units=2, rng=3),
    "diagnose.generic_order": lambda: diagnose.generic_order(5, 9),
    "diagnose.network": lambda: diagnose.network(BOX),
    "diagnose.regions": lambda: diagnose.regions(3, "cubic", 9.0),
    "diagnose.shape": lambda: diagnose.shape(20, 5),
    "export.from_onnx": through_onnx,
    "export.to_onnx": onnx_bytes,
    "export.from_safetensors": lambda: in_a_folder(through_a_state),
    "export.to_safetensors": lambda: in_a_folder(through_a_state),
    "export.from_sklearn": lambda: export.from_sklearn(export.to_sklearn(TRUTH)),
    "export.to_sklearn": lambda: export.to_sklearn(TRUTH).predict(X),
    "export.from_torch": through_torch,
    "export.to_torch": through_torch,
    "hermite.contraction": lambda: hermite.contraction(Y, X[:, :2], free=3, gram=np.eye(2)),
    "hermite.normalized": lambda: hermite.normalized(5, Y),
    "hermite.polynomial": lambda: hermite.polynomial(4, Y),
    "hermite.polynomials": lambda: hermite.polynomials(4, Y),
    "hermite.power_sums": lambda: hermite.power_sums(Y, X, 3),
    "hermite.symmetric_product": lambda: hermite.symmetric_product(SLICES[0], SLICES[1]),
    "hermite.tensor": lambda: hermite.tensor(3, X[:5]),
    "identifiability.count_parameters": lambda: identifiability.count_parameters(TRUTH),
    "identifiability.irreducible": lambda: identifiability.irreducible(BOX),
    "identifiability.least_order": lambda: identifiability.least_order(BOX),
    "identifiability.minimal": lambda: identifiability.minimal(BOX),
    "identifiability.parameters_of_shape": lambda: identifiability.parameters_of_shape(5, 2, TRUTH.activation),
    "identifiability.reflect": lambda: identifiability.reflect(BOX, np.array([True, False])),
    "identifiability.rows_needed": lambda: identifiability.rows_needed(5, 2, 1, TRUTH.activation),
    "identifiability.sign_patterns": lambda: identifiability.sign_patterns(TRUTH),
    "identifiability.twin": lambda: identifiability.twin(teachers.biased(2, 4, rng=0), rng=3),
    "initialization.gaussian_init": lambda: initialization.gaussian_init(5, 2, "relu", rng=3),
    "initialization.hermite_init": lambda: initialization.hermite_init(POPULATION, 2, rng=3),
    "initialization.magnitudes_and_signs": lambda: initialization.magnitudes_and_signs(
        samples.open(Z, T), SQUARED.W / np.linalg.norm(SQUARED.W, axis=0), SQUARED.activation
    ),
    "initialization.overcomplete_init": lambda: initialization.overcomplete_init(POPULATION, 2, rng=3),
    "initialization.robust_fit": lambda: initialization.robust_fit(box_rows(), SIGNLESS),
    "initialization.robust_init": lambda: initialization.robust_init(POPULATION, 2, rng=3),
    "initialization.tensor_init": lambda: initialization.tensor_init(samples.open(Z, T), 2, SQUARED.activation, rng=gen()),
    "initialization.with_large_biases": lambda: initialization.with_large_biases(
        box_rows(), refinement.fit_affine(box_rows(), wl.Network(BOX.W[:, :1], b=BOX.b[:1])), 2
    ),
    "learning.learn_1nn": lambda: learning.learn_1nn(Z, T, n_units=2, activation="squared_relu", iterations=20, rng=3),
    "learning.learn_relu": lambda: learning.learn_relu(X, NOISY, n_units=2, initialization=NEAR, iterations=20, rng=3),
    "moments.choose_moments": lambda: moments.choose_moments(SQUARED.activation),
    "moments.hermite_coefficient": lambda: moments.hermite_coefficient(ROWS, 3),
    "moments.hermite_regression": lambda: moments.hermite_regression(ROWS, 2),
    "moments.moment_operator": lambda: moments.moment_operator(ROWS, 2).matmat(np.eye(15)),
    "moments.power_form": lambda: moments.power_form(ROWS, 4)(X[:2].T),
    "moments.control_variate": lambda: moments.control_variate(ROWS, np.eye(5)[:, :2]),
    "moments.quadratic_fit": lambda: moments.quadratic_fit(ROWS, np.eye(5)[:, :2]),
    "moments.remove_linear": lambda: moments.remove_linear(ROWS).fold(samples.Covariance(5)),
    "moments.remove_quadratic": lambda: moments.remove_quadratic(ROWS, np.eye(5)[:, :2]).mean(moments.HermiteMoment(5, 2)),
    "refinement.along_kinks": lambda: refinement.along_kinks(ROWS, NEAR, bias=False),
    "refinement.fit_affine": lambda: refinement.fit_affine(box_rows(), SIGNLESS),
    "refinement.along_chords": lambda: refinement.along_chords(
        samples.open(X, NOISY), TRUTH, free="Wa", tol=1e-6, iterations=5
    ),
    "refinement.gauss_newton": lambda: refinement.gauss_newton(samples.open(X, NOISY), TRUTH, free="Wa", iterations=5),
    "refinement.gradient_descent": lambda: refinement.gradient_descent(ROWS, NEAR, iterations=9, parts=3, rng=3),
    "refinement.nearest_weight_distance": lambda: refinement.nearest_weight_distance(NEAR.W, TRUTH.W),
    "refinement.project_outputs": lambda: refinement.project_outputs(ROWS, students(NEAR), offset=True),
    "refinement.refine_up_to_signs": lambda: refinement.refine_up_to_signs(
        box_rows(), refinement.fit_affine(box_rows(), SIGNLESS), iterations=5
    ),
    "refinement.sgd": lambda: refinement.sgd(ROWS, NEAR, step=1e-3),
    "refinement.stable_step": lambda: refinement.stable_step(NEAR, X, Y),
    "refinement.step_size": lambda: refinement.step_size(ROWS, NEAR, "curvature"),
    "refinement.variable_projection": lambda: refinement.variable_projection(
        samples.open(X, np.stack([Y, NOISY], 1)), teachers.several(NEAR, 2, rng=3), refinement.Model(bias=True), iterations=5
    ),
    "report.page": lambda: len(report.page(wl.recover(X[:80], Y[:80], n_units=2, rng=3))) > 1000,
    "report.write": lambda: in_a_folder(lambda f: report.write(wl.recover(X[:80], Y[:80], n_units=2), f / "r.html")),
    "samples.open": lambda: (ROWS.fold(samples.Covariance(5)), ROWS.split(0.3, 0.7, seed=3)[0].persist()),
    "samples.population": lambda: samples.population(BOX).mean(moments.HermiteMoment(4, 2)),
    "teachers.biased": lambda: teachers.biased(5, 3, rng=3),
    "teachers.centered_gaussian": lambda: teachers.centered_gaussian(5, 3, rng=3),
    "teachers.conditioned": lambda: teachers.conditioned(5, 3, rng=3),
    "teachers.draw": lambda: teachers.draw(TRUTH, 20, mean=np.ones(5), covariance=np.eye(5) + 0.1, rng=3),
    "teachers.haar": lambda: teachers.haar(5, 3, rng=3),
    "teachers.several": lambda: teachers.several(TRUTH, 3, linear=True, rng=3),
    "teachers.simplex": lambda: teachers.simplex(5, rng=3),
    "teachers.smoothed": lambda: teachers.smoothed(TRUTH, 0.1, rng=3),
    "theory.assumptions": lambda: theory.assumptions(TRUTH),
    "theory.check_properties": lambda: theory.check_properties("relu"),
    "theory.conditioning": lambda: theory.conditioning(TRUTH),
    "theory.contraction": lambda: theory.contraction(SQUARED, STEEPER, rows=500, rng=3),
    "theory.decompose_by": lambda: theory.decompose_by(
        lambda A, y: wl.recover(A, y, n_units=2, activation=CUBE, rng=3).network,
        decomposition.compose([1.0, 1.0], np.eye(4)[:, :2], 3), activation=CUBE, n=60, rng=3,
    ),
    "theory.empirical_spectrum": lambda: theory.empirical_spectrum(ROWS, NEAR),
    "theory.gradient_deviation": lambda: theory.gradient_deviation(TRUTH, ROWS, points=2, rng=3),
    "theory.gradient_parts": lambda: theory.gradient_parts(ROWS, NEAR, TRUTH),
    "theory.hermite_objective": lambda: theory.hermite_objective(NEAR, TRUTH, 3),
    "theory.hessian_bounds": lambda: theory.hessian_bounds(TRUTH, ROWS),
    "theory.hessian_operator": lambda: theory.hessian_operator(ROWS, NEAR).matmat(np.eye(10)),
    "theory.local_constants": lambda: theory.local_constants(TRUTH, points=2, rng=3),
    "theory.noisy_descent": lambda: theory.noisy_descent(TRUTH, ROWS, NEAR, noise_norm=0.1, iterations=9),
    "theory.noisy_forms": lambda: theory.noisy_forms(TRUTH, noise_norm=0.1),
    "theory.polynomial_coefficients": lambda: theory.polynomial_coefficients(CUBE),
    "theory.population_gradient": lambda: theory.population_gradient(NEAR, TRUTH),
    "theory.population_hessian": lambda: theory.population_hessian(NEAR, TRUTH),
    "theory.population_risk": lambda: theory.population_risk(NEAR, TRUTH),
    "theory.population_spectrum": lambda: theory.population_spectrum(NEAR, TRUTH),
    "theory.positive_definite_radius": lambda: theory.positive_definite_radius(TRUTH, directions=1, rng=3),
    "theory.power_sums": lambda: theory.power_sums(TENSOR),
    "theory.properties_table": lambda: theory.properties_table(("relu", "tanh")),
    "theory.random_weights": lambda: theory.random_weights(*SIMPLICES),
    "theory.separated_bound": lambda: theory.separated_bound(*SIMPLICES),
    "theory.trivial_predictors": lambda: theory.trivial_predictors(TRUTH),
}

CALLS: Calls = {**FITS, **COMMANDS, **ROOMS}
NO_CALL = {"errors", "plots"}  # classes of errors; drawings, whose numbers are those of results (tests/test_plots.py)


def public() -> set[str]:
    """Every public function of the package and of its rooms, and the public classes at the top that compute."""
    found = {name for name in wl._HOMES if inspect.isfunction(getattr(wl, name))}
    found |= {"Network", "OneHiddenLayerRegressor", "OneHiddenLayerClassifier"}
    for room in sorted(wl._MODULES - NO_CALL):
        module = importlib.import_module(f"weightlift.{room}")
        names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if n[0] != "_" and _own(v, module)]
        found |= {f"{room}.{name}" for name in names if inspect.isfunction(getattr(module, name))}
    return found


def _own(value: Any, module: Any) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__
