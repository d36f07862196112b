"""What a child process of bench/compare.py does: makes data, runs a peer, checks plans.

    python compare_peers.py JOB     # JOB: JSON with role, folder and what the role needs

It answers in JSON lines on standard output. "solve" comes just before a timed solve, so that the parent
knows when to lose patience.
"""
from __future__ import annotations

import gzip
import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from compare_measure import FIT, LADDER, TARGET

Array = np.ndarray
Job = dict[str, Any]
Run = Callable[[], Any]  # returns the plan, or potentials f, g: plan = exp((f + g - c)/lambda)
MANY = 10**7  # iterations: the time limit ends a solve, not this


# ---------------------------------------------------------------- peers for one transport problem
@dataclass
class Problem:
    cost: Array  # m x n, its largest entry is 1
    lambda_: float
    folder: Path  # with the points: X.npy and Z.npy
    threads: int

    def weights(self) -> tuple[Array, Array]:
        m, n = self.cost.shape
        return np.full(m, 1 / m), np.full(n, 1 / n)


Prepare = Callable[[Problem, float], Run]  # the number is the peer's own stopping rule


def import_pot() -> Any:
    """POT without torch and JAX, which it would import where it finds them: seconds, and half a GiB."""
    os.environ |= {"POT_BACKEND_DISABLE_PYTORCH": "1", "POT_BACKEND_DISABLE_JAX": "1"}
    sys.modules["geomloss"] = None  # type: ignore[assignment]  # it would bring torch
    import ot

    return ot


def pot(method: str) -> Prepare:
    def prepare(problem: Problem, setting: float) -> Run:
        ot = import_pot()
        p, q = problem.weights()
        return lambda: ot.sinkhorn(p, q, problem.cost, problem.lambda_, method=method,
                                   numItermax=MANY, stopThr=setting)

    return prepare


def ott(memory: int = 0, log_domain: bool = True) -> Prepare:
    def prepare(problem: Problem, setting: float) -> Run:
        import jax
        from ott.geometry.geometry import Geometry
        from ott.problems.linear.linear_problem import LinearProblem
        from ott.solvers.linear.acceleration import AndersonAcceleration
        from ott.solvers.linear.sinkhorn import Sinkhorn

        solver = Sinkhorn(lse_mode=log_domain, threshold=setting, max_iterations=500_000,
                          anderson=AndersonAcceleration(memory=memory) if memory else None)

        def solve(cost: Any) -> tuple[Any, Any]:
            result = solver(LinearProblem(Geometry(cost_matrix=cost, epsilon=problem.lambda_)))
            return result.f, result.g

        cost = jax.numpy.asarray(problem.cost)
        assert cost.dtype == "float64"
        compiled = jax.jit(solve).lower(cost).compile()
        return lambda: jax.block_until_ready(compiled(cost))

    return prepare


def regot(name: str) -> Prepare:
    def prepare(problem: Problem, setting: float) -> Run:
        import regot as package

        p, q = problem.weights()
        cost = np.asfortranarray(problem.cost)  # it would copy anything else
        return lambda: getattr(package, name)(cost, p, q, problem.lambda_, tol=setting, max_iter=MANY).plan

    return prepare


def geomloss(problem: Problem, scaling: float) -> Run:
    """Its cost is |x - z|^2/2, and its schedule, not an error, ends it."""
    import torch
    from geomloss import SamplesLoss

    torch.set_num_threads(problem.threads)
    largest = float(np.load(problem.folder / "largest.npy"))
    x, z = (torch.from_numpy(points * math.sqrt(2 / largest)) for points in load_points(problem.folder))
    p, q = (torch.from_numpy(weights) for weights in problem.weights())
    loss = SamplesLoss("sinkhorn", p=2, blur=math.sqrt(problem.lambda_), scaling=scaling, debias=False,
                       potentials=True, backend="tensorized")

    def run() -> Iterator[Array]:
        with torch.no_grad():
            f, g = loss(p, x, q, z)
        return (potential.numpy().ravel() + problem.lambda_ * np.log(weights.numpy())
                for potential, weights in ((f, p), (g, q)))

    return run


SOLVERS: dict[str, Prepare] = {  # the keys of compare_measure.PEERS
    "pot": pot("sinkhorn"),
    "pot-log": pot("sinkhorn_log"),
    "pot-stabilized": pot("sinkhorn_stabilized"),
    "ott": ott(),
    "ott-anderson": ott(memory=5),
    "ott-kernel": ott(log_domain=False),
    "ssns": regot("sinkhorn_ssns"),
    "splr": regot("sinkhorn_splr"),
    "lbfgs": regot("sinkhorn_lbfgs_dual"),
    "geomloss": geomloss,
}
SETTINGS = {"geomloss": [0.5, 0.9, 0.99]}  # of the others: LADDER


