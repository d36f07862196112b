#!/usr/bin/env python3
"""Times Remblai and its peers side by side, to one measured error, and writes bench/RESULTS.md.

    python3 -m venv peers && peers/bin/pip install -r bench/requirements.txt
    make build
    peers/bin/python bench/compare.py --data DIR              # hours; --quick is a few minutes

DIR holds mnist/ (IDX files, gzipped or not) and office-caltech/decaf6/{dslr,webcam}.mat; what is not
there is left out, and so is a peer that is not installed. Nothing is installed or downloaded here. It
needs Linux.

The rules. Every solver gets the same cost matrix in float64, the same cores (it is bound to them, and
the usual variables for threads are set), and has to return a plan whose rows and columns both miss
their sums by at most 1e-6 in L1, measured here. Each has a stopping rule of its own: it is tightened by
half a decade at a time until the plan is good enough, and the time of that one solve counts, the best
of --repeat. Imports, reading and compilation (JAX) are not timed. A solve that takes longer than
--limit is killed. A peer that ran out of time is not tried with more points and the same ratio.
Memory is the peak of the whole process, interpreter and cost matrix included.
"""
from __future__ import annotations

import argparse
import datetime
import gzip
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TARGET = 1e-6  # L1 error of both marginals
LADDER = [10 ** (-6 - k / 2) for k in range(13)]
SETUP = 300.0  # seconds for imports, reading, compiling and checking, between two solves
SETS = ["gaussian-64", "gaussian-784", "mnist", "decaf6"]  # the last for the whole method only
FIT = {"lambda_": 0.2, "ridge": 0.1, "steps": 10}
AGREEMENT = 1e-5  # of the whole method: relative in the objective, L1 in the plan
MANY = 10**7  # iterations: the time limit ends a solve, not this


# ---------------------------------------------------------------- peers, each run in a child process
@dataclass
class Problem:
    cost: Any  # m x n, its largest entry is 1
    lambda_: float
    folder: Path  # with the points: X.npy and Z.npy
    threads: int

    def weights(self) -> tuple[Any, Any]:
        import numpy as np

        return tuple(np.full(n, 1 / n) for n in self.cost.shape)


Run = Callable[[], Any]  # returns the plan, or potentials f, g: plan = exp((f + g - c)/lambda)


def import_pot() -> Any:
    """POT without torch and JAX, which it would import where it finds them: seconds, and half a GiB."""
    os.environ |= {"POT_BACKEND_DISABLE_PYTORCH": "1", "POT_BACKEND_DISABLE_JAX": "1"}
    sys.modules["geomloss"] = None  # type: ignore[assignment]  # it would bring torch
    import ot

    return ot


def pot(method: str) -> Callable[[Problem, float], Run]:
    def prepare(problem: Problem, setting: float) -> Run:
        ot = import_pot()
        p, q = problem.weights()
        return lambda: ot.sinkhorn(p, q, problem.cost, problem.lambda_, method=method,
                                   numItermax=MANY, stopThr=setting)

    return prepare


def ott(memory: int = 0, log_domain: bool = True) -> Callable[[Problem, float], Run]:
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


def regot(name: str) -> Callable[[Problem, float], Run]:
    def prepare(problem: Problem, setting: float) -> Run:
        import numpy as np
        import regot as package

        p, q = problem.weights()
        cost = np.asfortranarray(problem.cost)  # it would copy anything else
        return lambda: getattr(package, name)(cost, p, q, problem.lambda_, tol=setting, max_iter=MANY).plan

    return prepare


def geomloss(problem: Problem, scaling: float) -> Run:
    """Its cost is |x - z|^2/2, and its schedule, not an error, ends it."""
    import numpy as np
    import torch
    from geomloss import SamplesLoss

    torch.set_num_threads(problem.threads)
    x, z = (np.load(problem.folder / name) for name in ("X.npy", "Z.npy"))
    largest = float(np.load(problem.folder / "largest.npy"))
    x, z = (torch.from_numpy(points * math.sqrt(2 / largest)) for points in (x, z))
    p, q = (torch.from_numpy(weights) for weights in problem.weights())
    loss = SamplesLoss("sinkhorn", p=2, blur=math.sqrt(problem.lambda_), scaling=scaling, debias=False,
                       potentials=True, backend="tensorized")

    def run() -> tuple[Any, Any]:
        with torch.no_grad():
            f, g = loss(p, x, q, z)
        return ((potential.numpy().ravel() + problem.lambda_ * np.log(weights.numpy()))
                for potential, weights in ((f, p), (g, q)))

    return run


