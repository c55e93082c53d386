"""scikit-learn, torch, safetensors and pandas, imported late, and without news that are none."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpcore.optional import need

_ONE_AT_A_TIME = threading.Lock()


def sklearn(module: str) -> Any:
    """A module of scikit-learn; MissingPackageError if it is not installed."""
    return need(f"sklearn.{module}", "classifiers need the package scikit-learn", "app")


def torch() -> Any:
    """The package torch, for neural networks; MissingPackageError if it is not installed."""
    return need("torch", "neural networks need the package torch", "learn")


def safetensors(module: str) -> Any:
    """The package safetensors, or a module of it; MissingPackageError if it is not installed."""
    name = f"safetensors.{module}".rstrip(".")
    return need(name, "checkpoints need the package safetensors", "learn")


def need_pandas(purpose: str) -> Any:
    """Pandas with a parquet engine, or which command installs them.

    Args:
        purpose: begins the sentence, such as "recorded results need".
    """
    pandas = need("pandas", f"{purpose} the package pandas", "app")
    need("pyarrow", f"{purpose} the package pyarrow", "app")  # the engine that pandas uses
    return pandas


@contextmanager
def quiet() -> Iterator[None]:
    """Training stops after a fixed number of rounds: that it could go on is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn("exceptions").ConvergenceWarning)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread: small problems wait for each other's threads otherwise.

    On a busy machine the threads of a matrix product spin until all of them had their turn, which
    makes a training of a tenth of a second take minutes. The setting is the process's, so that one
    training at a time has it.
    """
    from threadpoolctl import threadpool_limits

    # Two that overlapped would each restore what the other had set.
    with _ONE_AT_A_TIME, threadpool_limits(1):
        yield
