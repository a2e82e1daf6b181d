"""
What is inside this classifier?
===============================

A classifier of digits is trained, and then asked: :py:obj:`~weightlift.extract` sees its logits and nothing else. The units
that it finds are those that were trained, image by image.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import weightlift as wl

# %%
# The black box
# -------------
# 64 pixels, 32 ReLU units, ten digits: 2,410 parameters.

X, y = load_digits(return_X_y=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    classifier = MLPClassifier(hidden_layer_sizes=(32,), max_iter=80, random_state=0).fit(X / 16, y)
print(f"right on {classifier.score(X / 16, y):.1%} of the images")

# %%
# The extraction
# --------------
# Every answer is ten numbers, so that far fewer queries than parameters suffice. Neither the width nor the weights are known.

found = wl.extract(classifier, n_inputs=64, center=0.5, scale=0.5)
print(found)

# %%
# Old and new units, side by side
# -------------------------------
# The first row shows the weights that were trained, the second those that were found, each turned to length one.

old = classifier.coefs_[0] / np.linalg.norm(classifier.coefs_[0], axis=0)
new = found.network.W / np.linalg.norm(found.network.W, axis=0)
i, j = linear_sum_assignment(-(old.T @ new))
shown = 8
figure, axes = plt.subplots(2, shown, figsize=(shown, 2.3))
for column in range(shown):
    for row, image in enumerate((old[:, i[column]], new[:, j[column]])):
        axes[row, column].imshow(image.reshape(8, 8), cmap="RdBu", vmin=-0.4, vmax=0.4)
        axes[row, column].set_axis_off()
figure.suptitle("trained (above) and extracted (below)")
print(f"largest distance of two units {np.linalg.norm(old[:, i] - new[:, j], axis=0).max():.1e}")
