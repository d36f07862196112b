"""The methods of the accuracies: each learns from a problem and gives a function that labels.

Classifiers of the source alone come from scikit-learn. Adaptation comes from POT, from skada, whose
scorers choose settings without target labels, and from Remblai.
"""
from __future__ import annotations

import hashlib
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier

from compare_attempt import Setting, complaint
from compare_draws import Array, Problem
from compare_measure import say, versions
from compare_peers import import_pot, squared_distances

Predict = Callable[[Array], Array]


def percent(labels: Array, truth: Array) -> float:
    return 100 * float(np.mean(labels == truth))


# ---------------------------------------------------------------- classifiers on source points
MOST = 1000  # iterations of logistic regression
STRENGTHS = [0.01, 0.1, 1, 10, 100]  # C of logistic regression, where it is chosen


class LogisticOfChosenC(LogisticRegression):
    """C is chosen by cross-validation on the points it is fitted to, which are source points."""

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> LogisticOfChosenC:
        search = LogisticRegressionCV(Cs=STRENGTHS, cv=3, max_iter=self.max_iter)
        self.C = float(np.ravel(search.fit(X, y).C_)[0])
        return super().fit(X, y, sample_weight)


logistic = partial(LogisticRegression, max_iter=MOST)
logistic_cv = partial(LogisticOfChosenC, max_iter=MOST)
neighbour = partial(KNeighborsClassifier, 1)
HEADS: dict[str, Callable[..., Any]] = {
    "1-NN": neighbour, "logistic regression": logistic,
    "logistic regression, C by cross-validation": logistic_cv}


def source_only(problem: Problem, head: Callable[[], Any]) -> Predict:
    return head().fit(problem.Xs, problem.ys).predict


def kernel_ridge(problem: Problem, width: float = 0.8, ridge: float = 0.1) -> Predict:
    """One column for each class. The width is a multiple of the mean cost between source points."""
    classes, codes = np.unique(problem.ys, return_inverse=True)
    gamma = 1 / (width * squared_distances(problem.Xs, problem.Xs).mean())
    model = KernelRidge(alpha=ridge, kernel="rbf", gamma=gamma)
    model.fit(problem.Xs, np.eye(len(classes))[codes] - 1 / len(classes))
    return lambda points: classes[model.predict(points).argmax(1)]


# ---------------------------------------------------------------- POT
REG_E, REG_CL = [0.1, 0.2, 0.5, 1, 2, 5, 0.05, 0.02, 0.01], [0.01, 0.1, 1]
FIXED = {"reg_e": 0.1, "reg_cl": 0.01}


def sinkhorn(unit: float, reg_e: float) -> Any:
    """The kernel form: POT's default, in logarithms, finds the same plan ten times as slowly."""
    return import_pot().da.SinkhornTransport(reg_e=reg_e * unit, method="sinkhorn",
                                             out_of_sample_map="ferradans")


def sinkhorn_lpl1(unit: float, reg_e: float, reg_cl: float) -> Any:
    return import_pot().da.SinkhornLpl1Transport(reg_e=reg_e * unit, reg_cl=reg_cl * unit)


def mapped(problem: Problem, transport: Any) -> Array:
    transport.fit(Xs=problem.Xs, ys=problem.ys, Xt=problem.Xt)
    return transport.transform(Xs=problem.Xs)


def pot(problem: Problem, make: Callable[..., Any], head: Callable[..., Any],
        C: float | None = None, **setting: float) -> Predict:
    classifier = head() if C is None else head(C=C)
    points = mapped(problem, make(problem.mean_cost, **setting))
    return classifier.fit(points, problem.ys).predict


def pot_defaults(problem: Problem, name: str, head: Callable[[], Any]) -> Predict:
    transport = getattr(import_pot().da, name + "Transport")()
    return head().fit(mapped(problem, transport), problem.ys).predict


# ---------------------------------------------------------------- skada
SOURCE, TARGET, UNKNOWN = 1, -2, -1  # domains, and the label that is none, as skada writes them
SPLITS = 2  # 70 % of both domains to fit with, 30 % to score
SKADA: dict[str, list[Setting]] = {  # what a scorer chooses among
    "CORAL": [{"reg": reg} for reg in ("auto", 0.1, 0.5)],
    "OTMapping": [{"metric": metric} for metric in ("sqeuclidean", "euclidean", "cosine")],
    "ClassRegularizerOTMapping": [
        {"reg_e": e, "reg_cl": cl} for e in (0.1, 0.5, 0.02) for cl in (0.01, 0.1)],
    "JDOT": [{"alpha": alpha, "C": C} for alpha in (0.5, 0.1) for C in (1, 0.01)],
    "SubspaceAlignment": [{"n_components": n} for n in (20, 10, 40)],
    "TransferComponentAnalysis": [
        {"kernel": "rbf", "n_components": None}, {"kernel": "rbf", "n_components": 50},
        {"kernel": "linear", "n_components": 50}, {"kernel": "linear", "n_components": 20}],
}
SCORERS = {
    "importance weights": "ImportanceWeightedScorer", "entropy": "PredictionEntropyScorer",
    "embedded validation": "DeepEmbeddedValidation", "circular validation": "CircularValidation"}


