"""What bench/compare.py measured, as Markdown and plots: tables, ratios, bars, the machine."""
from __future__ import annotations

import argparse
import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare_measure import FIT, OWN, PEERS, PORTS, STEPS, TARGET, Outcome, Program, processor, say, versions

AGREEMENT = 1e-5  # of the whole method: relative in the objective, L1 in the plan
SLOWER = 1.2  # auto may take so many times the seconds of plain Sinkhorn
At = tuple[str, int, float]  # set, points on each side, ratio R
Row = dict[str, Outcome]  # by solver: a key of OWN or PEERS; "fit" or a key of PORTS
PACKAGES = ("numpy", "scipy", "POT", "ott-jax", "jax", "regot", "geomloss", "torch")


@dataclass
class Results:
    transport: dict[At, Row] = field(default_factory=dict)
    method: dict[tuple[str, int], Row] = field(default_factory=dict)
    scaling: dict[At, tuple[float, float]] = field(default_factory=dict)  # seconds of 1 and 2 threads
    absent: list[str] = field(default_factory=list)

    def dates(self) -> str:
        rows = [*self.transport.values(), *self.method.values()]
        dates = sorted({outcome.date for row in rows for outcome in row.values() if outcome.date})
        return " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "no day: there is nothing"


@dataclass
class Ratio:
    """How many times Remblai is faster."""
    value: float
    against: str
    bound: bool = False  # at least so many times: the other was stopped

    def __str__(self) -> str:
        return f"{'> ' * self.bound}{self.value:.3g}x"


# ---------------------------------------------------------------- words and numbers
def label(name: str) -> str:
    if name in OWN:
        return "Remblai" if name == "auto" else f"Remblai {name}"
    return (PEERS | PORTS)[name].label


def at_text(at: At) -> str:
    return f"{at[0]} n={at[1]} R={at[2]:g}"


def duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return ""
    return f"{1000 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def not_run(outcome: Outcome) -> bool:
    return outcome.note.startswith("not run")


def cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.late:
        return f"> {outcome.limit:g} s" + " \\*" * not_run(outcome)
    if outcome.status == "failed":
        return "failed"
    return duration(outcome.seconds) if outcome.reached else f"error {outcome.error:.0e}"


def most(values: list[float]) -> str:
    known = [value for value in values if math.isfinite(value)]
    return f"{max(known):.0f}" if known else ""


def near(wanted: float, values: list[Any]) -> Any:
    return min(values, key=lambda value: abs(math.log(value / wanted)))


