"""Pictures of a fitted estimator or model, with matplotlib.

Every function draws into `ax`, or into a new figure, and returns the axes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _checks, _metric

try:
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.patches import Ellipse
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise ImportError(
        "remblai.plot needs matplotlib: pip install matplotlib, or pip install 'remblai[plot]'"
    ) from error


def _model(fitted: Any) -> Any:
    if isinstance(fitted, BaseEstimator):
        check_is_fitted(fitted, "model_")
    return getattr(fitted, "model_", fitted)


def _axes(ax: Any) -> Any:
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _names(fitted: Any, count: int) -> Any:
    """Names of the features, where there are some and few enough to read."""
    names = getattr(fitted, "feature_names_in_", None)
    return names if names is not None and count <= 30 else None


def _whole(*axes: Any) -> None:
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True))


def convergence(fitted: Any, ax: Any = None) -> Any:
    """How far the objective of each step is above the smallest, and the change of distances. The step
    with the smallest objective has no place on the logarithmic axis."""
    ax = _axes(ax)
    history = json.loads(_model(fitted).report())["history"]
    steps = [step["step"] for step in history]
    objective = np.array([step["objective"] for step in history], dtype=float)
    if np.isfinite(objective).any():
        least = np.nanmin(objective)
        above = (objective - least) / max(abs(least), np.finfo(float).tiny)
        above[above == 0] = np.nan
        ax.semilogy(steps, above, "o-", label="objective above the smallest")
    change = [step["distance_change"] or np.nan for step in history]
    ax.semilogy(steps, change, "s--", label="change of squared distances")
    ax.set(xlabel="step", ylabel="relative", title="convergence")
    _whole(ax.xaxis)
    ax.legend()
    return ax


def plan(fitted: Any, ax: Any = None, ys: ArrayLike | None = None, yt: ArrayLike | None = None) -> Any:
    """The transport plan as a picture; rows and columns in the order of labels, where these are given."""
    ax = _axes(ax)
    coupling = _model(fitted).plan()
    rows, columns = coupling.shape
    if ys is not None:
        coupling = coupling[_in_order(ys, rows, "ys", ax.axhline, ax.yaxis)]
    if yt is not None:
        coupling = coupling[:, _in_order(yt, columns, "yt", ax.axvline, ax.xaxis)]
    # The few largest entries of a sharp plan would leave everything else black.
    picture = ax.imshow(
        coupling, aspect="auto", interpolation="nearest", vmax=np.quantile(coupling, 0.999) or None
    )
    ax.set(xlabel="target point", ylabel="source point", title="transport plan")
    if ys is not None:
        ax.set_ylabel("source class")
    if yt is not None:
        ax.set_xlabel("target class")
    ax.figure.colorbar(picture, ax=ax, label="mass")
    return ax


def _in_order(labels: ArrayLike, count: int, name: str, line: Any, axis: Any) -> Any:
    """The order of the labels; lines between classes, and their names, on the axis."""
    classes, codes = np.unique(_checks.of_points(labels, count, name), return_inverse=True)
    ends = np.cumsum(np.bincount(codes, minlength=len(classes)))
    starts = np.concatenate([[0], ends[:-1]])
    if len(classes) <= 30:
        for end in ends[:-1]:
            line(end - 0.5, color="white", linewidth=0.5)
        axis.set_ticks((starts + ends - 1) / 2, [str(name) for name in classes])
    return np.argsort(codes, kind="stable")


def metric(fitted: Any, ax: Any = None) -> Any:
    """The metric as a picture, positive and negative entries in different colours."""
    ax = _axes(ax)
    A = _metric.matrix(_model(fitted))
    most = np.abs(A).max()
    picture = ax.imshow(A, cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    ax.set(xlabel="feature", ylabel="feature", title="metric")
    names = _names(fitted, len(A))
    if names is None:
        _whole(ax.xaxis, ax.yaxis)
    else:
        ax.set_xticks(range(len(A)), names, rotation=90)
        ax.set_yticks(range(len(A)), names)
    ax.figure.colorbar(picture, ax=ax)
    return ax


def spectrum(fitted: Any, ax: Any = None) -> Any:
    """Eigenvalues of the metric, largest first."""
    ax = _axes(ax)
    values = np.linalg.eigvalsh(_metric.matrix(_model(fitted)))[::-1]
    ax.semilogy(np.arange(1, len(values) + 1), values, ".-")
    ax.set(xlabel="rank", ylabel="eigenvalue", title="spectrum of the metric")
    _whole(ax.xaxis)
    return ax


def directions(fitted: Any, ax: Any = None, count: int = 3) -> Any:
    """The directions in which distance counts most: eigenvectors of the largest eigenvalues."""
    ax = _axes(ax)
    values, vectors = np.linalg.eigh(_metric.matrix(_model(fitted)))
    d = len(values)
    shown = min(count, d)
    for k in range(shown):
        vector = vectors[:, -1 - k]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        label = f"eigenvalue {values[-1 - k]:.3g}"
        if d <= 30:
            ax.bar(np.arange(d) + 0.8 * ((k + 0.5) / shown - 0.5), vector, 0.8 / shown, label=label)
        else:
            ax.plot(vector, ".", markersize=3, label=label)
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set(xlabel="feature", ylabel="weight", title="directions that count most")
    names = _names(fitted, d)
    if names is None:
        _whole(ax.xaxis)
    else:
        ax.set_xticks(range(d), names, rotation=90)
    ax.legend()
    return ax


def ellipse(
    fitted: Any, ax: Any = None, centre: tuple[float, float] = (0.0, 0.0), radius: float = 1.0
) -> Any:
    """The points at this distance from the centre; for two features."""
    ax = _axes(ax)
    A = _metric.matrix(_model(fitted))
    if A.shape != (2, 2):
        raise ValueError(f"ellipse: the metric has {len(A)} features; it can be drawn for 2")
    values, vectors = np.linalg.eigh(A)
    width, height = 2 * radius / np.sqrt(values)
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    outline = Ellipse(centre, width, height, angle=angle, fill=False, linewidth=2)
    outline.set_label(f"distance {radius:g}")
    ax.add_patch(outline)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.legend()
    return ax


def embedding(fitted: Any, ax: Any = None, ys: ArrayLike | None = None) -> Any:
    """Source, mapped source and target points: their two coordinates, or, of more, the two directions
    in which they spread most under the learned metric. `ys` colours the source by class."""
    ax = _axes(ax)
    model = _model(fitted)
    source, target = model.source_points, model.target_points
    sets = [source, _metric.inside(model, model.map()), target]
    names: Any = _names(fitted, 2) if source.shape[1] == 2 else None
    if source.shape[1] != 2:
        L = _metric.components(model)
        scale = _metric.columns(model, "target")[1]
        if scale is not None:
            L = L * scale  # these points are scaled already
        together = np.vstack([source, target]) @ L.T
        centre = together.mean(axis=0)
        axes = np.linalg.svd(together - centre, full_matrices=False)[2][:2]
        sets = [(points @ L.T - centre) @ axes.T for points in sets]
        names = ("first direction of the metric", "second direction of the metric")
    if names is None:
        names = ("feature 0", "feature 1")
    colours: Any = "tab:blue"
    marks = [("o", "lightgrey", "target"), ("x", "dimgrey", "source"), ("o", "dimgrey", "mapped source")]
    key = [Line2D([], [], marker=m, color=c, linestyle="", label=text) for m, c, text in marks]
    if ys is not None:
        classes, codes = np.unique(_checks.of_points(ys, len(source), "ys"), return_inverse=True)
        palette = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20")
        colours = palette(codes % palette.N)
        for code, name in enumerate(classes[:20]):
            colour = palette(code % palette.N)
            key.append(Line2D([], [], marker="s", color=colour, linestyle="", label=str(name)))
    ax.scatter(*_two(sets[2]), color="lightgrey", s=15)
    ax.scatter(*_two(sets[0]), marker="x", s=20, alpha=0.6, c=colours)
    ax.scatter(*_two(sets[1]), marker="o", s=20, c=colours if ys is not None else "tab:red")
    if ys is None:
        key[1].set_color("tab:blue")
        key[2].set_color("tab:red")
    ax.set(xlabel=names[0], ylabel=names[1], title="points")
    ax.legend(handles=key)
    return ax


def _two(points: Any) -> Any:
    return points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
