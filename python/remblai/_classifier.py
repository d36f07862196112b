"""The estimator in the manner of scikit-learn. Defaults are those of the library, but it is
class-aware."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from . import _calls, _checks, _core, _labels, _metric
from ._arrays import on_processor
from ._base import ATTRIBUTES, NAMES, PARAMETERS, GroundMetric
from ._functions import DEFAULTS, PREDICTION

_FLOATS = [np.float64, np.float32]


def _base_has(name: str) -> Callable[[Any], bool]:
    """Whether what a classifier predicts with has this method."""

    def check(self: Any) -> bool:
        fitted = getattr(self, "estimator_", None)
        base = self.base_estimator if fitted is None else fitted
        return name == "predict_proba" if base is None else hasattr(base, name)

    return check


class GroundMetricClassifier(ClassifierMixin, GroundMetric):
    __doc__ = f"""A classifier for a target domain without labels: `fit(X, y, Xt=Xt)` carries the
    labels of X over to Xt, `predict` answers for any points of the target domain. Without Xt the
    source is its own target. `GroundMetricClassifier(method="paper")` is the method as published.

    Parameters
    ----------
    base_estimator : scikit-learn classifier or None
        Fitted on the mapped source points. None answers by the `rule`.
    rule : {{"auto", "head", "nearest", "propagate"}}
        "head": the calibrated classifier of a class-aware fit, with source and target points behind
        it. "nearest": neighbours among the mapped source points. "propagate": through the plan.
        "auto" is "nearest" where `n_neighbors` or `knn_metric` is given or the method is "paper",
        else "head".
    n_neighbors : int or None
        k of the rule "nearest"; None is 1.
    knn_metric : {{"model", "euclidean"}} or None
        Metric of the rule "nearest"; None is "model", the learned one.{PARAMETERS}

    Attributes
    ----------{ATTRIBUTES}
    classes_ : array
        The labels there are, ascending.
    mapped_ : array of shape (m, d)
        The source points, moved into the target domain.
    estimator_ : the fitted base_estimator, or None

    Notes
    -----
    In GridSearchCV scikit-learn cuts every fit argument that has as many rows as X into folds with
    it, so an Xt of just that length is cut too. Where metadata routing is on (skada turns it on),
    Xt, yt_known, target_weight and comm are asked for without `set_fit_request`; sample_weight
    needs it, as everywhere in scikit-learn.
    """

    __metadata_request__fit = {"Xt": True, "yt_known": True, "target_weight": True, "comm": True}

    _names = {
        **NAMES,
        "Xs": "X",
        "ys": "y",
        "source_weights": "sample_weight",
        "target_weights": "target_weight",
    }

    @_calls.known_keywords
    def __init__(
        self,
        base_estimator: Any = None,
        *,
        rule: str = PREDICTION["rule"],
        n_neighbors: int | None = None,
        knn_metric: str | None = None,
        method: str = "class-aware",
        reg_e: float | None = DEFAULTS["lambda_"],
        relative: bool = True,
        norm: str | None = None,
        metric: Any = DEFAULTS["metric"],
        prior: Any = DEFAULTS["prior"],
        prior_ridge: float | None = DEFAULTS["prior_ridge"],
        t: float = DEFAULTS["geodesic"],
        ridge: float | None = DEFAULTS["ridge"],
        max_iter: int | None = DEFAULTS["steps"],
        tol: float = DEFAULTS["outer_tolerance"],
        inner_tol: float = DEFAULTS["tolerance"],
        preprocess: str = DEFAULTS["preprocess"],
        opinion: float = DEFAULTS["opinion"],
        smoothing: float = DEFAULTS["smoothing"],
        kernel_width: float = DEFAULTS["kernel_width"],
        share_prior: float = DEFAULTS["share_prior"],
        translation: str = DEFAULTS["translation"],
        caution: str = DEFAULTS["caution"],
        target_shares: Any = DEFAULTS["target_shares"],
        landmarks: int = DEFAULTS["landmarks"],
        solver: str = DEFAULTS["solver"],
        precision: str = DEFAULTS["precision"],
        device: str = DEFAULTS["device"],
        acceleration: str = DEFAULTS["acceleration"],
        random_state: Any = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        self.base_estimator = base_estimator
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.knn_metric = knn_metric
        self.method = method
        self.reg_e = reg_e
        self.relative = relative
        self.norm = norm
        self.metric = metric
        self.prior = prior
        self.prior_ridge = prior_ridge
        self.t = t
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.inner_tol = inner_tol
        self.preprocess = preprocess
        self.opinion = opinion
        self.smoothing = smoothing
        self.kernel_width = kernel_width
        self.share_prior = share_prior
        self.translation = translation
        self.caution = caution
        self.target_shares = target_shares
        self.landmarks = landmarks
        self.solver = solver
        self.precision = precision
        self.device = device
        self.acceleration = acceleration
        self.random_state = random_state
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose

    @_calls.all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        Xt: ArrayLike | None = None,
        yt_known: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        target_weight: ArrayLike | None = None,
        comm: Any = None,
    ) -> GroundMetricClassifier:
        """Learns plan and metric from the points X, with labels y, to the points Xt, without.
        Labels of a few target points that may be used are given as `yt_known`, one for each target
        point. The method "paper" cannot use them. `sample_weight` and `target_weight` are weights
        of the points of X and Xt; where X is its own target, the first are both.

        NaN, None and -1 are labels that are not known (-1 is a class where the labels are -1 and
        1). Points of X without a label are no source points; where there is no Xt, they are target
        points along with the others.

        `comm` is a communicator of mpi4py whose ranks fit together. Each gives its own rows of X, y
        and sample_weight, for which `share_of` is the best choice, and all of Xt. All ranks call
        `predict`, with the same points, and `save`."""

        def checked() -> tuple[Any, Any]:
            self._require_divisible(comm)
            if comm is not None and Xt is None:
                raise ValueError(
                    "Xt: each rank has all target points beside its own of X; pass Xt="
                )
            if comm is not None and self.base_estimator is not None:
                raise ValueError(
                    "base_estimator: it is fitted with all mapped points, which no rank has; leave "
                    "it or comm out"
                )
            _checks.require_unmasked(y, "y")
            _checks.require_numbers(X, "X")
            least = 2 if comm is None else 0
            with _checks.called("X"):
                every = validate_data(
                    self, on_processor(X), dtype=_FLOATS, ensure_min_samples=least
                )
            if y is None:
                raise ValueError(
                    "y: it requires y to be passed, but the target y is None; pass labels of X"
                )
            given = column_or_1d(on_processor(y), warn=True)
            return every, _checks.of_points(given, len(every), "y")

        every, labels = _checks.agreed(comm, checked)
        labels, took_part = _labels.of_known(labels, "y", _labels.of_ranks(comm, labels))
        source = every if took_part.all() else every[took_part]
        weights = _checks.agreed(
            comm, lambda: _checks.weights(sample_weight, len(every), "sample_weight")
        )
        if Xt is None and target_weight is None:
            target_weight = weights
        if weights is not None:
            weights = np.ascontiguousarray(weights[took_part])

        def checked_target() -> tuple[Any, Any]:
            target = every
            if Xt is not None:
                target = _checks.points(Xt, "Xt")
                _checks.same_features(source, target, "X")
                self._columns(Xt, "Xt")
            return target, _checks.weights(target_weight, len(target), "target_weight")

        target, target_weights = _checks.agreed(comm, checked_target)
        classes = _labels.classes_of_ranks(comm, labels)
        count = len(labels) if comm is None else sum(comm.allgather(len(labels)))
        coded = _checks.agreed(
            comm, lambda: _labels.coded(labels, "y", yt_known, len(target), classes)
        )
        _checks.agreed(comm, lambda: self._check_answers(count))
        model, error = self._learn(
            source,
            target,
            ys=coded.source if len(source) > 0 else None,
            known_labels=coded.known,
            source_weights=weights if len(source) > 0 else None,
            target_weights=target_weights,
            comm=comm,
        )
        fitted = None
        if self.base_estimator is not None:
            fitted = clone(self.base_estimator)
            weighed = weights is not None and has_fit_parameter(fitted, "sample_weight")
            mapped = _checks.like(model.map(), source)
            fitted.fit(mapped, labels, **({"sample_weight": weights} if weighed else {}))
        self.classes_, self.estimator_, self._whole = coded.classes, fitted, coded.whole
        self._took_part = took_part
        self._keep(model, every.dtype, comm)
        self._finish(error)
        return self

    def _check_answers(self, count: int) -> None:
        """Raises unless a fit to so many points can answer as the parameters ask."""
        if self.base_estimator is None:
            with _calls.spelled(self._names):
                _core.check_prediction(count, self.method == "class-aware", **self._prediction())
            return
        if not is_classifier(self.base_estimator):
            raise ValueError(f"base_estimator: {self.base_estimator!r} is not a classifier")
        for name, nothing in (("rule", "auto"), ("n_neighbors", None), ("knn_metric", None)):
            if getattr(self, name) not in (nothing, None):
                raise ValueError(
                    f"{name}: it has no meaning where a base_estimator answers; leave it out"
                )

    def _prediction(self) -> dict[str, Any]:
        """The options of the library's rules."""
        options = {"rule": self.rule, "neighbours": self.n_neighbors, "knn_metric": self.knn_metric}
        return {name: value for name, value in options.items() if value is not None}

    def _labels_to_show(self, yt: ArrayLike | None) -> dict[str, Any]:
        if self._whole:
            return {**super()._labels_to_show(yt), **self._prediction()}
        shown = {"class_names": dict(enumerate(map(str, self.classes_))), **self._prediction()}
        if yt is None:
            return shown
        truth = _labels.places(yt, len(self.model_.g), "yt", self.classes_)
        return {**shown, "target_labels": truth}

    @property
    def mapped_(self) -> NDArray[Any]:
        """The source points, moved into the target domain."""
        return self._once("mapped", lambda: self.model_.map())

    estimator_: Any

    def _points(self, X: ArrayLike) -> Any:
        check_is_fitted(self, "model_")
        _checks.require_numbers(X, "X")
        with _checks.called("X"):
            return validate_data(self, on_processor(X), dtype=_FLOATS, reset=False)

    def _rule(self) -> _core.Predictor:
        options = self._prediction()
        with _calls.spelled(self._names):
            return self._once(f"rule {options}", lambda: _core.Predictor(self.model_, **options))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of target points."""
        points = self._points(X)
        if self.estimator_ is not None:
            return self.estimator_.predict(_metric.beside_mapped(self.model_, points))
        labels = self._rule()(points)
        return labels.astype(self.classes_.dtype) if self._whole else self.classes_[labels]

    @available_if(_base_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> _checks.Float:
        """The probability of each class: calibrated by the head, its share among the neighbours or
        in the mass that the plan sends, or what base_estimator says."""
        points = self._points(X)
        if self.estimator_ is not None:
            return self.estimator_.predict_proba(_metric.beside_mapped(self.model_, points))
        found, probabilities = self._rule().probabilities(points)
        probabilities = _checks.like(probabilities, points)
        # A class whose points have no mass in the plan is no neighbour.
        return self._for_every_class(probabilities, found)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of labels that are right, among points whose label in y is known: NaN, None and
        -1 are not, unless they are classes."""
        check_is_fitted(self, "model_")
        _checks.require_unmasked(y, "y")
        _checks.require_unmasked(sample_weight, "sample_weight")
        X, y, sample_weight = (on_processor(given) for given in (X, y, sample_weight))
        truth = column_or_1d(np.asarray(y))
        known = np.flatnonzero(_labels.is_known(truth, self.classes_))
        if len(known) == len(truth):
            return float(super().score(X, y, sample_weight))
        if len(known) == 0:
            raise ValueError(
                f"y: none of its {len(truth)} labels is known, so there is nothing to score"
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        labels = np.array(truth[known].tolist())
        return float(super().score(_safe_indexing(X, known), labels, weights))

    @available_if(_base_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> _checks.Float:
        """What base_estimator says."""
        points = self._points(X)
        return self.estimator_.decision_function(_metric.beside_mapped(self.model_, points))
