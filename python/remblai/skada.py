"""Remblai inside skada's pipelines.

from remblai.skada import GroundMetricMapping
GroundMetricMapping(reg_e=0.2).fit(X, y, sample_domain=sample_domain)      # source > 0, target < 0
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from . import _calls, _metric
from ._transport import GroundMetricTransport

try:
    from skada import make_da_pipeline
    from skada.base import BaseAdapter
    from skada.utils import check_X_domain, source_target_merge, source_target_split
except ImportError as error:
    raise ImportError(
        "remblai.skada needs skada: pip install skada, or pip install 'remblai[skada]'"
    ) from error


_DEFAULTS: dict[str, Any] = GroundMetricTransport().get_params()


class GroundMetricAdapter(BaseAdapter):
    """Moves source points into the target domain; target points stay.

    Parameters
    ----------
    transport : GroundMetricTransport or None
        How to fit, `transport__reg_e` and so on in a grid search. None takes the parameters below.
        Labels of the source are used where its method is "class-aware"; those of the target never
        are.
    reg_e, method, ridge, ...
        Where no `transport` is given: the parameters of GroundMetricTransport.

    Attributes
    ----------
    transport_ : GroundMetricTransport
        Fitted, with plan and metric.
    """

    def __init__(self, transport: GroundMetricTransport | None = None, **parameters: Any) -> None:
        super().__init__()
        _calls.require_known(parameters, ["transport", *_DEFAULTS])
        self.transport = transport
        for name, default in _DEFAULTS.items():
            setattr(self, name, parameters.get(name, default))

    def _chosen(self) -> GroundMetricTransport:
        own = {name: getattr(self, name) for name in _DEFAULTS}
        if self.transport is None:
            return GroundMetricTransport(**own)
        for name, default in _DEFAULTS.items():
            if own[name] is not default and not np.array_equal(own[name], default):
                raise ValueError(f"{name}: a transport is given too; set {name} there")
        return clone(self.transport)

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None) -> GroundMetricAdapter:
        X, sample_domain = check_X_domain(X, sample_domain)
        source, target = source_target_split(X, sample_domain=sample_domain)
        for points, role, sign in ((source, "source", "positive"), (target, "target", "negative")):
            if len(points) == 0:
                raise ValueError(
                    f"sample_domain: no {role} points; they have {sign} numbers there, and those "
                    f"given are {sorted(set(np.unique(sample_domain).tolist()))}"
                )
        chosen = self._chosen()
        ys = None
        if y is not None and chosen.method == "class-aware":
            ys = source_target_split(np.asarray(y), sample_domain=sample_domain)[0]
        self.transport_ = chosen.fit(Xs=source, ys=ys, Xt=target)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, **params: Any
    ) -> np.ndarray:
        self.fit(X, y, sample_domain=sample_domain)
        return self.transform(X, sample_domain=sample_domain, allow_source=True)

    def transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        allow_source: bool = False,
        **params: Any,
    ) -> np.ndarray:
        check_is_fitted(self, "transport_")
        X, sample_domain = check_X_domain(
            X,
            sample_domain,
            allow_source=allow_source,
            allow_multi_source=True,
            allow_multi_target=True,
        )
        source, target = source_target_split(X, sample_domain=sample_domain)
        if len(source):
            source = self.transport_.transform(Xs=source)
        if len(target):
            target = _metric.beside_mapped(self.transport_.model_, target)
        merged, _ = source_target_merge(source, target, sample_domain=sample_domain)
        return merged


def _every_parameter() -> inspect.Signature:
    own = inspect.signature(GroundMetricAdapter.__init__)
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in _DEFAULTS.items()
    ]
    return own.replace(parameters=[*list(own.parameters.values())[:2], *named])


# What get_params and clone read: every parameter by its name.
setattr(GroundMetricAdapter.__init__, "__signature__", _every_parameter())


def GroundMetricMapping(base_estimator: Any = None, **parameters: Any) -> Any:
    """A pipeline of skada: the adapter, then `base_estimator` (a nearest-neighbour rule when None).
    Parameters are those of GroundMetricTransport."""
    base = KNeighborsClassifier(n_neighbors=1) if base_estimator is None else base_estimator
    return make_da_pipeline(GroundMetricAdapter(**parameters), base)