# ---------------------------------------------------------------- the whole method
def metric_as_it_reads(moment: Array, prior: Array) -> Array:
    """A = C^-1/2 (C^1/2 D C^1/2)^1/2 C^-1/2: the A with A C A = D."""
    from scipy.linalg import inv, sqrtm

    root = np.real(sqrtm(moment))
    inverse = inv(root)
    return inverse @ np.real(sqrtm(root @ prior @ root)) @ inverse


def metric_for_identity(moment: Array, prior: Array) -> Array:
    """The same where the prior is the identity: A = C^-1/2."""
    from scipy.linalg import inv, sqrtm

    return inv(np.real(sqrtm(moment)))


METRIC_STEPS = {"port": metric_as_it_reads, "port-identity": metric_for_identity}


def algorithm_1(X: Array, Z: Array, lambda_: float, ridge: float, steps: int, prior: Array | None = None,
                metric_step: Callable[[Array, Array], Array] = metric_as_it_reads
                ) -> tuple[Array, Array, float]:
    """Plan, metric and objective, by NumPy, SciPy and POT: the method written down as it reads.

    The prior is the identity unless given. lambda_ is relative to the mean cost of the centred
    clouds under the first metric, ridge to the mean eigenvalue of the first moment, as in `remblai fit`.
    """
    from scipy.special import xlogy

    ot = import_pot()
    (m, d), n = X.shape, Z.shape[0]
    prior = np.eye(d) if prior is None else prior
    p, q = np.full(m, 1 / m), np.full(n, 1 / n)
    plan = np.outer(p, q)
    own_moments = X.T @ X / m + Z.T @ Z / n
    for step in range(steps):
        mixed = X.T @ plan @ Z
        moment = own_moments - mixed - mixed.T
        if step == 0:
            eps = ridge * np.trace(moment) / d
        moment += eps * np.eye(d)
        metric = metric_step(moment, prior)
        XA, ZA = X @ metric, Z @ metric
        cost = (XA * X).sum(1)[:, None] + (ZA * Z).sum(1)[None, :] - 2 * XA @ Z.T
        np.maximum(cost, 0, out=cost)
        if step == 0:
            apart = X.mean(0) - Z.mean(0)
            lambda_ *= cost.mean() - apart @ metric @ apart
        plan = ot.sinkhorn(p, q, cost, lambda_, numItermax=MANY, stopThr=TARGET / math.sqrt(max(m, n)))
    prior_term = (metric * moment).sum()  # tr(A^-1 D) = tr(A C), as A C A = D
    objective = (plan * cost).sum() + prior_term + eps * np.trace(metric)
    return plan, metric, float(objective + lambda_ * xlogy(plan, plan).sum())


# ---------------------------------------------------------------- data and checks
def load_points(folder: Path) -> tuple[Array, Array]:
    return np.load(folder / "X.npy"), np.load(folder / "Z.npy")


def gaussian_points(d: int, n: int, random: np.random.Generator) -> tuple[Array, Array]:
    return random.standard_normal((n, d)), 0.8 * random.standard_normal((n, d)) + 0.3


def mnist_points(n: int, data: str, random: np.random.Generator) -> tuple[Array, Array]:
    def sample(part: str) -> Array:
        path = Path(data, "mnist", f"{part}-images-idx3-ubyte")
        raw = (path.read_bytes() if path.exists() else
               gzip.decompress(path.with_suffix(".gz").read_bytes()))
        images = np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)
        return images[random.choice(len(images), n, replace=False)] / 255

    return sample("t10k"), sample("train")


def decaf6_points(data: str) -> tuple[Array, Array]:
    from scipy.io import loadmat

    source, target = (loadmat(Path(data, "office-caltech", "decaf6", f"{domain}.mat"))["feas"]
                      for domain in ("dslr", "webcam"))
    return source.astype(float), target.astype(float)


def points_of(name: str, n: int, data: str) -> tuple[Array, Array]:
    random = np.random.default_rng(20240910)
    if name.startswith("gaussian-"):
        return gaussian_points(int(name.removeprefix("gaussian-")), n, random)
    return mnist_points(n, data, random) if name == "mnist" else decaf6_points(data)


def squared_distances(x: Array, z: Array) -> Array:
    cost = x @ z.T
    cost *= -2
    cost += (x * x).sum(1)[:, None]
    cost += (z * z).sum(1)[None, :]
    return np.maximum(cost, 0, out=cost)


