"""Progress of a fit: a bar where tqdm is installed, else a line a step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

State = dict[str, Any]


class Progress:
    """A callback for fit, to be used in a with statement. Passes every state on to `then`."""

    def __init__(self, verbose: bool | int, then: Callable[[State], Any] | None = None) -> None:
        self._verbose, self._then = bool(verbose), then
        self._bar: Any = None

    def __enter__(self) -> Callable[[State], Any] | None:
        return self if self._verbose else self._then

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, state: State) -> Any:
        self._show(state)
        return self._then(state) if self._then else True

    def _show(self, state: State) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if state["complete"]:
                print(
                    f"step {state['step']}/{state['steps']}: objective {state['objective']:.6g}, "
                    f"change {state['distance_change']:.1e}, {state['seconds']:.1f} s",
                    file=sys.stderr,
                )
            return
        if self._bar is None:
            self._bar = tqdm(total=state["steps"], unit="step", desc="remblai")
        if state["complete"]:
            self._bar.set_postfix_str(f"objective {state['objective']:.6g}", refresh=False)
            self._bar.update(state["step"] - self._bar.n)
        else:
            self._bar.set_postfix_str(
                f"plan: {state['inner_iterations']} passes, error {state['marginal_error']:.1e}"
            )
