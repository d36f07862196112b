"""Oracles for the transport step: entropic and exact plans by POT on small random problems.

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
for name, array in {
    "cost": cost,
    "p": p,
    "q": q,
    "lambda": np.array([lam]),
    "plan": plan,
    "exact": exact,
}.items():
    np.save(here / f"transport_{name}.npy", array)
