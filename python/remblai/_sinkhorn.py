"""Entropic transport with the signatures and the results of POT: ot.sinkhorn, ot.sinkhorn2 and
ot.unbalanced.sinkhorn_unbalanced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _calls, _checks
from ._arrays import on_processor
from ._functions import problem, require_equal_sums, solve

#: POT's names for ways to the same plan; here they all choose the way by themselves.
_POT = ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized", "sinkhorn_epsilon_scaling", "greenkhorn")
_RELAXED = (
    "sinkhorn",
    "sinkhorn_stabilized",
    "sinkhorn_reg_scaling",
    "sinkhorn_translation_invariant",
)
_OWN = ("auto", "anderson", "newton")

#: How these functions spell what the library calls otherwise.
NAMES = {
    "tolerance": "stopThr",
    "max_passes": "numItermax",
    "threads": "n_threads",
    "lambda_": "reg",
    "start": "warmstart",
    "cost": "M",
    "source_weights": "a",
    "target_weights": "b",
    "relax_source": "reg_m",
    "relax_target": "reg_m",
}


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

    Arguments are those of ot.sinkhorn. An empty a or b is uniform; b may have one histogram a
    column: then the result is the list of losses <G, M>. float32 arrays give a float32 result.
    Differences: `stopThr` is the L1 error of both marginals, small `reg` is safe, and `method` may
    also be auto, anderson or newton (POT's own names all mean auto). `warmstart` is (log u, log v);
    the first is made from the second. `n_threads` is the only further keyword. A matrix M on a GPU
    is solved there, without a copy for the processor where no weight is 0; the result is NumPy's.

    `numItermax` is the most iterations, each of which reads M once: a Sinkhorn step, a step of
    conjugate gradients inside a Newton step, or the trial of one. The log has how many there were
    (`niter`), the error after each step (`err`; steps at a larger reg come first where the way
    begins there), the bound `gap` of the distance to the optimum, `converged`, and `warmstart` for
    the next call. Its `u` and `v` overflow where reg is small; `log_u` and `log_v` do not.
    """
    settings = _settings(method, _POT, numItermax, stopThr, kwargs)
    _positive(reg)
    kind = _checks.result_type(a, b, M)
    b = _checks.numbers(b, "b")
    columns = b.T if b.ndim == 2 else [b]
    start = None if warmstart is None else _checks.numbers(warmstart[1], "warmstart", finite=False)
    if start is not None and (start.ndim != b.ndim or start.T.shape[:-1] != b.T.shape[:-1]):
        raise ValueError(f"warmstart: log v of shape {start.shape}, for b of shape {b.shape}")
    starts = start.T if start is not None and b.ndim == 2 else [start] * len(columns)
    found = [_solve(a, one, M, reg, log_v, settings) for one, log_v in zip(columns, starts)]
    _tell("sinkhorn", found, verbose, warn)
    losses = b.ndim == 2
    result = np.array([solved["cost"] for solved in found]) if losses else found[0]["plan"]
    result = result.astype(kind, copy=False)
    return (result, _log(found, reg, losses, kind)) if log else result


def sinkhorn2(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    reg: float,
    method: str = "sinkhorn",
    numItermax: int = 1000,
    stopThr: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    warn: bool = False,
    warmstart: tuple[ArrayLike, ArrayLike] | None = None,
    **kwargs: Any,
) -> Any:
    """The loss <G, M> of `sinkhorn`, with its arguments, as ot.sinkhorn2 returns it: a number, or
    one for each column of b."""
    columns = np.asarray(on_processor(b))
    one = columns.ndim != 2
    if one and columns.size == 0:
        columns = np.full(np.shape(M)[1], 1 / max(1, np.shape(M)[1]), dtype=_checks.result_type(M))
    if one and warmstart is not None:
        sides: Any = tuple(np.asarray(on_processor(side))[:, None] for side in warmstart)
        warmstart = sides
    losses, told = sinkhorn(
        a, columns[:, None] if one else columns, M, reg, method, numItermax, stopThr, verbose, True,
        warn, warmstart, **kwargs,
    )  # fmt: skip
    if one:
        for name in ("u", "v", "log_u", "log_v"):
            told[name] = told[name][:, 0]
        told["warmstart"] = (told["log_u"], told["log_v"])
    result = losses[0] if one else losses
    return (result, told) if log else result


