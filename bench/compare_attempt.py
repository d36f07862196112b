"""One fit in a process of its own, which is ended when it is late, and what came out of it."""
from __future__ import annotations

import math
import multiprocessing
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Setting = dict[str, Any]
OF_DEVELOPERS = ("FutureWarning", "DeprecationWarning")


@dataclass
class Outcome:
    """Of one fit, or of one row on one draw."""
    status: str = "done"  # or failed, or late
    accuracy: float = math.nan  # %
    seconds: float = math.nan  # from the points to the labels, with every fit that a choice needed
    setting: Setting = field(default_factory=dict)  # the chosen one
    settings: int = 1  # tried
    without_answer: int = 0  # of these
    note: str = ""
    warnings: dict[str, int] = field(default_factory=dict)
    value: Any = None  # what the work returned

    def kept(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "value"}


def attempt(work: Callable[[], Any], limit: float) -> Outcome:
    """work() in a child that is killed when it is late."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=answer, args=(work, sender))
    child.start()
    sender.close()
    begin = time.perf_counter()
    try:
        if not receiver.poll(limit):
            return Outcome("late", seconds=limit, note=f"no answer in {limit:g} s")
        return receiver.recv()
    except EOFError:
        return Outcome("failed", seconds=time.perf_counter() - begin, note="the process died")
    finally:
        child.kill()
        child.join()
        receiver.close()


def answer(work: Callable[[], Any], sender: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    outcome, begin = Outcome(), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome.value = work()
        except Exception as error:
            outcome.status, outcome.note = "failed", complaint(error)
    outcome.seconds = time.perf_counter() - begin
    kinds = Counter(warning.category.__name__ for warning in caught)
    outcome.warnings = {kind: n for kind, n in kinds.items() if kind not in OF_DEVELOPERS}
    sender.send(outcome)


def complaint(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:120]
