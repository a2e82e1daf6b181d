"""The units' weights as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.errors import ShapeError
from weightlift.network import Network
from weightlift.plots import _axes, feature_names
from weightlift.plots.limits import LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes



class DirectionsDisplay:
    """Units from top to bottom, inputs from left to right: weights in normal form, for homogeneous φ of length one.

    >>> display = DirectionsDisplay.from_network(Network([[3.0, 0.0], [4.0, -1.0]], a=[1.0, -1.0]))
    >>> display.image_.get_array().shape
    (2, 2)
    """

    ax_: Axes
    figure_: Any
    image_: Any
    colorbar_: Any

    def __init__(self, W: np.ndarray, a: np.ndarray, *, feature_names: Sequence[str] | None = None) -> None:
        if feature_names is not None and len(feature_names) != len(W):
            raise ShapeError(f"feature_names must have one name an input: {len(W)}, not {len(feature_names)}.")
        self.W, self.a, self.feature_names = W, a, feature_names

    @classmethod
    def from_network(
        cls, network: Network, *, feature_names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> DirectionsDisplay:
        """Draw a network's units, the largest |a| first."""
        normal = network.canonical()
        order = np.argsort(-np.abs(normal.a), kind="stable")
        return cls(normal.W[:, order], normal.a[order], feature_names=feature_names).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> DirectionsDisplay:
        """The same for a fitted estimator, under the names of its features."""
        return cls.from_network(estimator.network_, feature_names=feature_names(estimator), ax=ax)

    def plot(self, *, ax: Axes | None = None, cmap: str = "RdBu_r") -> DirectionsDisplay:
        """Draw on `ax`, or on a new figure."""
        d, k = self.W.shape
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        size = float(np.abs(self.W).max()) or 1.0
        self.image_ = ax.imshow(self.W.T, cmap=cmap, vmin=-size, vmax=size, aspect="auto")
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label="weight")
        ax.set_yticks(range(k), [f"unit {i}, a = {self.a[i]:.2g}".replace("-", "−") for i in range(k)])
        ax.set_xlabel("input")
        if self.feature_names is not None and d <= LIMITS.names:
            ax.set_xticks(range(d), self.feature_names, rotation=90 if max(map(len, self.feature_names)) > 3 else 0)
        if d * k <= LIMITS.numbers:
            for i in range(k):
                for j in range(d):
                    dark = abs(self.W[j, i]) > 0.6 * size
                    text = f"{self.W[j, i]:.2f}".replace("-", "−")
                    ax.text(j, i, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
        return self
