"""GroundMetricClassifier: scikit-learn's conventions."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from conftest import shifted
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import remblai
from remblai import GroundMetricClassifier


@parametrize_with_checks(
    [
        GroundMetricClassifier(),
        GroundMetricClassifier(LogisticRegression()),
        GroundMetricClassifier(method="paper"),
        GroundMetricClassifier(method="paper", n_threads=-1, random_state=0),
    ],
    expected_failed_checks=lambda estimator: (
        # test_weights.py says why no rule can have both.
        {"check_sample_weight_equivalence_on_dense_data": "the ratios of weights alone count"}
        if estimator.method == "class-aware"
        else {}
    ),
)
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
    likeliest = classifier.classes_[shares.argmax(axis=1)]
    np.testing.assert_array_equal(likeliest, classifier.predict(Xt))


@pytest.mark.parametrize("knn_metric", ["model", "euclidean"])
@pytest.mark.parametrize("preprocess", ["none", "l2", "zscore", "standardise"])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("method", ["paper", "class-aware"])
def test_the_neighbour_rule_is_the_librarys(method, k, preprocess, knn_metric):
    Xs, ys, Xt, _ = shifted(seed=5)
    classifier = GroundMetricClassifier(
        method=method, n_neighbors=k, preprocess=preprocess, knn_metric=knn_metric, reg_e=1.0
    ).fit(Xs, ys, Xt=Xt)
    points = np.vstack([Xt, np.random.default_rng(0).uniform(-5, 5, (100, 3))])
    ours = classifier.model_.predict(points, neighbours=k, knn_metric=knn_metric)
    np.testing.assert_array_equal(classifier.predict(points), ours)


def test_one_model_answers_with_any_rule():
    Xs, ys, Xt, _ = shifted(seed=5)
    ys = np.minimum(ys, 1)  # two thirds are of one class
    model = remblai.fit(Xs=Xs, ys=ys, Xt=Xt)
    assert not {"rule", "neighbours", "knn_metric"} & set(model.options)
    np.testing.assert_array_equal(model.predict(Xt), model.predict(Xt, neighbours=1))
    assert len(np.unique(model.predict(Xt))) == 2
    assert np.all(model.predict(Xt, neighbours=len(Xs)) == 1)
    nearest = "there is no parameter 'neighbors'; did you mean 'neighbours'"
    with pytest.raises(TypeError, match=nearest):
        model.predict(Xt, neighbors=3)
    for wrong in ({"neighbours": 0}, {"neighbours": len(Xs) + 1}):
        with pytest.raises(ValueError, match="^neighbours: "):
            model.predict(Xt, **wrong)
    with pytest.raises(ValueError, match="^knn_metric: 'cosine' is not one of model, euclidean"):
        model.predict(Xt, knn_metric="cosine")
    with pytest.raises(ValueError, match=f"^n_neighbors: {len(Xs) + 1} .*give {len(Xs)} at most"):
        GroundMetricClassifier(n_neighbors=len(Xs) + 1).fit(Xs, ys, Xt=Xt)


def test_unknown_labels_are_not_scored(tmp_path):
    assert remblai.evaluate([1, 2, 3, 4], [1, np.nan, -1, 5]) == (2, 1, 2)
    assert remblai.evaluate([1, 2], [1, 3]).accuracy == 0.5
    assert np.isnan(remblai.evaluate([1, 2], [-1, np.nan]).accuracy)
    Xs, ys, Xt, _ = shifted()
    names = np.array(["red", "green", "blue"])
    for kind in (np.arange(3), np.arange(3.0), names):
        classifier = GroundMetricClassifier().fit(Xs, kind[ys], Xt=Xt)
        truth = classifier.predict(Xt).astype(object)
        truth[5:] = None if kind is names else np.nan
        if kind is not names:
            truth = truth.astype(float)
        assert classifier.score(Xt, truth) == 1
        with pytest.raises(ValueError, match=f"y: none of its {len(Xt)} labels is known"):
            classifier.score(Xt, truth[[-1] * len(Xt)])
        classifier.report(tmp_path / "page.html", yt=truth)
        page = (tmp_path / "page.html").read_text()
        assert "100.0 % of the target points with a known label" in page, kind
        assert f"5 of {len(Xt)} true labels are known" in page, kind


def test_digits(digits):
    classifier = GroundMetricClassifier(method="paper", reg_e=0.5)
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


@pytest.mark.parametrize("method", ["paper", "class-aware"])
@pytest.mark.parametrize("preprocess", ["none", "l2", "zscore", "centre", "standardise"])
@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_a_classifier_sees_mapped_points_and_others_alike(method, preprocess, scale):
    Xs, ys, Xt, yt = shifted()
    for base in (None, KNeighborsClassifier(1), LogisticRegression(C=1e6)):
        classifier = GroundMetricClassifier(base, method=method, preprocess=preprocess)
        classifier.fit(scale * Xs, ys, Xt=scale * Xt)
        assert classifier.score(scale * Xt, yt) > 0.9


def test_a_failed_fit_changes_nothing():
    Xs, ys, Xt, _ = shifted()
    for base in (None, LogisticRegression()):
        classifier = GroundMetricClassifier(base).fit(Xs, ys, Xt=Xt)
        before = classifier.predict(Xt)
        classifier.set_params(ridge=-1)
        with pytest.raises(ValueError, match="ridge"):
            classifier.fit(Xs[:4, :2], ys[:4] + 7, Xt=Xt[:, :2])
        np.testing.assert_array_equal(classifier.predict(Xt), before)


def test_an_interrupted_fit_has_its_classifier():
    Xs, ys, Xt, yt = shifted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = GroundMetricClassifier(LogisticRegression(), method="paper", max_iter=1)
        with pytest.raises(ConvergenceWarning):
            classifier.fit(Xs, ys, Xt=Xt)
    assert isinstance(classifier.estimator_, LogisticRegression)
    assert classifier.score(Xt, yt) > 0.9


def test_base_estimators():
    Xs, ys, Xt, yt = shifted(classes=2)
    classifier = GroundMetricClassifier(LinearSVC()).fit(Xs, ys, Xt=Xt)
    assert roc_auc_score(yt, classifier.decision_function(Xt)) > 0.9
    assert not hasattr(GroundMetricClassifier(), "decision_function")
    with pytest.raises(ValueError, match="not a classifier"):
        GroundMetricClassifier(Ridge()).fit(Xs, ys, Xt=Xt)


@pytest.mark.parametrize("labels", [[3, 7, -2], [True, False, True], ["b", "a", "c"]])
def test_labels_of_the_saved_model(labels, tmp_path):
    Xs, ys, Xt, _ = shifted()
    classifier = GroundMetricClassifier().fit(Xs, np.array(labels)[ys], Xt=Xt)
    classifier.model_.save(tmp_path / "model.npz")
    found = remblai.load(tmp_path / "model.npz").predict(Xt)
    expected = classifier.predict(Xt)
    assert expected.dtype == np.array(labels).dtype
    whole = not isinstance(labels[0], str)
    np.testing.assert_array_equal(found if whole else classifier.classes_[found], expected)


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
        GroundMetricClassifier(n_threads=1),
        {"reg_e": [0.1, 0.5], "ridge": [0.1, 1.0]},
        cv=3,
        n_jobs=2,
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
