"""The class-aware method: its equations, an oracle in NumPy, its options and rules."""

import copy
import importlib.util
import pickle

import numpy as np
import pytest
from conftest import ROOT, class_aware, shifted
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

import remblai
from remblai import GroundMetricClassifier, GroundMetricTransport

REFERENCE = ROOT.parent / "shared/reference/class_aware.py"
LEFT_TO_THE_METHOD = {"lambda_", "prior_ridge", "ridge", "steps"}


# ---- options


def test_defaults_follow_the_method():
    defaults = {option["name"]: option["default"] for option in remblai.options()}
    assert {name for name, value in defaults.items() if value is None} == LEFT_TO_THE_METHOD
    assert defaults["method"] == "paper" and defaults["prior"] == "auto"
    of = {
        method: {option["name"]: option["default"] for option in remblai.options(method)}
        for method in ("paper", "class-aware")
    }
    different = {name for name in defaults if of["paper"][name] != of["class-aware"][name]}
    assert different == LEFT_TO_THE_METHOD | {"method", "prior"}
    X, y, Z, _ = shifted()
    for method in of:
        assert class_aware(X, y, Z, method=method).options == of[method]
    assert GroundMetricClassifier().method == "class-aware"
    assert GroundMetricTransport().method == "paper"
    for estimator in (GroundMetricClassifier(), GroundMetricTransport()):
        assert estimator.reg_e is None and estimator.max_iter is None and estimator.ridge is None
    with pytest.raises(ValueError, match="^method: 'newest' is not one of paper, class-aware"):
        remblai.options("newest")
    with pytest.raises(ValueError, match="^method: 'newest' is not one of paper, class-aware"):
        GroundMetricClassifier(method="newest").fit(X, y, Xt=Z)


def test_none_keeps_a_default():
    X, y, Z, _ = shifted()
    for method in ("paper", "class-aware"):
        nothing = {
            option["name"]: None for option in remblai.options() if option["name"] != "method"
        }
        given, left_out = (
            class_aware(X, y, Z, method=method, **nothing),
            class_aware(X, y, Z, method=method),
        )
        np.testing.assert_array_equal(given.f, left_out.f)
        assert given.options == left_out.options
    assert remblai.fit(Xs=X, ys=y, Xt=Z, method=None).classes is None
    np.testing.assert_array_equal(
        given.predict(Z, rule=None, neighbours=None, knn_metric=None), given.predict(Z)
    )


