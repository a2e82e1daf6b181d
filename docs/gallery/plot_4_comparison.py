"""
Comparing with MLPRegressor and PyTorch
=======================================

The same rows, the same width: how often are the units found?

Four planted networks with 10 inputs and 8 ReLU units with biases, 260 noiseless rows each, three a parameter. A network counts
as recovered when each of its units is within 1 %. The others get ten restarts and keep the one with the least training error.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

import weightlift as wl

PROBLEMS, RESTARTS = 4, 10


def problem(seed):
    truth = wl.teachers.biased(10, 8, rng=seed)
    return truth, *wl.draw(truth, 260, rng=100 + seed), *wl.draw(truth, 2000, rng=200 + seed)


# %%
# Weightlift
# ----------

table = {}


def judge(name, fit):
    """Fit every problem; note units recovered, test R² and seconds."""
    right, scores, seconds = 0, [], []
    for seed in range(PROBLEMS):
        truth, X, y, X_test, y_test = problem(seed)
        began = time.process_time()
        network = fit(X, y)
        seconds.append(time.process_time() - began)
        residual = y_test - network.predict(X_test)
        scores.append(1 - np.sum(residual**2) / np.sum((y_test - y_test.mean()) ** 2))
        right += wl.match(network, truth).max_error < 0.01
    table[name] = (right, np.median(scores), np.mean(seconds))


claims = []


def recovered(X, y):
    found = wl.recover(X, y, n_units=8, activation="relu", bias=True, offset=True)
    claims.append(found.certificate.status.name)
    return found.network


judge("weightlift.recover", recovered)
print("certificates:", {name: claims.count(name) for name in sorted(set(claims))})

# %%
# MLPRegressor
# ------------
# :py:obj:`~weightlift.export.from_sklearn` reads a fitted model's weights, so that its units can be compared. Its penalty is
# switched off (``alpha=0``): with one, even the best fit is not the network.


def mlp(solver, **options):
    def fit(X, y):
        best = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for restart in range(RESTARTS):
                model = MLPRegressor(hidden_layer_sizes=(8,), solver=solver, alpha=0.0, random_state=restart, **options)
                model.fit(X, y)
                best = model if best is None or model.score(X, y) > best.score(X, y) else best
        return wl.export.from_sklearn(best)

    return fit


judge("MLPRegressor, L-BFGS", mlp("lbfgs", max_iter=1000, tol=1e-9))
judge("MLPRegressor, Adam", mlp("adam", max_iter=200, learning_rate_init=0.02, n_iter_no_change=200))

# %%
# PyTorch
# -------
# Adam on the full batch, all restarts; left out where PyTorch is not installed.

try:
    import torch
except ImportError:
    torch = None


def pytorch(X, y, steps=200):
    torch.manual_seed(0)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)[:, None]
    best, least = None, np.inf
    for _ in range(RESTARTS):
        model = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).double()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        if loss.item() < least:
            best, least = model, loss.item()
    return wl.export.from_torch(best)


if torch is not None:
    torch.set_num_threads(1)
    judge("PyTorch, Adam", pytorch)

# %%
# The table
# ---------
# Seconds are CPU time for one problem, restarts included.

print(f"{'':24}{'recovered':>11}{'test R²':>12}{'seconds':>10}")
for name, (right, score, seconds) in table.items():
    print(f"{name:24}{right:>5} of {PROBLEMS}{score:12.6f}{seconds:10.2f}")

# %%
# L-BFGS with restarts finds some of these networks, and more of them the fewer units they have; it does not tell which. A test
# R² of 0.98 and wrong units go together well: the units of a fit are not to be read unless something says that they may be.
# Longer training and more restarts improve the other fits.

# %%
names = list(table)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
left.barh(names, [right_units for right_units, _, _ in table.values()])
left.set_xlabel(f"networks recovered, of {PROBLEMS}")
left.invert_yaxis()
right.barh(names, [seconds for _, _, seconds in table.values()])
_ = right.set_xlabel("CPU seconds a problem")
