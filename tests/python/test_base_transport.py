"""What POT's ot.da.BaseTransport does (fit, transform, inverse_transform, labels, types of
numbers), asked of GroundMetricTransport."""

import json
import warnings

import numpy as np
import ot
import pandas
import pytest
from conftest import shifted

import remblai
from remblai import GroundMetricClassifier, GroundMetricTransport, _transport

METHODS = ["paper", "class-aware"]


@pytest.fixture(params=METHODS)
def fitted(request):
    Xs, ys, Xt, _ = shifted(m=40, n=30)
    return GroundMetricTransport(method=request.param, inner_tol=1e-9).fit(Xs=Xs, ys=ys, Xt=Xt)


def test_fitted_attributes_are_those_of_pot(fitted):
    theirs = ot.da.SinkhornTransport().fit(Xs=fitted.xs_, Xt=fitted.xt_)
    for name in ("cost_", "coupling_", "mu_s", "mu_t", "xs_", "xt_"):
        assert np.shape(getattr(fitted, name)) == np.shape(getattr(theirs, name)), name
    assert isinstance(fitted.log_, dict) and len(fitted.log_["err"]) == fitted.log_["niter"]
    assert fitted.log_["err"][-1] < 1e-8
    assert not hasattr(GroundMetricTransport(), "cost_")


def test_the_plan_is_the_one_of_the_cost(fitted):
    lam = fitted.model_.lambda_
    exponent = fitted.log_["log_u"][:, None] + fitted.log_["log_v"][None, :] - fitted.cost_ / lam
    np.testing.assert_allclose(np.exp(exponent), fitted.coupling_, rtol=1e-6, atol=1e-12)
    assert np.sum(fitted.coupling_ * fitted.cost_) == pytest.approx(
        fitted.transport_cost_, rel=1e-4
    )


@pytest.mark.parametrize("preprocess", ["none", "zscore", "standardise", "l2", "hellinger"])
@pytest.mark.parametrize("d", [3, 60])
def test_the_cost_of_any_preprocessing(preprocess, d):
    Xs, ys, Xt, _ = shifted(m=20, n=15, d=d)
    if preprocess == "hellinger":
        Xs, Xt = np.exp(Xs / 4), np.exp(Xt / 4)
    for method in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = GroundMetricTransport(method=method, preprocess=preprocess).fit(
                Xs=Xs, ys=ys, Xt=Xt
            )
        exponent = (
            fitted.log_["log_u"][:, None]
            + fitted.log_["log_v"][None, :]
            - fitted.cost_ / fitted.model_.lambda_
        )
        np.testing.assert_allclose(np.exp(exponent), fitted.coupling_, rtol=1e-5, atol=1e-10)
        if method == "paper":
            np.testing.assert_allclose(
                fitted.cost_, fitted.model_.distances(Xs, Xt) ** 2, rtol=1e-6, atol=1e-9
            )


def test_sums_of_the_plan():
    Xs, _, Xt, _ = shifted(m=40, n=30)
    fitted = GroundMetricTransport(inner_tol=1e-10).fit(Xs=Xs, Xt=Xt)
    np.testing.assert_allclose(fitted.coupling_.sum(axis=1), fitted.mu_s, atol=1e-9)
    np.testing.assert_allclose(fitted.coupling_.sum(axis=0), fitted.mu_t, atol=1e-9)
    np.testing.assert_allclose(fitted.mu_s, ot.unif(40))


def test_points_go_to_barycentres(fitted):
    plan = fitted.coupling_
    np.testing.assert_allclose(
        fitted.transform(Xs=fitted.xs_), plan @ fitted.xt_ / plan.sum(1, keepdims=True), atol=1e-6
    )
    back = plan.T @ fitted.xs_ / plan.sum(0)[:, None]
    if fitted.method == "paper":
        np.testing.assert_allclose(fitted.inverse_transform(Xt=fitted.xt_), back, atol=1e-6)
    assert fitted.inverse_transform(Xt=fitted.xt_).shape == fitted.xt_.shape


def test_new_points_and_batches(fitted):
    random = np.random.default_rng(5)
    new = random.standard_normal((33, 3))
    for kind in ("continuous", "ferradans"):
        fitted.set_params(out_of_sample_map=kind)
        whole, back = fitted.transform(Xs=new), fitted.inverse_transform(Xt=new)
        assert whole.shape == back.shape == new.shape
        for size in (1, 10, 128):
            np.testing.assert_allclose(fitted.transform(Xs=new, batch_size=size), whole, rtol=1e-9)
            np.testing.assert_allclose(
                fitted.inverse_transform(Xt=new, batch_size=size), back, rtol=1e-9
            )
    with pytest.raises(ValueError, match="batch_size: 0"):
        fitted.transform(Xs=new, batch_size=0)


