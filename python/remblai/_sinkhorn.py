"""Entropic transport with the signature and the result of POT's ot.sinkhorn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _checks, _core
from ._functions import problem

#: POT's names for ways to the same plan; here they all choose the way by themselves.
_POT = ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized", "sinkhorn_epsilon_scaling", "greenkhorn")
_OWN = ("auto", "anderson", "newton")


def sinkhorn(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    reg: float,
    method: str = "sinkhorn",
    numItermax: int = 1000,
    stopThr: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    warn: bool = True,
    warmstart: tuple[ArrayLike, ArrayLike] | None = None,
    **kwargs: Any,
) -> Any:
    """The plan min <G, M> + reg sum G ln G with marginals a and b; with `log` also a dict.

    Arguments are those of ot.sinkhorn. An empty a or b is uniform; b may have one histogram a column:
    then the result is the list of losses <G, M>. Differences: `stopThr` is the L1 error of both
    marginals, `numItermax` counts passes over M, small `reg` is safe, and `method` may also be auto,
    anderson or newton (POT's own names all mean auto). `warmstart` is (log u, log v); the first is made
    from the second. `n_threads` is the only further keyword.
    """
    threads = kwargs.pop("n_threads", 0)
    for name in kwargs:
        raise TypeError(f"there is no parameter '{name}'{_checks.nearest(name, ['n_threads'])}")
    if method not in _POT + _OWN:
        raise ValueError(f"method: '{method}' is not one of {', '.join(_POT + _OWN)}")
    if not reg > 0:
        raise ValueError(f"reg: {reg} is not positive; remblai.exact solves without entropy")
    settings = {
        "solver": "auto" if method in _POT else method,
        "tolerance": float(stopThr),
        "max_passes": int(numItermax),
        "threads": int(threads),
    }
    b = np.asarray(b, dtype=np.float64)
    if b.ndim == 2:
        columns = [_solve(a, one, M, reg, warmstart, settings) for one in b.T]
        found = [solved for solved, _, _ in columns]
        result: Any = np.array([solved["cost"] * total for solved, total, _ in columns])
    else:
        solved, total, plan = _solve(a, b, M, reg, warmstart, settings)
        found, result = [solved], plan
    worst = max(max(solved["source_error"], solved["target_error"]) for solved in found)
    if verbose:
        print(f"remblai.sinkhorn: {found[0]['passes']} passes, marginal error {worst:.1e}")
    if warn and not all(solved["converged"] for solved in found):
        warnings.warn(
            f"remblai.sinkhorn missed its marginals by {worst:.1e} after {numItermax} passes; raise "
            "numItermax or reg",
            stacklevel=2,
        )
    return (result, _log(found, reg)) if log else result


def _solve(
    a: ArrayLike, b: ArrayLike, M: ArrayLike, reg: float, warmstart: Any, settings: dict[str, Any]
) -> tuple[dict[str, Any], float, Any]:
    """What the library found, the mass of the problem, and the plan of that mass."""
    cost, p, q = problem(M, a if np.size(a) else None, b if np.size(b) else None)
    total = float(p.sum())
    if not np.isclose(total, q.sum(), rtol=1e-6):
        raise ValueError(f"a and b: their sums differ ({total:.9g} and {q.sum():.9g})")
    start = None
    if warmstart is not None:
        log_v = np.asarray(warmstart[1], dtype=np.float64).ravel()
        # -inf belongs to a column without weight, which takes no part.
        start = reg * np.where(q > 0, log_v, 0.0) if log_v.shape == q.shape else log_v
    found = _core.transport(cost, p, q, float(reg), start=start, **settings)
    if found["error"] is not None:
        raise found["error"]
    return found, total, found["plan"] * total if total != 1 else found["plan"]


def _log(found: list[dict[str, Any]], reg: float) -> dict[str, Any]:
    """POT's keys. u and v overflow where reg is small; their logarithms do not."""
    log_u = np.stack([solved["f"] / reg for solved in found], axis=-1).squeeze()
    log_v = np.stack([solved["g"] / reg for solved in found], axis=-1).squeeze()
    with np.errstate(over="ignore"):
        u, v = np.exp(log_u), np.exp(log_v)
    return {
        "err": [max(solved["source_error"], solved["target_error"]) for solved in found],
        "niter": max(solved["passes"] for solved in found),
        "log_u": log_u,
        "log_v": log_v,
        "u": u,
        "v": v,
        "warmstart": (log_u, log_v),
        "gap": max(solved["gap"] for solved in found),
        "converged": all(solved["converged"] for solved in found),
    }
