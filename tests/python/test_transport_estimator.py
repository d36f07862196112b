"""GroundMetricTransport: POT's and metric-learn's conventions."""

import pickle
import warnings

import numpy as np
import ot
import pandas
import pytest
from conftest import shifted
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import remblai
from remblai import GroundMetricTransport

POT_SCRIPT = """
import numpy as np
import ot.da
from sklearn.neighbors import KNeighborsClassifier
transport = ot.da.SinkhornTransport(reg_e=1e-1, norm="median")
transport.fit(Xs=Xs, ys=ys, Xt=Xt)
mapped = transport.transform(Xs=Xs)
back = transport.inverse_transform(Xt=Xt)
soft = transport.transform_labels(ys)
mass = transport.coupling_.sum()
score = KNeighborsClassifier(1).fit(mapped, ys).score(Xt, yt)
"""


def run_script(text):
    Xs, ys, Xt, yt = shifted()
    names = {"Xs": Xs, "ys": ys, "Xt": Xt, "yt": yt}
    exec(text, names)
    return names


def test_a_script_for_pot_needs_another_import_and_class():
    theirs = run_script(POT_SCRIPT)
    script = POT_SCRIPT.replace("import ot.da", "import remblai")
    ours = run_script(script.replace("ot.da.SinkhornTransport", "remblai.GroundMetricTransport"))
    for name in ("mapped", "back", "soft"):
        assert ours[name].shape == theirs[name].shape
    assert ours["mass"] == pytest.approx(1)
    assert ours["score"] >= theirs["score"] - 0.1


@pytest.mark.parametrize("norm", ["median", "max"])
def test_with_a_fixed_metric_it_is_pots_sinkhorn(norm, domains):
    Xs, _, Xt, _ = domains
    ours = GroundMetricTransport(0.05, norm=norm, metric="sqeuclidean", inner_tol=1e-10)
    theirs = ot.da.SinkhornTransport(reg_e=0.05, norm=norm, max_iter=100000, tol=1e-12)
    ours.fit(Xs=Xs, Xt=Xt)
    theirs.fit(Xs=Xs, Xt=Xt)
    np.testing.assert_allclose(ours.coupling_, theirs.coupling_, atol=1e-8)
    np.testing.assert_allclose(ours.transform(Xs=Xs), theirs.transform(Xs=Xs), rtol=1e-5)
    new = Xs + 0.01
    np.testing.assert_allclose(ours.transform(Xs=new), theirs.transform(Xs=new), rtol=1e-4)
    labels = np.arange(len(Xs)) % 3
    np.testing.assert_allclose(
        ours.transform_labels(labels), theirs.transform_labels(labels), atol=1e-6
    )


def test_absolute_and_relative_weights_agree(domains):
    Xs, _, Xt, _ = domains
    relative = GroundMetricTransport(0.3).fit(Xs=Xs, Xt=Xt)
    mean = GroundMetricTransport(0.3, relative=False, norm="mean").fit(Xs=Xs, Xt=Xt)
    absolute = GroundMetricTransport(relative.model_.lambda_, relative=False).fit(Xs=Xs, Xt=Xt)
    np.testing.assert_allclose(absolute.coupling_, relative.coupling_, atol=1e-9)
    np.testing.assert_allclose(mean.coupling_, relative.coupling_)


@pytest.mark.parametrize("preprocess", ["none", "zscore"])
@pytest.mark.parametrize("d", [3, 200])
def test_the_metric_in_three_forms(preprocess, d):
    Xs, _, Xt, _ = shifted(m=20, n=15, d=d)
    fitted = GroundMetricTransport(preprocess=preprocess).fit(Xs=Xs, Xt=Xt)
    A, L = fitted.metric_, fitted.components_
    assert A.shape == L.shape == (d, d)
    size = np.abs(A).max()
    np.testing.assert_allclose(L.T @ L, A, atol=1e-9 * size)
    assert fitted.get_mahalanobis_matrix() is A
    pairs = np.stack([Xs[:10], Xt[:10]], axis=1)
    difference = Xs[:10] - Xt[:10]
    expected = np.sqrt(np.einsum("ij,jk,ik->i", difference, A, difference))
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected, rtol=1e-7)
    found = np.diag(fitted.model_.distances(Xs[:10], Xt[:10]))
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    distance = fitted.get_metric()
    assert distance(Xs[0], Xt[0]) == pytest.approx(expected[0])
    assert distance(Xs[0], Xt[0], squared=True) == pytest.approx(expected[0] ** 2)


