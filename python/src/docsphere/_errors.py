"""The exceptions: one class for each kind of cause."""


class DocsphereError(Exception):
    """Whatever goes wrong in docsphere. All its exceptions are of this class."""


class ParameterError(DocsphereError, ValueError):
    """An option is out of its range, or does not fit the data."""


class MatrixError(DocsphereError, ValueError):
    """A matrix holds what no matrix may hold. The message names row and column."""


class TooLargeError(DocsphereError, ValueError):
    """There are more rows or columns than can be numbered."""


class FileError(DocsphereError, OSError):
    """A file cannot be read or written."""


class FormatError(DocsphereError, ValueError):
    """A file is not what it should be: damaged, of another kind, or newer."""


class StoppedError(DocsphereError, RuntimeError):
    """A callback ended the run before there was a result."""


class ClusterError(DocsphereError, RuntimeError):
    """A worker of a cluster is lost, or cannot be started. The message names shard, node and stage."""
