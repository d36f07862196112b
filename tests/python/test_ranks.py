"""fit(comm=...) under mpirun, with the communicator of mpi4py."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import shifted

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


@pytest.fixture
def mpirun(tmp_path):
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpirun")
    if not remblai.has_mpi() or not launcher:
        pytest.skip("this build has no MPI, or there is no mpirun")
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    Xs, ys, Xt, _ = shifted(m=203, n=90)
    np.savez(tmp_path / "data.npz", Xs=Xs, ys=ys, Xt=Xt)

    def run(ranks, *words):
        return subprocess.run(
            [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), sys.executable,
             "script.py", *words],
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


def test_shares_are_all_rows_in_order():
    for size in (1, 2, 3, 7):
        rows = np.concatenate([np.arange(100)[remblai.share_of(100, k, size)] for k in range(size)])
        assert np.array_equal(rows, np.arange(100))
    with pytest.raises(ValueError, match="out of range"):
        remblai.share_of(100, 2, 2)


def test_without_mpi_it_is_refused():
    if remblai.has_mpi():
        pytest.skip("this build has MPI")

    class Comm:
        def py2f(self):
            return 0

        def allgather(self, value):
            return [value]

    Xs, _, Xt, _ = shifted()
    with pytest.raises(ValueError, match="no MPI"):
        remblai.fit(Xs=Xs, Xt=Xt, comm=Comm())
