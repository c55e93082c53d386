"""scikit-learn, torch and safetensors, imported late, and without news that are none."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpcore.errors import MissingPackageError

_ONE_AT_A_TIME = threading.Lock()


def sklearn(module: str) -> Any:
    """A module of scikit-learn.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise MissingPackageError(
            "classifiers need the package scikit-learn; install what the app needs with: "
            "pip install -r requirements.txt"
        ) from error


def torch() -> Any:
    """The package torch, for neural networks.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackageError(
            "neural networks need the package torch; install it with: "
            "pip install -r requirements-learn.txt"
        ) from error


def safetensors(module: str) -> Any:
    """The package safetensors, or a module of it, for checkpoints.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return importlib.import_module(f"safetensors.{module}".rstrip("."))
    except ImportError as error:
        raise MissingPackageError(
            "checkpoints need the package safetensors; install it with: "
            "pip install -r requirements-learn.txt"
        ) from error


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

    with _ONE_AT_A_TIME, threadpool_limits(1):
        yield
