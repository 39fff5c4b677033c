"""The exceptions: one class per kind of cause."""


class DocsphereError(Exception):
    """The base class of all exceptions of docsphere."""


class ParameterError(DocsphereError, ValueError):
    """An option is out of its range, or does not fit the data."""


class MatrixError(DocsphereError, ValueError):
    """A matrix holds an invalid value or index. The message names row and column."""


class TooLargeError(DocsphereError, ValueError):
    """A matrix has too many rows or columns."""


class FileError(DocsphereError, OSError):
    """A file cannot be read or written."""


class FormatError(DocsphereError, ValueError):
    """A file is damaged, of another kind, or of a newer version."""


class StoppedError(DocsphereError, RuntimeError):
    """A callback ended the run before there was a result."""


class ClusterError(DocsphereError, RuntimeError):
    """A worker of a cluster is lost, or cannot be started. The message names shard, node and stage."""
