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

from . import _checks, _core, _labels, _metric
from ._base import GroundMetric
from ._path import LambdaPath

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgba
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
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _varied(model: Any) -> Any:
    """The features that are not the same in all points. Of others a metric knows nothing but its
    prior. All of them, where none varies."""
    points = np.vstack([model.source_points, model.target_points])
    varied = np.ptp(points, axis=0) > 0
    return np.flatnonzero(varied if varied.any() else ~varied)


def _of_all(title: str, shown: int, count: int) -> str:
    return title if shown == count else f"{title}, {shown} of {count} features"


def _title_over_legend(ax: Any, title: str, handles: Any) -> None:
    """A legend above the axes, where it covers nothing, and the title above it."""
    rows = -(-len(handles) // 3)
    ax.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize="small",
        frameon=False,
    )  # fmt: skip
    ax.set_title(title, pad=8 + 16 * rows)


def _classes(fitted: Any, labels: ArrayLike, count: int, name: str) -> tuple[list[str], Any]:
    """Names of the classes, and the place of each label among them; one that is not known comes
    behind all of them."""
    if name == "ys" and isinstance(fitted, GroundMetric):
        labels = fitted._of_those_fitted(labels)
    given = _checks.of_points(labels, count, name)
    classes = getattr(fitted, "classes_", None)
    known = _labels.known_of_source(given)
    if classes is not None:
        known = _labels.is_known(given, classes)
    found, places = np.unique(np.array(given[known].tolist()), return_inverse=True)
    codes = np.full(count, len(found))
    codes[known] = places
    return [str(name) for name in found], codes


