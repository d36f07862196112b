#!/usr/bin/env python3
"""Compares the accuracy of Remblai and of its peers on the same draws, and writes one table.

    python3 -m venv peers && peers/bin/pip install -r bench/requirements.txt
    peers/bin/pip install .       # Remblai; its rows are left out without it
    peers/bin/python bench/compare_accuracy.py --data DIR     # hours
    peers/bin/python bench/compare_accuracy.py --data DIR --seeds 1 --tasks 3 A-C     # minutes

DIR holds mnist/ (IDX files, gzipped or not) and office-caltech/ with the folders decaf6,
efficientnet-lite0 and surf800. What is not there is left out. Nothing is downloaded. It needs
Linux.

The protocol. A method is fitted with source points, their labels and target points without labels.
It is scored on other target points, which it has never seen. Every method gets the same draws.
MNIST has 500 source points, 50 of each digit, and 500 target points to fit with and 500 to score
on. One digit, the task, has a share of 10, 30, 50 or 90 % of these. Office-Caltech has 10 source
images of each class (8 from DSLR). One half of the target domain is there to fit with and the other
to score on. SURF counts are divided by their sum, and their square root is taken. The other
features are used as they are.

The rows. "Fixed" settings are named below the table and are the same for all sets. "Defaults" are
those of the package. A row with a dagger has seen labels that nobody has in practice: its setting
is the one with the best accuracy on the target points of the fit. "By" names the scorer of skada
that chose the setting without target labels. Regularisation is a multiple of the mean cost, except
in defaults. Ties go to the setting that the grid names first.

Every fit has a process and one core to itself, and is ended after --limit seconds. A fit that fails
or is late is written down as such. Each result is kept in --keep as soon as it is there. The same
command goes on from there. It measures again what was measured with other versions.
"""
from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import importlib.util
import itertools
import json
import math
import multiprocessing
import os
import re
import signal
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from compare_measure import environment, processor, say, versions

os.environ.update(environment(threads=1))  # before NumPy is imported, which reads it

import numpy as np  # noqa: E402
from sklearn.kernel_ridge import KernelRidge  # noqa: E402
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from compare_peers import import_pot, squared_distances  # noqa: E402

Array = np.ndarray
Predict = Callable[[Array], Array]
Setting = dict[str, Any]
DOMAINS = {"A": "amazon", "C": "caltech", "D": "dslr", "W": "webcam"}
FEATURES = {"efficientnet": "efficientnet-lite0", "decaf6": "decaf6", "surf": "surf800"}
SKEWS = {f"mnist-{skew}": skew for skew in (10, 30, 50, 90)}
SETS = [*SKEWS, *FEATURES]
STREAM = 20251118  # of random numbers; another one gives other draws


# ---------------------------------------------------------------- data
@dataclass
class Problem:
    """All that a method may see."""
    Xs: Array
    ys: Array
    Xt: Array

    @cached_property
    def mean_cost(self) -> float:
        return float(squared_distances(self.Xs, self.Xt).mean())


@dataclass
class Draw:
    problem: Problem
    yt: Array  # of the target points in the problem, for the rows with a dagger
    Xe: Array  # target points to score on
    ye: Array


class NoData(Exception):
    pass


def read(path: Path) -> bytes:
    zipped = path.with_name(path.name + ".gz")
    if path.exists():
        return path.read_bytes()
    if zipped.exists():
        return gzip.decompress(zipped.read_bytes())
    raise NoData(f"{path} is missing")


@cache
def digits(data: Path, part: str) -> tuple[Array, Array]:
    images = read(data / "mnist" / f"{part}-images-idx3-ubyte")
    labels = read(data / "mnist" / f"{part}-labels-idx1-ubyte")
    return (np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784),
            np.frombuffer(labels, np.uint8, offset=8).astype(int))


@cache
def domain(data: Path, features: str, letter: str) -> tuple[Array, Array]:
    from scipy.io import loadmat

    path = data / "office-caltech" / FEATURES[features] / f"{DOMAINS[letter]}.mat"
    if not path.exists():
        raise NoData(f"{path} is missing")
    file = loadmat(path)
    points = np.asarray(file["fts" if features == "surf" else "feas"], float)
    if features == "surf":
        points = np.sqrt(points / np.maximum(points.sum(1, keepdims=True), 1))
    return points, file["labels"].ravel().astype(int) - 1


def of_each_class(labels: Array, counts: list[int], random: np.random.Generator) -> list[Array]:
    return [random.choice(np.flatnonzero(labels == k), count, replace=False)
            for k, count in enumerate(counts)]


