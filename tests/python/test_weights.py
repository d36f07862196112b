"""Weights of points, and how they reach a classifier through scikit-learn."""

import numpy as np
import pytest
import sklearn
from conftest import shifted
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import remblai
from remblai import GroundMetricClassifier, GroundMetricTransport

Xs, ys, Xt, yt = shifted(m=60, n=50)
RISING = np.arange(1.0, 61.0)


@pytest.mark.parametrize("method", ["paper", "class-aware"])
def test_weights_are_those_of_the_plan(method):
    fitted = GroundMetricClassifier(method=method, inner_tol=1e-9).fit(
        Xs, ys, Xt=Xt, sample_weight=RISING, target_weight=np.arange(1.0, 51.0)
    )
    np.testing.assert_allclose(
        fitted.model_.source_weights / fitted.model_.source_weights.sum(), RISING / RISING.sum()
    )
    np.testing.assert_allclose(
        fitted.coupling_.sum(axis=0), np.arange(1, 51) / np.arange(1, 51).sum(), atol=1e-8
    )
    if method == "paper":
        np.testing.assert_allclose(fitted.coupling_.sum(axis=1), RISING / RISING.sum(), atol=1e-8)
    else:
        np.testing.assert_allclose(
            fitted.source_shares_, [RISING[ys == k].sum() / RISING.sum() for k in range(3)]
        )
    none = GroundMetricClassifier(method=method).fit(Xs, ys, Xt=Xt, sample_weight=np.ones(60))
    plain = GroundMetricClassifier(method=method).fit(Xs, ys, Xt=Xt)
    np.testing.assert_allclose(none.predict_proba(Xt), plain.predict_proba(Xt), atol=1e-9)


def test_weights_of_points_that_are_their_own_target_are_both():
    both = GroundMetricClassifier(method="paper").fit(Xs, ys, sample_weight=RISING).model_
    for found in (both.source_weights, both.target_weights):
        np.testing.assert_allclose(found / found.sum(), RISING / RISING.sum())
    other = GroundMetricClassifier(method="paper").fit(
        Xs, ys, sample_weight=RISING, target_weight=RISING[::-1]
    )
    found = other.model_.target_weights
    np.testing.assert_allclose(found / found.sum(), RISING[::-1] / RISING.sum())


@pytest.mark.parametrize("method", ["paper", "class-aware"])
def test_points_of_no_weight_take_no_part(method):
    weights = (np.arange(60) % 4 > 0).astype(float)
    fitted = GroundMetricClassifier(method=method).fit(Xs, ys, Xt=Xt, sample_weight=weights)
    kept = weights > 0
    without = GroundMetricClassifier(method=method).fit(Xs[kept], ys[kept], Xt=Xt)
    np.testing.assert_array_equal(fitted.predict(Xt), without.predict(Xt))


@pytest.mark.parametrize("names", [np.array([3, 5, 8]), np.array(["a", "b", "c"])])
def test_a_class_without_weight_has_no_share(names):
    """What follows `classes_` has a 0 at its place, and nothing of another class."""
    weights = (ys != 1).astype(float)
    kept = ys != 1
    classifier = GroundMetricClassifier().fit(Xs, names[ys], Xt=Xt, sample_weight=weights)
    transport = GroundMetricTransport(
        method="class-aware", distribution_estimation=lambda X: weights if len(X) == 60 else None
    )
    without = GroundMetricClassifier().fit(Xs[kept], names[ys[kept]], Xt=Xt)
    for fitted in (classifier, transport.fit(Xs=Xs, ys=names[ys], Xt=Xt)):
        np.testing.assert_array_equal(fitted.classes_, names)
        for name in ("shares_", "source_shares_", "trust_"):
            found = getattr(fitted, name)
            assert found.shape == (3,) and found[1] == 0
            np.testing.assert_allclose(found[[0, 2]], getattr(without, name), rtol=1e-6)
    shares = GroundMetricClassifier(target_shares=classifier.shares_)
    shares.fit(Xs, names[ys], Xt=Xt, sample_weight=weights)
    np.testing.assert_allclose(shares.shares_, classifier.shares_)
    two = GroundMetricClassifier(target_shares=[1, 3])
    two.fit(Xs, names[ys], Xt=Xt, sample_weight=weights)
    np.testing.assert_allclose(two.shares_, [0.25, 0, 0.75])
    with pytest.raises(ValueError, match="^target_shares: a class whose source points have no"):
        GroundMetricClassifier(target_shares=[1, 1, 1]).fit(
            Xs, names[ys], Xt=Xt, sample_weight=weights
        )
    codes = {"Xs": Xs, "ys": ys, "Xt": Xt, "source_weights": weights, "target_shares": [1, 0, 3]}
    model = remblai.fit(method="class-aware", **codes)
    path = remblai.fit_path(method="class-aware", lambdas=[0.1], **codes)
    for known in (model.classes, path[0].classes):
        np.testing.assert_allclose(known.shares, [0.25, 0.75])


