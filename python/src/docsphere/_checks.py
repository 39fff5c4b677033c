"""Checks of arguments that several functions share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from joblib import effective_n_jobs

from ._errors import ParameterError

_MAX_THREADS = 4096
# Larger than any possible count.
_MANY = 2**31


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` means."""
    if n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs != 0):
        threads = int(effective_n_jobs(n_jobs))
        if threads <= _MAX_THREADS:
            return threads
    raise ParameterError(f"n_jobs must be None, negative, or from 1 to {_MAX_THREADS}, got {n_jobs!r}")


def positive(name: str, value: Any) -> int:
    """Return a count of at least 1, after checking it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be an int of at least 1, got {value!r}")
    return min(int(value), _MANY)


def natural(name: str, value: Any) -> int:
    """Return a count of at least 0, after checking it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ParameterError(f"{name} must be an int of at least 0, got {value!r}")
    return min(int(value), _MANY)
