"""The same clusters on a Ray cluster."""

try:
    import ray as _ray  # noqa: F401
except ImportError as error:
    raise ImportError("docsphere.ray needs Ray, which is not installed: pip install docsphere[ray]") from error
