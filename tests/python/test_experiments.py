"""Many fits over joblib and dask: journal, resume, and workers that die."""

import functools
import json
import os
import pathlib
import time
from concurrent.futures import CancelledError

import joblib
import numpy as np
import pytest
from conftest import shifted
from sklearn.model_selection import GridSearchCV

from remblai import GroundMetricClassifier, evaluate, experiments, fit, fit_path


def square(task, offset=0):
    return {"value": float(task) ** 2 + offset}


def fails_on_three(task):
    if task == 3:
        raise RuntimeError("no threes")
    return task


def note(task):
    """Leaves a file for each call."""
    folder, number = task
    pathlib.Path(folder, f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return number


def dies_once(task, folder):
    """The first call of task 2 takes its worker with it."""
    number = int(task[0])
    mark = pathlib.Path(folder, "died")
    if number == 2 and not mark.exists():
        mark.touch()
        os._exit(1)
    time.sleep(0.05)
    return number


@pytest.fixture
def tasks():
    return {f"task {k}": k for k in range(6)}


@pytest.fixture
def cluster():
    """Of its own for each test: a worker that replaces a dead one gets no copy of scattered data."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as local, distributed.Client(local) as client:
        yield client


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(tasks, n_jobs):
    results = experiments.run(square, tasks, n_jobs=n_jobs, offset=1)
    assert list(results) == list(tasks)
    assert [result["value"] for result in results.values()] == [k**2 + 1 for k in range(6)]


def test_a_run_goes_on_from_its_journal(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    tasks = {str(k): (str(marks), k) for k in range(4)}
    first = {name: tasks[name] for name in list(tasks)[:2]}
    journal = tmp_path / "journal.jsonl"
    experiments.run(note, first, journal=journal)
    seen = []
    results = experiments.run(
        note, tasks, journal=journal, progress=lambda done, all_: seen.append((done, all_))
    )
    assert results == {str(k): k for k in range(4)}
    assert sorted(path.name.split("-")[0] for path in marks.iterdir()) == ["0", "1", "2", "3"]
    assert seen[0] == (2, 4) and seen[-1] == (4, 4)


def test_what_was_done_before_a_failure_is_kept(tasks, tmp_path):
    journal = tmp_path / "journal.jsonl"
    with pytest.raises(RuntimeError, match="no threes"):
        experiments.run(fails_on_three, tasks, journal=journal)
    done = [json.loads(line)["task"] for line in journal.read_text().splitlines()[1:]]
    assert set(done) >= {"task 0", "task 1"}


def test_a_line_that_was_cut_short_is_dropped(tasks, tmp_path):
    journal = tmp_path / "journal.jsonl"
    whole = experiments.run(square, tasks, journal=journal)
    content = journal.read_bytes()
    journal.write_bytes(content[:-9])
    assert experiments.run(square, tasks, journal=journal) == whole
    assert journal.read_bytes().count(b"\n") == len(tasks) + 1


def test_another_journal_is_refused(tasks, tmp_path):
    journal = tmp_path / "journal.jsonl"
    experiments.run(square, tasks, journal=journal)
    with pytest.raises(ValueError, match="other keywords"):
        experiments.run(square, tasks, journal=journal, offset=2)
    with pytest.raises(ValueError, match="other data"):
        experiments.run(square, {**tasks, "task 1": 7}, journal=journal)
    journal.write_text("not JSON\n")
    with pytest.raises(ValueError, match="damaged"):
        experiments.run(square, tasks, journal=journal)


@pytest.mark.parametrize("line", ["3", "[1, 2]", "{}", '{"task": ["a"], "data": "", "result": 1}'])
def test_a_line_that_is_no_task_is_damage(tasks, tmp_path, line):
    journal = tmp_path / "journal.jsonl"
    experiments.run(square, tasks, journal=journal)
    journal.write_text(journal.read_text() + line + "\n")
    with pytest.raises(ValueError, match="damaged"):
        experiments.run(square, tasks, journal=journal)


@pytest.mark.parametrize("name", [("a", 1), 3])
def test_names_of_tasks_are_text(tmp_path, name):
    with pytest.raises(TypeError, match="tasks: the name .* is not text"):
        experiments.run(square, {"a": 1, name: 2}, journal=tmp_path / "j.jsonl")
    assert not (tmp_path / "j.jsonl").exists()


def test_a_file_of_the_user_is_no_journal(tasks, tmp_path):
    file = tmp_path / "results.json"
    file.write_text('{"mine": 1}')  # without a newline, as json.dump leaves it
    with pytest.raises(ValueError, match="is no journal"):
        experiments.run(square, tasks, journal=file)
    assert file.read_text() == '{"mine": 1}'


def first_entry(task, weights):
    return task + float(weights[0, 0])


def test_keywords_are_compared_whole(tmp_path):
    weights = np.zeros((40, 40))
    journal = tmp_path / "journal.jsonl"
    experiments.run(first_entry, {"a": 1}, journal=journal, weights=weights)
    other = weights.copy()
    other[20, 20] = 1  # in the middle, which NumPy does not print
    with pytest.raises(ValueError, match="other keywords"):
        experiments.run(first_entry, {"a": 1}, journal=journal, weights=other)


def test_a_result_that_is_no_json_is_refused(tmp_path):
    with pytest.raises(TypeError, match="JSON"):
        experiments.run(lambda task: object(), {"a": 1}, journal=tmp_path / "j.jsonl")


def test_a_draw_with_label_shift():
    Xs, ys, Xt, yt = shifted(m=300, n=900)
    split = experiments.label_shift(Xs, ys, Xt, yt, label=1, share=0.6, per_class=20, size=100)
    assert len(split.source) == 60 and len(split.train) == len(split.test) == 100
    assert np.sum(split.train_labels == 1) == np.sum(split.test_labels == 1) == 60
    both = {tuple(row) for row in split.train} & {tuple(row) for row in split.test}
    assert not both
    again = experiments.label_shift(Xs, ys, Xt, yt, label=1, share=0.6, per_class=20, size=100)
    assert all(np.array_equal(a, b) for a, b in zip(split, again))


def test_what_cannot_be_drawn_is_refused():
    Xs, ys, Xt, yt = shifted(m=300, n=900)
    for share in (-0.5, 0, 1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="share: .* is not between 0 and 1"):
            experiments.label_shift(Xs, ys, Xt, yt, share=share, size=30)
    for name in ("size", "per_class"):
        with pytest.raises(ValueError, match=f"{name}: -3 is less than 1"):
            experiments.label_shift(Xs, ys, Xt, yt, **{name: -3})
    with pytest.raises(ValueError, match="labels: one class"):
        experiments.label_shift(Xs, np.zeros(300), Xt, yt, share=0.5, size=30)


def test_lambdas_are_read_once():
    Xs, ys, Xt, yt = shifted(m=90, n=200)
    split = experiments.label_shift(Xs, ys, Xt, yt, per_class=10, size=40, share=0.3)
    rows = experiments.compare(
        split, methods=["identity", "learned"], lambdas=(lambda_ for lambda_ in (0.1, 0.5))
    )
    assert [row["lambda"] for row in rows] == [0.5, 0.1, 0.5, 0.1]
    with pytest.raises(ValueError, match="lambdas: none are given"):
        experiments.compare(split, lambdas=[])


def test_each_run_is_the_fit_that_reproduce_makes(monkeypatch):
    """Its draws come from a generator of C++, so that the points of a split cannot be the same; the
    options of its fits can (cli/reproduce.cpp)."""
    Xs, ys, Xt, yt = shifted(m=90, n=200)
    split = experiments.label_shift(Xs, ys, Xt, yt, per_class=10, size=40, share=0.3)
    asked = []
    monkeypatch.setattr(
        experiments, "fit_path", lambda **keywords: asked.append(keywords) or fit_path(**keywords)
    )
    rows = experiments.compare(split, lambdas=[0.5, 0.02])
    assert [keywords["outer_tolerance"] for keywords in asked] == [0.01, 0.01]
    given = {"Xs": split.source, "ys": split.source_labels, "Xt": split.train, "threads": 1}
    alone = {
        "identity": {"metric": "identity", "outer_tolerance": 0.01},
        "learned": {"outer_tolerance": 0.01},
        "class-aware": {"method": "class-aware"},
    }
    for row in rows:
        model = fit(**given, lambda_=row["lambda"], **alone[row["method"]])
        for half, points in (("train", split.train), ("test", split.test)):
            truth = getattr(split, f"{half}_labels")
            assert row[f"{half}_accuracy"] == evaluate(model.predict(points), truth).accuracy
        assert row["status"] == model.status


def test_the_protocol(tmp_path):
    Xs, ys, Xt, yt = shifted(m=90, n=200)
    splits = {
        str(seed): experiments.label_shift(
            Xs, ys, Xt, yt, per_class=10, size=40, share=0.3, seed=seed
        )
        for seed in range(2)
    }
    results = experiments.run(
        experiments.compare, splits, journal=tmp_path / "j.jsonl", lambdas=[0.5, 0.1]
    )
    for rows in results.values():
        for method in experiments.METHODS:
            trials = [row for row in rows if row["method"] == method]
            best = max(trial["train_accuracy"] for trial in trials)
            assert len(trials) == (1 if method == "class-aware" else 2)
            assert [t["train_accuracy"] for t in trials if t["chosen"]] == [best]
    assert set(experiments.table(results)) == set(experiments.METHODS)


def test_workers_of_dask(cluster, tasks, tmp_path):
    with joblib.parallel_config(backend="dask"):
        results = experiments.run(square, tasks, journal=tmp_path / "j.jsonl")
    assert results == experiments.run(square, tasks)


def test_a_worker_of_dask_that_dies(cluster, tmp_path):
    tasks = {str(k): np.full(1000, k) for k in range(8)}
    with joblib.parallel_config(backend="dask"):
        results = experiments.run(
            dies_once, tasks, journal=tmp_path / "j.jsonl", folder=str(tmp_path)
        )
    assert (tmp_path / "died").exists()
    assert results == {str(k): k for k in range(8)}
    lines = (tmp_path / "j.jsonl").read_text().splitlines()
    assert len(lines) == 9  # the settings, and each task once


def score_or_die(mark, classifier, X, y):
    """The first score in a worker takes the worker with it."""
    if os.getpid() != int(mark.name) and not mark.exists():
        mark.touch()
        os._exit(1)
    return classifier.score(X, y)


def test_grid_search_on_dask_where_a_worker_dies(cluster, tmp_path):
    Xs, ys, Xt, _ = shifted()
    mark = tmp_path / str(os.getpid())
    grid = GridSearchCV(
        GroundMetricClassifier(n_threads=1), {"reg_e": [0.05, 0.5]}, cv=3,
        scoring=functools.partial(score_or_die, mark),
    )  # fmt: skip
    with joblib.parallel_config(backend="dask", scatter=[Xs, ys, Xt]):
        try:
            there = grid.fit(Xs, ys, Xt=Xt)
        except CancelledError:
            # Where the worker that dies has the only copy of an array, dask forgets the batch
            # before anything of it is told to joblib. The search is then made again.
            assert mark.exists()
            there = grid.fit(Xs, ys, Xt=Xt)
        scores = there.cv_results_["mean_test_score"].copy()
    assert mark.exists()
    here = grid.fit(Xs, ys, Xt=Xt).cv_results_["mean_test_score"]
    assert np.array_equal(scores, here)
