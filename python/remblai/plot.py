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

from . import _checks, _core, _metric
from ._path import LambdaPath

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Ellipse
    from matplotlib.ticker import MaxNLocator, NullLocator
except ImportError as error:
    raise ImportError(
        "remblai.plot needs matplotlib: pip install matplotlib, or pip install 'remblai[plot]'"
    ) from error


def _model(fitted: Any) -> Any:
    if isinstance(fitted, BaseEstimator):
        check_is_fitted(fitted)
    model = getattr(fitted, "model_", fitted)
    if not isinstance(model, _core.Model):
        raise TypeError(f"{type(fitted).__name__}: give a fitted estimator of remblai, or a model")
    return model


def _axes(ax: Any) -> Any:
    if ax is None:
        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax: {type(ax).__name__}; give axes of matplotlib, as plt.subplots()[1], or none"
        )
    return ax


def _names(fitted: Any, count: int) -> Any:
    """Names of the features, where there are some and few enough to read."""
    names = getattr(fitted, "feature_names_in_", None)
    return names if names is not None and count <= 30 else None


def _whole(*axes: Any) -> None:
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True))


def convergence(fitted: Any, ax: Any = None) -> Any:
    """How far the objective of each step is above the smallest, and the change of distances. The
    step with the smallest objective has no place on the logarithmic axis."""
    model, ax = _model(fitted), _axes(ax)
    history = json.loads(model.report())["history"]
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


def plan(
    fitted: Any, ax: Any = None, ys: ArrayLike | None = None, yt: ArrayLike | None = None
) -> Any:
    """The transport plan as a picture; rows and columns in the order of labels, where these are
    given."""
    coupling, ax = _model(fitted).plan(), _axes(ax)
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


