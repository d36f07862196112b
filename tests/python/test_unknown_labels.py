"""Labels that are not known: NaN, None and -1 are never a class and never scored."""

import warnings

import numpy as np
import pandas
import pytest
from conftest import shifted

import remblai
from remblai import GroundMetricClassifier, GroundMetricTransport

Xs, ys, Xt, yt = shifted(m=60, n=50)
SOME = np.arange(60) % 4 == 0  # of the source, without a label


def unlabelled(kind):
    """ys with marks, and its classes."""
    names = np.array(["a", "b", "c"])[ys]
    return {
        "-1": lambda: np.where(SOME, -1, ys),
        "-1.0": lambda: np.where(SOME, -1.0, ys),
        "nan": lambda: np.where(SOME, np.nan, ys),
        "None": lambda: np.where(SOME, None, names),
        "NA": lambda: pandas.Series(np.where(SOME, None, ys), dtype="Int64"),
        "text": lambda: pandas.Series(names).where(~SOME, np.nan),
    }[kind]()


@pytest.mark.parametrize("kind", ["-1", "-1.0", "nan", "None", "NA", "text"])
@pytest.mark.parametrize("method", ["paper", "class-aware"])
def test_a_classifier_learns_from_the_others(kind, method):
    labels = unlabelled(kind)
    fitted = GroundMetricClassifier(method=method).fit(Xs, labels, Xt=Xt)
    known = np.array(np.asarray(labels, dtype=object)[~SOME].tolist())
    expected = GroundMetricClassifier(method=method).fit(Xs[~SOME], known, Xt=Xt)
    np.testing.assert_array_equal(fitted.classes_, np.unique(known))
    np.testing.assert_array_equal(fitted.predict(Xt), expected.predict(Xt))
    np.testing.assert_array_equal(fitted.predict_proba(Xt), expected.predict_proba(Xt))
    assert fitted.predict_proba(Xt).shape == (50, 3)


def test_without_a_target_points_without_labels_are_target_points():
    fitted = GroundMetricClassifier().fit(Xs, unlabelled("-1"))
    assert fitted.coupling_.shape == (np.sum(~SOME), 60)
    assert np.mean(fitted.predict(Xs[SOME]) == ys[SOME]) > 0.9


