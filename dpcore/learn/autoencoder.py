"""A private auto-encoder, a network that reads noisy word vectors and writes words.

Each word's vector is clipped, a mechanism of the registry adds noise to it, and only then does the
network read it. So the output is computed from the noisy vectors and the number of words: it has
the mechanism's guarantee for every word, however the network was trained, if it was trained on
public text. The network never sees the words that it rewrites.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.learn.checkpoint import Checkpoint, load, restore, save
from dpcore.learn.tensors import array, device_of, seed_torch, torch_generator
from dpcore.learn.training import Step, Training, TrainingRecord, fit
from dpcore.lexicon.lexicon import Lexicon, freeze
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.clipped.clipped import clip
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.optional import torch
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.reader import Documents
from dpcore.rewrite.vocabulary import stand_in

if TYPE_CHECKING:
    import numpy as np


# Network of the word auto-encoder: one BiLSTM, and a decoder that sees its states alone.


LARGEST = 1e9
"""Coordinates are cut off at ± this value: noise of any size remains a finite float32."""


@dataclass(frozen=True, eq=False)
class BiLstmNetwork:
    """Network from the vectors of a sentence to a score of every word at every position.

    A linear map takes the two states of a position to a point of the vector space, and a word's
    score is the product of the point and the word's vector plus a bias of the word: the decoder's
    words are those of the encoder (Press and Wolf 2017).

    Attributes:
        codes: vectors of the words, tensor of shape (n, d); public, and not trained.
        encoder: `torch.nn.LSTM`, in both directions.
        decoder: `torch.nn.Linear` from the states to the vectors.
        bias: one number per word, shape (n,).
    """

    codes: Any
    encoder: Any
    decoder: Any
    bias: Any

    @property
    def parameters(self) -> dict[str, Any]:
        """Trained tensors, by name."""
        parts = {"encoder": self.encoder, "decoder": self.decoder}
        named = {
            f"{part}.{name}": value
            for part, module in parts.items()
            for name, value in module.named_parameters()
        }
        return named | {"bias": self.bias}

    def states(self, inputs: Any, lengths: Sequence[int]) -> Any:
        """Return the states of all positions, shape (t, 2·hidden).

        Args:
            inputs: the sentences one after another, shape (t, d).
            lengths: positions of each sentence, all above 0, with sum t.
        """
        rnn = torch().nn.utils.rnn
        parts = torch().split(inputs, list(lengths))
        packed, _ = self.encoder(rnn.pack_sequence(parts, enforce_sorted=False))
        padded, _ = rnn.pad_packed_sequence(packed, batch_first=True)
        places = torch().arange(padded.shape[1], device=padded.device)
        # Rows of the padded states that belong to a word, in the order of the input.
        there = places[None] < torch().tensor(list(lengths), device=padded.device)[:, None]
        return padded[there]

    def scores(self, states: Any) -> Any:
        """Return the log-probability of every word up to a constant, shape (t, n)."""
        # One product of shape (t, n); n is large, so `judged` calls it for few positions at a time.
        return torch().addmm(self.bias, self.decoder(states), self.codes.T)

    def mean_loss(self, states: Any, words: Any) -> Any:
        """Return the cross-entropy per word, in nats."""
        return torch().nn.functional.cross_entropy(self.scores(states), words)

    def judged(self, states: Any, words: Any, chunk: int) -> tuple[Any, Any]:
        """Return each position's likeliest word and true word's loss, `chunk` positions at once."""
        best, losses = [], []
        for some, true in zip(states.split(chunk), words.split(chunk), strict=True):
            scores = self.scores(some)
            best.append(scores.argmax(dim=1))
            losses.append(torch().nn.functional.cross_entropy(scores, true, reduction="none"))
        return torch().cat(best), torch().cat(losses)


def network_of(codes: NDArray[np.float32], hidden: int, device: Any) -> BiLstmNetwork:
    """Build a network on a device; its weights are drawn from torch's random state."""
    n, d = codes.shape
    nn = torch().nn
    return BiLstmNetwork(
        torch().tensor(codes, device=device),
        nn.LSTM(d, hidden, batch_first=True, bidirectional=True).to(device),
        nn.Linear(2 * hidden, d).to(device),
        nn.Parameter(torch().zeros(n, device=device)),
    )


