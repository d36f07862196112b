"""The cases of bench/study_class_aware.py: which points are drawn, and in which table they stand.

Each study is a function whose docstring is printed above its tables.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from compare_draws import (SETS, SKEWS, Array, Draw, Problem, digits, draw, draw_digits,
                           of_each_class, skewed, tasks_of)

STUDY = int.from_bytes(b"study", "big")  # a stream of random numbers of its own
TESTED = 1000  # target points to score on, where the digits are drawn here
SIDE = 28  # pixels of a digit
SKEW = 30  # percent of one digit, where nothing else is said
Random = np.random.Generator
Draws = dict[str, Callable[[], Draw]]  # by task


@dataclass
class Case:
    """One column of one table."""
    study: str
    table: str
    column: str
    draws: Callable[[int], Draws]  # of a seed
    known: int = 0  # target labels of each class that a method may see


def generator(name: str, seed: int) -> Random:
    return np.random.default_rng([STUDY, zlib.crc32(name.encode()), seed])


def single(study: str, table: str, column: str, make: Callable[[int, Random], Draw]) -> Case:
    """A case with one draw a seed. The columns of a table begin with the same random numbers."""
    def draws(seed: int) -> Draws:
        return {"": lambda: make(seed, generator(f"{study} {table}", seed))}

    return Case(study, table, column, draws)


def digit_of(seed: int) -> int:
    """The frequent digit: another one for each of ten seeds that follow each other."""
    return (3 * seed + 2) % 10


def share_out(total: int, weights: Iterable[float]) -> list[int]:
    """Whole numbers with this total, in proportion to the weights."""
    ends = np.cumsum(np.asarray(list(weights), float))
    return np.diff(np.rint(total * ends / ends[-1]).astype(int), prepend=0).tolist()


def skewed_draw(seed: int, random: Random, data: Path, source: int, target: int,
                skew: int = SKEW) -> Draw:
    """As many source points of each digit, and so many target points in all."""
    fitted, scored = (skewed(total, skew, digit_of(seed)) for total in (target, TESTED))
    return draw_digits(data, [source] * 10, fitted, scored, random)


# ---------------------------------------------------------------- label shift and domain shift
def changed(images: Array, degrees: float, thick: bool = False, power: float = 1) -> Array:
    """Each image turned around its middle. Then, if asked for, each pixel is the largest of four
    neighbours, and brightness is raised to a power."""
    from scipy import ndimage

    pictures = ndimage.rotate(images.reshape(-1, SIDE, SIDE), degrees, axes=(1, 2), reshape=False,
                              order=1)
    if thick:
        pictures = ndimage.grey_dilation(pictures, size=(1, 2, 2))
    return (np.clip(pictures, 0, 1) ** power).reshape(len(images), -1)


TURNED = partial(changed, degrees=20, thick=True)
CHANGES: dict[str, Callable[[Array], Array]] = {
    "turned by 20 degrees and thickened": TURNED,
    "turned by -30 degrees, brightness to the power 0.6": partial(changed, degrees=-30, power=0.6)}


def changed_draw(seed: int, random: Random, data: Path, skew: int,
                 change: Callable[[Array], Array]) -> Draw:
    plain = skewed_draw(seed, random, data, 50, 500, skew)
    problem = Problem(plain.problem.Xs, plain.problem.ys, change(plain.problem.Xt))
    return Draw(problem, plain.yt, change(plain.Xe), plain.ye)


def shifts(data: Path, large: bool) -> Iterator[Case]:
    """Label shift and domain shift together. The source has 50 digits of each class. The target has
    500, all of them changed, and one digit is more frequent than the others."""
    for title, change in CHANGES.items():
        for skew in (10, 30, 50):
            yield single("shifts", title, f"one digit {skew} %",
                         partial(changed_draw, data=data, skew=skew, change=change))


# ---------------------------------------------------------------- class shares and sizes
def absent_draw(seed: int, random: Random, data: Path, count: int) -> Draw:
    left_out = random.permutation(10)[:count]
    fitted, scored = (share_out(total, [k not in left_out for k in range(10)])
                      for total in (500, TESTED))
    return draw_digits(data, [50] * 10, fitted, scored, random)


def absent(data: Path, large: bool) -> Iterator[Case]:
    """Classes that the target does not have. The source has 50 digits of each class. The target has
    500, and those of the other classes are equally frequent."""
    for count in (1, 3, 7):
        yield single("absent", "absent classes", f"{count} of 10 absent",
                     partial(absent_draw, data=data, count=count))


def source_size(data: Path, large: bool) -> Iterator[Case]:
    """Few or many source points. The target has 500 digits, and one digit is 30 % of them."""
    for count in (5, 20, 100):
        yield single("source-size", "source points", f"{count} a class",
                     partial(skewed_draw, data=data, source=count, target=500))


def unbalanced_draw(seed: int, random: Random, data: Path, power: float) -> Draw:
    source = random.permutation(np.rint(np.geomspace(10, 120, 10)).astype(int))
    fitted, scored = (share_out(total, source ** power) for total in (500, TESTED))
    return draw_digits(data, source.tolist(), fitted, scored, random)


def unbalanced(data: Path, large: bool) -> Iterator[Case]:
    """A source with unequal classes: from 10 to 120 digits of a class, in geometric progression.
    The target has 500. Its classes have the shares of the source, or equal ones, or the inverse:
    the rarest class of the source is the most frequent one."""
    for column, power in (("target as the source", 1), ("target uniform", 0),
                          ("target inverse", -1)):
        yield single("unbalanced", "unequal classes in the source", column,
                     partial(unbalanced_draw, data=data, power=float(power)))


def size(data: Path, large: bool) -> Iterator[Case]:
    """Few or many points. The classes of the source are equal, and one digit is 30 % of the
    target."""
    for n in (50, 200, 1000, 3000, 10000):
        if n <= 3000 or large:
            yield single("size", "500 source points", f"n = {n}",
                         partial(skewed_draw, data=data, source=50, target=n))
    for n in (50, 200, 1000, 3000):
        yield single("size", "as many source points as target points", f"m = n = {n}",
                     partial(skewed_draw, data=data, source=n // 10, target=n))


# ---------------------------------------------------------------- more classes than ten
def pair_images(data: Path, part: str, pairs: Array, random: Random) -> Array:
    """Two digits for each pair, pooled to half their side. No image is used twice."""
    images, labels = digits(data, part)
    flat = pairs.ravel()
    chosen = np.empty(len(flat), int)
    found = of_each_class(labels, np.bincount(flat, minlength=10).tolist(), random)
    for digit, places in enumerate(found):
        chosen[flat == digit] = places
    halves = images[chosen].reshape(-1, SIDE // 2, 2, SIDE // 2, 2).mean((2, 4)) / 255
    return halves.reshape(len(pairs), -1)


def pairs_draw(seed: int, random: Random, data: Path, classes: int) -> Draw:
    order = np.random.default_rng(STUDY).permutation(100)[:classes]
    pairs = np.stack([order // 10, order % 10], axis=1)
    weights = random.permutation(np.linspace(1, 3, classes))
    ys, yt, ye = (np.repeat(np.arange(classes), counts) for counts in (
        [10] * classes, share_out(20 * classes, weights), share_out(TESTED, weights)))
    source = pair_images(data, "t10k", pairs[ys], random)
    target = pair_images(data, "train", pairs[np.append(yt, ye)], random)
    return Draw(Problem(source, ys, target[:len(yt)]), yt, target[len(yt):], ye)


def classes(data: Path, large: bool) -> Iterator[Case]:
    """Few or many classes. Real data of this kind has ten classes, so these classes are made: a
    point is two digits side by side, each pooled to 14 x 14 pixels, and its class is the pair of
    digits. The classes are the first K pairs in a fixed random order. There are 10 source points
    and on average 20 target points a class. The shares of the target are proportional to numbers
    from 1 to 3, in random order."""
    for count in (2, 5, 10, 20, 40, 60):
        yield single("classes", "classes made of pairs of digits", f"K = {count}",
                     partial(pairs_draw, data=data, classes=count))


# ---------------------------------------------------------------- the sets of the comparison
@cache
def pairs_of(data: Path, name: str) -> list[str]:
    return tasks_of(data, name)


def draws_of_set(seed: int, data: Path, name: str) -> Draws:
    """One draw of MNIST, or one of every task of Office-Caltech whose files are there."""
    if name == "turned":
        return {"": lambda: changed_draw(seed, generator(name, seed), data, 10, TURNED)}
    tasks = [str(digit_of(seed))] if name in SKEWS else pairs_of(data, name)
    return {task: partial(draw, data, name, task, seed, STUDY) for task in tasks}


def known(data: Path, large: bool) -> Iterator[Case]:
    """A few known target labels. All methods see the same ones. A class that has fewer target
    points in the fit has all of them labelled. "turned" are digits turned by 20 degrees and
    thickened, all equally frequent. Photos have a draw of each of their tasks."""
    for name in ("mnist-30", "turned", "surf", "efficientnet"):
        for count in (0, 1, 3, 10):
            yield Case("known", name, f"{count} a class" if count else "none",
                       partial(draws_of_set, data=data, name=name), count)


def choose_known(labels: Array, count: int, seed: int) -> Array | None:
    """The labels of so many points of each class, and -1 for the others. More include fewer."""
    if not count:
        return None
    order = generator("known", seed).permutation(len(labels))
    chosen = np.full(len(labels), -1)
    for k in np.unique(labels):
        places = order[labels[order] == k][:count]
        chosen[places] = k
    return chosen


def sensitivity(data: Path, large: bool) -> Iterator[Case]:
    """One option at a time is changed: to a quarter, a half, twice and four times its default, or
    to another choice. Photos have a draw of each of their tasks."""
    for name in SETS:
        yield Case("sensitivity", "sets", name, partial(draws_of_set, data=data, name=name))


def calibration(data: Path, large: bool) -> Iterator[Case]:
    """How far the highest probability can be believed. The test points of all draws are sorted into
    ten bins of equal width by it. The calibration error is the mean distance between confidence and
    accuracy of the bins, weighted by their points. "turned" are digits turned by 20 degrees and
    thickened, all equally frequent. Photos have a draw of each of their tasks."""
    for name in [*SETS, "turned"]:
        yield Case("calibration", "sets", name, partial(draws_of_set, data=data, name=name))


STUDIES: dict[str, Callable[[Path, bool], Iterator[Case]]] = {
    "shifts": shifts, "absent": absent, "source-size": source_size, "unbalanced": unbalanced,
    "classes": classes, "size": size, "known": known, "sensitivity": sensitivity,
    "calibration": calibration}
