"""The library as functions: fit, load, one transport problem."""

from __future__ import annotations

import copyreg
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from . import _calls, _checks, _core
from ._arrays import on_gpu, on_processor
from ._progress import Progress

#: Default of every option, as the library has it: those of a fit, and those of a prediction. None
#: is one that depends on the method.
DEFAULTS: dict[str, Any] = {option["name"]: option["default"] for option in _core.options()}
PREDICTION: dict[str, Any] = {
    option["name"]: option["default"] for option in _core.prediction_options()
}


def options(method: str | None = None) -> list[dict[str, Any]]:
    """Every option of `fit`: its name, default, choices (None for a number) and what it is. A
    default of None depends on the method; where a `method` is given, defaults are those it has."""
    listed = _core.options()
    if method is not None:
        defaults = _core.resolved_options({"method": method})
        for option in listed:
            option["default"] = defaults[option["name"]]
    return listed


@_calls.by_name
def fit(
    *,
    Xs: ArrayLike,
    Xt: ArrayLike,
    ys: ArrayLike | None = None,
    yt: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    source_weights: ArrayLike | None = None,
    target_weights: ArrayLike | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    start: _core.Model | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    comm: Any = None,
    **keywords: Any,
) -> _core.Model:
    """Learns a transport plan from Xs to Xt and the ground metric it uses.

    Points are rows. Labels are whole numbers. `yt` is kept in the model and never fitted with. The
    `method` "paper", the default, needs no labels; `ys` serves prediction alone. The method
    "class-aware" is fitted with `ys`, and with `known_labels` where labels of a few target points
    are known: one for each target point, NaN or -1 where there is none.

    Other keywords are the options of the library: see `options()`. None keeps a default. `prior`
    and `metric` may also be symmetric positive definite matrices, and `target_shares` one number
    for each class of the source, in ascending order of the labels.

    `start` is a model of the same points to begin from, fitted with any options. A model that has
    not converged brings a warning; its `status` and `reason` say why.

    `comm` is a communicator of mpi4py whose ranks fit together. Each gives its own rows of Xs, ys
    and source_weights, for which `share_of` is the best choice, and all of the rest. The model has
    the source points of its rank; `Model.gathered` brings them together. Where one rank refuses what
    it was given, or its `callback` raises, all ranks raise. Needs a build with MPI.

    `checkpoint` is a .npz file that keeps the state of the fit. Where it is there, left by a fit
    of the same data and options that was killed, this one goes on from it.

    `callback` is called with a dict (step, steps, objective, seconds, ...) after every step, and
    about ten times a second inside long ones; it returns False to stop. After Ctrl-C, or an
    exception of the callback, the exception is raised and has the state reached as its attribute
    `model`.
    """
    names = _checks.column_names(Xs)

    def checked() -> tuple[Any, Any, dict[str, Any]]:
        known = [*DEFAULTS, "known_labels", "source_weights", "target_weights"]
        _calls.require_known(keywords, known)
        if start is not None and not isinstance(start, _core.Model):
            raise TypeError(f"start: {type(start).__name__}; give a model, as fit returns it")
        if callback is not None and not callable(callback):
            raise TypeError(
                f"callback: {type(callback).__name__}; give a function that takes a dict, or none"
            )
        source = _checks.points(Xs, "Xs", least=1 if comm is None else 0)
        target = _checks.points(Xt, "Xt")
        _checks.same_features(source, target)
        _checks.same_columns(Xt, "Xt", names, "Xs")
        some = len(source) > 0  # a rank may have none
        given = _checks.labels(ys, len(source), "ys") if some else None
        return (
            source,
            target,
            {
                "ys": given,
                "yt": _checks.target_labels(yt, len(target), "yt", given, fitted_with=False),
                "source_weights": (
                    _checks.weights(source_weights, len(source), "source_weights") if some else None
                ),
                "target_weights": _checks.weights(target_weights, len(target), "target_weights"),
                "known_labels": _checks.target_labels(
                    known_labels, len(target), "known_labels", given, fitted_with=True
                ),
            },
        )

    source, target, more = _checks.agreed(comm, checked)
    _checks.require_known_labels(more["ys"], "ys", comm)
    model, error = run(
        source,
        target,
        **more,
        features=names,
        callback=callback,
        start=start,
        checkpoint=checkpoint,
        verbose=verbose,
        comm=comm,
        keywords=keywords,
    )
    if error is not None:
        error.model = model
        raise error
    if model.status not in ("converged", "stopped"):
        _calls.warn(f"{model.status}: {model.reason}", ConvergenceWarning)
    return model


