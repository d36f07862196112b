#!/usr/bin/env python3
"""Times one transport problem on a GPU: Remblai beside its peers, on the same costs.

    python3 bench/compare_gpu.py --program build/release/remblai [--data DIR] [--points 10000]

It needs NumPy and PyTorch with CUDA, and a program that was built with CUDA. POT, GeomLoss and
OTT-JAX (with JAX for CUDA) take part where they are installed. DIR holds mnist/ (IDX files,
gzipped); without it the costs are those of Gaussian points alone. Every method starts from nothing,
in double, and is to reach an L1 error of both marginals of 1e-6. Costs are on the GPU before the
clock starts, and compilation is not counted. Remblai's time includes the check of both marginals at
the end. A peer that has not arrived after --limit seconds is stopped; what it had reached stands in
brackets, which is the error that this script measures on the plan it returned.

"dense" is Sinkhorn's iteration with the stored kernel and two products; it fails where the kernel
underflows. "log" is the same with log-sum-exp, which never does. GeomLoss follows a schedule of its
own and does not look at the error.
"""
from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import re
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import torch

GOAL = 1e-6


@dataclass
class Case:
    name: str
    x: np.ndarray
    z: np.ndarray
    path: str  # of the costs
    cost: torch.Tensor
    scale: float  # lambda
    limit: float  # seconds for a peer


def digits(path: Path, count: int) -> np.ndarray:
    """The first images of an IDX file, as points."""
    bytes_ = gzip.decompress(path.read_bytes())
    return np.frombuffer(bytes_, np.uint8, offset=16).reshape(-1, 784)[:count] / 255.0


