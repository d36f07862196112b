#!/usr/bin/env python3
"""Times Remblai and its peers side by side, to one measured error, and writes bench/RESULTS.md.

    python3 -m venv peers && peers/bin/pip install -r bench/requirements.txt
    make build
    peers/bin/python bench/compare.py --data DIR              # hours; --quick is a few minutes

DIR holds mnist/ (IDX files, gzipped or not) and office-caltech/decaf6/{dslr,webcam}.mat; what is not
there is left out, and so is a peer that is not installed. Nothing is installed or downloaded here. It
needs Linux.

The rules. Every solver gets the same cost matrix in float64, the same cores (it is bound to them, and
the usual variables for threads are set), and has to return a plan whose rows and columns both miss
their sums by at most 1e-6 in L1, measured here. Each has a stopping rule of its own: it is tightened by
half a decade at a time until the plan is good enough, and the time of that one solve counts, the best
of --repeat, or of as many as begin within --limit. Imports, reading and compilation (JAX) are not timed.
A solve that takes longer than --limit is killed. A solver that ran out of time is not tried with more
points and the same ratio. Memory is the peak of the whole process, interpreter and cost matrix included.

Every measurement is kept in --keep as it is made. A run with the same file and program takes it up from
there, so a run can be stopped at any time, or made in parts with a --limit and a --repeat of their own,
which the report names; delete a line of the file, or the file, to measure again. Remblai's measurements
count for the very program and library they were made with, those of a peer for its version.
"""
from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import math
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import compare_report
from compare_measure import (FIT, LADDER, OWN, PEERS, PORTS, SETS, SETUP, STEPS, TARGET, Ended, Kept,
                             Outcome, Program, cores, processor, say, supervise, versions)
from compare_report import Results, Row, at_text, cell

READING = 30.0  # seconds Remblai may take beside its solves


class NoData(Exception):
    pass


class Data:
    """The points of a set and their costs, made in a folder when first asked for."""

    def __init__(self, name: str, n: int, root: str, make: Callable[..., Ended]) -> None:
        self.name, self.n, self._root, self._make = name, n, Path(root), make

    @cached_property
    def folder(self) -> Path:
        made = self._make("make_data", self._root, set=self.name, n=self.n)
        if made.code:
            raise NoData(made.complaint)
        return self._root


