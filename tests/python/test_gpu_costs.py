"""Cost matrices that are on a GPU already. Without one, and without PyTorch, only refusals run."""
import numpy as np
import pytest

import remblai

rng = np.random.default_rng(3)
COST = rng.random((40, 50))
P, Q = rng.random(40) + 0.1, rng.random(50) + 0.1
P, Q = P / P.sum(), Q / Q.sum()


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or len(remblai.devices()) == 1:
        pytest.skip("no GPU that both PyTorch and this build can use")
    return torch


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_the_plan_is_that_of_costs_on_the_processor(torch, kind):
    there = torch.tensor(COST.astype(kind), device="cuda")
    here = COST.astype(kind).astype(float)
    found = remblai.transport(there, P, Q, lambda_=0.05)
    expected = remblai.transport(here, P, Q, lambda_=0.05, device="cuda")
    assert isinstance(found.plan, np.ndarray)
    np.testing.assert_array_equal(found.plan, expected.plan)
    assert "40 x 50" in repr(found)
    weights = (torch.tensor(w.astype(kind), device="cuda") for w in (P, Q))
    plan = remblai.sinkhorn(*weights, there, 0.05)
    assert plan.dtype == kind
    np.testing.assert_allclose(plan, found.plan, rtol=1e-5, atol=1e-9)
    loss = remblai.sinkhorn2(P, Q, there, 0.05)
    np.testing.assert_allclose(loss, found.cost, rtol=1e-6)


def test_the_plan_stays(torch):
    there = torch.tensor(COST, device="cuda")
    found = remblai.transport(there, P, Q, lambda_=0.05, stay=True)
    plan = torch.from_dlpack(found.plan)
    assert plan.is_cuda and found.plan.shape == (40, 50) and "40 x 50" in repr(found)
    expected = remblai.transport(there, P, Q, lambda_=0.05).plan
    del found  # the tensor keeps the memory
    np.testing.assert_array_equal(plan.cpu().numpy(), expected)
    again = remblai.transport(plan, P, Q, lambda_=1.0, stay=True)
    np.testing.assert_array_equal(
        np.asarray(again.plan),
        remblai.transport(expected, P, Q, lambda_=1.0, device="cuda").plan,
    )


def test_what_is_not_rows_without_gaps(torch):
    there = torch.tensor(COST.T.copy(), device="cuda").T  # columns without gaps
    found = remblai.transport(there, P, Q, lambda_=0.05)
    np.testing.assert_array_equal(
        found.plan, remblai.transport(COST, P, Q, lambda_=0.05, device="cuda").plan
    )
    with pytest.raises(TypeError, match="float64 or float32"):
        remblai.transport(there.to(torch.float16), P, Q, lambda_=0.05)
    with pytest.raises(ValueError, match="matrix"):
        remblai.transport(there[0], P, Q, lambda_=0.05)
    there = there.clone()
    there[3, 4] = float("nan")
    with pytest.raises(ValueError, match="finite"):
        remblai.transport(there, P, Q, lambda_=0.05)


def test_weights_of_zero_bring_the_costs_here(torch):
    there = torch.tensor(COST, device="cuda")
    p = P.copy()
    p[0] = 0
    found = remblai.transport(there, p, Q, lambda_=0.05, device="cpu")
    np.testing.assert_array_equal(
        found.plan, remblai.transport(COST, p, Q, lambda_=0.05, device="cpu").plan
    )
    with pytest.raises(ValueError, match="stay"):
        remblai.transport(there, p, Q, lambda_=0.05, stay=True)


def test_a_plan_of_the_processor_cannot_stay():
    with pytest.raises(ValueError, match="stay"):
        remblai.transport(COST, P, Q, lambda_=0.05, stay=True)
