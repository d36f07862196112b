"""The estimator in the manner of POT. Defaults are those of the library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._set_output import _SetOutputMixin, _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from . import _calls, _checks, _labels, _metric
from ._base import ATTRIBUTES, PARAMETERS, GroundMetric
from ._functions import DEFAULTS


class GroundMetricTransport(  # type: ignore[call-arg]  # scikit-learn has no types
    _SetOutputMixin, GroundMetric, auto_wrap_output_keys=None
):
    __doc__ = f"""Domain adaptation by transport with a learned ground metric, called as POT's
    transports are: `GroundMetricTransport(reg_e=0.2).fit(Xs=Xs, ys=ys, Xt=Xt).transform(Xs=Xs)`.

    Parameters
    ----------{PARAMETERS}
    out_of_sample_map : {{"continuous", "ferradans"}}
        How points that were not fitted move: by the plan's own formula, or by the displacement of
        the nearest fitted point (in the learned metric).
    distribution_estimation : callable or None
        Weights of points from the points; None weighs all the same.

    Attributes
    ----------{ATTRIBUTES}
    xs_ : array of shape (m, d)
        The source points fitted.
    xt_ : array of shape (n, d)
        The target points fitted.
    mu_s : array of shape (m,)
        Weights of the source points.
    mu_t : array of shape (n,)
        Weights of the target points.
    """

    @_calls.known_keywords
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
        random_state: Any = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.random_state = random_state
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose

    @_calls.all_or_nothing
    @_calls.by_name
    def fit(
        self,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        *,
        yt_known: ArrayLike | None = None,
        comm: Any = None,
    ) -> GroundMetricTransport:
        """Learns plan and metric from Xs and Xt. By the method "paper" labels change neither: whole
        numbers in `ys` go into the model, for `model_.predict`, where all of them are known. The
        method "class-aware" is fitted with labels of any kind in `ys`, and with those of a few
        target points in `yt_known`, one for each target point. Known labels in `yt` bring a
        warning.

        NaN, None and -1 are labels that are not known (-1 is a class where the labels are -1 and
        1). Source points without a label take no part in a class-aware fit: `xs_`, `coupling_` and
        `cost_` have the others; `transform` answers for all.

        `comm` is a communicator of mpi4py whose ranks fit together. Each gives its own rows of Xs
        and ys, for which `share_of` is the best choice, and all of Xt; `transform` and all that has
        a row for each source point then answer for those of the rank. All ranks call `save`.

        Give the arguments by name, or at least three of them in this order, which is POT's."""
        by_class = _checks.on_any_rank(
            comm, yt_known is not None or self.method == "class-aware"
        )

        def checked() -> tuple[Any, Any, Any]:
            self._way()
            self._require_divisible(comm)
            source = _checks.points(Xs, "Xs", copy=True, least=1 if comm is None else 0)
            target = _checks.points(Xt, "Xt", copy=True)
            _checks.same_features(source, target)
            self._columns(Xs, "Xs", first=True)
            self._columns(Xt, "Xt")
            given = None if ys is None else _checks.of_points(ys, len(source), "ys")
            if by_class and given is None:
                raise ValueError(
                    "ys: the class-aware method needs a label for each source point; pass ys="
                )
            if given is not None and not by_class:
                given = _labels.whole_or_none(given, "ys")
            if yt is not None and _labels.is_known(_checks.of_points(yt, len(target), "yt")).any():
                _calls.warn(
                    "yt is not used: labels of the target to fit with are given as yt_known"
                )
            return source, target, given

        source, target, labels = _checks.agreed(comm, checked)
        coded, took_part = None, None
        if by_class:
            labels, took_part = _labels.of_known(labels, "ys", _labels.of_ranks(comm, labels))
            source = source if took_part.all() else source[took_part]
            classes = _labels.classes_of_ranks(comm, labels)
            known = labels
            coded = _checks.agreed(
                comm, lambda: _labels.coded(known, "ys", yt_known, len(target), classes)
            )
            labels = coded.source
        if comm is not None:
            # Either all ranks have labels or none; one without points has none to give.
            usable = comm.allgather(labels is not None or len(source) == 0)
            labels = labels if all(usable) and len(source) > 0 else None
        source_weights, target_weights = _checks.agreed(
            comm, lambda: (self._estimated(source, "Xs"), self._estimated(target, "Xt"))
        )
        model, error = self._learn(
            source,
            target,
            ys=labels,
            known_labels=coded and coded.known,
            source_weights=source_weights,
            target_weights=target_weights,
            comm=comm,
        )
        self.xs_, self.xt_, self._took_part = source, target, took_part
        self.__dict__.pop("classes_", None)
        if coded is not None:
            self.classes_, self._whole = coded.classes, coded.whole
        self._keep(model, source.dtype, comm)
        self._finish(error)
        return self

    def _estimated(self, points: Any, name: str) -> Any:
        if self.distribution_estimation is None:
            return None
        found = self.distribution_estimation(points)
        return _checks.weights(found, len(points), f"distribution_estimation({name})")

    def _way(self) -> str:
        if self.out_of_sample_map not in ("continuous", "ferradans"):
            raise ValueError(
                f"out_of_sample_map: '{self.out_of_sample_map}' is not one of continuous, ferradans"
            )
        return self.out_of_sample_map

    @_calls.by_name
    def fit_transform(
        self,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        *,
        yt_known: ArrayLike | None = None,
    ) -> Any:
        """fit, then where the source points go."""
        return self.fit(Xs=Xs, ys=ys, Xt=Xt, yt=yt, yt_known=yt_known).transform(Xs=Xs)

    def transform(
        self,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        batch_size: int | None = None,
    ) -> Any:
        """Source points into the target domain: those that were fitted, or any others, `batch_size`
        of these at a time (None: as many as fit the memory). Labels and Xt are not read, as in
        POT."""
        points = self._points(Xs, "Xs")
        if _same(points, self.xs_):
            mapped = self.model_.map()
        elif self._way() == "continuous":
            if self.model_.classes is not None:
                self._require_whole("transform of points that were not fitted")
            mapped = _in_batches(self.model_.map, points, batch_size)
        else:
            model = self.model_
            mapped = self._moved(points, "source", model.map(), model.source_points, batch_size)
        return self._given_out(_checks.like(mapped, points), Xs)

    def inverse_transform(
        self,
        Xs: ArrayLike | None = None,
        ys: ArrayLike | None = None,
        Xt: ArrayLike | None = None,
        yt: ArrayLike | None = None,
        batch_size: int | None = None,
    ) -> Any:
        """Target points (Xt) into the source domain, in the manner of `transform`."""
        points = self._points(Xt, "Xt")
        if _same(points, self.xt_):
            mapped = self.model_.map_back()
        elif self._way() == "continuous":
            mapped = _in_batches(self.model_.map_back, points, batch_size)
        else:
            model = self.model_
            mapped = self._moved(
                points, "target", model.map_back(), model.target_points, batch_size
            )
        return self._given_out(_checks.like(mapped, points), Xt)

    def _given_out(self, mapped: NDArray[Any], given: Any) -> Any:
        """As set_output asks for it: an array, or a data frame with the index of the points
        given."""
        return _wrap_data_with_container("transform", mapped, given, self)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that transform returns, which are those of the points."""
        check_is_fitted(self, "model_")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{k}" for k in range(self.n_features_in_)], dtype=object)
        return np.asarray(names, dtype=object)

    @property
    def mu_s(self) -> NDArray[Any]:
        """Weights of the source points; they sum to 1, over all ranks where there are several."""
        return self._once("mu_s", self._source_weights)

    def _source_weights(self) -> _checks.Float:
        weights = self.model_.source_weights
        return weights if self._divided else _normalised(weights)  # those of all ranks sum to 1

    @property
    def mu_t(self) -> NDArray[Any]:
        """Weights of the target points."""
        return self._once("mu_t", lambda: _normalised(self.model_.target_weights))

    def _moved(
        self, points: Any, role: _metric.Role, mapped: Any, prepared: Any, batch_size: int | None
    ) -> NDArray[Any]:
        """By the displacement of the nearest fitted point, between preprocessed coordinates."""
        self._require_whole("out_of_sample_map='ferradans'")
        model = self.model_
        other: _metric.Role = "target" if role == "source" else "source"
        moves = _metric.inside(model, mapped, other) - prepared

        def move(some: Any) -> Any:
            inside = _metric.preprocessed(model, _checks.for_core(some), role)
            moved = inside + moves[self._nearest(inside, prepared)]
            return _metric.restored(model, moved, other)

        return _in_batches(move, points, batch_size)

    def transform_labels(self, ys: ArrayLike | None = None) -> NDArray[Any]:
        """Soft labels of the fitted target points, (n, classes): the share of each class (in
        ascending order) in the mass that a point receives from points whose label is known; 0 where
        it receives none from such."""
        check_is_fitted(self, "model_")
        self._require_whole("transform_labels")
        if ys is None:
            raise ValueError("ys: no labels given; pass ys=")
        return _shares(self.coupling_, self._of_those_fitted(ys), "ys")

    def inverse_transform_labels(self, yt: ArrayLike | None = None) -> NDArray[Any]:
        """Soft labels of the fitted source points, (m, classes)."""
        check_is_fitted(self, "model_")
        if yt is None:
            raise ValueError("yt: no labels given; pass yt=")
        return _shares(self.coupling_.T, yt, "yt")

    def _points(self, values: ArrayLike | None, name: str) -> NDArray[Any]:
        check_is_fitted(self, "model_")
        points = _checks.points(values, name)
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{name}: points have {points.shape[1]} features, the fitted ones "
                f"{self.n_features_in_}"
            )
        self._columns(values, name)
        return points

    def _require_whole(self, what: str) -> None:
        """Raises after a fit by several ranks, each of which has some of the source points."""
        if self._divided:
            raise ValueError(
                f"{what}: it needs all source points, and each rank has its own; let all ranks "
                "call save, and ask the model that remblai.load reads"
            )

    def _nearest(self, inside: Any, prepared: Any) -> NDArray[np.intp]:
        """Between preprocessed points of one domain; the library compares two, in given
        coordinates."""
        a = _metric.restored(self.model_, inside, "source")
        b = _metric.restored(self.model_, prepared, "target")
        parts = [self.model_.distances(part, b).argmin(axis=1) for part in _batches(a, len(b))]
        return np.concatenate(parts)


# transform puts its result into the container of set_output itself: scikit-learn's own wrapper asks
# for points by position.
GroundMetricTransport._sklearn_auto_wrap_output_keys = {"transform"}


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or (a.shape == b.shape and bool(np.array_equal(a, b)))


def _shares(plan: NDArray[Any], labels: ArrayLike, name: str) -> NDArray[Any]:
    """Rows of the plan are points with these labels; the result has a row for each column."""
    known, where = _labels.of_known(_checks.of_points(labels, len(plan), name), name)
    classes, codes = np.unique(known, return_inverse=True)
    mass = plan[where].T @ np.eye(len(classes), dtype=plan.dtype)[codes]
    return mass / np.maximum(mass.sum(axis=1, keepdims=True), np.finfo(plan.dtype).tiny)


def _normalised(weights: Any) -> _checks.Float:
    return weights / weights.sum()


def _in_batches(work: Callable[[Any], Any], points: Any, size: int | None) -> NDArray[Any]:
    """So many rows at a time."""
    if size is None:
        return work(points)
    _checks.require_whole(size, "batch_size", 1)
    return np.concatenate(
        [work(points[first : first + size]) for first in range(0, len(points), size)]
    )


def _batches(points: Any, others: int) -> Iterator[Any]:
    """Rows, so many at a time that the distances to `others` points take 64 MB."""
    rows = max(1, int(8e6 / max(1, others)))
    for first in range(0, len(points), rows):
        yield points[first : first + rows]
