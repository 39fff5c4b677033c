"""The same clusters on a Ray cluster.

`cluster` clusters files that every node sees, as the command ``docsphere cluster`` does.
`SphericalKMeans` is an estimator for datasets and matrices that are on the nodes already.
``python -m docsphere.ray cluster`` is the command, for ``ray job submit``.

The result never depends on the number of nodes and shards, nor on nodes that are lost meanwhile.
"""

try:
    from ray import remote as _remote  # noqa: F401
except ImportError as error:
    raise ImportError("docsphere.ray needs Ray, which is not installed: pip install docsphere[ray]") from error

from ._cluster import cluster
from ._estimator import SphericalKMeans

__all__ = ["SphericalKMeans", "cluster"]