@pytest.mark.parametrize("preprocess", ["centre", "standardise"])
def test_where_each_domain_has_its_scale_the_metric_is_that_of_the_target(preprocess, domains):
    Xs, _, Xt, _ = domains
    fitted = GroundMetricTransport(preprocess=preprocess).fit(Xs=Xs, Xt=Xt)
    A, L = fitted.metric_, fitted.components_
    np.testing.assert_allclose(L.T @ L, A, atol=1e-9 * np.abs(A).max())
    pairs = np.stack([Xt[:10], Xt[10:20]], axis=1)
    difference = Xt[:10] - Xt[10:20]
    expected = np.sqrt(np.einsum("ij,jk,ik->i", difference, A, difference))
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected, rtol=1e-7)
    scale = Xt.std(axis=0) / Xs.std(axis=0) if preprocess == "standardise" else 1
    moved = (Xs[:10] - Xs.mean(axis=0)) * scale + Xt.mean(axis=0)
    pairs = np.stack([moved, Xt[:10]], axis=1)
    between = np.diag(fitted.model_.distances(Xs[:10], Xt[:10]))
    np.testing.assert_allclose(fitted.pair_distance(pairs), between, rtol=1e-7)


def test_distances_of_points_outside_the_span():
    Xs, _, Xt, _ = shifted(m=10, n=8, d=30)
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    new = np.random.default_rng(3).standard_normal((5, 30))
    pairs = np.stack([new, np.roll(new, 1, axis=0)], axis=1)
    whole = fitted.model_.distances(new, np.ascontiguousarray(pairs[:, 1]))
    np.testing.assert_allclose(fitted.pair_distance(pairs), np.diag(whole), rtol=1e-7)


@pytest.mark.parametrize("kind", ["continuous", "ferradans"])
def test_points_never_seen(kind, domains):
    Xs, _, Xt, _ = domains
    fitted = GroundMetricTransport(out_of_sample_map=kind).fit(Xs=Xs, Xt=Xt)
    mapped = fitted.transform(Xs=Xs)
    np.testing.assert_allclose(fitted.transform(Xs=Xs[:7]), mapped[:7], rtol=1e-4)
    assert np.isfinite(fitted.transform(Xs=1e6 + Xs)).all()
    back = fitted.inverse_transform(Xt=Xt)
    np.testing.assert_allclose(fitted.inverse_transform(Xt=Xt[:7]), back[:7], rtol=1e-6)


@pytest.mark.parametrize("method", ["paper", "class-aware"])
@pytest.mark.parametrize(
    "preprocess", ["none", "l2", "zscore", "centre", "standardise", "hellinger"]
)
def test_ferradans_moves_with_the_nearest(preprocess, method, domains):
    Xs, ys, Xt, _ = domains
    if preprocess == "hellinger":
        Xs, Xt = np.exp(Xs / 4), np.exp(Xt / 4)
    fitted = GroundMetricTransport(
        out_of_sample_map="ferradans", preprocess=preprocess, method=method
    ).fit(Xs=Xs, ys=ys, Xt=Xt)
    near = Xs[:7] * (1 + 1e-9)
    np.testing.assert_allclose(fitted.transform(Xs=near), fitted.transform(Xs=Xs)[:7], rtol=1e-6)
    near = Xt[:7] * (1 + 1e-9)
    np.testing.assert_allclose(
        fitted.inverse_transform(Xt=near), fitted.inverse_transform(Xt=Xt)[:7], rtol=1e-6
    )
    fitted.set_params(out_of_sample_map="continuos")
    with pytest.raises(ValueError, match="ferradans"):
        fitted.transform(Xs=near)


