"""How functions are called, and the words of errors and warnings."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])


class Refused(ValueError):
    """What the library cannot use, as data: the name of the field, its value, what is wrong with it
    and what to do about it. The text has the keywords of `remblai.fit`, or the `names` given for
    them."""

    def __init__(
        self,
        field: str,
        value: str,
        problem: str,
        remedy: str,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy
        self.names = dict(names or {})
        super().__init__(_core.message_text(field, value, problem, remedy, self.names))

    def with_names(self, names: Mapping[str, str]) -> Refused:
        return Refused(self.field, self.value, self.problem, self.remedy, names)

    def __reduce__(self) -> tuple[Any, ...]:
        return Refused, (self.field, self.value, self.problem, self.remedy, self.names)


def known_keywords(function: Function) -> Function:
    """A keyword that does not exist raises TypeError naming the nearest one that does."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    ]

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        require_known(keywords, known)
        return function(*args, **keywords)

    return checked  # type: ignore[return-value]


def require_known(given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise TypeError(f"there is no parameter '{name}'{nearest(name, known)}")


#: Other words for a parameter: those of the library, of the estimators and of other packages.
_SAME = (
    ("lambda_", "reg_e", "reg", "lambda", "alpha", "epsilon", "blur"),
    ("geodesic", "t"),
    ("steps", "max_iter", "n_iter", "numItermax"),
    ("outer_tolerance", "tol", "stopThr"),
    ("tolerance", "inner_tol"),
    ("threads", "n_threads", "n_jobs"),
    ("neighbours", "n_neighbors", "k"),
    ("seed", "random_state"),
    ("sample_weight", "source_weights"),
    ("target_weight", "target_weights"),
    ("base_estimator", "estimator"),
    ("known_labels", "yt_known"),
)


#: What POT's transports take, and where it is here.
_ELSEWHERE = {
    "log": "log_ is always there",
    "limit_max": "labels of target points to fit with are given to fit as yt_known",
}


def nearest(name: str, known: Sequence[str]) -> str:
    if name in _ELSEWHERE and "reg_e" in known:
        return f"; {_ELSEWHERE[name]}"
    near = [other for words in _SAME if name in words for other in words if other in known]
    near = near or difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(known)}"


def by_name(function: Function) -> Function:
    """Arguments given by position raise a TypeError that says how to give them. A method of an
    estimator takes POT's Xs, ys, Xt and yt in this order; two arrays alone may be Xs and Xt."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    usage = ", ".join(f"{name}=" for name in names[:3])
    method = "self" in inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        if method and len(args) in (4, 5):
            keywords = {**dict(zip(names, args[1:])), **keywords}
            args = args[:1]
        if len(args) > method:
            raise TypeError(f"{function.__name__}: give the arguments by name: {usage} ...")
        return function(*args, **keywords)

    return checked  # type: ignore[return-value]


def all_or_nothing(fit: Function) -> Function:
    """An estimator whose fit fails is what it was before; one that reached a model keeps all of
    it."""

    @functools.wraps(fit)
    def checked(self: Any, *args: Any, **keywords: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **keywords)
        except BaseException:
            if getattr(self, "model_", None) is before.get("model_"):
                vars(self).clear()
                vars(self).update(before)
            raise

    return checked  # type: ignore[return-value]


def printable(text: str) -> str:
    """Text with names from a file, whose control characters a terminal would obey. Lines stay."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text
    )


def warn_of(source: int, target: int, labels: NDArray[np.int64] | None) -> None:
    """Says what is odd about a problem that can be fitted all the same."""
    for what, count in (("source", source), ("target", target)):
        if count == 1:
            warn(
                f"the {what} has one point, so that a plan has no choice and a metric little to "
                "learn from"
            )
    if labels is not None and len(labels) > 1 and np.all(labels == labels[0]):
        warn("all source points have the same label, so every prediction is that label")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points at the caller's line, however deep in the package it arises."""
    package = os.path.dirname(__file__)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextlib.contextmanager
def spelled(names: Mapping[str, str]) -> Iterator[None]:
    """What the library refuses inside is told with these names: {"lambda_": "reg_e"}."""
    try:
        yield
    except Refused as refused:
        raise refused.with_names(names) from None
