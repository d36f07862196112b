"""Checks of the arrays, labels, weights and files that the caller brings."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from . import _core
from ._arrays import kind_of, on_processor
from ._calls import printable

Float = NDArray[np.float64]


def points(
    values: ArrayLike | None, name: str, copy: bool = False, least: int = 1
) -> NDArray[Any]:
    """A matrix of float64 or float32, one point a row. Anything that NumPy can read is taken:
    lists, data frames, objects with __array__, any layout; float32 stays float32. Sparse matrices,
    NaN, infinities, text and complex numbers are refused. Without `copy` it may be the caller's
    array. There are at `least` so many."""
    if values is None:
        raise ValueError(f"{name}: no points given; pass {name}=")
    kinds = [np.float64, np.float32]
    return array(values, name, dtype=kinds, copy=copy, ensure_min_samples=least)


def array(values: Any, name: str, **how: Any) -> NDArray[Any]:
    """check_array of scikit-learn, of numbers on any device; what it refuses has this name."""
    values = on_processor(values)
    require_numbers(values, name)
    with called(name):
        return check_array(values, input_name=name, **how)


@contextlib.contextmanager
def called(name: str) -> Iterator[None]:
    """What scikit-learn and NumPy refuse inside is told with the name of the argument."""
    try:
        yield
    except (TypeError, ValueError) as refused:
        if re.search(rf"\b(Input|for) {re.escape(name)}\b", str(refused)):
            raise
        kind = TypeError if isinstance(refused, TypeError) else ValueError
        raise kind(f"{name}: {refused}") from None


def require_numbers(values: Any, name: str) -> None:
    """Refuses what NumPy would turn into numbers that nobody meant: text, dates, and entries that
    are masked. Everything else is left to later checks."""
    require_unmasked(values, name)
    if scipy.sparse.issparse(values):
        return
    try:
        entries = np.asarray(values)
    except Exception:  # lists of unequal length, tensors elsewhere: they are told of later
        return
    kinds: tuple[type, ...] = (str, bytes)
    if entries.dtype.kind in "UST" or _holds(entries, kinds):
        raise ValueError(f"{name}: text; convert it to numbers first, as by .astype(float)")
    kinds = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
    if entries.dtype.kind in "Mm" or _holds(entries, kinds):
        raise ValueError(
            f"{name}: dates or times; say in which unit they are numbers, as by "
            "(dates - dates.min()) / numpy.timedelta64(1, 'D')"
        )


def require_unmasked(values: Any, name: str) -> None:
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        raise ValueError(
            f"{name}: {int(np.ma.count_masked(values))} entries are masked; fill them in "
            "(.filled(value)) or leave their points out"
        )


def _holds(array: NDArray[Any], kinds: tuple[type, ...]) -> bool:
    return array.dtype.kind == "O" and any(isinstance(entry, kinds) for entry in array.flat)


def numbers(values: ArrayLike, name: str, *, finite: bool = True) -> Float:
    """float64 of any shape."""
    return array(
        values, name, dtype=np.float64, ensure_2d=False, allow_nd=True, ensure_min_samples=0,
        ensure_all_finite=finite,
    )  # fmt: skip


def result_type(*arrays: Any) -> type[np.floating[Any]]:
    """float32 where every array that is not empty is; else float64."""
    kinds = {kind_of(values) for values in arrays} - {""}
    return np.float32 if kinds == {"float32"} else np.float64


def require_nothing(value: Any, name: str) -> None:
    """Refuses an argument that stands in a signature because other packages have it."""
    if value is not None:
        raise ValueError(f"{name}: there is no use for it here; leave it out")


def require_whole(value: Any, name: str, least: int) -> None:
    if not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number from {least} on")


def threads(value: Any) -> Any:
    """As scikit-learn counts jobs: None and -1 are one for each core, -2 one less. 0 is all here.
    What is no whole number is left for the library to refuse."""
    if value is None:
        return 0
    if not isinstance(value, (int, np.integer)) or value >= 0:
        return value
    return max(1, _core.thread_count(0) + 1 + int(value))


def seed(value: Any) -> Any:
    """A number from what scikit-learn takes as random_state; None is the library's default. Beyond
    its largest whole number, up to 2^32 - 1, they begin again at 0."""
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31 - 1))
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**31 - 1))
    if isinstance(value, (int, np.integer)) and 2**31 <= value < 2**32:
        return int(value) - 2**31
    return value


def core_points(values: ArrayLike | None, name: str, features: Sequence[str] = ()) -> Float:
    """Points, checked, as the compiled module reads them. `features` are names of the columns of a
    model, which those of a data frame must be too."""
    checked = for_core(points(values, name))
    same_columns(values, name, features, "the model")
    return checked


def for_core(values: ArrayLike) -> Float:
    """What the compiled module reads: C order, float64. No copy where it is that already."""
    return np.ascontiguousarray(values, dtype=np.float64)


def like(result: Float, given: NDArray[Any]) -> NDArray[Any]:
    """float32 points give float32 results."""
    return result.astype(np.float32) if given.dtype == np.float32 else result


def require_communicator(comm: Any) -> None:
    if not hasattr(comm, "allgather") or not hasattr(comm, "py2f"):
        raise TypeError(f"comm: {type(comm).__name__}; give a communicator of mpi4py, or none")


def agreed(comm: Any, check: Callable[[], Any]) -> Any:
    """What `check` returns; where it raises on some ranks of a communicator, all raise. Without
    one, `check` is called."""
    if comm is None:
        return check()
    require_communicator(comm)
    result: Any = None
    fault: Exception | None = None
    try:
        result = check()
    except Exception as error:
        fault = error
    fault = fault_of_ranks(comm, fault)
    if fault is not None:
        raise fault
    return result


def path(value: Any, name: str = "path") -> str:
    """Where a file is, as the compiled module reads it."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: {type(value).__name__}; give the path of a file") from None
    if "\0" in text:
        raise ValueError(f"{name}: a path cannot have a NUL, and {text!r} does")
    return text