def draw_digits(data: Path, skew: int, digit: int, seed: int) -> Draw:
    (source, ys), (target, yt) = digits(data, "t10k"), digits(data, "train")
    random = np.random.default_rng([STREAM, skew, digit, seed])
    chosen = np.concatenate(of_each_class(ys, [50] * 10, random))
    rest = 500 - 5 * skew
    shares = [rest // 9 + (k < rest % 9) for k in range(9)]
    shares.insert(digit, 5 * skew)
    pairs = [np.split(found, 2) for found in of_each_class(yt, [2 * n for n in shares], random)]
    fitted, scored = (np.concatenate(part) for part in zip(*pairs))
    return Draw(Problem(source[chosen] / 255, ys[chosen], target[fitted] / 255), yt[fitted],
                target[scored] / 255, yt[scored])


def draw_photos(data: Path, features: str, pair: str, seed: int) -> Draw:
    (source, ys), (target, yt) = (domain(data, features, letter) for letter in pair.split("-"))
    random = np.random.default_rng([STREAM, ord(pair[0]), ord(pair[2]), seed])
    chosen = np.concatenate(of_each_class(ys, [8 if pair[0] == "D" else 10] * 10, random))
    fitted, scored = np.split(random.permutation(len(yt)), [len(yt) // 2])
    return Draw(Problem(source[chosen], ys[chosen], target[fitted]), yt[fitted], target[scored],
                yt[scored])


def tasks_of(data: Path, name: str) -> list[str]:
    """Those whose files are there."""
    if name in SKEWS:
        digits(data, "t10k"), digits(data, "train")
        return [str(digit) for digit in range(10)]
    there = []
    for letter in DOMAINS:
        try:
            domain(data, name, letter)
            there.append(letter)
        except NoData as missing:
            say(f"left out, because {missing}: tasks of {name} with {DOMAINS[letter]}")
    return [f"{source}-{target}" for source, target in itertools.permutations(there, 2)]


def draw(data: Path, name: str, task: str, seed: int) -> Draw:
    if name in SKEWS:
        return draw_digits(data, SKEWS[name], int(task), seed)
    return draw_photos(data, name, task, seed)


# ---------------------------------------------------------------- one fit in a process of its own
@dataclass
class Outcome:
    """Of one fit, or of one row on one draw; the fields go into the journal."""
    status: str = "done"  # or failed, or late
    accuracy: float = math.nan  # %
    seconds: float = math.nan  # from the points to the labels, with every fit that a choice needed
    setting: Setting = field(default_factory=dict)  # the chosen one
    settings: int = 1  # tried
    without_answer: int = 0  # of these
    note: str = ""
    warnings: dict[str, int] = field(default_factory=dict)
    value: Any = None  # what the work returned


def attempt(work: Callable[[], Any], limit: float) -> Outcome:
    """work() in a child that is killed when it is late."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=answer, args=(work, sender))
    child.start()
    sender.close()
    begin = time.perf_counter()
    try:
        if not receiver.poll(limit):
            return Outcome("late", seconds=limit, note=f"no answer in {limit:g} s")
        return receiver.recv()
    except EOFError:
        return Outcome("failed", seconds=time.perf_counter() - begin, note="the process died")
    finally:
        child.kill()
        child.join()
        receiver.close()


def answer(work: Callable[[], Any], sender: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    outcome, begin = Outcome(), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome.value = work()
        except Exception as error:
            outcome.status, outcome.note = "failed", complaint(error)
    outcome.seconds = time.perf_counter() - begin
    kinds = Counter(warning.category.__name__ for warning in caught)
    outcome.warnings = {kind: n for kind, n in kinds.items() if kind not in OF_DEVELOPERS}
    sender.send(outcome)


OF_DEVELOPERS = ("FutureWarning", "DeprecationWarning")


def complaint(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:120]


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
def remblai_fit(problem: Problem, **options: Any) -> Predict:
    import remblai

    model = remblai.GroundMetricClassifier(n_threads=1, **options)
    return model.fit(problem.Xs, problem.ys, Xt=problem.Xt).predict


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


# ---------------------------------------------------------------- rows
@dataclass
class Method:
    """One row. Its setting is chosen from the grid by labels of the target points of the fit."""
    name: str
    who: str  # versions, or nothing where it is not installed
    fit: Callable[..., Predict]
    grid: list[Setting] = field(default_factory=lambda: [{}])

    @property
    def rows(self) -> list[str]:
        return [self.name]

    def labels(self, task: Draw, setting: Setting) -> tuple[Array, Array, float]:
        """Of the points to score on, and of those of the fit. The seconds are for the former."""
        begin = time.perf_counter()
        predict = self.fit(task.problem, **setting)
        scored, seconds = predict(task.Xe), time.perf_counter() - begin
        return scored, predict(task.problem.Xt) if len(self.grid) > 1 else scored, seconds

    def measure(self, task: Draw, limit: float) -> Iterator[tuple[str, Outcome]]:
        tried = []
        for setting in self.grid:
            outcome = attempt(partial(self.labels, task, setting), limit)
            outcome.setting = setting
            tried.append(outcome)
        done = [outcome for outcome in tried if outcome.status == "done"]
        best = tried[0]
        if len(self.grid) > 1 and done:
            best = max(done, key=lambda outcome: percent(outcome.value[1], task.yt))
        if best.status == "done":
            best.accuracy = percent(best.value[0], task.ye)
            best.seconds = sum(outcome.value[2] if outcome.status == "done" else outcome.seconds
                               for outcome in tried)
        best.settings, best.without_answer = len(tried), len(tried) - len(done)
        yield self.name, best


@dataclass
class Search:
    """A method of skada with every scorer: the fits are made once for all of them."""
    name: str
    who: str

    @property
    def rows(self) -> list[str]:
        return [f"skada {self.name}, by {scorer}" for scorer in SCORERS]

    def measure(self, task: Draw, limit: float) -> Iterator[tuple[str, Outcome]]:
        grid = SKADA[self.name]
        fits = [[attempt(partial(scores_of_split, task.problem, self.name, setting, split), limit)
                 for split in range(SPLITS)] for setting in grid]
        final: dict[int, Outcome] = {}
        for row, scorer in zip(self.rows, SCORERS):
            values = [self.mean_score(parts, scorer) for parts in fits]
            known = [k for k, value in enumerate(values) if math.isfinite(value)]
            if not known:
                parts = [part for parts in fits for part in parts]
                yield row, Outcome("failed", settings=len(grid), without_answer=len(grid),
                                   seconds=sum(self.seconds(part, scorer) for part in parts),
                                   note=self.trouble(parts, scorer))
                continue
            best = max(known, key=lambda k: values[k])
            if best not in final:
                method = Method(row, self.who, partial(skada_fit, name=self.name, head=logistic_cv),
                                [grid[best]])
                final[best] = next(method.measure(task, limit))[1]
            search = sum(self.seconds(part, scorer) for parts in fits for part in parts)
            yield row, Outcome(**vars(final[best]) | {
                "seconds": final[best].seconds + search, "settings": len(grid),
                "without_answer": len(grid) - len(known)})

    @staticmethod
    def mean_score(parts: list[Outcome], scorer: str) -> float:
        if any(part.status != "done" for part in parts):
            return math.nan
        return statistics.fmean(part.value[scorer].value for part in parts)

    @staticmethod
    def seconds(part: Outcome, scorer: str) -> float:
        return part.value[scorer].seconds if part.status == "done" else part.seconds

    @staticmethod
    def trouble(parts: list[Outcome], scorer: str) -> str:
        notes = [part.note or part.value[scorer].note or "the score is not finite"
                 for part in parts]
        return Counter(notes).most_common(1)[0][0]


def pot_methods(who: str) -> Iterator[Method]:
    kinds: dict[str, tuple[Callable[..., Any], list[str]]] = {
        "Sinkhorn": (sinkhorn, ["reg_e"]), "SinkhornLpl1": (sinkhorn_lpl1, ["reg_e", "reg_cl"])}
    for kind, (make, names) in kinds.items():
        fixed: Setting = {name: FIXED[name] for name in names}
        for title, head in HEADS.items():
            yield Method(f"POT {kind} + {title}, fixed", who,
                         partial(pot, make=make, head=head, **fixed))
        for title, head in list(HEADS.items())[:2]:
            yield Method(f"POT {kind} + {title}, defaults", who,
                         partial(pot_defaults, name=kind, head=head))
    values = {"reg_e": REG_E, "reg_cl": REG_CL, "C": STRENGTHS[::2]}
    for kind, (make, names) in kinds.items():
        for title, head in list(HEADS.items())[:2]:
            keys = names if head is neighbour else [*names, "C"]
            grid = [dict(zip(keys, setting))
                    for setting in itertools.product(*(values[key] for key in keys))]
            yield Method(f"POT {kind} + {title}, tuned †", who,
                         partial(pot, make=make, head=head), grid)


def all_methods() -> list[Method | Search]:
    """In the order of the table; heavy imports happen here, once, before any process is forked."""
    own, plain, of_pot, of_skada = remblai_build(), versions(("scikit-learn",)), "", ""
    if importlib.util.find_spec("ot"):
        import_pot()
        of_pot = versions(("POT", "scikit-learn"))
    if of_pot and importlib.util.find_spec("skada"):
        import skada.metrics  # noqa: F401

        of_skada = versions(("skada", "POT", "scikit-learn"))
    for package, there in (("POT", of_pot), ("skada", of_skada)):
        if not there:
            say(f"left out: the rows of {package}, which is not installed")
    heads = HEADS | {"support vectors (SVC)": SVC}
    rows: list[Method | Search] = [
        Method(f"{title}, source only", plain, partial(source_only, head=head))
        for title, head in heads.items()]
    rows.append(Method("kernel ridge, source only", plain, kernel_ridge))
    rows += pot_methods(of_pot)
    rows += [Method(f"skada {name}, defaults", of_skada, partial(skada_fit, name=name))
             for name in SKADA]
    rows += [Search(name, of_skada) for name in SKADA]
    return [*rows, Method("Remblai, map + 1-NN", own, partial(remblai_fit, rule="nearest")),
            Method("Remblai, defaults", own, remblai_fit)]


# ---------------------------------------------------------------- the journal
Key = tuple[str, str, int, str]  # set, task, seed, row


class Journal:
    """The last result of every row on every draw, in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[Key, dict[str, Any]] = {}
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # the end of a run that was killed while writing
                continue
            self.entries[self.key(entry)] = entry
        if text and not text.endswith("\n"):
            self.append("\n")

    @staticmethod
    def key(entry: dict[str, Any]) -> Key:
        return entry["set"], entry["task"], entry["seed"], entry["row"]

    def append(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def has(self, key: Key, who: str) -> bool:
        return key in self.entries and self.entries[key]["who"] == who

    def add(self, key: Key, who: str, outcome: Outcome) -> None:
        entry = dict(zip(("set", "task", "seed", "row"), key)) | {"who": who}
        entry |= {name: value for name, value in vars(outcome).items()
                  if name != "value" and not (isinstance(value, float) and math.isnan(value))}
        entry |= {"date": str(datetime.date.today()), "processor": processor()}
        self.entries[key] = entry
        self.append(json.dumps(entry) + "\n")


# ---------------------------------------------------------------- the table
def mean(values: Iterable[float]) -> float:
    values = list(values)
    return statistics.fmean(values) if values else math.nan


class Table:
    def __init__(self, journal: Journal, order: list[str]) -> None:
        self.entries = list(journal.entries.values())
        self.sets = [name for name in SETS if any(entry["set"] == name for entry in self.entries)]
        there = {entry["row"] for entry in self.entries}
        self.rows = [row for row in order if row in there] + sorted(there - set(order))
        self.draws = {name: len({(entry["task"], entry["seed"]) for entry in self.entries
                                 if entry["set"] == name}) for name in self.sets}

    def of(self, row: str, name: str, status: str = "") -> list[dict[str, Any]]:
        return [entry for entry in self.entries if (entry["row"], entry["set"]) == (row, name)
                and status in ("", entry["status"])]

    def cell(self, row: str, name: str) -> str:
        done = self.of(row, name, "done")
        if not done:
            return "none" if self.of(row, name) else "–"
        part = "" if len(done) == self.draws[name] else f" ({len(done)} of {self.draws[name]})"
        return f"{mean(entry['accuracy'] for entry in done):.1f}{part}"

    def line(self, row: str) -> str:
        done = {name: self.of(row, name, "done") for name in self.sets}
        complete = all(len(done[name]) == self.draws[name] for name in self.sets)
        accuracy, seconds = (
            mean(mean(entry[what] for entry in found) for found in done.values() if found)
            for what in ("accuracy", "seconds"))
        cells = [row, *(self.cell(row, name) for name in self.sets),
                 f"{accuracy:.1f}" if complete else "–", duration(seconds)]
        return "| " + " | ".join(cells) + " |"

    def failures(self) -> Iterator[str]:
        for row in self.rows:
            entries = [entry for entry in self.entries if entry["row"] == row]
            bad = [entry for entry in entries if entry["status"] != "done"]
            if bad:
                where = Counter(entry["set"] for entry in bad)
                places = ", ".join(f"{n} of {self.draws[name]} draws of {name}"
                                   for name, n in where.items())
                note = Counter(entry["note"] for entry in bad).most_common(1)[0][0]
                yield f"- {row}: {places}, such as `{note}`"
            lost = sum(entry["without_answer"] for entry in entries if entry["status"] == "done")
            if lost:
                yield f"- {row}: {lost} settings of its searches, which were passed over"

    def warnings(self) -> Iterator[str]:
        """Of the fits whose labels count."""
        for row in self.rows:
            kinds = Counter(kind for entry in self.entries if entry["row"] == row
                            for kind in entry["warnings"])
            if kinds:
                yield f"- {row}: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))

    def text(self) -> str:
        if not self.entries:
            return "Nothing was measured yet.\n"
        heads = ["accuracy, %", *(f"{name} ({self.draws[name]})" for name in self.sets), "mean",
                 "seconds"]
        lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
                 *(self.line(row) for row in self.rows), "", LEGEND]
        for title, notes in (("Without an answer:", list(self.failures())),
                             ("Draws on which a package warned:", list(self.warnings()))):
            lines += [title, "", *notes, ""] if notes else []
        for title, name in (("Measured with", "who"), ("On", "processor")):
            lines.append(f"{title}: {'; '.join(sorted({entry[name] for entry in self.entries}))}.")
        lines += ["", GRIDS]
        lines += [f"- {name}: {', '.join(map(as_text, grid))}" for name, grid in SKADA.items()]
        return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def as_text(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


LEGEND = """\
In brackets: the number of draws. The mean is over the sets, where every draw has a result. Seconds
are from points to labels on one core, with every fit that the choice of a setting took, and are a
mean over the sets too. † has seen the labels of the target points it was fitted to. "none": no
fit gave an answer. "–": not measured.
"""
GRIDS = f"""\
Fixed settings of POT: {as_text(FIXED)} of the mean cost. C of logistic regression is 1, or chosen
by three-fold cross-validation on the mapped source among {STRENGTHS}. Kernel ridge has width 0.8 of
the mean cost and ridge 0.1. Tuned: reg_e {REG_E}, reg_cl {REG_CL}, C {STRENGTHS[::2]}.
Scorers of skada use {SPLITS} splits of the points, and C by cross-validation except for JDOT. They
choose among:
"""


# ---------------------------------------------------------------- all of it
def planned(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    """Sets take turns, so that a run that is stopped has a bit of all."""
    found = []
    for name in options.sets:
        try:
            tasks = tasks_of(options.data, name)
        except NoData as missing:
            say(f"left out, because {missing}: {name}")
            continue
        tasks = [task for task in tasks if not options.tasks or task in options.tasks]
        found += [(seed, place, SETS.index(name), task) for place, task in enumerate(tasks)
                  for seed in range(options.first_seed, options.first_seed + options.seeds)]
    return [(SETS[name], task, seed) for seed, _, name, task in sorted(found)]


def run(options: argparse.Namespace, methods: list[Method | Search], journal: Journal) -> None:
    for name, task, seed in planned(options):
        drawn = None
        for method in methods:
            keys = [(name, task, seed, row) for row in method.rows]
            wanted = [key for key in keys if re.search(options.rows, key[3])
                      and not journal.has(key, method.who)]
            if not method.who or not wanted:
                continue
            drawn = drawn or draw(options.data, name, task, seed)
            for row, outcome in method.measure(drawn, options.limit):
                journal.add((name, task, seed, row), method.who, outcome)
                result = f"{outcome.accuracy:.1f}" if outcome.status == "done" else outcome.status
                say(f"{name} {task} seed {seed} {row}: {result}, {outcome.seconds:.2f} s "
                    f"{outcome.note}".rstrip())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, help="folder with mnist/ and office-caltech/; needed to measure")
    add("--sets", nargs="+", choices=SETS, default=SETS, help=f"[{' '.join(SETS)}]")
    add("--tasks", nargs="+", default=[], help="digits, and pairs such as A-C [all]")
    add("--seeds", type=int, default=5, help="draws of each task [5]")
    add("--first-seed", type=int, default=0, help="[0]")
    add("--rows", default="", metavar="PATTERN", help="only rows that match a regular expression")
    add("--limit", type=float, default=120, help="seconds for a fit, with its scores if any [120]")
    add("--keep", type=Path, default=Path(__file__).with_name("ACCURACY.jsonl"),
        help="the journal [bench/ACCURACY.jsonl]")
    add("--out", type=Path, help="the table, as Markdown; it is printed anyway")
    add("--report", action="store_true", help="measure nothing: make the table of what is kept")
    options = parser.parse_args()
    if not options.data and not options.report:
        parser.error("--data is missing: the folder with mnist/ and office-caltech/")
    return options


def main() -> int:
    options, code = arguments(), 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    methods, journal = all_methods(), Journal(options.keep)
    try:
        if not options.report:
            run(options, methods, journal)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        code = 130
    table = Table(journal, [row for method in methods for row in method.rows]).text()
    print(table)
    if options.out:
        options.out.write_text(table)
    return code


if __name__ == "__main__":
    sys.exit(main())
