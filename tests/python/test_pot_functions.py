"""Functions with POT's signatures: what they return is what POT returns, and what they promise
holds."""

import inspect
import warnings

import numpy as np
import ot
import pytest

import remblai


@pytest.fixture
def problem():
    random = np.random.default_rng(1)
    M = ot.dist(random.standard_normal((40, 2)), random.standard_normal((30, 2)) + 1)
    return ot.utils.unif(40), random.dirichlet(np.ones(30)), M / M.max()


@pytest.mark.parametrize("method", ["sinkhorn", "anderson", "newton"])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("warm", [False, True])
def test_no_more_iterations_than_asked_for(problem, method, most, warm):
    a, b, M = problem
    start = (np.zeros(40), np.zeros(30)) if warm else None
    with pytest.warns(UserWarning, match=f"after {most} iterations; raise numItermax"):
        plan, log = remblai.sinkhorn(
            a, b, M, 1e-4, method=method, numItermax=most, log=True, warmstart=start
        )
    assert log["niter"] == most and not log["converged"]
    error = max(np.abs(plan.sum(axis=1) - a).sum(), np.abs(plan.sum(axis=0) - b).sum())
    assert log["err"][-1] == pytest.approx(error, rel=1e-6)


def test_enough_iterations_are_enough(problem):
    a, b, M = problem
    _, log = remblai.sinkhorn(a, b, M, 1e-3, log=True, numItermax=100000)
    again, second = remblai.sinkhorn(a, b, M, 1e-3, log=True, numItermax=log["niter"])
    assert second["converged"] and second["niter"] == log["niter"]


def test_the_log_has_a_history_of_errors(problem):
    a, b, M = problem
    _, log = remblai.sinkhorn(a, b, M, 0.05, log=True)
    assert 2 < len(log["err"]) <= log["niter"] + 2
    assert log["err"][-1] <= 1e-9 < log["err"][0]
    _, log = remblai.sinkhorn(a, np.stack([b, b[::-1]], axis=1), M, 0.05, log=True)
    assert len(log["err"]) > 2 and log["err"][-1] <= 1e-9


def test_warnings_can_be_left_out(problem):
    for solve in (remblai.sinkhorn, remblai.sinkhorn2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solve(*problem, 1e-4, numItermax=1, warn=False)
        with pytest.warns(UserWarning, match="raise numItermax"):
            solve(*problem, 1e-4, numItermax=1, warn=True)


def test_verbose_shows_the_errors(problem, capsys):
    remblai.sinkhorn(*problem, 0.5, verbose=True)
    assert "It.  |Err" in capsys.readouterr().out


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-200, 1e200])
def test_a_unit_of_the_cost_changes_no_plan(problem, scale):
    a, b, M = problem
    expected, log = remblai.sinkhorn(a, b, M, 0.05, log=True)
    plan, scaled = remblai.sinkhorn(a, b, M * scale, 0.05 * scale, log=True)
    np.testing.assert_allclose(plan, expected, atol=1e-8)
    # A number near 1e-310 has 40 bits or fewer.
    np.testing.assert_allclose(
        scaled["log_v"] - scaled["log_v"][0], log["log_v"] - log["log_v"][0], rtol=1e-5
    )
    np.testing.assert_allclose(remblai.emd(a, b, M * scale), remblai.emd(a, b, M), atol=1e-10)


