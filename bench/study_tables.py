"""What bench/study_class_aware.py measured, as Markdown tables and as a picture.

A mean is over seeds. Where a seed has several tasks, it counts with the mean over them.
"""
from __future__ import annotations

import inspect
import math
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from study_cases import STUDIES, Case

Entry = dict[str, Any]  # of the journal
Bin = list[float]  # points, the sum of their confidences, and how many of their labels are right
CLASS_AWARE, KERNEL_RIDGE, LOGISTIC = "Remblai, class-aware", "kernel ridge", "logistic regression"
DEFAULT = "default"  # the row of the study of sensitivity that the others are compared with
BINS = 10


# ---------------------------------------------------------------- numbers
def by_seed(values: Iterable[tuple[int, float]]) -> list[float]:
    found: dict[int, list[float]] = {}
    for seed, value in values:
        found.setdefault(seed, []).append(value)
    return [statistics.fmean(group) for group in found.values()]


def mean_text(values: list[float], form: str = ".1f") -> str:
    """The mean, and its standard error where there are several values."""
    if not values:
        return "–"
    text = format(statistics.fmean(values), form)
    if len(values) < 2:
        return text
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f"{text} ± {format(error, form.lstrip('+'))}"


def table(heads: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


class Measured:
    """The results of one study."""

    def __init__(self, entries: Iterable[Entry], study: str, cases: list[Case],
                 rows: list[str]) -> None:
        self.cases = cases
        self.entries = [entry for entry in entries if entry["study"] == study]
        there = dict.fromkeys(entry["row"] for entry in self.entries)
        self.rows = [row for row in rows if row in there] + [
            row for row in there if row not in rows]

    def of(self, case: Case, row: str) -> list[Entry]:
        return [entry for entry in self.entries if entry["row"] == row
                and (entry["table"], entry["column"]) == (case.table, case.column)]

    def values(self, case: Case, row: str, name: str) -> list[float]:
        return by_seed((entry["seed"], entry[name]) for entry in self.of(case, row)
                       if name in entry)

    def cell(self, case: Case, row: str, name: str = "accuracy", form: str = ".1f") -> str:
        found = self.of(case, row)
        lost = sum(entry["status"] != "done" for entry in found)
        note = f" ({lost} of {len(found)} without an answer)" if lost else ""
        return mean_text(self.values(case, row, name), form) + note

    def differences(self, case: Case, row: str, other: str) -> list[float]:
        """Of the accuracies of two rows, on the draws that both have."""
        first, second = ({(entry["task"], entry["seed"]): entry["accuracy"]
                          for entry in self.of(case, which) if entry["status"] == "done"}
                         for which in (row, other))
        return by_seed((key[1], value - second[key]) for key, value in first.items()
                       if key in second)

    def row_like(self, start: str) -> str:
        return next((row for row in self.rows if row.startswith(start)), "")


# ---------------------------------------------------------------- tables of methods
EXTRAS = (("reliability that it states", "reliability", ".2f"),
          ("error of its class shares, % of the points", "share_error", ".1f"),
          ("seconds of its fit", "fit_seconds", ".2f"))


def method_tables(measured: Measured) -> list[str]:
    """One column for each case, one row for each method."""
    lines = []
    for title in dict.fromkeys(case.table for case in measured.cases):
        cases = [case for case in measured.cases if case.table == title
                 and any(measured.of(case, row) for row in measured.rows)]
        if not cases:
            continue
        rows = [[row, *(measured.cell(case, row) for case in cases)] for row in measured.rows]
        own, other = measured.row_like(CLASS_AWARE), measured.row_like(KERNEL_RIDGE)
        if own and other:
            rows.append([f"{own} minus {other}", *(
                mean_text(measured.differences(case, own, other), "+.1f") for case in cases)])
        for label, name, form in EXTRAS if own else ():
            rows.append([label, *(measured.cell(case, own, name, form) for case in cases)])
        lines += table([f"{title}: accuracy, %", *(case.column for case in cases)], rows)
    return lines


def sensitivity_tables(measured: Measured) -> list[str]:
    cases = [case for case in measured.cases if measured.of(case, DEFAULT)]
    changes = [row for row in measured.rows if row != DEFAULT]
    gains = {row: [measured.differences(case, row, DEFAULT) for case in cases] for row in changes}
    rows = [["default: accuracy, %", *(measured.cell(case, DEFAULT) for case in cases), ""]]
    for row, found in gains.items():
        known = [statistics.fmean(values) for values in found if values]
        rows.append([row, *(mean_text(values, "+.2f") for values in found),
                     f"{statistics.fmean(known):+.2f}" if known else "–"])
    lines = ["Differences from the accuracy of the default, on the same draws:", "",
             *table(["setting", *(case.column for case in cases), "mean of the sets"], rows)]
    best = []
    for place, case in enumerate(cases):
        there = {row: values[place] for row, values in gains.items() if values[place]}
        means = {row: statistics.fmean(values) for row, values in there.items()}
        if means:
            ends = (max(means, key=means.__getitem__), min(means, key=means.__getitem__))
            best.append([case.column, *(text for row in ends
                                        for text in (row, mean_text(there[row], "+.2f")))])
    return lines + [
        "The best and the worst setting of each set. Each was chosen by the very test points it is",
        "scored on, so part of each gain and loss is chance. Of equal ones it is the first.",
        "", *table(["set", "best setting", "gain", "worst setting", "loss"], best)]


# ---------------------------------------------------------------- calibration
def pooled(entries: list[Entry]) -> list[Bin]:
    done = [entry["bins"] for entry in entries if "bins" in entry]
    return [[sum(bins[k][part] for bins in done) for part in range(3)] for k in range(BINS)]


def calibration_error(bins: list[Bin]) -> float:
    """In percent."""
    total = sum(count for count, _, _ in bins)
    return 100 * sum(abs(confidence - right) for _, confidence, right in bins) / total


def bin_text(part: Bin) -> str:
    count, confidence, right = part
    return f"{100 * confidence / count:.1f}, {100 * right / count:.1f} ({count})" if count else ""


def calibration_tables(measured: Measured) -> list[str]:
    summary = []
    bins = {(case.column, row): pooled(measured.of(case, row))
            for case in measured.cases for row in measured.rows}
    bins = {key: found for key, found in bins.items() if sum(part[0] for part in found)}
    for (column, row), found in bins.items():
        count, confidence, right = (sum(part[place] for part in found) for place in range(3))
        summary.append([column, row, f"{count}", f"{100 * right / count:.1f}",
                        f"{100 * confidence / count:.1f}", f"{calibration_error(found):.1f}"])
    lines = table(["set", "method", "points", "accuracy, %", "mean confidence, %",
                   "calibration error, %"], summary)
    for row in measured.rows:
        columns = [case.column for case in measured.cases if (case.column, row) in bins]
        lines += [f"{row}: mean confidence and accuracy of each bin in percent, and its points.",
                  "", *table(["bin", *columns], [
                      [f"{k / BINS:.1f} to {(k + 1) / BINS:.1f}",
                       *(bin_text(bins[column, row][k]) for column in columns)]
                      for k in range(BINS)])]
    return lines


# ---------------------------------------------------------------- the picture
GREY, COLOURS = "#868686", ("#3d8fd1", "#e8833a")  # as in the pictures of the documentation
PANEL, GAP, ACROSS = 150, 46, 4  # pixels of a panel and between two, and panels beside each other


def panel(bins: dict[str, list[Bin]], title: str) -> list[str]:
    """Accuracy against confidence. The area of a circle is the share of the points."""
    lines = [f'<rect width="{PANEL}" height="{PANEL}" fill="none" stroke="{GREY}"/>',
             f'<path d="M0 {PANEL}L{PANEL} 0" stroke="{GREY}" stroke-dasharray="4 3"/>',
             f'<text x="{PANEL / 2}" y="-7" text-anchor="middle">{title}</text>']
    for mark in (0, 0.5, 1):
        place = PANEL * mark
        lines += [f'<text x="{place:g}" y="{PANEL + 14}" text-anchor="middle">{mark:g}</text>',
                  f'<text x="-5" y="{PANEL - place + 4:g}" text-anchor="end">{mark:g}</text>']
    for colour, found in zip(COLOURS, bins.values()):
        total = sum(count for count, _, _ in found)
        points = [(PANEL * confidence / count, PANEL * (1 - right / count),
                   1.5 + 12 * math.sqrt(count / total))
                  for count, confidence, right in found if count]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" '
                  'fill-opacity="0.35"/>' for x, y, radius in points]
    return lines