def table(heads: list[str], rows: list[list[Any]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


def problem_table(heads: list[str], results: Results,
                  line: Callable[[At, Row], list[Any] | None]) -> list[str]:
    """One line a transport problem that someone was run on; none leaves it out."""
    lines = [([at[0], at[1], f"{at[2]:g}"], line(at, row)) for at, row in results.transport.items()
             if not all(not_run(outcome) for outcome in row.values())]
    return table(["set", "n", "R", *heads], [start + rest for start, rest in lines if rest])


# ---------------------------------------------------------------- ratios
def against_fastest(row: Row | None) -> Ratio | None:
    """Fastest peer that reached the error over Remblai; zero where Remblai did not."""
    own = (row or {}).get("auto")
    peers = {name: outcome for name, outcome in (row or {}).items() if name in PEERS}
    if own is None or not peers:
        return None
    if not own.reached:
        return Ratio(0, "Remblai did not reach the error")
    reached = {name: outcome.seconds for name, outcome in peers.items() if outcome.reached}
    if reached:
        fastest = min(reached, key=reached.get)
        return Ratio(reached[fastest] / own.seconds, label(fastest))
    limits = [outcome.limit for outcome in peers.values() if outcome.late and not not_run(outcome)]
    return Ratio(min(limits) / own.seconds, "no peer that was run in time", bound=True) if limits else None


def against_port(row: Row | None, name: str, steps: int) -> Ratio | None:
    """By the step, for the port may have made fewer."""
    own, port = (row or {}).get("fit"), (row or {}).get(name)
    if own is None or port is None or not own.reached or not (port.reached or port.late):
        return None
    seconds = port.limit if port.late else port.seconds
    return Ratio(seconds / steps / (own.seconds / STEPS), label(name), bound=port.late)


def auto_against_sinkhorn(row: Row) -> Ratio | None:
    """Seconds of plain Sinkhorn over those of auto: below 1 where auto is slower."""
    auto, plain = row.get("auto"), row.get("sinkhorn")
    if auto is None or plain is None or not (plain.reached or plain.late) or not_run(plain):
        return None
    if not auto.reached:
        return Ratio(0, "auto did not reach the error") if plain.reached else None
    return Ratio((plain.limit if plain.late else plain.seconds) / auto.seconds, "sinkhorn", bound=plain.late)


def worst(ratios: dict[At, Ratio | None]) -> Ratio | None:
    known = {at: ratio for at, ratio in ratios.items() if ratio}
    if not known:
        return None
    at = min(known, key=lambda at: known[at].value)
    return Ratio(known[at].value, f"{at_text(at)}, the worst of {len(known)}", known[at].bound)


# ---------------------------------------------------------------- bars
@dataclass
class Bar:
    what: str
    wanted: float
    measured: Ratio | None

    def line(self) -> list[str]:
        start = [self.what, f"{self.wanted:.3g}x"]
        if self.measured is None:
            return [*start, "", "", "not measured"]
        return [*start, str(self.measured), self.measured.against, self.verdict(self.measured)]

    def verdict(self, measured: Ratio) -> str:
        if measured.value >= self.wanted:
            return "met"
        return "open: stopped too early" if measured.bound else (
            f"missed by {100 * (1 - measured.value / self.wanted):.0f} %")


def transport_bars(results: Results) -> list[Bar]:
    both = ("gaussian-64", "mnist")
    wanted: dict[At, float] = {
        ("gaussian-64", 500, 1e1): 2, ("gaussian-64", 500, 1e2): 3, ("mnist", 500, 1e2): 10,
        **{(name, 500, ratio): 10 for ratio in (1e3, 1e4) for name in both},
        **{(name, n, ratio): 5 for n in (2000, 10000) for ratio in (1e2, 1e3) for name in both}}
    return [Bar(at_text(at), bar, against_fastest(results.transport.get(at))) for at, bar in wanted.items()]


def bars(results: Results, steps: int) -> list[Bar]:
    method = [Bar(f"whole method, {text}, {PORTS[name].label}", wanted,
                  against_port(results.method.get(at), name, steps))
              for text, at, wanted in (("mnist 500 x 500 x 784", ("mnist", 500), 30),
                                       ("decaf6", ("decaf6", 0), 100)) for name in PORTS]
    threads = {at: Ratio(one / two, "") for at, (one, two) in results.scaling.items() if at[1] == 10000}
    solvers = {at: auto_against_sinkhorn(row) for at, row in results.transport.items()}
    return [*transport_bars(results), *method,
            Bar("two threads against one, n = 10000", 1.7, worst(threads)),
            Bar(f"auto against plain Sinkhorn (1/{SLOWER:g})", 1 / SLOWER, worst(solvers))]


def bar_section(results: Results, steps: int) -> list[str]:
    return ["## What is aimed at", "",
            "How many times faster Remblai is meant to be, at least, than the fastest peer that reaches the",
            "error, or than what the line says. Less is aimed at where plain iterations are fast already: on",
            "smooth points (gaussian) at small R.", "",
            *table(["problem", "at least", "measured", "against", ""],
                   [bar.line() for bar in bars(results, steps)])]


# ---------------------------------------------------------------- other sections
def transport_section(results: Results, options: argparse.Namespace, plots: list[str]) -> list[str]:
    names = ["auto", *(name for name in options.peers if name in PEERS)]
    text = [f"## Transport: time to an L1 error of {TARGET:g} in both marginals", "",
            "`error`: did not reach it, at any setting tried in three times the limit; \\*: not run, late already",
            "with fewer points.", "",
            *problem_table([label(name) for name in names], results,
                           lambda at, row: [cell(row.get(name)) for name in names])]
    missed = [[*at[:2], f"{at[2]:g}", label(name), *shortfall(outcome)]
              for at, row in results.transport.items() for name, outcome in row.items()
              if name in names and not outcome.reached and not not_run(outcome)]
    if missed:
        text += ["The best plan of each that did not reach it in time, and the setting that gave it",
                 "(GeomLoss: the ratio of its schedule, for it has no tolerance):", "",
                 *table(["set", "n", "R", "solver", "L1 error", "time", "setting or reason"], missed)]
    return text + [f"![{plot}]({plot})" for plot in plots] + [""] * bool(plots)


def shortfall(outcome: Outcome) -> list[str]:
    return [f"{outcome.error:.1e}" if math.isfinite(outcome.error) else "no plan",
            duration(outcome.seconds), outcome.note]


def ratio_section(results: Results) -> list[str]:
    ratios = sorted({at[2] for at in results.transport})
    places = list(dict.fromkeys(at[:2] for at in results.transport))

    def shown(at: At) -> str:
        ratio = against_fastest(results.transport.get(at))
        return f"{ratio} ({ratio.against})" if ratio else ""

    return ["## The fastest peer's time over Remblai's", "",
            "Of the peers that reached the error; `>`: none did within the time limit, which is taken for",
            "its time.", "",
            *table(["set", "n", *(f"R = {ratio:g}" for ratio in ratios)],
                   [[*place, *(shown((*place, ratio)) for ratio in ratios)] for place in places])]


def own_section(results: Results, options: argparse.Namespace) -> list[str]:
    """Remblai's other solvers, and float."""
    solvers = [name for name in ("sinkhorn", "anderson", "newton") if name in options.own]
    single = "float" in options.own
    if not options.own:
        return []

    def line(at: At, row: Row) -> list[Any]:
        ratio = auto_against_sinkhorn(row)
        compared = [] if "sinkhorn" not in solvers else [""] * 2 if ratio is None else [
            "did not reach it" if not ratio.value else f"{'< ' * ratio.bound}{1 / ratio.value:.2f}",
            "yes" if ratio.value >= 1 / SLOWER else "NO"]
        number = row.get("float")
        floats = [] if not single else ["", ""] if number is None else [
            duration(number.seconds) or cell(number),
            f"{number.error:.1e}" if math.isfinite(number.error) else ""]
        return [cell(row.get("auto")), *(cell(row.get(name)) for name in solvers), *compared, *floats]

    heads = ["auto", *solvers, *["auto / sinkhorn", f"at most {SLOWER:g}"] * ("sinkhorn" in solvers),
             *["float", "its L1 error"] * single]
    return ["## Remblai's other solvers", "",
            "`--solver` of `remblai bench transport`, to the same error and under the same time limit.",
            "For information: `--precision float` with auto. It rounds the costs, so it stops at its own",
            f"error of {TARGET:g}, and the table has the error of its plan for the costs in float64.", "",
            *problem_table(heads, results, line)]


def method_section(results: Results, options: argparse.Namespace, program: Program) -> list[str]:
    rows = [method_row(at, row, name, options.port_steps, program)
            for at, row in results.method.items() for name in PORTS if name in row]
    if not rows:
        return []
    fewer = [] if options.port_steps == STEPS else [
        f"The ports made {options.port_steps} of the {STEPS} steps, which all cost about the same: their times",
        "are of these, the ratios are by the step, and Remblai made as many for the check."]
    return [f"## The whole method: {STEPS} steps", "",
            f"lambda {FIT['lambda_']}, ridge {FIT['ridge']}, both relative; the prior D is the identity. "
            "`remblai fit`",
            "(its own seconds: reading the points and writing the model included) against `algorithm_1` of",
            "`bench/compare_peers.py`, by NumPy, SciPy and POT's plain Sinkhorn. The port takes the metric as",
            "the formula reads, C^-1/2 (C^1/2 D C^1/2)^1/2 C^-1/2: two sqrtm and an inverse a step. The port",
            "that knows D = I takes C^-1/2: one sqrtm and an inverse. Every plan of the ports is tight and starts",
            "cold; Remblai's start from the last and are tight at the last step, which is part of what is",
            "compared. They agree with Remblai when the",
            f"objectives (relative) and the plans (L1) differ by less than {AGREEMENT:g}.",
            f"At most {options.method_limit:g} s; `>`: stopped there, and the ratio is at least that; \\*: not run,",
            "late already with fewer points.",
            *fewer, "",
            *table(["set", "n", "port", "Remblai", "time of the port", "port / Remblai", "MiB", "L1 errors",
                    "objectives differ by", "plans differ by", "agree"], rows)]


def method_row(at: tuple[str, int], row: Row, name: str, steps: int, program: Program) -> list[Any]:
    own, port = row.get("fit", Outcome("missing")), row[name]
    ratio = against_port(row, name, steps)
    made = f" ({steps} step(s))" if steps < STEPS else ""
    line = [at[0], at[1] or "157 x 295", label(name), cell(row.get("fit")), cell(port) + made, ratio or "",
            ", ".join(most([outcome.memory]) for outcome in (own, port)),
            ", ".join(f"{outcome.error:.0e}" for outcome in (own, port) if math.isfinite(outcome.error))]
    ours, distance = port.details.get("own_objective"), port.details.get("distance")
    if ours is None or distance is None:
        return line + ["", "", ""]
    apart = abs(ours - port.details["objective"]) / abs(port.details["objective"])
    agree = "yes" if max(apart, distance) < AGREEMENT else "NO"
    other = port.details["compared_with"]
    return line + [f"{apart:.1e}", f"{distance:.1e}",
                   agree if other == program.digest else f"{agree} (build {other})"]


def scaling_section(results: Results) -> list[str]:
    if not results.scaling:
        return []
    return ["## Remblai on two threads", "",
            *table(["set", "n", "R", "1 thread", "2 threads", "faster by"],
                   [[*at[:2], f"{at[2]:g}", duration(one), duration(two), f"{one / two:.2f}"]
                    for at, (one, two) in results.scaling.items()])]


def memory_section(results: Results, options: argparse.Namespace) -> list[str]:
    names = ["auto", *(["float"] if "float" in options.own else []),
             *(name for name in options.peers if name in PEERS)]
    return ["## Peak memory (MiB), the largest over all problems of that size", "",
            "Linux counts a process as at least as large as the one that started it: here some 20 MiB.", "",
            *table(["n", *map(label, names)],
                   [[n, *(most([row[name].memory for at, row in results.transport.items()
                                if at[1] == n and name in row]) for name in names)]
                    for n in sorted({at[1] for at in results.transport})])]


def limit_section(results: Results) -> list[str]:
    known = [row["auto"].details for row in results.transport.values()
             if "auto" in row and row["auto"].details]
    if not known:
        return []

    def span(name: str, form: str) -> str:
        values = sorted(details[name] / 1e9 for details in known)
        return " to ".join(dict.fromkeys(format(value, form) for value in (values[0], values[-1])))

    return ["## Distance to the machine's limit", "",
            f"Measured in the same runs, one NumPy thread: a copy moves {span('copy', '.1f')} GB/s (read and",
            f"written, out of cache), exp makes {span('exp', '.2f')} G/s (in cache). A pass of Remblai reads",
            "8 n^2 bytes; one that makes the kernel anew reads the costs, writes 8 n^2 bytes more and takes n^2",
            "exponentials. The last three columns are the time of those bytes, of those exponentials and of",
            "both at these speeds over the time measured: above 100 % where the matrix stays in cache.", "",
            *problem_table(["passes", "of exp", "GB moved", "GB/s", "bytes", "exps", "both"], results,
                           lambda at, row: limit_line(at[1], row.get("auto")))]


def limit_line(n: int, own: Outcome | None) -> list[Any] | None:
    if own is None or not own.details:
        return None
    counts = own.details["iterations"]
    remade = counts["exponentials"]
    passes = counts["fused"] + counts["products"] + remade
    moved = 8 * n * n * (passes + remade)
    shares = [moved / own.details["copy"] / own.seconds, n * n * remade / own.details["exp"] / own.seconds]
    return [passes, remade, f"{moved / 1e9:.3g}", f"{moved / own.seconds / 1e9:.1f}",
            *(f"{100 * share:.0f} %" for share in (*shares, sum(shares)))]


# ---------------------------------------------------------------- the machine
def read(path: str | Path) -> str:
    return Path(path).read_text().strip() if Path(path).exists() else ""


def machine() -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    caches = [" ".join(read(index / name) for name in ("level", "type", "size"))
              for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))]
    return [f"- {processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory",
            "- caches of a core (level, type, size): " + ", ".join(caches),
            f"- {platform.system()} {platform.release()}"]