class Comparison:
    """What is run, in which order. A measurement that is kept already is not made again."""

    def __init__(self, options: argparse.Namespace, program: Program) -> None:
        self.options, self.program = options, program
        self.kept = Kept(options.keep)
        self.results = Results()

    # ------------------------------------------------------------ processes
    def child(self, role: str, folder: Path, **job: Any) -> Ended:
        options = self.options
        job = {"role": role, "folder": str(folder), "threads": options.threads, "repeat": options.repeat,
               "limit": options.limit, "data": options.data} | job
        script = Path(__file__).with_name("compare_peers.py")
        return supervise([sys.executable, str(script), json.dumps(job)], options.threads, SETUP,
                         job["limit"])

    def answer(self, role: str, event: str, folder: Path, **job: Any) -> dict[str, Any]:
        ended = self.child(role, folder, **job)
        if ended.code or ended.late:
            raise RuntimeError(f"{role}: {ended.complaint or 'took too long'}")
        return ended.events(event)[0]

    @cached_property
    def machine_limits(self) -> dict[str, float]:
        """Measured once in every run that measures Remblai, and kept with what is measured in it."""
        size = 2**28 if self.options.quick else 2**30
        with tempfile.TemporaryDirectory() as folder:
            said = self.answer("limits", "limits", Path(folder), bytes=size)
        return {"copy": said["copy"], "exp": said["exp"]}

    def measured(self, what: str, key: dict[str, Any], limit: float,
                 work: Callable[[], Outcome]) -> Outcome | None:
        """As kept, or else now; none where nothing is to be measured."""
        key = key | {"processor": processor()}
        outcome, source = self.kept.get(key), "kept: "
        if outcome is None:
            if self.options.report:
                return None
            outcome, source = work(), ""
            outcome.limit, outcome.date = limit, str(datetime.date.today())
            self.kept.add(key, outcome)
        error = f" (error {outcome.error:.1e})" if outcome.error <= TARGET else ""
        note = f" [{outcome.note}]" if outcome.note else ""
        say(f"{source}{what}: {cell(outcome)}{error}{note}")
        return outcome

    @staticmethod
    def late_before(rows: dict[int, Row], n: int, name: str) -> Outcome | None:
        """Out of time already with fewer points; the rows are by the number of points."""
        for fewer, row in rows.items():
            if fewer < n and name in row and row[name].late:
                return Outcome("timeout", note=f"not run: late at n = {fewer}", limit=row[name].limit)
        return None

    # ------------------------------------------------------------ one transport problem
    def bench(self, data: Data, lambda_: float, own: str, tolerance: float, threads: int,
              rounds: int) -> tuple[Ended, dict[str, Any]]:
        return self.program.run(
            ["bench", "transport", *OWN[own], "--cost", str(data.folder / "cost.npy"),
             "--lambda", repr(lambda_), "--tolerance", repr(tolerance), "--repeat", str(rounds),
             "--out", str(data.folder / "potentials.npz"), "--overwrite"], threads,
            READING + self.options.limit * min(rounds, 2))

    def solve_by_remblai(self, data: Data, lambda_: float, own: str, threads: int) -> Outcome:
        """One solve to find the tolerance, then the repeated ones. float keeps the first tolerance:
        it rounds the costs, and a smaller one does not help it."""
        for tolerance in LADDER[:1] if own == "float" else LADDER[:5]:
            ended, result = self.bench(data, lambda_, own, tolerance, threads, 1)
            if not result:
                return ended.failure()
            seconds = result["seconds"]
            error = self.answer("check_potentials", "checked", data.folder, **{"lambda": lambda_})["error"]
            if error <= TARGET or not result["converged"] or seconds > self.options.limit:
                break
        rounds = min(self.options.repeat, math.ceil(self.options.limit / seconds))
        if rounds > 1:
            ended, again = self.bench(data, lambda_, own, tolerance, threads, rounds)
            seconds = again["seconds"] if again else seconds
        status = "timeout" if seconds > self.options.limit else "reached" if error <= TARGET else "missed"
        details = {"iterations": result["iterations"]} | self.machine_limits
        return Outcome(status, seconds, error, ended.memory, f"{tolerance:.0e}", details=details)

    def solve_by_peer(self, data: Data, lambda_: float, name: str) -> Outcome:
        ended = self.child("solve", data.folder, solver=name, **{"lambda": lambda_})
        done = ended.events("done")
        if not done:
            return ended.failure()
        best, status = done[-1], "reached"
        if not best["error"] <= TARGET:
            best = min(done, key=lambda event: math.inf if math.isnan(event["error"]) else event["error"])
            status = "timeout" if ended.late else "missed"
        return Outcome(status, best["seconds"], best["error"], best["memory"], f"{best['setting']:.3g}")

    def transport(self, data: Data, ratio: float, name: str, threads: int) -> Outcome | None:
        """One problem by one solver, of Remblai or of a peer."""
        key = {"what": "transport", "set": data.name, "n": data.n, "ratio": ratio, "solver": name,
               "threads": threads}
        what = f"{at_text((data.name, data.n, ratio))} {compare_report.label(name)}, {threads} thread(s)"
        if name in OWN:
            return self.measured(what, key | {"who": self.program.key}, self.options.limit,
                                 lambda: self.solve_by_remblai(data, 1 / ratio, name, threads))
        return self.measured(what, key | {"who": versions(("numpy", *PEERS[name].packages))},
                             self.options.limit, lambda: self.solve_by_peer(data, 1 / ratio, name))

    def run_transport(self, data: Data) -> None:
        options = self.options
        for ratio in options.ratios:
            at = (data.name, data.n, ratio)
            row = self.results.transport.setdefault(at, {})
            rows = {n: row for (name, n, r), row in self.results.transport.items()
                    if (name, r) == (data.name, ratio)}
            for name in ["auto", *options.own, *(peer for peer in options.peers if peer in PEERS)]:
                outcome = (self.late_before(rows, data.n, name)
                           or self.transport(data, ratio, name, options.threads))
                if outcome:
                    row[name] = outcome
            if data.n == max(options.sizes) and cores() > 1 and "auto" in row and row["auto"].reached:
                pair = [self.transport(data, ratio, "auto", threads) for threads in (1, 2)]
                if all(outcome and outcome.reached for outcome in pair):
                    self.results.scaling[at] = (pair[0].seconds, pair[1].seconds)

    # ------------------------------------------------------------ the whole method
    def fit(self, data: Data, steps: int) -> tuple[Ended, dict[str, Any]]:
        return self.program.run(
            ["fit", "--source", str(data.folder / "X.npy"), "--target", str(data.folder / "Z.npy"),
             "--steps", str(steps), "--outer-tolerance", "0", "--acceleration", "none",
             "--lambda", str(FIT["lambda_"]),
             "--ridge", str(FIT["ridge"]), "--out", str(data.folder / "model.npz"),
             "--overwrite"],
            self.options.threads, READING + self.options.method_limit)

    def method_by_remblai(self, data: Data) -> Outcome:
        times: list[float] = []
        while len(times) < self.options.repeat and sum(times) < self.options.limit:
            ended, result = self.fit(data, STEPS)
            if not result:
                return ended.failure()
            times.append(result["seconds"])
        error = self.answer("check_model", "checked", data.folder)["error"]
        return Outcome("reached" if error <= TARGET else "missed", min(times), error, ended.memory)

    def method_by_port(self, data: Data, name: str) -> Outcome:
        """Remblai makes as many steps first, for the port to compare its plan with."""
        options = self.options
        (data.folder / "model.npz").unlink(missing_ok=True)
        _, own = self.fit(data, options.port_steps)
        ended = self.child("port", data.folder, solver=name, steps=options.port_steps, enough=options.limit,
                           limit=options.method_limit, repeat=1 if data.name == "decaf6" else options.repeat)
        done, compared = ended.events("done"), ended.events("compared")
        if not done:
            return ended.failure()
        best = done[-1]
        details = {"objective": best["objective"], "own_objective": own.get("objective"),
                   "compared_with": self.program.digest,
                   "distance": compared[0]["distance"] if compared else None}
        return Outcome("reached" if best["error"] <= TARGET else "missed", best["seconds"], best["error"],
                       best["memory"], details=details)

    def run_method(self, data: Data) -> None:
        options, row = self.options, self.results.method.setdefault((data.name, data.n), {})
        where = {"what": "method", "set": data.name, "n": data.n, "threads": options.threads}
        place = f"{data.name} n={data.n}" if data.n else data.name
        outcome = self.measured(f"{place} remblai fit",
                                where | {"solver": "fit", "steps": STEPS, "who": self.program.key},
                                options.method_limit, lambda: self.method_by_remblai(data))
        if outcome:
            row["fit"] = outcome
        rows = {n: row for (name, n), row in self.results.method.items() if name == data.name}
        for name in (port for port in options.peers if port in PORTS):
            port = PORTS[name]
            # Its time does not depend on Remblai; its agreement does, and says with which build.
            key = where | {"solver": name, "steps": options.port_steps,
                           "who": versions(("numpy", *port.packages))}
            outcome = self.late_before(rows, data.n, name) or self.measured(
                f"{place} {port.label}, {options.port_steps} step(s)", key, options.method_limit,
                lambda: self.method_by_port(data, name))
            if outcome:
                row[name] = outcome

    # ------------------------------------------------------------ all of it
    def leave_out(self, why: str) -> None:
        self.results.absent.append(why)
        say("left out: " + why)

    def installed(self, name: str) -> bool:
        peer = (PEERS | PORTS)[name]
        for module in (peer.module, "scipy") if name in PORTS else (peer.module,):
            if not importlib.util.find_spec(module):
                self.leave_out(f"{peer.label}: not installed; pip install {' '.join(peer.packages)}")
                return False
        return True

    def run(self) -> None:
        options = self.options
        options.peers = [name for name in options.peers if self.installed(name)]
        for name in options.sets:
            for n in [0] if name == "decaf6" else sorted(options.sizes):
                with tempfile.TemporaryDirectory(prefix="remblai-compare-") as root:
                    data = Data(name, n, root, self.child)
                    try:
                        if any(port in options.peers for port in PORTS):
                            self.run_method(data)
                        if name != "decaf6":
                            self.run_transport(data)
                    except NoData as reason:
                        self.leave_out(f"{name}, n = {n}: no data ({str(reason).replace(options.data, 'DIR')})")


