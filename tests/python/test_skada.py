"""The adapter inside skada's pipelines."""

import subprocess
import sys

import numpy as np
import pytest

from skada import OTMapping
from skada.datasets import make_shifted_datasets
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from remblai.skada import GroundMetricAdapter, GroundMetricMapping


@pytest.fixture(scope="module")
def toy():
    X, y, sample_domain = make_shifted_datasets(
        n_samples_source=20, n_samples_target=20, shift="covariate_shift", random_state=0
    )
    return X, y, sample_domain


def masked(y, sample_domain):
    return np.where(sample_domain > 0, y, -1)


def test_one_line_pipeline_scores(toy):
    X, y, sample_domain = toy
    target = sample_domain < 0
    for base in (None, LogisticRegression()):
        pipeline = GroundMetricMapping(base, reg_e=0.1)
        pipeline.fit(X, masked(y, sample_domain), sample_domain=sample_domain)
        score = pipeline.score(X[target], y[target], sample_domain=sample_domain[target])
        theirs = OTMapping(base or KNeighborsClassifier(1))
        theirs.fit(X, masked(y, sample_domain), sample_domain=sample_domain)
        assert score > 0.8
        assert score > theirs.score(X[target], y[target], sample_domain=sample_domain[target]) - 0.05
        assert len(pipeline.predict(X[target])) == target.sum()


def test_adapter_moves_the_source_only(toy):
    X, y, sample_domain = toy
    adapter = GroundMetricAdapter()
    moved = adapter.fit_transform(X, masked(y, sample_domain), sample_domain=sample_domain)
    assert moved.shape == X.shape
    np.testing.assert_array_equal(moved[sample_domain < 0], X[sample_domain < 0])
    assert not np.allclose(moved[sample_domain > 0], X[sample_domain > 0])
    assert adapter.transport_.status_ == "converged"
    assert not hasattr(clone(adapter), "transport_")


def test_without_skada_the_error_says_what_to_install():
    code = "import sys; sys.modules['skada'] = None; import remblai.skada"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "pip install skada" in done.stderr
