"""What the two estimators share: parameters, fitting, and the answers of a fitted model."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _calls, _checks, _core, _metric
from ._arrays import on_processor
from ._functions import DEFAULTS, run

#: Options of the library that an estimator calls by the names of POT and scikit-learn.
NAMES = {
    "lambda_": "reg_e",
    "geodesic": "t",
    "steps": "max_iter",
    "outer_tolerance": "tol",
    "tolerance": "inner_tol",
    "threads": "n_threads",
    "neighbours": "n_neighbors",
    "known_labels": "yt_known",
    "seed": "random_state",
}
#: Options that keep their name.
SAME = (
    "method", "prior", "prior_ridge", "ridge", "preprocess", "solver", "precision", "device",
    "acceleration",
    "opinion", "smoothing", "kernel_width", "share_prior", "translation", "caution",
    "target_shares", "landmarks",
)  # fmt: skip

PARAMETERS = """
    method : {"class-aware", "paper"}
        "class-aware" learns plan, metric and class shares with a classifier of the source, and
        needs labels there. "paper" is Algorithm 1 as published. Each has its own defaults for
        `reg_e`, `prior`, `prior_ridge`, `ridge` and `max_iter`, which stand behind None: see
        `remblai.options(method)`.
    reg_e : float or None
        Entropy weight. 0 is exact transport.
    relative : bool
        reg_e is a multiple of the mean cost: between the centred clouds under the first metric or,
        class-aware, between the moved clouds of each step. Else it is in units of the cost.
    norm : {None, "mean", "median", "max"}
        When given, `relative` is not read. "median" and "max", of the method "paper" alone: reg_e
        is a multiple of this cost under the first metric; POT divides its costs by it, which is
        the same. "mean" is the unit of `relative`, where each cloud is measured from its own mean.
    metric : {"learned", "identity", "w", "w-inverse"} or array of shape (d, d)
        Learned, or fixed: w is X'X + Z'Z. "sqeuclidean", POT's name, is "identity".
    prior : {"auto", "identity", "w", "w-inverse", "spread"} or array of shape (d, d)
        D, towards which the metric is drawn. "spread" is the mean covariance of the two domains.
    prior_ridge : float or None
        Ridge that makes w definite, times trace(w)/d; the same for "spread", times its own unit.
    t : float
        Weight of the geodesic, 1/2 in the paper.
    ridge : float or None
        Ridge on the second moment of displacements, times its mean eigenvalue. As it grows, the
        metric tends to the Euclidean one.
    max_iter : int or None
        Most outer steps. The class-aware method makes exactly so many.
    tol : float
        A step that changes squared distances by less than this share is the last.
    inner_tol : float
        L1 error of both marginals of the plan.
    preprocess : {"none", "l2", "zscore", "centre", "standardise", "hellinger"}
        What happens to the points first: unit length; columns to mean 0 and deviation 1 over both
        domains; each domain to its own mean, or to its own standard scores; square roots of the
        shares of a histogram. Mapped points have length 1 after l2 and are shares after hellinger.
    opinion : float
        Class-aware: weight of the classifier's opinion in the cost of the plan, in units of reg_e.
    smoothing : float
        Class-aware: ridge of the kernel classifiers.
    kernel_width : float
        Class-aware: width of the Gaussian kernels, times the mean cost; half of it and twice as
        much are tried too.
    share_prior : float
        Class-aware: points that every class of the target is given beforehand.
    translation : {"auto", "no", "yes"}
        Class-aware: whether the source is first moved onto the mean of the target.
    caution : {"auto", "cautious", "bold"}
        Class-aware: whether class shares stay near those of the source where the classifier is not
        reliable.
    target_shares : {"estimated", "source", "uniform"} or array of shape (n_classes,)
        Class-aware: class shares of the target, estimated or known; an array follows the labels of
        the source in ascending order.
    landmarks : int
        Class-aware: points up to which kernel systems are solved exactly; beyond, so many stand for
        all.
    device : {"auto", "cpu", "cuda", "cuda:1", ...}
        Where plans and large products are made: `remblai.devices()` lists what there is. "auto"
        takes a GPU where there is one and the problem is large enough.
    solver, precision, acceleration
        As in the command line: see `remblai.options()`.
    random_state : int, RandomState, Generator or None
        The start of the paper's method: another number than 0 perturbs it at random. None is 0.
    n_threads : int or None
        Of the fit. None, 0 and -1 are one for each core, -2 is one less. Give 1 where joblib runs
        fits side by side.
    warm_start : bool
        fit again begins at the plan of the last fit, where the points are the same: after Ctrl-C,
        or along a path of parameters. Other points bring a warning and a fresh start.
    checkpoint : path or None
        A file that keeps the state of a fit. One that was killed goes on from it when it is asked
        for again with the same data and parameters.
    verbose : bool
        Shows progress: a bar where tqdm is installed."""

ATTRIBUTES = """
    model_ : remblai.Model
        Everything; its `save` writes the file that the command line reads.
    metric_ : array of shape (d, d)
        A, made when asked for.
    components_ : array of shape (d, d)
        L with A = L'L, made when asked for.
    coupling_ : array of shape (m, n)
        The plan, made when asked for.
    history_ : dict of arrays
        One entry a step: objective, transport_cost, marginal errors, seconds, ...
    status_ : str
        "converged", "iteration-limit", "stopped" or "diverged".
    cost_ : array of shape (m, n)
        The cost of every pair under which the plan is the best, made when asked for: squared
        distances and, class-aware, the terms of the classes, whatever `norm` is.
    transport_cost_ : float
        <plan, cost> at the end.
    log_ : dict
        In the manner of POT's logs: `err` (of the sums of the plan) and `loss` after each step,
        `niter`, `log_u` and `log_v`.
    n_iter_ : int
        Outer steps made.
    shares_ : array of shape (n_classes,)
        Class-aware: estimated share of each of `classes_` in the target.
    source_shares_ : array of shape (n_classes,)
        Class-aware: the same of the source.
    reliability_ : float
        Class-aware: between 0 and 1, found without target labels; labels are doubtful below 0.8,
        which brings a warning.
    trust_ : array of shape (n_classes,)
        Class-aware: how much of the move of each class by itself is kept, between 0 (its share
        alone changed) and 1."""


class GroundMetric(BaseEstimator):
    """Base of both estimators."""

    model_: _core.Model
    history_: dict[str, NDArray[Any]]
    status_: str
    transport_cost_: float
    n_iter_: int
    classes_: NDArray[Any]

    #: Whether labels of the model are those of `classes_`; else their places there.
    _whole: bool
    #: Which source points have a label, where those without one are not in the model.
    _took_part: NDArray[np.bool_] | None = None

    #: How messages spell what the library calls otherwise.
    _names = NAMES
    #: Whether the model has the source points of one rank of several.
    _divided = False

    # ---- fitting

    def _require_divisible(self, comm: Any) -> None:
        """Raises where several ranks cannot do what the parameters ask for."""
        if comm is None:
            return
        if self.norm in ("median", "max"):
            raise ValueError(
                f"norm: '{self.norm}' is found among all pairs, which no rank has; give "
                "norm='mean', or leave comm out"
            )

    def _learn(self, Xs: Any, Xt: Any, **arrays: Any) -> tuple[_core.Model, Any]:
        """The model of arrays that are checked, and what stopped it or None. Changes nothing
        here."""

        def asked() -> tuple[dict[str, Any], float | None]:
            keywords = self._options()
            return keywords, self._unit(Xs, Xt, keywords, arrays)

        keywords, unit = _checks.agreed(arrays["comm"], asked)
        if unit is not None:
            keywords.update(lambda_=keywords["lambda_"] * unit, lambda_unit="absolute")
        arrays.update(verbose=self.verbose, keywords=keywords, names=self._names)
        arrays["features"] = list(getattr(self, "feature_names_in_", ()))
        arrays["checkpoint"] = self.checkpoint
        start = getattr(self, "model_", None) if self.warm_start else None
        try:
            return run(Xs, Xt, **arrays, start=start)
        except _calls.Refused as refused:
            if start is None or refused.field != "start":
                raise
            message = (
                "warm_start: the last fit had other points, weights or preprocessing; starting anew"
            )
            _calls.warn(message)
            return run(Xs, Xt, **arrays)

    def _finish(self, error: Any) -> None:
        """The last thing that a fit does, when all that was reached is kept."""
        if error is not None:
            raise error
        if self.status_ != "converged":
            reason = self.model_.reason_with(self._names)
            _calls.warn(f"{self.status_}: {reason}", ConvergenceWarning)
        for warning in self.model_.warnings(self._names):
            _calls.warn(warning)

    def _columns(self, values: Any, name: str, *, first: bool = False) -> None:
        """Notes the names of the columns at the `first` points, and compares those of others."""
        fitted = hasattr(self, "feature_names_in_")
        if not first and bool(_checks.column_names(values)) != fitted:
            has = "does not have valid feature names" if fitted else "has feature names"
            was = "with" if fitted else "without"
            _calls.warn(f"{name} {has}, but {type(self).__name__} was fitted {was} feature names")
            return
        try:
            validate_data(self, values, reset=first, skip_check_array=True)
        except ValueError as refused:
            raise ValueError(f"{name}: {_calls.printable(str(refused))}") from None

    def _options(self) -> dict[str, Any]:
        """The options of the library that the parameters stand for."""
        keywords = {option: getattr(self, option) for option in SAME}
        for option, parameter in NAMES.items():
            if option in DEFAULTS:
                keywords[option] = getattr(self, parameter)
        keywords["seed"] = _checks.seed(self.random_state)
        keywords["lambda_unit"] = "relative" if self.relative else "absolute"
        known = isinstance(self.metric, str) and self.metric == "sqeuclidean"
        keywords["metric"] = "identity" if known else self.metric
        return keywords

    def _unit(self, Xs: Any, Xt: Any, keywords: Any, arrays: Any) -> float | None:
        """The cost that reg_e is a multiple of, where the library does not know it by itself."""
        if self.norm is None:
            return None
        if self.norm == "mean":
            keywords["lambda_unit"] = "relative"
            return None
        if self.norm not in ("median", "max"):
            raise ValueError(
                f"norm: '{self.norm}' is not one of mean, median, max; a cost that is not a "
                "multiple of the squared distance has no metric to learn"
            )
        if self.method == "class-aware":
            raise ValueError(
                f"norm: '{self.norm}' does not go with the class-aware method, in which every step "
                "has a unit of its own; give norm='mean', or method='paper'"
            )
        if keywords["lambda_"] is None:
            keywords["lambda_"] = _core.resolved_options({})["lambda_"]
        weight = keywords["lambda_"]
        if not isinstance(weight, (int, float, np.number)) or not weight > 0:
            return None  # it is 0, or the library says what is wrong with it
        # One step with much entropy is the first metric and a plan that costs nothing.
        first = {**keywords, "lambda_": 100.0, "lambda_unit": "relative", "steps": 1}
        model, error = run(Xs, Xt, **arrays, keywords=first, names=self._names)
        if error is not None:
            raise error
        squared = model.distances(_checks.for_core(Xs), _checks.for_core(Xt)) ** 2
        unit = float(np.median(squared) if self.norm == "median" else np.max(squared))
        return unit if unit > 0 else 1.0

    def _keep(self, model: _core.Model, kind: Any, comm: Any = None) -> None:
        self._divided = comm is not None and comm.size > 1
        report = json.loads(model.report())
        steps = report["history"]
        self.model_ = model
        self.history_ = {
            name: np.array([np.nan if step[name] is None else step[name] for step in steps])
            for name in (steps[0] if steps else ())
        }
        self.status_ = model.status
        cost = report["transport_cost"]
        self.transport_cost_ = float("nan") if cost is None else cost
        self._kind = kind  # that of the points, and of what is made of them
        self.n_iter_ = len(steps)
        self._made: dict[str, Any] = {}

    # ---- answers

    @property
    def shares_(self) -> _checks.Float:
        """The share of each class in the target, as a class-aware fit estimates it."""
        return self._of_classes("shares")

    @property
    def source_shares_(self) -> _checks.Float:
        """The share of each class in the source."""
        return self._of_classes("source_shares")

    @property
    def reliability_(self) -> float:
        """Between 0 and 1: the smallest of the leave-one-out accuracy on the source and every round
        trip, in which a classifier of the guessed target labels labels the source."""
        return self._of_classes("reliability")

    @property
    def trust_(self) -> _checks.Float:
        """How much of the move of each class by itself is kept, between 0 and 1."""
        return self._of_classes("trust")

    def _of_classes(self, name: str) -> Any:
        check_is_fitted(self, "model_")
        if self.model_.classes is None:
            raise AttributeError(f"{name}_: a fit with method='class-aware' has it")
        found = getattr(self.model_.classes, name)
        if np.ndim(found) == 0:
            return found
        return self._for_every_class(found, self.model_.classes.classes)

    def _for_every_class(self, values: NDArray[Any], found: Any) -> NDArray[Any]:
        """One entry, or column, for each of `classes_`: 0 for those that are not among the labels
        `found` in the model, to which the values belong."""
        if len(found) == len(self.classes_):
            return values
        numbers = self.classes_.astype(np.int64) if self._whole else np.arange(len(self.classes_))
        every = np.zeros((*values.shape[:-1], len(numbers)), dtype=values.dtype)
        every[..., np.searchsorted(numbers, found)] = values
        return every

    def _of_those_fitted(self, ys: ArrayLike) -> ArrayLike:
        """Labels of the source points that are in the model, given for these or for all."""
        _checks.require_unmasked(ys, "ys")
        if self._took_part is None or np.shape(ys)[:1] != self._took_part.shape:
            return ys
        return np.asarray(on_processor(ys))[self._took_part]

    @property
    def cost_(self) -> NDArray[Any]:
        """The cost of every pair, m x n."""
        return self._once("cost", lambda: _metric.costs(self.model_))

    @property
    def log_(self) -> dict[str, Any]:
        """What there is to say of the fit, in the manner of POT's logs."""
        check_is_fitted(self, "model_")
        history, model = self.history_, self.model_
        errors = np.maximum(history["source_error"], history["target_error"]) if history else []
        told = {
            "err": list(errors),
            "niter": self.n_iter_,
            "loss": list(history.get("objective", ())),
        }
        if model.lambda_ > 0:
            told.update(log_u=model.f / model.lambda_, log_v=model.g / model.lambda_)
        return told

    @property
    def coupling_(self) -> NDArray[Any]:
        """The plan, m x n."""
        return self._once("coupling", lambda: self.model_.plan())

    @property
    def metric_(self) -> NDArray[Any]:
        """A, d x d, in the coordinates of the points given (after l2: of points of length 1)."""
        return self._once("metric", lambda: _metric.matrix(self.model_))

    @property
    def components_(self) -> NDArray[Any]:
        """L with A = L'L, d x d: X @ components_.T has Euclidean distances that are those of A."""
        return self._once("components", lambda: _metric.components(self.model_))

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        check_is_fitted(self, "model_")
        if name not in self._made:
            made = make()
            self._made[name] = (
                made.astype(self._kind, copy=False) if isinstance(made, np.ndarray) else made
            )
        return self._made[name]

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        if self._divided:
            raise TypeError(
                "it has the source points of its rank alone; `save` gathers them into a file"
            )
        state = dict(super().__getstate__())
        if "_made" in state:
            state["_made"] = {}
        return state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model into a file that `remblai.load` and the command line read. Parameters of
        the estimator are not in it: pickle has those too. After a fit by several ranks all of them
        call this, and the first writes the source points of all."""
        check_is_fitted(self, "model_")
        whole = self._to_write()
        if whole is not None:
            whole.save(path)

    def _to_write(self) -> _core.Model | None:
        """The model with all source points, gathered where there are several ranks; None on those
        that write nothing. All ranks call it."""
        if not self._divided:
            return self.model_
        whole = self.model_.gathered()
        return whole if len(whole.f) > 0 else None

    def report(
        self, path: str | os.PathLike[str], *, yt: ArrayLike | None = None, title: str = ""
    ) -> None:
        """Writes the page of `remblai report`: one file for a browser. `yt`, the true labels of the
        target points, are shown and scored; NaN or -1 is a label that is not known."""
        check_is_fitted(self, "model_")
        page: dict[str, Any] = {"title": title} if title else {}
        page.update(self._labels_to_show(yt))
        whole = self._to_write()
        if whole is not None:
            _core.write_text(_checks.path(path), whole.html(names=self._names, **page))

    def _labels_to_show(self, yt: ArrayLike | None) -> dict[str, Any]:
        return {"target_labels": _checks.labels(yt, len(self.model_.g), "yt", unknown=True)}

    def get_mahalanobis_matrix(self) -> NDArray[Any]:
        """A, as in metric-learn."""
        return self.metric_

    def get_metric(self) -> Callable[..., float]:
        """A function of two points, as scikit-learn takes for `metric=`. It does not change when
        the estimator is fitted again. For many points, Euclidean distances of X @ components_.T are
        faster."""
        check_is_fitted(self, "model_")
        return functools.partial(_metric.point_distance, self.model_)

    def pair_distance(self, pairs: ArrayLike) -> _checks.Float:
        """Distances of pairs of points, given as an array of shape (n, 2, d)."""
        check_is_fitted(self, "model_")
        array = _checks.array(
            pairs, "pairs", dtype=np.float64, allow_nd=True, ensure_2d=False
        )
        d = len(self.model_.metric_origin)
        if array.ndim != 3 or array.shape[1:] != (2, d):
            raise ValueError(f"pairs: an array of shape {array.shape}; it must be (n, 2, {d})")
        return _metric.pair_distance(self.model_, array[:, 0], array[:, 1])
