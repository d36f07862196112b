"""Pictures are drawn, and say what they show."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import shifted
from sklearn.exceptions import NotFittedError

from remblai import GroundMetricTransport, plot


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
