"""The small networks that come with the laboratory, trained on the teaching corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import ParameterError
from dpcore.lexicon.bundled import bundled_data

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.learn.checkpoint import Checkpoint
    from dpcore.learn.text_network.classifier import NetworkClassifier
    from dpcore.lexicon.lexicon import Lexicon

NETWORKS = ("normal", "ibp")
"""Names: how each was trained. Both read sentiment."""
NEIGHBOURS = 2
"""Each word may become one of so many nearest words, in training and in their certificates."""


def network_path(name: str) -> Path:
    """The checkpoint of a bundled network.

    Raises:
        ParameterError: there is none of this name.
    """
    if name not in NETWORKS:
        raise ParameterError(
            f"a bundled network is one of {', '.join(NETWORKS)}, got {name[:40]!r}"
        )
    return bundled_data("networks", f"{NETWORKS[0]}.safetensors") / f"{name}.safetensors"


def bundled_network(name: str, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """A bundled network and what its checkpoint says of it.

    Args:
        name: of `NETWORKS`.
        lexicon: the bundled one.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: another name, or another lexicon.
    """
    from dpcore.learn.packages import torch
    from dpcore.learn.text_network.classifier import recall

    torch()  # what is missing is said first
    return recall(network_path(name), lexicon)


def network_of(path: Path, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """The network of a checkpoint, or of those that come along by its name.

    Args:
        path: a file of `robust train`, or a name of `NETWORKS`; where a file has that name, the
            file.
        lexicon: whose words it reads.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file holds no network, or one of another lexicon.
    """
    from dpcore.learn.text_network.classifier import recall

    if str(path) in NETWORKS and not path.exists():
        return bundled_network(str(path), lexicon)
    return recall(path, lexicon)