def run(
    Xs: Any,
    Xt: Any,
    *,
    ys: Any = None,
    yt: Any = None,
    source_weights: Any = None,
    target_weights: Any = None,
    known_labels: Any = None,
    features: Iterable[str] = (),
    callback: Callable[[dict[str, Any]], Any] | None = None,
    start: _core.Model | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
    comm: Any = None,
    keywords: dict[str, Any],
    names: dict[str, str] = {},
) -> tuple[_core.Model, Any]:
    """fit without its checks, on arrays that passed them: the model, and what stopped it or None.
    `names` is how the caller spells options in messages."""

    def ready() -> tuple[_core.Problem, dict[str, Any], str | None]:
        problem = _core.Problem(
            _checks.for_core(Xs),
            _checks.for_core(Xt),
            ys,
            yt,
            source_weights,
            target_weights,
            known_labels,
            list(features),
        )
        kept = None if checkpoint is None else _checks.path(checkpoint, "checkpoint")
        return problem, prepared(keywords), kept

    problem, options, kept = _checks.agreed(comm, ready)
    _checks.leave_out_weightless(options, ys, source_weights, comm)
    if comm is None:
        _calls.warn_of(len(Xs), len(Xt), ys)
    speaks = comm is None or comm.rank == 0
    with Progress(verbose and speaks, callback) as watch, _calls.spelled(names):
        ranks = None if comm is None else comm.py2f()
        model, error = _core.fit(problem, options, watch, start, kept, ranks)
    return model, _checks.fault_of_ranks(comm, error)


def prepared(keywords: dict[str, Any]) -> dict[str, Any]:
    """Options as the compiled module reads them."""
    keywords = {key: _plain(value) for key, value in keywords.items()}
    if "threads" in keywords:
        keywords["threads"] = _checks.threads(keywords["threads"])
    for key in ("prior", "metric"):
        if np.ndim(keywords.get(key, "")) == 2:
            keywords[key] = _checks.core_points(keywords[key], key)
    if np.ndim(keywords.get("target_shares", "")) > 0:
        keywords["target_shares"] = _checks.shares(keywords["target_shares"], "target_shares")
    return keywords


class Score(NamedTuple):
    """How many of the points whose true label is known were labelled right."""

    scored: int  #: points with a known label
    correct: int
    unknown: int  #: points without one; they do not count

    @property
    def accuracy(self) -> float:
        """correct / scored; NaN when no label is known."""
        return self.correct / self.scored if self.scored else float("nan")


def evaluate(predicted: ArrayLike, truth: ArrayLike) -> Score:
    """Scores whole-number labels. A true label that is NaN or -1 is unknown and not scored; but
    where all labels are -1 and 1, as two classes are often called, -1 is one."""
    count = len(np.asarray(on_processor(truth)))
    found = _checks.labels(predicted, count, "predicted")
    known = _checks.labels(truth, count, "truth", unknown=True)
    assert found is not None and known is not None
    if {*found.tolist(), *known.tolist()} != {-1, 1}:
        return Score(*_core.evaluate(found, known))
    there = ~np.isnan(np.asarray(on_processor(truth), dtype=np.float64)).ravel()
    return Score(int(there.sum()), int((there & (found == known)).sum()), int((~there).sum()))


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def load(path: str | os.PathLike[str]) -> _core.Model:
    """A model from the file that `Model.save` or the command line wrote."""
    return _core.load(_checks.path(path))


class Plan(NamedTuple):
    """A solved transport problem: min <G, cost> + lambda sum G ln G, the sums of G being given or,
    where they are relaxed, pulled towards the weights."""

    plan: _checks.Float  #: G, m x n
    f: _checks.Float  #: potentials: G = exp((f_i + g_j - cost_ij)/lambda)
    g: _checks.Float
    cost: float  #: <G, cost>
    gap: float  #: upper bound of the distance to the optimum
    source_error: float  #: L1 error of the row sums
    target_error: float  #: L1 error of the column sums
    passes: int  #: sweeps over the matrix
    converged: bool

    def __repr__(self) -> str:
        m, n = self.plan.shape
        error = max(self.source_error, self.target_error)
        return (
            f"<remblai.Plan: {m} x {n}, cost {self.cost:.6g}, gap at most {self.gap:.1e}, error of "
            f"the sums {error:.1e}, {'converged' if self.converged else 'not converged'}>"
        )


