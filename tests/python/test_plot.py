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


@pytest.mark.parametrize("name", ["convergence", "plan", "metric", "spectrum", "directions", "embedding"])
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