def test_exact_functions_are_pots(problem):
    a, b, M = problem
    plan, log = remblai.emd(a, b, M, log=True)
    theirs, expected = ot.emd(a, b, M, log=True)
    np.testing.assert_allclose(plan, theirs, atol=1e-12)
    assert set(log) == set(expected) and log["cost"] == pytest.approx(expected["cost"])
    np.testing.assert_array_less(log["u"][:, None] + log["v"][None, :], M + 1e-9)
    assert a @ log["u"] + b @ log["v"] == pytest.approx(log["cost"])
    assert remblai.emd2(a, b, M) == pytest.approx(ot.emd2(a, b, M))
    both = np.stack([b, b[::-1]], axis=1)
    np.testing.assert_allclose(remblai.emd2(a, both, M), ot.emd2(a, both, M), rtol=1e-9)
    cost, log = remblai.emd2(3 * a, 3 * b, M, return_matrix=True)
    assert log["G"].sum() == pytest.approx(3) and cost == pytest.approx(3 * remblai.emd2(a, b, M))
    np.testing.assert_allclose(remblai.emd([], [], M).sum(axis=0), 1 / 30)
    assert remblai.exact([], [], M).cost == pytest.approx(ot.emd2([], [], M))
    with pytest.raises(ValueError, match=r"third argument: exact\(a, b, M\)"):
        remblai.exact(M, a, b)
    with pytest.raises(ValueError, match="sums differ"):
        remblai.emd(a, 2 * b, M)
    with pytest.raises(ValueError, match="^a: weight 1 .* is -1"):
        remblai.exact(np.r_[-1.0, a[1:]], b, M)


def test_emd2_of_several_columns_is_pots(problem):
    a, b, M = problem
    both = np.stack([b, b[::-1]], axis=1)
    for arguments in ({"log": True}, {"return_matrix": True}):
        ours, theirs = remblai.emd2(a, both, M, **arguments), ot.emd2(a, both, M, **arguments)
        assert len(ours) == len(theirs) == 2
        for (cost, log), (expected, their_log) in zip(ours, theirs):
            assert cost == log["cost"] == pytest.approx(expected) and set(log) == set(their_log)
            if "G" in log:
                np.testing.assert_allclose(log["G"], their_log["G"], atol=1e-12)
    assert [np.ndim(cost) for cost in remblai.emd2(a, both, M)] == [0, 0]


def test_potentials_are_centred_as_pots_are(problem):
    a, b, M = problem
    for scale in (1, 3):
        _, log = remblai.emd(scale * a, scale * b, M, log=True)
        assert log["u"] @ a == pytest.approx(log["v"] @ b)
        _, theirs = ot.emd(scale * a, scale * b, M, log=True)
        np.testing.assert_allclose(log["u"], theirs["u"], atol=1e-9)
        np.testing.assert_allclose(log["v"], theirs["v"], atol=1e-9)
    _, plain = remblai.emd(a, b, M, log=True, center_dual=False)
    assert plain["u"] @ a != pytest.approx(plain["v"] @ b)
    shift = plain["u"] - remblai.emd(a, b, M, log=True)[1]["u"]
    np.testing.assert_allclose(shift, shift[0], atol=1e-12)


def test_sinkhorn2_is_pots(problem):
    a, b, M = problem
    both = np.stack([b, b[::-1]], axis=1)
    assert remblai.sinkhorn2(a, b, M, 0.1) == pytest.approx(ot.sinkhorn2(a, b, M, 0.1), rel=1e-6)
    np.testing.assert_allclose(
        remblai.sinkhorn2(a, both, M, 0.1), ot.sinkhorn2(a, both, M, 0.1), rtol=1e-6
    )
    loss, log = remblai.sinkhorn2(a, b, M, 0.1, log=True)
    again, second = remblai.sinkhorn2(a, b, M, 0.1, log=True, warmstart=log["warmstart"])
    assert np.ndim(loss) == 0 and log["v"].shape == (30,)
    assert second["niter"] < log["niter"] and again == pytest.approx(loss)
    assert remblai.sinkhorn2([], [], M, 0.1) == pytest.approx(
        ot.sinkhorn2([], [], M, 0.1), rel=1e-6
    )


