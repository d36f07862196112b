"""The data of the accuracies: points of MNIST and Office-Caltech, and random draws of them.

A draw is the same for the same stream, set, task and seed.
"""
from __future__ import annotations

import gzip
import itertools
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from compare_measure import say
from compare_peers import squared_distances

Array = np.ndarray
DOMAINS = {"A": "amazon", "C": "caltech", "D": "dslr", "W": "webcam"}
FEATURES = {"efficientnet": "efficientnet-lite0", "decaf6": "decaf6", "surf": "surf800"}
SKEWS = {f"mnist-{skew}": skew for skew in (10, 30, 50, 90)}
SETS = [*SKEWS, *FEATURES]
STREAM = 20251118  # of random numbers; another one gives other draws


@dataclass
class Problem:
    """All that a method may see."""
    Xs: Array
    ys: Array
    Xt: Array

    @cached_property
    def mean_cost(self) -> float:
        return float(squared_distances(self.Xs, self.Xt).mean())


@dataclass
class Draw:
    problem: Problem
    yt: Array  # of the target points in the problem, for the rows with a dagger
    Xe: Array  # target points to score on
    ye: Array


class NoData(Exception):
    pass


def read(path: Path) -> bytes:
    zipped = path.with_name(path.name + ".gz")
    if path.exists():
        return path.read_bytes()
    if zipped.exists():
        return gzip.decompress(zipped.read_bytes())
    raise NoData(f"{path} is missing")


@cache
def digits(data: Path, part: str) -> tuple[Array, Array]:
    images = read(data / "mnist" / f"{part}-images-idx3-ubyte")
    labels = read(data / "mnist" / f"{part}-labels-idx1-ubyte")
    return (np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784),
            np.frombuffer(labels, np.uint8, offset=8).astype(int))


@cache
def domain(data: Path, features: str, letter: str) -> tuple[Array, Array]:
    from scipy.io import loadmat

    path = data / "office-caltech" / FEATURES[features] / f"{DOMAINS[letter]}.mat"
    if not path.exists():
        raise NoData(f"{path} is missing")
    file = loadmat(path)
    points = np.asarray(file["fts" if features == "surf" else "feas"], float)
    if features == "surf":
        points = np.sqrt(points / np.maximum(points.sum(1, keepdims=True), 1))
    return points, file["labels"].ravel().astype(int) - 1


def of_each_class(labels: Array, counts: list[int], random: np.random.Generator) -> list[Array]:
    return [random.choice(np.flatnonzero(labels == k), count, replace=False)
            for k, count in enumerate(counts)]


def skewed(total: int, skew: int, digit: int) -> list[int]:
    """Points of each digit, where one has `skew` percent and the others have equal shares."""
    common = total * skew // 100
    rest = total - common
    counts = [rest // 9 + (k < rest % 9) for k in range(9)]
    counts.insert(digit, common)
    return counts


def draw_digits(data: Path, source: list[int], target: list[int], test: list[int],
                random: np.random.Generator) -> Draw:
    """So many points of each digit in the source, in the target, and to score on."""
    (images, labels), (others, yt) = digits(data, "t10k"), digits(data, "train")
    chosen = np.concatenate(of_each_class(labels, source, random))
    both = of_each_class(yt, [fit + score for fit, score in zip(target, test)], random)
    pairs = [np.split(found, [count]) for found, count in zip(both, target)]
    fitted, scored = (np.concatenate(part) for part in zip(*pairs))
    return Draw(Problem(images[chosen] / 255, labels[chosen], others[fitted] / 255), yt[fitted],
                others[scored] / 255, yt[scored])


def draw_photos(data: Path, features: str, pair: str, random: np.random.Generator) -> Draw:
    (source, ys), (target, yt) = (domain(data, features, letter) for letter in pair.split("-"))
    chosen = np.concatenate(of_each_class(ys, [8 if pair[0] == "D" else 10] * 10, random))
    fitted, scored = np.split(random.permutation(len(yt)), [len(yt) // 2])
    return Draw(Problem(source[chosen], ys[chosen], target[fitted]), yt[fitted], target[scored],
                yt[scored])


def tasks_of(data: Path, name: str) -> list[str]:
    """Those whose files are there."""
    if name in SKEWS:
        digits(data, "t10k"), digits(data, "train")
        return [str(digit) for digit in range(10)]
    there = []
    for letter in DOMAINS:
        try:
            domain(data, name, letter)
            there.append(letter)
        except NoData as missing:
            say(f"left out, because {missing}: tasks of {name} with {DOMAINS[letter]}")
    return [f"{source}-{target}" for source, target in itertools.permutations(there, 2)]


def draw(data: Path, name: str, task: str, seed: int, stream: int = STREAM) -> Draw:
    if name in SKEWS:
        skew, digit = SKEWS[name], int(task)
        counts = skewed(500, skew, digit)
        random = np.random.default_rng([stream, skew, digit, seed])
        return draw_digits(data, [50] * 10, counts, counts, random)
    random = np.random.default_rng([stream, ord(task[0]), ord(task[2]), seed])
    return draw_photos(data, name, task, random)
