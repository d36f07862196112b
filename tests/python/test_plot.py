"""Pictures are drawn, and say what they show."""

import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
from conftest import shifted
from sklearn.exceptions import NotFittedError

from remblai import GroundMetricClassifier, GroundMetricTransport, plot


@pytest.fixture(params=[2, 5])
def fitted(request):
    Xs, _, Xt, _ = shifted(d=request.param)
    yield GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    plt.close("all")


@pytest.mark.parametrize(
    "name", ["convergence", "plan", "metric", "spectrum", "directions", "embedding"]
)
def test_every_picture(fitted, name):
    draw = getattr(plot, name)
    ax = draw(fitted)
    assert ax.has_data()
    given = plt.subplots()[1]
    assert draw(fitted.model_, given) is given
    ax.figure.canvas.draw()


def test_labels_order_and_colour(fitted):
    ys = np.arange(len(fitted.xs_)) % 3
    plot.plan(fitted, ys=ys, yt=np.arange(len(fitted.xt_)) % 3)
    plot.embedding(fitted, ys=ys).figure.canvas.draw()


@pytest.mark.parametrize("preprocess", ["l2", "zscore", "centre", "standardise"])
def test_points_of_any_preprocessing(preprocess):
    Xs, ys, Xt, _ = shifted(d=5)
    fitted = GroundMetricTransport(preprocess=preprocess, method="class-aware")
    fitted.fit(Xs=Xs, ys=ys, Xt=Xt)
    ax = plot.embedding(fitted)
    target, source, mapped = (points.get_offsets() for points in ax.collections)
    assert len(source) == len(mapped) == len(Xs) and len(target) == len(Xt)
    # Barycentres lie between the target points.
    assert np.all(mapped >= target.min(axis=0) - 1e-9)
    assert np.all(mapped <= target.max(axis=0) + 1e-9)
    plt.close("all")


def test_the_ellipse_is_the_unit_ball():
    Xs, _, Xt, _ = shifted(d=2)
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    patch = plot.ellipse(fitted, radius=2.0).patches[0]
    outline = patch.get_path().vertices @ patch.get_patch_transform().get_matrix()[:2, :2].T
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", outline, fitted.metric_, outline))
    on_curve = patch.get_path().codes != patch.get_path().CLOSEPOLY
    # Control points of the splines lie a little outside.
    assert lengths[on_curve].min() == pytest.approx(2.0, rel=1e-6)
    assert lengths[on_curve].max() < 2.2
    Xs, _, Xt, _ = shifted(d=3)
    with pytest.raises(ValueError, match="2"):
        plot.ellipse(GroundMetricTransport().fit(Xs=Xs, Xt=Xt))


def test_without_matplotlib_the_error_says_what_to_install():
    code = "import sys; sys.modules['matplotlib.pyplot'] = None; import remblai.plot"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "pip install matplotlib" in done.stderr


def test_labels_of_the_wrong_length_are_refused(fitted):
    for draw in (plot.plan, plot.embedding):
        with pytest.raises(ValueError, match="ys: 5 labels"):
            draw(fitted, ys=np.arange(5))


def test_an_estimator_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        plot.plan(GroundMetricTransport())


def test_the_plan_has_the_names_of_classes(fitted):
    names = np.array(["red", "green"])[np.arange(len(fitted.xs_)) % 2]
    ax = plot.plan(fitted, ys=names)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["green", "red"]


def test_the_plan_has_the_order_of_classes(fitted):
    ys, yt = np.arange(len(fitted.xs_)) % 3, np.arange(len(fitted.xt_)) % 4
    rows, columns = (np.argsort(labels, kind="stable") for labels in (ys, yt))
    for given, expected in (
        ({"ys": ys}, fitted.coupling_[rows]),
        ({"yt": yt}, fitted.coupling_[:, columns]),
        ({"ys": ys, "yt": yt}, fitted.coupling_[rows][:, columns]),
    ):
        shown = plot.plan(fitted, **given).images[0].get_array()
        np.testing.assert_array_equal(shown, expected)
    plt.close("all")


