"""Positive definite matrices: against SciPy and pyRiemann."""

import numpy as np
import pytest
import scipy.linalg
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.geometry.mean import mean_riemann

from remblai import spd


def random_spd(seed, d=6):
    random = np.random.default_rng(seed)
    factor = random.standard_normal((d, d))
    return factor @ factor.T + 0.1 * np.eye(d)


A, B = random_spd(0), random_spd(1)


def test_functions_are_scipys():
    np.testing.assert_allclose(spd.sqrt(A), np.real(scipy.linalg.sqrtm(A)), rtol=1e-9)
    np.testing.assert_allclose(spd.log(A), np.real(scipy.linalg.logm(A)), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(spd.exp(spd.log(A)), A, rtol=1e-9)
    np.testing.assert_allclose(spd.exp(B / 10), scipy.linalg.expm(B / 10), rtol=1e-9)
    np.testing.assert_allclose(spd.inverse(A), np.linalg.inv(A), rtol=1e-9)
    np.testing.assert_allclose(spd.inverse_sqrt(A) @ spd.sqrt(A), np.eye(6), atol=1e-10)
    power = scipy.linalg.fractional_matrix_power(A, 0.3)
    np.testing.assert_allclose(spd.power(A, 0.3), power, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("t", [0.2, 0.5, 0.8])
def test_geometry_is_pyriemanns(t):
    np.testing.assert_allclose(spd.geodesic(A, B, t), geodesic_riemann(A, B, t), rtol=1e-8)
    np.testing.assert_allclose(spd.geometric_mean(A, B, t), geodesic_riemann(A, B, t), rtol=1e-8)
    assert spd.distance(A, B) == pytest.approx(distance_riemann(A, B), rel=1e-9)


def test_karcher_mean_is_pyriemanns():
    many = np.stack([random_spd(seed) for seed in range(5)])
    expected = mean_riemann(many, tol=1e-12, maxiter=500)
    np.testing.assert_allclose(spd.karcher_mean(many), expected, rtol=1e-6)


def test_the_metric_step_solves_its_equation():
    X = spd.riccati(A, B)
    np.testing.assert_allclose(X @ A @ X, B, rtol=1e-9)
    np.testing.assert_allclose(X, geodesic_riemann(np.linalg.inv(A), B, 0.5), rtol=1e-7)
    root = np.real(scipy.linalg.sqrtm(A))
    back = np.linalg.inv(root)
    expected = back @ np.real(scipy.linalg.sqrtm(root @ B @ root)) @ back
    np.testing.assert_allclose(X, expected, rtol=1e-8)


def test_what_is_not_positive_definite_is_refused():
    with pytest.raises(ValueError, match="eigenvalue|definite"):
        spd.sqrt(np.diag([1.0, -1.0]))
    with pytest.raises(ValueError):
        spd.sqrt(np.ones((2, 3)))
    with pytest.raises(ValueError):
        spd.log(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="NaN"):
        spd.log(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="shape"):
        spd.karcher_mean(np.eye(2))
