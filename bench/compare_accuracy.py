#!/usr/bin/env python3
"""Compares the accuracy of Remblai and of its peers on the same draws, and writes one table.

    python3 -m venv peers && peers/bin/pip install -r bench/requirements.txt
    peers/bin/pip install .       # Remblai; its rows are left out without it
    peers/bin/python bench/compare_accuracy.py --data DIR     # hours
    peers/bin/python bench/compare_accuracy.py --data DIR --seeds 1 --tasks 3 A-C     # minutes

DIR holds mnist/ (IDX files, gzipped or not) and office-caltech/ with the folders decaf6,
efficientnet-lite0 and surf800. What is not there is left out. Nothing is downloaded. It needs
Linux.

The protocol. A method is fitted with source points, their labels and target points without labels.
It is scored on other target points, which it has never seen. Every method gets the same draws.
MNIST has 500 source points, 50 of each digit, and 500 target points to fit with and 500 to score
on. One digit, the task, has a share of 10, 30, 50 or 90 % of these. Office-Caltech has 10 source
images of each class (8 from DSLR). One half of the target domain is there to fit with and the other
to score on. SURF counts are divided by their sum, and their square root is taken. The other
features are used as they are.

The rows. "Fixed" settings are named below the table and are the same for all sets. "Defaults" are
those of the package. A row with a dagger has seen labels that nobody has in practice: its setting
is the one with the best accuracy on the target points of the fit. "By" names the scorer of skada
that chose the setting without target labels. Regularisation is a multiple of the mean cost, except
in defaults. Ties go to the setting that the grid names first.

Every fit has a process and one core to itself, and is ended after --limit seconds. A fit that fails
or is late is written down as such. Each result is kept in --keep as soon as it is there. The same
command goes on from there. It measures again what was measured with other versions. The table has
what the command asks for, so that --report with fewer draws or rows makes a table of these.
"""
from __future__ import annotations

import argparse
import math
import os
import re
import signal
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compare_measure import environment, say

os.environ.update(environment(threads=1))  # before NumPy is imported, which reads it

from compare_attempt import Setting  # noqa: E402
from compare_draws import SETS, NoData, draw, tasks_of  # noqa: E402
from compare_journal import Journal  # noqa: E402
from compare_methods import FIXED, REG_CL, REG_E, SKADA, SPLITS, STRENGTHS  # noqa: E402
from compare_rows import Method, Search, all_methods  # noqa: E402

KEY = ("set", "task", "seed", "row")  # of the journal


# ---------------------------------------------------------------- the table
def mean(values: Iterable[float]) -> float:
    values = list(values)
    return statistics.fmean(values) if values else math.nan


