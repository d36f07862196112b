"""The whole method: against a loop in plain NumPy and SciPy, and against its own equations."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import shifted
from scipy.linalg import sqrtm
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import remblai

TIGHT = {"acceleration": "none", "inner": "tight", "outer_tolerance": 0.0, "tolerance": 1e-11}


def moment(X, Z, G):
    cross = X.T @ G @ Z
    return X.T @ (G.sum(1)[:, None] * X) + Z.T @ (G.sum(0)[:, None] * Z) - cross - cross.T


def metric_step(C, D):
    root = np.real(sqrtm(C))
    back = np.linalg.inv(root)
    return back @ np.real(sqrtm(root @ D @ root)) @ back


def costs(X, Z, A):
    difference = X[:, None, :] - Z[None, :, :]
    return np.einsum("ijk,kl,ijl->ij", difference, A, difference)


def entropic_plan(cost, p, q, weight):
    f, g = np.zeros(len(p)), np.zeros(len(q))
    for _ in range(20000):
        f = weight * (np.log(p) - logsumexp((g[None, :] - cost) / weight, axis=1))
        last = g
        g = weight * (np.log(q) - logsumexp((f[:, None] - cost) / weight, axis=0))
        if np.abs(g - last).max() < 1e-13 * weight:
            break
    return np.exp((f[:, None] + g[None, :] - cost) / weight)


def plain_loop(X, Z, steps, weight, ridge, D):
    p, q = np.full(len(X), 1 / len(X)), np.full(len(Z), 1 / len(Z))
    G = np.outer(p, q)
    first = moment(X, Z, G)
    eps = ridge * np.trace(first) / len(first) * np.eye(len(first))
    # lambda is relative to the mean cost of the centred clouds
    apart = X.mean(axis=0) - Z.mean(axis=0)
    unit = np.trace(metric_step(first + eps, D) @ (first - np.outer(apart, apart)))
    for _ in range(steps):
        A = metric_step(moment(X, Z, G) + eps, D)
        G = entropic_plan(costs(X, Z, A), p, q, weight * unit)
    return A, G


@pytest.mark.filterwarnings("ignore:iteration-limit")
@pytest.mark.parametrize("given", [False, True])
def test_the_method_is_the_plain_loop(given):
    X, _, Z, _ = shifted(m=25, n=20)
    D = np.diag([1.0, 2.0, 0.5]) if given else np.eye(3)
    model = remblai.fit(
        Xs=X, Xt=Z, lambda_=0.3, ridge=0.1, steps=5, prior=D if given else "identity", **TIGHT
    )
    A, G = plain_loop(X, Z, 5, 0.3, 0.1, D)
    np.testing.assert_allclose(model.metric(), A, rtol=1e-7, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(model.plan(), G, atol=1e-10)


def test_the_fixed_point_solves_its_equation():
    X, _, Z, _ = shifted()
    model = remblai.fit(Xs=X, Xt=Z, outer_tolerance=1e-9, tolerance=1e-10, steps=1000)
    assert model.status == "converged"
    A = model.metric()
    C = moment(X, Z, model.plan()) + model.ridge * np.eye(3)
    np.testing.assert_allclose(A @ C @ A, np.eye(3), atol=1e-5)


def test_marginals_and_objective():
    X, _, Z, _ = shifted()
    estimator = remblai.GroundMetricTransport(inner_tol=1e-9, acceleration="none").fit(Xs=X, Xt=Z)
    plan = estimator.coupling_
    np.testing.assert_allclose(plan.sum(axis=1), 1 / len(X), atol=1e-9)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / len(Z), atol=1e-9)
    objective = estimator.history_["objective"]
    # Plans before the last are loose: each may be off by about its gap.
    gap = estimator.history_["duality_gap"]
    assert np.all(np.diff(objective) <= 2 * (gap[:-1] + gap[1:]))
    assert gap[-1] < 1e-9


def test_options_come_from_the_library():
    names = [option["name"] for option in remblai.options()]
    assert {"lambda_", "prior_ridge", "outer_tolerance", "threads"} <= set(names)
    assert not {"neighbours", "knn_metric"} & set(names)
    assert all(option["help"] for option in remblai.options())
    X, _, Z, _ = shifted()
    with pytest.warns(ConvergenceWarning, match="give more 'steps'"):
        model = remblai.fit(Xs=X, Xt=Z, steps=3, preprocess="zscore")
    assert model.options["steps"] == 3 and model.options["preprocess"] == "zscore"


@pytest.mark.parametrize("no", [False, np.False_, 0])
def test_callback_sees_steps_and_stops(no):
    X, _, Z, _ = shifted()
    seen = []

    def stop_at_two(state):
        if state["complete"]:
            seen.append(state["step"])
        return no if state["step"] >= 2 else None

    model = remblai.fit(Xs=X, Xt=Z, outer_tolerance=0.0, callback=stop_at_two)
    assert seen == [1, 2] and model.status == "stopped"


def test_an_exception_of_the_callback_is_raised_with_the_model():
    X, _, Z, _ = shifted()

    def fail(state):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as raised:
        remblai.fit(Xs=X, Xt=Z, callback=fail)
    assert raised.value.model.status == "stopped"


def test_a_callback_is_a_function():
    X, _, Z, _ = shifted()
    for callback in (1, "print", False, []):
        with pytest.raises(TypeError, match=f"^callback: {type(callback).__name__}; give a function"):
            remblai.fit(Xs=X, Xt=Z, callback=callback)


def test_control_c_keeps_the_state_reached():
    X, _, Z, _ = shifted(m=400, n=400)
    estimator = remblai.GroundMetricTransport(tol=0.0, max_iter=10**6, acceleration="none")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(Xs=X, Xt=Z)
    assert time.monotonic() - start < 20
    assert estimator.status_ == "stopped" and estimator.n_iter_ >= 1
    assert np.isfinite(estimator.transform(Xs=X)).all()


@pytest.mark.filterwarnings("ignore:iteration-limit")
def test_other_threads_run_meanwhile():
    X, _, Z, _ = shifted(m=300, n=300)
    turns = 0

    def fit():
        remblai.fit(Xs=X, Xt=Z, outer_tolerance=0.0, steps=200, threads=1)

    worker = threading.Thread(target=fit)
    worker.start()
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 5


def test_verbose_shows_progress(capfd):
    X, _, Z, _ = shifted()
    remblai.fit(Xs=X, Xt=Z, verbose=True)
    assert "step" in capfd.readouterr().err


def test_models_are_files_and_pickles(tmp_path):
    import pickle

    X, y, Z, _ = shifted()
    model = remblai.fit(Xs=X, ys=y, Xt=Z)
    model.save(tmp_path / "m\u00f6del.npz")
    loaded = remblai.load(str(tmp_path / "m\u00f6del.npz"))
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.f, model.f)
        np.testing.assert_array_equal(other.predict(Z), model.predict(Z))
    assert "60 source and 50 target points of 3 features" in repr(model)
    assert np.load(tmp_path / "m\u00f6del.npz")["source_points"].shape == X.shape


def test_arrays_of_a_model_are_views_that_keep_it_alive():
    X, _, Z, _ = shifted()
    model = remblai.fit(Xs=X, Xt=Z)
    f, copy = model.f, model.f.copy()
    assert not f.flags.writeable and np.shares_memory(f, model.f)
    del model
    for _ in range(20):  # would take the place of what was freed
        remblai.fit(Xs=X[::-1], Xt=Z)
    np.testing.assert_array_equal(f, copy)


def test_exact_transport():
    X, _, Z, _ = shifted()
    model = remblai.fit(Xs=X, Xt=Z, lambda_=0.0)
    source, target, amount = model.exact
    assert len(amount) <= len(X) + len(Z) - 1
    plan = np.zeros((len(X), len(Z)))
    plan[source, target] = amount
    np.testing.assert_allclose(plan, model.plan())


def test_a_checkpoint_goes_on_to_the_same_model(tmp_path):
    rng = np.random.default_rng(3)
    Xs, Xt = rng.normal(size=(40, 4)), rng.normal(size=(30, 4)) + 0.5
    options = {"steps": 8, "outer_tolerance": 0, "threads": 1}
    state = tmp_path / "state.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = remblai.fit(Xs=Xs, Xt=Xt, **options)
        remblai.fit(
            Xs=Xs, Xt=Xt, checkpoint=state, callback=lambda told: told["step"] < 3, **options
        )
        assert state.exists()
        again = remblai.fit(Xs=Xs, Xt=Xt, checkpoint=str(state), **options)
    np.testing.assert_array_equal(again.f, whole.f)
    np.testing.assert_array_equal(again.metric(), whole.metric())
    with pytest.raises(ValueError, match="other data or other options"):
        remblai.fit(Xs=Xs + 1, Xt=Xt, checkpoint=state, **options)


def test_a_fit_that_needs_more_memory_than_there_is_is_refused_before_it_begins():
    points = np.linspace(0, 1, 2_000_000)[:, None]
    with pytest.raises(ValueError, match="GiB are free"):
        remblai.fit(Xs=points, Xt=points + 0.1, memory=1e9)