def squared_distances(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    x, z = x - z.mean(0), z - z.mean(0)
    return np.maximum((x**2).sum(1)[:, None] + (z**2).sum(1) - 2 * x @ z.T, 0)


def error_of(plan: torch.Tensor) -> float:
    """The larger L1 error of the two uniform marginals."""
    rows, columns = plan.shape
    return float(max((plan.sum(1) - 1 / rows).abs().sum(), (plan.sum(0) - 1 / columns).abs().sum()))


def error_of_potentials(case: Case, f: torch.Tensor, g: torch.Tensor) -> float:
    return error_of(torch.exp((f[:, None] + g[None, :] - case.cost) / case.scale))


def timed(work: Callable[[], object]) -> tuple[float, object]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def remblai(program: str, device: str) -> Callable[[Case], tuple[float, float]]:
    def run(case: Case) -> tuple[float, float]:
        answer = subprocess.run(
            [program, "bench", "transport", "--cost", case.path, "--lambda", repr(case.scale),
             "--device", device, "--threads", "0", "--repeat", "3", "--json"],
            capture_output=True, text=True, check=True)
        found = json.loads(answer.stdout)
        return found["seconds"], max(found["source_error"], found["target_error"])

    return run


def torch_sinkhorn(log_domain: bool) -> Callable[[Case], tuple[float, float]]:
    def iterate(case: Case) -> float:
        cost, scale = case.cost, case.scale
        rows, columns = cost.shape
        start = time.perf_counter()
        k = cost / -scale if log_domain else torch.exp(cost / -scale)
        fill = 0.0 if log_domain else 1 / rows
        a = torch.full((rows,), fill, dtype=cost.dtype, device=cost.device)
        for step in range(1_000_000):
            if log_domain:
                g = -np.log(columns) - torch.logsumexp(k + a[:, None], 0)
                sums = torch.logsumexp(k + g, 1)
                before, a = a, -np.log(rows) - sums
            else:
                b = 1 / columns / (k.T @ a)
                sums = k @ b
                before, a = a, 1 / rows / sums
            if step % 20 == 0:
                met = torch.exp(before + sums) if log_domain else before * sums
                error = float((met - 1 / rows).abs().sum())
                if not GOAL < error < np.inf or time.perf_counter() - start > case.limit:
                    return error
        return error

    return lambda case: timed(lambda: iterate(case))


def pot(case: Case) -> tuple[float, float]:
    """POT stops by the 2-norm of one marginal, which sqrt(n) bounds the L1 norm with."""
    import ot

    rows, columns = case.cost.shape
    a = torch.full((rows,), 1 / rows, dtype=case.cost.dtype, device=case.cost.device)
    b = torch.full((columns,), 1 / columns, dtype=case.cost.dtype, device=case.cost.device)
    most = 100
    while True:  # it has no limit of time, so iterations are doubled until it arrives
        seconds, plan = timed(lambda: ot.sinkhorn(a, b, case.cost, case.scale, numItermax=most,
                                                  stopThr=GOAL / columns**0.5))
        error = error_of(plan)
        if not GOAL < error or 2 * seconds > case.limit:
            return seconds, error
        most *= 2


def geomloss(case: Case) -> tuple[float, float]:
    """Costs are |x - z|^2 / 2 there, so that its eps is half of lambda."""
    from geomloss import SamplesLoss

    x, z = (torch.tensor(points - case.z.mean(0), device="cuda") for points in (case.x, case.z))
    solve = SamplesLoss("sinkhorn", p=2, blur=(case.scale / 2) ** 0.5, scaling=0.9, debias=False,
                        potentials=True, backend="tensorized")
    seconds, (f, g) = timed(lambda: solve(x, z))
    # Its potentials are relative to the weights.
    entropy = case.scale * np.log(len(x) * len(z))
    return seconds, error_of_potentials(case, 2 * f.flatten(), 2 * g.flatten() - entropy)


def ott(log_domain: bool) -> Callable[[Case], tuple[float, float]]:
    def run(case: Case) -> tuple[float, float]:
        import jax

        jax.config.update("jax_enable_x64", True)
        from ott.geometry import geometry
        from ott.problems.linear import linear_problem
        from ott.solvers.linear import sinkhorn

        cost = jax.numpy.asarray(case.cost.cpu().numpy())
        most = 125
        while True:
            solver = sinkhorn.Sinkhorn(lse_mode=log_domain, threshold=GOAL, max_iterations=most)
            solve = jax.jit(lambda c: solver(linear_problem.LinearProblem(
                geometry.Geometry(cost_matrix=c, epsilon=case.scale))))
            jax.block_until_ready(solve(cost))  # compiles
            seconds, out = timed(lambda: jax.block_until_ready(solve(cost)))
            f, g = (torch.tensor(np.array(v), device="cuda") for v in (out.f, out.g))
            error = error_of_potentials(case, f, g)
            if not 1.01 * GOAL < error or 4 * seconds > case.limit:
                return seconds, error
            most *= 4

    return run


def methods(program: str) -> dict[str, Callable[[Case], tuple[float, float]]]:
    found = {"Remblai, GPU": remblai(program, "cuda"), "Remblai, processor": remblai(program, "cpu"),
             "torch, dense": torch_sinkhorn(False), "torch, log": torch_sinkhorn(True)}
    for module, peers in {"ot": {"POT, torch": pot}, "geomloss": {"GeomLoss": geomloss},
                          "ott": {"OTT, dense": ott(False), "OTT, log": ott(True)}}.items():
        if importlib.util.find_spec(module):
            found |= peers
        else:
            print(f"{', '.join(peers)}: not installed")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/remblai")
    parser.add_argument("--data", type=Path, help="folder with mnist/")
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--limit", type=float, default=15, help="seconds for a peer")
    parser.add_argument("--columns", default="", metavar="PATTERN",
                        help="only columns that match a regular expression")
    options = parser.parse_args()
    n = options.points
    random = np.random.default_rng(0)
    clouds = {"Gaussian, d = 64": (random.normal(size=(n, 64)), random.normal(size=(n, 64)) + 0.3)}
    if options.data:
        folder = options.data / "mnist"
        clouds["MNIST pixels"] = (digits(folder / "t10k-images-idx3-ubyte.gz", n),
                                  digits(folder / "train-images-idx3-ubyte.gz", n))
    warnings.filterwarnings("ignore")
    compared = {name: run for name, run in methods(options.program).items()
                if re.search(options.columns, name)}
    print(f"{torch.cuda.get_device_name()}, n = {n}, double, seconds to an L1 error of {GOAL:.0e} "
          "(error reached)\n")
    print("| costs | R | " + " | ".join(compared) + " |")
    print("|---" * (2 + len(compared)) + "|")
    for name, (x, z) in clouds.items():
        cost = squared_distances(x, z)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/cost.npy"
            np.save(path, cost)
            there = torch.tensor(cost, device="cuda")
            for ratio in (1e2, 1e3):
                case = Case(name, x, z, path, there, float(cost.max() / ratio), options.limit)
                print(f"| {name} | {ratio:.0f} |", end="", flush=True)
                for run in compared.values():
                    try:
                        seconds, error = run(case)
                        print(f" {seconds:.3f} ({error:.0e}) |", end="", flush=True)
                    except Exception as trouble:  # a peer that fails does not end the comparison
                        print(f" {type(trouble).__name__} |", end="", flush=True)
                    torch.cuda.empty_cache()
                print(flush=True)


if __name__ == "__main__":
    main()
