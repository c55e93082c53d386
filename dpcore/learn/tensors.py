"""Tensors of torch: devices, threads, and random states seeded by a numpy generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.optional import torch


def array(tensor: Any) -> NDArray[Any]:
    """Return a tensor's numbers as a numpy array on the host."""
    return np.asarray(tensor.detach().cpu().numpy())


def put(parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into trained tensors by their names; the shapes must be the same."""
    with torch().no_grad():
        for name, tensor in parameters.items():
            # torch warns of a read-only array, such as those of a checkpoint: it gets a copy.
            tensor.copy_(torch().from_numpy(arrays[name].copy()))


def device_of(name: str) -> Any:
    """Return the device of "cpu", "cuda" or "auto" (CUDA where there is one).

    Raises:
        MissingPackageError: torch is not installed.
        ParameterError: another name, or CUDA where there is none.
    """
    if name not in ("cpu", "cuda", "auto"):
        raise ParameterError(f"a device is cpu, cuda or auto, got {name[:40]!r}")
    there = bool(torch().cuda.is_available())
    if name == "cuda" and not there:
        raise ParameterError("torch finds no CUDA device here; take cpu or auto")
    return torch().device("cuda" if there and name != "cpu" else "cpu")


def torch_generator(rng: np.random.Generator, device: Any = "cpu") -> Any:
    """Make a `torch.Generator` with a seed drawn from a numpy generator (weights, dropout)."""
    random = torch().Generator(device=device)
    random.manual_seed(int(rng.integers(2**63 - 1)))
    return random


@contextmanager
def seed_torch(rng: np.random.Generator) -> Iterator[None]:
    """Seed torch's own random state inside the block, and restore it afterwards.

    For code that takes no generator, such as the initial weights of `torch.nn.LSTM`.
    """
    with torch().random.fork_rng():
        torch().manual_seed(int(rng.integers(2**63 - 1)))
        yield


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Let torch use this many threads inside the block; None leaves their number."""
    before = torch().get_num_threads()  # the setting is the process's, not this block's
    if count is not None:
        torch().set_num_threads(count)
    try:
        yield
    finally:
        torch().set_num_threads(before)
