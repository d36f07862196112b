"""The learned metric in the caller's coordinates, from the arrays of a model.

A = unit/length^2 (V F'F V' + outside (I - V V')) between preprocessed points. Means and deviations
of columns are a linear map, which the functions here put into A. Where each domain has its own
("standardise"), A is that of the target, where mapped points are too. What happens to a point by
itself (l2, hellinger) is not linear: there A belongs to the points after it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.spatial.distance
from numpy.typing import ArrayLike

from ._checks import Float
from ._core import Model

Role = Literal["source", "target"]


def components(model: Model) -> Float:
    """L with A = L'L, d x d. O(d^2 r)."""
    d = len(model.metric_origin)
    factor, basis = model.metric_factor, model.metric_basis
    if basis is None:
        L = np.eye(d) if factor is None else np.array(factor)
    else:
        r = basis.shape[1]
        whole = np.linalg.qr(basis, mode="complete")[0]
        inside = basis.T if factor is None else factor @ basis.T
        L = np.vstack([inside, np.sqrt(model.metric_outside) * whole[:, r:].T])
    L *= np.sqrt(model.metric_unit) / model.metric_length
    scale = columns(model, "target")[1]
    return L if scale is None else L / scale


def matrix(model: Model) -> Float:
    """A, d x d."""
    A = model.metric()
    scale = columns(model, "target")[1]
    return A if scale is None else A / np.outer(scale, scale)


def costs(model: Model) -> Float:
    """The cost of every pair of fitted points, m x n, with which the plan is exp((f + g -
    cost)/lambda). Differences of the points lie in the span."""
    source, target = np.array(model.source_points), model.target_points
    known = model.classes
    if known is not None and model.source_labels is not None:
        places = np.searchsorted(known.classes, model.source_labels)
        places = np.minimum(places, len(known.classes) - 1)  # a class without weight has no place
        source += known.plan_moves[places]
    points = [X - model.metric_origin for X in (source, target)]
    if model.metric_basis is not None:
        points = [X @ model.metric_basis for X in points]
    if model.metric_factor is not None:
        points = [X @ model.metric_factor.T for X in points]
    squared = scipy.spatial.distance.cdist(*points, "sqeuclidean")
    squared *= model.metric_unit / model.metric_length**2
    if known is not None:
        squared -= known.class_cost * np.log(np.maximum(known.opinions[:, places].T, 1e-6))
    return squared


def pair_distance(model: Model, a: Float, b: Float) -> Float:
    """|a_i - b_i|_A, row by row. O(n d r): no d x d matrix."""
    difference = (preprocessed(model, a) - preprocessed(model, b)) / model.metric_length
    basis, factor = model.metric_basis, model.metric_factor
    inside = difference if basis is None else difference @ basis
    seen = inside if factor is None else inside @ factor.T
    squared = np.einsum("ij,ij->i", seen, seen)
    if basis is not None:
        outside = difference - inside @ basis.T
        squared = squared + model.metric_outside * np.einsum("ij,ij->i", outside, outside)
    return np.sqrt(model.metric_unit * squared)


def point_distance(model: Model, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
    """|u - v|_A of two points."""
    a, b = (np.atleast_2d(np.asarray(point, dtype=np.float64)) for point in (u, v))
    d = len(model.metric_origin)
    if a.shape != (1, d) or b.shape != (1, d):
        raise ValueError(
            f"points of shape {np.shape(u)} and {np.shape(v)}; the metric has {d} features"
        )
    distance = float(pair_distance(model, a, b)[0])
    return distance**2 if squared else distance


def columns(model: Model, role: Role) -> tuple[Float | None, Float | None]:
    """Means and scales of the columns of points of this domain; None where they stay as they
    are."""
    if role == "target" and model.scaler_target_mean is not None:
        return model.scaler_target_mean, model.scaler_target_scale
    return model.scaler_mean, model.scaler_scale


def preprocessed(model: Model, points: Any, role: Role = "target") -> Float:
    """As the library does it before anything else."""
    kind = model.options["preprocess"]
    if kind == "l2":
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return points / np.where(lengths > 0, lengths, 1)
    if kind == "hellinger":
        return np.sqrt(_histograms(points))
    return inside(model, points, role)


def restored(model: Model, points: Float, role: Role = "target") -> Float:
    """The way back from `preprocessed`, where there is one: what a row was divided by is lost."""
    if model.options["preprocess"] == "hellinger":
        return points**2
    mean, scale = columns(model, role)
    return points if mean is None or scale is None else points * scale + mean


def inside(model: Model, points: Any, role: Role = "target") -> Float:
    """The way back from `restored`: mapped points as the library sees them."""
    if model.options["preprocess"] == "hellinger":
        return np.sqrt(points)
    mean, scale = columns(model, role)
    return points if mean is None or scale is None else (points - mean) / scale


def beside_mapped(model: Model, points: Any) -> Any:
    """Target points in the coordinates of mapped points: the caller's, but of length 1 after l2 and
    of sum 1 after hellinger."""
    kind = model.options["preprocess"]
    if kind == "l2":
        return preprocessed(model, points)
    return _histograms(points) if kind == "hellinger" else points


def _histograms(points: Any) -> Any:
    """Every row divided by its sum; a zero row stays zero."""
    sums = np.sum(points, axis=1, keepdims=True)
    return points / np.where(sums > 0, sums, 1)