def on_any_rank(comm: Any, here: bool) -> bool:
    """Whether it is so on this rank or any other. All ranks call it."""
    if comm is None:
        return here
    require_communicator(comm)
    return any(comm.allgather(here))


def fault_of_ranks(comm: Any, fault: Any) -> Any:
    """The `fault` of this rank, an exception or None; where only others have one, an exception that
    says which rank that was and why. All ranks call it. Text crosses between them, for not every
    exception can be pickled."""
    if comm is None:
        return fault
    told = None
    if fault is not None:
        kinds = (kind for kind in (TypeError, ValueError) if isinstance(fault, kind))
        told = next(kinds, RuntimeError), f"{type(fault).__name__}: {fault}"
    for rank, other in enumerate(comm.allgather(told)):
        if fault is None and other is not None:
            kind, text = other
            fault = kind(f"rank {rank} failed: {text}")
    return fault


def weights(values: ArrayLike | None, count: int, name: str) -> Float | None:
    if values is None:
        return None
    checked = array(values, name, dtype=np.float64, ensure_2d=False, allow_nd=True)
    checked = np.ascontiguousarray(one_each(checked, name))
    if len(checked) != count:
        raise ValueError(f"{name}: {len(checked)} weights for {count} points; give one a point")
    return checked


def shares(values: ArrayLike, name: str) -> Float:
    """One number a class, as the one row that the compiled module reads."""
    checked = array(values, name, dtype=np.float64, ensure_2d=False)
    if checked.ndim != 1:
        raise ValueError(f"{name}: an array of shape {checked.shape}; give one number a class")
    return np.ascontiguousarray(checked[None, :])


def leave_out_weightless(
    keywords: dict[str, Any],
    codes: NDArray[np.int64] | None,
    weights: Float | None,
    comm: Any = None,
) -> None:
    """Where target shares are given for all labels of the source, those of classes without weight,
    which no plan can reach, leave `keywords`: they are 0. All ranks call it."""
    given = keywords.get("target_shares")
    if comm is None and not isinstance(given, np.ndarray):
        return
    here = np.empty(0, np.int64) if codes is None else codes
    part = (set(here.tolist()), set((here if weights is None else here[weights > 0]).tolist()))
    parts = [part] if comm is None else comm.allgather(part)
    every = sorted(set().union(*(labels for labels, _ in parts)))
    reached = set().union(*(labels for _, labels in parts))

    def left() -> None:
        if not isinstance(given, np.ndarray) or given.shape[1] != len(every):
            return
        some = np.array([label in reached for label in every], dtype=bool)
        if np.any(given[:, ~some] != 0):
            raise ValueError(
                "target_shares: a class whose source points have no weight has a share; give 0 "
                "there, or these points a weight"
            )
        keywords["target_shares"] = np.ascontiguousarray(given[:, some])

    agreed(comm, left)