@pytest.mark.parametrize("taus", [0.5, (0.3, 0.8), (0.3, np.inf), (np.inf, 0.3)])
def test_relaxed_sums_minimise_what_is_said(taus):
    random = np.random.default_rng(3)
    M, a, b = random.random((12, 9)), random.random(12) + 0.1, 2 * random.random(9) + 0.1
    plan, log = remblai.unbalanced(a, b, M, 0.05, taus, stopThr=1e-10, log=True, numItermax=100000)
    theirs = ot.unbalanced.sinkhorn_unbalanced(
        a, b, M, 0.05, taus, stopThr=1e-14, numItermax=200000
    )
    np.testing.assert_allclose(plan, theirs, atol=1e-7)
    kernel = np.outer(a, b) * np.exp(-M / 0.05)
    np.testing.assert_allclose(log["u"][:, None] * kernel * log["v"][None, :], plan, rtol=1e-7)

    def kl(x, w):
        return np.sum(x * np.log(x / w) - x + w)

    def value(G):
        sides = zip(np.broadcast_to(taus, 2), (G.sum(1), G.sum(0)), (a, b))
        relaxed = sum(tau * kl(x, w) for tau, x, w in sides if np.isfinite(tau))
        return np.sum(G * M) + 0.05 * kl(G, np.outer(a, b)) + relaxed

    assert log["total_cost"] == pytest.approx(value(plan)) and log["cost"] == pytest.approx(
        np.sum(plan * M)
    )
    if np.all(np.isfinite(taus)):
        for _ in range(5):
            assert (
                value(plan * np.exp(0.01 * random.standard_normal(plan.shape))) > log["total_cost"]
            )
    again, second = remblai.unbalanced(
        a, b, M, 0.05, taus, stopThr=1e-10, log=True, warmstart=log["warmstart"]
    )
    assert second["niter"] <= log["niter"]
    np.testing.assert_allclose(again, plan, atol=1e-8)


def test_what_unbalanced_refuses(problem):
    a, b, M = problem
    for arguments, words in (
        ({"reg_m": -1}, "^reg_m: -1"),
        ({"reg_m": (1, 2, 3)}, "^reg_m"),
        ({"reg_m": np.inf}, "^reg_m: both sides are exact"),
        ({"reg_type": "entropy"}, "^reg_type"),
        ({"reg": 0}, "^reg: 0"),
    ):
        with pytest.raises(ValueError, match=words):
            remblai.unbalanced(**{"a": a, "b": b, "M": M, "reg": 0.1, "reg_m": 1.0, **arguments})


@pytest.mark.parametrize(
    "arguments",
    [{}, {"reg": 0.1}, {"reg": 0.1, "reg_type": "entropy"}, {"reg": 0.1, "unbalanced": 0.5}],
)
def test_solve_has_pots_results(problem, arguments):
    a, b, M = problem
    ours, theirs = remblai.solve(M, a, b, **arguments), ot.solve(M, a, b, **arguments)
    np.testing.assert_allclose(ours.plan, theirs.plan, atol=1e-8)
    assert ours.value_linear == pytest.approx(theirs.value_linear, rel=1e-6)
    if "unbalanced" not in arguments:  # POT 0.9 leaves 0 there
        assert ours.value == pytest.approx(theirs.value, rel=1e-6)
    for name in ("marginal_a", "marginal_b"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-8)
    shift = [np.ptp(x - y) for x, y in zip(ours.potentials, theirs.potentials)]
    if arguments:
        assert max(shift) < 1e-6  # the same up to a constant
    assert ours.status == "Converged" and ours.sparse_plan.shape == M.shape
    assert len(repr(ours).splitlines()) <= 3


