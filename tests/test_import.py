"""`import weightlift` is light: what is heavy loads when it is used."""

import subprocess
import sys

import pytest

HEAVY = ["scipy", "sklearn", "matplotlib", "torch", "numba", "typer", "rich", "dask", "pyarrow", "safetensors", "onnx"]


def loaded(code: str) -> set[str]:
    script = f"import sys; {code}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_import_loads_nothing_heavy():
    assert not loaded("import weightlift") & set(HEAVY)


@pytest.mark.parametrize("name", ["sklearn", "matplotlib", "torch", "numba", "typer", "scipy.optimize"])
def test_a_network_predicts_without_it(name):
    assert name not in loaded("import weightlift as wl; wl.Network([[1.0]]).predict([[2.0]])")


def test_public_names_resolve():
    import weightlift as wl

    for name in wl.__all__:
        assert getattr(wl, name) is not None
    assert set(wl.__all__) <= set(dir(wl))
    with pytest.raises(AttributeError, match="nonsense"):
        wl.nonsense  # noqa: B018


def test_functions_are_not_hidden_by_their_modules():
    import weightlift.geometry
    import weightlift.matching
    import weightlift.recovery

    assert callable(weightlift.distance)
    assert callable(weightlift.recover)
    assert callable(weightlift.match)