def test_every_option_is_a_parameter_and_has_an_effect():
    X, y, Z, _ = shifted()
    plain = GroundMetricClassifier().fit(X, y, Xt=Z)
    changes = {
        "opinion": 2.0, "smoothing": 1.0, "kernel_width": 0.1, "share_prior": 20.0,
        "translation": "no", "target_shares": [1, 2, 3], "reg_e": 1.0, "ridge": 0.01, "max_iter": 1,
    }  # fmt: skip
    for name, value in changes.items():
        other = GroundMetricClassifier(**{name: value}).fit(X, y, Xt=Z)
        assert np.abs(other.predict_proba(Z) - plain.predict_proba(Z)).max() > 1e-9, name
    assert not GroundMetricClassifier(caution="bold").fit(X, y, Xt=Z).model_.classes.cautious
    assert GroundMetricClassifier(landmarks=12).fit(X, y, Xt=Z).model_.options["landmarks"] == 12
    for name, value in (
        ("opinion", -1),
        ("kernel_width", 0),
        ("landmarks", 3),
        ("caution", "some"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            GroundMetricClassifier(**{name: value}).fit(X, y, Xt=Z)


# ---- what a fit is


@pytest.mark.parametrize("options", [{}, {"caution": "bold"}, {"share_prior": 3.0}])
def test_shares_are_those_of_maximum_likelihood(options):
    X, y, Z, _ = shifted(seed=2, m=80, n=70)
    classes = class_aware(X, y, Z, **options).classes
    np.testing.assert_array_equal(classes.classes, np.unique(y))
    np.testing.assert_allclose(classes.source_shares, np.bincount(y) / len(y))
    np.testing.assert_allclose(classes.opinions.sum(axis=1), 1)
    doubt = (1 - classes.reliability) / classes.reliability if classes.cautious else 0
    prior = options.get("share_prior", 0.5) + len(Z) * doubt**2 * classes.source_shares
    expected = (classes.opinions.sum(axis=0) + prior) / (len(Z) + prior.sum())
    np.testing.assert_allclose(classes.shares, expected, atol=1e-6)


def test_row_sums_follow_the_shares():
    X, y, Z, _ = shifted()
    model = class_aware(X, y, Z, tolerance=1e-9)
    plan = model.plan()
    np.testing.assert_allclose(plan.sum(axis=0), 1 / len(Z), atol=1e-8)
    expected = (model.classes.shares / np.bincount(y))[y]
    np.testing.assert_allclose(plan.sum(axis=1), expected, atol=1e-8)
    np.testing.assert_allclose(model.map(), plan @ Z / plan.sum(axis=1)[:, None], atol=1e-6)
    assert 0 <= model.classes.common_trust <= 1
    assert np.all((model.classes.trust >= 0) & (model.classes.trust <= 1))
    assert model.classes.moves.shape == (3, 3) and model.classes.move_lengths.shape == (3,)
    assert 0 < model.classes.reliability <= model.classes.left_out <= 1
    assert "3 classes; reliability" in repr(model.classes) and model.classes.doubt == ""


def reference():
    if not REFERENCE.exists():
        pytest.skip(f"the computation in NumPy is not at {REFERENCE}")
    spec = importlib.util.spec_from_file_location("class_aware", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("data", ["digits", 0, 1, 2])
def test_it_is_the_computation_in_numpy(data, digits):
    oracle = reference()
    if data == "digits":
        X, y, Z, E = digits["Xs"][::2], digits["ys"][::2], digits["Xt"][::2], digits["X_test"]
    else:
        X, y, Z, _ = shifted(seed=data, m=80, n=100, d=5)
        noise = np.random.default_rng(data).standard_normal  # its plans converge slowly without
        X, Z, E = (A + 3 * noise(A.shape) for A in (X, Z, Z))
    with threadpool_limits(1):  # many small products
        expected = oracle.adapt(X, y, Z, E)
    # The product has another rule for which explanation wins: it is told the choice of the other.
    model = class_aware(
        X,
        y,
        Z,
        caution="cautious" if expected["cautious"] else "bold",
        translation="yes" if expected["centring"] == "translation" else "no",
    )
    classes, probabilities = model.predict_proba(E)
    assert np.mean(model.predict(E) == classes[expected["labels"]]) >= 0.99
    assert np.mean(model.predict(E, rule="nearest") == classes[expected["map_labels"]]) >= 0.99
    assert model.classes.reliability == pytest.approx(expected["reliability"], abs=0.01)
    np.testing.assert_allclose(model.classes.shares, expected["shares"], atol=0.005)
    np.testing.assert_allclose(model.classes.trust, expected["tk"], atol=0.02)
    np.testing.assert_allclose(model.classes.common_trust, expected["t0"], atol=0.02)
    assert np.abs(model.plan() - expected["plan"]).sum() < 0.02
    assert np.abs(probabilities - expected["probabilities"]).mean() < 0.05


def test_by_default_it_labels_as_the_computation_in_numpy(digits):
    oracle = reference()
    some = np.arange(500) % 3 < 2
    X, Z, E = (  # a quarter of the pixels
        digits[name].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
        for name in ("Xs", "Xt", "X_test")
    )
    y = digits["ys"][some]
    with threadpool_limits(1):
        expected = oracle.adapt(X[some], y, Z[some], E)
    model = class_aware(X[some], y, Z[some])
    assert np.mean(model.predict(E) == model.classes.classes[expected["labels"]]) >= 0.99


def test_digits_whose_shares_changed(digits):
    classifier = GroundMetricClassifier().fit(digits["Xs"], digits["ys"], Xt=digits["Xt"])
    assert classifier.score(digits["X_test"], digits["y_test"]) > 0.9
    classes = classifier.model_.classes
    assert classes.shift == "shares" and "shares differ by" in classes.diagnosis
    true = np.bincount(digits["yt"][digits["yt"] >= 0], minlength=10) / len(digits["yt"])
    assert np.abs(classifier.shares_ - true).max() < 0.05
    probabilities = classifier.predict_proba(digits["X_test"])
    right = classifier.predict(digits["X_test"]) == digits["y_test"]
    assert abs(probabilities.max(axis=1).mean() - right.mean()) < 0.1  # calibrated


def test_digits_that_were_turned(digits):
    turned = remblai.turned_mnist_sample()
    np.testing.assert_array_equal(turned["Xs"], digits["Xs"])
    np.testing.assert_array_equal(np.bincount(turned["y_test"]), np.full(10, 50))
    classes = class_aware(turned["Xs"], turned["ys"], turned["Xt"]).classes
    assert classes.shift in ("position", "both")


# ---- answers


@pytest.mark.parametrize("rule", ["auto", "head", "propagate"])
def test_probabilities_are_those_of_the_labels(rule):
    X, y, Z, _ = shifted(seed=3)
    classifier = GroundMetricClassifier(rule=rule).fit(X, y, Xt=Z)
    points = np.vstack([Z, np.random.default_rng(0).uniform(-5, 5, (100, 3))])
    probabilities = classifier.predict_proba(points)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(points)
    )
    classes, same = classifier.model_.predict_proba(points, rule=rule)
    np.testing.assert_array_equal(classes, classifier.classes_)
    np.testing.assert_array_equal(same, probabilities)


def test_rules():
    X, y, Z, _ = shifted(seed=3)
    model = class_aware(X, y, Z)
    points = np.random.default_rng(0).uniform(-5, 5, (200, 3))
    answers = {
        rule: model.predict_proba(points, rule=rule)[1] for rule in ("head", "nearest", "propagate")
    }
    np.testing.assert_array_equal(model.predict_proba(points)[1], answers["head"])
    np.testing.assert_array_equal(model.propagate(points)[1], answers["propagate"])
    assert np.abs(answers["head"] - answers["propagate"]).max() > 0.01
    mapped = model.map()
    nearest = y[pairwise_distances_argmin(points, mapped)]
    for options in ({"knn_metric": "euclidean"}, {"rule": "nearest", "knn_metric": "euclidean"}):
        np.testing.assert_array_equal(model.predict(points, **options), nearest)
    np.testing.assert_array_equal(
        model.predict(points, neighbours=1), model.predict(points, rule="nearest")
    )
    np.testing.assert_allclose(model.predict_proba(points, neighbours=len(X))[1], 1 / 3)
    for rule in ("head", "propagate"):
        with pytest.raises(
            ValueError, match=f"^neighbours: has no meaning for the rule {rule}; .*'rule' nearest"
        ):
            model.predict(points, rule=rule, neighbours=3)
    with pytest.raises(
        ValueError, match="^rule: 'tail' is not one of auto, head, nearest, propagate"
    ):
        model.predict(points, rule="tail")
    with pytest.raises(ValueError, match="^rule: head needs a class-aware model"):
        class_aware(X, y, Z, method="paper").predict(points, rule="head")


def test_rules_of_a_classifier():
    X, y, Z, _ = shifted(seed=3)
    points = np.random.default_rng(0).uniform(-5, 5, (200, 3))
    classifier = GroundMetricClassifier().fit(X, y, Xt=Z)
    model = classifier.model_
    np.testing.assert_array_equal(classifier.predict(points), model.predict(points, rule="head"))
    classifier.set_params(n_neighbors=3)  # what a prediction is made with belongs to the prediction
    np.testing.assert_array_equal(classifier.predict(points), model.predict(points, neighbours=3))
    paper = GroundMetricClassifier(method="paper").fit(X, y, Xt=Z)
    np.testing.assert_array_equal(
        paper.predict(points), paper.model_.predict(points, rule="nearest")
    )
    for parameters, words in (
        ({"rule": "head", "n_neighbors": 3}, "^n_neighbors: has no meaning for the rule head"),
        ({"rule": "head", "method": "paper"}, "^rule: head needs a class-aware model"),
        ({"rule": "tail"}, "^rule: 'tail' is not one of"),
        ({"base_estimator": LogisticRegression(), "rule": "nearest"}, "^rule: it has no meaning"),
        (
            {"base_estimator": LogisticRegression(), "n_neighbors": 1},
            "^n_neighbors: it has no meaning",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            GroundMetricClassifier(**parameters).fit(X, y, Xt=Z)


@pytest.mark.filterwarnings("ignore:The reliability is")
def test_a_class_without_mass_keeps_its_column():
    X, y, Z, _ = shifted()
    for options in ({"target_shares": [0, 1, 1]}, {"share_prior": 0.0, "caution": "bold"}):
        classifier = GroundMetricClassifier(rule="nearest", **options).fit(
            X, y, Xt=Z[np.arange(50) % 3 > 0]
        )
        probabilities = classifier.predict_proba(Z)
        assert probabilities.shape == (len(Z), 3)
        labels = classifier.classes_[probabilities.argmax(axis=1)]
        np.testing.assert_array_equal(labels, classifier.predict(Z))


def test_saved_models_answer_with_the_same_bits(tmp_path):
    X, y, Z, _ = shifted()
    known = np.where(np.arange(len(Z)) < 3, np.arange(len(Z)) % 3, -1)
    model = class_aware(
        X, y, Z, known_labels=known, target_shares=[1, 1, 2], preprocess="standardise"
    )
    model.save(tmp_path / "model.npz")
    for other in (remblai.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        for rule in ("head", "nearest", "propagate"):
            found = [m.predict_proba(Z + 0.1, rule=rule)[1] for m in (model, other)]
            np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(other.map(X + 0.1), model.map(X + 0.1))
        assert other.options == model.options and other.options["target_shares"] == "given"
        for name in (
            "classes",
            "shares",
            "trust",
            "moves",
            "opinions",
            "reliability",
            "translated",
        ):
            np.testing.assert_array_equal(
                getattr(other.classes, name), getattr(model.classes, name)
            )
    classifier = GroundMetricClassifier().fit(X, y, Xt=Z)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(Z), classifier.predict_proba(Z))
    np.testing.assert_array_equal(again.shares_, classifier.shares_)


def test_the_classes_of_a_model_can_be_copied():
    X, y, Z, _ = shifted()
    classes = class_aware(X, y, Z).classes
    for other in (copy.copy(classes), copy.deepcopy(classes), pickle.loads(pickle.dumps(classes))):
        assert other.diagnosis == classes.diagnosis and repr(other) == repr(classes)
        for name in ("classes", "shares", "moves", "opinions", "reliability"):
            np.testing.assert_array_equal(getattr(other, name), getattr(classes, name))


def test_arrays_of_the_classes_keep_their_model_alive():
    X, y, Z, _ = shifted()
    opinions = class_aware(X, y, Z).classes.opinions
    copy = opinions.copy()
    assert not opinions.flags.writeable
    for _ in range(20):  # would take the place of what was freed
        class_aware(X[::-1], y[::-1], Z)
    np.testing.assert_array_equal(opinions, copy)