def several(kind: type, known: list[str] | None = None) -> Callable[[str], list[Any]]:
    """Parses a list with commas; only known names, where they are given."""
    def parse(text: str) -> list[Any]:
        values = [kind(float(part)) if kind is int else kind(part) for part in text.split(",") if part]
        unknown = [value for value in values if known and value not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is not one of {', '.join(known)}")
        return values

    return parse


def arguments() -> argparse.Namespace:
    peers, own = [*PEERS, *PORTS], [name for name in OWN if name != "auto"]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default=os.environ.get("REMBLAI_DATA", "data"), help="DIR [$REMBLAI_DATA]")
    add("--remblai", default="build/release/remblai", help="the program [%(default)s]")
    add("--sizes", type=several(int), help="points on each side [500,2000,10000]")
    add("--ratios", type=several(float), help="largest cost / lambda [10,100,1000,10000]")
    add("--sets", type=several(str, SETS), help=f"of {','.join(SETS)} [all]")
    add("--peers", type=several(str, peers), default=peers,
        help=f"of {','.join(peers)} [all]; the ports stand for the whole method")
    add("--own", type=several(str, own), default=own,
        help=f"what else Remblai is run with: of {','.join(own)} [all]")
    add("--limit", type=float, help="seconds a solve may take [60]")
    add("--method-limit", type=float, default=1800.0, help="seconds the whole method may take [1800]")
    add("--port-steps", type=int, default=STEPS,
        help="steps the ports make; with fewer than Remblai's the ratio is by the step [%(default)s]")
    add("--repeat", type=int, help="solves of which the best counts [3]")
    add("--threads", type=int, default=1, help="for every solver [1]")
    add("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"),
        help="plots go beside it [bench/RESULTS.md]")
    add("--keep", type=Path, help="every measurement, as JSON lines [beside --out, ending in .jsonl]")
    add("--note", default="", help="a line for the report, such as how its parts were measured")
    add("--report", action="store_true", help="measure nothing: write the report of what is kept")
    add("--quick", action="store_true", help="200 and 500 points, R = 10 and 100, 10 s, once, unless given")
    options = parser.parse_args()
    fill_in(options)
    if not os.access(options.remblai, os.X_OK):
        parser.error(f"{options.remblai}: no such program; run `make build`, or name it with --remblai")
    if not 1 <= options.threads <= cores():
        parser.error(f"--threads {options.threads}: this machine has {cores()} cores")
    if not 1 <= options.port_steps <= STEPS:
        parser.error(f"--port-steps {options.port_steps}: 1 to {STEPS}")
    if not importlib.util.find_spec("numpy"):
        parser.error("NumPy is not installed; pip install numpy")
    return options


def fill_in(options: argparse.Namespace) -> None:
    """Defaults that depend on other options."""
    usual = {"sizes": [500, 2000, 10000], "ratios": [1e1, 1e2, 1e3, 1e4], "limit": 60.0, "repeat": 3,
             "sets": SETS, "keep": options.out.with_suffix(".jsonl")}
    quick = {"sizes": [200, 500], "ratios": [1e1, 1e2], "limit": 10.0, "repeat": 1}
    for name, value in (usual | (quick if options.quick else {})).items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def main() -> int:
    options = arguments()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    program, code = Program(options.remblai), 0
    program.identify()
    comparison = Comparison(options, program)
    try:
        comparison.run()
    except KeyboardInterrupt:
        say("stopped; writing what was measured. The same command takes it up from here.")
        comparison.results.absent.append("everything after the run was stopped")
        code = 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # seconds, and then there is a report
        compare_report.write(comparison.results, options, program)
        say(f"written: {options.out}; measurements: {options.keep}")
    return code


if __name__ == "__main__":
    sys.exit(main())
