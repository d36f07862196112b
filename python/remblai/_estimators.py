"""The estimators: GroundMetricTransport in the manner of POT, GroundMetricClassifier in that of
scikit-learn. Defaults are those of the library, but the classifier is class-aware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _checks, _core, _labels, _metric
from ._base import ATTRIBUTES, NAMES, PARAMETERS, GroundMetric
from ._functions import DEFAULTS, PREDICTION

_FLOATS = [np.float64, np.float32]


class GroundMetricTransport(GroundMetric):
    __doc__ = f"""Domain adaptation by transport with a learned ground metric, called as POT's
    transports are: `GroundMetricTransport(reg_e=0.2).fit(Xs=Xs, ys=ys, Xt=Xt).transform(Xs=Xs)`.

    Parameters
    ----------{PARAMETERS}
    out_of_sample_map : {{"continuous", "ferradans"}}
        How points that were not fitted move: by the plan's own formula, or by the displacement of the
        nearest fitted point (in the learned metric).
    distribution_estimation : callable or None
        Weights of points from the points; None weighs all the same.

    Attributes
    ----------{ATTRIBUTES}
    xs_ : array of shape (m, d)
        The source points fitted.
    xt_ : array of shape (n, d)
        The target points fitted.
    """

    @_checks.known_keywords
    def __init__(
        self,
        reg_e: float | None = DEFAULTS["lambda_"],
        *,
        method: str = DEFAULTS["method"],
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
        out_of_sample_map: str = "continuous",
        distribution_estimation: Callable[[Any], Any] | None = None,
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
        seed: int = DEFAULTS["seed"],
        n_threads: int = DEFAULTS["threads"],
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.reg_e = reg_e
        self.method = method
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
        self.out_of_sample_map = out_of_sample_map
        self.distribution_estimation = distribution_estimation
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
        self.seed = seed
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.verbose = verbose

    @_checks.all_or_nothing
    @_checks.by_name
    def fit(
        self,
        *,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        yt_known: ArrayLike | None = None,
    ) -> GroundMetricTransport:
        """Learns plan and metric from Xs and Xt. By the method "paper" labels change neither: whole
        numbers in `ys` go into the model, for `model_.predict`. The method "class-aware" is fitted
        with labels of any kind in `ys`, and with those of a few target points in `yt_known`, one
        for each target point: NaN, None or -1 where it is not known. Known labels in `yt` bring a
        warning."""
        self._way()
        source, target = _checks.points(Xs, "Xs", copy=True), _checks.points(Xt, "Xt", copy=True)
        _checks.same_features(source, target)
        self._columns(Xs, first=True)
        self._columns(Xt)
        if ys is not None:
            ys = _checks.of_points(ys, len(source), "ys")
        coded = None
        if yt_known is not None or self.method == "class-aware":
            if ys is None:
                raise ValueError(
                    "ys: the class-aware method needs a label for each source point; pass ys="
                )
            coded = _labels.coded(ys, "ys", yt_known, len(target))
            ys = coded.source
        elif ys is not None:
            ys = _checks.labels(ys, len(source), "ys") if ys.dtype.kind in "iub" else None
        if yt is not None and _labels.is_known(_checks.of_points(yt, len(target), "yt")).any():
            _checks.warn("yt is not used: labels of the target to fit with are given as yt_known")
        estimate = self.distribution_estimation
        model, error = self._learn(
            source,
            target,
            ys=ys,
            known_labels=coded and coded.known,
            source_weights=estimate and _checks.weights(estimate(source), len(source), "source weights"),
            target_weights=estimate and _checks.weights(estimate(target), len(target), "target weights"),
        )
        self.xs_, self.xt_ = source, target
        self.__dict__.pop("classes_", None)
        if coded is not None:
            self.classes_ = coded.classes
        self._keep(model)
        self._finish(error)
        return self

    def _way(self) -> str:
        if self.out_of_sample_map not in ("continuous", "ferradans"):
            raise ValueError(
                f"out_of_sample_map: '{self.out_of_sample_map}' is not one of continuous, ferradans"
            )
        return self.out_of_sample_map

    @_checks.by_name
    def fit_transform(
        self,
        *,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        yt_known: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """fit, then where the source points go."""
        return self.fit(Xs=Xs, ys=ys, Xt=Xt, yt=yt, yt_known=yt_known).transform(Xs=Xs)

    def transform(self, Xs: ArrayLike | None = None) -> NDArray[Any]:
        """Source points into the target domain: those that were fitted, or any others."""
        points = self._points(Xs, "Xs")
        if _same(points, self.xs_):
            return _checks.like(self.model_.map(), points)
        if self._way() == "continuous":
            return _checks.like(self.model_.map(points), points)
        return self._moved(points, "source", self.model_.map(), self.model_.source_points)

    def inverse_transform(self, Xt: ArrayLike | None = None) -> NDArray[Any]:
        """Target points into the source domain."""
        points = self._points(Xt, "Xt")
        if _same(points, self.xt_):
            return _checks.like(self.model_.map_back(), points)
        if self._way() == "continuous":
            return _checks.like(self.model_.map_back(points), points)
        return self._moved(points, "target", self.model_.map_back(), self.model_.target_points)

    def _moved(self, points: Any, role: _metric.Role, mapped: Any, prepared: Any) -> NDArray[Any]:
        """By the displacement of the nearest fitted point, between preprocessed coordinates."""
        model = self.model_
        other: _metric.Role = "target" if role == "source" else "source"
        moves = _metric.inside(model, mapped, other) - prepared
        inside = _metric.preprocessed(model, _checks.for_core(points), role)
        moved = inside + moves[self._nearest(inside, prepared)]
        return _checks.like(_metric.restored(model, moved, other), points)

    def transform_labels(self, ys: ArrayLike) -> _checks.Float:
        """Soft labels of the fitted target points, (n, classes): the share of each class (in ascending
        order) in the mass that a point receives."""
        check_is_fitted(self, "model_")
        return _shares(self.coupling_, ys, "ys")

    def inverse_transform_labels(self, yt: ArrayLike) -> _checks.Float:
        """Soft labels of the fitted source points, (m, classes)."""
        check_is_fitted(self, "model_")
        return _shares(self.coupling_.T, yt, "yt")

    def _points(self, values: ArrayLike | None, name: str) -> NDArray[Any]:
        check_is_fitted(self, "model_")
        points = _checks.points(values, name)
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{name}: points have {points.shape[1]} features, the fitted ones {self.n_features_in_}"
            )
        self._columns(values)
        return points

    def _nearest(self, inside: Any, prepared: Any) -> NDArray[np.intp]:
        """Between preprocessed points of one domain; the library compares two, in given
        coordinates."""
        a = _metric.restored(self.model_, inside, "source")
        b = _metric.restored(self.model_, prepared, "target")
        parts = [self.model_.distances(part, b).argmin(axis=1) for part in _batches(a, len(b))]
        return np.concatenate(parts)


def _base_has(name: str) -> Callable[[Any], bool]:
    """Whether what a classifier predicts with has this method."""

    def check(self: Any) -> bool:
        fitted = getattr(self, "estimator_", None)
        base = self.base_estimator if fitted is None else fitted
        return name == "predict_proba" if base is None else hasattr(base, name)

    return check


class GroundMetricClassifier(ClassifierMixin, GroundMetric):
    __doc__ = f"""A classifier for a target domain without labels: `fit(X, y, Xt=Xt)` carries the labels
    of X over to Xt, `predict` answers for any points of the target domain. Without Xt the source is its
    own target. `GroundMetricClassifier(method="paper")` is the method as published.

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
    Xt and yt_known are asked for without `set_fit_request`.
    """

    __metadata_request__fit = {"Xt": True, "yt_known": True}

    @_checks.known_keywords
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
        seed: int = DEFAULTS["seed"],
        n_threads: int = DEFAULTS["threads"],
        warm_start: bool = False,
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
        self.seed = seed
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.verbose = verbose

    @_checks.all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        Xt: ArrayLike | None = None,
        yt_known: ArrayLike | None = None,
    ) -> GroundMetricClassifier:
        """Learns plan and metric from the points X, with labels y, to the points Xt, without.
        Labels of a few target points that may be used are given as `yt_known`, one for each target
        point: NaN, None or -1 where it is not known. The method "paper" cannot use them."""
        source, labels = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=2)
        target = source
        if Xt is not None:
            target = _checks.points(Xt, "Xt")
            _checks.same_features(source, target, "X")
            self._columns(Xt)
        coded = _labels.coded(labels, "y", yt_known, len(target))
        self._check_answers(len(labels))
        model, error = self._learn(source, target, ys=coded.source, known_labels=coded.known)
        fitted = None
        if self.base_estimator is not None:
            fitted = clone(self.base_estimator).fit(model.map(), labels)
        self.classes_, self.estimator_, self._whole = coded.classes, fitted, coded.whole
        self._keep(model)
        self._finish(error)
        return self

    def _check_answers(self, count: int) -> None:
        """Raises unless a fit to so many points can answer as the parameters ask."""
        if self.base_estimator is None:
            with _checks.spelled(NAMES):
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
    def mapped_(self) -> _checks.Float:
        """The source points, moved into the target domain."""
        return self._once("mapped", lambda: self.model_.map())

    estimator_: Any

    def _points(self, X: ArrayLike) -> Any:
        check_is_fitted(self, "model_")
        return validate_data(self, X, dtype=_FLOATS, reset=False)

    def _rule(self) -> _core.Predictor:
        options = self._prediction()
        with _checks.spelled(NAMES):
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
        if len(found) == len(self.classes_):
            return probabilities
        # A class whose points have no mass in the plan is no neighbour.
        numbers = self.classes_.astype(np.int64) if self._whole else np.arange(len(self.classes_))
        whole = np.zeros((len(probabilities), len(numbers)))
        whole[:, np.searchsorted(numbers, found)] = probabilities
        return whole

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of labels that are right, among points whose label in y is known: NaN, None and -1
        are not, unless they are classes."""
        check_is_fitted(self, "model_")
        truth = column_or_1d(np.asarray(y))
        known = np.flatnonzero(_labels.is_known(truth, self.classes_))
        if len(known) == len(truth):
            return float(super().score(X, y, sample_weight))
        if len(known) == 0:
            raise ValueError(f"y: none of its {len(truth)} labels is known, so there is nothing to score")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        labels = np.array(truth[known].tolist())
        return float(super().score(_safe_indexing(X, known), labels, weights))

    @available_if(_base_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> _checks.Float:
        """What base_estimator says."""
        points = self._points(X)
        return self.estimator_.decision_function(_metric.beside_mapped(self.model_, points))


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or (a.shape == b.shape and bool(np.array_equal(a, b)))


def _shares(plan: NDArray[Any], labels: ArrayLike, name: str) -> _checks.Float:
    """Rows of the plan are points with these labels; the result has a row for each column."""
    classes, codes = np.unique(_checks.of_points(labels, len(plan), name), return_inverse=True)
    mass = plan.T @ np.eye(len(classes))[codes]
    return mass / np.maximum(mass.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _batches(points: Any, others: int) -> Iterator[Any]:
    """Rows, so many at a time that the distances to `others` points take 64 MB."""
    rows = max(1, int(8e6 / max(1, others)))
    for first in range(0, len(points), rows):
        yield points[first : first + rows]
