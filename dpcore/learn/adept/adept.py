"""ADePT: rewriting an utterance through a private latent vector, as published and repaired.

The text becomes a latent vector r of n coordinates, r is clipped and gets noise of dpcore
(`dpcore.mechanisms.clipped.adept_latent`), and the decoder writes a text from the noisy vector
alone. Two texts are neighbours whatever they are, so the promise is about the whole utterance. It
holds for texts that the network was not trained on: what the network itself tells about its
training texts is not covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.adept.network import CLIP, Shape, build, clip, decode, encode
from dpcore.learn.adept.words import WordList
from dpcore.learn.checkpoint import Checkpoint, load, restore, save
from dpcore.learn.packages import torch
from dpcore.learn.tensors import array, device_of
from dpcore.lexicon.damage import FIELDS
from dpcore.mechanisms.clipped.adept_latent import LatentForm, NoisyLatents, privatise
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray


ARCHITECTURE = "adept"
_BATCH = 1_024  # utterances at a time


@dataclass(frozen=True, eq=False)
class Rewritten:
    """What may be released, and what it costs.

    Attributes:
        texts: of the decoder, one an utterance.
        latents: the noisy vectors; `epsilon` is the true one, `claimed_epsilon` what was asked for.
    """

    texts: tuple[str, ...]
    latents: NoisyLatents


@dataclass(frozen=True, eq=False)
class AutoEncoder:
    """A trained network.

    Attributes:
        vocabulary: the words that it knows.
        shape: sizes of the network.
        manhattan: C of the repair that clips by the L1 norm: the median L1 norm of the clipped
            public vectors. Clipping by the Euclidean norm has C = 1.
        network: `torch.nn.ModuleDict`.
        facts: JSON values that describe the training.
    """

    vocabulary: WordList
    shape: Shape
    manhattan: float
    network: Any
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check C."""
        if not 0 < self.manhattan < np.inf:
            raise ParameterError(
                f"the L1 norm to clip at must be a finite number > 0, got {self.manhattan}"
            )

    def clip_norm(self, form: LatentForm) -> float:
        """C in the norm that a form clips by."""
        return self.manhattan if form is LatentForm.MANHATTAN else CLIP

    def latents(self, texts: Sequence[str]) -> FloatArray:
        """Latent vectors clipped to Euclidean norm 1, shape (k, n), float64: private.

        Raises:
            TextError: an utterance holds no word.
        """
        rows = torch().from_numpy(self.vocabulary.rows(texts))
        with torch().no_grad():
            parts = [
                array(clip(encode(self.network, part.to(self._device))))
                for part in rows.split(_BATCH)
            ]
        # float64 from here on: the noise is drawn in it, and its guarantee is stated for it.
        return np.concatenate([np.zeros((0, self.shape.latent)), *parts])

    def decode(self, latents: ArrayLike) -> tuple[str, ...]:
        """The text of each vector: a function of the vector and nothing else.

        Args:
            latents: shape (k, n), noisy or not.

        Raises:
            ParameterError: the shape is another.
        """
        rows = np.asarray(latents, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.shape.latent:
            raise ParameterError(
                f"latent vectors of this network have shape (k, {self.shape.latent}), got "
                f"{rows.shape}"
            )
        texts: list[str] = []
        with torch().no_grad():
            for start in range(0, len(rows), _BATCH):
                part = torch().from_numpy(rows[start : start + _BATCH].copy()).to(self._device)
                rows_of_words = decode(self.network, part, self.vocabulary.longest + 1)
                texts += self.vocabulary.written(array(rows_of_words))
        return tuple(texts)

    def rewrite(
        self,
        texts: Sequence[str],
        epsilon: float,
        rng: np.random.Generator,
        form: LatentForm = LatentForm.ROUND,
    ) -> Rewritten:
        """Rewrite utterances, each with fresh noise.

        Args:
            texts: private; words outside the vocabulary are one unknown word, and words beyond
                the longest utterance are not read.
            epsilon: ε that is asked for, between any two utterances.
            rng: of the noise, drawn in float64.
            form: published, or one of the repairs.

        Raises:
            TextError: an utterance holds no word.
            EpsilonError: ε is not a finite number > 0.
        """
        # From here on the texts are not looked at: the decoder sees the noisy vectors alone.
        noisy = privatise(rng, self.latents(texts), epsilon, self.clip_norm(form), form)
        return Rewritten(self.decode(noisy.vectors), noisy)

    @property
    def _device(self) -> Any:
        return next(self.network.parameters()).device


def save_adept(path: Path, model: AutoEncoder) -> None:
    """Write a trained network to a `.safetensors` file.

    Raises:
        MissingPackageError: safetensors is not installed.
        ParameterError: the name or the folder is refused.
    """
    tensors = {name: array(value) for name, value in model.network.named_parameters()}
    settings = {
        "shape": asdict(model.shape),
        "words": list(model.vocabulary.words),
        "longest": model.vocabulary.longest,
        "manhattan": model.manhattan,
    }
    fingerprint = model.vocabulary.fingerprint
    save(path, Checkpoint(ARCHITECTURE, settings, tensors, fingerprint, model.facts))


def load_adept(path: Path, device: str = "cpu") -> AutoEncoder:
    """Read what `save_adept` wrote.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file is not there, damaged, of another network, or its shapes or
            words do not belong together.
    """
    checkpoint = load(path, architecture=ARCHITECTURE)
    try:
        settings = checkpoint.settings
        vocabulary = WordList(tuple(settings["words"]), int(settings["longest"]))
        shape = Shape(**settings["shape"])
        manhattan = float(settings["manhattan"])
    except FIELDS as error:
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} lacks settings of an ADePT network; train it again"
        ) from error
    if vocabulary.fingerprint != checkpoint.vocabulary:
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} holds other words than it was trained with; train "
            "it again, or fetch the file again"
        )
    network = build(shape, vocabulary.size, generator(0, "replaced"), device_of(device))
    restore(checkpoint, dict(network.named_parameters()))
    return AutoEncoder(vocabulary, shape, manhattan, network, checkpoint.facts)