def dropped(states: Any, share: float, generator: Any) -> Any:
    """Set a share of the entries of the states to 0 and scale the others up to match (dropout)."""
    if not share > 0:
        return states
    draws = torch().rand(states.shape, generator=generator, device=states.device)
    return states * (draws >= share) / (1.0 - share)


_SENTENCES, _PLACES = 256, 2_048  # batch sizes of reading and scoring; no effect on results


@dataclass(frozen=True)
class Architecture:
    """Settings of the network.

    Attributes:
        hidden: number of states in each direction.
        dropout: share of the states that is dropped in training.
        norm: C, the Euclidean norm that vectors are clipped to; None takes the largest norm of a
            word.
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
        """Return C for a lexicon."""
        return lexicon.largest_norm if self.norm is None else float(self.norm)

    def clipped(self, lexicon: Lexicon) -> NDArray[np.float32]:
        """Return the vectors of a lexicon clipped to C, shape (n, d)."""
        return clip(lexicon.vectors, self.bound(lexicon))

    def scale(self, lexicon: Lexicon) -> float:
        """Return √d/C: a vector of norm C gets coordinates of about 1."""
        return math.sqrt(lexicon.dimension) / self.bound(lexicon)


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A network and the public words that it reads and writes.

    Attributes:
        lexicon: n words with vectors of dimension d.
        architecture: settings of the network.
        network: trained or not.
    """

    lexicon: Lexicon
    architecture: Architecture
    network: BiLstmNetwork

    @cached_property
    def origins(self) -> NDArray[np.float32]:
        """Clipped vectors, to which a mechanism adds noise, shape (n, d)."""
        return self.architecture.clipped(self.lexicon)

    def decode(self, vectors: FloatArray, offsets: IntArray) -> IntArray:
        """Return the word that the network writes at each position.

        Args:
            vectors: noisy clipped vectors, sentence after sentence, shape (t, d).
            offsets: sentence i has the positions offsets[i] to offsets[i + 1], shape (k + 1,).

        Returns:
            Lexicon indices, shape (t,).

        Raises:
            ParameterError: the vectors have another shape, or hold NaN.
        """
        return self.judge(vectors, offsets, np.zeros(len(vectors), dtype=np.int64))[0]

    def judge(
        self, vectors: FloatArray, offsets: IntArray, words: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the words that the network writes, and the loss of given words.

        Args:
            vectors: as for `decode`.
            offsets: as for `decode`.
            words: lexicon indices, shape (t,); the written words do not depend on them.

        Returns:
            Written words, shape (t,), and the cross-entropy of each given word in nats, (t,).
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
        """Return the network's input: vectors times √d/C as a float32 tensor, shape (t, d)."""
        scale = self.architecture.scale(self.lexicon)
        # Noise of a tiny ε may exceed every float32: it is cut off, which is post-processing.
        cut = np.clip(vectors * scale, -LARGEST, LARGEST).astype(np.float32)
        return torch().from_numpy(cut).to(self.network.bias.device)

    def rewrite(
        self,
        documents: Documents,
        mechanism: Mechanism,
        epsilon: float,
        rng: np.random.Generator,
    ) -> IntArray:
        """Rewrite with fresh noise; the output has the mechanism's guarantee for each word.

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
            ParameterError: the words or the vectors differ.
        """
        if mechanism.lexicon.fingerprint != self.lexicon.fingerprint:
            raise ParameterError(
                f"{mechanism.short} was made over another lexicon than the auto-encoder's: give "
                "it the auto-encoder's own"
            )
        origins = getattr(mechanism, "origins", None)
        if origins is None:
            # For no words: a mechanism without noisy vectors raises here, with its own message.
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
    """Yield slices of consecutive sentences to read together, skipping those without words."""
    count = len(offsets) - 1
    for start in range(0, count, _SENTENCES):
        stop = min(start + _SENTENCES, count)
        if offsets[stop] > offsets[start]:
            yield slice(start, stop)


# Training of a word auto-encoder on public sentences, and its file.


NAME = "word-autoencoder"
"""Name of the architecture in a checkpoint."""
Noise = Callable[[np.random.Generator, "IntArray"], "FloatArray"]
"""Noisy vectors of words, such as `Mechanism.noisy_vectors` at one ε."""
_HELD_OUT = 0.1  # share of the sentences that decide when training stops


def frequent_words(texts: Sequence[str], lexicon: Lexicon, most: int) -> Lexicon:
    """Make a lexicon of the most frequent words of public texts, in the order of the lexicon.

    Raises:
        ParameterError: fewer than two words of the texts are in the lexicon, or are asked for.
    """
    words = encode_all(texts, lexicon, for_text=False).words
    counts = np.bincount(words[words >= 0], minlength=len(lexicon))
    # A stable sort of −counts: ties keep the order of the lexicon.
    there = np.flatnonzero(counts)
    if not min(there.size, most) >= 2:
        raise ParameterError(
            f"an auto-encoder needs two words or more; {there.size:,} words of the texts have a "
            f"vector and {most:,} were asked for"
        )
    kept = np.sort(there[np.argsort(-counts[there], kind="stable")[:most]])
    return part_of(lexicon, [lexicon.words[i] for i in kept.tolist()])


def part_of(lexicon: Lexicon, words: Sequence[str]) -> Lexicon:
    """Make a lexicon of some words of a lexicon, in the order given.

    Raises:
        UnknownWordError: the lexicon lacks one of them.
    """
    places = [lexicon.index(word) for word in words]
    name = f"{len(places):,} words of {lexicon.name}"
    vectors = freeze(lexicon.vectors[places])
    return Lexicon(name, tuple(words), vectors, lexicon.metric, lexicon.language)


def train(
    texts: Sequence[str],
    lexicon: Lexicon,
    architecture: Architecture,
    training: Training,
    *,
    noise: Noise | None = None,
    noise_name: str = "",
    device: str = "cpu",
    state: Path | None = None,
    progress: Progress = silent,
) -> tuple[Autoencoder, TrainingRecord]:
    """Train on public sentences to reproduce the words that were read.

    Args:
        texts: public; a word outside the lexicon has one random stand-in throughout.
        lexicon: words and vectors; the vectors are not trained.
        architecture: settings of the network.
        training: settings of the training loop.
        noise: draws the network's input in training; None takes the clipped vectors themselves.
        noise_name: identifies the noise, so that training is resumed with the same noise only.
        device: cpu, cuda or auto.
        state: as for `dpcore.learn.training.fit`.
        progress: as for `dpcore.learn.training.fit`.

    Raises:
        MissingPackageError: torch is not installed.
        ParameterError: there are fewer than two sentences with words, or a setting is refused.
    """
    read = encode_all(texts, lexicon, for_text=False)
    lengths = np.diff(read.offsets)
    if not (lengths > 0).sum() >= 2:
        raise ParameterError(
            "an auto-encoder needs two sentences with words or more, and these hold "
            f"{int((lengths > 0).sum())}; give more public text"
        )
    words = stand_in(read.words, len(lexicon), generator(training.seed, "stand-ins"))
    sentences = [part for part in np.split(words, read.offsets[1:-1]) if part.size]
    model = build_untrained(lexicon, architecture, training.seed, device)
    task = _Reading(model, sentences, training.seed, noise)
    # The digest covers words, network, noise and sentences: all must match to resume a run.
    told = json.dumps([lexicon.fingerprint, asdict(architecture), noise_name])
    digest = hashlib.sha256(told.encode() + words.tobytes() + read.offsets.tobytes()).hexdigest()
    return model, fit(task, training, state=state, vocabulary=digest, progress=progress)


def draw_vectors(
    mechanism: Mechanism, epsilon: float, rng: np.random.Generator, words: IntArray
) -> FloatArray:
    """Draw noisy vectors at one ε; with the first two arguments bound, this is a `Noise`."""
    return mechanism.noisy_vectors(rng, words, epsilon)


def build_untrained(
    lexicon: Lexicon, architecture: Architecture, seed: int, device: str = "cpu"
) -> Autoencoder:
    """Build an untrained auto-encoder with weights drawn from the seed."""
    codes = architecture.clipped(lexicon) * np.float32(architecture.scale(lexicon))
    with seed_torch(generator(seed, "auto-encoder")):
        network = network_of(codes, architecture.hidden, device_of(device))
    return Autoencoder(lexicon, architecture, network)


@dataclass
class _Reading:
    """The task of the training loop."""

    model: Autoencoder
    sentences: list[IntArray]
    seed: int
    noise: Noise | None

    def __post_init__(self) -> None:
        """Hold some sentences out."""
        order = generator(self.seed, "sentences held out").permutation(len(self.sentences))
        count = max(1, round(_HELD_OUT * len(order)))
        self.kept, self.held = order[count:], order[:count]
        self.parameters = self.model.network.parameters
        self.size = int(self.kept.size)

    def loss(self, rows: IntArray, step: Step) -> Any:
        words, states = self._read(self.kept[rows], step.rng)
        share = self.model.architecture.dropout
        states = dropped(states, share, torch_generator(step.rng, states.device))
        return self.model.network.mean_loss(states, torch().from_numpy(words).to(states.device))

    def held_out(self, step: Step) -> float:
        total = places = 0.0
        with torch().no_grad():
            for start in range(0, self.held.size, 256):
                words, states = self._read(self.held[start : start + 256], step.rng)
                true = torch().from_numpy(words).to(states.device)
                total += float(self.model.network.mean_loss(states, true)) * words.size
                places += words.size
        return total / places  # a mean over words, so that batches of any length weigh alike

    def _read(self, rows: IntArray, rng: np.random.Generator) -> tuple[IntArray, Any]:
        chosen = [self.sentences[i] for i in rows.tolist()]
        words = np.concatenate(chosen)
        model, noise = self.model, self.noise
        # Fresh noise at every reading: the network would memorise a draw that it saw again.
        vectors = model.origins[words] if noise is None else noise(rng, words)
        inputs = model.inputs(np.asarray(vectors, dtype=np.float64))
        return words, model.network.states(inputs, [sentence.size for sentence in chosen])


def save_autoencoder(path: Path, model: Autoencoder, facts: dict[str, Any]) -> None:
    """Write a checkpoint with the network and its words, without their vectors.

    Raises:
        ParameterError: the name of the file or its folder is refused.
    """
    tensors = {name: array(value) for name, value in model.network.parameters.items()}
    settings = asdict(model.architecture) | {"words": list(model.lexicon.words)}
    save(path, Checkpoint(NAME, settings, tensors, model.lexicon.fingerprint, facts))


def load_autoencoder(
    path: Path, vectors: Lexicon, device: str = "cpu"
) -> tuple[Autoencoder, Checkpoint]:
    """Read a checkpoint.

    Args:
        path: of the file.
        vectors: the lexicon that its words were taken from.
        device: cpu, cuda or auto.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file is damaged, or holds another network or other words.
    """
    checkpoint = load(path, architecture=NAME)
    try:
        settings = dict(checkpoint.settings)
        words = [str(word) for word in settings.pop("words")]
        architecture = Architecture(**settings)
    except (KeyError, TypeError) as error:
        raise ParameterError(
            f"the checkpoint {path.name[:60]!r} does not say what its network is; train again"
        ) from error
    known = set(vectors.words)
    if not all(word in known for word in words):
        raise ParameterError(
            f"lexicon {vectors.name!r} lacks words of the checkpoint {path.name[:60]!r}: give the "
            "vectors that it was trained with"
        )
    # The fingerprint that the file must carry is known only now, with the lexicon of its words.
    lexicon = part_of(vectors, words)
    checkpoint = load(path, architecture=NAME, lexicon=lexicon)
    model = build_untrained(lexicon, architecture, 0, device)
    restore(checkpoint, model.network.parameters)
    return model, checkpoint
