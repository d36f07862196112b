"""Oracles for the transport step: entropic, relaxed and exact plans by POT on small random problems.

Needs numpy and POT (pip install numpy POT). Writes transport_*.npy beside itself.
"""
from pathlib import Path

import numpy as np
import ot

here = Path(__file__).parent
rng = np.random.default_rng(2409)
m, n = 12, 17
cost = rng.random((m, n)) ** 2
p = rng.random(m) + 0.1
q = rng.random(n) + 0.1
p /= p.sum()
q /= q.sum()
lam = 0.05
plan = ot.sinkhorn(p, q, cost, lam, method="sinkhorn_log", stopThr=1e-15, numItermax=1000000)
exact = ot.emd(p, q, cost)
# Weights of other totals than 1; the first tau is that of the rows, infinity keeps a side exact.
heavy_p, light_q = 1.5 * p, 0.8 * q
relaxed = {
    "both": ot.unbalanced.sinkhorn_unbalanced(
        heavy_p, light_q, cost, lam, (0.3, 0.7), reg_type="kl", stopThr=1e-15, numItermax=100000),
    "rows": ot.unbalanced.sinkhorn_unbalanced(
        p, q, cost, lam, (0.3, float("inf")), reg_type="kl", stopThr=1e-15, numItermax=100000),
    "columns": ot.unbalanced.sinkhorn_unbalanced(
        p, q, cost, lam, (float("inf"), 0.7), reg_type="kl", stopThr=1e-15, numItermax=100000),
}
for name, array in {
    "cost": cost,
    "p": p,
    "q": q,
    "lambda": np.array([lam]),
    "plan": plan,
    "exact": exact,
    **{f"relaxed_{name}": plan for name, plan in relaxed.items()},
}.items():
    np.save(here / f"transport_{name}.npy", array)