def reliability_diagram(measured: Measured) -> str:
    panels = {case.column: {row: pooled(measured.of(case, row)) for row in measured.rows}
              for case in measured.cases}
    panels = {title: found for title, found in panels.items()
              if all(sum(part[0] for part in bins) for bins in found.values())}
    step = PANEL + GAP
    width = GAP + step * ACROSS
    height = GAP + step * math.ceil(len(panels) / ACROSS) + 24
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
             f'fill="{GREY}" role="img">',
             "<title>Accuracy against confidence, for each set</title>"]
    for place, (title, bins) in enumerate(panels.items()):
        x, y = GAP + step * (place % ACROSS), 24 + step * (place // ACROSS)
        lines += [f'<g transform="translate({x} {y})">', *panel(bins, title), "</g>"]
    for place, (colour, row) in enumerate(zip(COLOURS, measured.rows)):
        x, y = GAP + 2 * step * place, height - 22
        lines += [f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour}"/>',
                  f'<text x="{x + 10}" y="{y}">{row}</text>']
    lines.append(f'<text x="{GAP}" y="{height - 5}">Horizontal: mean confidence of a bin; '
                 "vertical: its accuracy; area: its share of the points.</text>")
    return "\n".join([*lines, "</svg>"]) + "\n"


# ---------------------------------------------------------------- all of it
KINDS: dict[str, Callable[[Measured], list[str]]] = {
    "sensitivity": sensitivity_tables, "calibration": calibration_tables}


def report(studies: dict[str, Measured]) -> str:
    lines = ["# When class-aware adaptation helps", "",
             "Means and standard errors over seeds, on target points that no fit has seen. Fixed",
             "settings, and no target label but the known ones where the table has such.", ""]
    shown = {name: measured for name, measured in studies.items() if measured.entries}
    for name, measured in shown.items():
        text = inspect.cleandoc(STUDIES[name].__doc__ or "")
        seeds = len({entry["seed"] for entry in measured.entries})
        lines += [f"## {name.capitalize().replace('-', ' ')}", text, f"Seeds: {seeds}.", "",
                  *KINDS.get(name, method_tables)(measured)]
    for title, what in (("Measured with", "who"), ("On", "processor")):
        found = sorted({entry[what] for part in shown.values() for entry in part.entries})
        lines.append(f"{title}: {'; '.join(found)}.")
    return "\n".join(lines) + "\n" if shown else "Nothing was measured yet.\n"