def checkout() -> str:
    """The commit beside which the program was probably built; its own build string may say nothing of it."""
    def git(*command: str) -> str:
        return subprocess.run(["git", "-C", str(Path(__file__).parent), *command], capture_output=True,
                              text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", ":/src", ":/include", ":/cli", ":/CMakeLists.txt")
    return f"; checkout at {commit}{' with changes' * bool(changed)}" if commit else ""


def head(results: Results, options: argparse.Namespace, program: Program) -> list[str]:
    shown = [arg if not os.path.isabs(arg) else ".../" + Path(arg).name for arg in sys.argv[1:]]
    text = ["# Remblai beside its peers", "",
            f"Written by `bench/compare.py {shlex.join(shown)}`;", f"measured on {results.dates()}.", "",
            *machine(), f"- Remblai {program.version}, built with {program.build};",
            f"  program and library: sha256 {program.digest}{checkout()}",
            f"- Python {platform.python_version()}; {versions(PACKAGES)}",
            f"- {options.threads} thread(s), float64; limits of time are in the cells they cut",
            *([f"- {options.note}"] if options.note else []), "",
            "How it is measured: the head of `bench/compare.py`. R = largest cost / lambda; the cost is the",
            "squared Euclidean distance divided by its maximum, weights are uniform. Compilation (OTT) and",
            "reading are not in the times; for GeomLoss, which takes points, the cost matrix is.", ""]
    return text + (["Left out: " + "; ".join(results.absent) + ".", ""] if results.absent else [])


# ---------------------------------------------------------------- plots
def draw(results: Results, options: argparse.Namespace, folder: Path) -> list[str]:
    """Names of the files, time against n and time against R; none without matplotlib."""
    try:
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        say("no plots: pip install matplotlib")
        return []
    matplotlib.rcParams["svg.hashsalt"] = "remblai"
    sets = list(dict.fromkeys(at[0] for at in results.transport))
    if not sets:
        return []
    solvers = ["auto", *(name for name in PEERS if name in options.peers)]
    files = []
    for axis, letter, other, fixed in ((1, "n", "R", near(100, options.ratios)),
                                       (2, "R", "n", near(500, options.sizes))):
        figure, panels = pyplot.subplots(1, len(sets), figsize=(1 + 4 * len(sets), 4.5), sharey=True,
                                         squeeze=False)
        for panel, name in zip(panels[0], sets):
            rows = {at[axis]: row for at, row in sorted(results.transport.items(), key=lambda item: item[0])
                    if at[0] == name and at[3 - axis] == fixed}
            draw_times(panel, rows, solvers)
            panel.set(title=f"{name}, {other} = {fixed:g}", xlabel=letter)
            panel.grid(alpha=0.3)
        panels[0][0].set_ylabel(f"seconds to an L1 error of {TARGET:g}")
        panels[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
        files.append(f"time_against_{letter}.svg")
        figure.savefig(folder / files[-1], bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
    return files


def draw_times(panel: Any, rows: dict[float, Row], solvers: list[str]) -> None:
    """A line a solver, Remblai thick and black. A colour stands for the same peer in every plot."""
    for k, solver in enumerate(solvers):
        points = [(x, row[solver].seconds) for x, row in rows.items()
                  if solver in row and row[solver].reached]
        panel.loglog([x for x, _ in points], [y for _, y in points], marker="os^Dv<>phX*"[k],
                     color=f"C{k - 1}" if k else "black", linewidth=1 if k else 2.5, label=label(solver))


def write(results: Results, options: argparse.Namespace, program: Program) -> None:
    plots = draw(results, options, options.out.parent)
    text = [*head(results, options, program), *bar_section(results, options.port_steps),
            *transport_section(results, options, plots), *ratio_section(results),
            *own_section(results, options), *method_section(results, options, program),
            *scaling_section(results), *memory_section(results, options), *limit_section(results)]
    options.out.write_text("\n".join(text).rstrip() + "\n")