def unbalanced(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    reg: float,
    reg_m: float | tuple[float, float],
    method: str = "sinkhorn",
    reg_type: str = "kl",
    c: ArrayLike | None = None,
    warmstart: tuple[ArrayLike, ArrayLike] | None = None,
    numItermax: int = 1000,
    stopThr: float = 1e-6,
    verbose: bool = False,
    log: bool = False,
    **kwargs: Any,
) -> Any:
    """The plan min <G, M> + reg KL(G | a b') + reg_m KL(row sums | a) + reg_m KL(column sums | b),
    with KL(x | w) = sum x ln(x/w) - x + w; with `log` also a dict.

    Arguments are those of ot.unbalanced.sinkhorn_unbalanced. `reg_m` is one number, or one for each
    side; infinity keeps the sums of a side exact. The entropy is measured against a b' (`reg_type`
    "kl" and no other `c`). `warmstart`, `n_threads` and the log are those of `sinkhorn`; `cost` and
    `total_cost` are in the log too.
    """
    settings = _settings(method, _RELAXED, numItermax, stopThr, kwargs)
    _positive(reg)
    if reg_type.lower() != "kl" or c is not None:
        raise ValueError("reg_type: the entropy is measured against a b'; give 'kl', and no c")
    taus = np.asarray(reg_m, dtype=np.float64)
    if taus.ndim > 1 or taus.size not in (1, 2) or not np.all(taus > 0):
        raise ValueError(f"reg_m: {reg_m}; give one positive number, or one for each side")
    tau_a, tau_b = np.broadcast_to(taus, 2)
    if np.isinf(tau_a) and np.isinf(tau_b):
        raise ValueError("reg_m: both sides are exact; remblai.sinkhorn solves that")
    settings.update(relax_source=_finite(tau_a), relax_target=_finite(tau_b))
    kind = _checks.result_type(a, b, M)
    cost, p, q = problem(M, a if np.size(a) else None, b if np.size(b) else None, ("M", "a", "b"))
    start = None
    if warmstart is not None:
        start = reg * (_checks.numbers(warmstart[1], "warmstart", finite=False) + _log_of(q))
        start = np.where(q > 0, start, 0.0) if start.shape == q.shape else start
    found = _transport(cost, p, q, reg, start, settings)
    _tell("unbalanced", [found], verbose, True)
    plan = found["plan"].astype(kind, copy=False)
    if not log:
        return plan
    told = _log([found], reg, False, kind)
    # POT's scalings are those of a b' exp(-M/reg).
    told["logu"] = told["log_u"] = told["log_u"] - _log_of(p)
    told["logv"] = told["log_v"] = told["log_v"] - _log_of(q)
    told["warmstart"] = (told["log_u"], told["log_v"])
    with np.errstate(over="ignore"):
        told["u"], told["v"] = np.exp(told["log_u"]), np.exp(told["log_v"])
    told["cost"] = found["cost"]
    total = found["cost"] + reg * _divergence(found["plan"], np.outer(p, q))
    for tau, sums, weights in ((tau_a, found["plan"].sum(1), p), (tau_b, found["plan"].sum(0), q)):
        total += tau * _divergence(sums, weights) if np.isfinite(tau) else 0.0
    told["total_cost"] = total
    return plan, told


def relative_entropy(x: Any, w: Any) -> float:
    """sum x ln(x/w); w is positive where x is."""
    some = x > 0
    return float(np.sum(x[some] * np.log(x[some] / w[some])))


def _divergence(x: Any, w: Any) -> float:
    """KL(x | w) = sum x ln(x/w) - x + w."""
    return relative_entropy(x, w) - float(x.sum()) + float(w.sum())


def _finite(tau: float) -> float:
    """0 keeps sums exact, in the library."""
    return 0.0 if np.isinf(tau) else float(tau)


