"""Labels of any kind, and the whole numbers that stand for them in a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from . import _checks

UNKNOWN = -1  # of a target point, in the library


class Coded(NamedTuple):
    """Labels of the source and known ones of the target, as a model takes them."""

    classes: NDArray[Any]  #: the labels of the source, ascending
    whole: bool  #: they are numbers of the model too; else their places stand for them
    source: NDArray[np.int64]
    known: NDArray[np.int64] | None  #: of target points that may be fitted with


def coded(
    labels: NDArray[Any],
    name: str,
    known: ArrayLike | None,
    targets: int,
    classes: NDArray[Any] | None = None,
) -> Coded:
    """`known` has a label for each of so many target points; NaN, None and -1 are none. Where -1 is
    a class, it is a label, and the model has places, because -1 means nothing else there. `classes`
    are those of the labels unless some points are elsewhere."""
    try:
        if classes is None or len(labels) > 0:
            check_classification_targets(labels)
    except ValueError as refused:
        raise ValueError(f"{name}: {refused}") from None
    if classes is None:
        classes = np.unique(labels)
    codes = np.searchsorted(classes, labels) if len(labels) else np.empty(0, dtype=np.intp)
    whole = classes.dtype.kind in "iub" and UNKNOWN not in classes.tolist()
    at = None
    if known is not None:
        at = places(known, targets, "yt_known", classes)
        if UNKNOWN in classes.tolist():
            if np.all(at >= 0) and np.any(classes[at] == UNKNOWN):
                raise ValueError(
                    "yt_known: -1 is a class of the source, so that all of these labels are known; "
                    "mark those that are not by NaN or None"
                )
    numbers = _checks.labels(classes if whole else np.arange(len(classes)), len(classes), name)
    assert numbers is not None
    given = None if at is None else np.where(at < 0, UNKNOWN, numbers[at])
    return Coded(classes, whole, numbers[codes], given)


def of_ranks(comm: Any, labels: NDArray[Any]) -> set[Any] | None:
    """The labels of all ranks of a communicator, those that are not known among them; None without
    one. All ranks call it."""
    if comm is None:
        return None
    return set().union(*comm.allgather(_checks.agreed(comm, lambda: set(labels.tolist()))))


def classes_of_ranks(comm: Any, known: NDArray[Any]) -> NDArray[Any] | None:
    """The known labels of all ranks, ascending; None without a communicator. All ranks call it."""
    there = of_ranks(comm, known)
    return None if there is None else np.array(sorted(there))


def places(values: ArrayLike, count: int, name: str, classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label in `classes`, -1 where it is not known."""
    given = _checks.of_points(values, count, name)
    known = is_known(given, classes)
    place = {label: k for k, label in enumerate(classes.tolist())}
    strange = [label for label in dict.fromkeys(given[known].tolist()) if label not in place]
    if strange:
        raise ValueError(
            f"{name}: labels that the source has not; it has {classes.tolist()}, and not "
            f"{strange[0]!r}"
        )
    found = np.full(len(given), UNKNOWN, dtype=np.int64)
    found[known] = [place[label] for label in given[known].tolist()]
    return found


def is_known(labels: NDArray[Any], classes: ArrayLike = ()) -> NDArray[np.bool_]:
    """Which are neither NaN, None nor -1. A class of the source is a label, whatever it is
    called."""
    there = set(np.asarray(classes).tolist())
    return np.array([label in there or _is_label(label) for label in labels.tolist()], dtype=bool)


def _is_label(label: Any) -> bool:
    try:
        return label is not None and bool(label == label) and bool(label != UNKNOWN)
    except TypeError:  # pandas.NA is neither
        return False


def of_known(
    labels: NDArray[Any], name: str, everywhere: Iterable[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels of source points that are known, and which these are. -1 is a class beside 1
    alone, the two names that binary classes often have. `everywhere` are the labels of all ranks,
    where there are several; one of them may have none that is known."""
    known = known_of_source(labels, everywhere)
    if not known.any() and not (everywhere and any(map(_is_label, everywhere))):
        raise ValueError(f"{name}: no label is known; NaN, None and -1 mark those that are not")
    return (labels if known.all() else np.array(labels[known].tolist())), known


def known_of_source(
    labels: NDArray[Any], everywhere: Iterable[Any] | None = None
) -> NDArray[np.bool_]:
    """is_known of labels that are those of a source: -1 is a class beside 1 alone."""
    there = labels.tolist() if everywhere is None else everywhere
    signs = {label for label in there if _is_label(label)} == {1}
    return is_known(labels, (-1, 1) if signs else ())


def whole_or_none(labels: NDArray[Any], name: str) -> NDArray[np.int64] | None:
    """Labels that a model can hold; None where they are of another kind, or some are not known."""
    if labels.dtype.kind not in "iubf" or not known_of_source(labels).all():
        return None
    if labels.dtype.kind == "f" and np.any(labels != np.round(labels)):
        return None
    return _checks.labels(labels, len(labels), name)
