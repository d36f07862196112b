"""Geometry of symmetric positive definite matrices.

Every function raises ValueError on a matrix that is not square, symmetric and positive definite;
the message gives the smallest eigenvalue and says how to mend it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from . import _checks, _core

Float = _checks.Float


def _matrix(values: ArrayLike, name: str) -> Float:
    return _checks.for_core(_checks.points(values, name))


def sqrt(a: ArrayLike) -> Float:
    """A^1/2."""
    return _core.spd_sqrt(_matrix(a, "a"))


def inverse_sqrt(a: ArrayLike) -> Float:
    """A^-1/2."""
    return _core.spd_inverse_sqrt(_matrix(a, "a"))


def power(a: ArrayLike, exponent: float) -> Float:
    """A to any real power."""
    return _core.spd_power(_matrix(a, "a"), float(exponent))


def log(a: ArrayLike) -> Float:
    """The symmetric logarithm."""
    return _core.spd_log(_matrix(a, "a"))


def exp(s: ArrayLike) -> Float:
    """The exponential of any symmetric matrix."""
    return _core.spd_exp(_matrix(s, "s"))


def inverse(a: ArrayLike) -> Float:
    """A^-1, symmetric to the last bit."""
    return _core.spd_inverse(_matrix(a, "a"))


def geometric_mean(a: ArrayLike, b: ArrayLike, t: float = 0.5) -> Float:
    """A #_t B = A^1/2 (A^-1/2 B A^-1/2)^t A^1/2."""
    return _core.spd_geometric_mean(_matrix(a, "a"), _matrix(b, "b"), float(t))


def geodesic(a: ArrayLike, b: ArrayLike, t: float) -> Float:
    """The point at t of the geodesic from A (t = 0) to B (t = 1); t may leave [0, 1]."""
    return _core.spd_geodesic(_matrix(a, "a"), _matrix(b, "b"), float(t))


def riccati(c: ArrayLike, d: ArrayLike, t: float = 0.5) -> Float:
    """C^-1 #_t D: the metric step. For t = 1/2 the only positive definite A with A C A = D."""
    return _core.spd_riccati(_matrix(c, "c"), _matrix(d, "d"), float(t))


def distance(a: ArrayLike, b: ArrayLike) -> float:
    """Affine-invariant distance |log(A^-1/2 B A^-1/2)|_F."""
    return _core.spd_distance(_matrix(a, "a"), _matrix(b, "b"))


def karcher_mean(matrices: ArrayLike) -> Float:
    """The matrix with the smallest sum of squared distances to those given, of shape (k, d, d)."""
    stack = _checks.for_core(_checks.numbers(matrices, "matrices"))
    if stack.ndim != 3 or len(stack) == 0:
        raise ValueError(
            f"matrices: an array of shape {stack.shape}; give at least one, as (k, d, d)"
        )
    return _core.spd_karcher_mean(stack)
