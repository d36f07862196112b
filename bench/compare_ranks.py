#!/usr/bin/env python3
"""Times one fit by one process, by several threads of it, and by several ranks under mpirun.

    bench/compare_ranks.py [--points 20000] [--features 64] [--ranks 2] [--steps 2] [--repeat 3]
                           [--tolerance 1e-6] [--precision double] [--memory GIB]

The best of several runs counts, and so does the largest memory of any rank. Claims need a machine that
does nothing else, with a core for each rank. Needs NumPy, and a build with MPI.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measured(command, folder):
    """(seconds of the fit, largest resident memory of a process in MiB, passes)."""
    # Each rank writes its own peak, for mpirun's children are not ours.
    script = (
        "import resource, subprocess, sys, os; "
        "code = subprocess.call(sys.argv[1:]); "
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss; "
        "open(f'peak-{os.getpid()}', 'w').write(str(peak)); sys.exit(code)"
    )
    launch, program = command
    for old in folder.glob("peak-*"):
        old.unlink()
    done = subprocess.run(
        [*launch, sys.executable, "-c", script, *program], cwd=folder, capture_output=True, text=True
    )
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join([*launch, *program])} failed:\n{done.stdout}\n{done.stderr}")
    report = json.loads(done.stdout)
    peaks = [int(path.read_text()) / 1024 for path in folder.glob("peak-*")]
    steps = report["history"]
    return sum(step["seconds"] for step in steps), max(peaks), sum(
        step["inner_iterations"] for step in steps
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20000, help="of each domain")
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tolerance", default="1e-6", help="of the plans, as of fit")
    parser.add_argument("--precision", default="double")
    parser.add_argument("--memory", default="0", help="GiB a process, as --memory of fit")
    parser.add_argument("--remblai", default=str(ROOT / "build/release/remblai"))
    parser.add_argument("--mpirun", default="mpirun")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw = np.random.default_rng(0)
        shape = (arguments.points, arguments.features)
        np.save(folder / "x.npy", draw.standard_normal(shape))
        np.save(folder / "z.npy", draw.standard_normal(shape) * 1.1 + 0.3)

        def fit(threads, ranks=0):
            launch = []
            if ranks:
                launch = [arguments.mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
                if os.geteuid() == 0:
                    launch.insert(1, "--allow-run-as-root")
            program = [arguments.remblai, "fit", "--method", "paper", "--source", "x.npy", "--target",
                       "z.npy", "--out", "model.npz", "--threads", str(threads), "--json", "--steps",
                       str(arguments.steps), "--outer-tolerance", "0", "--memory",
                       arguments.memory, "--tolerance", arguments.tolerance, "--precision",
                       arguments.precision, "--device", "cpu", "--overwrite"]  # fmt: skip
            return launch, program

        runs = {
            "one process, 1 thread": fit(1),
            f"one process, {arguments.ranks} threads": fit(arguments.ranks),
            "one rank, 1 thread": fit(1, 1),
            f"{arguments.ranks} ranks, 1 thread each": fit(1, arguments.ranks),
        }
        print(f"{arguments.points} x {arguments.points} x {arguments.features}, {arguments.steps} steps")
        print(f"{'':30}{'seconds':>9}{'speed-up':>10}{'MiB a rank':>12}{'passes':>8}")
        alone = None
        for title, command in runs.items():
            found = [measured(command, folder) for _ in range(arguments.repeat)]
            seconds, memory = min(one[0] for one in found), max(one[1] for one in found)
            alone = alone or seconds
            print(f"{title:30}{seconds:9.2f}{alone / seconds:10.2f}{memory:12.0f}{found[0][2]:8}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