class Table:
    def __init__(self, entries: list[dict[str, Any]], order: list[str]) -> None:
        self.entries = entries
        self.sets = [name for name in SETS if any(entry["set"] == name for entry in self.entries)]
        there = {entry["row"] for entry in self.entries}
        self.rows = [row for row in order if row in there] + sorted(there - set(order))
        self.draws = {name: len({(entry["task"], entry["seed"]) for entry in self.entries
                                 if entry["set"] == name}) for name in self.sets}

    def of(self, row: str, name: str, status: str = "") -> list[dict[str, Any]]:
        return [entry for entry in self.entries if (entry["row"], entry["set"]) == (row, name)
                and status in ("", entry["status"])]

    def cell(self, row: str, name: str) -> str:
        done = self.of(row, name, "done")
        if not done:
            return "none" if self.of(row, name) else "–"
        part = "" if len(done) == self.draws[name] else f" ({len(done)} of {self.draws[name]})"
        return f"{mean(entry['accuracy'] for entry in done):.1f}{part}"

    def line(self, row: str) -> str:
        done = {name: self.of(row, name, "done") for name in self.sets}
        complete = all(len(done[name]) == self.draws[name] for name in self.sets)
        accuracy, seconds = (
            mean(mean(entry[what] for entry in found) for found in done.values() if found)
            for what in ("accuracy", "seconds"))
        cells = [row, *(self.cell(row, name) for name in self.sets),
                 f"{accuracy:.1f}" if complete else "–", duration(seconds)]
        return "| " + " | ".join(cells) + " |"

    def failures(self) -> Iterator[str]:
        for row in self.rows:
            entries = [entry for entry in self.entries if entry["row"] == row]
            bad = [entry for entry in entries if entry["status"] != "done"]
            if bad:
                where = Counter(entry["set"] for entry in bad)
                places = ", ".join(f"{n} of {self.draws[name]} draws of {name}"
                                   for name, n in where.items())
                note = Counter(entry["note"] for entry in bad).most_common(1)[0][0]
                yield f"- {row}: {places}, such as `{note}`"
            lost = sum(entry["without_answer"] for entry in entries if entry["status"] == "done")
            if lost:
                yield f"- {row}: {lost} settings of its searches, which were passed over"

    def warnings(self) -> Iterator[str]:
        """Of the fits whose labels count."""
        for row in self.rows:
            kinds = Counter(kind for entry in self.entries if entry["row"] == row
                            for kind in entry["warnings"])
            if kinds:
                yield f"- {row}: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))

    def text(self) -> str:
        if not self.entries:
            return "Nothing was measured yet.\n"
        heads = ["accuracy, %", *(f"{name} ({self.draws[name]})" for name in self.sets), "mean",
                 "seconds"]
        lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
                 *(self.line(row) for row in self.rows), "", LEGEND]
        for title, notes in (("Without an answer:", list(self.failures())),
                             ("Draws on which a package warned:", list(self.warnings()))):
            lines += [title, "", *notes, ""] if notes else []
        for title, name in (("Measured with", "who"), ("On", "processor")):
            lines.append(f"{title}: {'; '.join(sorted({entry[name] for entry in self.entries}))}.")
        lines += ["", GRIDS]
        lines += [f"- {name}: {', '.join(map(as_text, grid))}" for name, grid in SKADA.items()]
        return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def as_text(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


LEGEND = """\
In brackets: the number of draws. The mean is over the sets, where every draw has a result. Seconds
are from points to labels on one core, with every fit that the choice of a setting took, and are a
mean over the sets too. † has seen the labels of the target points it was fitted to. "none": no
fit gave an answer. "–": not measured.
"""
GRIDS = f"""\
Fixed settings of POT: {as_text(FIXED)} of the mean cost. C of logistic regression is 1, or chosen
by three-fold cross-validation on the mapped source among {STRENGTHS}. Kernel ridge has width 0.8 of
the mean cost and ridge 0.1. Tuned: reg_e {REG_E}, reg_cl {REG_CL}, C {STRENGTHS[::2]}.
Scorers of skada use {SPLITS} splits of the points, and C by cross-validation except for JDOT. They
choose among:
"""


# ---------------------------------------------------------------- all of it
def planned(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    """Sets take turns, so that a run that is stopped has a bit of all."""
    found = []
    for name in options.sets:
        try:
            tasks = tasks_of(options.data, name)
        except NoData as missing:
            say(f"left out, because {missing}: {name}")
            continue
        tasks = [task for task in tasks if not options.tasks or task in options.tasks]
        found += [(seed, place, SETS.index(name), task) for place, task in enumerate(tasks)
                  for seed in range(options.first_seed, options.first_seed + options.seeds)]
    return [(SETS[name], task, seed) for seed, _, name, task in sorted(found)]


def asked_for(options: argparse.Namespace, entry: dict[str, Any]) -> bool:
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    return (entry["set"] in options.sets and entry["seed"] in seeds
            and (not options.tasks or entry["task"] in options.tasks)
            and re.search(options.rows, entry["row"]) is not None)


def run(options: argparse.Namespace, methods: list[Method | Search], journal: Journal) -> None:
    for name, task, seed in planned(options):
        drawn = None
        for method in methods:
            keys = [(name, task, seed, row) for row in method.rows]
            wanted = [key for key in keys if re.search(options.rows, key[3])
                      and not journal.has(key, method.who)]
            if not method.who or not wanted:
                continue
            drawn = drawn or draw(options.data, name, task, seed)
            for row, outcome in method.measure(drawn, options.limit):
                journal.add((name, task, seed, row), method.who, outcome.kept())
                result = f"{outcome.accuracy:.1f}" if outcome.status == "done" else outcome.status
                say(f"{name} {task} seed {seed} {row}: {result}, {outcome.seconds:.2f} s "
                    f"{outcome.note}".rstrip())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, help="folder with mnist/ and office-caltech/; needed to measure")
    add("--sets", nargs="+", choices=SETS, default=SETS, help=f"[{' '.join(SETS)}]")
    add("--tasks", nargs="+", default=[], help="digits, and pairs such as A-C [all]")
    add("--seeds", type=int, default=5, help="draws of each task [5]")
    add("--first-seed", type=int, default=0, help="[0]")
    add("--rows", default="", metavar="PATTERN", help="only rows that match a regular expression")
    add("--limit", type=float, default=120, help="seconds for a fit, with its scores if any [120]")
    add("--keep", type=Path, default=Path(__file__).with_name("ACCURACY.jsonl"),
        help="the journal [bench/ACCURACY.jsonl]")
    add("--out", type=Path, help="the table, as Markdown; it is printed anyway")
    add("--report", action="store_true", help="measure nothing: make the table of what is kept")
    options = parser.parse_args()
    if not options.data and not options.report:
        parser.error("--data is missing: the folder with mnist/ and office-caltech/")
    return options


def main() -> int:
    options, code = arguments(), 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    methods, journal = all_methods(), Journal(options.keep, KEY)
    try:
        if not options.report:
            run(options, methods, journal)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        code = 130
    entries = [entry for entry in journal.entries.values() if asked_for(options, entry)]
    table = Table(entries, [row for method in methods for row in method.rows]).text()
    print(table)
    if options.out:
        options.out.write_text(table)
    return code


if __name__ == "__main__":
    sys.exit(main())