def test_a_fixed_metric_has_nothing_to_settle():
    Xs, _, Xt, _ = shifted()
    for metric, words in (("identity", "a fixed metric has nothing"), ("learned", "no other")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = GroundMetricTransport(metric=metric, max_iter=1).fit(Xs=Xs, Xt=Xt)
        ax = plot.convergence(fitted)
        assert words in ax.texts[0].get_text() and not ax.lines
    plt.close("all")


@pytest.mark.parametrize("kind", ["-1", "nan", "None"])
def test_labels_that_are_not_known_are_no_class(kind):
    Xs, ys, Xt, yt = shifted()
    names = np.array(["a", "b", "c"])
    mark = {
        "-1": lambda labels, some: np.where(some, -1, labels),
        "nan": lambda labels, some: np.where(some, np.nan, labels),
        "None": lambda labels, some: np.where(some, None, names[labels]),
    }[kind]
    some, few = np.arange(60) % 4 == 0, np.arange(50) < 10
    labels = mark(ys, some)
    of_all = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    ax = plot.plan(of_all, ys=labels, yt=mark(yt, few))
    assert [tick.get_text() for tick in ax.get_yticklabels()][3:] == ["unknown"]
    assert [tick.get_text() for tick in ax.get_xticklabels()][3:] == ["unknown"]
    rows, columns = (
        np.argsort(np.where(unknown, 3, known), kind="stable")
        for known, unknown in ((ys, some), (yt, few))
    )
    np.testing.assert_array_equal(ax.images[0].get_array(), of_all.coupling_[rows][:, columns])
    ax = plot.embedding(of_all, ys=labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()][6:] == ["unknown"]
    shades = ax.collections[1].get_facecolors()
    assert np.ptp(shades[some], axis=0).max() == 0  # grey
    assert shades[some][0, 0] == shades[some][0, 1] == shades[some][0, 2]
    assert len(np.unique(shades[~some], axis=0)) == 3
    # After a class-aware fit the model has the points with a label.
    for fitted in (
        GroundMetricTransport(method="class-aware").fit(Xs=Xs, ys=labels, Xt=Xt),
        GroundMetricClassifier().fit(Xs, labels, Xt=Xt),
    ):
        for given in (labels, labels[~some]):
            ax = plot.embedding(fitted, ys=given)
            assert len(ax.collections[1].get_offsets()) == 45
            assert [text.get_text() for text in ax.get_legend().get_texts()][6:] == []
            plot.plan(fitted, ys=given)
    plt.close("all")


def test_minus_one_beside_one_is_a_class_in_pictures():
    Xs, ys, Xt, _ = shifted()
    signs = np.where(ys == 0, -1, 1)
    for fitted in (
        GroundMetricTransport().fit(Xs=Xs, Xt=Xt),
        GroundMetricClassifier().fit(Xs, signs, Xt=Xt),
    ):
        ax = plot.plan(fitted, ys=signs)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["-1", "1"]
    ax = plot.plan(fitted, yt=np.full(50, -1))  # what it was fitted with has such a class
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["-1"]
    plt.close("all")


def test_long_names_of_classes_do_not_lie_over_each_other():
    Xs, _, Xt, _ = shifted()
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    for names, rotation in ((["a", "b", "c"], 0), (["setosa virginica", "versicolor", "x"], 90)):
        ax = plot.plan(fitted, yt=np.array(names)[np.arange(50) % 3])
        ax.figure.canvas.draw()
        labels = ax.get_xticklabels()
        assert {label.get_rotation() for label in labels} == {rotation}
        boxes = [label.get_window_extent() for label in labels]
        assert not any(one.overlaps(other) for one, other in zip(boxes, boxes[1:]))
    plt.close("all")


def test_a_legend_of_many_classes_is_whole():
    random = np.random.default_rng(0)
    ys = np.arange(100) % 25
    X = 3 * random.standard_normal((25, 4))[ys] + 0.3 * random.standard_normal((100, 4))
    ax = plot.embedding(GroundMetricTransport().fit(Xs=X, Xt=X[:80]), ys=ys)
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[3:] == [str(k) for k in range(20)] + ["and 5 more"]
    box, figure = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert figure.x0 <= box.x0 and box.x1 <= figure.x1
    assert figure.y0 <= box.y0 and box.y1 <= figure.y1
    plt.close("all")


def test_given_axes_are_not_left():
    """Beside them there may be others."""
    Xs, ys, Xt, _ = shifted()
    ax = plt.subplots(2, 2, figsize=(9, 7))[1][0, 0]
    plot.embedding(GroundMetricTransport(50.0).fit(Xs=Xs, Xt=Xt), ax, ys=np.arange(60) % 9)
    ax.figure.canvas.draw()
    for part in (ax.get_legend(), ax.texts[0]):
        box = part.get_window_extent()
        assert ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
        assert ax.bbox.y0 <= box.y0 and box.y1 <= ax.bbox.y1
    plt.close("all")


def test_names_of_features_do_not_overlap():
    for d, order, shown in ((25, "auto", 25), (60, "auto", 30), (60, "given", 30)):
        Xs, _, Xt, _ = shifted(d=d)
        columns = [f"feature number {k}" for k in range(d)]
        source, target = (pandas.DataFrame(X, columns=columns) for X in (Xs, Xt))
        fitted = GroundMetricTransport().fit(Xs=source, Xt=target)
        ax = plot.metric(fitted, order=order)
        ax.figure.canvas.draw()
        if order == "given" and d > 30:
            continue  # numbers, which matplotlib places
        labels = ax.get_yticklabels()
        boxes = [label.get_window_extent() for label in labels]
        assert len(labels) == shown
        assert not any(one.overlaps(other) for one, other in zip(boxes, boxes[1:]))
        # The diagonal would be all that is seen.
        limit, entries = ax.images[0].get_clim()[1], np.asarray(ax.images[0].get_array())
        assert limit == pytest.approx(np.abs(entries[~np.eye(len(entries), dtype=bool)]).max())
    Xs, _, Xt, _ = shifted()
    few = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    assert plot.metric(few).images[0].get_clim()[1] == pytest.approx(np.abs(few.metric_).max())
    plt.close("all")


def test_directions_and_spectrum_are_those_of_features_that_vary():
    Xs, _, Xt, _ = shifted(d=40)
    Xs[:, 5:15] = Xt[:, 5:15] = 0.3
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    some = np.setdiff1d(np.arange(40), np.arange(5, 15))
    values, vectors = np.linalg.eigh(fitted.metric_[np.ix_(some, some)])
    ax = plot.spectrum(fitted)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), values[::-1])
    assert "30 of 40 features" in ax.get_title()
    ax = plot.directions(fitted, count=1)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), some)
    np.testing.assert_allclose(np.abs(ax.lines[0].get_ydata()), np.abs(vectors[:, -1]))
    assert "30 of 40 features" in ax.get_title()
    assert "features" not in plot.spectrum(wide(40)).get_title()
    plt.close("all")


