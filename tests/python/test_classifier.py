"""GroundMetricClassifier: scikit-learn's conventions."""

import pickle

import numpy as np
import pytest
import sklearn
from conftest import shifted
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import remblai
from remblai import GroundMetricClassifier


@parametrize_with_checks([GroundMetricClassifier(), GroundMetricClassifier(LogisticRegression())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_labels_of_any_kind_are_carried_over():
    Xs, ys, Xt, yt = shifted()
    names = np.array(["red", "green", "blue"])
    classifier = GroundMetricClassifier().fit(Xs, names[ys], Xt=Xt)
    assert set(classifier.classes_) == set(names)
    assert classifier.score(Xt, names[yt]) > 0.9
    shares = classifier.predict_proba(Xt)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.classes_[shares.argmax(axis=1)], classifier.predict(Xt))


@pytest.mark.parametrize("knn_metric", ["model", "euclidean"])
@pytest.mark.parametrize("preprocess", ["none", "l2", "zscore"])
@pytest.mark.parametrize("k", [1, 4])
def test_the_neighbour_rule_is_the_librarys(k, preprocess, knn_metric):
    Xs, ys, Xt, _ = shifted(seed=5)
    classifier = GroundMetricClassifier(
        n_neighbors=k, preprocess=preprocess, knn_metric=knn_metric, reg_e=1.0
    ).fit(Xs, ys, Xt=Xt)
    points = np.vstack([Xt, np.random.default_rng(0).uniform(-5, 5, (100, 3))])
    np.testing.assert_array_equal(classifier.predict(points), classifier.model_.predict(points))


def test_digits(digits):
    classifier = GroundMetricClassifier(reg_e=0.5)
    classifier.fit(digits["Xs"], digits["ys"], Xt=digits["Xt"])
    assert classifier.score(digits["X_test"], digits["y_test"]) > 0.75
    np.testing.assert_array_equal(
        classifier.predict(digits["X_test"]), classifier.model_.predict(digits["X_test"])
    )


def test_any_classifier_on_the_mapped_points():
    Xs, ys, Xt, yt = shifted()
    classifier = GroundMetricClassifier(LogisticRegression()).fit(Xs, ys, Xt=Xt)
    assert classifier.score(Xt, yt) > 0.9
    assert classifier.predict_proba(Xt).shape == (len(Xt), 3)
    without = GroundMetricClassifier(LinearSVC()).fit(Xs, ys, Xt=Xt)
    assert not hasattr(without, "predict_proba")
    assert without.score(Xt, yt) > 0.9


def test_pickle_and_clone():
    Xs, ys, Xt, _ = shifted()
    classifier = GroundMetricClassifier(KNeighborsClassifier(3)).fit(Xs, ys, Xt=Xt)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(Xt), classifier.predict(Xt))
    assert clone(classifier).get_params()["base_estimator__n_neighbors"] == 3


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_side_by_side(backend, routing):
    Xs, ys, Xt, _ = shifted()
    search = GridSearchCV(
        GroundMetricClassifier(n_threads=1), {"reg_e": [0.1, 0.5], "ridge": [0.1, 1.0]}, cv=3, n_jobs=2
    )
    with parallel_backend(backend), sklearn.config_context(enable_metadata_routing=routing):
        search.fit(Xs, ys, Xt=Xt)
    best = search.best_estimator_
    assert len(best.model_.target_points) == len(Xt)
    np.testing.assert_array_equal(clone(best).fit(Xs, ys, Xt=Xt).predict(Xt), search.predict(Xt))


@pytest.mark.parametrize("routing", [False, True])
def test_pipeline_and_cross_validation(routing):
    Xs, ys, Xt, yt = shifted()
    scaled = StandardScaler().fit(Xs).transform(Xt)
    pipeline = make_pipeline(StandardScaler(), GroundMetricClassifier())
    name = "Xt" if routing else "groundmetricclassifier__Xt"
    with sklearn.config_context(enable_metadata_routing=routing):
        assert cross_val_score(pipeline, Xs, ys, cv=3).mean() > 0.9
        pipeline.fit(Xs, ys, **{name: scaled})
        assert pipeline.score(Xt, yt) > 0.9
    np.testing.assert_array_equal(pipeline[-1].model_.target_points, scaled)


def test_xt_of_another_width_is_refused():
    Xs, ys, Xt, _ = shifted()
    with pytest.raises(ValueError, match="features"):
        GroundMetricClassifier().fit(Xs, ys, Xt=Xt[:, :2])


def test_the_whole_state_is_a_model_file(tmp_path):
    Xs, ys, Xt, _ = shifted()
    classifier = GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
    classifier.model_.save(str(tmp_path / "model.npz"))
    labels = remblai.load(tmp_path / "model.npz").predict(Xt)
    np.testing.assert_array_equal(classifier.classes_[labels], classifier.predict(Xt))
