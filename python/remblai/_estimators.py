"""The estimators: GroundMetricTransport in the manner of POT, GroundMetricClassifier in that of
scikit-learn. Defaults are those of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _checks, _core, _metric
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
        reg_e: float = DEFAULTS["lambda_"],
        *,
        relative: bool = True,
        norm: str | None = None,
        metric: Any = DEFAULTS["metric"],
        prior: Any = DEFAULTS["prior"],
        prior_ridge: float = DEFAULTS["prior_ridge"],
        t: float = DEFAULTS["geodesic"],
        ridge: float = DEFAULTS["ridge"],
        max_iter: int = DEFAULTS["steps"],
        tol: float = DEFAULTS["outer_tolerance"],
        inner_tol: float = DEFAULTS["tolerance"],
        out_of_sample_map: str = "continuous",
        distribution_estimation: Callable[[Any], Any] | None = None,
        preprocess: str = DEFAULTS["preprocess"],
        solver: str = DEFAULTS["solver"],
        precision: str = DEFAULTS["precision"],
        acceleration: str = DEFAULTS["acceleration"],
        seed: int = DEFAULTS["seed"],
        n_threads: int = DEFAULTS["threads"],
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
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
        self.out_of_sample_map = out_of_sample_map
        self.distribution_estimation = distribution_estimation
        self.preprocess = preprocess
        self.solver = solver
        self.precision = precision
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
    ) -> GroundMetricTransport:
        """Learns plan and metric from Xs and Xt. Labels change neither: whole numbers in `ys` go into
        the model, for `model_.predict`, and known labels in `yt` (not -1 or NaN) bring a warning."""
        self._way()
        source, target = _checks.points(Xs, "Xs", copy=True), _checks.points(Xt, "Xt", copy=True)
        _checks.same_features(source, target)
        self._columns(Xs, first=True)
        self._columns(Xt)
        if ys is not None:
            ys = _checks.of_points(ys, len(source), "ys")
            ys = _checks.labels(ys, len(source), "ys") if ys.dtype.kind in "iub" else None
        if yt is not None and _known(_checks.of_points(yt, len(target), "yt")).any():
            _checks.warn("yt is not used: target labels play no part in this method")
        estimate = self.distribution_estimation
        model, error = self._learn(
            source,
            target,
            ys=ys,
            source_weights=estimate and _checks.weights(estimate(source), len(source), "source weights"),
            target_weights=estimate and _checks.weights(estimate(target), len(target), "target weights"),
        )
        self.xs_, self.xt_ = source, target
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
    ) -> NDArray[Any]:
        """fit, then where the source points go."""
        return self.fit(Xs=Xs, ys=ys, Xt=Xt, yt=yt).transform(Xs=Xs)

    def transform(self, Xs: ArrayLike | None = None) -> NDArray[Any]:
        """Source points into the target domain: those that were fitted, or any others."""
        points = self._points(Xs, "Xs")
        if _same(points, self.xs_):
            return _checks.like(self.model_.map(), points)
        if self._way() == "continuous":
            return _checks.like(self.model_.map(points), points)
        return self._moved(points, self.xs_, self.model_.map(), self.model_.source_points)

    def inverse_transform(self, Xt: ArrayLike | None = None) -> NDArray[Any]:
        """Target points into the source domain."""
        points = self._points(Xt, "Xt")
        if _same(points, self.xt_):
            return _checks.like(self.model_.map_back(), points)
        if self._way() == "continuous":
            return _checks.like(self.model_.map_back(points), points)
        return self._moved(points, self.xt_, self.model_.map_back(), self.model_.target_points)

    def _moved(self, points: Any, fitted: Any, mapped: Any, prepared: Any) -> NDArray[Any]:
        """By the displacement of the nearest fitted point, between preprocessed coordinates."""
        model = self.model_
        # What l2 mapped is in its coordinates already.
        ends = mapped if model.options["preprocess"] == "l2" else _metric.preprocessed(model, mapped)
        moves = (ends - prepared)[self._nearest(points, fitted)]
        moved = _metric.preprocessed(model, _checks.for_core(points)) + moves
        return _checks.like(_metric.restored(model, moved), points)

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

    def _nearest(self, points: Any, fitted: Any) -> NDArray[np.intp]:
        rows = _batches(points, len(fitted))
        fitted = _checks.for_core(fitted)
        return np.concatenate([self.model_.distances(part, fitted).argmin(axis=1) for part in rows])


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
    own target.

    Parameters
    ----------
    base_estimator : scikit-learn classifier or None
        Fitted on the mapped source points. None is the nearest-neighbour rule in the learned metric.
    n_neighbors : int
        k of that rule.
    knn_metric : {{"model", "euclidean"}}
        Metric of that rule.{PARAMETERS}

    Attributes
    ----------{ATTRIBUTES}
    classes_ : array
        The labels there are.
    mapped_ : array of shape (m, d)
        The source points, moved into the target domain.
    estimator_ : the fitted base_estimator, or None

    Notes
    -----
    In GridSearchCV scikit-learn cuts every fit argument that has as many rows as X into folds with it,
    so an Xt of just that length is cut too. Where metadata routing is on (skada turns it on), Xt is asked
    for without `set_fit_request`.
    """

    __metadata_request__fit = {"Xt": True}

    @_checks.known_keywords
    def __init__(
        self,
        base_estimator: Any = None,
        *,
        n_neighbors: int = PREDICTION["neighbours"],
        knn_metric: str = PREDICTION["knn_metric"],
        reg_e: float = DEFAULTS["lambda_"],
        relative: bool = True,
        norm: str | None = None,
        metric: Any = DEFAULTS["metric"],
        prior: Any = DEFAULTS["prior"],
        prior_ridge: float = DEFAULTS["prior_ridge"],
        t: float = DEFAULTS["geodesic"],
        ridge: float = DEFAULTS["ridge"],
        max_iter: int = DEFAULTS["steps"],
        tol: float = DEFAULTS["outer_tolerance"],
        inner_tol: float = DEFAULTS["tolerance"],
        preprocess: str = DEFAULTS["preprocess"],
        solver: str = DEFAULTS["solver"],
        precision: str = DEFAULTS["precision"],
        acceleration: str = DEFAULTS["acceleration"],
        seed: int = DEFAULTS["seed"],
        n_threads: int = DEFAULTS["threads"],
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.base_estimator = base_estimator
        self.n_neighbors = n_neighbors
        self.knn_metric = knn_metric
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
        self.solver = solver
        self.precision = precision
        self.acceleration = acceleration
        self.seed = seed
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.verbose = verbose

    @_checks.all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, Xt: ArrayLike | None = None) -> GroundMetricClassifier:
        """Learns plan and metric from the points X, with labels y, to the points Xt, without."""
        if self.base_estimator is not None and not is_classifier(self.base_estimator):
            raise ValueError(f"base_estimator: {self.base_estimator!r} is not a classifier")
        source, labels = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=2)
        check_classification_targets(labels)
        target = source
        if Xt is not None:
            target = _checks.points(Xt, "Xt")
            _checks.same_features(source, target, "X")
            self._columns(Xt)
        classes, codes = np.unique(labels, return_inverse=True)
        # Whole numbers are labels of the model too; others go into it as their places in classes_.
        whole = classes.dtype.kind in "iub"
        numbers = _checks.labels(labels if whole else codes, len(labels), "y")
        if self.base_estimator is None:
            with _checks.spelled(NAMES):
                _core.check_prediction(len(labels), **self._prediction())
        model, error = self._learn(source, target, ys=numbers)
        fitted = None
        if self.base_estimator is not None:
            fitted = clone(self.base_estimator).fit(model.map(), labels)
        self.classes_, self.estimator_, self._whole = classes, fitted, whole
        self._keep(model)
        self._finish(error)
        return self

    def _prediction(self) -> dict[str, Any]:
        """The options of the library's nearest-neighbour rule."""
        return {"neighbours": self.n_neighbors, "knn_metric": self.knn_metric}

    def _labels_to_show(self, yt: ArrayLike | None) -> dict[str, Any]:
        if self._whole:
            return {**super()._labels_to_show(yt), **self._prediction()}
        shown = {"class_names": dict(enumerate(map(str, self.classes_))), **self._prediction()}
        if yt is None:
            return shown
        given = _checks.of_points(yt, len(self.model_.g), "yt")
        known = _known(given, self.classes_)
        classes = self.classes_.tolist()
        if not set(given[known].tolist()) <= set(classes):
            raise ValueError(f"yt: labels that the source has not; it has {list(self.classes_)}")
        places = np.full(len(given), -1, dtype=np.int64)
        places[known] = [classes.index(label) for label in given[known].tolist()]
        return {**shown, "target_labels": places}

    @property
    def mapped_(self) -> _checks.Float:
        """The source points, moved into the target domain."""
        return self._once("mapped", lambda: self.model_.map())

    estimator_: Any

    def _points(self, X: ArrayLike) -> Any:
        check_is_fitted(self, "model_")
        return validate_data(self, X, dtype=_FLOATS, reset=False)

    def _neighbours(self) -> _core.Predictor:
        return self._once("neighbours", lambda: self._rule())

    def _rule(self) -> _core.Predictor:
        with _checks.spelled(NAMES):
            return _core.Predictor(self.model_, **self._prediction())

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of target points."""
        points = self._points(X)
        if self.estimator_ is not None:
            return self.estimator_.predict(_metric.beside_mapped(self.model_, points))
        labels = self._neighbours()(points)
        return labels.astype(self.classes_.dtype) if self._whole else self.classes_[labels]

    @available_if(_base_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> _checks.Float:
        """The share of each class among the neighbours, or what base_estimator says."""
        points = self._points(X)
        if self.estimator_ is not None:
            return self.estimator_.predict_proba(_metric.beside_mapped(self.model_, points))
        return self._neighbours().votes(points)[1]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of labels that are right, among points whose label in y is known: NaN, None and -1
        are not, unless they are classes."""
        check_is_fitted(self, "model_")
        truth = column_or_1d(np.asarray(y))
        known = np.flatnonzero(_known(truth, self.classes_))
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


def _known(labels: NDArray[Any], classes: NDArray[Any] | tuple[()] = ()) -> NDArray[np.bool_]:
    """Which are neither NaN, None nor -1. A class of the source is a label, whatever it is called."""
    there = set(np.asarray(classes).tolist())
    return np.array(
        [label in there or (label is not None and label == label and label != -1) for label in labels.tolist()],
        dtype=bool,
    )


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
