"""fit(comm=...), of the package and of its estimators, under mpirun, with the communicator of
mpi4py."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import shifted
from sklearn.linear_model import LogisticRegression

import remblai

SCRIPT = """
    import sys
    import numpy as np
    from mpi4py import MPI
    import remblai

    comm = MPI.COMM_WORLD
    data = np.load("data.npz")
    rows = remblai.share_of(len(data["Xs"]), comm.rank, comm.size)
    Xs = data["Xs"][rows].copy()
    if len(sys.argv) > 2 and comm.rank == comm.size - 1:
        Xs[0, 0] = np.nan
    try:
        model = remblai.fit(Xs=Xs, ys=data["ys"][rows], Xt=data["Xt"], threads=1, comm=comm)
    except ValueError as error:
        print("rank", comm.rank, error, flush=True)
        sys.exit(0)
    assert len(model.f) == len(Xs)
    labels = model.predict(data["Xt"])
    whole = model.gathered()
    if comm.rank == 0:
        np.savez(sys.argv[1], f=whole.f, g=whole.g, labels=labels, source=whole.source_points)
"""


# One process makes several cases, "KIND:METHOD" each: to start it takes longer than to fit.
ESTIMATORS = """
    import pickle
    import sys
    import numpy as np
    from mpi4py import MPI
    import remblai

    comm = MPI.COMM_WORLD
    data = np.load("data.npz")
    rows = remblai.share_of(len(data["Xs"]), comm.rank, comm.size)
    Xt = data["Xt"]

    def refused(call):
        try:
            call()
        except (ValueError, TypeError) as error:
            assert "rank" in str(error), error
        else:
            raise AssertionError("a rank answered for all")

    def run(kind, method):
        Xs, ys = data["Xs"][rows], data["ys"][rows]
        if kind in ("sorted", "signs"):  # the ranks have other classes
            order = np.argsort(data["ys"], kind="stable")[rows]
            Xs, ys = data["Xs"][order], data["ys"][order]
        names = np.array(["apple", "berry", "cherry", "date"])[ys]
        if kind == "signs":
            names = np.where(ys == data["ys"].min(), -1, 1)
        if kind == "bad" and comm.rank == comm.size - 1:
            names = names[:-1]
        transport = remblai.GroundMetricTransport(method=method, n_threads=1)
        transport.fit(Xs=Xs, ys=ys, Xt=Xt, comm=comm)
        moved = transport.transform(Xs=Xs)
        assert transport.coupling_.shape == (len(Xs), len(Xt)), transport.coupling_.shape
        weights = sum(comm.allgather(float(transport.mu_s.sum())))
        assert abs(weights - 1) < 1e-12, weights
        transport.save(f"transport-{kind}-{method}-{comm.size}.npz")
        answers = {"n_neighbors": 3} if method == "paper" else {}
        classifier = remblai.GroundMetricClassifier(method=method, n_threads=1, **answers)
        try:
            classifier.fit(Xs, names, Xt=Xt, comm=comm)
        except ValueError as error:
            print("rank", comm.rank, error, flush=True)
            return
        labels = classifier.predict(Xt)
        if comm.size > 1:
            local = [
                lambda: transport.inverse_transform(Xt=Xt),
                lambda: pickle.dumps(classifier),
                lambda: transport.transform_labels(ys),
            ]
            others = [lambda: transport.transform(Xs=Xt)]
            if method == "class-aware":
                local += others
            else:
                others[0]()
            for call in local:
                refused(call)
            transport.set_params(out_of_sample_map="ferradans")
            refused(others[0])
        moved = comm.gather(moved)
        score = classifier.score(Xt, labels)
        if comm.rank == 0:
            np.savez(f"{kind}-{method}-{comm.size}.npz", moved=np.concatenate(moved),
                     labels=labels, classes=classifier.classes_, score=score)

    for case in sys.argv[1:]:
        run(*case.split(":"))