def test_arguments_stand_in_pots_order(problem):
    """Names that are further keywords there, or further ones here, stand at the end."""
    for ours, theirs in (
        (remblai.solve, ot.solve),
        (remblai.emd, ot.emd),
        (remblai.emd2, ot.emd2),
        (remblai.sinkhorn, ot.sinkhorn),
        (remblai.sinkhorn2, ot.sinkhorn2),
        (remblai.unbalanced, ot.unbalanced.sinkhorn_unbalanced),
    ):
        expected = list(inspect.signature(theirs).parameters)
        found = list(inspect.signature(ours).parameters)
        assert [name for name in found if name in expected] == expected[: len(found)]
    a, b, M = problem
    by_place = remblai.solve(
        M, a, b, 0.1, None, "KL", None, "KL", None, 1, 50, None, None, 1e-4, False, "autodiff"
    )
    named = remblai.solve(M, a, b, reg=0.1, max_iter=50, tol=1e-4)
    np.testing.assert_array_equal(by_place.plan, named.plan)
    start = (np.zeros(40), np.zeros(30))
    for call, name in (
        (lambda: remblai.solve(M, a, b, plan_init=M), "plan_init"),
        (lambda: remblai.solve(M, a, b, potentials_init=start), "potentials_init"),
        (lambda: remblai.solve(M, a, b, grad="envelope"), "grad"),
        (lambda: remblai.emd(a, b, M, potentials_init=start), "potentials_init"),
        (lambda: remblai.emd2(a, b, M, potentials_init=start), "potentials_init"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: .*leave it out"):
            call()


def test_solve_says_what_it_cannot_do(problem):
    a, b, M = problem
    assert remblai.solve(M).plan.sum() == pytest.approx(1)
    for arguments in (
        {"reg": 1, "reg_type": "l2"},
        {"unbalanced": 1},
        {"reg": 1, "unbalanced": 1, "unbalanced_type": "TV"},
    ):
        with pytest.raises(ValueError, match="reg"):
            remblai.solve(M, a, b, **arguments)
    with pytest.warns(UserWarning, match="numItermax"):
        assert "missed" in remblai.solve(M, a, b, reg=1e-4, max_iter=3).status


def test_float32_stays_float32(problem):
    a, b, M = (array.astype(np.float32) for array in problem)
    a, b = a / a.sum(), b / b.sum()
    assert remblai.sinkhorn(a, b, M, 0.1).dtype == np.float32
    assert remblai.emd(a, b, M).dtype == remblai.emd2(a, b, M).dtype == np.float32
    assert remblai.unbalanced(a, b, M, 0.1, 1.0).dtype == np.float32
    assert remblai.sinkhorn([], [], M, 0.1).dtype == np.float32
    assert remblai.sinkhorn(a.astype(float), b, M, 0.1).dtype == np.float64


@pytest.mark.parametrize("threads", [None, -1, -2, 0, 1])
def test_threads_as_scikit_learn_counts_them(problem, threads):
    expected = remblai.sinkhorn(*problem, 0.1)
    np.testing.assert_array_equal(remblai.sinkhorn(*problem, 0.1, n_threads=threads), expected)
    a, b, M = problem
    assert remblai.transport(M, a, b, lambda_=0.1, threads=threads).converged


def test_what_costs_and_weights_cannot_be(problem):
    a, b, M = problem
    for arguments, words in (
        ({"M": M.astype(str)}, "^M: text"),
        ({"M": np.ma.masked_greater(M, 0.5)}, "^M: .* masked"),
        ({"a": a.astype(str)}, "^a: text"),
        ({"b": np.ma.masked_less(b, 0.01)}, "^b: .* masked"),
        ({"M": M.astype("timedelta64[s]")}, "^M: dates"),
        ({"b": b[1:]}, f"^b: {len(b) - 1} weights for {len(b)} points"),
    ):
        for solve in (lambda **given: remblai.sinkhorn(**given, reg=1.0), remblai.emd):
            with pytest.raises(ValueError, match=words):
                solve(**{"a": a, "b": b, "M": M, **arguments})


def test_a_regulariser_is_a_number(problem):
    a, b, M = problem
    for wrong in ("1", [1.0, 2.0], None):
        with pytest.raises(TypeError, match="^reg: .* is not a number"):
            remblai.sinkhorn(a, b, M, wrong)
    with pytest.raises(TypeError, match="^reg: 'x' is not a number"):
        remblai.solve(M, a, b, reg="x")
    assert remblai.sinkhorn(a, b, M, np.float32(1)).shape == M.shape


def test_a_plan_is_shown_in_a_few_lines(problem):
    a, b, M = problem
    shown = repr(remblai.transport(M, a, b, lambda_=0.1))
    assert "40 x 30" in shown and "converged" in shown and len(shown) < 200