def test_batches_are_as_large_as_asked_for(fitted, monkeypatch):
    rows, in_batches = [], _transport._in_batches

    def counted(work, points, size):
        return in_batches(lambda some: rows.append(len(some)) or work(some), points, size)

    monkeypatch.setattr(_transport, "_in_batches", counted)
    new = np.random.default_rng(5).standard_normal((33, 3))
    for kind in ("continuous", "ferradans"):
        fitted.set_params(out_of_sample_map=kind)
        for move in (
            lambda size: fitted.transform(Xs=new, batch_size=size),
            lambda size: fitted.inverse_transform(Xt=new, batch_size=size),
        ):
            for size, expected in ((10, [10, 10, 10, 3]), (128, [33]), (None, [33])):
                rows.clear()
                move(size)
                assert rows == expected


def test_arguments_in_pots_order():
    Xs, ys, Xt, yt = shifted(m=40, n=30)
    unknown = np.full(30, -1)
    named = GroundMetricTransport().fit(Xs=Xs, ys=ys, Xt=Xt, yt=unknown)
    placed = GroundMetricTransport().fit(Xs, ys, Xt, unknown)
    np.testing.assert_array_equal(placed.coupling_, named.coupling_)
    moved = placed.transform(Xs, ys, Xt, unknown, 64)
    np.testing.assert_array_equal(moved, named.transform(Xs=Xs))
    np.testing.assert_array_equal(GroundMetricTransport().fit_transform(Xs, ys, Xt), moved)
    back = placed.inverse_transform(Xs, ys, Xt, unknown, 64)
    np.testing.assert_array_equal(back, named.inverse_transform(Xt=Xt))
    for call in (GroundMetricTransport().fit, GroundMetricTransport().fit_transform):
        with pytest.raises(TypeError, match="by name: Xs="):
            call(Xs, Xt)  # these would be Xs and ys
    for call in (
        named.transform,
        named.transform_labels,
        named.inverse_transform_labels,
        named.inverse_transform,
    ):
        with pytest.raises(ValueError, match="pass (Xs|Xt|ys|yt)="):
            call()


def test_soft_labels(fitted):
    ys, yt = np.arange(40) % 3, np.arange(30) % 4
    shares, back = fitted.transform_labels(ys), fitted.inverse_transform_labels(yt)
    assert shares.shape == (30, 3) and back.shape == (40, 4)
    plan = fitted.coupling_
    for k in range(3):
        np.testing.assert_allclose(shares[:, k], plan[ys == k].sum(0) / plan.sum(0), atol=1e-12)
    for k in range(4):
        np.testing.assert_allclose(back[:, k], plan[:, yt == k].sum(1) / plan.sum(1), atol=1e-12)
    names = np.array(["a", "b", "c"])[ys]
    np.testing.assert_array_equal(fitted.transform_labels(names), shares)


@pytest.mark.parametrize("method", METHODS)
def test_float32_in_gives_float32_out(method):
    Xs, ys, Xt, yt = shifted(m=40, n=30)
    wide = GroundMetricTransport(method=method).fit(Xs=Xs, ys=ys, Xt=Xt)
    Xs, Xt = Xs.astype(np.float32), Xt.astype(np.float32)
    fitted = GroundMetricTransport(method=method).fit(Xs=Xs, ys=ys, Xt=Xt)
    results = {
        "mapped": lambda f, X, Z: f.transform(Xs=X),
        "new": lambda f, X, Z: f.transform(Xs=X + 1),
        "back": lambda f, X, Z: f.inverse_transform(Xt=Z),
        "fit_transform": lambda f, X, Z: f.fit_transform(Xs=X, ys=ys, Xt=Z),
        "plan": lambda f, X, Z: f.coupling_,
        "cost": lambda f, X, Z: f.cost_,
        "metric": lambda f, X, Z: f.metric_,
        "components": lambda f, X, Z: f.components_,
        "mu_s": lambda f, X, Z: f.mu_s,
        "soft labels": lambda f, X, Z: f.transform_labels(ys),
        "soft labels back": lambda f, X, Z: f.inverse_transform_labels(yt),
        "ferradans": lambda f, X, Z: f.set_params(out_of_sample_map="ferradans").transform(
            Xs=X + 1
        ),
    }
    for name, result in results.items():
        assert result(fitted, Xs, Xt).dtype == np.float32, name
        double = result(wide, Xs.astype(float), Xt.astype(float))
        assert double.dtype == np.float64, name
    classifier = GroundMetricClassifier(method=method).fit(Xs, ys, Xt=Xt)
    for found in (classifier.mapped_, classifier.predict_proba(Xt), classifier.coupling_):
        assert found.dtype == np.float32
    assert classifier.predict(Xt).dtype == ys.dtype