def test_exact_plans_of_points_in_one_place():
    Xs, _, Xt, _ = shifted()
    Xt = np.vstack([Xt[:20], Xt[:20], Xt[20:22]])
    fitted = GroundMetricTransport(0, metric="identity").fit(Xs=Xs, Xt=Xt)
    G = fitted.coupling_
    np.testing.assert_allclose(fitted.transform(Xs=Xs), G @ Xt / G.sum(axis=1)[:, None], atol=1e-9)
    back = G.T @ Xs / G.sum(axis=0)[:, None]
    np.testing.assert_allclose(fitted.inverse_transform(Xt=Xt), back, atol=1e-9)


def test_the_callers_arrays_may_change(domains):
    Xs, _, Xt, _ = domains
    own = Xs.copy()
    fitted = GroundMetricTransport().fit(Xs=own, Xt=Xt)
    expected = fitted.transform(Xs=Xs + 5)
    own += 5
    np.testing.assert_array_equal(fitted.transform(Xs=own), expected)


def test_a_failed_fit_changes_nothing(domains):
    Xs, _, Xt, _ = domains
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    expected = fitted.transform(Xs=Xs[:5])
    with pytest.raises(ValueError, match="ridge"):
        fitted.set_params(ridge=-1).fit(Xs=Xs[:5] + 1, Xt=Xt)
    np.testing.assert_array_equal(fitted.transform(Xs=Xs[:5]), expected)
    assert fitted.transform(Xs=Xs).shape == Xs.shape


def test_labels_go_into_the_model(domains):
    Xs, ys, Xt, yt = domains
    fitted = GroundMetricTransport().fit(Xs=Xs, ys=ys, Xt=Xt)
    assert np.mean(fitted.model_.predict(Xt) == yt) > 0.9
    named = GroundMetricTransport().fit(Xs=Xs, ys=ys.astype(str), Xt=Xt)
    assert named.model_.source_labels is None


def test_fitted_names(domains):
    Xs, ys, Xt, _ = domains
    fitted = GroundMetricTransport()
    for name in ("coupling_", "metric_", "components_"):
        assert not hasattr(fitted, name)
    with pytest.raises(NotFittedError):
        fitted.transform(Xs=Xs)
    assert fitted.fit(Xs=Xs, ys=ys, Xt=Xt) is fitted
    assert fitted.status_ == "converged" and fitted.transport_cost_ > 0
    assert fitted.xs_.shape == Xs.shape and fitted.xt_.shape == Xt.shape
    assert len(fitted.history_["objective"]) == fitted.n_iter_
    np.testing.assert_allclose(fitted.fit_transform(Xs=Xs, Xt=Xt), fitted.transform(Xs=Xs))
    np.testing.assert_allclose(fitted.transform_labels(ys).sum(axis=1), 1)
    back = fitted.inverse_transform_labels(np.arange(len(Xt)) % 2)
    np.testing.assert_allclose(back.sum(axis=1), 1)


def test_clone_pickle_and_parameters(domains):
    Xs, _, Xt, _ = domains
    fitted = GroundMetricTransport(0.3, ridge=1.0).fit(Xs=Xs, Xt=Xt)
    fitted.coupling_
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(Xs=Xs + 1), fitted.transform(Xs=Xs + 1))
    distance = pickle.loads(pickle.dumps(fitted.get_metric()))
    assert distance(Xs[0], Xt[0]) == fitted.get_metric()(Xs[0], Xt[0])
    with pytest.raises(ValueError, match="3 features"):
        distance([1.0], [3.0])
    copy = clone(fitted)
    assert copy.get_params()["ridge"] == 1.0 and not hasattr(copy, "model_")


