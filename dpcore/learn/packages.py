"""scikit-learn, torch, safetensors and pandas, imported late, and without news that are none."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpcore.errors import MissingPackageError

_ONE_AT_A_TIME = threading.Lock()
_APP = "what the app needs with: pip install -r requirements.txt"
_LEARN = "it with: pip install -r requirements-learn.txt"


def sklearn(module: str) -> Any:
    """A module of scikit-learn; MissingPackageError if it is not installed."""
    return _imported(f"sklearn.{module}", "classifiers need the package scikit-learn", _APP)


def torch() -> Any:
    """The package torch, for neural networks; MissingPackageError if it is not installed."""
    return _imported("torch", "neural networks need the package torch", _LEARN)


def safetensors(module: str) -> Any:
    """The package safetensors, or a module of it; MissingPackageError if it is not installed."""
    name = f"safetensors.{module}".rstrip(".")
    return _imported(name, "checkpoints need the package safetensors", _LEARN)


def _imported(module: str, reason: str, remedy: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"{reason}; install {remedy}") from error


def need_pandas(purpose: str) -> Any:
    """Pandas with a parquet engine, or which command installs them.

    Args:
        purpose: begins the sentence, such as "recorded results need".
    """
    pandas = _imported("pandas", f"{purpose} the package pandas", _APP)
    _imported("pyarrow", f"{purpose} the package pyarrow", _APP)  # the engine that pandas uses
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