def test_data_frames_out_of_transform():
    Xs, ys, Xt, _ = shifted(m=40, n=30)
    columns = ["length", "width", "depth"]
    source = pandas.DataFrame(Xs, columns=columns, index=np.arange(100, 140))
    target = pandas.DataFrame(Xt, columns=columns)
    plain = GroundMetricTransport().fit(Xs=source, Xt=target)
    assert isinstance(plain.transform(Xs=source), np.ndarray)
    assert list(plain.get_feature_names_out()) == columns
    fitted = GroundMetricTransport().set_output(transform="pandas").fit(Xs=source, Xt=target)
    for mapped in (
        fitted.transform(Xs=source),
        GroundMetricTransport().set_output(transform="pandas").fit_transform(Xs=source, Xt=target),
    ):
        assert isinstance(mapped, pandas.DataFrame)
        assert list(mapped.columns) == columns and list(mapped.index) == list(source.index)
        np.testing.assert_allclose(mapped.to_numpy(), plain.transform(Xs=source))
    assert isinstance(fitted.inverse_transform(Xt=target), pandas.DataFrame)
    arrays = GroundMetricTransport().set_output(transform="pandas").fit(Xs=Xs, Xt=Xt)
    assert list(arrays.transform(Xs=Xs).columns) == ["x0", "x1", "x2"]


def test_scikit_learns_words_for_threads_and_chance():
    Xs, ys, Xt, _ = shifted(m=40, n=30)
    expected = GroundMetricTransport(method="class-aware", landmarks=12).fit(Xs=Xs, ys=ys, Xt=Xt)
    for parameters in (
        {"n_threads": -1},
        {"n_threads": None},
        {"n_threads": -2},
        {"random_state": None},
    ):
        other = GroundMetricTransport(method="class-aware", landmarks=12, **parameters).fit(
            Xs=Xs, ys=ys, Xt=Xt
        )
        np.testing.assert_allclose(other.coupling_, expected.coupling_, rtol=1e-9, atol=1e-15)
    for state, seed in (
        (3, 3),
        (np.random.RandomState(3), np.random.RandomState(3).randint(2**31 - 1)),
        (np.random.default_rng(3), np.random.default_rng(3).integers(2**31 - 1)),
    ):
        fitted = GroundMetricTransport(method="class-aware", random_state=state).fit(
            Xs=Xs, ys=ys, Xt=Xt
        )
        assert fitted.model_.options["seed"] == seed
    with pytest.raises(ValueError, match="^random_state: "):
        GroundMetricTransport(random_state="today").fit(Xs=Xs, Xt=Xt)


def test_threads_are_those_of_the_machine(monkeypatch):
    cores = remblai._core.thread_count(0)
    assert remblai._checks.threads(-1) == cores
    monkeypatch.setattr(remblai._core, "thread_count", lambda wanted: 8)
    found = [remblai._checks.threads(value) for value in (None, 0, -1, -2, -7, -8, -20, 3)]
    assert found == [0, 0, 8, 7, 2, 1, 1, 3]


def test_errors_of_the_log_are_those_of_each_step(fitted):
    steps = json.loads(fitted.model_.report())["history"]
    errors = [max(step["source_error"], step["target_error"]) for step in steps]
    assert fitted.log_["err"] == errors and len(set(errors)) > 1
    assert fitted.log_["loss"] == [step["objective"] for step in steps]


def test_save_of_an_estimator(tmp_path, fitted):
    fitted.save(tmp_path / "model.npz")
    again = remblai.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.plan(), fitted.model_.plan())
    assert len(repr(again).splitlines()) <= 4 and "40 source and 30 target points" in repr(again)


@pytest.mark.parametrize("method", METHODS)
def test_a_file_that_keeps_the_state(method, tmp_path):
    Xs, ys, Xt, _ = shifted(m=40, n=30)
    state = tmp_path / "state.npz"
    plain = GroundMetricTransport(method=method, n_threads=1).fit(Xs=Xs, ys=ys, Xt=Xt)
    for _ in range(2):  # the second begins where the first ended, if that left a state
        kept = GroundMetricTransport(method=method, n_threads=1, checkpoint=state)
        kept.fit(Xs=Xs, ys=ys, Xt=Xt)
        np.testing.assert_allclose(kept.coupling_, plain.coupling_, atol=1e-6)
    other = tmp_path / "other.npz"
    classifier = GroundMetricClassifier(method=method, n_threads=1, checkpoint=other)
    assert classifier.fit(Xs, ys, Xt=Xt).predict(Xt).shape == (30,)