@dataclass
class Peer:
    label: str
    module: str
    pip: str
    prepare: Callable[[Problem, float], Run]
    settings: list[float] = field(default_factory=lambda: LADDER)


PEERS = {
    "pot": Peer("POT sinkhorn", "ot", "POT", pot("sinkhorn")),
    "pot-log": Peer("POT log", "ot", "POT", pot("sinkhorn_log")),
    "pot-stabilized": Peer("POT stabilized", "ot", "POT", pot("sinkhorn_stabilized")),
    "ott": Peer("OTT", "ott", "ott-jax", ott()),
    "ott-anderson": Peer("OTT Anderson(5)", "ott", "ott-jax", ott(memory=5)),
    "ott-kernel": Peer("OTT kernel", "ott", "ott-jax", ott(log_domain=False)),
    "ssns": Peer("RegOT SSNS", "regot", "regot", regot("sinkhorn_ssns")),
    "splr": Peer("RegOT SPLR", "regot", "regot", regot("sinkhorn_splr")),
    "lbfgs": Peer("RegOT L-BFGS", "regot", "regot", regot("sinkhorn_lbfgs_dual")),
    "geomloss": Peer("GeomLoss", "geomloss", "torch geomloss", geomloss, [0.5, 0.9, 0.99]),
}


def algorithm_1(X: Any, Z: Any, lambda_: float, ridge: float, steps: int) -> tuple[Any, Any, float]:
    """Plan, metric and objective, by NumPy, SciPy and POT: the method written down as it reads.

    The prior is the identity, for which the metric C^-1 # I is C^-1/2. lambda_ is relative to the mean cost
    under the first metric, ridge to the mean eigenvalue of the first moment, as in `remblai fit`.
    """
    import numpy as np
    import scipy.linalg
    import scipy.special

    ot = import_pot()
    (m, d), n = X.shape, Z.shape[0]
    p, q = np.full(m, 1 / m), np.full(n, 1 / n)
    plan = np.outer(p, q)
    own_moments = X.T @ X / m + Z.T @ Z / n
    for step in range(steps):
        mixed = X.T @ plan @ Z
        moment = own_moments - mixed - mixed.T
        if step == 0:
            eps = ridge * np.trace(moment) / d
        root = np.real(scipy.linalg.sqrtm(moment + eps * np.eye(d)))
        metric = scipy.linalg.inv(root)
        XA, ZA = X @ metric, Z @ metric
        cost = (XA * X).sum(1)[:, None] + (ZA * Z).sum(1)[None, :] - 2 * XA @ Z.T
        np.maximum(cost, 0, out=cost)
        if step == 0:
            lambda_ *= cost.mean()
        plan = ot.sinkhorn(p, q, cost, lambda_, numItermax=MANY, stopThr=TARGET / math.sqrt(max(m, n)))
    objective = (plan * cost).sum() + np.trace(root) + eps * np.trace(metric)
    return plan, metric, float(objective + lambda_ * scipy.special.xlogy(plan, plan).sum())


# ---------------------------------------------------------------- what the child processes do
def tell(event: str, **values: Any) -> None:
    print(json.dumps({"event": event} | values), file=EVENTS, flush=True)


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def points_of(name: str, n: int, data: str) -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(20240910)
    if name.startswith("gaussian-"):
        d = int(name.removeprefix("gaussian-"))
        return random.standard_normal((n, d)), 0.8 * random.standard_normal((n, d)) + 0.3
    if name == "mnist":
        sides = []
        for part in ("t10k", "train"):
            path = Path(data, "mnist", f"{part}-images-idx3-ubyte")
            packed = path.with_suffix(".gz")
            raw = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
            images = np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)
            sides.append(images[random.choice(len(images), n, replace=False)] / 255)
        return sides[0], sides[1]
    from scipy.io import loadmat

    source, target = (loadmat(Path(data, "office-caltech", "decaf6", f"{domain}.mat"))["feas"]
                      for domain in ("dslr", "webcam"))
    return source.astype(float), target.astype(float)


def squared_distances(x: Any, z: Any) -> Any:
    import numpy as np

    cost = x @ z.T
    cost *= -2
    cost += (x * x).sum(1)[:, None]
    cost += (z * z).sum(1)[None, :]
    return np.maximum(cost, 0, out=cost)