def convergence(fitted: Any, ax: Any = None) -> Any:
    """How far the objective of each step is above the smallest, and the change of distances. The
    step with the smallest objective has no place on the logarithmic axis. Of one step alone there
    is nothing to draw, and the picture says so."""
    model, ax = _model(fitted), _axes(ax)
    history = json.loads(model.report())["history"]
    if len(history) < 2:
        ax.set(xlabel="step", title="convergence", xticks=[], yticks=[])
        fixed = model.options["metric"] != "learned"
        why = "a fixed metric has nothing to settle" if fixed else "there is no other to compare"
        ax.text(0.5, 0.5, f"one step: {why}", transform=ax.transAxes, ha="center", va="center")
        return ax
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
    given, those that are not known last."""
    coupling, ax = _model(fitted).plan(), _axes(ax)
    rows, columns = coupling.shape
    if ys is not None:
        classes = _classes(fitted, ys, rows, "ys")
        coupling = coupling[_in_order(*classes, ax.axhline, ax.yaxis)]
    if yt is not None:
        classes = _classes(fitted, yt, columns, "yt")
        coupling = coupling[:, _in_order(*classes, ax.axvline, ax.xaxis)]
        if max(map(len, _with_unknown(*classes))) > 3:
            ax.xaxis.set_tick_params(rotation=90)
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


def _with_unknown(classes: list[str], codes: Any) -> list[str]:
    return [*classes, "unknown"] if len(classes) in codes else classes


def _in_order(classes: list[str], codes: Any, line: Any, axis: Any) -> Any:
    """The order of the labels; lines between classes, and their names, on the axis."""
    classes = _with_unknown(classes, codes)
    ends = np.cumsum(np.bincount(codes, minlength=len(classes)))
    starts = np.concatenate([[0], ends[:-1]])
    if len(classes) <= 30:
        for end in ends[:-1]:
            line(end - 0.5, color="white", linewidth=0.5)
        axis.set_ticks((starts + ends - 1) / 2, classes)
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
    "given" up to 30 features, then "cluster". Of many features colours are for what lies beside the
    diagonal, which would be all that is seen.

    `shape` is for features that are pixels: (height, width). The picture then has the entry of each
    on the diagonal in its place, and grey where a pixel is the same in all points."""
    ax = _axes(ax)
    model = _model(fitted)
    A = _metric.matrix(model)
    d = len(A)
    varied = _varied(model)
    if shape is not None:
        weights = np.full(d, np.nan)
        weights[varied] = np.diag(A)[varied]
        return _pixels(weights, shape, ax)
    if order not in ("auto", "given", "size", "cluster"):
        raise ValueError(f"order: '{order}' is not one of auto, given, size, cluster")
    _checks.require_whole(most, "most", 2)
    if order == "auto":
        order = "given" if d <= 30 else "cluster"
    chosen, title = np.arange(d), "metric"
    weight = np.diag(A)
    if order == "cluster":
        scale = np.sqrt(weight)
        A = A / np.outer(scale, scale)  # between -1 and 1, since A is positive definite
        weight = (A**2).sum(axis=1)
    if order != "given":
        chosen = varied[np.argsort(-weight[varied], kind="stable")[:most]]
        title = _of_all("metric", len(chosen), d)
    if order == "cluster":
        chosen = chosen[_together(A[np.ix_(chosen, chosen)])]
        title += "\n(each divided by its own size)"
    A = A[np.ix_(chosen, chosen)]
    limit = np.abs(A).max()
    if order == "cluster" or len(A) > 10:
        limit = np.abs(A[~np.eye(len(A), dtype=bool)]).max(initial=0) or limit
    picture = ax.imshow(A, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set(xlabel="feature", ylabel="feature", title=title)
    names = getattr(fitted, "feature_names_in_", None)
    names = chosen if names is None else np.asarray(names)[chosen]
    if order == "given" and (d > 30 or names is chosen):
        _whole(ax.xaxis, ax.yaxis)
    else:
        _name_features(ax, [str(name) for name in names])
    ax.figure.colorbar(picture, ax=ax, extend="both" if limit < np.abs(A).max() else "neither")
    return ax


def _name_features(ax: Any, names: list[str]) -> None:
    """Names on both axes, in letters that do not overlap: long names leave less room for rows. Of
    more than 40 every second is shown, of more than 80 every third."""
    step = -(-len(names) // 40)
    places = range(0, len(names), step)
    high = ax.bbox.height * 72 / ax.figure.dpi
    size = min(10.0, high / (1.2 * len(names) / step + 0.6 * max(map(len, names))))
    ax.set_xticks(places, names[::step], rotation=90, fontsize=size)
    ax.set_yticks(places, names[::step], fontsize=size)


def _pixels(values: Any, shape: tuple[int, int], ax: Any) -> Any:
    if np.shape(shape) != (2,):
        raise ValueError(f"shape: {shape!r}; give height and width of the picture, as (28, 28)")
    height, width = shape
    for side in shape:
        _checks.require_whole(side, "shape", 1)
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
    """Eigenvalues of the metric between the features that vary, largest first."""
    ax = _axes(ax)
    model = _model(fitted)
    A, some = _metric.matrix(model), _varied(model)
    values = np.linalg.eigvalsh(A[np.ix_(some, some)])[::-1]
    ax.semilogy(np.arange(1, len(values) + 1), values, ".-")
    title = _of_all("spectrum of the metric", len(some), len(A))
    ax.set(xlabel="rank", ylabel="eigenvalue", title=title)
    _whole(ax.xaxis)
    return ax


def directions(fitted: Any, ax: Any = None, count: int = 3) -> Any:
    """The directions in which distance counts most: eigenvectors of the largest eigenvalues, of the
    metric between the features that vary."""
    _checks.require_whole(count, "count", 1)
    ax = _axes(ax)
    model = _model(fitted)
    A, some = _metric.matrix(model), _varied(model)
    values, vectors = np.linalg.eigh(A[np.ix_(some, some)])
    d = len(A)
    shown = min(count, len(some))
    for k in range(shown):
        vector = vectors[:, -1 - k]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        label = f"eigenvalue {values[-1 - k]:.3g}"
        if d <= 30:
            ax.bar(some + 0.8 * ((k + 0.5) / shown - 0.5), vector, 0.8 / shown, label=label)
        else:
            ax.plot(some, vector, ".", markersize=3, label=label)
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set(xlabel="feature", ylabel="weight")
    names = _names(fitted, d)
    if names is None:
        _whole(ax.xaxis)
    else:
        ax.set_xticks(some, np.asarray(names)[some], rotation=90)
    title = _of_all("directions that count most", len(some), d)
    _title_over_legend(ax, title, ax.get_legend_handles_labels()[0])
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
    number = isinstance(radius, (int, float, np.number))
    if radius is not None and not (number and 0 < radius < np.inf):
        raise ValueError(f"radius: {radius!r} is not a positive number")
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
    middle = target.mean(axis=0) if centre is None else _checks.numbers(centre, "centre")
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
    """Source, mapped source and target points: their coordinates, two or one, or, of more, the two
    directions in which they spread most under the learned metric. `ys` colours the source by class,
    grey where the label is not known.
    Where all mapped points fall into one place, the picture says so, and what to change."""
    own = ax is None
    model, ax = _model(fitted), _axes(ax)
    source, target = model.source_points, model.target_points
    sets = [source, _metric.inside(model, model.map()), target]
    d = source.shape[1]
    names = _names(fitted, d)
    if d > 2:
        L = _metric.components(model)
        scale = _metric.columns(model, "target")[1]
        if scale is not None:
            L = L * scale  # these points are scaled already
        together = np.vstack([source, target]) @ L.T
        centre = together.mean(axis=0)
        axes = np.linalg.svd(together - centre, full_matrices=False)[2][:2]
        sets = [(points @ L.T - centre) @ axes.T for points in sets]
        names = ("first direction of the metric", "second direction of the metric")
    elif names is None:
        names = ("feature 0", "feature 1")
    colours: Any = "tab:blue"
    marks = [
        ("o", "lightgrey", "target"),
        ("x", "dimgrey", "source"),
        ("o", "dimgrey", "mapped source"),
    ]
    key = [Line2D([], [], marker=m, color=c, linestyle="", label=text) for m, c, text in marks]
    if ys is not None:
        classes, codes = _classes(fitted, ys, len(source), "ys")
        palette = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20")
        shades = [*palette(np.arange(len(classes)) % palette.N), to_rgba("dimgrey")]
        colours = np.array(shades)[codes]
        named = list(zip(classes, shades))[:20]
        if len(classes) > 20:
            named.append((f"and {len(classes) - 20} more", "none"))
        if len(classes) in codes:
            named.append(("unknown", shades[-1]))
        for name, colour in named:
            key.append(Line2D([], [], marker="s", color=colour, linestyle="", label=name))
    ax.scatter(*_two(sets[2]), color="lightgrey", s=15)
    ax.scatter(*_two(sets[0]), marker="x", s=20, alpha=0.6, c=colours)
    shown = colours if ys is not None else "tab:red"
    ax.scatter(*_two(sets[1]), marker="o", s=20, c=shown, edgecolors="black", linewidths=0.4)
    if ys is None:
        key[1].set_color("tab:blue")
        key[2].set_color("tab:red")
    ax.set(xlabel=names[0], title="points")
    if d > 1:
        ax.set_ylabel(names[1])
    else:
        ax.set_yticks([])
    if len(key) <= 8:
        ax.legend(handles=key)
    elif own:
        ax.legend(
            handles=key, loc="center left", bbox_to_anchor=(1, 0.5),
            ncols=1 + (len(key) > 14), fontsize="small",
        )  # fmt: skip
    else:  # beside the axes there may be others
        ax.legend(handles=key, ncols=2, fontsize="x-small", framealpha=0.6)
    spread = [float(np.sqrt(points.var(axis=0).sum())) for points in (sets[1], sets[2])]
    if spread[0] < 0.1 * spread[1]:
        hint = (
            "All mapped points are near one place:\n"
            "the plan is almost uniform.\n"
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
    ax.set(xlabel="lambda", ylabel="transport cost")
    if scores is not None:
        right = ax.twinx()
        lines += right.plot(found.lambdas, scores, "s--", color="tab:red", label="labelled right")
        right.set_ylabel("% of the target points")
    _title_over_legend(ax, "path of lambda", lines)
    return ax


def _two(points: Any) -> Any:
    return points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
