"""Modules of PyTorch that compute something else than their layers say are refused, whatever does it."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift import export
from weightlift.errors import ArgumentError


@pytest.fixture
def module(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()


def test_a_hook_is_not_left_out(module):
    handle = module[0].register_forward_hook(lambda layer, inputs, output: 2 * output)
    with pytest.raises(ArgumentError, match="another function than its layers say"):
        export.from_torch(module)
    handle.remove()
    assert export.from_torch(module).n_units == 4


def test_a_forward_of_its_own_is_not_left_out(module, torch):
    class Squared(torch.nn.Sequential):
        def forward(self, x):
            return super().forward(x) ** 2

    class Doubled(torch.nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    for other in (Squared(*module), torch.nn.Sequential(module[0], module[1], Doubled(4, 2).double())):
        with pytest.raises(ArgumentError, match="another function"):
            export.from_torch(other)


def test_reparametrised_weights_are_those_that_compute(module, torch):
    torch.nn.utils.parametrizations.weight_norm(module[0])
    X = np.random.default_rng(1).normal(size=(5, 3))
    with torch.no_grad():
        np.testing.assert_allclose(export.from_torch(module).predict(X), module(torch.as_tensor(X)).numpy(), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_coarse_parameters_are_taken_as_they_are(module, torch, dtype):
    coarse = module.to(getattr(torch, dtype))
    np.testing.assert_array_equal(export.from_torch(coarse).W, coarse[0].weight.detach().double().numpy().T)


def test_parameters_without_values_are_refused(torch):
    nn = torch.nn
    for layers in ((nn.Linear(3, 2, device="meta"), nn.Linear(2, 1, device="meta")), (nn.LazyLinear(2), nn.LazyLinear(1))):
        with pytest.raises(ArgumentError, match="parameters without values"):
            export.from_torch(nn.Sequential(layers[0], nn.ReLU(), layers[1]))


def test_parameters_that_float32_cannot_hold_are_refused(torch):
    with pytest.raises(ArgumentError, match="float32 ends at"):
        export.to_torch(wl.Network([[1e60]]), dtype="float32")
