"""One transport problem: against POT."""

import numpy as np
import ot
import pytest

import remblai


@pytest.fixture
def problem():
    random = np.random.default_rng(1)
    M = ot.dist(random.standard_normal((40, 2)), random.standard_normal((30, 2)) + 1)
    return ot.utils.unif(40), random.dirichlet(np.ones(30)), M / M.max()


@pytest.mark.parametrize("method", ["sinkhorn", "sinkhorn_log", "newton", "anderson"])
@pytest.mark.parametrize("reg", [1.0, 0.05])
def test_sinkhorn_is_pots(problem, method, reg):
    a, b, M = problem
    expected = ot.sinkhorn(a, b, M, reg, method="sinkhorn_log", numItermax=100000, stopThr=1e-13)
    plan = remblai.sinkhorn(a, b, M, reg, method=method, stopThr=1e-11, numItermax=100000)
    np.testing.assert_allclose(plan, expected, atol=1e-10)


def test_sinkhorn_log(problem):
    a, b, M = problem
    plan, log = remblai.sinkhorn(a, b, M, 0.1, log=True)
    assert {"err", "niter", "u", "v"} <= set(log)
    assert log["err"][-1] <= 1e-9
    scaled = log["u"][:, None] * np.exp(-M / 0.1) * log["v"][None, :]
    np.testing.assert_allclose(scaled, plan, rtol=1e-8)


def test_sinkhorn_warm_start(problem):
    a, b, M = problem
    plan, log = remblai.sinkhorn(a, b, M, 0.02, log=True)
    again, second = remblai.sinkhorn(a, b, M, 0.02, log=True, warmstart=log["warmstart"])
    assert second["niter"] < log["niter"]
    np.testing.assert_allclose(again, plan, atol=1e-10)


def test_sinkhorn_corner_cases(problem):
    a, b, M = problem
    uniform = remblai.sinkhorn([], [], M, 0.5)
    np.testing.assert_allclose(uniform.sum(axis=1), 1 / 40)
    np.testing.assert_allclose(remblai.sinkhorn(3 * a, 3 * b, M, 0.5).sum(), 3)
    weights = a.copy()
    weights[:5] = 0
    weights /= weights.sum()
    plan, log = remblai.sinkhorn(weights, b, M, 0.5, log=True)
    assert np.all(plan[:5] == 0) and np.isfinite(plan).all()
    again = remblai.sinkhorn(weights, b, M, 0.5, warmstart=log["warmstart"])
    np.testing.assert_allclose(again, plan, atol=1e-9)
    losses = remblai.sinkhorn(a, np.stack([b, b[::-1]], axis=1), M, 0.5)
    expected = ot.sinkhorn(a, np.stack([b, b[::-1]], axis=1), M, 0.5, stopThr=1e-12)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", ["one", "column", "columns"])
@pytest.mark.parametrize("mass", [1, 3])
def test_sinkhorn_log_is_pots(problem, shape, mass):
    a, b, M = problem
    a = mass * a
    b = {"one": mass * b, "column": mass * b[:, None]}.get(shape, mass * np.stack([b, b[::-1]], 1))
    result, log = remblai.sinkhorn(a, b, M, 0.5, log=True, stopThr=1e-11)
    expected, theirs = ot.sinkhorn(a, b, M, 0.5, log=True, stopThr=1e-12)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert log["u"].shape == theirs["u"].shape and log["v"].shape == theirs["v"].shape
    scaled = np.einsum("i...,ij,j...->ij...", log["u"], np.exp(-M / 0.5), log["v"])
    np.testing.assert_allclose(scaled.sum(axis=0), b, rtol=1e-8)
    again = remblai.sinkhorn(a, b, M, 0.5, warmstart=log["warmstart"])
    np.testing.assert_allclose(again, result, rtol=1e-6)


def test_sinkhorn_of_one_point():
    plan, log = remblai.sinkhorn([1.0], [0.5, 0.5], [[1.0, 2.0]], 0.1, log=True)
    np.testing.assert_allclose(log["u"][:, None] * np.exp([[-10, -20]]) * log["v"], plan)


