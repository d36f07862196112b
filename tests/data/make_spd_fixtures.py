#!/usr/bin/env python3
"""Writes spd_*.npy beside itself: what SciPy makes of two fixed SPD matrices (needs NumPy, SciPy)."""

from pathlib import Path

import numpy as np
from scipy.linalg import eigvalsh, expm, fractional_matrix_power, inv, logm, sqrtm

ORDER = 7
CONDITION = 1e4


def random_spd(rng):
    vectors, _ = np.linalg.qr(rng.normal(size=(ORDER, ORDER)))
    a = (vectors * np.geomspace(1.0, 1.0 / CONDITION, ORDER)) @ vectors.T
    return (a + a.T) / 2


def geometric_mean(a, b, t):
    root = sqrtm(a)
    root_inverse = inv(root)
    return root @ fractional_matrix_power(root_inverse @ b @ root_inverse, t) @ root


def main():
    rng = np.random.default_rng(20240917)
    a, b = random_spd(rng), 3.0 * random_spd(rng)
    symmetric = logm(a) + rng.normal() * np.eye(ORDER)
    arrays = {
        "a": a,
        "b": b,
        "sqrt": sqrtm(a),
        "inverse_sqrt": inv(sqrtm(a)),
        "power": fractional_matrix_power(a, 0.3),
        "log": logm(a),
        "exp_of": symmetric,
        "exp": expm(symmetric),
        "inverse": inv(a),
        "mean": geometric_mean(a, b, 0.5),
        "geodesic": geometric_mean(a, b, 0.2),
        "riccati": geometric_mean(inv(a), b, 0.5),
        "distance": np.array([[np.linalg.norm(np.log(eigvalsh(b, a)))]]),
    }
    for name, values in arrays.items():
        np.save(Path(__file__).parent / f"spd_{name}.npy", np.ascontiguousarray(values.real))


if __name__ == "__main__":
    main()