def _log_of(weights: Any) -> Any:
    return np.log(weights, where=weights > 0, out=np.zeros(len(weights)))


def _positive(reg: Any) -> None:
    if np.ndim(reg) != 0 or np.asarray(reg).dtype.kind not in "iuf":
        raise TypeError(f"reg: {reg!r} is not a number")
    if not 0 < reg < np.inf:
        raise ValueError(f"reg: {reg} is not a positive number; remblai.emd solves without entropy")


def _settings(
    method: str, known: tuple[str, ...], numItermax: int, stopThr: float, kwargs: dict[str, Any]
) -> dict[str, Any]:
    _calls.require_known(kwargs, ["n_threads"])
    method = method.lower()
    if method not in known + _OWN:
        raise ValueError(f"method: '{method}' is not one of {', '.join(known + _OWN)}")
    return {
        "solver": "auto" if method in known else method,
        "tolerance": float(stopThr),
        "max_passes": min(int(numItermax), 2**31 - 1),
        "threads": _checks.threads(kwargs.get("n_threads")),
    }


def _solve(
    a: ArrayLike, b: ArrayLike, M: ArrayLike, reg: float, log_v: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """What the library found, for the mass of a and b."""
    cost, p, q = problem(M, a if np.size(a) else None, b if np.size(b) else None, ("M", "a", "b"))
    require_equal_sums(p, q)
    total = float(p.sum())
    start = None
    if log_v is not None:
        # -inf belongs to a column without weight, which takes no part.
        start = reg * np.where(q > 0, log_v, 0.0) if log_v.shape == q.shape else log_v
    found = _transport(cost, p, q, reg, start, settings)
    if total != 1:
        found["f"] = found["f"] + reg * np.log(total)
        found.update({name: total * found[name] for name in ("plan", "cost", "gap")})
    return found


def _transport(cost: Any, p: Any, q: Any, reg: float, start: Any, settings: Any) -> dict[str, Any]:
    if not isinstance(settings["threads"], (int, np.integer)):
        raise ValueError(f"n_threads: {settings['threads']!r} is not a whole number")
    with _calls.spelled(NAMES):
        found = solve(cost, p, q, float(reg), start=start, **settings)
    if found["error"] is not None:
        raise found["error"]
    return found


def _tell(name: str, found: list[dict[str, Any]], verbose: bool, warn: bool) -> None:
    worst = max(solved["errors"][-1] for solved in found)
    iterations = max(solved["iterations"] for solved in found)
    if verbose:
        print("It.  |Err         ")
        for number, error in enumerate(_errors(found)):
            print(f"{number:5d}|{error:8e}|")
    if warn and not all(solved["converged"] for solved in found):
        _calls.warn(
            f"remblai.{name} missed its marginals by {worst:.1e} after {iterations} iterations; "
            "raise numItermax or reg"
        )


def _errors(found: list[dict[str, Any]]) -> list[float]:
    """The largest error of all columns of b; one that is done stays where it is."""
    steps = max(len(solved["errors"]) for solved in found)
    padded = [
        solved["errors"] + (steps - len(solved["errors"])) * solved["errors"][-1:]
        for solved in found
    ]
    return [max(errors) for errors in zip(*padded)]


def _log(found: list[dict[str, Any]], reg: float, losses: bool, kind: Any) -> dict[str, Any]:
    """POT's keys. u and v overflow where reg is small; their logarithms do not."""
    log_u, log_v = (
        (
            np.stack([solved[name] / reg for solved in found], axis=-1)
            if losses
            else found[0][name] / reg
        )
        for name in ("f", "g")
    )
    with np.errstate(over="ignore"):
        u, v = np.exp(log_u).astype(kind, copy=False), np.exp(log_v).astype(kind, copy=False)
    return {
        "err": _errors(found),
        "niter": max(solved["iterations"] for solved in found),
        "log_u": log_u,
        "log_v": log_v,
        "u": u,
        "v": v,
        "warmstart": (log_u, log_v),
        "gap": max(solved["gap"] for solved in found),
        "converged": all(solved["converged"] for solved in found),
    }