def test_only_the_ratios_of_weights_count_so_that_a_weight_is_no_repetition():
    """All points twice is all points with weight 2, which is all points with weight 1, because the
    unit of weights is free; but a classifier that leaves points out one at a time sees the second
    copy. No rule can have both."""
    plain = GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
    twice = GroundMetricClassifier().fit(Xs, ys, Xt=Xt, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(twice.predict_proba(Xt), plain.predict_proba(Xt), atol=1e-9)
    repeated = GroundMetricClassifier().fit(np.repeat(Xs, 2, axis=0), np.repeat(ys, 2), Xt=Xt)
    assert np.abs(repeated.predict_proba(Xt) - plain.predict_proba(Xt)).max() > 1e-6
    paper = GroundMetricClassifier(method="paper", reg_e=0.5, inner_tol=1e-10)
    np.testing.assert_allclose(
        paper.fit(np.repeat(Xs, 2, axis=0), np.repeat(ys, 2), Xt=Xt).metric_,
        paper.fit(Xs, ys, Xt=Xt, sample_weight=np.full(60, 2.0)).metric_,
        rtol=1e-5,
    )


def test_a_base_estimator_gets_them():
    class Recorder(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.weights_ = sample_weight
            return super().fit(X, y, sample_weight)

    fitted = GroundMetricClassifier(Recorder()).fit(Xs, ys, Xt=Xt, sample_weight=RISING)
    np.testing.assert_array_equal(fitted.estimator_.weights_, RISING)
    assert GroundMetricClassifier(Recorder()).fit(Xs, ys, Xt=Xt).estimator_.weights_ is None


def test_weights_that_cannot_be():
    for arguments, words in (
        ({"sample_weight": RISING[:5]}, "^sample_weight: 5 weights for 60"),
        ({"target_weight": RISING}, "^target_weight: 60 weights for 50"),
        ({"sample_weight": -RISING}, "^sample_weight: weight 1 .* is -1"),
        ({"target_weight": np.zeros(50)}, "^target_weight: all are zero"),
        ({"sample_weight": RISING.astype(str)}, "^sample_weight: text"),
    ):
        with pytest.raises(ValueError, match=words):
            GroundMetricClassifier().fit(Xs, ys, Xt=Xt, **arguments)


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = GroundMetricClassifier(method="paper", n_threads=1).set_fit_request(
            sample_weight=True
        )
        pipeline = Pipeline(
            [
                ("scale", StandardScaler().set_fit_request(sample_weight=False)),
                ("adapt", classifier),
            ],
            transform_input=["Xt"],
        )
        pipeline.fit(Xs, ys, Xt=Xt, sample_weight=RISING, target_weight=np.arange(1.0, 51.0))
        model = pipeline[-1].model_
        np.testing.assert_allclose(
            model.source_weights / model.source_weights.sum(), RISING / RISING.sum()
        )
        assert model.target_weights[-1] == pytest.approx(50 * model.target_weights[0])
        search = GridSearchCV(
            GroundMetricClassifier(method="paper")
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            {"reg_e": [0.1, 1.0]},
            cv=2,
        )
        search.fit(Xs, ys, Xt=Xt, sample_weight=RISING)
        assert search.best_score_ > 0.5
        with pytest.raises(ValueError, match="sample_weight"):  # it must be asked for
            GridSearchCV(GroundMetricClassifier(), {"reg_e": [0.1]}, cv=2).fit(
                Xs, ys, sample_weight=RISING
            )