def metric(
    fitted: Any,
    ax: Any = None,
    order: str = "auto",
    shape: tuple[int, int] | None = None,
    most: int = 60,
) -> Any:
    """The metric as a picture, positive and negative entries in different colours.

    `order` is that of the features: "given", "size" (by the entry on the diagonal, largest first),
    or "cluster" (features that the metric ties together stand together). Of many features they show
    the `most`: "size" those with the largest entries on the diagonal, "cluster" those with the
    strongest ties. "cluster" divides each feature by its own size, so that ties are seen, and both
    leave out features that are the same in all points, of which a metric knows nothing. "auto" is
    "given" up to 30 features, then "cluster".

    `shape` is for features that are pixels: (height, width). The picture then has the entry of each
    on the diagonal in its place, and grey where a pixel is the same in all points."""
    ax = _axes(ax)
    model = _model(fitted)
    A = _metric.matrix(model)
    d = len(A)
    points = np.vstack([model.source_points, model.target_points])
    varied = np.ptp(points, axis=0) > 0
    if shape is not None:
        return _pixels(np.where(varied, np.diag(A), np.nan), shape, ax)
    if order not in ("auto", "given", "size", "cluster"):
        raise ValueError(f"order: '{order}' is not one of auto, given, size, cluster")
    if most < 2:
        raise ValueError(f"most: {most} is less than 2")
    if order == "auto":
        order = "given" if d <= 30 else "cluster"
    chosen, title = np.arange(d), "metric"
    weight = np.diag(A)
    if order == "cluster":
        scale = np.sqrt(weight)
        A = A / np.outer(scale, scale)  # between -1 and 1, since A is positive definite
        weight = (A**2).sum(axis=1)
    if order != "given":
        some = np.flatnonzero(varied) if varied.any() else chosen
        chosen = some[np.argsort(-weight[some], kind="stable")[:most]]
        title = "metric" if len(chosen) == d else f"metric, {len(chosen)} of {d} features"
    if order == "cluster":
        chosen = chosen[_together(A[np.ix_(chosen, chosen)])]
        title += ", each divided by its own size"
    A = A[np.ix_(chosen, chosen)]
    beside = A[~np.eye(len(A), dtype=bool)] if order == "cluster" else A
    limit = np.abs(beside).max() if beside.size else 1.0
    picture = ax.imshow(A, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set(xlabel="feature", ylabel="feature", title=title)
    names = getattr(fitted, "feature_names_in_", None)
    names = chosen if names is None else np.asarray(names)[chosen]
    if order == "given" and (d > 30 or names is chosen):
        _whole(ax.xaxis, ax.yaxis)
    else:
        small = {"fontsize": 270 / len(names)} if len(names) > 30 else {}
        ax.set_xticks(range(len(A)), names, rotation=90, **small)
        ax.set_yticks(range(len(A)), names, **small)
    ax.figure.colorbar(picture, ax=ax)
    return ax


def _pixels(values: Any, shape: tuple[int, int], ax: Any) -> Any:
    height, width = shape
    if height * width != len(values):
        raise ValueError(
            f"shape: {height} x {width} is {height * width} pixels; there are {len(values)} "
            "features"
        )
    shades = plt.get_cmap("magma").with_extremes(bad="lightgrey")
    picture = ax.imshow(values.reshape(shape), cmap=shades, interpolation="nearest")
    ax.set(title="metric: weight of each pixel", xticks=[], yticks=[])
    if np.isnan(values).any():
        ax.set_xlabel("grey: the same in all points")
    ax.figure.colorbar(picture, ax=ax)
    return ax


def _together(similar: Any) -> Any:
    """An order in which what is similar, between -1 and 1 in size, stands side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(similar) < 3:
        return np.arange(len(similar))
    apart = 1 - np.minimum(1, np.abs(similar))
    np.fill_diagonal(apart, 0)
    return leaves_list(linkage(squareform((apart + apart.T) / 2), "average", optimal_ordering=True))


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
    if count < 1:
        raise ValueError(f"count: {count} is less than 1")
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
    fitted: Any,
    ax: Any = None,
    centre: tuple[float, float] | None = None,
    radius: float | None = None,
    data: bool = True,
) -> Any:
    """The points at one distance from a centre, over the points of both domains (`data`); for two
    features. None for the centre is the mean of the target points, None for the radius the mean
    distance of target points from it."""
    ax = _axes(ax)
    model = _model(fitted)
    A = _metric.matrix(model)
    if A.shape != (2, 2):
        raise ValueError(f"ellipse: the metric has {len(A)} features; it can be drawn for 2")
    if model.options["preprocess"] in ("l2", "hellinger") and (
        data or centre is None or radius is None
    ):
        raise ValueError(
            "ellipse: after l2 or hellinger the points are not those given; pass data=False"
        )
    if data or centre is None or radius is None:
        source = _metric.restored(model, model.source_points, "source")
        target = _metric.restored(model, model.target_points, "target")
    if data:
        ax.scatter(*source.T, marker="x", s=15, color="tab:blue", alpha=0.5, label="source")
        ax.scatter(*target.T, s=15, color="lightgrey", label="target", zorder=0)
    middle = np.asarray(target.mean(axis=0) if centre is None else centre, dtype=float)
    if middle.shape != (2,):
        raise ValueError(f"centre: {centre}; give two numbers")
    if radius is None:
        away = target - middle
        radius = float(np.sqrt(np.einsum("ij,jk,ik->i", away, A, away)).mean()) or 1.0
    values, vectors = np.linalg.eigh(A)
    width, height = 2 * radius / np.sqrt(values)
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    ax.add_patch(Ellipse(tuple(middle), width, height, angle=angle, fill=False, linewidth=2))
    ax.plot([], [], color="black", linewidth=2, label=f"distance {radius:.3g}")
    ax.autoscale_view()
    names = getattr(fitted, "feature_names_in_", ("feature 0", "feature 1"))
    ax.set(xlabel=names[0], ylabel=names[1], title="points at one distance")
    ax.set_aspect("equal")
    ax.legend()
    return ax


def embedding(fitted: Any, ax: Any = None, ys: ArrayLike | None = None) -> Any:
    """Source, mapped source and target points: their two coordinates, or, of more, the two
    directions in which they spread most under the learned metric. `ys` colours the source by class.
    Where all mapped points fall into one place, the picture says so, and what to change."""
    model, ax = _model(fitted), _axes(ax)
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
    marks = [
        ("o", "lightgrey", "target"),
        ("x", "dimgrey", "source"),
        ("o", "dimgrey", "mapped source"),
    ]
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
    shown = colours if ys is not None else "tab:red"
    ax.scatter(*_two(sets[1]), marker="o", s=20, c=shown, edgecolors="black", linewidths=0.4)
    if ys is None:
        key[1].set_color("tab:blue")
        key[2].set_color("tab:red")
    ax.set(xlabel=names[0], ylabel=names[1], title="points")
    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if len(key) > 8 else {}
    ax.legend(handles=key, **beside)
    spread = [float(np.sqrt(points.var(axis=0).sum())) for points in (sets[1], sets[2])]
    if spread[0] < 0.1 * spread[1]:
        hint = (
            "All mapped points are near one place: the plan is almost uniform.\n"
            "Try a smaller reg_e (lambda)."
        )
        box = {"facecolor": "white", "edgecolor": "tab:red", "alpha": 0.9}
        ax.text(0.02, 0.03, hint, transform=ax.transAxes, color="tab:red", fontsize="small", bbox=box)
    return ax


def path(found: Any, ax: Any = None, yt: ArrayLike | None = None) -> Any:
    """A path of `fit_path`: the transport cost against lambda and, where labels of the target
    points are given, the share that is labelled right. A cross is a fit that did not converge."""
    if not isinstance(found, LambdaPath):
        raise TypeError(f"{type(found).__name__}: give what remblai.fit_path returns")
    scores = None if yt is None else [100 * score.accuracy for score in found.scores(yt)]
    ax = _axes(ax)
    costs = found.values("transport_cost")
    lines = ax.plot(found.lambdas, costs, "o-", color="tab:blue", label="transport cost")
    missed = [model.status != "converged" for model in found]
    if any(missed):
        lines += ax.plot(
            found.lambdas[missed], costs[missed], "kx", markersize=9, label="not converged"
        )
    if found.lambdas.min() > 0:
        ax.set_xscale("log")
        # Few decades would have crowded ticks between them.
        if len(found.lambdas) <= 8:
            ax.set_xticks(found.lambdas, [f"{value:.3g}" for value in found.lambdas], rotation=45)
            ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="lambda", ylabel="transport cost", title="path of lambda")
    if scores is not None:
        right = ax.twinx()
        lines += right.plot(found.lambdas, scores, "s--", color="tab:red", label="labelled right")
        right.set_ylabel("% of the target points")
    ax.legend(handles=lines, loc="lower right")  # the best place would not look at the other axis
    return ax


def _two(points: Any) -> Any:
    return points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
