#!/usr/bin/env python3
"""Studies when the class-aware method helps, beside classifiers of the source alone.

    python3 -m venv study && study/bin/pip install . scikit-learn scipy
    study/bin/python bench/study_class_aware.py --data DIR --out STUDY.md      # hours
    study/bin/python bench/study_class_aware.py --data DIR --study absent,classes --seeds 2

DIR holds mnist/ and office-caltech/, as for bench/compare_accuracy.py. What is not there is left
out. Nothing is downloaded. It needs Linux.

The studies are in bench/study_cases.py, each with what it draws: "shifts" (other shares and other
looks together), "absent" (classes that the target does not have), "source-size", "unbalanced"
(unequal classes in the source), "classes" (2 to 60 of them), "size" (50 to 10,000 points), "known"
(a few target labels), "sensitivity" (to each option) and "calibration" (of the probabilities).

Remblai has its default settings and no target label, except where a study says otherwise. Accuracy
is always that of target points that were not in the fit. The draws come from a stream of random
numbers that was not used to design the method. Every fit has a process and one core to itself, and
is ended after --limit seconds. Each result is kept in --keep as soon as it is there. The same
command goes on from there. It measures again what was measured with other versions.
"""
from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compare_measure import environment, say, versions

os.environ.update(environment(threads=1))  # before NumPy is imported, which reads it

import numpy as np  # noqa: E402

from compare_attempt import Setting, attempt  # noqa: E402
from compare_draws import Array, Draw, NoData, Problem  # noqa: E402
from compare_journal import Journal  # noqa: E402
from compare_methods import (Predict, kernel_ridge, logistic, neighbour, percent,  # noqa: E402
                             remblai_build, remblai_model, source_only)
from study_cases import STUDIES, Case, choose_known  # noqa: E402
from study_tables import (BINS, CLASS_AWARE, DEFAULT, KERNEL_RIDGE, LOGISTIC, Measured,  # noqa: E402
                          reliability_diagram, report)

KEY = ("study", "table", "column", "task", "seed", "row")  # of the journal
Known = Array | None  # labels of the target points of the fit, -1 where one is not known
Result = dict[str, Any]


# ---------------------------------------------------------------- what is measured of a fit
def with_known(problem: Problem, known: Known) -> Problem:
    """Target points whose label is known join the source."""
    if known is None:
        return problem
    return Problem(np.concatenate([problem.Xs, problem.Xt[known >= 0]]),
                   np.append(problem.ys, known[known >= 0]), problem.Xt)


def classify(task: Draw, known: Known, fit: Callable[[Problem], Predict]) -> Result:
    problem, begin = with_known(task.problem, known), time.perf_counter()
    predict = fit(problem)
    seconds = time.perf_counter() - begin
    return {"accuracy": percent(predict(task.Xe), task.ye), "fit_seconds": seconds}


def adapt(task: Draw, known: Known, **options: Any) -> Result:
    begin = time.perf_counter()
    model = remblai_model(task.problem, known, **options)
    seconds = time.perf_counter() - begin
    truth = np.array([np.mean(task.yt == label) for label in model.classes_])
    return {"accuracy": percent(model.predict(task.Xe), task.ye), "fit_seconds": seconds,
            "reliability": float(model.reliability_),
            "share_error": 50 * float(np.abs(model.shares_ - truth).sum())}


def believe(task: Draw, known: Known, fit: Callable[[Problem], Any]) -> Result:
    """The bins of study_tables: points, the sum of their confidences, how many labels are right."""
    begin = time.perf_counter()
    model = fit(task.problem)
    seconds = time.perf_counter() - begin
    probabilities = model.predict_proba(task.Xe)
    confidence = probabilities.max(1)
    right = model.classes_[probabilities.argmax(1)] == task.ye
    place = np.minimum((BINS * confidence).astype(int), BINS - 1)
    bins = [[int(np.sum(place == k)), float(confidence[place == k].sum()),
             int(right[place == k].sum())] for k in range(BINS)]
    return {"accuracy": 100 * float(right.mean()), "fit_seconds": seconds, "bins": bins}


def logistic_model(problem: Problem) -> Any:
    return logistic().fit(problem.Xs, problem.ys)


# ---------------------------------------------------------------- rows
@dataclass
class Row:
    name: str
    who: str  # versions, or nothing where it is not installed
    measure: Callable[[Draw, Known], Result]


def settings() -> Iterator[tuple[str, Setting]]:
    """The options of the class-aware method, one at a time, around their defaults."""
    import remblai

    defaults = {option["name"]: option["default"] for option in remblai.options("class-aware")}
    names = {"lambda_": "reg_e", "steps": "max_iter"}  # where the estimator has another one
    for option in ("lambda_", "ridge", "prior_ridge", "opinion", "smoothing", "kernel_width",
                   "share_prior", "steps"):
        for factor in (0.25, 0.5, 2, 4):
            value = factor * defaults[option]
            value = max(1, round(value)) if option == "steps" else value
            yield f"{option.rstrip('_')} = {value:g}", {names.get(option, option): value}
    for option, choices in (("translation", ("no", "yes")), ("caution", ("cautious", "bold")),
                            ("metric", ("identity",))):
        for choice in choices:
            yield f"{option} = {choice}", {option: choice}


