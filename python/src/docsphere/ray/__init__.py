"""The same clusters on a Ray cluster.

`cluster` clusters files that every node sees, as the command ``docsphere cluster`` does.
`SphericalKMeans` is an estimator for datasets and matrices that are on the nodes already.
``python -m docsphere.ray cluster`` is the command, for ``ray job submit``.

The result never depends on the number of nodes and shards, nor on nodes that are lost meanwhile.
"""

from importlib import import_module
from typing import TYPE_CHECKING

try:
    from ray import remote as _remote  # noqa: F401
except ImportError as error:
    raise ImportError("docsphere.ray needs Ray, which is not installed: pip install docsphere[ray]") from error

if TYPE_CHECKING:
    from ._cluster import cluster
    from ._estimator import SphericalKMeans

__all__ = ["SphericalKMeans", "cluster"]

# Imported at first use, as in `docsphere`: workers need neither.
_MODULES = {"SphericalKMeans": "_estimator", "cluster": "_cluster"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
