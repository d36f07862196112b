"""Fits along a path of entropy weights, for the price of far fewer than so many fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from . import _calls, _checks, _core
from ._functions import DEFAULTS, PREDICTION, Score, evaluate, prepared


class LambdaPath(Sequence[_core.Model]):
    """What `fit_path` returns: a sequence of models, one for each of `lambdas`."""

    def __init__(
        self,
        lambdas: NDArray[np.float64],
        models: list[_core.Model],
        labels: NDArray[np.int64] | None,
        targets: int,
    ) -> None:
        self.lambdas = lambdas  #: as they were given, from large to small
        self.models = models  #: one for each of them
        #: labels of the target points by each model, and of the further points; None without ys
        self.target_labels = None if labels is None else labels[:, :targets]
        self.test_labels = None if labels is None else labels[:, targets:]

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, place: Any) -> Any:
        return self.models[place]

    def scores(self, yt: ArrayLike, *, test: bool = False) -> list[Score]:
        """One for each lambda: how many target points (or further points, with `test`) whose label
        is known in yt were labelled right."""
        found = self.test_labels if test else self.target_labels
        if found is None:
            raise ValueError("ys: the path has no labels to carry over; give ys= to fit_path")
        _checks.labels(yt, found.shape[1], "yt", unknown=True)
        return [evaluate(labels, yt) for labels in found]

    def best(self, yt: ArrayLike) -> _core.Model:
        """The model whose labels of the target points are right most often, among those that are
        known in yt; of equal ones that of the largest lambda. Do not score it with the same
        labels."""
        scores = self.scores(yt)
        if not scores[0].scored:
            raise ValueError("yt: none of its labels is known, so no model can be chosen by them")
        return self.models[int(np.argmax([score.correct for score in scores]))]

    def values(self, name: str) -> NDArray[np.float64]:
        """One number of the last step of each fit: objective, transport_cost, seconds, ... as the
        history of a report has them; NaN where there is none."""
        import json

        last = [json.loads(model.report())["history"][-1] for model in self.models]
        if name not in last[0]:
            raise ValueError(f"{name}: there is no such number; there are {', '.join(last[0])}")
        return np.array(
            [np.nan if step[name] is None else step[name] for step in last], dtype=float
        )

    def plot(self, yt: ArrayLike | None = None, ax: Any = None) -> Any:
        """Draws cost (and accuracy, where labels are given) against lambda: see
        `remblai.plot.path`."""
        from . import plot

        return plot.path(self, yt=yt, ax=ax)

    def __repr__(self) -> str:
        done = sum(model.status == "converged" for model in self.models)
        first, last = (f"{value:.3g}" for value in (self.lambdas[0], self.lambdas[-1]))
        return (
            f"<remblai.LambdaPath: {len(self)} models, lambda {first} to {last}; {done} converged>"
        )


@_calls.by_name
def fit_path(
    *,
    Xs: ArrayLike,
    Xt: ArrayLike,
    ys: ArrayLike | None = None,
    lambdas: ArrayLike = (2.0, 1.0, 0.5, 0.2, 0.1, 0.05),
    X_test: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    source_weights: ArrayLike | None = None,
    target_weights: ArrayLike | None = None,
    verbose: bool = False,
    **keywords: Any,
) -> LambdaPath:
    """`fit` for each of `lambdas`, from large to small. The fits share the span of the points, the
    first metric and the memory, and each begins at the plan of the one before, so that a path costs
    far less than so many fits; each is the fit that `fit` would make, up to the tolerances.

    Where there are `ys`, the target points are labelled along the way, and so are those of
    `X_test`, further points of the target domain. Keywords are the options of `fit` and of
    `Model.predict` (`rule`, `neighbours`, `knn_metric`)."""
    asked = {name: keywords.pop(name) for name in PREDICTION if name in keywords}
    _calls.require_known(keywords, [name for name in DEFAULTS if name != "lambda_"])
    weights = np.sort(_checks.numbers(lambdas, "lambdas").ravel())[::-1]
    if len(weights) == 0:
        raise ValueError("lambdas: none are given")
    names = _checks.column_names(Xs)
    for values, name in ((Xt, "Xt"), (X_test, "X_test")):
        _checks.same_columns(values, name, names, "Xs")
    Xs, Xt = _checks.points(Xs, "Xs"), _checks.points(Xt, "Xt")
    _checks.same_features(Xs, Xt)
    further = np.empty((0, Xt.shape[1])) if X_test is None else _checks.points(X_test, "X_test")
    _checks.same_features(Xs, further)
    labels_of_source = _checks.source_labels(ys, len(Xs), "ys")
    weights_of_source = _checks.weights(source_weights, len(Xs), "source_weights")
    problem = _core.Problem(
        _checks.for_core(Xs),
        _checks.for_core(Xt),
        labels_of_source,
        None,
        weights_of_source,
        _checks.weights(target_weights, len(Xt), "target_weights"),
        _checks.target_labels(
            known_labels, len(Xt), "known_labels", labels_of_source, fitted_with=True
        ),
        names,
    )
    options = prepared(keywords)
    _checks.leave_out_weightless(options, labels_of_source, weights_of_source)
    path = _core.FitPath(problem, options, _checks.for_core(further))
    models: list[_core.Model] = []
    labels = []
    for weight in weights:
        error: Any = path.fit({**options, "lambda_": float(weight)})
        if error is not None:
            raise error
        models.append(path.model())
        if ys is not None:
            labels.append(path.labels(**asked))
        if verbose:
            print(f"lambda {weight:.4g}: {models[-1].status}, {models[-1].reason}")
    missed = [
        f"{weight:.3g}" for weight, model in zip(weights, models) if model.status != "converged"
    ]
    if missed:
        _calls.warn(
            f"not converged for lambda {', '.join(missed)}: see the models' reason",
            ConvergenceWarning,
        )
    return LambdaPath(weights, models, np.array(labels) if ys is not None else None, len(Xt))
