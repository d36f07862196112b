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

from remblai import GroundMetricTransport
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
        assert (
            score > theirs.score(X[target], y[target], sample_domain=sample_domain[target]) - 0.05
        )
        assert len(pipeline.predict(X[target])) == target.sum()


@pytest.mark.parametrize("scale", [0.01, 100])
def test_source_and_target_have_one_scale(toy, scale):
    X, y, sample_domain = toy
    target = sample_domain < 0
    pipeline = GroundMetricMapping(preprocess="l2")
    pipeline.fit(scale * X, masked(y, sample_domain), sample_domain=sample_domain)
    labels = pipeline.predict(scale * X[target], sample_domain=sample_domain[target])
    pipeline.fit(X, masked(y, sample_domain), sample_domain=sample_domain)
    np.testing.assert_array_equal(
        labels, pipeline.predict(X[target], sample_domain=sample_domain[target])
    )


def test_adapter_moves_the_source_only(toy):
    X, y, sample_domain = toy
    adapter = GroundMetricAdapter()
    moved = adapter.fit_transform(X, masked(y, sample_domain), sample_domain=sample_domain)
    assert moved.shape == X.shape
    np.testing.assert_array_equal(moved[sample_domain < 0], X[sample_domain < 0])
    assert not np.allclose(moved[sample_domain > 0], X[sample_domain > 0])
    assert adapter.transport_.status_ == "converged"
    assert not hasattr(clone(adapter), "transport_")


@pytest.mark.filterwarnings("ignore:The reliability is")
def test_the_class_aware_method_sees_labels_of_the_source_only(toy):
    X, y, sample_domain = toy
    target = sample_domain < 0
    names = np.array(["no", "yes"])[y]
    for labels, truth in ((masked(y, sample_domain), y), (np.where(target, "-", names), names)):
        adapter = GroundMetricAdapter(GroundMetricTransport(method="class-aware"))
        adapter.fit(X, labels, sample_domain=sample_domain)
        other = clone(adapter).fit(X, truth, sample_domain=sample_domain)
        np.testing.assert_array_equal(adapter.transport_.coupling_, other.transport_.coupling_)
        assert adapter.transport_.shares_.shape == (2,)
    pipeline = GroundMetricMapping(method="class-aware")
    pipeline.fit(X, masked(y, sample_domain), sample_domain=sample_domain)
    assert pipeline.score(X[target], y[target], sample_domain=sample_domain[target]) > 0.8


def test_without_skada_the_error_says_what_to_install():
    code = "import sys; sys.modules['skada'] = None; import remblai.skada"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "pip install skada" in done.stderr


def test_parameters_of_the_transport_are_the_adapters_too(toy):
    X, y, sample_domain = toy
    short = GroundMetricAdapter(reg_e=0.1, ridge=0.5)
    assert short.get_params()["reg_e"] == 0.1 and clone(short).ridge == 0.5
    long = GroundMetricAdapter(GroundMetricTransport(reg_e=0.1, ridge=0.5))
    for adapter in (short, long):
        adapter.fit(X, masked(y, sample_domain), sample_domain=sample_domain)
    np.testing.assert_array_equal(short.transport_.coupling_, long.transport_.coupling_)
    assert clone(short).set_params(reg_e=0.3).reg_e == 0.3
    with pytest.raises(TypeError, match="did you mean 'reg_e'"):
        GroundMetricAdapter(rege=0.1)
    with pytest.raises(ValueError, match="^reg_e: a transport is given too"):
        long.set_params(reg_e=0.2).fit(X, masked(y, sample_domain), sample_domain=sample_domain)


def test_a_domain_without_points_is_named(toy):
    X, y, sample_domain = toy
    for keep, role in ((sample_domain > 0, "target"), (sample_domain < 0, "source")):
        with pytest.raises(ValueError, match=f"^sample_domain: no {role} points"):
            GroundMetricAdapter().fit(X[keep], y[keep], sample_domain=sample_domain[keep])