"""


# What only the last rank is given, or does: all ranks have to end with an exception.
FAULTS = """
    import json
    import numpy as np
    from mpi4py import MPI
    import remblai
    from remblai import GroundMetricClassifier, GroundMetricTransport

    comm = MPI.COMM_WORLD
    data = np.load("data.npz")
    rows = remblai.share_of(len(data["Xs"]), comm.rank, comm.size)
    Xs, ys, Xt = data["Xs"][rows], data["ys"][rows], data["Xt"]
    last = comm.rank == comm.size - 1

    class Unpicklable(Exception):
        def __init__(self):
            super().__init__("odd")
            self.held = lambda: None

    def fail(state):
        raise Unpicklable

    def fit(**more):
        remblai.fit(Xs=Xs, ys=ys, Xt=Xt, threads=1, comm=comm, **(more if last else {}))

    def fit_transport(labels=ys, **more):
        given = {"n_threads": 1, **(more if last else {})}
        GroundMetricTransport(**given).fit(Xs=Xs, ys=labels, Xt=Xt, comm=comm)

    def fit_classifier(weight=None, **more):
        given = {"n_threads": 1, **(more if last else {})}
        GroundMetricClassifier(**given).fit(
            Xs, ys, Xt=Xt, target_weight=weight if last else None, comm=comm
        )

    faults = {
        "option": lambda: fit(nothing=1),
        "number": lambda: fit(lambda_="x"),
        "prior": lambda: fit(prior=np.full((3, 3), np.nan)),
        "callback": lambda: fit(callback=fail),
        "labels": lambda: fit_transport(None if last else ys, method="class-aware"),
        "estimated": lambda: fit_transport(distribution_estimation=fail),
        "way": lambda: fit_transport(out_of_sample_map="nowhere"),
        "norm": lambda: fit_transport(norm="max"),
        "weights": lambda: fit_classifier(np.ones(3)),
        "rule": lambda: fit_classifier(rule="nearest", n_neighbors=10**6),
    }
    told = {}
    for name, call in faults.items():
        try:
            call()
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
    remblai.fit(Xs=Xs, ys=ys, Xt=Xt, threads=1, comm=comm, verbose=True)
    told = comm.gather(told)
    if comm.rank == 0:
        print(json.dumps(told))
