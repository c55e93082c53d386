"""The network of ADePT: encoder, latent vector, decoder (Krishna, Gupta, Dupuy 2021).

A recurrent encoder (GRU) reads an utterance; a linear layer makes n coordinates r of its last
state, which are clipped to Euclidean norm 1. A second GRU writes an utterance from the vector
alone: it gets the vector and its own last word at every step. What it writes is a function of the
vector, so it has the privacy of the vector. Only while the network is trained, on public texts,
is the decoder shown the true last word (teacher forcing).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError
from dpcore.learn.adept.words import END, PAD, UNKNOWN
from dpcore.learn.packages import torch
from dpcore.learn.tensors import seeded

if TYPE_CHECKING:
    import numpy as np

CLIP = 1.0
"""C of the Euclidean norm. The network learns the scale of its vectors, so C is a convention."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the network.

    Attributes:
        embedding: coordinates of a word.
        hidden: units of each GRU.
        latent: coordinates n of the vector that is privatised.
    """

    embedding: int = 64
    hidden: int = 128
    latent: int = 32

    def __post_init__(self) -> None:
        """Check the sizes."""
        for name, value in asdict(self).items():
            if not 1 <= value <= 4_096:
                raise ParameterError(f"{name} must be a whole number from 1 to 4,096, got {value}")


def build(shape: Shape, words: int, rng: np.random.Generator, device: Any = "cpu") -> Any:
    """A network with a random start.

    Args:
        shape: its sizes.
        words: numbers of the vocabulary (`WordList.size`).
        rng: of the start; torch's own random state is left as it was.
        device: of `dpcore.learn.tensors.device_of`.

    Returns:
        A `torch.nn.ModuleDict`.

    Raises:
        MissingPackageError: torch is not installed.
    """
    nn = torch().nn
    with seeded(rng):
        network = nn.ModuleDict(
            {
                "words": nn.Embedding(words, shape.embedding),
                "reader": nn.GRU(shape.embedding, shape.hidden, batch_first=True),
                "latent": nn.Linear(shape.hidden, shape.latent),
                "start": nn.Linear(shape.latent, shape.hidden),
                "writer": nn.GRU(shape.embedding + shape.latent, shape.hidden, batch_first=True),
                "choice": nn.Linear(shape.hidden, words),
            }
        )
    return network.to(device)


def encode(network: Any, rows: Any) -> Any:
    """Latent vectors before clipping, shape (k, n).

    Args:
        network: of `build`.
        rows: word numbers as of `WordList.rows`, shape (k, L).
    """
    lengths = (rows != PAD).sum(dim=1)
    # The last word stands last: what comes before a short utterance is empty, so that the last
    # state has read the whole of it, and an utterance does not depend on its batch.
    places = torch().arange(rows.shape[1], device=rows.device)[None, :]
    shifted = places - (rows.shape[1] - lengths)[:, None]
    moved = rows.gather(1, shifted.clamp(min=0)).masked_fill(shifted < 0, PAD)
    _, last = network["reader"](network["words"](moved))
    return network["latent"](last[0])


def clip(latents: Any) -> Any:
    """Rows scaled down to Euclidean norm `CLIP`."""
    norms = latents.norm(dim=1, keepdim=True).clamp(min=1e-12)  # a zero vector stays one
    return latents * (CLIP / norms).clamp(max=1.0)


def taught(network: Any, latents: Any, rows: Any, hidden_words: Any) -> Any:
    """Scores of every word at every place when the true last words are shown: training only.

    Args:
        network: of `build`.
        latents: shape (k, n).
        rows: the true word numbers, shape (k, L).
        hidden_words: shape (k, L), true where the last word is hidden after all, which makes the
            decoder read the vector.

    Returns:
        Shape (k, L, words).
    """
    first = torch().full_like(rows[:, :1], END)
    # At each place the decoder is shown the word before it; END stands before the first.
    last = torch().cat([first, rows[:, :-1]], dim=1).masked_fill(hidden_words, UNKNOWN)
    vectors = latents[:, None, :].expand(-1, rows.shape[1], -1)
    inputs = torch().cat([network["words"](last), vectors], dim=2)
    states, _ = network["writer"](inputs, _start(network, latents))
    return network["choice"](states)


def decode(network: Any, latents: Any, places: int) -> Any:
    """Write an utterance from each vector, the likeliest word at each place.

    The vectors are all that it is given: a function of noisy vectors has their privacy
    (post-processing).

    Args:
        network: of `build`.
        latents: noisy or not, shape (k, n).
        places: words and END that are written at most.

    Returns:
        Word numbers, shape (k, places).
    """
    state = _start(network, latents)
    last = torch().full((latents.shape[0],), END, dtype=torch().int64, device=latents.device)
    written = []
    for _ in range(places):
        inputs = torch().cat([network["words"](last), latents], dim=1)[:, None, :]
        states, state = network["writer"](inputs, state)
        last = network["choice"](states[:, 0]).argmax(dim=1)
        written.append(last)
    return torch().stack(written, dim=1)


def _start(network: Any, latents: Any) -> Any:
    return torch().tanh(network["start"](latents))[None]
