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
    with pytest.raises(TypeError, match="n_threads"):
        remblai.sinkhorn(a, b, M, 1, n_thread=2)


def test_exact_is_emd(problem):
    a, b, M = problem
    found = remblai.exact(M, a, b)
    assert found.cost == pytest.approx(ot.emd2(a, b, M), abs=1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=0), b, atol=1e-12)


def test_transport_certifies_itself(problem):
    a, b, M = problem
    found = remblai.transport(M, a, b, lambda_=0.01, tolerance=1e-8)
    assert found.converged and found.gap >= 0
    assert max(found.source_error, found.target_error) <= 1e-8
    with pytest.raises(ValueError, match="positive"):
        remblai.transport(M, a, b, lambda_=0)
