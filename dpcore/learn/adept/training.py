"""Training the auto-encoder of ADePT on public utterances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.adept.adept import AutoEncoder
from dpcore.learn.adept.network import Shape, build, clip, encode, taught
from dpcore.learn.adept.words import PAD, word_list
from dpcore.learn.packages import torch
from dpcore.learn.tensors import device_of, torch_generator
from dpcore.learn.training import fit
from dpcore.learn.training_settings import Fitted, Step, Training
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

HELD_OUT = 0.05
"""Share of the utterances on which the loss is watched, and that are not trained on."""
_TRAINING = Training(epochs=24, batch=64, rate=4e-3, clip=5.0, patience=4)


@dataclass(frozen=True)
class AdeptSettings:
    """What is trained, and how.

    Attributes:
        shape: sizes of the network.
        most: words of the vocabulary, the most frequent ones.
        longest: words of an utterance that are read.
        noise: expected length of the Gaussian noise on the clipped vector (norm 1) while it is
            trained: it spreads the utterances apart. It is no privacy.
        hidden_words: share of the true last words that are hidden from the decoder.
        training: of the loop.
    """

    shape: Shape = field(default_factory=Shape)
    most: int = 1_500
    longest: int = 12
    noise: float = 0.2
    hidden_words: float = 0.2
    training: Training = _TRAINING

    def __post_init__(self) -> None:
        """Check what the parts do not check themselves."""
        if not 1 <= self.most <= 100_000:
            raise ParameterError(f"a vocabulary has 1 to 100,000 words, got {self.most}")
        if not 0 <= self.noise <= 10:
            raise ParameterError(f"noise of training is from 0 to 10, got {self.noise}")
        if not 0 <= self.hidden_words <= 1:
            raise ParameterError(
                f"the share of hidden words is from 0 to 1, got {self.hidden_words}"
            )


class _Reconstruction:
    """The task of `dpcore.learn.training.fit`: the words of an utterance from its vector."""

    def __init__(self, network: Any, settings: AdeptSettings, rows: Any, kept: Any) -> None:
        self.network, self.settings, self.rows, self.kept = network, settings, rows, kept
        self.parameters = dict(network.named_parameters())
        self.size = len(rows)

    def loss(self, rows: NDArray[np.int64], step: Step) -> Any:
        """Mean cross-entropy of a word, with noise and hidden words."""
        given = self.rows[torch().from_numpy(rows).to(self.rows.device)]
        return self._cross_entropy(given, torch_generator(step.rng))

    def held_out(self, step: Step) -> float:
        """The same on the utterances that are kept back, without noise."""
        with torch().no_grad():
            return float(self._cross_entropy(self.kept, None))

    def _cross_entropy(self, rows: Any, random: Any) -> Any:
        latents = clip(encode(self.network, rows))
        hidden = torch().zeros_like(rows, dtype=torch().bool)
        if random is not None:
            # Drawn on the host, so that a seed gives the same noise on every device.
            normal = torch().randn(latents.shape, generator=random).to(rows.device)
            # E‖z‖ of n standard normal coordinates is about √n: the noise is that long in all.
            latents = latents + normal * (self.settings.noise / latents.shape[1] ** 0.5)
            uniform = torch().rand(rows.shape, generator=random)
            hidden = (uniform < self.settings.hidden_words).to(rows.device)
        scores = taught(self.network, latents, rows, hidden)
        used = rows != PAD  # an empty place is no word that could be right or wrong
        return torch().nn.functional.cross_entropy(scores[used], rows[used])


def train_adept(
    texts: Sequence[str],
    settings: AdeptSettings | None = None,
    *,
    device: str = "cpu",
    state: Path | None = None,
    progress: Progress = silent,
) -> tuple[AutoEncoder, Fitted]:
    """Train an auto-encoder.

    Args:
        texts: public utterances, each with a word; the network may give any of them away.
        settings: what is trained; the defaults if None.
        device: "cpu", "cuda" or "auto".
        state: file of the loop, from which a run that was stopped goes on.
        progress: called as `dpcore.learn.training.fit` does.

    Raises:
        MissingPackageError: torch is not installed.
        CorpusError: there are fewer than two utterances.
        TextError: an utterance holds no word.
    """
    settings = settings or AdeptSettings()
    if len(texts) < 2:
        raise CorpusError(
            f"an auto-encoder is trained on two utterances or more, got {len(texts)}; give a "
            "larger corpus"
        )
    torch()
    vocabulary = word_list(texts, settings.most, settings.longest)
    place = device_of(device)
    seed = settings.training.seed
    order = generator(seed, "adept", "held out").permutation(len(texts))
    rows = torch().from_numpy(vocabulary.rows(texts)[order]).to(place)
    kept = max(1, round(HELD_OUT * len(texts)))
    network = build(settings.shape, vocabulary.size, generator(seed, "adept", "start"), place)
    task = _Reconstruction(network, settings, rows[kept:], rows[:kept])
    fitted = fit(
        task,
        settings.training,
        state=state,
        vocabulary=vocabulary.fingerprint,
        progress=progress,
    )
    best = fitted.epochs[fitted.best]
    facts = {
        "epochs": len(fitted.epochs),
        "loss": best.loss,
        "held_out": best.held_out,
        "seconds": fitted.seconds,
        "texts": len(texts),
        "seed": seed,
    }
    model = AutoEncoder(vocabulary, settings.shape, 1.0, network, facts)
    # C of the L1 norm comes from the public texts alone: it is released with the network.
    lengths = np.abs(model.latents(texts)).sum(axis=1)
    manhattan = float(np.median(lengths)) or 1.0  # an untrained network may give zero vectors
    return replace(model, manhattan=manhattan), fitted