"""


@pytest.fixture
def mpirun(tmp_path):
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpirun")
    if not remblai.has_mpi() or not launcher:
        pytest.skip("this build has no MPI, or there is no mpirun")
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "estimators.py").write_text(textwrap.dedent(ESTIMATORS))
    (tmp_path / "faults.py").write_text(textwrap.dedent(FAULTS))
    Xs, ys, Xt, _ = shifted(m=203, n=90)
    np.savez(tmp_path / "data.npz", Xs=Xs, ys=ys, Xt=Xt)

    def run(ranks, *words, script="script.py"):
        return subprocess.run(
            [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), sys.executable,
             script, *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, env=dict(os.environ),
        )  # fmt: skip

    run.folder = pathlib.Path(tmp_path)
    return run


def test_any_number_of_ranks_gives_the_same(mpirun):
    found = []
    for ranks in (1, 3):
        done = mpirun(ranks, f"{ranks}.npz")
        assert done.returncode == 0, done.stderr
        found.append(np.load(mpirun.folder / f"{ranks}.npz"))
    one, three = found
    assert np.array_equal(one["source"], np.load(mpirun.folder / "data.npz")["Xs"])
    for name in ("f", "g"):
        assert np.abs(one[name] - three[name]).max() <= 1e-12 * (1 + np.abs(one[name]).max())
    assert np.array_equal(one["labels"], three["labels"])


def test_a_fault_of_one_rank_is_that_of_all(mpirun):
    done = mpirun(2, "bad.npz", "bad")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("NaN") == 2
    assert not (mpirun.folder / "bad.npz").exists()


def test_estimators_give_the_same_on_any_number_of_ranks(mpirun):
    cases = list(itertools.product(["plain", "sorted", "signs"], ["paper", "class-aware"]))
    for ranks in (1, 3):
        done = mpirun(ranks, *map(":".join, cases), script="estimators.py")
        assert done.returncode == 0, done.stderr
    for case in cases:
        name = "-".join(case)
        one, three = (np.load(mpirun.folder / f"{name}-{ranks}.npz") for ranks in (1, 3))
        assert np.array_equal(one["labels"], three["labels"]), name
        assert np.array_equal(one["classes"], three["classes"]), name
        assert np.abs(one["moved"] - three["moved"]).max() <= 1e-10, name
        if case[0] == "signs":
            assert one["classes"].tolist() == [-1, 1]
        alone, whole = (
            remblai.load(mpirun.folder / f"transport-{name}-{ranks}.npz") for ranks in (1, 3)
        )
        assert np.array_equal(alone.source_points, whole.source_points), name
        assert np.array_equal(alone.source_labels, whole.source_labels), name
        assert whole.map_back().shape == (90, whole.source_points.shape[1])


def test_a_fault_of_one_rank_is_that_of_all_estimators(mpirun):
    done = mpirun(2, "bad:paper", script="estimators.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("y: ") == 2, done.stdout
    assert not (mpirun.folder / "bad-paper-2.npz").exists()


def test_whatever_one_rank_refuses_ends_all(mpirun):
    done = mpirun(2, script="faults.py")
    assert done.returncode == 0, done.stderr
    first, last = json.loads(done.stdout)
    names = {"option", "number", "prior", "callback", "labels", "estimated", "way", "norm",
             "weights", "rule"}  # fmt: skip
    assert set(first) == set(last) == names
    for name in names - {"number"}:  # which the library refuses, on all ranks alike
        assert "rank 1 failed: " in first[name], first[name]
        assert "rank 1 failed: " not in last[name], last[name]
    assert first["number"] == last["number"] == "Refused: lambda_: 'x' is not a number"
    assert first["callback"] == "RuntimeError: rank 1 failed: Unpicklable: odd"
    assert done.stderr.count("remblai: 100%") == 1, done.stderr  # progress, of the first rank alone


class OneRank:
    """A communicator of one rank, of which nothing is asked before the parameters are known."""

    size, rank = 1, 0

    def allgather(self, value):
        return [value]

    def py2f(self):
        return 0


def test_what_several_ranks_cannot_do_is_refused():
    Xs, ys, Xt, _ = shifted()
    comm = OneRank()
    with pytest.raises(ValueError, match="norm: 'max' is found among all pairs"):
        remblai.GroundMetricTransport(norm="max").fit(Xs=Xs, Xt=Xt, comm=comm)
    paper = remblai.GroundMetricClassifier(method="paper")
    with pytest.raises(ValueError, match="Xt: each rank has all target points"):
        paper.fit(Xs, ys, comm=comm)
    with pytest.raises(ValueError, match="base_estimator: it is fitted with all mapped points"):
        paper.set_params(base_estimator=LogisticRegression()).fit(Xs, ys, Xt=Xt, comm=comm)


def test_shares_are_all_rows_in_order():
    for size in (1, 2, 3, 7):
        rows = np.concatenate([np.arange(100)[remblai.share_of(100, k, size)] for k in range(size)])
        assert np.array_equal(rows, np.arange(100))
    with pytest.raises(ValueError, match="out of range"):
        remblai.share_of(100, 2, 2)


def test_without_mpi_it_is_refused():
    if remblai.has_mpi():
        pytest.skip("this build has MPI")

    Xs, _, Xt, _ = shifted()
    with pytest.raises(ValueError, match="no MPI"):
        remblai.fit(Xs=Xs, Xt=Xt, comm=OneRank())
    with pytest.raises(ValueError, match="no MPI"):
        remblai.GroundMetricTransport().fit(Xs=Xs, Xt=Xt, comm=OneRank())


def test_the_labels_of_all_ranks_say_whether_minus_one_is_a_class():
    class Others:
        """Ranks of which the others have these labels."""

        def __init__(self, labels):
            self.labels = labels

        def allgather(self, mine):
            return [mine, self.labels]

    require = remblai._checks.require_known_labels
    require(np.array([-1, -1]), "ys", Others({1}))
    require(None, "ys", Others({-1, 1}))
    for mine, others in (([-1, 1], {0, 1}), ([0, 1], {-1}), ([-1], {-1})):
        with pytest.raises(ValueError, match="ys: -1 marks a label that is not known"):
            require(np.array(mine), "ys", Others(others))