def test_a_legend_covers_no_bars():
    fitted = wide(25)
    for count in (1, 3, 7):
        ax = plot.directions(fitted, count=count)
        ax.figure.canvas.draw()
        assert ax.get_legend().get_window_extent().y0 >= ax.bbox.y1
        assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 6
    plt.close("all")


def test_one_feature():
    Xs, _, Xt, _ = shifted(d=1)
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    for draw in (plot.metric, plot.spectrum, plot.directions):
        ax = draw(fitted)
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        assert all(tick == round(tick) for tick in ax.get_xticks() if low <= tick <= high)
    ax = plot.embedding(fitted)
    assert ax.get_xlabel() == "feature 0" and ax.get_ylabel() == "" and len(ax.get_yticks()) == 0
    np.testing.assert_allclose(ax.collections[1].get_offsets()[:, 0], Xs[:, 0])
    plt.close("all")


def test_arguments_that_cannot_be():
    fitted = wide(2)
    for draw, words in (
        (lambda: plot.metric(fitted, shape=28), "^shape: 28; give height and width"),
        (lambda: plot.metric(fitted, shape=(1, "a")), "^shape: 'a' is not a whole number"),
        (lambda: plot.metric(fitted, most="a"), "^most: 'a' is not a whole number from 2 on"),
        (lambda: plot.metric(fitted, most=1), "^most: 1 is not a whole number from 2 on"),
        (lambda: plot.directions(fitted, count="3"), "^count: '3' is not a whole number from 1"),
        (lambda: plot.directions(fitted, count=0), "^count: 0 is not a whole number from 1 on"),
        (lambda: plot.ellipse(fitted, centre="x"), "^centre: text"),
        (lambda: plot.ellipse(fitted, centre=1.0), "^centre: 1.0; give two numbers"),
        *(
            (lambda radius=radius: plot.ellipse(fitted, radius=radius), "^radius: .* is not a")
            for radius in ("x", -1, 0, np.nan, np.inf)
        ),
    ):
        with pytest.raises(ValueError, match=words):
            draw()
    plt.close("all")


def wide(d=64):
    Xs, _, Xt, _ = shifted(d=d)
    return GroundMetricTransport().fit(Xs=Xs, Xt=Xt)


