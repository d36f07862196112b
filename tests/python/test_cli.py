"""The command line and the package: the same answers from the same files."""

import json
import subprocess

import numpy as np
import pytest
from conftest import shifted

import remblai


@pytest.fixture
def files(tmp_path):
    Xs, ys, Xt, yt = shifted()
    for name, values in (("Xs", Xs), ("ys", ys), ("Xt", Xt), ("yt", yt)):
        np.save(tmp_path / f"{name}.npy", values)
    return tmp_path


def run(program, *arguments):
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_fit_the_same_model(program, files):
    run(program, "fit", "--source", files / "Xs.npy", "--source-labels", files / "ys.npy",
        "--target", files / "Xt.npy", "--out", files / "cli.npz", "--lambda", 0.3, "--threads", 1, "--quiet")
    theirs = remblai.load(files / "cli.npz")
    Xs, ys, Xt = (np.load(files / f"{name}.npy") for name in ("Xs", "ys", "Xt"))
    ours = remblai.fit(Xs=Xs, ys=ys, Xt=Xt, lambda_=0.3, threads=1)
    np.testing.assert_allclose(ours.f, theirs.f, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.metric(), theirs.metric(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(Xt), theirs.predict(Xt))
    assert ours.options == theirs.options
    estimator = remblai.GroundMetricTransport(0.3, n_threads=1).fit(Xs=Xs, Xt=Xt)
    np.testing.assert_allclose(estimator.transform(Xs=Xs), theirs.map(), rtol=1e-9)


def test_both_fit_the_same_class_aware_model(program, files):
    Xs, ys, Xt, yt = (np.load(files / f"{name}.npy") for name in ("Xs", "ys", "Xt", "yt"))
    known = np.where(np.arange(len(yt)) < 5, yt, -1)
    np.save(files / "known.npy", known)
    run(program, "fit", "--source", files / "Xs.npy", "--source-labels", files / "ys.npy",
        "--target", files / "Xt.npy", "--known-labels", files / "known.npy", "--method",
        "class-aware", "--out", files / "aware.npz", "--threads", 1, "--quiet")
    theirs = remblai.load(files / "aware.npz")
    ours = remblai.fit(Xs=Xs, ys=ys, Xt=Xt, known_labels=known, method="class-aware", threads=1)
    assert ours.options == theirs.options
    np.testing.assert_allclose(ours.classes.shares, theirs.classes.shares, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(Xt)[1], theirs.predict_proba(Xt)[1], atol=1e-9)
    estimator = remblai.GroundMetricClassifier(n_threads=1).fit(Xs, ys, Xt=Xt, yt_known=known)
    np.testing.assert_array_equal(estimator.predict(Xt), theirs.predict(Xt))


def test_the_program_reads_our_models(program, files):
    Xs, ys, Xt = (np.load(files / f"{name}.npy") for name in ("Xs", "ys", "Xt"))
    model = remblai.fit(Xs=Xs, ys=ys, Xt=Xt)
    model.save(str(files / "model.npz"))
    run(program, "predict", "--model", files / "model.npz", "--points", files / "Xt.npy", "--out",
        files / "labels.npy")
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.predict(Xt))
    run(program, "map", "--model", files / "model.npz", "--points", files / "Xs.npy", "--out",
        files / "mapped.npy")
    np.testing.assert_allclose(np.load(files / "mapped.npy"), model.map(Xs), rtol=1e-10)


def test_reports_have_the_same_entries(program, files):
    run(program, "adapt", "--source", files / "Xs.npy", "--source-labels", files / "ys.npy",
        "--target", files / "Xt.npy", "--out", files / "out", "--quiet")
    theirs = json.loads((files / "out" / "report.json").read_text())
    model = remblai.load(files / "out" / "model.npz")
    ours = json.loads(model.report())
    assert set(ours) | {"files"} == set(theirs)  # a run of the program has files of its own
    assert ours["history"] == theirs["history"]


def test_defaults_are_those_of_the_help(program):
    text = run(program, "fit", "--help")
    for option in remblai.options():
        flag = "--" + option["name"].rstrip("_").replace("_", "-")
        assert flag in text