def rows_of(study: str) -> list[Row]:
    own, plain = remblai_build(), versions(("scikit-learn",))
    if study == "sensitivity":
        grid = [(DEFAULT, {}), *settings()] if own else []
        return [Row(name, own, partial(adapt, **setting)) for name, setting in grid]
    if study == "calibration":
        return [Row(CLASS_AWARE, own, partial(believe, fit=remblai_model)),
                Row(f"{LOGISTIC}, source only", plain, partial(believe, fit=logistic_model))]
    points = "source and known labels" if study == "known" else "source only"
    fits: dict[str, Callable[[Problem], Predict]] = {
        "no adaptation: 1-NN": partial(source_only, head=neighbour),
        LOGISTIC: partial(source_only, head=logistic), KERNEL_RIDGE: kernel_ridge}
    return [*(Row(f"{name}, {points}", plain, partial(classify, fit=fit))
              for name, fit in fits.items()), Row(CLASS_AWARE, own, adapt),
            Row("Remblai, metric identity", own, partial(adapt, metric="identity"))]


# ---------------------------------------------------------------- all of it
@dataclass
class Job:
    case: Case
    task: str
    seed: int
    draw: Callable[[], Draw]
    rows: list[Row]  # that are not in the journal

    def key(self, row: Row) -> tuple[Any, ...]:
        return (self.case.study, self.case.table, self.case.column, self.task, self.seed, row.name)


def planned(options: argparse.Namespace, cases: dict[str, list[Case]], rows: dict[str, list[Row]],
            journal: Journal) -> Iterator[Job]:
    """Seed after seed, so that a run that is stopped has a bit of all."""
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for case in (case for found in cases.values() for case in found):
            if not re.search(options.cases, f"{case.study}: {case.table}: {case.column}"):
                continue
            for task, draw in case.draws(seed).items():
                if options.tasks and "-" in task and task not in options.tasks:
                    continue
                job = Job(case, task, seed, draw, [])
                job.rows = [row for row in rows[case.study]
                            if row.who and re.search(options.rows, row.name)
                            and not journal.has(job.key(row), row.who)]
                if job.rows:
                    yield job


def run(jobs: list[Job], journal: Journal, limit: float) -> None:
    total, number = sum(len(job.rows) for job in jobs), 0
    for job in jobs:
        try:
            drawn = job.draw()
        except NoData as missing:
            say(f"left out, because {missing}: {job.case.study}, {job.case.column}")
            continue
        known = choose_known(drawn.yt, job.case.known, job.seed)
        for row in job.rows:
            number += 1
            outcome = attempt(partial(row.measure, drawn, known), limit)
            result = {"status": outcome.status, "note": outcome.note, "seconds": outcome.seconds}
            journal.add(job.key(row), row.who, result | (outcome.value or {}))
            answer = (f"{outcome.value['accuracy']:.1f} %" if outcome.status == "done"
                      else f"{outcome.status}, {outcome.note}")
            place = ", ".join(part for part in map(str, job.key(row)[1:4]) if part)
            say(f"{number} of {total}: {job.case.study}, {place}, seed {job.seed}, {row.name}: "
                f"{answer}, {outcome.seconds:.2f} s")


def arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        found = text.split(",")
        for name in found:
            if name not in STUDIES:
                raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(STUDIES)}")
        return found

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, help="folder with mnist/ and office-caltech/; needed to measure")
    add("--study", type=names, default=list(STUDIES), metavar="NAME[,NAME]",
        help=f"{', '.join(STUDIES)} [all]")
    add("--seeds", type=int, default=5, help="[5]")
    add("--first-seed", type=int, default=0, help="[0]")
    add("--tasks", nargs="+", default=[], help="of photos: pairs such as A-C [all]")
    add("--cases", default="", metavar="PATTERN",
        help="only cases whose 'study: table: column' matches a regular expression")
    add("--rows", default="", metavar="PATTERN", help="only rows that match a regular expression")
    add("--large", action="store_true", help="with 10,000 target points in the study of sizes")
    add("--limit", type=float, default=1800, help="seconds for a fit [1800]")
    add("--keep", type=Path, default=Path(__file__).with_name("STUDY.jsonl"),
        help="the journal [bench/STUDY.jsonl]")
    add("--out", type=Path, help="the tables, as Markdown; they are printed anyway")
    add("--picture", type=Path, help="a reliability diagram of the study of calibration, as SVG")
    add("--report", action="store_true", help="measure nothing: make the tables of what is kept")
    options = parser.parse_args()
    if not options.data and not options.report:
        parser.error("--data is missing: the folder with mnist/ and office-caltech/")
    return options


def main() -> int:
    options, code = arguments(), 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    journal = Journal(options.keep, KEY)
    cases = {name: list(STUDIES[name](options.data, options.large)) for name in options.study}
    rows = {name: rows_of(name) for name in options.study}
    try:
        if not options.report:
            run(list(planned(options, cases, rows, journal)), journal, options.limit)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        code = 130
    measured = {name: Measured(journal.entries.values(), name, cases[name],
                               [row.name for row in rows[name]]) for name in options.study}
    text = report(measured)
    print(text)
    if options.out:
        options.out.write_text(text)
    if options.picture and "calibration" in measured:
        options.picture.write_text(reliability_diagram(measured["calibration"]))
    return code


if __name__ == "__main__":
    sys.exit(main())
