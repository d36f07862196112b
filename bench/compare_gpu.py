#!/usr/bin/env python3
"""Times one transport problem on a GPU: Remblai beside PyTorch, on the same costs.

    python3 bench/compare_gpu.py --program build/release/remblai [--data DIR] [--points 10000]

It needs NumPy and PyTorch with CUDA, and a program that was built with CUDA. DIR holds mnist/ (IDX
files, gzipped); without it the costs are those of Gaussian points alone. Every method starts from
nothing and ends when the L1 error of both marginals is at most 1e-6 in double. Costs are on the GPU
before the clock starts. Remblai's time includes the check of both marginals at the end.

"dense" is Sinkhorn's iteration with the stored kernel and two products; it is given up where the
kernel underflows. "log domain" is the same with log-sum-exp, which never does.
"""
from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch


def digits(path: Path, count: int) -> np.ndarray:
    """The first images of an IDX file, as points."""
    bytes_ = gzip.decompress(path.read_bytes())
    return np.frombuffer(bytes_, np.uint8, offset=16).reshape(-1, 784)[:count] / 255.0


def squared_distances(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    x, z = x - z.mean(0), z - z.mean(0)
    return np.maximum((x**2).sum(1)[:, None] + (z**2).sum(1) - 2 * x @ z.T, 0)


def remblai(program: str, path: str, scale: float, device: str) -> tuple[float, str]:
    answer = subprocess.run(
        [program, "bench", "transport", "--cost", path, "--lambda", repr(scale), "--device", device,
         "--threads", "0", "--repeat", "2", "--json"],
        capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    error = max(found["source_error"], found["target_error"])
    return found["seconds"], f"{error:.0e}"


def sinkhorn(cost: torch.Tensor, scale: float, log_domain: bool, limit: float) -> tuple[float, str]:
    """Seconds until both marginals are met, and the error that was reached."""
    rows, columns = cost.shape
    torch.cuda.synchronize()
    start = time.perf_counter()
    if log_domain:
        k = cost / -scale
        f = torch.zeros(rows, dtype=cost.dtype, device=cost.device)
    else:
        k = torch.exp(cost / -scale)
        a = torch.full((rows,), 1 / rows, dtype=cost.dtype, device=cost.device)
    error = float("inf")
    for step in range(1_000_000):
        if log_domain:
            g = -np.log(columns) - torch.logsumexp(k + f[:, None], 0)
            sums = torch.logsumexp(k + g, 1)
            if step % 20 == 0:
                error = float((torch.exp(f + sums) - 1 / rows).abs().sum())
            f = -np.log(rows) - sums
        else:
            b = 1 / columns / (k.T @ a)
            sums = k @ b
            if step % 20 == 0:
                error = float((a * sums - 1 / rows).abs().sum())
            a = 1 / rows / sums
        if step % 20 == 0:
            if error <= 1e-6 or not np.isfinite(error):
                break
            if time.perf_counter() - start > limit:
                break
    torch.cuda.synchronize()
    return time.perf_counter() - start, f"{error:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/remblai")
    parser.add_argument("--data", type=Path, help="folder with mnist/")
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--limit", type=float, default=30, help="seconds for a peer")
    options = parser.parse_args()
    n = options.points
    random = np.random.default_rng(0)
    clouds = {"Gaussian, d = 64": (random.normal(size=(n, 64)), random.normal(size=(n, 64)) + 0.3)}
    if options.data:
        folder = options.data / "mnist"
        clouds["MNIST pixels"] = (digits(folder / "t10k-images-idx3-ubyte.gz", n),
                                  digits(folder / "train-images-idx3-ubyte.gz", n))
    print(f"{torch.cuda.get_device_name()}, n = {n}, double, seconds to an L1 error of 1e-6 "
          "(error reached)\n")
    print("| costs | R | Remblai, GPU | Remblai, processor | torch, dense | torch, log domain |")
    print("|---|---|---|---|---|---|")
    for name, (x, z) in clouds.items():
        cost = squared_distances(x, z)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/cost.npy"
            np.save(path, cost)
            there = torch.tensor(cost, device="cuda")
            for ratio in (1e2, 1e3):
                scale = float(cost.max() / ratio)
                cells = [remblai(options.program, path, scale, device) for device in ("cuda", "cpu")]
                cells += [sinkhorn(there, scale, log, options.limit) for log in (False, True)]
                print(f"| {name} | {ratio:.0f} | "
                      + " | ".join(f"{seconds:.2f} ({error})" for seconds, error in cells) + " |",
                      flush=True)


if __name__ == "__main__":
    main()