def plan_blocks(f: Any, g: Any, cost: Any, lambda_: float) -> Any:
    """Row blocks of the plan, so that the check needs little memory."""
    import numpy as np

    rows = max(1, 2**22 // len(g))
    for i in range(0, len(f), rows):
        yield np.exp((f[i:i + rows, None] + g[None, :] - cost[i:i + rows]) / lambda_)


def marginal_errors(answer: Any, cost: Any, lambda_: float) -> list[float]:
    import numpy as np

    m, n = cost.shape
    blocks = [answer]
    if not hasattr(answer, "shape"):
        f, g = (np.asarray(potential, float).ravel() for potential in answer)
        blocks = plan_blocks(f, g, cost, lambda_)
    row_error, columns = 0.0, np.zeros(n)
    for block in blocks:
        row_error += float(np.abs(block.sum(1) - 1 / m).sum())
        columns += block.sum(0)
    return [row_error, float(np.abs(columns - 1 / n).sum())]


def child_data(job: dict[str, Any], folder: Path) -> None:
    import numpy as np

    x, z = points_of(job["set"], job["n"], job["data"])
    np.save(folder / "X.npy", x)
    np.save(folder / "Z.npy", z)
    if job["set"] != "decaf6":
        cost = squared_distances(x, z)
        np.save(folder / "largest.npy", cost.max())
        cost /= cost.max()
        np.save(folder / "cost.npy", cost)


def child_solve(job: dict[str, Any], folder: Path) -> None:
    import numpy as np

    problem = Problem(np.load(folder / "cost.npy"), job["lambda"], folder, job["threads"])
    peer, spent = PEERS[job["peer"]], 0.0
    for setting in peer.settings:
        run, times, errors = peer.prepare(problem, setting), [], [math.inf]
        while len(times) < job["repeat"] and sum(times) < job["limit"]:
            tell("solve")
            start = time.perf_counter()
            answer = run()
            times.append(time.perf_counter() - start)
            memory = peak_memory()
            errors = marginal_errors(answer, problem.cost, problem.lambda_)
            tell("done", setting=setting, seconds=min(times), error=max(errors), memory=memory)
            if not max(errors) <= TARGET:
                break
        spent += sum(times)
        if max(errors) <= TARGET or spent > 3 * job["limit"]:
            return


def child_port(job: dict[str, Any], folder: Path) -> None:
    import numpy as np

    import_pot()  # not timed, and it imports SciPy
    x, z = np.load(folder / "X.npy"), np.load(folder / "Z.npy")
    times: list[float] = []
    while len(times) < job["repeat"] and sum(times) < job["limit"]:
        tell("solve")
        start = time.perf_counter()
        plan, _, objective = algorithm_1(x, z, **FIT)
        times.append(time.perf_counter() - start)
        memory = peak_memory()
        errors = marginal_errors(plan, np.empty(plan.shape), 1.0)
        np.save(folder / "plan.npy", plan)
        tell("done", seconds=min(times), error=max(errors), memory=memory, objective=objective)


def child_check(job: dict[str, Any], folder: Path) -> None:
    """The potentials Remblai wrote, from `bench transport` or in the model of `fit`."""
    import numpy as np

    result = np.load(folder / job["file"])
    f, g = result["f"].ravel(), result["g"].ravel()
    if job["file"] != "model.npz":
        tell("checked", errors=marginal_errors((f, g), np.load(folder / "cost.npy"), job["lambda"]))
        return
    number = {name: result[name].item() for name in ("lambda", "metric_length", "metric_unit")}
    x, z = ((np.load(folder / name) - result["metric_origin"].reshape(1, -1)) / number["metric_length"]
            for name in ("X.npy", "Z.npy"))
    if "metric_basis" in result:  # none: the points span all dimensions
        x, z = x @ result["metric_basis"], z @ result["metric_basis"]
    x, z = x @ result["metric_factor"].T, z @ result["metric_factor"].T
    cost = number["metric_unit"] * squared_distances(x, z)
    errors, distance = marginal_errors((f, g), cost, number["lambda"]), None
    if (folder / "plan.npy").exists():
        plan = np.concatenate(list(plan_blocks(f, g, cost, number["lambda"])))
        distance = float(np.abs(plan - np.load(folder / "plan.npy")).sum())
    tell("checked", errors=errors, distance=distance)


def child_limits(job: dict[str, Any], folder: Path) -> None:
    import numpy as np

    def best(work: Callable[[], Any], rounds: int) -> float:
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


# ---------------------------------------------------------------- the parent: starts, watches, kills
@dataclass
class Outcome:
    status: str  # reached, missed, timeout, failed
    seconds: float = math.inf
    error: float = math.nan
    memory: float = math.nan  # MiB
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Ended:
    lines: list[str]
    code: int
    memory: float
    late: bool
    complaint: str

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in map(json.loads, self.lines) if event["event"] == name]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def supervise(command: list[str], threads: int, patience: float, limit: float = 0) -> Ended:
    """Runs a command on so many cores. It may be silent for `patience` seconds, or `limit` in a solve."""
    count = str(threads)
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
    environment = os.environ | {name + "_NUM_THREADS": count for name in names} | {
        "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"}
    cores = sorted(os.sched_getaffinity(0))[:threads]
    lines, rest, late = [], b"", False
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, env=environment,
                                   start_new_session=True,
                                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
        try:
            pipe, deadline = process.stdout.fileno(), time.monotonic() + patience
            while True:
                if not select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
                    late = True
                    break
                chunk = os.read(pipe, 65536)
                if not chunk:
                    break
                *whole, rest = (rest + chunk).split(b"\n")
                lines += [line.decode() for line in whole]
                if whole:
                    solving = limit > 0 and '"event": "solve"' in lines[-1]
                    deadline = time.monotonic() + (limit if solving else patience)
        finally:
            if late or sys.exc_info()[0]:
                os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
        complaints.seek(0)
        text = complaints.read().decode(errors="replace").strip()
    return Ended(lines, process.returncode, usage.ru_maxrss / 1024, late, text.rpartition("\n")[2])


