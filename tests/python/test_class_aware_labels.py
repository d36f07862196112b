"""Class-aware fits as a caller asks for them: labels of any kind, known ones, doubtful and tiny
data."""

import os
import re
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import class_aware, shifted
from sklearn.linear_model import LogisticRegression

import remblai
from remblai import GroundMetricClassifier, GroundMetricTransport


def turned(truth_of_the_second=1):
    """Two clusters, and the same turned by 90 degrees: either way to label them is as good."""
    random = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.c_[4 * y - 2, 0 * y] + 0.5 * random.standard_normal((40, 2))
    Z = np.c_[0 * y, 4 * y - 2] + 0.5 * random.standard_normal((40, 2))
    return X, y, Z, y if truth_of_the_second else 1 - y


# ---- what is known of the target


@pytest.mark.parametrize("truth_of_the_second", [0, 1])
def test_known_labels_decide(truth_of_the_second):
    X, y, Z, truth = turned(truth_of_the_second)
    for unknown in (-1, np.nan):
        known = np.where(np.arange(len(Z)) < 6, truth, unknown)
        model = class_aware(X, y, Z, known_labels=known)
        np.testing.assert_array_equal(model.predict(Z), truth)
        np.testing.assert_array_equal(model.classes.opinions[:6], np.eye(2)[truth[:6]])
    blind = class_aware(X, y, Z, known_labels=np.full(len(Z), -1))
    np.testing.assert_array_equal(blind.classes.opinions, class_aware(X, y, Z).classes.opinions)


@pytest.mark.filterwarnings("ignore:The reliability is")
@pytest.mark.parametrize("kind", ["numbers", "floats", "names", "signs"])
def test_known_labels_of_any_kind(kind):
    X, y, Z, truth = turned(0)
    names = {"numbers": np.array([3, 7]), "floats": np.array([0.5, 1.5]) * 2,
             "names": np.array(["left", "right"]), "signs": np.array([-1, 1])}[kind]  # fmt: skip
    known = names[truth].astype(object)
    known[6:] = None
    classifier = GroundMetricClassifier().fit(X, names[y], Xt=Z, yt_known=known)
    np.testing.assert_array_equal(classifier.predict(Z), names[truth])
    transport = GroundMetricTransport(method="class-aware").fit(
        Xs=X, ys=names[y], Xt=Z, yt_known=known
    )
    np.testing.assert_array_equal(transport.classes_, classifier.classes_)
    np.testing.assert_array_equal(transport.shares_, classifier.shares_)
    np.testing.assert_array_equal(transport.coupling_, classifier.coupling_)
    strange = known.copy()
    strange[0] = "nowhere"
    with pytest.raises(ValueError, match="yt_known: labels that the source has not; it has"):
        classifier.fit(X, names[y], Xt=Z, yt_known=strange)
    with pytest.raises(ValueError, match=f"{re.escape(str(names.tolist()))}, and not 'nowhere'$"):
        classifier.fit(X, names[y], Xt=Z, yt_known=strange)
    for wrong, words in (
        (known[:-1], "39 labels for 40 points"),
        ({0: names[0]}, "dict; give a list or array"),
        (names[0].item(), r"\w+; give a list or array"),
    ):
        with pytest.raises(ValueError, match=f"^yt_known: {words}"):
            classifier.fit(X, names[y], Xt=Z, yt_known=wrong)


@pytest.mark.filterwarnings("ignore:The reliability is")
def test_known_labels_are_never_taken_by_mistake():
    X, y, Z, truth = turned()
    with pytest.raises(ValueError, match="^known_labels: .*give the 'method' class-aware"):
        remblai.fit(Xs=X, ys=y, Xt=Z, known_labels=truth)
    for estimator in (GroundMetricClassifier(method="paper"), GroundMetricTransport()):
        arguments = (
            {"X": X, "y": y}
            if isinstance(estimator, GroundMetricClassifier)
            else {"Xs": X, "ys": y}
        )
        with pytest.raises(ValueError, match="^yt_known: .*give the 'method' class-aware"):
            estimator.fit(**arguments, Xt=Z, yt_known=truth)
    with pytest.raises(ValueError, match="yt_known: 5 labels for 40 points"):
        GroundMetricClassifier().fit(X, y, Xt=Z, yt_known=truth[:5])
    with pytest.raises(
        ValueError, match="known_labels: label 9 of target point 1 .*is the label of no source point"
    ):
        class_aware(X, y, Z, known_labels=truth + 9)
    signs = 2 * y - 1
    with pytest.raises(ValueError, match="yt_known: -1 is a class of the source.*NaN or None"):
        GroundMetricClassifier().fit(
            X, signs, Xt=Z, yt_known=np.where(np.arange(40) < 3, signs, -1)
        )
    with pytest.warns(UserWarning, match="yt is not used: .*yt_known"):
        transport = GroundMetricTransport(method="class-aware").fit(Xs=X, ys=y, Xt=Z, yt=truth)
    np.testing.assert_array_equal(transport.model_.plan(), class_aware(X, y, Z).plan())


