"""Entropic transport with the signature and the result of POT's ot.sinkhorn."""

from __future__ import annotations

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
    from the second. `n_threads` is the only further keyword. In the log, `u` and `v` overflow where reg is
    small; `log_u` and `log_v` do not.
    """
    threads = kwargs.pop("n_threads", 0)
    _checks.require_known(kwargs, ["n_threads"])
    method = method.lower()
    if method not in _POT + _OWN:
        raise ValueError(f"method: '{method}' is not one of {', '.join(_POT + _OWN)}")
    if not 0 < reg < np.inf:
        raise ValueError(f"reg: {reg} is not a positive number; remblai.exact solves without entropy")
    settings = {
        "solver": "auto" if method in _POT else method,
        "tolerance": float(stopThr),
        "max_passes": int(numItermax),
        "threads": int(threads),
    }
    b = np.asarray(b, dtype=np.float64)
    columns = b.T if b.ndim == 2 else [b]
    start = None if warmstart is None else np.asarray(warmstart[1], dtype=np.float64)
    if start is not None and (start.ndim != b.ndim or start.T.shape[:-1] != b.T.shape[:-1]):
        raise ValueError(f"warmstart: log v of shape {start.shape}, for b of shape {b.shape}")
    starts = start.T if start is not None and b.ndim == 2 else [start] * len(columns)
    found = [_solve(a, one, M, reg, log_v, settings) for one, log_v in zip(columns, starts)]
    worst = max(max(solved["source_error"], solved["target_error"]) for solved in found)
    if verbose:
        print(f"remblai.sinkhorn: {found[0]['passes']} passes, marginal error {worst:.1e}")
    if warn and not all(solved["converged"] for solved in found):
        _checks.warn(
            f"remblai.sinkhorn missed its marginals by {worst:.1e} after {numItermax} passes; raise "
            "numItermax or reg"
        )
    losses = b.ndim == 2
    result = np.array([solved["cost"] for solved in found]) if losses else found[0]["plan"]
    return (result, _log(found, reg, losses)) if log else result


#: How sinkhorn spells what the library calls otherwise.
_NAMES = {
    "tolerance": "stopThr",
    "max_passes": "numItermax",
    "threads": "n_threads",
    "lambda_": "reg",
    "start": "warmstart",
    "source": "a",
    "target": "b",
}


def _solve(
    a: ArrayLike, b: ArrayLike, M: ArrayLike, reg: float, log_v: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """What the library found, for the mass of a and b."""
    cost, p, q = problem(M, a if np.size(a) else None, b if np.size(b) else None, ("M", "a", "b"))
    total = float(p.sum())
    if not np.isclose(total, q.sum(), rtol=1e-6):
        raise ValueError(f"a and b: their sums differ ({total:.9g} and {q.sum():.9g})")
    start = None
    if log_v is not None:
        # -inf belongs to a column without weight, which takes no part.
        start = reg * np.where(q > 0, log_v, 0.0) if log_v.shape == q.shape else log_v
    with _checks.spelled(_NAMES):
        found = _core.transport(cost, p, q, float(reg), start=start, **settings)
    if found["error"] is not None:
        raise found["error"]
    if total != 1:
        found["f"] = found["f"] + reg * np.log(total)
        found.update({name: total * found[name] for name in ("plan", "cost", "gap")})
    return found


def _log(found: list[dict[str, Any]], reg: float, losses: bool) -> dict[str, Any]:
    """POT's keys. u and v overflow where reg is small; their logarithms do not."""
    log_u, log_v = (
        np.stack([solved[name] / reg for solved in found], axis=-1) if losses else found[0][name] / reg
        for name in ("f", "g")
    )
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
