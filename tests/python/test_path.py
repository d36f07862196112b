"""A path of lambda: every model is the one that fit makes, and the object answers and draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import shifted

import remblai
from remblai import plot

Xs, ys, Xt, yt = shifted(m=40, n=30)


@pytest.fixture(scope="module")
def path():
    return remblai.fit_path(Xs=Xs, ys=ys, Xt=Xt, lambdas=[0.1, 1.0, 0.3], X_test=Xt[:7])


def test_models_are_those_of_fit(path):
    assert list(path.lambdas) == [1.0, 0.3, 0.1] and len(path) == 3
    assert path[0] is path.models[0] and list(path) == path.models
    for weight, model in zip(path.lambdas, path):
        alone = remblai.fit(Xs=Xs, ys=ys, Xt=Xt, lambda_=weight)
        np.testing.assert_allclose(model.plan(), alone.plan(), atol=1e-4)
        assert model.options["lambda_"] == weight
    for labels, model in zip(path.target_labels, path):
        np.testing.assert_array_equal(labels, model.predict(Xt))
    np.testing.assert_array_equal(path.test_labels, path.target_labels[:, :7])


def test_scores_and_the_best(path):
    scores = path.scores(yt)
    assert [score.correct for score in scores] == [
        np.sum(labels == yt) for labels in path.target_labels
    ]
    assert path.best(yt) is path[int(np.argmax([score.correct for score in scores]))]
    with pytest.raises(ValueError, match="yt: none of its labels is known"):
        path.best(np.full(len(yt), -1))
    assert len(path.scores(yt[:7], test=True)) == 3
    assert np.all(np.diff(path.values("transport_cost")) < 0)
    with pytest.raises(ValueError, match="speed: there is no such number"):
        path.values("speed")
    assert "3 models, lambda 1 to 0.1" in repr(path)


def test_of_equal_models_the_one_of_the_largest_lambda_is_the_best(path):
    wrong = (yt + 1) % 3
    for right, best in (((1, 2), 1), ((0, 2), 0), ((), 0)):
        labels = np.array([yt if k in right else wrong for k in range(3)])
        found = remblai.LambdaPath(path.lambdas, path.models, labels, len(yt))
        assert found.best(yt) is path[best]


def test_class_aware_paths():
    path = remblai.fit_path(Xs=Xs, ys=ys, Xt=Xt, lambdas=[0.3, 0.1], method="class-aware")
    assert path.scores(yt)[-1].accuracy > 0.9
    alone = remblai.fit(Xs=Xs, ys=ys, Xt=Xt, lambda_=0.1, method="class-aware")
    np.testing.assert_array_equal(path.target_labels[1], alone.predict(Xt))


def test_the_picture(path):
    for ax in (path.plot(), path.plot(yt=yt), plot.path(path, plt.subplots()[1])):
        assert ax.get_xlabel() == "lambda" and len(ax.lines[0].get_xdata()) == 3
        ax.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.get_xticklabels(which="both")]
        assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "0.3", "0.1"]
        assert not any(one.overlaps(other) for one, other in zip(boxes, boxes[1:]))
        # The legend covers neither line.
        assert ax.get_legend().get_window_extent().y0 >= ax.bbox.y1
    plt.close("all")
    with pytest.raises(TypeError, match="fit_path"):
        plot.path(path[0])


def test_what_a_path_refuses():
    for arguments, words in (
        ({"lambdas": []}, "^lambdas: none"),
        ({"lambdas": ["a"]}, "^lambdas: text"),
        ({"lambdas": [-1.0]}, "^lambda_: -1"),
        ({"X_test": Xt[:, :2]}, "features"),
        ({"ys": ys[:3]}, "^ys: 3 labels"),
    ):
        with pytest.raises(ValueError, match=words):
            remblai.fit_path(**{"Xs": Xs, "ys": ys, "Xt": Xt, **arguments})
    with pytest.raises(TypeError, match="lambda_"):
        remblai.fit_path(Xs=Xs, Xt=Xt, lambda_=1.0)
    with pytest.raises(TypeError, match="by name"):
        remblai.fit_path(Xs, Xt)
    with pytest.raises(ValueError, match="^ys: the path has no labels"):
        remblai.fit_path(Xs=Xs, Xt=Xt, lambdas=[1.0]).scores(yt)


def test_labels_that_cannot_be_scored_with(path):
    for wrong, words in (
        (yt[:-1], f"^yt: {len(yt) - 1} labels for {len(yt)} points"),
        (np.array(["a", "b"])[yt % 2], "^yt: labels of type <U1"),
        (3, "^yt: int; give a list or array"),
        (yt + 0.5, "^yt: labels must be whole numbers"),
    ):
        for score in (path.scores, path.best):
            with pytest.raises(ValueError, match=words):
                score(wrong)