def labels(
    values: ArrayLike | None, count: int, name: str, *, unknown: bool = False
) -> NDArray[np.int64] | None:
    """Whole numbers, of points that all have one. Where labels may be `unknown`, NaN marks such a
    point; it becomes -1, which the library never scores."""
    if values is None:
        return None
    given = of_points(values, count, name)
    if given.dtype.kind == "f":
        missing = np.isnan(given)
        if missing.any() and not unknown:
            raise ValueError(
                f"{name}: NaN; every point here needs a label: leave these points out, or use an "
                "estimator, which does"
            )
        given = np.where(missing, -1, given)
        if np.any(given != np.round(given)):
            raise ValueError(f"{name}: labels must be whole numbers")
    elif given.dtype.kind not in "iub":
        raise ValueError(
            f"{name}: labels of type {given.dtype}; a model holds whole numbers: pass "
            "numpy.unique(labels, return_inverse=True)[1], or use GroundMetricClassifier, which "
            "takes labels of any kind"
        )
    if len(given) and not -(2.0**63) <= float(given.min()) <= float(given.max()) < 2.0**63:
        raise ValueError(f"{name}: labels beyond 64 bits; number them from 0")
    return np.ascontiguousarray(given, dtype=np.int64)


def target_labels(
    values: ArrayLike | None,
    count: int,
    name: str,
    source: NDArray[np.int64] | None,
    *,
    fitted_with: bool,
) -> NDArray[np.int64] | None:
    """Whole numbers, NaN and -1 where one is not known. Where -1 is a class of the `source`, all of
    them are known, and none is `fitted_with`."""
    found = labels(values, count, name, unknown=True)
    if found is None or source is None or set(source.tolist()) != {-1, 1}:
        return found
    if fitted_with or np.isnan(np.asarray(on_processor(values), dtype=np.float64)).any():
        raise ValueError(
            f"{name}: -1 is a class of ys, beside 1 alone, so that it cannot mark a label that is "
            "not known; number the classes 0 and 1"
        )
    return found


def source_labels(values: ArrayLike | None, count: int, name: str) -> NDArray[np.int64] | None:
    """Whole numbers, all of them known."""
    given = labels(values, count, name)
    require_known_labels(given, name)
    return given


def require_known_labels(given: NDArray[np.int64] | None, name: str, comm: Any = None) -> None:
    """-1, which marks a label that is not known, is a class beside 1 alone; among the labels of all
    ranks, which call this together."""
    found = set() if given is None else set(given.tolist())
    if comm is not None:
        found = set().union(*comm.allgather(found))
    if -1 in found and found != {-1, 1}:
        raise ValueError(
            f"{name}: -1 marks a label that is not known, and every point here needs one; leave "
            "these points out, or use an estimator, which does"
        )


def of_points(values: ArrayLike, count: int, name: str) -> NDArray[Any]:
    """One entry a point, of any type."""
    require_unmasked(values, name)
    given = np.asarray(on_processor(values))
    if given.ndim == 0:
        raise ValueError(f"{name}: {type(values).__name__}; give a list or array, one label a point")
    given = one_each(given, name)
    if len(given) != count:
        raise ValueError(f"{name}: {len(given)} labels for {count} points; give one a point")
    return given


def one_each(given: NDArray[Any], name: str) -> NDArray[Any]:
    """A row of entries, which may stand in a column."""
    if given.ndim == 1:
        return given
    if given.ndim != 2 or given.shape[1] != 1:
        raise ValueError(f"{name}: an array of shape {given.shape}; give one entry a point")
    return given[:, 0]


def same_features(source: NDArray[Any], target: NDArray[Any], name: str = "Xs") -> None:
    if source.shape[1] != target.shape[1]:
        raise ValueError(
            f"Xt: points have {target.shape[1]} features, those of {name} have {source.shape[1]}; "
            "both domains need the same (are labels where points should be?)"
        )


def column_names(values: Any) -> list[str]:
    """The names of the columns of a data frame; empty where it has none, or numbers in place of
    them."""
    names = getattr(values, "columns", ())
    named = len(names) > 0 and all(isinstance(name, str) for name in names)
    return [str(name) for name in names] if named else []


def same_columns(values: Any, name: str, known: Sequence[str], other: str) -> None:
    """Refuses a data frame whose columns have other names than those `known` of the `other`, or
    stand in another order. Points without names are taken as they are."""
    names = column_names(values)
    if not names or not known:
        return
    for place, (here, there) in enumerate(zip(names, known)):
        if here != there:
            raise ValueError(
                printable(
                    f"{name}: column {place} is '{here}', that of {other} is '{there}'; columns go "
                    "by place, so both need the same names in the same order"
                )
            )
