"""The learned metric in the caller's coordinates, from the arrays of a model.

A = unit/length^2 (V F'F V' + outside (I - V V')) between preprocessed points. Standard scores are a
linear map, which the functions here put into A. Division by the length of a point (l2) is not: there A
belongs to the points after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import Float
from ._core import Model


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
    return L if model.scaler_scale is None else L / model.scaler_scale


def matrix(model: Model) -> Float:
    """A, d x d."""
    A = model.metric()
    scale = model.scaler_scale
    return A if scale is None else A / np.outer(scale, scale)


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
        raise ValueError(f"points of shape {np.shape(u)} and {np.shape(v)}; the metric has {d} features")
    distance = float(pair_distance(model, a, b)[0])
    return distance**2 if squared else distance


def preprocessed(model: Model, points: Any) -> Float:
    """As the library does it before anything else."""
    kind = model.options["preprocess"]
    if kind == "zscore":
        return (points - model.scaler_mean) / model.scaler_scale
    if kind == "l2":
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return points / np.where(lengths > 0, lengths, 1)
    return points


def restored(model: Model, points: Float) -> Float:
    """The way back from `preprocessed`, where there is one: a length divided by is lost."""
    mean, scale = model.scaler_mean, model.scaler_scale
    return points if mean is None or scale is None else points * scale + mean


def beside_mapped(model: Model, points: Any) -> Any:
    """Target points in the coordinates of mapped points: the caller's, but of length 1 after l2."""
    return preprocessed(model, points) if model.options["preprocess"] == "l2" else points
