"""The estimators: GroundMetricTransport in the manner of POT, GroundMetricClassifier in that of
scikit-learn. Defaults are those of the library."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import euclidean_distances
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _checks, _metric
from ._base import ATTRIBUTES, PARAMETERS, GroundMetric
from ._functions import DEFAULTS

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
    xs_, xt_ : arrays
        The points fitted.
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

    def fit(
        self,
        *,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
    ) -> GroundMetricTransport:
        """Learns plan and metric from Xs and Xt. Labels change neither: `ys` is checked for its length
        only, and known labels in `yt` (not -1 or NaN) bring a warning."""
        if self.out_of_sample_map not in ("continuous", "ferradans"):
            raise ValueError(
                f"out_of_sample_map: '{self.out_of_sample_map}' is not one of continuous, ferradans"
            )
        Xs, Xt = _checks.points(Xs, "Xs"), _checks.points(Xt, "Xt")
        _checks.same_features(Xs, Xt)
        for labels, points, name in ((ys, Xs, "ys"), (yt, Xt, "yt")):
            if labels is not None and len(np.asarray(labels)) != len(points):
                raise ValueError(f"{name}: {len(np.asarray(labels))} labels for {len(points)} points")
        if yt is not None and _any_known(np.asarray(yt)):
            warnings.warn("yt is not used: target labels play no part in this method", stacklevel=2)
        estimate = self.distribution_estimation
        self._learn(
            Xs,
            Xt,
            source_weights=estimate and _checks.weights(estimate(Xs), len(Xs), "source weights"),
            target_weights=estimate and _checks.weights(estimate(Xt), len(Xt), "target weights"),
        )
        return self

    def _learn(self, Xs: Any, Xt: Any, **arrays: Any) -> None:
        self.xs_, self.xt_, self.n_features_in_ = Xs, Xt, Xs.shape[1]
        super()._learn(Xs, Xt, **arrays)

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
        Xs = self._points(Xs, "Xs")
        if _same(Xs, self.xs_):
            return _checks.like(self.model_.map(), Xs)
        points = _checks.for_core(Xs)
        if self.out_of_sample_map == "continuous":
            return _checks.like(self.model_.map(points), Xs)
        moves = self.model_.map() - self.xs_
        return _checks.like(points + moves[self._nearest(points, self.xs_)], Xs)

    def inverse_transform(self, Xt: ArrayLike | None = None) -> NDArray[Any]:
        """Target points into the source domain."""
        Xt = self._points(Xt, "Xt")
        points = _checks.for_core(Xt)
        if self.out_of_sample_map == "continuous" or _same(Xt, self.xt_):
            return _checks.like(self.model_.map_back(points), Xt)
        fitted = _checks.for_core(self.xt_)
        moves = self.model_.map_back(fitted) - fitted
        return _checks.like(points + moves[self._nearest(points, fitted)], Xt)

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
        return points

    def _nearest(self, points: Any, fitted: Any) -> NDArray[np.intp]:
        rows = _batches(points, len(fitted))
        fitted = _checks.for_core(fitted)
        return np.concatenate([self.model_.distances(part, fitted).argmin(axis=1) for part in rows])


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
        n_neighbors: int = DEFAULTS["neighbours"],
        knn_metric: str = DEFAULTS["knn_metric"],
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

    def fit(self, X: ArrayLike, y: ArrayLike, Xt: ArrayLike | None = None) -> GroundMetricClassifier:
        X, y = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=2)
        check_classification_targets(y)
        target = X if Xt is None else validate_data(self, Xt, dtype=_FLOATS, reset=False)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = None
        self._codes = np.ascontiguousarray(codes, dtype=np.int64)
        self._learn(X, target, ys=self._codes)
        if self.base_estimator is not None:
            self.estimator_ = clone(self.base_estimator).fit(self.mapped_, y)
        return self

    def _keep(self, model: Any) -> None:
        super()._keep(model)
        self.mapped_ = model.map()
        # A point divided by its length stays so; its barycentre is not divided again.
        divided = model.options["preprocess"] == "l2"
        self._landmarks = self._seen(
            self.mapped_ if divided else _metric.preprocessed(model, self.mapped_)
        )

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "knn_metric": self.knn_metric}

    def _seen(self, points: _checks.Float) -> _checks.Float:
        """Preprocessed points through the metric of the neighbour rule."""
        euclidean = self.model_.options["knn_metric"] == "euclidean"
        return points if euclidean else _metric.embed(self.model_, points)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of target points."""
        check_is_fitted(self, "model_")
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        if self.estimator_ is not None:
            return self.estimator_.predict(X)
        return self.classes_[self._shares(X).argmax(axis=1)]

    def _has_shares(self) -> bool:
        fitted = getattr(self, "estimator_", None)
        base = self.base_estimator if fitted is None else fitted
        return base is None or hasattr(base, "predict_proba")

    @available_if(_has_shares)
    def predict_proba(self, X: ArrayLike) -> _checks.Float:
        """The share of each class among the neighbours, or what base_estimator says."""
        check_is_fitted(self, "model_")
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return self._shares(X) if self.estimator_ is None else self.estimator_.predict_proba(X)

    def _shares(self, X: Any) -> _checks.Float:
        """Votes of the k nearest mapped points. Each counts 1 and a trifle that halves from neighbour to
        neighbour, so that of classes with equally many votes that of the nearest voter wins."""
        k = min(self.model_.options["neighbours"], len(self._landmarks))
        votes = np.zeros((len(X), len(self.classes_)))
        worth = 1 + 1e-9 * 0.5 ** np.arange(k)
        first = 0
        for part in _batches(_checks.for_core(X), len(self._landmarks)):
            places = self._seen(_metric.preprocessed(self.model_, part))
            distances = euclidean_distances(places, self._landmarks, squared=True)
            rows = first + np.arange(len(part))
            for vote, neighbour in zip(worth, _smallest(distances, k).T):
                votes[rows, self._codes[neighbour]] += vote
            first += len(part)
        return votes / votes.sum(axis=1, keepdims=True)


def _any_known(labels: NDArray[Any]) -> bool:
    if labels.dtype.kind == "f":
        return bool(np.any(~np.isnan(labels) & (labels != -1)))
    return bool(np.any(labels != -1)) if labels.dtype.kind in "iu" else labels.size > 0


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or (a.shape == b.shape and bool(np.array_equal(a, b)))


def _shares(plan: NDArray[Any], labels: ArrayLike, name: str) -> _checks.Float:
    """Rows of the plan are points with these labels; the result has a row for each column."""
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (len(plan),):
        raise ValueError(f"{name}: {len(codes)} labels for {len(plan)} points; give one a point")
    mass = plan.T @ np.eye(len(classes))[codes]
    return mass / np.maximum(mass.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _batches(points: Any, others: int) -> Iterator[Any]:
    """Rows, so many at a time that the distances to `others` points take 64 MB."""
    rows = max(1, int(8e6 / max(1, others)))
    for first in range(0, len(points), rows):
        yield points[first : first + rows]


def _smallest(distances: _checks.Float, k: int) -> NDArray[np.intp]:
    """Places of the k smallest entries of each row, in order; of equal ones the first."""
    if k == 1:
        return distances.argmin(axis=1)[:, None]
    return np.argsort(distances, axis=1, kind="stable")[:, :k]
