"""Optimal transport with a learned ground metric.

    from remblai import GroundMetricTransport       # POT's conventions
    from remblai import GroundMetricClassifier      # scikit-learn's conventions

`fit` is the method as one function, `fit_path` makes it for many lambdas, `load` opens a model that
it or the command line wrote, `sinkhorn`, `emd`, `unbalanced` and `solve` are POT's functions of one
problem, `remblai.spd` has the geometry of positive definite matrices, `remblai.plot` draws (with
matplotlib), `remblai.skada` is an adapter for skada, `remblai.experiments` runs many fits over
joblib or dask.
"""

from typing import Any

from . import spd
from ._core import ClassModel, Model, devices, has_mpi, mnist_sample, share_of, turned_mnist_sample
from ._core import version as __version__
from ._classifier import GroundMetricClassifier
from ._functions import Plan, Score, evaluate, exact, fit, load, options, transport
from ._path import LambdaPath, fit_path
from ._sinkhorn import sinkhorn, sinkhorn2, unbalanced
from ._solve import Solution, emd, emd2, solve
from ._transport import GroundMetricTransport

__all__ = [
    "ClassModel",
    "GroundMetricClassifier",
    "GroundMetricTransport",
    "LambdaPath",
    "Model",
    "Plan",
    "Score",
    "Solution",
    "__version__",
    "devices",
    "emd",
    "emd2",
    "evaluate",
    "exact",
    "fit",
    "fit_path",
    "has_mpi",
    "load",
    "mnist_sample",
    "options",
    "share_of",
    "sinkhorn",
    "sinkhorn2",
    "solve",
    "spd",
    "transport",
    "turned_mnist_sample",
    "unbalanced",
]

_OPTIONAL = ("experiments", "plot", "skada")  # they need packages that may not be there


def __getattr__(name: str) -> Any:
    if name in _OPTIONAL:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *_OPTIONAL]
