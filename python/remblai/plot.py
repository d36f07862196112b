"""Pictures of a fitted estimator or model, with matplotlib.

Every function draws into `ax`, or into a new figure, and returns the axes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _metric

try:
    import matplotlib.pyplot as plt
    from matplotlib.patches import Ellipse
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise ImportError(
        "remblai.plot needs matplotlib: pip install matplotlib, or pip install 'remblai[plot]'"
    ) from error


def _model(fitted: Any) -> Any:
    return getattr(fitted, "model_", fitted)


def _axes(ax: Any) -> Any:
    return plt.subplots()[1] if ax is None else ax


def convergence(fitted: Any, ax: Any = None) -> Any:
    """How far the objective of each step is above the smallest, and the change of distances."""
    ax = _axes(ax)
    history = json.loads(_model(fitted).report())["history"]
    steps = [step["step"] for step in history]
    objective = np.array([step["objective"] for step in history], dtype=float)
    least = np.nanmin(objective)
    above = (objective - least) / max(abs(least), np.finfo(float).tiny)
    above[above == 0] = np.nan  # nothing to show on a logarithmic axis
    ax.semilogy(steps, above, "o-", label="objective above the smallest")
    change = [step["distance_change"] or np.nan for step in history]
    ax.semilogy(steps, change, "s--", label="change of squared distances")
    ax.set(xlabel="step", ylabel="relative")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return ax


def plan(fitted: Any, ax: Any = None, ys: ArrayLike | None = None, yt: ArrayLike | None = None) -> Any:
    """The transport plan as a picture; rows and columns in the order of labels, where these are given."""
    ax = _axes(ax)
    coupling = _model(fitted).plan()
    if ys is not None:
        coupling = coupling[np.argsort(np.asarray(ys), kind="stable")]
    if yt is not None:
        coupling = coupling[:, np.argsort(np.asarray(yt), kind="stable")]
    # The few largest entries of a sharp plan would leave everything else black.
    picture = ax.imshow(
        coupling, aspect="auto", interpolation="nearest", vmax=np.quantile(coupling, 0.999) or None
    )
    ax.set(xlabel="target point", ylabel="source point")
    ax.figure.colorbar(picture, ax=ax, label="mass")
    return ax


def metric(fitted: Any, ax: Any = None) -> Any:
    """The metric as a picture, positive and negative entries in different colours."""
    ax = _axes(ax)
    A = _metric.matrix(_model(fitted))
    most = np.abs(A).max()
    picture = ax.imshow(A, cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    ax.set(xlabel="feature", ylabel="feature")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.figure.colorbar(picture, ax=ax)
    return ax


def spectrum(fitted: Any, ax: Any = None) -> Any:
    """Eigenvalues of the metric, largest first."""
    ax = _axes(ax)
    values = np.linalg.eigvalsh(_metric.matrix(_model(fitted)))[::-1]
    ax.semilogy(np.arange(1, len(values) + 1), values, ".-")
    ax.set(xlabel="rank", ylabel="eigenvalue of the metric")
    return ax


def directions(fitted: Any, ax: Any = None, count: int = 3) -> Any:
    """The directions in which distance counts most: eigenvectors of the largest eigenvalues."""
    ax = _axes(ax)
    values, vectors = np.linalg.eigh(_metric.matrix(_model(fitted)))
    for k in range(1, min(count, len(values)) + 1):
        vector = vectors[:, -k]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        ax.plot(vector, ".-", label=f"eigenvalue {values[-k]:.3g}")
    ax.set(xlabel="feature", ylabel="weight")
    ax.legend()
    return ax


def ellipse(fitted: Any, ax: Any = None, centre: tuple[float, float] = (0.0, 0.0), radius: float = 1.0) -> Any:
    """The points at this distance from the centre; for two features."""
    ax = _axes(ax)
    A = _metric.matrix(_model(fitted))
    if A.shape != (2, 2):
        raise ValueError(f"ellipse: the metric has {len(A)} features; it can be drawn for 2")
    values, vectors = np.linalg.eigh(A)
    width, height = 2 * radius / np.sqrt(values)
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    ax.add_patch(Ellipse(centre, width, height, angle=angle, fill=False, linewidth=2))
    ax.autoscale_view()
    ax.set_aspect("equal")
    return ax


def embedding(fitted: Any, ax: Any = None, ys: ArrayLike | None = None) -> Any:
    """Source, mapped source and target points: their two coordinates, or, of more, the two directions
    in which they spread most under the learned metric."""
    ax = _axes(ax)
    model = _model(fitted)
    source, target = model.source_points, model.target_points
    mapped = model.map()
    if model.options["preprocess"] == "zscore":
        mapped = _metric.preprocessed(model, mapped)
    sets = [source, mapped, target]
    if source.shape[1] != 2:
        sets = [_metric.embed(model, points) for points in sets]
        together = np.vstack([sets[0], sets[2]])
        centre = together.mean(axis=0)
        axes = np.linalg.svd(together - centre, full_matrices=False)[2][:2]
        sets = [(points - centre) @ axes.T for points in sets]
    colours = {} if ys is None else {"c": np.unique(np.asarray(ys), return_inverse=True)[1]}
    plain = {} if colours else {"color": "tab:blue"}
    ax.scatter(*_two(sets[2]), color="lightgrey", s=15, label="target")
    ax.scatter(*_two(sets[0]), marker="x", s=20, alpha=0.5, label="source", **colours, **plain)
    moved = {} if colours else {"color": "tab:red"}
    ax.scatter(*_two(sets[1]), marker="o", s=20, label="mapped source", **colours, **moved)
    ax.legend()
    return ax


def _two(points: Any) -> Any:
    return points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