def test_target_shares():
    X, y, Z, _ = shifted()
    shares = {"uniform": [1 / 3] * 3, "source": np.bincount(y) / len(y)}
    for given, expected in (*shares.items(), ([1, 2, 5], [0.125, 0.25, 0.625])):
        model = class_aware(X, y, Z, target_shares=given)
        np.testing.assert_allclose(model.classes.shares, expected)
        classifier = GroundMetricClassifier(target_shares=given).fit(
            X, np.array(list("abc"))[y], Xt=Z
        )
        np.testing.assert_array_equal(classifier.shares_, model.classes.shares)
    for wrong in ([1, 2], [1, -1, 1], [0, 0, 0], [1, np.nan, 1], [[1, 1, 1]], "given", "even", 3.0):
        with pytest.raises(ValueError, match="target_shares"):
            class_aware(X, y, Z, target_shares=wrong)


# ---- estimators


def test_labels_of_any_kind():
    X, y, Z, truth = shifted()
    names = np.array(["red", "green", "blue"])
    classifier = GroundMetricClassifier().fit(X, names[y], Xt=Z)
    assert list(classifier.classes_) == ["blue", "green", "red"]
    assert classifier.score(Z, names[truth]) > 0.9
    counts = [np.mean(names[y] == name) for name in classifier.classes_]
    np.testing.assert_allclose(classifier.source_shares_, counts)
    assert classifier.shares_.shape == classifier.trust_.shape == (3,)
    assert classifier.reliability_ > 0.8


def test_what_belongs_to_the_class_aware_method():
    X, y, Z, _ = shifted()
    paper = GroundMetricClassifier(method="paper").fit(X, y, Xt=Z)
    assert paper.model_.classes is None
    for name in ("shares_", "source_shares_", "reliability_", "trust_"):
        assert not hasattr(paper, name) and not hasattr(GroundMetricClassifier(), name)
    with pytest.raises(AttributeError, match="shares_: a fit with method='class-aware' has it"):
        paper.shares_
    for norm in ("median", "max"):
        with pytest.raises(
            ValueError, match=f"^norm: '{norm}' does not go with the class-aware method"
        ):
            GroundMetricClassifier(norm=norm).fit(X, y, Xt=Z)
    mean = GroundMetricClassifier(norm="mean", relative=False).fit(X, y, Xt=Z)
    np.testing.assert_array_equal(
        mean.coupling_, GroundMetricClassifier().fit(X, y, Xt=Z).coupling_
    )


