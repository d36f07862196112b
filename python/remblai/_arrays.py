"""Arrays of other libraries that live on a GPU: brought to the processor, or taken there."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core

_HERE = (1, 3)  # DLPack's numbers of the processor's memory, plain and pinned
_CUDA = 2  # and of a GPU's


def on_processor(values: Any) -> Any:
    """`values` themselves, or a copy in NumPy of an array that is on a GPU: of PyTorch, CuPy, JAX
    or Numba, by their own means, which know the stream that still writes to it. A tensor that
    records gradients is taken without them."""
    if not _elsewhere(values):
        return values
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # PyTorch
        return values.detach().cpu().numpy()
    for copy in ("to_numpy", "get", "copy_to_host"):  # cuDF, CuPy, Numba
        if callable(getattr(values, copy, None)):
            return getattr(values, copy)()
    return np.asarray(values)  # JAX, and what else has __array__


def on_gpu(values: Any) -> Any:
    """`values` where they are a matrix on a GPU that this build can use, in a form that the compiled
    module takes by DLPack; else None."""
    if not _elsewhere(values) or not hasattr(type(values), "__dlpack_device__"):
        return None
    if int(values.__dlpack_device__()[0]) != _CUDA or len(_core.devices()) == 1:
        return None
    values = values.detach() if hasattr(values, "detach") else values
    return values.contiguous() if hasattr(values, "contiguous") else values


def kind_of(values: Any) -> str:
    """Such as float32, without a look at the entries; empty where there are none, and where it is
    no array, of which later checks tell."""
    if not hasattr(values, "dtype") or not hasattr(values, "shape"):
        try:
            values = np.asarray(values)
        except ValueError:
            return ""
    return str(values.dtype).rpartition(".")[2] if math.prod(values.shape) else ""


def _elsewhere(values: Any) -> bool:
    if isinstance(values, (np.ndarray, list, tuple)):
        return False
    kind = type(values)
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(values.__dlpack_device__()[0]) not in _HERE
        except Exception:  # it has no one place; NumPy may know what to do with it
            return False
    return hasattr(kind, "__cuda_array_interface__")