class Comparison:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.transport: dict[tuple[str, int, float], dict[str, Outcome]] = {}
        self.whole: dict[tuple[str, int], dict[str, Outcome]] = {}
        self.scaling: list[tuple[str, int, float, float, float]] = []
        self.limits: dict[str, float] = {}
        self.version = "not run"
        self.absent: list[str] = []

    def child(self, role: str, folder: Path, **job: Any) -> Ended:
        options = self.options
        job |= {"role": role, "folder": str(folder), "threads": options.threads, "repeat": options.repeat,
                "limit": options.limit}
        return supervise([sys.executable, __file__, "--child", json.dumps(job)], options.threads, SETUP,
                         options.limit)

    def report_of(self, role: str, event: str, folder: Path, **job: Any) -> dict[str, Any]:
        ended = self.child(role, folder, **job)
        if ended.code or ended.late:
            raise RuntimeError(f"{role}: {ended.complaint or 'took too long'}")
        return ended.events(event)[0]

    def missing(self, name: str, module: str, pip: str) -> bool:
        if importlib.util.find_spec(module):
            return False
        self.absent.append(f"{name}: not installed; pip install {pip}")
        say(self.absent[-1])
        return True

    def program(self, arguments: list[str], threads: int) -> tuple[Ended, dict[str, Any]]:
        patience = self.options.limit * self.options.repeat + 30
        command = [self.options.remblai, *arguments, "--threads", str(threads), "--json"]
        ended = supervise(command, threads, patience)
        # 3: not converged, which for fit only says that all steps were made.
        return ended, json.loads("\n".join(ended.lines)) if ended.code in (0, 3) else {}

    def failure(self, ended: Ended) -> Outcome:
        if ended.late:
            return Outcome("timeout", memory=ended.memory)
        return Outcome("failed", note=ended.complaint[:120] or f"exit code {ended.code}")

    def remblai_transport(self, folder: Path, lambda_: float, threads: int) -> Outcome:
        outcome = Outcome("failed")
        for tolerance in LADDER[:5]:
            ended, result = self.program(
                ["bench", "transport", "--cost", str(folder / "cost.npy"), "--lambda", repr(lambda_),
                 "--tolerance", repr(tolerance), "--repeat", str(self.options.repeat),
                 "--out", str(folder / "potentials.npz")], threads)
            if not result:
                return self.failure(ended)
            self.version = f"{result['version']} ({result['build']})"
            job = {"file": "potentials.npz", "lambda": lambda_}
            error = max(self.report_of("check", "checked", folder, **job)["errors"])
            outcome = Outcome("reached" if error <= TARGET else "missed", result["seconds"], error,
                              ended.memory, f"{tolerance:.0e}", result)
            if result["seconds"] > self.options.limit:
                outcome.status = "timeout"
            if outcome.status != "missed":
                break
        return outcome

    def peer_transport(self, name: str, folder: Path, lambda_: float) -> Outcome:
        ended = self.child("solve", folder, peer=name, **{"lambda": lambda_})
        done = ended.events("done")
        if not done:
            return self.failure(ended)
        best, status = done[-1], "reached"
        if not best["error"] <= TARGET:
            best = min(done, key=lambda event: math.inf if math.isnan(event["error"]) else event["error"])
            status = "timeout" if ended.late else "missed"
        return Outcome(status, best["seconds"], best["error"], best["memory"], f"{best['setting']:.3g}")

    def run_transport(self, name: str, n: int, folder: Path) -> None:
        for ratio in self.options.ratios:
            row = self.transport[name, n, ratio] = {}
            row["remblai"] = self.remblai_transport(folder, 1 / ratio, self.options.threads)
            self.report(f"{name} n={n} R={ratio:g} Remblai", row["remblai"])
            for peer in self.options.peers:
                if peer not in PEERS:
                    continue
                smaller = [at for at in self.transport if at[0] == name and at[2] == ratio and at[1] < n
                           and self.transport[at].get(peer, Outcome("")).status == "timeout"]
                row[peer] = (Outcome("timeout", note=f"not run: late at n = {smaller[0][1]}") if smaller
                             else self.peer_transport(peer, folder, 1 / ratio))
                self.report(f"{name} n={n} R={ratio:g} {PEERS[peer].label}", row[peer])
            two_cores = len(os.sched_getaffinity(0)) > 1
            if n == max(self.options.sizes) and row["remblai"].status == "reached" and two_cores:
                one, two = (self.remblai_transport(folder, 1 / ratio, threads) for threads in (1, 2))
                self.scaling.append((name, n, ratio, one.seconds, two.seconds))

    def run_whole(self, name: str, n: int, folder: Path) -> None:
        row = self.whole[name, n] = {}
        ended = self.child("port", folder)
        done = ended.events("done")
        row["port"] = self.failure(ended)
        if done:
            row["port"] = Outcome("reached", done[-1]["seconds"], done[-1]["error"], done[-1]["memory"],
                                  details=done[-1])
        self.report(f"{name} n={n} Algorithm 1 by NumPy, SciPy, POT", row["port"])
        for _ in range(self.options.repeat):
            ended, result = self.program(
                ["fit", "--source", str(folder / "X.npy"), "--target", str(folder / "Z.npy"),
                 "--steps", str(FIT["steps"]), "--outer-tolerance", "0", "--lambda", str(FIT["lambda_"]),
                 "--ridge", str(FIT["ridge"]), "--out", str(folder / "model.npz")], self.options.threads)
            if not result:
                row["remblai"] = self.failure(ended)
                break
            if result["seconds"] < row.get("remblai", Outcome("")).seconds:
                row["remblai"] = Outcome("reached", result["seconds"], memory=ended.memory, details=result)
        if row["remblai"].details:
            checked = self.report_of("check", "checked", folder, file="model.npz")
            row["remblai"].error = max(checked["errors"])
            row["remblai"].details["distance"] = checked["distance"]
        self.report(f"{name} n={n} remblai fit", row["remblai"])

    def report(self, what: str, outcome: Outcome) -> None:
        error = f" (error {outcome.error:.1e})" if outcome.error <= TARGET else ""
        say(f"{what}: {self.cell(outcome)}{error}{f' [{outcome.note}]' if outcome.note else ''}")

    def run(self) -> None:
        options = self.options
        options.peers = [name for name in options.peers if not (
            self.missing(PEERS[name].label, PEERS[name].module, PEERS[name].pip) if name in PEERS else
            self.missing("Algorithm 1", "scipy", "scipy") or self.missing("Algorithm 1", "ot", "POT"))]
        with tempfile.TemporaryDirectory(prefix="remblai-compare-") as root:
            size = 2**28 if options.quick else 2**30
            self.limits = self.report_of("limits", "limits", Path(root), bytes=size)
            for name in options.sets:
                for n in sorted(options.sizes) if name != "decaf6" else [0]:
                    folder = Path(root, f"{name}-{n}")
                    folder.mkdir()
                    made = self.child("data", folder, set=name, n=n, data=options.data)
                    if made.code:
                        self.absent.append(f"{name}, n = {n}: no data ({made.complaint})")
                        say(self.absent[-1])
                        continue
                    if "port" in options.peers:
                        self.run_whole(name, n, folder)
                    if name != "decaf6":
                        self.run_transport(name, n, folder)
                    for file in folder.iterdir():
                        file.unlink()

    # ------------------------------------------------------------ results
    def cell(self, outcome: Outcome | None) -> str:
        if outcome is None:
            return ""
        if outcome.status == "timeout":
            return f"> {self.options.limit:g} s" + (" \\*" if outcome.note.startswith("not run") else "")
        if outcome.status == "failed":
            return "failed"
        return duration(outcome.seconds) if outcome.status == "reached" else f"error {outcome.error:.0e}"

    def against(self, row: dict[str, Outcome]) -> str:
        """Fastest peer over Remblai."""
        own = row.get("remblai")
        if own is None or own.status != "reached":
            return ""
        peers = [outcome for name, outcome in row.items() if name != "remblai"]
        reached = [outcome.seconds for outcome in peers if outcome.status == "reached"]
        if reached:
            return f"{min(reached) / own.seconds:.3g}"
        late = any(outcome.status == "timeout" for outcome in peers)
        return f"> {self.options.limit / own.seconds:.3g}" if late else ""

    def markdown(self, plots: list[str]) -> str:
        options = self.options
        shown = [arg if not os.path.isabs(arg) else ".../" + Path(arg).name for arg in sys.argv[1:]]
        text = ["# Remblai beside its peers", "",
                f"Written by `bench/compare.py {shlex.join(shown)}`", f"on {datetime.date.today()}.", "",
                *machine(), f"- Remblai {self.version}; Python {platform.python_version()}; {versions()}",
                f"- {options.threads} thread(s), float64, the best of {options.repeat} solves, "
                f"at most {options.limit:g} s each", "",
                "How it is measured: the head of `bench/compare.py`. R = largest cost / lambda; the cost is the",
                "squared Euclidean distance divided by its maximum, weights are uniform. Compilation (OTT) and",
                "reading are not in the times; for GeomLoss, which takes points, the cost matrix is.", ""]
        text += ["Left out: " + "; ".join(self.absent) + ".", ""] if self.absent else []
        names = ["remblai", *(name for name in options.peers if name in PEERS)]
        heads = ["Remblai", *(PEERS[name].label for name in names[1:])]
        text += [f"## Transport: time to an L1 error of {TARGET:g} in both marginals", "",
                 "`error`: never reached it, at any setting; \\*: not run, late already with fewer points.",
                 "The last column is the time of the fastest peer that reaches the error over Remblai's.", ""]
        text += table(["set", "n", "R", *heads, "peer / Remblai"],
                      [[at[0], at[1], f"{at[2]:g}", *(self.cell(row.get(name)) for name in names),
                        self.against(row)] for at, row in self.transport.items()])
        missed = [[at[0], at[1], f"{at[2]:g}", heads[names.index(name)],
                   f"{outcome.error:.1e}" if math.isfinite(outcome.error) else "no plan",
                   duration(outcome.seconds), outcome.note]
                  for at, row in self.transport.items() for name, outcome in row.items()
                  if outcome.status != "reached" and not outcome.note.startswith("not run")]
        if missed:
            text += ["The best plan of each that did not reach it in time, and the setting that gave it",
                     "(GeomLoss: the ratio of its schedule, for it has no tolerance):", ""]
            text += table(["set", "n", "R", "solver", "L1 error", "time", "setting or reason"], missed)
        text += [f"![{plot}]({plot})" for plot in plots] + [""] * bool(plots)
        if self.whole:
            text += [f"## The whole method: {FIT['steps']} steps", "",
                     f"lambda {FIT['lambda_']}, ridge {FIT['ridge']}, both relative. `remblai fit` (its own seconds:",
                     "reading the points and writing the model included) against `algorithm_1` of the script:",
                     "NumPy, SciPy's sqrtm and POT. They agree when the objectives differ by less than",
                     f"{AGREEMENT:g} (relative) and the plans by less than {AGREEMENT:g} in L1.", ""]
            text += table(["set", "n", "Remblai", "port", "port / Remblai", "MiB", "L1 errors",
                           "objectives differ by", "plans differ by", "agree"],
                          [self.whole_row(at, row) for at, row in self.whole.items()])
        if self.scaling:
            text += ["## Remblai on two threads", ""]
            text += table(["set", "n", "R", "1 thread", "2 threads", "faster by"],
                          [[name, n, f"{ratio:g}", duration(one), duration(two), f"{one / two:.2f}"]
                           for name, n, ratio, one, two in self.scaling])
        text += ["## Peak memory (MiB), the largest over all problems of that size", ""]
        text += table(["n", *heads], [[n, *(most([row[name].memory for at, row in self.transport.items()
                                                  if at[1] == n and name in row]) for name in names)]
                                      for n in sorted({at[1] for at in self.transport})])
        if self.limits:
            text += ["## Distance to the machine's limit", "",
                     "Measured here, one NumPy thread: a copy moves "
                     f"{self.limits['copy'] / 1e9:.1f} GB/s (read and written, out of cache),",
                     f"exp makes {self.limits['exp'] / 1e9:.2f} G/s (in cache). A pass of Remblai is taken as",
                     "8 n^2 bytes. The last column is the time of those bytes and of its exponentials at these",
                     "two speeds over the time measured: above 100 % where the matrix stays in cache.", ""]
            text += table(["set", "n", "R", "passes", "of exp", "GB/s", "of the copy", "of both speeds"],
                          [self.distance(at, row["remblai"]) for at, row in self.transport.items()
                           if row.get("remblai") and row["remblai"].details])
        return "\n".join(text).rstrip() + "\n"

    def distance(self, at: tuple[str, int, float], own: Outcome) -> list[Any]:
        counts, n = own.details["iterations"], at[1]
        passes = counts["sinkhorn"] + counts["products"] + counts["exponentials"]
        speed = 8 * n * n * passes / own.seconds
        ideal = 8 * n * n * passes / self.limits["copy"] + n * n * counts["exponentials"] / self.limits["exp"]
        return [at[0], n, f"{at[2]:g}", passes, counts["exponentials"], f"{speed / 1e9:.1f}",
                f"{100 * speed / self.limits['copy']:.0f} %", f"{100 * ideal / own.seconds:.0f} %"]

    def plots(self, folder: Path) -> list[str]:
        try:
            import matplotlib
            matplotlib.use("svg")
            from matplotlib import pyplot
        except ImportError:
            say("no plots: pip install matplotlib")
            return []
        matplotlib.rcParams["svg.hashsalt"] = "remblai"
        sets = list(dict.fromkeys(at[0] for at in self.transport))
        if not sets:
            return []
        fixed = {1: near(100, self.options.ratios), 2: near(2000, self.options.sizes)}  # of the other axis
        solvers = ["remblai", *(name for name in PEERS if name in self.options.peers)]
        for axis, letter, other in ((1, "n", "R"), (2, "R", "n")):
            size = (1 + 4 * len(sets), 4.5)
            figure, panels = pyplot.subplots(1, len(sets), figsize=size, sharey=True, squeeze=False)
            for panel, name in zip(panels[0], sets):
                rows = {at[axis]: row for at, row in sorted(self.transport.items())
                        if at[0] == name and at[3 - axis] == fixed[axis]}
                for k, solver in enumerate(solvers):
                    points = [(x, row[solver].seconds) for x, row in rows.items()
                              if solver in row and row[solver].status == "reached"]
                    panel.loglog([x for x, _ in points], [y for _, y in points], marker="os^Dv<>phX*"[k],
                                 color=f"C{k - 1}" if k else "black", linewidth=1 if k else 2.5,
                                 label=PEERS[solver].label if k else "Remblai")
                panel.set(title=f"{name}, {other} = {fixed[axis]:g}", xlabel=letter)
                panel.grid(alpha=0.3)
            panels[0][0].set_ylabel(f"seconds to an L1 error of {TARGET:g}")
            panels[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
            file = folder / f"time_against_{letter}.svg"
            figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
            pyplot.close(figure)
        return ["time_against_n.svg", "time_against_R.svg"]

    def whole_row(self, at: tuple[str, int], row: dict[str, Outcome]) -> list[Any]:
        own, port = row.get("remblai", Outcome("failed")), row["port"]
        line = [at[0], at[1] or "157 x 295", self.cell(own), self.cell(port), self.against(row),
                f"{own.memory:.0f}, {port.memory:.0f}",
                ", ".join(f"{outcome.error:.0e}" for outcome in (own, port) if math.isfinite(outcome.error))]
        if own.status != "reached" or port.status != "reached":
            return line + ["", "", ""]
        ours, theirs = own.details["objective"], port.details["objective"]
        apart, distance = abs(ours - theirs) / abs(theirs), own.details["distance"]
        return line + [f"{apart:.1e}", f"{distance:.1e}", "yes" if max(apart, distance) < AGREEMENT else "NO"]


def near(wanted: float, values: list[Any]) -> Any:
    return min(values, key=lambda value: abs(math.log(value / wanted)))


def most(values: list[float]) -> str:
    known = [value for value in values if math.isfinite(value)]
    return f"{max(known):.0f}" if known else ""


def duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return ""
    return f"{1000 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def table(heads: list[str], rows: list[list[Any]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


def machine() -> list[str]:
    def read(path: str | Path) -> str:
        return Path(path).read_text() if Path(path).exists() else ""

    def first(path: str, key: str) -> str:
        values = [line.partition(":")[2] for line in read(path).splitlines() if line.startswith(key)]
        return values[0].strip() if values else ""

    memory = int((first("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 2**20
    caches = [" ".join(read(index / name).strip() for name in ("level", "type", "size"))
              for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))]
    return [f"- {first('/proc/cpuinfo', 'model name') or platform.machine()}, {os.cpu_count()} cores, "
            f"{memory:.0f} GiB of memory", "- caches of a core (level, type, size): " + ", ".join(caches),
            f"- {platform.system()} {platform.release()}"]


def versions() -> str:
    found = []
    for name in ("numpy", "scipy", "POT", "ott-jax", "jax", "regot", "geomloss", "torch"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def main() -> None:
    def several(kind: type, known: list[str] | None = None) -> Callable[[str], list[Any]]:
        def parse(text: str) -> list[Any]:
            values = [kind(float(part)) if kind is int else kind(part) for part in text.split(",")]
            unknown = [value for value in values if known and value not in known]
            if unknown:
                raise argparse.ArgumentTypeError(f"{unknown[0]} is not one of {', '.join(known)}")
            return values

        return parse

    peers, out = [*PEERS, "port"], Path(__file__).with_name("RESULTS.md")
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    add = parser.add_argument
    add("--data", default=os.environ.get("REMBLAI_DATA", "data"), help="DIR [$REMBLAI_DATA]")
    add("--remblai", default="build/release/remblai", help="the program [%(default)s]")
    add("--sizes", type=several(int), help="points on each side [500,2000,10000]")
    add("--ratios", type=several(float), help="largest cost / lambda [10,100,1000,10000]")
    add("--sets", type=several(str, SETS), help=f"of {','.join(SETS)} [all]")
    add("--peers", type=several(str, peers), default=peers,
        help=f"of {','.join(peers)} [all]; port stands for the whole method")
    add("--limit", type=float, help="seconds a solve may take [60]")
    add("--repeat", type=int, help="solves of which the best counts [3]")
    add("--threads", type=int, default=1, help="for every solver [1]")
    add("--out", type=Path, default=out, help="plots go beside it [bench/RESULTS.md]")
    add("--quick", action="store_true", help="200 and 500 points, R = 10 and 100, 10 s, once, unless given")
    options = parser.parse_args()
    usual = {"sizes": [500, 2000, 10000], "ratios": [1e1, 1e2, 1e3, 1e4], "limit": 60.0, "repeat": 3,
             "sets": SETS}
    quick = {"sizes": [200, 500], "ratios": [1e1, 1e2], "limit": 10.0, "repeat": 1}
    for name, value in (usual | (quick if options.quick else {})).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    comparison = Comparison(options)
    if comparison.missing("this script", "numpy", "numpy"):
        sys.exit(2)
    if not os.access(options.remblai, os.X_OK):
        parser.error(f"{options.remblai}: no such program; run `make build`, or name it with --remblai")
    if not 1 <= options.threads <= len(os.sched_getaffinity(0)):
        parser.error(f"--threads {options.threads}: this machine has {len(os.sched_getaffinity(0))} cores")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        comparison.run()
    except KeyboardInterrupt:
        say("stopped; writing what was measured")
        comparison.absent.append("everything after the run was stopped")
    finally:
        options.out.write_text(comparison.markdown(comparison.plots(options.out.parent)))
        say(f"written: {options.out}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        warnings.simplefilter("ignore")
        EVENTS = os.fdopen(os.dup(1), "w")  # libraries may print; that goes to standard error
        os.dup2(2, 1)
        task = json.loads(sys.argv[2])
        globals()["child_" + task["role"]](task, Path(task["folder"]))
    else:
        main()