def test_a_doubtful_fit_brings_a_warning():
    X, _, Z, _ = shifted()
    y = np.random.default_rng(0).integers(0, 3, len(X))
    with pytest.warns(UserWarning, match=r"^The reliability is 0\.\d\d.*'yt_known'") as caught:
        classifier = GroundMetricClassifier().fit(X, y, Xt=Z)
    assert "'known_labels'" in classifier.model_.classes.doubt
    assert classifier.reliability_ < 0.8 and [record.filename for record in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroundMetricClassifier(method="paper").fit(X, y, Xt=Z)
        GroundMetricClassifier().fit(*shifted()[:2], Xt=Z)


def test_a_column_with_nearly_all_spread_brings_a_warning():
    X, y, Z, _ = shifted()
    big = X * [1, 1000, 1]
    with pytest.warns(UserWarning, match="^Column 1, counted from 0, has 99 % .*'preprocess' zscore"):
        transport = GroundMetricTransport().fit(Xs=big, Xt=Z)
    assert [text[:8] for text in transport.model_.warnings()] == ["Column 1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroundMetricTransport(preprocess="zscore").fit(Xs=big, Xt=Z)


def test_transport_with_classes():
    X, y, Z, truth = shifted()
    for labels in (y, np.array(["a", "b", "c"])[y]):
        transport = GroundMetricTransport(method="class-aware").fit(Xs=X, ys=labels, Xt=Z)
        np.testing.assert_array_equal(transport.classes_, np.unique(labels))
        assert np.mean(transport.transform_labels(labels).argmax(axis=1) == truth) > 0.9
        np.testing.assert_allclose(
            transport.transform(Xs=X[:5]), transport.transform(Xs=X)[:5], rtol=1e-6
        )
    again = transport.set_params(method="paper").fit(Xs=X, ys=labels, Xt=Z)
    assert not hasattr(again, "classes_") and again.model_.classes is None
    with pytest.raises(ValueError, match="^ys: the class-aware method needs a label"):
        GroundMetricTransport(method="class-aware").fit(Xs=X, Xt=Z)
    with pytest.raises(ValueError, match="^ys: the class-aware method needs a label"):
        class_aware(X, None, Z)
    with pytest.raises(ValueError, match="^ys: Unknown label type: continuous"):
        GroundMetricTransport(method="class-aware").fit(Xs=X, ys=y + 0.5, Xt=Z)


@pytest.mark.parametrize("base", [None, LogisticRegression()])
@pytest.mark.parametrize(
    "preprocess", ["none", "l2", "zscore", "centre", "standardise", "hellinger"]
)
def test_preprocessing(preprocess, base):
    X, y, Z, truth = shifted(seed=1)
    if preprocess == "hellinger":
        X, Z = np.exp(X / 4), np.exp(Z / 4)
    classifier = GroundMetricClassifier(base, preprocess=preprocess).fit(X, y, Xt=Z)
    assert classifier.score(Z, truth) > 0.9
    assert classifier.mapped_.shape == X.shape


def test_each_domain_by_itself():
    X, y, Z, _ = shifted()
    scores = [(A - A.mean(axis=0)) / A.std(axis=0) for A in (X, Z)]
    centred = [A - A.mean(axis=0) for A in (X, Z)]
    roots = [np.sqrt(A / A.sum(axis=1)[:, None]) for A in (np.abs(X), np.abs(Z))]
    for kind, (a, b), given in (
        ("standardise", scores, (X, Z)),
        ("centre", centred, (X, Z)),
        ("hellinger", roots, (np.abs(X), np.abs(Z))),
    ):
        for method in ("paper", "class-aware"):
            ours = class_aware(given[0], y, given[1], method=method, preprocess=kind)
            plain = class_aware(a, y, b, method=method)
            np.testing.assert_allclose(ours.plan(), plain.plan(), atol=1e-6)
            np.testing.assert_allclose(
                ours.predict_proba(given[1])[1], plain.predict_proba(b)[1], atol=1e-5
            )
            np.testing.assert_allclose(ours.distances(*given), plain.distances(a, b), rtol=1e-5)


def test_control_c_after_the_last_step_keeps_the_model():
    X, y, Z, _ = shifted(m=900, n=900, d=10)
    started = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background

    def interrupt(state):
        if state["complete"] and state["step"] == state["steps"]:
            started.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            started[0].start()

    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            class_aware(X, y, Z, callback=interrupt, threads=1)
            started[0].join()  # the fit may be over before the signal on another machine
            time.sleep(1)  # until the main thread hears of it
    finally:
        signal.signal(signal.SIGINT, before)
    model = getattr(raised.value, "model", None)
    # While the head was made, or behind it.
    assert model is None or model.status in ("converged", "stopped")
    assert model is None or np.isfinite(model.predict_proba(Z)[1]).all()


# ---- few points


@pytest.mark.filterwarnings("ignore:The reliability is|all source points|the target has one")
@pytest.mark.parametrize(
    "case", ["one class", "one target", "a class of one", "same points", "constant", "line"]
)
def test_hardly_any_data(case):
    X, y, Z, _ = shifted()
    if case == "one class":
        y = np.zeros_like(y)
    elif case == "one target":
        Z = Z[:1]
    elif case == "a class of one":
        y = np.where(np.arange(len(y)) == 7, 9, y)
    elif case == "same points":
        Z = X
    elif case == "constant":
        X, Z = np.ones_like(X), np.ones_like(Z)
    else:
        X, Z = X[:, :1], Z[:, :1]
    for rule in ("head", "nearest", "propagate"):
        classifier = GroundMetricClassifier(rule=rule).fit(X, y, Xt=Z)
        assert classifier.status_ == "converged"
        probabilities = classifier.predict_proba(Z)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert set(classifier.predict(Z)) <= set(y)
    assert np.isfinite(classifier.mapped_).all() and np.isfinite(classifier.metric_).all()
    np.testing.assert_allclose(classifier.shares_.sum(), 1)
