"""A private auto-encoder: noisy word vectors are read by a network, which writes words.

Each word's vector is clipped, a mechanism of the registry adds noise to it, and only then a network
(`dpcore.learn.autoencoder.network`) sees it. So whatever is written is computed from the noisy
vectors and from the number of words: it has the mechanism's guarantee for every word, however the
network was trained, if it was trained on public text. The network never sees the words that it
rewrites.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.autoencoder.network import LARGEST
from dpcore.learn.packages import torch
from dpcore.learn.tensors import array
from dpcore.mechanisms.clipped.clipped import clip
from dpcore.rewrite.vocabulary import stand_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.learn.autoencoder.network import BiLstmNetwork
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.encoded import Documents


_SENTENCES, _PLACES = 256, 2_048  # read at a time, scored at a time: neither changes a result


@dataclass(frozen=True)
class Architecture:
    """What fixes the network.

    Attributes:
        hidden: states in each direction.
        dropout: share of the states that is left out in training.
        norm: C: vectors are clipped to this Euclidean norm; None takes the largest norm of a word.
    """

    hidden: int = 128
    dropout: float = 0.5
    norm: float | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 1 <= self.hidden <= 4_096:
            raise ParameterError(f"a network has 1 to 4,096 hidden states, got {self.hidden}")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout is a share from 0 to below 1, got {self.dropout}")
        if self.norm is not None and not 0 < self.norm < math.inf:
            raise ParameterError(f"the clipping norm is a finite number > 0, got {self.norm}")

    def bound(self, lexicon: Lexicon) -> float:
        """C for a lexicon."""
        return lexicon.largest_norm if self.norm is None else float(self.norm)

    def clipped(self, lexicon: Lexicon) -> NDArray[np.float32]:
        """Its vectors clipped to C, shape (n, d)."""
        return clip(lexicon.vectors, self.bound(lexicon))

    def scale(self, lexicon: Lexicon) -> float:
        """√d/C: a vector of norm C gets coordinates of about 1."""
        return math.sqrt(lexicon.dimension) / self.bound(lexicon)


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A network and the public words that it reads and writes.

    Attributes:
        lexicon: n words with vectors of dimension d.
        architecture: of the network.
        network: trained or not.
    """

    lexicon: Lexicon
    architecture: Architecture
    network: BiLstmNetwork

    @cached_property
    def origins(self) -> NDArray[np.float32]:
        """The clipped vectors, shape (n, d): what a mechanism adds noise to."""
        return self.architecture.clipped(self.lexicon)

    def decode(self, vectors: FloatArray, offsets: IntArray) -> IntArray:
        """The word that the network writes in each place.

        Args:
            vectors: noisy clipped vectors, sentence after sentence, shape (t, d).
            offsets: sentence i has the places offsets[i] to offsets[i + 1], shape (k + 1,).

        Returns:
            Lexicon indices, shape (t,).

        Raises:
            ParameterError: the vectors have another shape, or hold NaN.
        """
        return self.judge(vectors, offsets, np.zeros(len(vectors), dtype=np.int64))[0]

    def judge(
        self, vectors: FloatArray, offsets: IntArray, words: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """The same, and the loss of the words that were asked for.

        Args:
            vectors: as for `decode`.
            offsets: as for `decode`.
            words: lexicon indices, shape (t,); what is written does not depend on them.

        Returns:
            Written words, shape (t,), and the cross-entropy of each asked word in nats, (t,).
        """
        vectors = np.asarray(vectors, dtype=np.float64)
        self._check(vectors, offsets, words)
        written, losses = [np.empty(0, np.int64)], [np.empty(0)]
        with torch().no_grad():
            for part in _batches(offsets):
                inside = slice(int(offsets[part.start]), int(offsets[part.stop]))
                lengths = np.diff(offsets[part.start : part.stop + 1])
                states = self.network.states(
                    self.inputs(vectors[inside]), lengths[lengths > 0].tolist()
                )
                true = torch().from_numpy(words[inside].copy()).to(states.device)
                best, loss = self.network.judged(states, true, _PLACES)
                written.append(array(best))
                losses.append(array(loss).astype(np.float64))
        return np.concatenate(written), np.concatenate(losses)

    def inputs(self, vectors: FloatArray) -> Any:
        """What the network sees: vectors times √d/C as a float32 tensor, shape (t, d)."""
        scale = self.architecture.scale(self.lexicon)
        # Noise of a tiny ε may be beyond every float32: it is cut off, which is post-processing.
        cut = np.clip(vectors * scale, -LARGEST, LARGEST).astype(np.float32)
        return torch().from_numpy(cut).to(self.network.bias.device)

    def rewrite(
        self,
        documents: Documents,
        mechanism: Mechanism,
        epsilon: float,
        rng: np.random.Generator,
    ) -> IntArray:
        """Rewrite with fresh noise: what may be released has the mechanism's guarantee a word.

        Args:
            documents: over the auto-encoder's lexicon; an unknown word has a random stand-in.
            mechanism: over the same lexicon, with noise on the vectors that `origins` holds.
            epsilon: the privacy parameter.
            rng: unpredictable (`generator(None)`) unless the run is an experiment.

        Returns:
            Lexicon indices, shape (t,), for `Documents.texts`.

        Raises:
            ParameterError: the mechanism has no noisy vectors, or others than the network reads.
            EpsilonError: the mechanism does not have this ε.
        """
        self.check_mechanism(mechanism)
        words = stand_in(documents.words, len(self.lexicon), rng)
        noisy = mechanism.noisy_vectors(rng, words, epsilon)
        return self.decode(noisy, documents.offsets)  # post-processing of the noisy vectors

    def check_mechanism(self, mechanism: Mechanism) -> None:
        """Refuse a mechanism over other words or other vectors than the network was trained on.

        Raises:
            ParameterError: it is one.
        """
        if mechanism.lexicon.fingerprint != self.lexicon.fingerprint:
            raise ParameterError(
                f"{mechanism.short} was made over another lexicon than the auto-encoder's: give "
                "it the auto-encoder's own"
            )
        origins = getattr(mechanism, "origins", None)
        if origins is None:
            # Of no word: a mechanism without noisy vectors refuses here, in its own sentence.
            mechanism.noisy_vectors(np.random.default_rng(0), np.empty(0, np.int64), 1.0)
        if not np.array_equal(np.asarray(origins), self.origins):
            bound = self.architecture.bound(self.lexicon)
            raise ParameterError(
                f"{mechanism.short} adds its noise to other vectors than the network reads, which "
                f"are clipped to the norm {bound:.6g}; take a mechanism that clips to it "
                f"(clip_norm={bound!r}), or train a network without clipping"
            )

    def _check(self, vectors: FloatArray, offsets: IntArray, words: IntArray) -> None:
        if not (vectors.ndim == 2 and vectors.shape[1] == self.lexicon.dimension):
            raise ParameterError(
                f"noisy vectors have shape (t, {self.lexicon.dimension}), got {vectors.shape}"
            )
        if not (words.shape == (len(vectors),) and int(offsets[-1]) == len(vectors)):
            raise ParameterError("sentences, vectors and words do not have the same places")
        if np.isnan(vectors).any():
            raise ParameterError("a noisy vector holds NaN; infinity is allowed, NaN is not")


def _batches(offsets: IntArray) -> Iterator[slice]:
    """Consecutive sentences that are read together, those without words in none."""
    count = len(offsets) - 1
    for start in range(0, count, _SENTENCES):
        stop = min(start + _SENTENCES, count)
        if offsets[stop] > offsets[start]:
            yield slice(start, stop)
