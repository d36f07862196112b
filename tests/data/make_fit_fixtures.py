"""Oracle for the whole method: Algorithm 1 as a plain loop of SciPy's sqrtm and POT's Sinkhorn.

Needs numpy, scipy and POT (pip install numpy scipy POT). Writes fit_*.npy beside itself.
"""
from pathlib import Path

import numpy as np
import ot
from scipy.linalg import sqrtm

here = Path(__file__).parent
rng = np.random.default_rng(10085)
m, n, d, steps, ridge, lam = 20, 25, 4, 6, 0.1, 0.1
x = rng.normal(size=(m, d)) @ np.diag([1.0, 2.0, 0.5, 1.0])
z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 0.5
p, q = np.full(m, 1 / m), np.full(n, 1 / n)
w = x.T @ x + z.T @ z
w_ridge = w + 0.01 * np.trace(w) / d * np.eye(d)


def moment(g):
    difference = x[:, None, :] - z[None, :, :]
    return np.einsum("ij,ija,ijb->ab", g, difference, difference)


def mean(c, prior):
    root = np.real(sqrtm(c))
    inverse = np.linalg.inv(root)
    return inverse @ np.real(sqrtm(root @ prior @ root)) @ inverse


def cost(a):
    difference = x[:, None, :] - z[None, :, :]
    return np.einsum("ija,ab,ijb->ij", difference, a, difference)


np.save(here / "fit_source.npy", x)
np.save(here / "fit_target.npy", z)
for name, prior in {"identity": np.eye(d), "w": w_ridge, "w-inverse": np.linalg.inv(w_ridge)}.items():
    plan = np.outer(p, q)
    c0 = moment(plan)
    eps = ridge * np.trace(c0) / d
    absolute = None
    for _ in range(steps):
        a = mean(moment(plan) + eps * np.eye(d), prior)
        if absolute is None:
            apart = x.mean(0) - z.mean(0)  # lambda is relative to the mean cost of the centred clouds
            absolute = lam * np.sum(a * (c0 - np.outer(apart, apart)))
        plan = ot.sinkhorn(p, q, cost(a), absolute, method="sinkhorn_log", stopThr=1e-14, numItermax=100000)
    np.save(here / f"fit_{name}_metric.npy", a)
    np.save(here / f"fit_{name}_plan.npy", plan)