def test_a_metric_of_many_features_is_sorted_or_clustered():
    fitted = wide()
    A = fitted.metric_
    sizes = np.diag(A)
    ties = np.sum((A / np.sqrt(np.outer(sizes, sizes))) ** 2, axis=1)
    for order, most in (("size", 60), ("cluster", 20), ("auto", 30)):
        ax = plot.metric(fitted, order=order, most=most)
        shown = np.asarray(ax.images[0].get_array())
        features = [int(tick.get_text()) for tick in ax.get_xticklabels()]
        if most > 40:  # every second has a name
            assert features == list(np.argsort(-sizes)[:most:2])
            features = np.argsort(-sizes)[:most]
        assert shown.shape == (most, most) and f"{most} of 64 features" in ax.get_title()
        largest = sizes if order == "size" else ties
        assert set(features) == set(np.argsort(-largest)[:most])
        expected = A[np.ix_(features, features)]
        if order != "size":
            scale = np.sqrt(np.diag(expected))
            expected = expected / np.outer(scale, scale)
        else:
            assert np.all(np.diff(np.diag(expected)) <= 0)
        np.testing.assert_allclose(shown, expected)
    # Colours are for what lies beside the diagonal, which would be all that is seen.
    beside = np.abs(shown[~np.eye(30, dtype=bool)]).max()
    assert ax.images[0].get_clim()[1] == pytest.approx(beside)
    plt.close("all")


def test_features_that_never_vary_are_no_part_of_the_picture():
    """Of the border of images a metric knows nothing but the prior, which may be its largest
    entry."""
    Xs, _, Xt, _ = shifted(d=40)
    Xs[:, 5:15] = Xt[:, 5:15] = 0.3
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    for order in ("size", "cluster"):
        ax = plot.metric(fitted, order=order, most=35)
        features = {int(tick.get_text()) for tick in ax.get_xticklabels()}
        assert features == set(range(40)) - set(range(5, 15))
        assert "30 of 40 features" in ax.get_title()
    shown = plot.metric(fitted, shape=(5, 8)).images[0].get_array()
    assert np.array_equal(np.ma.getmaskarray(np.ma.masked_invalid(shown)).ravel(),
                          np.isin(np.arange(40), np.arange(5, 15)))  # fmt: skip
    plt.close("all")


def test_what_is_tied_together_stands_together():
    from remblai.plot import _together

    groups = np.arange(12) % 3
    similar = np.where(groups[:, None] == groups, 0.9, 0.05)
    np.fill_diagonal(similar, 1)
    order = groups[_together(similar)]
    assert np.sum(np.diff(order) != 0) == 2


def test_features_that_are_pixels():
    fitted = wide()
    ax = plot.metric(fitted, shape=(8, 8))
    np.testing.assert_allclose(ax.images[0].get_array(), np.diag(fitted.metric_).reshape(8, 8))
    with pytest.raises(ValueError, match="^shape: 7 x 8 is 56 pixels; there are 64"):
        plot.metric(fitted, shape=(7, 8))
    with pytest.raises(ValueError, match="^order: 'best' is not one of"):
        plot.metric(fitted, order="best")
    plt.close("all")


def test_an_ellipse_lies_over_the_data():
    Xs, _, Xt, _ = shifted(d=2)
    for preprocess in ("none", "zscore", "standardise"):
        fitted = GroundMetricTransport(preprocess=preprocess).fit(Xs=Xs, Xt=Xt)
        ax = plot.ellipse(fitted)
        source, target = (points.get_offsets() for points in ax.collections)
        np.testing.assert_allclose(source, Xs, atol=1e-9)
        np.testing.assert_allclose(target, Xt, atol=1e-9)
        np.testing.assert_allclose(ax.patches[0].center, Xt.mean(axis=0))
    assert not plot.ellipse(fitted, data=False).collections
    with pytest.raises(ValueError, match="^centre"):
        plot.ellipse(fitted, centre=(1, 2, 3))
    plt.close("all")


def test_a_blob_brings_a_hint():
    Xs, _, Xt, _ = shifted(d=5)
    for weight, hint in ((0.05, False), (50.0, True)):
        ax = plot.embedding(GroundMetricTransport(weight).fit(Xs=Xs, Xt=Xt))
        assert any("smaller reg_e" in text.get_text() for text in ax.texts) == hint
    plt.close("all")


@pytest.mark.parametrize(
    "draw", [plot.plan, plot.metric, plot.embedding, plot.convergence, plot.spectrum]
)
def test_arguments_that_are_no_model(draw, fitted):
    with pytest.raises(TypeError, match="ndarray: give a fitted estimator of remblai, or a model"):
        draw(np.eye(3))
    with pytest.raises(TypeError, match="^ax: ndarray; give axes of matplotlib"):
        draw(fitted, np.arange(3))
    with pytest.raises(TypeError, match="^LogisticRegression: give"):
        from sklearn.linear_model import LogisticRegression

        draw(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
