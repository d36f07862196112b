"""The rows of the table of accuracies: which method is run with which settings, and how one of them
is chosen."""
from __future__ import annotations

import importlib.util
import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sklearn.svm import SVC

from compare_attempt import Outcome, Setting, attempt
from compare_draws import Array, Draw
from compare_measure import say, versions
from compare_methods import (FIXED, HEADS, REG_CL, REG_E, SCORERS, SKADA, SPLITS, STRENGTHS,
                             Predict, kernel_ridge, logistic_cv, neighbour, percent, pot,
                             pot_defaults, remblai_build, remblai_fit, scores_of_split, sinkhorn,
                             sinkhorn_lpl1, skada_fit, source_only)
from compare_peers import import_pot


@dataclass
class Method:
    """One row. Its setting is chosen from the grid by labels of the target points of the fit."""
    name: str
    who: str  # versions, or nothing where it is not installed
    fit: Callable[..., Predict]
    grid: list[Setting] = field(default_factory=lambda: [{}])

    @property
    def rows(self) -> list[str]:
        return [self.name]

    def labels(self, task: Draw, setting: Setting) -> tuple[Array, Array, float]:
        """Of the points to score on, and of those of the fit. The seconds are for the former."""
        begin = time.perf_counter()
        predict = self.fit(task.problem, **setting)
        scored, seconds = predict(task.Xe), time.perf_counter() - begin
        return scored, predict(task.problem.Xt) if len(self.grid) > 1 else scored, seconds

    def measure(self, task: Draw, limit: float) -> Iterator[tuple[str, Outcome]]:
        tried = []
        for setting in self.grid:
            outcome = attempt(partial(self.labels, task, setting), limit)
            outcome.setting = setting
            tried.append(outcome)
        done = [outcome for outcome in tried if outcome.status == "done"]
        best = tried[0]
        if len(self.grid) > 1 and done:
            best = max(done, key=lambda outcome: percent(outcome.value[1], task.yt))
        if best.status == "done":
            best.accuracy = percent(best.value[0], task.ye)
            best.seconds = sum(outcome.value[2] if outcome.status == "done" else outcome.seconds
                               for outcome in tried)
        best.settings, best.without_answer = len(tried), len(tried) - len(done)
        yield self.name, best


@dataclass
class Search:
    """A method of skada with every scorer: the fits are made once for all of them."""
    name: str
    who: str

    @property
    def rows(self) -> list[str]:
        return [f"skada {self.name}, by {scorer}" for scorer in SCORERS]

    def measure(self, task: Draw, limit: float) -> Iterator[tuple[str, Outcome]]:
        grid = SKADA[self.name]
        fits = [[attempt(partial(scores_of_split, task.problem, self.name, setting, split), limit)
                 for split in range(SPLITS)] for setting in grid]
        final: dict[int, Outcome] = {}
        for row, scorer in zip(self.rows, SCORERS):
            values = [self.mean_score(parts, scorer) for parts in fits]
            known = [k for k, value in enumerate(values) if math.isfinite(value)]
            if not known:
                parts = [part for parts in fits for part in parts]
                yield row, Outcome("failed", settings=len(grid), without_answer=len(grid),
                                   seconds=sum(self.seconds(part, scorer) for part in parts),
                                   note=self.trouble(parts, scorer))
                continue
            best = max(known, key=lambda k: values[k])
            if best not in final:
                method = Method(row, self.who, partial(skada_fit, name=self.name, head=logistic_cv),
                                [grid[best]])
                final[best] = next(method.measure(task, limit))[1]
            search = sum(self.seconds(part, scorer) for parts in fits for part in parts)
            yield row, Outcome(**vars(final[best]) | {
                "seconds": final[best].seconds + search, "settings": len(grid),
                "without_answer": len(grid) - len(known)})

    @staticmethod
    def mean_score(parts: list[Outcome], scorer: str) -> float:
        if any(part.status != "done" for part in parts):
            return math.nan
        return statistics.fmean(part.value[scorer].value for part in parts)

    @staticmethod
    def seconds(part: Outcome, scorer: str) -> float:
        return part.value[scorer].seconds if part.status == "done" else part.seconds

    @staticmethod
    def trouble(parts: list[Outcome], scorer: str) -> str:
        notes = [part.note or part.value[scorer].note or "the score is not finite"
                 for part in parts]
        return Counter(notes).most_common(1)[0][0]


def pot_methods(who: str) -> Iterator[Method]:
    kinds: dict[str, tuple[Callable[..., Any], list[str]]] = {
        "Sinkhorn": (sinkhorn, ["reg_e"]), "SinkhornLpl1": (sinkhorn_lpl1, ["reg_e", "reg_cl"])}
    for kind, (make, names) in kinds.items():
        fixed: Setting = {name: FIXED[name] for name in names}
        for title, head in HEADS.items():
            yield Method(f"POT {kind} + {title}, fixed", who,
                         partial(pot, make=make, head=head, **fixed))
        for title, head in list(HEADS.items())[:2]:
            yield Method(f"POT {kind} + {title}, defaults", who,
                         partial(pot_defaults, name=kind, head=head))
    values = {"reg_e": REG_E, "reg_cl": REG_CL, "C": STRENGTHS[::2]}
    for kind, (make, names) in kinds.items():
        for title, head in list(HEADS.items())[:2]:
            keys = names if head is neighbour else [*names, "C"]
            grid = [dict(zip(keys, setting))
                    for setting in itertools.product(*(values[key] for key in keys))]
            yield Method(f"POT {kind} + {title}, tuned †", who,
                         partial(pot, make=make, head=head), grid)


def all_methods() -> list[Method | Search]:
    """In the order of the table; heavy imports happen here, once, before any process is forked."""
    own, plain, of_pot, of_skada = remblai_build(), versions(("scikit-learn",)), "", ""
    if importlib.util.find_spec("ot"):
        import_pot()
        of_pot = versions(("POT", "scikit-learn"))
    if of_pot and importlib.util.find_spec("skada"):
        import skada.metrics  # noqa: F401

        of_skada = versions(("skada", "POT", "scikit-learn"))
    for package, there in (("POT", of_pot), ("skada", of_skada)):
        if not there:
            say(f"left out: the rows of {package}, which is not installed")
    heads = HEADS | {"support vectors (SVC)": SVC}
    rows: list[Method | Search] = [
        Method(f"{title}, source only", plain, partial(source_only, head=head))
        for title, head in heads.items()]
    rows.append(Method("kernel ridge, source only", plain, kernel_ridge))
    rows += pot_methods(of_pot)
    rows += [Method(f"skada {name}, defaults", of_skada, partial(skada_fit, name=name))
             for name in SKADA]
    rows += [Search(name, of_skada) for name in SKADA]
    return [*rows, Method("Remblai, map + 1-NN", own, partial(remblai_fit, rule="nearest")),
            Method("Remblai, defaults", own, remblai_fit)]
