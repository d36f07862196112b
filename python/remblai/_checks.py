"""Checks of what the caller brings, and the words of error messages."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d

Float = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])


def points(values: ArrayLike | None, name: str) -> NDArray[Any]:
    """A matrix of float64 or float32, one point a row. Anything that NumPy can read is taken: lists,
    data frames, objects with __array__, any layout; float32 stays float32. Sparse matrices, NaN,
    infinities, text and complex numbers are refused."""
    if values is None:
        raise ValueError(f"{name}: no points given; pass {name}=")
    return check_array(values, dtype=[np.float64, np.float32], input_name=name)


def for_core(values: ArrayLike) -> Float:
    """What the compiled module reads: C order, float64. No copy where it is that already."""
    return np.ascontiguousarray(values, dtype=np.float64)


def like(result: Float, given: NDArray[Any]) -> NDArray[Any]:
    """float32 points give float32 results."""
    return result.astype(np.float32) if given.dtype == np.float32 else result


def weights(values: ArrayLike | None, count: int, name: str) -> Float | None:
    if values is None:
        return None
    checked = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    checked = np.ascontiguousarray(column_or_1d(checked))
    if len(checked) != count:
        raise ValueError(f"{name}: {len(checked)} weights for {count} points; give one a point")
    return checked


def labels(values: ArrayLike | None, count: int, name: str) -> NDArray[np.int64] | None:
    """Whole numbers. NaN, which marks a point without a label, becomes -1."""
    if values is None:
        return None
    given = column_or_1d(np.asarray(values))
    if len(given) != count:
        raise ValueError(f"{name}: {len(given)} labels for {count} points; give one a point")
    if given.dtype.kind == "f":
        given = np.where(np.isnan(given), -1, given)
        if np.any(given != np.round(given)):
            raise ValueError(f"{name}: labels must be whole numbers")
    elif given.dtype.kind not in "iub":
        raise ValueError(
            f"{name}: labels of type {given.dtype}; a model holds whole numbers: pass "
            "numpy.unique(labels, return_inverse=True)[1], or use GroundMetricClassifier, which takes "
            "labels of any kind"
        )
    return np.ascontiguousarray(given, dtype=np.int64)


def same_features(source: NDArray[Any], target: NDArray[Any]) -> None:
    if source.shape[1] != target.shape[1]:
        raise ValueError(
            f"Xt: points have {target.shape[1]} features, those of Xs have {source.shape[1]}; both "
            "domains need the same (are labels where points should be?)"
        )


def known_keywords(function: Function) -> Function:
    """A keyword that does not exist raises TypeError naming the nearest one that does."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    ]

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise TypeError(f"there is no parameter '{name}'{nearest(name, known)}")
        return function(*args, **keywords)

    return checked  # type: ignore[return-value]


def nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(known)}"


def reword(text: str, names: Mapping[str, str] = {}) -> str:
    """A message of the library with its options as the caller spells them. `names` has those that are
    spelt differently: {"lambda_": "reg_e"}."""

    def spelt(option: str) -> str:
        keyword = "lambda_" if option == "lambda" else option.replace("-", "_")
        return names.get(keyword, keyword)

    text = re.sub(r"--([a-z][a-z-]*)", lambda found: spelt(found[1]), text)
    return re.sub(r"^([a-z][a-z_-]*):", lambda found: f"{spelt(found[1])}:", text)
