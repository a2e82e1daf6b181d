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

    A linear part stands below the units, one row an output.

    >>> display = DirectionsDisplay.from_network(Network([[3.0, 0.0], [4.0, -1.0]], a=[1.0, -1.0]))
    >>> display.image_.get_array().shape
    (2, 2)
    """

    ax_: Axes
    figure_: Any
    image_: Any
    colorbar_: Any

    def __init__(
        self, W: np.ndarray, a: np.ndarray, *, V: np.ndarray | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        if feature_names is not None and len(feature_names) != len(W):
            raise ShapeError(f"feature_names must have one name an input: {len(W)}, not {len(feature_names)}.")
        self.W, self.a, self.V, self.feature_names = W, a, V, feature_names

    @classmethod
    def from_network(
        cls, network: Network, *, feature_names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> DirectionsDisplay:
        """Draw a network's units, in normal form and under their numbers.

        feature_names  names of the inputs; their numbers where None
        ax             axes to draw on; a new figure's where None
        """
        normal = network.normalized()
        return cls(normal.W, normal.a, V=normal.V, feature_names=feature_names).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> DirectionsDisplay:
        """The same for a fitted estimator, under the names of its features.

        ax  axes to draw on; a new figure's where None
        """
        return cls.from_network(estimator.network_, feature_names=feature_names(estimator), ax=ax)

    def plot(self, *, ax: Axes | None = None, cmap: str = "RdBu_r") -> DirectionsDisplay:
        """Draw on `ax`, or on a new figure.

        cmap  a colour map of Matplotlib with white in its middle
        """
        linear = np.zeros((len(self.W), 0)) if self.V is None else self.V.reshape(len(self.W), -1)
        W = np.concatenate([self.W, linear], axis=1)
        d, rows = W.shape
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        size = float(np.abs(W).max(initial=0.0)) or 1.0
        self.image_ = ax.imshow(W.T, cmap=cmap, vmin=-size, vmax=size, aspect="auto")
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label="weight")
        ax.set_yticks(range(rows), self._labels())
        ax.set_xlabel("input")
        if self.feature_names is not None and d <= LIMITS.names:
            ax.set_xticks(range(d), self.feature_names, rotation=90 if max(map(len, self.feature_names)) > 3 else 0)
        if d * rows <= LIMITS.numbers:
            for i in range(rows):
                for j in range(d):
                    dark = abs(W[j, i]) > 0.6 * size
                    text = f"{W[j, i]:.2f}".replace("-", "−")
                    ax.text(j, i, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
        return self

    def _labels(self) -> list[str]:
        several = self.a.ndim == 2
        sizes = np.linalg.norm(self.a, axis=1) if several else self.a
        labels = [f"unit {i}, {'‖a‖' if several else 'a'} = {size:.2g}".replace("-", "−") for i, size in enumerate(sizes)]
        if self.V is None:
            return labels
        return labels + ([f"linear part, output {o}" for o in range(self.V.shape[1])] if several else ["linear part"])
