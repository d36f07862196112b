#!/usr/bin/env python3
"""Counts the labels that change when the data are moved or measured in another unit.

    python3 bench/study_invariance.py --data DIR --remblai build/release/remblai

DIR holds mnist/ and office-caltech/, as for bench/compare_accuracy.py. Each draw is labelled again
and again by `remblai adapt`: as it is, with the target moved, and with both domains scaled. A row
of the table is a set, and its numbers are target points whose label is another one, of all draws
together. Moves are in a random direction, in units of the spread of the source: the root mean
square distance of its points to their mean.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from compare_draws import Array, Problem
from compare_measure import say
from study_cases import draws_of_set, generator

SETS = ("mnist-30", "efficientnet", "decaf6", "surf")
FAR = (1e2, 1e3, 1e4)  # spreads
UNITS = (1e-100, 1e100)
METHODS = {"class-aware": [],
           "paper, metric identity": ["--method", "paper", "--metric", "identity"]}


def labels(remblai: Path, problem: Problem, options: list[str]) -> Array:
    with tempfile.TemporaryDirectory() as folder:
        files = {"source": problem.Xs, "source-labels": problem.ys, "target": problem.Xt}
        command = [str(remblai), "adapt", "--quiet", "--out", f"{folder}/out", *options]
        for name, values in files.items():
            np.save(f"{folder}/{name}.npy", values)
            command += [f"--{name}", f"{folder}/{name}.npy"]
        subprocess.run(command, check=True)
        return np.load(f"{folder}/out/labels.npy")


def changes(remblai: Path, problem: Problem, options: list[str],
            random: np.random.Generator) -> list[int]:
    """Labels that change: far instead of not, further instead of far, and in other units."""
    spread = np.sqrt(((problem.Xs - problem.Xs.mean(0)) ** 2).sum(1).mean())
    direction = random.standard_normal(problem.Xs.shape[1])
    direction *= spread / np.linalg.norm(direction)
    plain = labels(remblai, problem, options)
    there = [labels(remblai, Problem(problem.Xs, problem.ys, problem.Xt + size * direction),
                    options) for size in FAR]
    scaled = [labels(remblai, Problem(unit * problem.Xs, problem.ys, unit * problem.Xt), options)
              for unit in UNITS]
    return [len(plain), int(np.sum(there[0] != plain)),
            max(int(np.sum(other != there[0])) for other in there),
            max(int(np.sum(other != plain)) for other in scaled)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--remblai", type=Path, default=Path("remblai"), help="[remblai]")
    parser.add_argument("--seeds", type=int, default=2, help="[2]")
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    print("| set | draws | points | method | far instead of not | further instead of far |"
          " another unit |\n|---|---|---|---|---|---|---|")
    for name in options.sets:
        for method, flags in METHODS.items():
            found = []
            for seed in range(options.seeds):
                for task, draw in draws_of_set(seed, options.data, name).items():
                    flags_here = [*flags, "--threads", "1"]
                    found.append(changes(options.remblai, draw().problem, flags_here,
                                         generator(f"{name} {task}", seed)))
                    say(f"{name} {task}, seed {seed}, {method}: {found[-1]}")
            points, *counts = np.sum(found, axis=0)
            print("| " + " | ".join([name, str(len(found)), str(points), method,
                                     *(f"{count}" for count in counts)]) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