@pytest.mark.parametrize("kind", ["-1", "nan", "None"])
def test_a_transport_has_the_others_in_its_plan(kind):
    labels = unlabelled(kind)
    fitted = GroundMetricTransport(method="class-aware").fit(Xs=Xs, ys=labels, Xt=Xt)
    assert len(fitted.classes_) == 3 and fitted.coupling_.shape == (np.sum(~SOME), 50)
    assert fitted.transform(Xs=Xs).shape == Xs.shape
    shares = fitted.transform_labels(labels)
    assert shares.shape == (50, 3) and np.mean(shares.argmax(axis=1) == yt) > 0.9
    # By the method "paper" all points move; labels are not read.
    paper = GroundMetricTransport().fit(Xs=Xs, ys=labels, Xt=Xt)
    assert paper.coupling_.shape == (60, 50) and paper.model_.source_labels is None
    shares = paper.transform_labels(labels)
    assert shares.shape == (50, 3)
    mass = np.stack([paper.coupling_[~SOME & (ys == k)].sum(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(shares, mass / mass.sum(axis=1, keepdims=True), rtol=1e-9)


def test_soft_labels_of_points_that_receive_nothing_known_are_zero():
    plan = GroundMetricTransport(0).fit(Xs=Xs, Xt=Xt)
    labels = np.where(np.arange(60) == 0, 7, -1)
    shares = plan.transform_labels(labels)
    np.testing.assert_array_equal(shares[:, 0] > 0, plan.coupling_[0] > 0)


def test_minus_one_is_a_class_beside_one_alone():
    signs = np.where(ys == 0, -1, 1)
    for labels in (signs, signs.astype(float)):
        fitted = GroundMetricClassifier().fit(Xs, labels, Xt=Xt)
        assert set(fitted.classes_) == {-1, 1}
        assert fitted.score(Xt, np.where(yt == 0, -1, 1)) > 0.9
    some = np.where(SOME, np.nan, signs)
    assert set(GroundMetricClassifier().fit(Xs, some, Xt=Xt).classes_) == {-1, 1}
    assert set(
        GroundMetricTransport(method="class-aware").fit(Xs=Xs, ys=signs, Xt=Xt).classes_
    ) == {-1, 1}
    remblai.fit(Xs=Xs, ys=signs, Xt=Xt)


def test_labels_that_are_not_known_are_not_scored():
    fitted = GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
    found = fitted.predict(Xt)
    for mark in (-1, np.nan):
        truth = np.where(np.arange(50) < 10, found, mark)
        assert fitted.score(Xt, truth) == 1
        assert remblai.evaluate(found, truth) == (10, 10, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mark in (-1, np.nan):
            GroundMetricTransport().fit(Xs=Xs, ys=ys, Xt=Xt, yt=np.full(50, mark))


def test_minus_one_and_one_alone_are_scored():
    assert remblai.evaluate([1, 1, -1], [1, -1, -1]) == (3, 2, 0)
    assert remblai.evaluate([1.0, 1, -1], [1, np.nan, -1]) == (2, 2, 1)
    assert remblai.evaluate([1, 1, 0], [1, -1, -1]) == (1, 1, 2)


def test_nothing_marks_unknown_labels_beside_minus_one_and_one():
    signs, truth = np.where(ys > 0, 1, -1), np.where(yt > 0, 1.0, -1.0)
    whole = remblai.fit(Xs=Xs, ys=signs, Xt=Xt, yt=truth)
    assert "true labels are known" not in whole.html(), "all are, those of -1 too"
    some = np.where(np.arange(50) < 5, np.nan, truth)
    paths = {"method": "class-aware", "lambdas": [0.1]}
    for fit in (
        lambda: remblai.fit(Xs=Xs, ys=signs, Xt=Xt, yt=some),
        lambda: remblai.fit(Xs=Xs, ys=signs, Xt=Xt, known_labels=truth, method="class-aware"),
        lambda: remblai.fit_path(Xs=Xs, ys=signs, Xt=Xt, known_labels=truth, **paths),
    ):
        with pytest.raises(ValueError, match="^(yt|known_labels): -1 is a class of ys"):
            fit()


def test_one_class_and_one_point_bring_a_warning():
    for fit in (
        lambda: GroundMetricClassifier().fit(Xs, np.zeros(60), Xt=Xt),
        lambda: remblai.fit(Xs=Xs, ys=np.full(60, 7), Xt=Xt),
    ):
        with pytest.warns(UserWarning, match="all source points have the same label"):
            fit()
    with pytest.warns(UserWarning, match="^the source has one point"):
        GroundMetricTransport().fit(Xs=Xs[:1], Xt=Xt)
    with pytest.warns(UserWarning, match="^the target has one point"):
        remblai.fit(Xs=Xs, Xt=Xt[:1])


def test_no_label_at_all():
    for labels in (np.full(60, -1), np.full(60, np.nan)):
        with pytest.raises(ValueError, match="^y: no label is known"):
            GroundMetricClassifier().fit(Xs, labels, Xt=Xt)
        with pytest.raises(ValueError, match="^ys: no label is known"):
            GroundMetricTransport(method="class-aware").fit(Xs=Xs, ys=labels, Xt=Xt)
    with pytest.raises(ValueError, match="^ys: -1 marks a label that is not known"):
        remblai.fit(Xs=Xs, ys=np.where(SOME, -1, ys), Xt=Xt)
    with pytest.raises(ValueError, match="^ys: .* masked"):
        GroundMetricTransport().fit(Xs=Xs, ys=np.ma.masked_equal(ys, 0), Xt=Xt)


def test_masked_entries_are_never_read_as_if_they_were_not():
    masked, fitted = np.ma.masked_equal(ys, 0), GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
    weights = np.ma.masked_greater(np.arange(1.0, 51.0), 40)
    for wrong, name in (
        (lambda: GroundMetricClassifier().fit(Xs, masked, Xt=Xt), "y"),
        (lambda: fitted.score(Xs, masked), "y"),
        (lambda: fitted.score(Xt, yt, sample_weight=weights), "sample_weight"),
        (
            lambda: GroundMetricClassifier(target_shares=np.ma.masked_equal([1, 1, 2], 2)).fit(
                Xs, ys, Xt=Xt
            ),
            "target_shares",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{name}: [0-9]+ entries are masked"):
            wrong()
