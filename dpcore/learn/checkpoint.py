"""Checkpoints of networks: named arrays in one `.safetensors` file with a description in JSON.

The file holds numbers and a text, no program: reading it runs no code. The text includes a digest
of the numbers, so that a damaged file is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore import __version__
from dpcore.errors import ParameterError
from dpcore.learn.tensors import put
from dpcore.lexicon.cache import FIELDS, refuse_of_the_system, replacing
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_CHECKPOINT_BYTES
from dpcore.optional import safetensors

Shapes = Mapping[str, tuple[int, ...]]

_KEY = "dpcore"
_UNFINISHED = ".unfinished.safetensors"
_TYPES = {"float32", "float64", "int64"}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Content of a checkpoint file; the arrays are read-only.

    Attributes:
        architecture: name of the network.
        settings: JSON values that fix its shape and its training.
        tensors: named arrays of float32, float64 or int64.
        vocabulary: fingerprint of the lexicon that its words are numbered by.
        facts: JSON values that describe it and that nothing depends on: accuracies, seconds.
        version: of the dpcore that wrote it.
    """

    architecture: str
    settings: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]]
    vocabulary: str
    facts: Mapping[str, Any]
    version: str = __version__

    def __post_init__(self) -> None:
        """Check the types, and make the arrays read-only."""
        for name, array in self.tensors.items():
            if str(array.dtype) not in _TYPES:
                raise ParameterError(
                    f"a checkpoint holds {', '.join(sorted(_TYPES))}, got {array.dtype} for {name}"
                )
            array.setflags(write=False)


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all.

    Raises:
        MissingPackageError: safetensors is not installed.
        ParameterError: the name does not end in .safetensors, or the folder does not exist.
    """
    _check_place(path)
    text = json.dumps(
        {
            "architecture": checkpoint.architecture,
            "settings": dict(checkpoint.settings),
            "vocabulary": checkpoint.vocabulary,
            "facts": dict(checkpoint.facts),
            "version": checkpoint.version,
            "digest": _digest(checkpoint.tensors),
        },
        sort_keys=True,
    )
    # The format has no strides: an array in another order would be written as it lies in memory.
    arrays = {name: np.asarray(array, order="C") for name, array in checkpoint.tensors.items()}
    with replacing(path) as temporary:
        temporary.write_bytes(safetensors("numpy").save(arrays, {_KEY: text}))


def load(
    path: Path,
    *,
    architecture: str | None = None,
    lexicon: Lexicon | None = None,
) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: of the file.
        architecture: refuse a checkpoint of another architecture.
        lexicon: refuse a checkpoint of another vocabulary.

    Raises:
        MissingPackageError: safetensors is not installed.
        ParameterError: the file is missing, too large, damaged, or not what was asked for.
    """
    if not path.is_file():
        raise ParameterError(f"there is no checkpoint {str(path)[:120]!r}")
    size = path.stat().st_size
    # Before it is opened: a file from elsewhere must not fill the memory.
    if not size <= MAX_CHECKPOINT_BYTES:
        raise ParameterError(
            f"a checkpoint has up to {MAX_CHECKPOINT_BYTES:,} bytes, and {path.name[:60]!r} has "
            f"{size:,}"
        )
    checkpoint = _read(path)
    if architecture is not None and checkpoint.architecture != architecture:
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} holds a network "
            f"{checkpoint.architecture[:40]!r}, and {architecture!r} is needed; give the file of "
            "such a network, or train one"
        )
    if lexicon is not None and checkpoint.vocabulary != lexicon.fingerprint:
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} was trained with another vocabulary (fingerprint "
            f"{checkpoint.vocabulary[:12]}, and lexicon {lexicon.name!r} has "
            f"{lexicon.fingerprint[:12]}); give the lexicon that it was trained with, or train "
            "again"
        )
    return checkpoint


def check_shapes(checkpoint: Checkpoint, shapes: Shapes) -> None:
    """Refuse arrays of other names or shapes.

    Raises:
        ParameterError: an array is missing, not asked for, or of another shape.
    """
    have = {name: tuple(array.shape) for name, array in checkpoint.tensors.items()}
    for name in sorted({*have, *shapes}):
        if have.get(name) != shapes.get(name):
            raise ParameterError(
                f"the checkpoint has {_shown(have, name)} for {name[:60]!r}, and the network needs "
                f"{_shown(shapes, name)}; give the settings that it was trained with, or train "
                "again"
            )


def restore(checkpoint: Checkpoint, parameters: Mapping[str, Any]) -> None:
    """Write a checkpoint's arrays into the tensors of a network.

    Raises:
        ParameterError: as `check_shapes`.
    """
    check_shapes(checkpoint, {name: tuple(value.shape) for name, value in parameters.items()})
    put(parameters, checkpoint.tensors)


def state_file(out: Path, *, resume: bool) -> Path:
    """Return the file that holds the state of training until a checkpoint is written.

    Args:
        out: of the checkpoint that training ends with.
        resume: True if training continues from that file; otherwise the file is removed.

    Raises:
        ParameterError: the checkpoint could not be written there, or there is no state to resume.
    """
    _check_place(out)
    state = out.with_name(out.stem + _UNFINISHED)
    if resume and not state.is_file():
        raise ParameterError(f"no training was begun in {state.name[:80]!r}: leave out --resume")
    # A state file that stayed here would be picked up by the training that starts over.
    if not resume:
        state.unlink(missing_ok=True)
    return state


def _check_place(path: Path) -> None:
    if path.suffix != ".safetensors":
        raise ParameterError(
            f"a checkpoint's name ends in .safetensors, got {path.name[:60]!r}; name it "
            f"{path.stem[:60]}.safetensors"
        )
    if not path.parent.is_dir():
        raise ParameterError(f"the folder {str(path.parent)[:120]!r} does not exist; make it first")


def _shown(shapes: Shapes, name: str) -> str:
    return f"shape {shapes[name]}" if name in shapes else "nothing"


def _read(path: Path) -> Checkpoint:
    # One answer to every defect: no one is helped by which check a forged file fails.
    damaged = ParameterError(
        f"the checkpoint {path.name[:60]!r} is damaged or not one of dpcore's; train again, or "
        "fetch the file again"
    )
    package = safetensors("")
    try:
        with package.safe_open(path, framework="numpy") as file:
            text = json.loads((file.metadata() or {})[_KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        parts = {name: text[name] for name in ("architecture", "vocabulary", "version")}
        groups = {name: text[name] for name in ("settings", "facts")}
        digest = text["digest"]
    except (package.SafetensorError, OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise damaged from error
    words = all(isinstance(part, str) for part in parts.values())
    if not (words and all(isinstance(group, dict) for group in groups.values())):
        raise damaged
    if not ({str(array.dtype) for array in tensors.values()} <= _TYPES):
        raise damaged
    if digest != _digest(tensors):
        raise damaged
    return Checkpoint(tensors=tensors, **parts, **groups)


def _digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of names, types, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    # Names and shapes are digested too: the same bytes under another name are another network.
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        digest.update(f"{name}\x1f{array.dtype}\x1f{array.shape}\x1f".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
