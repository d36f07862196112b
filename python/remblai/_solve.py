"""Exact transport with the signatures of POT's ot.emd and ot.emd2, and ot.solve, which chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _checks
from ._arrays import on_processor
from ._functions import exact, problem, require_equal_sums
from ._sinkhorn import relative_entropy, sinkhorn
from ._sinkhorn import unbalanced as relaxed


def emd(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    numItermax: int = 100000,
    log: bool = False,
    center_dual: bool = True,
    numThreads: int = 1,
    check_marginals: bool = True,
    potentials_init: None = None,
) -> Any:
    """The exact plan min <G, M> with marginals a and b; with `log` also a dict with cost and
    potentials (u, v), as ot.emd. The network simplex method always ends at the optimum on one
    thread, so `numItermax` and `numThreads` change nothing. `potentials_init` is there for POT's
    order alone."""
    _checks.require_nothing(potentials_init, "potentials_init")
    plan, told = _exact(a, b, M, center_dual, check_marginals)
    return (plan, told) if log else plan


def emd2(
    a: ArrayLike,
    b: ArrayLike,
    M: ArrayLike,
    processes: int = 1,
    numItermax: int = 100000,
    log: bool = False,
    return_matrix: bool = False,
    center_dual: bool = True,
    numThreads: int = 1,
    check_marginals: bool = True,
    potentials_init: None = None,
) -> Any:
    """The exact cost <G, M>, as ot.emd2: a number, or a list of one for each column of b. With
    `log` or `return_matrix` each is [cost, dict], and the dict has the plan `G` where it is asked
    for."""
    _checks.require_nothing(potentials_init, "potentials_init")
    columns = np.asarray(on_processor(b))
    each = columns.T if columns.ndim == 2 else [columns]
    kind = _checks.result_type(a, b, M)
    found: list[Any] = []
    for one in each:
        plan, told = _exact(a, one, M, center_dual, check_marginals)
        if return_matrix:
            told["G"] = plan
        cost = kind(told["cost"])
        found.append([cost, told] if log or return_matrix else cost)
    return found if columns.ndim == 2 else found[0]


def _exact(
    a: Any, b: Any, M: Any, center_dual: bool, check_marginals: bool
) -> tuple[Any, dict[str, Any]]:
    kind = _checks.result_type(a, b, M)
    M = on_processor(M)
    M, a, b = problem(M, a if np.size(a) else None, b if np.size(b) else None, ("M", "a", "b"))
    if check_marginals:
        require_equal_sums(a, b)
    total = float(np.sum(a))
    found = exact(a, b, M)
    u, v = found.f, found.g
    if center_dual:
        middle = (a @ u - b @ v) / (a.sum() + b.sum())
        u, v = u - middle, v + middle
    told = {
        "cost": total * found.cost,
        "u": u.astype(kind, copy=False),
        "v": v.astype(kind, copy=False),
        "warning": None,
        "result_code": 1,
    }
    return (total * found.plan).astype(kind, copy=False), told


class Solution:
    """What `solve` found, with the attributes of POT's OTResult."""

    def __init__(
        self,
        plan: NDArray[Any],
        value: float,
        value_linear: float,
        potentials: tuple[NDArray[Any], NDArray[Any]],
        status: str,
        log: dict[str, Any],
    ) -> None:
        self.plan = plan  #: G, m x n
        self.value = value  #: what is minimised
        self.value_linear = value_linear  #: <G, M>
        self.potentials = potentials  #: as POT has them: divided by reg where there is one
        self.status = status  #: "Converged", or what is missing
        self.log = log  #: that of emd, sinkhorn or unbalanced

    @property
    def potential_a(self) -> NDArray[Any]:
        return self.potentials[0]

    @property
    def potential_b(self) -> NDArray[Any]:
        return self.potentials[1]

    @property
    def marginal_a(self) -> NDArray[Any]:
        """Row sums of the plan."""
        return self.plan.sum(axis=1)

    @property
    def marginal_b(self) -> NDArray[Any]:
        """Column sums of the plan."""
        return self.plan.sum(axis=0)

    @property
    def marginals(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.marginal_a, self.marginal_b

    @property
    def sparse_plan(self) -> Any:
        """The plan as a sparse matrix; of use where it is exact."""
        import scipy.sparse  # a package that scikit-learn brings

        return scipy.sparse.csr_matrix(self.plan)

    def __repr__(self) -> str:
        m, n = self.plan.shape
        return (
            f"<remblai.Solution: plan {m} x {n}, value {self.value:.6g}, value_linear "
            f"{self.value_linear:.6g}, {self.status}>"
        )


def solve(
    M: ArrayLike,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    reg: float | None = None,
    c: ArrayLike | None = None,
    reg_type: str = "KL",
    unbalanced: float | tuple[float, float] | None = None,
    unbalanced_type: str = "KL",
    method: str | None = None,
    n_threads: int | None = None,
    max_iter: int | None = None,
    plan_init: None = None,
    potentials_init: None = None,
    tol: float | None = None,
    verbose: bool = False,
    grad: str = "autodiff",
) -> Solution:
    """One transport problem, with the arguments of ot.solve: exact where `reg` is None or 0,
    entropic else, with relaxed sums where `unbalanced` is given. The value has `reg` times KL(G | a
    b'), or times sum G ln G where `reg_type` is "entropy"; the plan is the same. None of max_iter
    and tol is POT's default; `method` may be that of `sinkhorn`. `plan_init`, `potentials_init` and
    `grad` are there for POT's order alone."""
    for name, value in (("plan_init", plan_init), ("potentials_init", potentials_init)):
        _checks.require_nothing(value, name)
    if grad != "autodiff":
        raise ValueError(f"grad: {grad!r}; results are NumPy's and have no gradients, leave it out")
    a, b = ([] if weights is None else weights for weights in (a, b))
    if c is not None or reg_type.lower() not in ("kl", "entropy"):
        raise ValueError(
            f"reg_type: '{reg_type}'; there are KL and entropy, measured against a b' alone"
        )
    if unbalanced is not None:
        if unbalanced_type.lower() != "kl" or reg_type.lower() != "kl":
            raise ValueError("unbalanced_type, reg_type: relaxed sums go with KL and KL alone")
        if not reg:
            raise ValueError("reg: relaxed sums need a positive one")
        settings = _given(method=method, numItermax=max_iter, stopThr=1e-9 if tol is None else tol)
        plan, told = relaxed(
            a, b, M, reg, unbalanced, log=True, verbose=verbose, n_threads=n_threads, **settings
        )
        return Solution(
            plan, told["total_cost"], told["cost"], told["warmstart"], _status(told), told
        )
    if not reg:
        plan, told = emd(a, b, M, log=True)
        return Solution(plan, told["cost"], told["cost"], (told["u"], told["v"]), "Converged", told)
    settings = _given(method=method, numItermax=max_iter, stopThr=tol)
    plan, told = sinkhorn(a, b, M, reg, log=True, verbose=verbose, n_threads=n_threads, **settings)
    linear = float(np.sum(plan * np.asarray(on_processor(M), dtype=np.float64)))
    if reg_type.lower() == "entropy":
        value = linear + reg * float(np.sum(plan[plan > 0] * np.log(plan[plan > 0])))
    else:
        value = linear + reg * relative_entropy(plan, np.outer(plan.sum(axis=1), plan.sum(axis=0)))
    return Solution(plan, value, linear, told["warmstart"], _status(told), told)


def _status(told: dict[str, Any]) -> str:
    return "Converged" if told["converged"] else f"sums missed by {told['err'][-1]:.1e}"


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}
