"""One measurement at a time: a process is started, watched and killed when late; what came out is kept.

Imports nothing heavy: the peak memory Linux reports of a small process is never below that of the one
that started it.
"""
from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

TARGET = 1e-6  # L1 error of both marginals
LADDER = [10 ** (-6 - k / 2) for k in range(13)]
SETUP = 300.0  # seconds for imports, reading, compiling and checking, between two solves
SETS = ["gaussian-64", "gaussian-784", "mnist", "decaf6"]  # the last for the whole method only
FIT = {"lambda_": 0.2, "ridge": 0.1}  # both relative, as in `remblai fit`
STEPS = 10


@dataclass
class Peer:
    """How a peer is called in tables, the module it is imported as, and its packages."""
    label: str
    module: str
    packages: tuple[str, ...]


_POT, _OTT, _REGOT = ("ot", ("POT",)), ("ott", ("ott-jax", "jax")), ("regot", ("regot",))
PEERS = {  # compare_peers.SOLVERS has what each does
    "pot": Peer("POT sinkhorn", *_POT),
    "pot-log": Peer("POT log", *_POT),
    "pot-stabilized": Peer("POT stabilized", *_POT),
    "ott": Peer("OTT", *_OTT),
    "ott-anderson": Peer("OTT Anderson(5)", *_OTT),
    "ott-kernel": Peer("OTT kernel", *_OTT),
    "ssns": Peer("RegOT SSNS", *_REGOT),
    "splr": Peer("RegOT SPLR", *_REGOT),
    "lbfgs": Peer("RegOT L-BFGS", *_REGOT),
    "geomloss": Peer("GeomLoss", "geomloss", ("geomloss", "torch")),
}
PORTS = {  # of the whole method; compare_peers.METRIC_STEPS has what each does
    "port": Peer("port of Algorithm 1", "ot", ("POT", "scipy")),
    "port-identity": Peer("port that knows D = I", "ot", ("POT", "scipy")),
}
OWN = {  # what Remblai is measured with: the options of `remblai bench transport`
    "auto": ["--solver", "auto"],
    "sinkhorn": ["--solver", "sinkhorn"],
    "anderson": ["--solver", "anderson"],
    "newton": ["--solver", "newton"],
    "float": ["--precision", "float"],
}


@dataclass
class Outcome:
    status: str  # reached, missed, timeout, failed
    seconds: float = math.inf
    error: float = math.nan
    memory: float = math.nan  # MiB
    note: str = ""
    limit: float = math.inf  # seconds it was allowed
    date: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return self.status == "reached"

    @property
    def late(self) -> bool:
        return self.status == "timeout"


class Lines:
    """A file of JSON lines that grows as results come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before: list[dict[str, Any]] = []  # what was there
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines():
            try:
                self.before.append(json.loads(line))
            except json.JSONDecodeError:  # the end of a run that was killed while writing
                continue
        if text and not text.endswith("\n"):
            self._append("\n")

    def add(self, entry: dict[str, Any]) -> None:
        self._append(json.dumps(entry) + "\n")

    def _append(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)


class Kept:
    """Outcomes by key, written as they come: what is there is not measured again."""

    def __init__(self, path: Path) -> None:
        self.lines = Lines(path)
        self.outcomes = {self._name(entry["key"]): Outcome(**entry["outcome"])
                         for entry in self.lines.before}

    def get(self, key: dict[str, Any]) -> Outcome | None:
        return self.outcomes.get(self._name(key))

    def add(self, key: dict[str, Any], outcome: Outcome) -> None:
        self.outcomes[self._name(key)] = outcome
        values = {name: value for name, value in asdict(outcome).items()
                  if not isinstance(value, float) or math.isfinite(value)}
        self.lines.add({"key": key, "outcome": values})

    @staticmethod
    def _name(key: dict[str, Any]) -> str:
        return json.dumps(key, sort_keys=True)


@dataclass
class Ended:
    """A process that is over."""
    lines: list[str]  # of its standard output
    code: int
    memory: float
    late: bool
    complaint: str  # last line of its standard error

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in map(json.loads, self.lines) if event["event"] == name]

    def failure(self) -> Outcome:
        if self.late:
            return Outcome("timeout", memory=self.memory)
        return Outcome("failed", note=self.complaint[:120] or f"exit code {self.code}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0))


@contextmanager
def bound_to(count: int) -> Iterator[None]:
    """Processes started inside run on so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def environment(threads: int) -> dict[str, str]:
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
    return os.environ | {name + "_NUM_THREADS": str(threads) for name in names} | {
        "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"}


def supervise(command: list[str], threads: int, patience: float, limit: float = 0) -> Ended:
    """Runs a command on so many cores. It may be silent for `patience` seconds, or `limit` in a solve."""
    lines, late, interrupted = [], False, True
    with tempfile.TemporaryFile() as complaints:
        with bound_to(threads):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints,
                                       env=environment(threads), start_new_session=True)
        try:
            late = not _read_lines(process.stdout.fileno(), lines, patience, limit)
            interrupted = False
        finally:
            if late or interrupted:
                os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
        complaints.seek(0)
        text = complaints.read().decode(errors="replace").strip()
    return Ended(lines, process.returncode, usage.ru_maxrss / 1024, late, text.rpartition("\n")[2])


def _read_lines(pipe: int, lines: list[str], patience: float, limit: float) -> bool:
    """Until the other end closes (true), or is silent for too long (false)."""
    rest, deadline = b"", time.monotonic() + patience
    while select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        chunk = os.read(pipe, 65536)
        if not chunk:
            return True
        *whole, rest = (rest + chunk).split(b"\n")
        lines += [line.decode() for line in whole]
        if whole:
            solving = limit > 0 and '"event": "solve"' in lines[-1]
            deadline = time.monotonic() + (limit if solving else patience)
    return False


@dataclass
class Program:
    """Remblai, and what tells this build from another."""
    path: str
    version: str = ""
    build: str = ""
    digest: str = ""

    def identify(self) -> None:
        """By what it says of itself, and by the bytes of the program and of its own library."""
        with tempfile.TemporaryDirectory() as folder:
            cost = Path(folder, "cost.csv")
            cost.write_text("0,1\n1,0\n")
            ended, said = self.run(["bench", "transport", "--cost", str(cost), "--lambda", "1"], 1, 30)
        if not said:
            raise RuntimeError(f"{self.path}: {ended.complaint or 'does not answer'}")
        self.version, self.build = said["version"], said["build"]
        linked = subprocess.run(["ldd", self.path], capture_output=True, text=True).stdout
        files = [self.path, *(line.split()[2] for line in linked.splitlines() if "libremblai" in line)]
        self.digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:12]

    @property
    def key(self) -> str:
        return f"{self.version} ({self.build}) {self.digest}"

    def run(self, arguments: list[str], threads: int, patience: float) -> tuple[Ended, dict[str, Any]]:
        ended = supervise([self.path, *arguments, "--threads", str(threads), "--json"], threads, patience)
        # 3: not converged, which for fit only says that all steps were made.
        return ended, json.loads("\n".join(ended.lines)) if ended.code in (0, 3) else {}


def versions(packages: tuple[str, ...]) -> str:
    found = []
    for name in packages:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