def plan_blocks(f: Array, g: Array, cost: Array, lambda_: float) -> Iterator[Array]:
    """Row blocks of the plan, so that a check needs little memory."""
    rows = max(1, 2**22 // len(g))
    for i in range(0, len(f), rows):
        yield np.exp((f[i:i + rows, None] + g[None, :] - cost[i:i + rows]) / lambda_)


def marginal_error(blocks: Iterable[Array], m: int, n: int) -> float:
    """The larger of the two L1 errors, for uniform weights."""
    row_error, columns = 0.0, np.zeros(n)
    for block in blocks:
        row_error += float(np.abs(block.sum(1) - 1 / m).sum())
        columns += block.sum(0)
    errors = [row_error, float(np.abs(columns - 1 / n).sum())]
    return math.nan if any(map(math.isnan, errors)) else max(errors)


def error_of(answer: Any, problem: Problem) -> float:
    if hasattr(answer, "shape"):
        return marginal_error([answer], *problem.cost.shape)
    f, g = (np.asarray(potential, float).ravel() for potential in answer)
    return marginal_error(plan_blocks(f, g, problem.cost, problem.lambda_), *problem.cost.shape)


def model_blocks(folder: Path) -> Iterator[Array]:
    """Row blocks of the plan of the model `remblai fit` wrote."""
    model = np.load(folder / "model.npz")
    number = {name: model[name].item() for name in ("lambda", "metric_length", "metric_unit")}
    x, z = ((points - model["metric_origin"].reshape(1, -1)) / number["metric_length"]
            for points in load_points(folder))
    if "metric_basis" in model:  # none: the points span all dimensions
        x, z = x @ model["metric_basis"], z @ model["metric_basis"]
    x, z = x @ model["metric_factor"].T, z @ model["metric_factor"].T
    cost = number["metric_unit"] * squared_distances(x, z)
    yield from plan_blocks(model["f"].ravel(), model["g"].ravel(), cost, number["lambda"])


def distance_to_model(plan: Array, folder: Path) -> float:
    """L1 distance of a plan from the model's."""
    total, row = 0.0, 0
    for block in model_blocks(folder):
        total += float(np.abs(block - plan[row:row + len(block)]).sum())
        row += len(block)
    return total


# ---------------------------------------------------------------- roles
def tell(event: str, **values: Any) -> None:
    print(json.dumps({"event": event} | values), file=EVENTS, flush=True)


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(run: Run, times: list[float]) -> Any:
    tell("solve")
    start = time.perf_counter()
    answer = run()
    times.append(time.perf_counter() - start)
    return answer


def make_data(job: Job, folder: Path) -> None:
    x, z = points_of(job["set"], job["n"], job["data"])
    np.save(folder / "X.npy", x)
    np.save(folder / "Z.npy", z)
    if job["set"] != "decaf6":
        cost = squared_distances(x, z)
        np.save(folder / "largest.npy", cost.max())
        cost /= cost.max()
        np.save(folder / "cost.npy", cost)


def solve(job: Job, folder: Path) -> None:
    """Tightens the peer's stopping rule until its plan is good enough, then repeats that solve."""
    problem = Problem(np.load(folder / "cost.npy"), job["lambda"], folder, job["threads"])
    spent = 0.0
    for setting in SETTINGS.get(job["solver"], LADDER):
        run = SOLVERS[job["solver"]](problem, setting)
        times: list[float] = []
        while len(times) < job["repeat"] and sum(times) < job["limit"]:
            answer = timed(run, times)
            memory = peak_memory()
            error = error_of(answer, problem)
            tell("done", setting=setting, seconds=min(times), error=error, memory=memory)
            if not error <= TARGET:
                break
        spent += sum(times)
        if error <= TARGET or spent > 3 * job["limit"]:
            return


def port(job: Job, folder: Path) -> None:
    import_pot()  # not timed, and it imports SciPy
    x, z = load_points(folder)
    step, times = METRIC_STEPS[job["solver"]], []
    while len(times) < job["repeat"] and sum(times) < job["enough"]:
        plan, _, objective = timed(
            lambda: algorithm_1(x, z, **FIT, steps=job["steps"], metric_step=step), times)
        tell("done", seconds=min(times), error=marginal_error([plan], *plan.shape), memory=peak_memory(),
             objective=objective)
    if (folder / "model.npz").exists():
        tell("compared", distance=distance_to_model(plan, folder))


def check_potentials(job: Job, folder: Path) -> None:
    """Those `remblai bench transport` wrote."""
    result = np.load(folder / "potentials.npz")
    problem = Problem(np.load(folder / "cost.npy"), job["lambda"], folder, job["threads"])
    tell("checked", error=error_of((result["f"], result["g"]), problem))


def check_model(job: Job, folder: Path) -> None:
    m, n = (len(points) for points in load_points(folder))
    tell("checked", error=marginal_error(model_blocks(folder), m, n))


def limits(job: Job, folder: Path) -> None:
    """Bytes a second of a copy out of cache, exponentials a second in cache."""
    def best(work: Run, rounds: int) -> float:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    source = np.ones(job["bytes"] // 8)
    target = np.zeros_like(source)
    copy = 2 * source.nbytes / best(lambda: np.copyto(target, source), 5)
    values, out = np.linspace(-20, 0, 2**14), np.empty(2**14)
    tell("limits", copy=copy, exp=len(values) / best(lambda: np.exp(values, out=out), 300))


ROLES = {role.__name__: role for role in (make_data, solve, port, check_potentials, check_model, limits)}
EVENTS: TextIO = sys.stdout

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    EVENTS = os.fdopen(os.dup(1), "w")  # libraries may print; that goes to standard error
    os.dup2(2, 1)
    task = json.loads(sys.argv[1])
    ROLES[task["role"]](task, Path(task["folder"]))