def transport(
    cost: ArrayLike,
    p: ArrayLike | None = None,
    q: ArrayLike | None = None,
    *,
    lambda_: float,
    **keywords: Any,
) -> Plan:
    """Entropic transport for one cost matrix. Weights are normalised; none are uniform ones.
    lambda_ is in the units of the cost. Other keywords: tolerance, max_passes, solver, precision,
    threads, device.

    A cost matrix on a GPU (of PyTorch, CuPy or JAX) is solved there and never copied to the
    processor, unless a weight is 0 or `device` is "cpu". `stay` then leaves the plan on the GPU, as
    an object for torch.from_dlpack and its like.

    `relax_source` and `relax_target` are weights of KL(row sums | p) and KL(column sums | q), in
    units of the cost, which take the place of exact sums; 0 keeps them exact. Weights are then used
    as they are. With both it is ot.unbalanced.sinkhorn_unbalanced(p, q, cost, lambda_,
    (relax_source, relax_target))."""
    if not lambda_ > 0:
        raise ValueError(f"lambda_: {lambda_} is not positive; `exact` solves without entropy")
    _calls.require_known(
        keywords,
        [
            "tolerance",
            "max_passes",
            "solver",
            "precision",
            "threads",
            "device",
            "relax_source",
            "relax_target",
            "stay",
        ],  # fmt: skip
    )
    if "threads" in keywords:
        keywords["threads"] = _checks.threads(keywords["threads"])
    with _calls.spelled({"source_weights": "p", "target_weights": "q"}):
        found = solve(*problem(cost, p, q), float(lambda_), **keywords)
    if found["error"] is not None:
        raise found["error"]
    return Plan(**{name: found[name] for name in Plan._fields})


def exact(a: ArrayLike, b: ArrayLike, M: ArrayLike) -> Plan:
    """Exact transport for one cost matrix, by the network simplex method; arguments in the order of
    ot.emd. Weights are normalised; empty ones are uniform. `emd` returns the plan alone."""
    if np.ndim(a) > 1 and np.ndim(M) <= 1:
        raise ValueError("a: a matrix; the cost is the third argument: exact(a, b, M)")
    M = on_processor(M)
    arrays = problem(M, a if np.size(a) else None, b if np.size(b) else None, ("M", "a", "b"))
    with _calls.spelled({"source_weights": "a", "target_weights": "b", "cost": "M"}):
        found = _core.exact(*arrays)
    return Plan(**found, source_error=0.0, target_error=0.0, passes=0, converged=True)


def problem(
    cost: ArrayLike,
    p: ArrayLike | None,
    q: ArrayLike | None,
    names: tuple[str, str, str] = ("cost", "p", "q"),
) -> tuple[_checks.Float, _checks.Float, _checks.Float]:
    """Cost and weights, checked, as the compiled module reads them. Costs on a GPU stay there."""
    there = on_gpu(cost)
    if there is not None and len(there.shape) != 2:
        raise ValueError(f"{names[0]}: an array of shape {tuple(there.shape)}; give a matrix")
    cost = _checks.core_points(cost, names[0]) if there is None else there
    rows, columns = cost.shape
    p = uniform(rows) if p is None else _checks.weights(p, rows, names[1])
    q = uniform(columns) if q is None else _checks.weights(q, columns, names[2])
    return cost, p, q  # type: ignore[return-value]


def solve(
    cost: Any, p: _checks.Float, q: _checks.Float, lambda_: float, stay: bool = False,
    **settings: Any,
) -> dict[str, Any]:  # fmt: skip
    """What the compiled module finds for a checked problem, on the GPU where its costs are."""
    there = not isinstance(cost, np.ndarray)
    if there and settings.get("device") != "cpu" and min(p.min(), q.min()) > 0:
        return _core.transport_on_gpu(cost, p, q, lambda_, stay=stay, **settings)
    if stay:
        raise ValueError(
            "stay: the plan can only stay where the costs are on a GPU, no weight is 0, and device "
            "is not 'cpu'"
        )
    cost = _checks.core_points(cost, "cost") if there else cost
    return _core.transport(cost, p, q, lambda_, **settings)


def require_equal_sums(a: _checks.Float, b: _checks.Float) -> None:
    total, other = float(np.sum(a)), float(np.sum(b))
    if not np.isclose(total, other, rtol=1e-6):
        raise ValueError(
            f"a and b: their sums differ ({total:.9g} and {other:.9g}); divide each by its sum, or "
            "use remblai.unbalanced"
        )


def uniform(count: int) -> _checks.Float:
    return np.full(count, 1 / max(1, count))


# A model is pickled as the bytes of its file.


def _to_bytes(model: _core.Model) -> tuple[Callable[[bytes], _core.Model], tuple[bytes]]:
    with tempfile.TemporaryDirectory(prefix="remblai-") as folder:
        path = pathlib.Path(folder, "model.npz")
        model.save(path)
        return _from_bytes, (path.read_bytes(),)


def _from_bytes(content: bytes) -> _core.Model:
    with tempfile.TemporaryDirectory(prefix="remblai-") as folder:
        path = pathlib.Path(folder, "model.npz")
        path.write_bytes(content)
        return _core.load(path)


def _classes_of(model: _core.Model) -> _core.ClassModel | None:
    return model.classes


def _owner(classes: _core.ClassModel) -> tuple[Callable[..., Any], tuple[Any]]:
    return _classes_of, (getattr(classes, "_model"),)


copyreg.pickle(_core.Model, _to_bytes)
copyreg.pickle(_core.ClassModel, _owner)  # with its model
