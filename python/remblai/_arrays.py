"""Arrays of other libraries that live on a GPU, brought to the processor."""
from __future__ import annotations

from typing import Any

import numpy as np

_HERE = (1, 3)  # DLPack's numbers of the processor's memory, plain and pinned


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