def test_sinkhorn_small_reg_is_finite(problem):
    a, b, M = problem
    plan = remblai.sinkhorn(a, b, M, 1e-4, numItermax=100000, stopThr=1e-7)
    assert np.isfinite(plan).all()
    assert np.sum(plan * M) - ot.emd2(a, b, M) < 1e-2


def test_sinkhorn_warns_and_refuses(problem):
    a, b, M = problem
    with pytest.warns(UserWarning, match="numItermax"):
        remblai.sinkhorn(a, b, M, 1e-3, numItermax=2)
    with pytest.raises(ValueError, match="reg"):
        remblai.sinkhorn(a, b, M, 0)
    with pytest.raises(ValueError, match="sums differ"):
        remblai.sinkhorn(a, 2 * b, M, 1)
    with pytest.raises(ValueError, match="method"):
        remblai.sinkhorn(a, b, M, 1, method="fastest")
    for arguments, words in (
        ({"stopThr": 0}, "^stopThr: 0"),
        ({"numItermax": 0}, "^numItermax: 0"),
        ({"n_threads": 1.5}, "^n_threads: 1.5"),
        ({"reg": np.inf}, "^reg: inf"),
        ({"b": b[:5]}, "^b: 5 weights for 30"),
        ({"warmstart": (a, a)}, "^warmstart"),
    ):
        with pytest.raises(ValueError, match=words):
            remblai.sinkhorn(**{"a": a, "b": b, "M": M, "reg": 1.0, **arguments})
    with pytest.raises(TypeError, match="n_threads"):
        remblai.sinkhorn(a, b, M, 1, n_thread=2)


def test_exact_is_emd(problem):
    a, b, M = problem
    found = remblai.exact(a, b, M)
    assert found.cost == pytest.approx(ot.emd2(a, b, M), abs=1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=0), b, atol=1e-12)


def test_transport_certifies_itself(problem):
    a, b, M = problem
    found = remblai.transport(M, a, b, lambda_=0.01, tolerance=1e-8)
    assert found.converged and found.gap >= 0
    assert max(found.source_error, found.target_error) <= 1e-8
    with pytest.raises(ValueError, match="positive"):
        remblai.transport(M, a, b, lambda_=0)


def test_relaxed_sums_are_those_of_pot():
    rng = np.random.default_rng(3)
    cost = rng.random((12, 9))
    p, q = rng.random(12) + 0.1, 2 * rng.random(9) + 0.1
    mine = remblai.transport(
        cost, p, q, lambda_=0.05, tolerance=1e-10, relax_source=0.3, relax_target=0.8
    )
    theirs = ot.unbalanced.sinkhorn_unbalanced(
        p, q, cost, 0.05, (0.3, 0.8), stopThr=1e-14, numItermax=100000
    )
    assert mine.converged
    np.testing.assert_allclose(mine.plan, theirs, atol=1e-8)
    Xs, Xt = rng.normal(size=(20, 3)), rng.normal(size=(25, 3))
    model = remblai.fit(Xs=Xs, Xt=Xt, relax_source=0.5, relax_target=0.5)
    assert model.status == "converged"
    assert model.plan().sum() < 1
    with pytest.raises(ValueError, match="relax_source"):
        remblai.transport(cost, p, q, lambda_=0.05, relax_source=-1)


def test_devices():
    devices = remblai.devices()
    assert devices[0] == "cpu"
    cost = np.random.default_rng(0).uniform(size=(5, 7))
    on_cpu = remblai.transport(cost, lambda_=0.3, device="cpu").plan
    np.testing.assert_array_equal(remblai.transport(cost, lambda_=0.3).plan, on_cpu)
    with pytest.raises(ValueError, match="device"):
        remblai.transport(cost, lambda_=0.3, device="tpu")
    if len(devices) == 1:
        with pytest.raises(ValueError, match="device.*cuda.*cpu"):
            remblai.transport(cost, lambda_=0.3, device="cuda")
    else:
        np.testing.assert_allclose(
            remblai.transport(cost, lambda_=0.3, device="cuda").plan, on_cpu, atol=1e-9)
