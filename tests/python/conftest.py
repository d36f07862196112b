"""Data that the tests share. The package under test is the installed one."""

import os
import pathlib

os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest

import remblai

ROOT = pathlib.Path(__file__).resolve().parents[2]
assert ROOT / "python" not in pathlib.Path(remblai.__file__).parents, "test the installed package"


def shifted(seed=0, m=60, n=50, d=3, classes=3):
    """Labelled clusters, and the same clusters turned, stretched and moved."""
    random = np.random.default_rng(seed)
    centres = 4 * random.standard_normal((classes, d))
    ys, yt = np.arange(m) % classes, np.arange(n) % classes
    Xs = centres[ys] + 0.4 * random.standard_normal((m, d))
    turn = np.linalg.qr(np.eye(d) + 0.2 * random.standard_normal((d, d)))[0]
    turn = turn * np.sign(np.diag(turn))
    Xt = (centres[yt] + 0.4 * random.standard_normal((n, d))) @ turn * 1.1 + 0.3
    return Xs, ys, Xt, yt


def class_aware(X, y, Z, **options):
    return remblai.fit(Xs=X, ys=y, Xt=Z, **{"method": "class-aware", **options})


@pytest.fixture
def domains():
    return shifted()


@pytest.fixture(scope="session")
def digits():
    return remblai.mnist_sample()


@pytest.fixture(scope="session")
def program():
    """The command line, built from the same sources."""
    path = pathlib.Path(os.environ.get("REMBLAI_PROGRAM", ROOT / "build/release/remblai"))
    if not path.exists():
        pytest.skip(f"no program at {path}: make build, or set REMBLAI_PROGRAM")
    return path
