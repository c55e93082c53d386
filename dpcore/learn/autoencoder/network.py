"""The network of the word auto-encoder: one BiLSTM, and a decoder that sees its states alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.learn.packages import torch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 1e9
"""Coordinates beyond it are cut off: noise of any size stays a finite float32."""


@dataclass(frozen=True, eq=False)
class BiLstmNetwork:
    """Vectors of a sentence in, a score of every word in every place out.

    A linear map takes the two states of a place to a point of the vector space, and a word's score
    is the product of the point and the word's vector plus a number of the word: the decoder's words
    are those of the encoder (Press and Wolf 2017).

    Attributes:
        codes: vectors of the words, tensor of shape (n, d); public, and not trained.
        encoder: `torch.nn.LSTM`, in both directions.
        decoder: `torch.nn.Linear` from the states to the vectors.
        bias: a number of each word, shape (n,).
    """

    codes: Any
    encoder: Any
    decoder: Any
    bias: Any

    @property
    def parameters(self) -> dict[str, Any]:
        """What is trained, by name."""
        parts = {"encoder": self.encoder, "decoder": self.decoder}
        named = {
            f"{part}.{name}": value
            for part, module in parts.items()
            for name, value in module.named_parameters()
        }
        return named | {"bias": self.bias}

    def states(self, inputs: Any, lengths: Sequence[int]) -> Any:
        """States of all places, shape (t, 2·hidden).

        Args:
            inputs: sentences in a row, shape (t, d).
            lengths: places of each, all above 0, with sum t.
        """
        rnn = torch().nn.utils.rnn
        parts = torch().split(inputs, list(lengths))
        packed, _ = self.encoder(rnn.pack_sequence(parts, enforce_sorted=False))
        padded, _ = rnn.pad_packed_sequence(packed, batch_first=True)
        places = torch().arange(padded.shape[1], device=padded.device)
        # Rows of the padded states that belong to a word, sentence after sentence as they came.
        there = places[None] < torch().tensor(list(lengths), device=padded.device)[:, None]
        return padded[there]

    def scores(self, states: Any) -> Any:
        """Log-probability of every word up to a constant, shape (t, n)."""
        # (t, n) scores in one product; n is large, so `judged` asks for few places at a time.
        return torch().addmm(self.bias, self.decoder(states), self.codes.T)

    def mean_loss(self, states: Any, words: Any) -> Any:
        """Cross-entropy a word in nats."""
        return torch().nn.functional.cross_entropy(self.scores(states), words)

    def judged(self, states: Any, words: Any, chunk: int) -> tuple[Any, Any]:
        """The likeliest word of each place and the loss of the true one, `chunk` places at once."""
        best, losses = [], []
        for some, true in zip(states.split(chunk), words.split(chunk), strict=True):
            scores = self.scores(some)
            best.append(scores.argmax(dim=1))
            losses.append(torch().nn.functional.cross_entropy(scores, true, reduction="none"))
        return torch().cat(best), torch().cat(losses)


def network_of(codes: NDArray[np.float32], hidden: int, device: Any) -> BiLstmNetwork:
    """A network on a device; its start is drawn from torch's random state."""
    n, d = codes.shape
    nn = torch().nn
    return BiLstmNetwork(
        torch().tensor(codes, device=device),
        nn.LSTM(d, hidden, batch_first=True, bidirectional=True).to(device),
        nn.Linear(2 * hidden, d).to(device),
        nn.Parameter(torch().zeros(n, device=device)),
    )


def dropped(states: Any, share: float, generator: Any) -> Any:
    """States with a share of their entries set to 0, the others enlarged to match."""
    if not share > 0:
        return states
    draws = torch().rand(states.shape, generator=generator, device=states.device)
    return states * (draws >= share) / (1.0 - share)