def skada_pipeline(problem: Problem, name: str, classifier: Any, setting: Setting) -> Any:
    import skada

    relative = {key: value * problem.mean_cost for key, value in setting.items()
                if key.startswith("reg_")}
    setting = setting | relative
    if name == "JDOT":
        # It fits its classifier up to a hundred times, too often for one that chooses C by itself.
        inner = logistic(C=setting.pop("C", 1))
        method = skada.JDOTClassifier(inner, **setting).set_score_request(sample_weight=True)
        return skada.make_da_pipeline(method)
    adapter = getattr(skada, name + "Adapter")(**setting)
    return skada.make_da_pipeline(adapter, classifier.set_score_request(sample_weight=True))


def both_domains(problem: Problem) -> tuple[Array, Array, Array]:
    m, n = len(problem.Xs), len(problem.Xt)
    return (np.concatenate([problem.Xs, problem.Xt]), np.append(problem.ys, [UNKNOWN] * n),
            np.append([SOURCE] * m, [TARGET] * n))


def skada_fit(problem: Problem, name: str, head: Callable[[], Any] = logistic,
              **setting: Any) -> Predict:
    X, y, sample_domain = both_domains(problem)
    pipeline = skada_pipeline(problem, name, head(), setting)
    pipeline.fit(X, y, sample_domain=sample_domain)
    return lambda points: pipeline.predict(points, sample_domain=np.full(len(points), TARGET))


@dataclass
class Score:
    value: float = math.nan
    seconds: float = 0  # of the fit and of this scorer
    note: str = ""


def scores_of_split(problem: Problem, name: str, setting: Setting,
                    split: int) -> dict[str, Score]:
    """What each scorer says of a fit to one part of the points; one that fails does so alone."""
    import skada.metrics
    from skada.model_selection import StratifiedDomainShuffleSplit

    X, y, sample_domain = both_domains(problem)
    splits = StratifiedDomainShuffleSplit(SPLITS, test_size=0.3, random_state=0)
    fitted, scored = list(splits.split(X, y, sample_domain))[split]
    begin = time.perf_counter()
    pipeline = skada_pipeline(problem, name, logistic_cv(), setting)
    pipeline.fit(X[fitted], y[fitted], sample_domain=sample_domain[fitted])
    fit_seconds = time.perf_counter() - begin
    scores = {}
    for title, kind in SCORERS.items():
        scorer = getattr(skada.metrics, kind)(**{"random_state": 0} if "Embedded" in kind else {})
        score, begin = Score(), time.perf_counter()
        try:
            score.value = float(scorer(pipeline, X[scored], y[scored],
                                       sample_domain=sample_domain[scored]))
        except Exception as error:
            score.note = complaint(error)
        score.seconds = fit_seconds + time.perf_counter() - begin
        scores[title] = score
    return scores


# ---------------------------------------------------------------- Remblai
def remblai_model(problem: Problem, yt_known: Array | None = None, **options: Any) -> Any:
    import remblai

    model = remblai.GroundMetricClassifier(n_threads=1, **options)
    return model.fit(problem.Xs, problem.ys, Xt=problem.Xt, yt_known=yt_known)


def remblai_fit(problem: Problem, **options: Any) -> Predict:
    return remblai_model(problem, **options).predict


@cache
def remblai_build() -> str:
    """Its version and a digest of its files, or nothing where it has no class-aware method."""
    if not importlib.util.find_spec("remblai"):
        say("left out: the rows of Remblai, which is not installed")
        return ""
    import remblai

    if "method" not in remblai.GroundMetricClassifier().get_params():
        say(f"left out: the rows of Remblai; {remblai.__file__} has no class-aware method")
        return ""
    files = sorted(file for file in Path(remblai.__file__).parent.iterdir()
                   if file.suffix in (".py", ".so"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return f"{versions(('remblai',)) or 'remblai'} {digest}"