def test_defaults_are_the_librarys():
    defaults = {option["name"]: option["default"] for option in remblai.options()}
    parameters = GroundMetricTransport().get_params()
    assert parameters["reg_e"] == defaults["lambda_"]
    assert parameters["max_iter"] == defaults["steps"]


def test_weights(domains):
    Xs, _, Xt, _ = domains
    rising = GroundMetricTransport(
        inner_tol=1e-10, distribution_estimation=lambda X: np.arange(1, len(X) + 1)
    ).fit(Xs=Xs, Xt=Xt)
    expected = np.arange(1, len(Xs) + 1) / np.arange(1, len(Xs) + 1).sum()
    np.testing.assert_allclose(rising.coupling_.sum(axis=1), expected, atol=1e-9)


def test_warnings_say_what_to_change(domains):
    Xs, _, Xt, yt = domains
    with pytest.warns(ConvergenceWarning, match="give more '(max_iter|steps)'") as caught:
        GroundMetricTransport(max_iter=1).fit(Xs=Xs, Xt=Xt)
        GroundMetricTransport(max_iter=1).fit_transform(Xs=Xs, Xt=Xt)
        classifier = remblai.GroundMetricClassifier(method="paper", max_iter=1)
        classifier.fit(Xs, np.arange(len(Xs)) % 2, Xt=Xt)
        remblai.fit(Xs=Xs, Xt=Xt, steps=1)
    assert [record.filename for record in caught] == 4 * [__file__]
    with pytest.warns(UserWarning, match="yt is not used"):
        GroundMetricTransport().fit(Xs=Xs, Xt=Xt, yt=yt)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroundMetricTransport().fit(Xs=Xs, Xt=Xt, yt=np.full(len(Xt), -1))
        GroundMetricTransport().fit(Xs=Xs, Xt=Xt, yt=np.full(len(Xt), np.nan))


def test_warm_start(domains):
    Xs, _, Xt, _ = domains
    warm = GroundMetricTransport(0.3, warm_start=True, acceleration="none", tol=1e-6)
    cold = clone(warm).set_params(reg_e=0.25).fit(Xs=Xs, Xt=Xt)
    warm.fit(Xs=Xs, Xt=Xt)
    warm.set_params(reg_e=0.25).fit(Xs=Xs, Xt=Xt)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.metric_, cold.metric_, rtol=1e-3, atol=1e-4)
    with pytest.warns(UserWarning, match="starting anew"):
        warm.fit(Xs=Xs[1:], Xt=Xt)
    with pytest.raises(ValueError, match="start: "):
        remblai.fit(Xs=Xs, Xt=Xt, start=warm.model_)


def test_a_page_for_a_browser(domains, tmp_path):
    Xs, ys, Xt, yt = domains
    columns = ["length", "width", "<b>"]
    source, target = (pandas.DataFrame(X, columns=columns) for X in (Xs, Xt))
    fitted = GroundMetricTransport().fit(Xs=source, ys=ys, Xt=target)
    fitted.report(tmp_path / "page.html", yt=yt, title="Fruit")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Fruit</title>" in page and "length" in page and "<b>" not in page
    assert "of the target points get the right label" in page
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert remblai.fit(Xs=source, Xt=target).features == columns
    names = np.array(["apple", "pear", "plum"])
    classifier = remblai.GroundMetricClassifier().fit(source, names[ys], Xt=target)
    classifier.report(tmp_path / "page.html", yt=names[yt])
    assert "plum" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="labels that the source has not"):
        classifier.report(tmp_path / "page.html", yt=np.array(["quince"] * len(Xt)))
    (tmp_path / "folder").mkdir()
    for place, kind in (("folder", IsADirectoryError), ("nowhere/page.html", FileNotFoundError)):
        with pytest.raises(kind, match=place):
            fitted.report(tmp_path / place)
    assert {file.name for file in tmp_path.iterdir()} == {"page.html", "folder"}
    with pytest.raises(ValueError, match="yt: 5 labels"):
        fitted.report(tmp_path / "page.html", yt=yt[:5])
