"""Many independent fits, over any backend of joblib (processes, dask, ray), with a journal to go
on from::

    from remblai import experiments

    splits = {
        f"seed {seed}": experiments.label_shift(X, y, pool, labels, seed=seed)
        for seed in range(5)
    }
    results = experiments.run(experiments.compare, splits, journal="runs.jsonl")

`run` is for any function of one task. `compare` is the protocol of `remblai reproduce` for three of
its methods: each along its grid, the best chosen on the labels of the training half of the target,
scored on the other.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._functions import evaluate, fit
from ._path import fit_path

__all__ = ["METHODS", "Split", "compare", "label_shift", "run", "table"]


class Split(NamedTuple):
    """Points of one task: a labelled source, and a target in two halves, one to fit and one to
    score."""

    source: NDArray[np.float64]
    source_labels: NDArray[np.int64]
    train: NDArray[np.float64]
    train_labels: NDArray[np.int64]
    test: NDArray[np.float64]
    test_labels: NDArray[np.int64]


#: Options of each method of `compare`, which `remblai reproduce` calls ot-identity, learned and
#: class-aware. One that sets the option `method` is not tuned.
METHODS: dict[str, dict[str, Any]] = {
    "identity": {"metric": "identity"},
    "learned": {"metric": "learned"},
    "class-aware": {"method": "class-aware"},
}
#: What `remblai reproduce` sets along its grid.
OUTER_TOLERANCE = 0.01
LAMBDAS = (5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)


def label_shift(
    points: ArrayLike,
    labels: ArrayLike,
    pool: ArrayLike,
    pool_labels: ArrayLike,
    *,
    label: int = 0,
    share: float = 0.1,
    per_class: int = 50,
    size: int = 500,
    seed: int = 0,
) -> Split:
    """A draw with label shift: `per_class` source points of each class from `points`, and two
    disjoint halves of `size` target points from `pool`, in which `label` has the `share` and the
    other classes divide the rest evenly. The draws are NumPy's, not those of `remblai
    reproduce`."""
    points, pool = np.asarray(points, dtype=np.float64), np.asarray(pool, dtype=np.float64)
    labels, pool_labels = np.asarray(labels), np.asarray(pool_labels)
    draw = np.random.default_rng(seed)
    classes = np.unique(labels)
    if label not in classes:
        raise ValueError(f"label: {label} is not a label of the points")
    if len(classes) < 2:
        raise ValueError("labels: one class alone, so that shares cannot shift")
    if not 0 < share < 1:
        raise ValueError(f"share: {share} is not between 0 and 1")
    for name, number in (("per_class", per_class), ("size", size)):
        if number < 1:
            raise ValueError(f"{name}: {number} is less than 1")

    def some(of: NDArray[Any], one: Any, count: int) -> NDArray[np.int64]:
        places = np.flatnonzero(of == one)
        if len(places) < count:
            raise ValueError(f"label {one}: {len(places)} points, where {count} are drawn")
        return draw.permutation(places)[:count]

    counts = np.full(len(classes), (1 - share) * size / max(len(classes) - 1, 1))
    counts[classes == label] = share * size
    whole = np.floor(counts).astype(int)
    whole[np.argsort(whole - counts, kind="stable")[: size - whole.sum()]] += 1
    source = np.concatenate([some(labels, one, per_class) for one in classes])
    halves: tuple[list[Any], list[Any]] = ([], [])
    for one, count in zip(classes, whole):
        both = some(pool_labels, one, 2 * count)
        halves[0].append(both[:count])
        halves[1].append(both[count:])
    train, test = (np.concatenate(half) for half in halves)
    return Split(
        points[source],
        labels[source],
        pool[train],
        pool_labels[train],
        pool[test],
        pool_labels[test],
    )


def _fits(
    split: Split, method: dict[str, Any], lambdas: list[float], options: dict[str, Any]
) -> list[tuple[float | None, str, Any, Any]]:
    """lambda, status, and the labels of both halves, for each fit of a method."""
    given: dict[str, Any] = {"Xs": split.source, "ys": split.source_labels, "Xt": split.train}
    if "method" in method:
        model = fit(**given, **{"threads": 1, **options, **method})
        return [(None, model.status, model.predict(split.train), model.predict(split.test))]
    tuned = {"threads": 1, "outer_tolerance": OUTER_TOLERANCE, **options, **method}
    path = fit_path(**given, X_test=split.test, lambdas=lambdas, **tuned)
    statuses = [model.status for model in path]
    assert path.target_labels is not None and path.test_labels is not None
    return list(zip(path.lambdas.tolist(), statuses, path.target_labels, path.test_labels))


def compare(
    split: Split,
    *,
    methods: Sequence[str] = tuple(METHODS),
    lambdas: Sequence[float] = LAMBDAS,
    **options: Any,
) -> list[dict[str, Any]]:
    """The methods on one split: a row for each fit, of which the best of each method on the labels
    of the training half is `chosen`; among equals that of the largest lambda. One thread, unless
    `threads` says otherwise.

    "identity" (there ot-identity), "learned" and "class-aware" are what `remblai reproduce` makes
    of the same split: the first two are a `fit_path` along `lambdas` with its outer tolerance of
    0.01, the last is one fit with fixed settings. Exact transport, the metrics and priors W and
    W^-1, tuned ridges, other rules of the class-aware method and classifiers of the source alone
    are there and not here. Other keywords are options of every fit."""
    rows: list[dict[str, Any]] = []
    lambdas = list(lambdas)
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"methods: {method!r} is not one of {', '.join(METHODS)}")
        trials: list[dict[str, Any]] = [
            {
                "method": method,
                "lambda": lambda_,
                "train_accuracy": evaluate(train, split.train_labels).accuracy,
                "test_accuracy": evaluate(test, split.test_labels).accuracy,
                "status": status,
                "chosen": False,
            }
            for lambda_, status, train, test in _fits(split, METHODS[method], lambdas, options)
        ]
        max(trials, key=lambda trial: float(trial["train_accuracy"]))["chosen"] = True
        rows += trials
    return rows


def table(results: Mapping[str, list[dict[str, Any]]]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of the test accuracy of every method over the tasks."""
    scores: dict[str, list[float]] = {}
    for rows in results.values():
        for row in rows:
            if row["chosen"]:
                scores.setdefault(row["method"], []).append(row["test_accuracy"])
    return {name: (float(np.mean(all_)), float(np.std(all_))) for name, all_ in scores.items()}


def run(
    function: Callable[..., Any],
    tasks: Mapping[str, Any],
    *,
    journal: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **keywords: Any,
) -> dict[str, Any]:
    """`function(task, **keywords)` for every task, in the order of `tasks`, whose names are text.

    Runs where joblib says: `n_jobs` processes (None: one, or what `joblib.parallel_config` sets),
    or the workers of `joblib.parallel_config(backend="dask")`. `journal` is a file with a line for
    each task that is done, written at once by this process. A run that finds one does only what is
    missing; a last line that was cut short is dropped. A journal of other keywords, or a task with
    other data, is an error. What `function` returns must be JSON. `progress` is called with the
    tasks done and all of them."""
    for name in tasks:
        if not isinstance(name, str):
            raise TypeError(f"tasks: the name {name!r} is not text; a journal knows tasks by it")
    done: dict[str, Any] = {}
    log = None if journal is None else _Journal(pathlib.Path(journal), function, keywords)
    prints = {name: _fingerprint(task) for name, task in tasks.items()} if log else {}
    if log:
        done = log.read(prints)
    left = [name for name in tasks if name not in done]
    if progress:
        progress(len(done), len(tasks))
    if left:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        # In a tuple, a task that is an array travels with its call: dask would keep it on one
        # worker, and lose it with that.
        calls = (joblib.delayed(_named)(function, (name, tasks[name]), keywords) for name in left)
        for name, result in parallel(calls):
            if log:
                result = log.append(name, prints[name], result)
            done[name] = result
            if progress:
                progress(len(done), len(tasks))
    return {name: done[name] for name in tasks}


def _named(
    function: Callable[..., Any], named: tuple[str, Any], keywords: dict[str, Any]
) -> tuple[str, Any]:
    name, task = named
    return name, function(task, **keywords)


def _fingerprint(task: Any) -> str:
    return str(joblib.hash(task))


class _Journal:
    """Lines of JSON: the settings, then one for each task."""

    def __init__(
        self, path: pathlib.Path, function: Callable[..., Any], keywords: dict[str, Any]
    ) -> None:
        self.path = path
        name = getattr(function, "__qualname__", type(function).__name__)
        self.settings = {
            "function": f"{getattr(function, '__module__', '')}.{name}",
            "keywords": str(joblib.hash(keywords)),
        }

    def read(self, prints: Mapping[str, str]) -> dict[str, Any]:
        """The results of the tasks that are there. Leaves the file with whole lines only."""
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            if not json.dumps(self.settings).encode().startswith(content):
                raise ValueError(f"journal: {self.path} is no journal; give another name")
            self._write(json.dumps(self.settings), "wb")
            return {}
        try:
            first, *lines = [json.loads(line) for line in whole.splitlines()]
            for line in lines:
                known = isinstance(line, dict) and {"task", "data", "result"} <= set(line)
                if not known or not isinstance(line["task"], str):
                    raise ValueError(f"no task: {json.dumps(line):.40}")
        except ValueError as error:
            raise ValueError(f"journal: {self.path} is damaged ({error}); remove it") from None
        if first != self.settings:
            raise ValueError(
                f"journal: {self.path} was made by another function or with other keywords; give "
                "another journal, or remove it"
            )
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        found = {}
        for line in lines:
            name = line["task"]
            if name in prints and prints[name] != line["data"]:
                raise ValueError(
                    f"journal: the task {name!r} in {self.path} had other data; give another "
                    "journal, or remove it"
                )
            if name in prints:
                found[name] = line["result"]
        return found

    def append(self, name: str, data: str, result: Any) -> Any:
        """On the disk when it returns. The result as a later run would read it."""
        try:
            text = json.dumps({"task": name, "data": data, "result": result}, default=_plain)
        except TypeError as error:
            raise TypeError(f"task {name!r}: a journal holds JSON; {error}") from None
        self._write(text, "ab")
        return json.loads(text)["result"]

    def _write(self, line: str, mode: str) -> None:
        with self.path.open(mode) as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
