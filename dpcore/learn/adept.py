"""ADePT, an auto-encoder that rewrites an utterance through a private latent vector.

The encoder turns the text into a latent vector r of n coordinates, r is clipped and gets noise
from dpcore (`dpcore.mechanisms.clipped.adept`), and the decoder writes a text from the noisy vector
alone. Any two texts are neighbours, so the guarantee is for the whole utterance. It holds for texts
that the network was not trained on: what the network reveals about its training texts is not
covered.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import CorpusError, ParameterError, TextError
from dpcore.learn.checkpoint import Checkpoint, load, restore, save
from dpcore.learn.tensors import array, device_of, seed_torch, torch_generator
from dpcore.learn.training import Step, Training, TrainingRecord, fit
from dpcore.lexicon.cache import FIELDS
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.clipped.adept import LatentForm, NoisyLatents, privatise
from dpcore.noise.streams import generator
from dpcore.optional import torch
from dpcore.rewrite.tokens import Kind, bare, tokenize

if TYPE_CHECKING:
    import numpy as np


# Utterances as rows of word numbers, for an auto-encoder with its own vocabulary.


PAD, END, UNKNOWN = 0, 1, 2
"""Reserved numbers: padding, end of text, word outside the vocabulary."""
_SPECIAL = 3
_UNKNOWN_TEXT = "…"


def words_of(text: str) -> list[str]:
    """Return the words of an utterance in lower case, without marks and symbols that touch them."""
    words: list[str] = []
    for token in tokenize(text):
        if token.kind in {Kind.WORD, Kind.NUMBER}:
            words += bare(token.text.lower())
        elif token.kind is not Kind.PUNCTUATION:
            words.append(token.text.lower())
    return words


@dataclass(frozen=True)
class WordList:
    """Vocabulary of an auto-encoder, and the longest utterance that it reads.

    Attributes:
        words: distinct, the most frequent first; word i has the number i + 3.
        longest: number of words of an utterance that are read, its first ones.
    """

    words: tuple[str, ...]
    longest: int

    def __post_init__(self) -> None:
        """Check both."""
        if not (self.words and len(set(self.words)) == len(self.words)):
            raise ParameterError(
                f"a vocabulary is one word or more, none of them twice, got {len(self.words):,}"
            )
        if not 1 <= self.longest <= 1_000:
            raise ParameterError(f"an utterance has 1 to 1,000 words, got {self.longest}")

    @property
    def size(self) -> int:
        """Number of word numbers, the reserved ones included."""
        return len(self.words) + _SPECIAL

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words in their order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: place + _SPECIAL for place, word in enumerate(self.words)}

    def rows(self, texts: Sequence[str]) -> IntArray:
        """Return each utterance as word numbers, then END, then PAD, shape (k, longest + 1).

        Raises:
            TextError: an utterance holds no word.
        """
        rows = np.full((len(texts), self.longest + 1), PAD, dtype=np.int64)
        for row, text in zip(rows, texts, strict=True):
            words = words_of(text)[: self.longest]
            if not words:
                raise TextError("an utterance needs at least one word to be rewritten; type one")
            row[: len(words)] = [self._numbers.get(word, UNKNOWN) for word in words]
            row[len(words)] = END  # there is always room: a row is one longer than an utterance
        return rows

    def written(self, rows: IntArray) -> list[str]:
        """Join the words of each row up to its END with single spaces."""
        texts = []
        for row in rows.tolist():
            end = row.index(END) if END in row else len(row)
            known = (
                self.words[i - _SPECIAL] if i >= _SPECIAL else _UNKNOWN_TEXT for i in row[:end]
            )
            texts.append(" ".join(known))
        return texts


def word_list(texts: Sequence[str], most: int, longest: int) -> WordList:
    """Return the most frequent words of public utterances; ties are in alphabetical order.

    Args:
        texts: public; the vocabulary is released with every rewritten text.
        most: maximum number of words.
        longest: number of words of an utterance that are read.

    Raises:
        CorpusError: the texts hold no word.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    if not counts:
        raise CorpusError("the texts hold no word to learn from")
    # Alphabetical among equal counts: the list must not depend on the order of the texts.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return WordList(tuple(ranked[:most]), longest)


# Network of ADePT: encoder, latent vector, decoder (Krishna, Gupta, Dupuy 2021).
#
# A GRU reads an utterance; a linear layer maps its last state to n coordinates r, which are
# clipped to Euclidean norm 1. A second GRU writes an utterance from the vector alone: its input at
# every step is the vector and its own last word. Its output is a function of the vector, so it has
# the privacy of the vector. Only in training, on public texts, is the decoder given the true last
# word (teacher forcing).


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
    """Build a network with random initial weights.

    Args:
        shape: sizes of the network.
        words: size of the vocabulary (`WordList.size`).
        rng: draws the weights; torch's own random state is left unchanged.
        device: from `dpcore.learn.tensors.device_of`.

    Returns:
        A `torch.nn.ModuleDict`.

    Raises:
        MissingPackageError: torch is not installed.
    """
    nn = torch().nn
    with seed_torch(rng):
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
    """Return latent vectors before clipping, shape (k, n).

    Args:
        network: from `build`.
        rows: word numbers from `WordList.rows`, shape (k, L).
    """
    lengths = (rows != PAD).sum(dim=1)
    # Padding moves to the front of each row, so that the last state has read the whole utterance
    # and does not depend on the other utterances of the batch.
    places = torch().arange(rows.shape[1], device=rows.device)[None, :]
    shifted = places - (rows.shape[1] - lengths)[:, None]
    moved = rows.gather(1, shifted.clamp(min=0)).masked_fill(shifted < 0, PAD)
    _, last = network["reader"](network["words"](moved))
    return network["latent"](last[0])


def clip(latents: Any) -> Any:
    """Scale rows down to Euclidean norm at most `CLIP`."""
    norms = latents.norm(dim=1, keepdim=True).clamp(min=1e-12)  # a zero vector stays zero
    return latents * (CLIP / norms).clamp(max=1.0)


def teacher_forced(network: Any, latents: Any, rows: Any, hidden_words: Any) -> Any:
    """Score every word at every position given the true last words (training only).

    Args:
        network: from `build`.
        latents: shape (k, n).
        rows: the true word numbers, shape (k, L).
        hidden_words: shape (k, L), true where the last word is hidden after all, so that the
            decoder must use the vector.

    Returns:
        Shape (k, L, words).
    """
    first = torch().full_like(rows[:, :1], END)
    # The decoder's input at each position is the word before it; END precedes the first word.
    last = torch().cat([first, rows[:, :-1]], dim=1).masked_fill(hidden_words, UNKNOWN)
    vectors = latents[:, None, :].expand(-1, rows.shape[1], -1)
    inputs = torch().cat([network["words"](last), vectors], dim=2)
    states, _ = network["writer"](inputs, _start(network, latents))
    return network["choice"](states)


def decode(network: Any, latents: Any, places: int) -> Any:
    """Write an utterance from each vector, the likeliest word at each position.

    The decoder sees only the vectors: a function of noisy vectors has their privacy
    (post-processing).

    Args:
        network: from `build`.
        latents: noisy or not, shape (k, n).
        places: maximum number of words, END included.

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


ARCHITECTURE = "adept"
_BATCH = 1_024  # utterances at a time


@dataclass(frozen=True, eq=False)
class AdeptRewriting:
    """Rewritten utterances and their privacy cost.

    Attributes:
        texts: from the decoder, one per utterance.
        latents: the noisy vectors; `epsilon` is the true ε, `claimed_epsilon` the requested one.
    """

    texts: tuple[str, ...]
    latents: NoisyLatents


@dataclass(frozen=True, eq=False)
class AutoEncoder:
    """A trained network.

    Attributes:
        vocabulary: the words that it reads and writes.
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
        """Return C in the norm that a form clips by."""
        return self.manhattan if form is LatentForm.MANHATTAN else CLIP

    def latents(self, texts: Sequence[str]) -> FloatArray:
        """Return the latent vectors clipped to Euclidean norm 1, shape (k, n), float64: private.

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
        """Write the text of each vector, as a function of the vector alone.

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
    ) -> AdeptRewriting:
        """Rewrite utterances, each with fresh noise.

        Args:
            texts: private; all words outside the vocabulary count as one unknown word, and words
                beyond the longest utterance are not read.
            epsilon: the requested ε, between any two utterances.
            rng: draws the noise, in float64.
            form: published, or one of the repairs.

        Raises:
            TextError: an utterance holds no word.
            EpsilonError: ε is not a finite number > 0.
        """
        # From here on the texts are not used: the decoder sees only the noisy vectors.
        noisy = privatise(rng, self.latents(texts), epsilon, self.clip_norm(form), form)
        return AdeptRewriting(self.decode(noisy.vectors), noisy)

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
    """Read a file written by `save_adept`.

    Raises:
        MissingPackageError: torch or safetensors is not installed.
        ParameterError: the file is missing, damaged or of another network, or its shapes or
            words do not fit together.
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


# Training the auto-encoder of ADePT on public utterances.


HELD_OUT = 0.05
"""Share of the utterances that are held out to watch the loss, and not trained on."""
_TRAINING = Training(epochs=24, batch=64, rate=4e-3, clip=5.0, patience=4)


@dataclass(frozen=True)
class AdeptSettings:
    """Settings of the network and its training.

    Attributes:
        shape: sizes of the network.
        most: size of the vocabulary, the most frequent words.
        longest: number of words of an utterance that are read.
        noise: expected length of the Gaussian noise on the clipped vector (norm 1) in training:
            it spreads the utterances apart, and gives no privacy.
        hidden_words: share of the true last words that are hidden from the decoder.
        training: settings of the training loop.
    """

    shape: Shape = field(default_factory=Shape)
    most: int = 1_500
    longest: int = 12
    noise: float = 0.2
    hidden_words: float = 0.2
    training: Training = _TRAINING

    def __post_init__(self) -> None:
        """Check the settings that the parts do not check themselves."""
        if not 1 <= self.most <= 100_000:
            raise ParameterError(f"a vocabulary has 1 to 100,000 words, got {self.most}")
        if not 0 <= self.noise <= 10:
            raise ParameterError(f"noise of training is from 0 to 10, got {self.noise}")
        if not 0 <= self.hidden_words <= 1:
            raise ParameterError(
                f"the share of hidden words is from 0 to 1, got {self.hidden_words}"
            )


class _Reconstruction:
    """Task for `dpcore.learn.training.fit`: predict the words of an utterance from its vector."""

    def __init__(self, network: Any, settings: AdeptSettings, rows: Any, kept: Any) -> None:
        self.network, self.settings, self.rows, self.kept = network, settings, rows, kept
        self.parameters = dict(network.named_parameters())
        self.size = len(rows)

    def loss(self, rows: NDArray[np.int64], step: Step) -> Any:
        """Return the mean cross-entropy per word, with noise and hidden words."""
        given = self.rows[torch().from_numpy(rows).to(self.rows.device)]
        return self._cross_entropy(given, torch_generator(step.rng))

    def held_out(self, step: Step) -> float:
        """Return the mean cross-entropy per word of the held-out utterances, without noise."""
        with torch().no_grad():
            return float(self._cross_entropy(self.kept, None))

    def _cross_entropy(self, rows: Any, random: Any) -> Any:
        latents = clip(encode(self.network, rows))
        hidden = torch().zeros_like(rows, dtype=torch().bool)
        if random is not None:
            # Drawn on the host, so that a seed gives the same noise on every device.
            normal = torch().randn(latents.shape, generator=random).to(rows.device)
            # E‖z‖ of n standard normal coordinates is about √n: the noise has that length in all.
            latents = latents + normal * (self.settings.noise / latents.shape[1] ** 0.5)
            uniform = torch().rand(rows.shape, generator=random)
            hidden = (uniform < self.settings.hidden_words).to(rows.device)
        scores = teacher_forced(self.network, latents, rows, hidden)
        used = rows != PAD  # padding is no word to predict
        return torch().nn.functional.cross_entropy(scores[used], rows[used])


def train_adept(
    texts: Sequence[str],
    settings: AdeptSettings | None = None,
    *,
    device: str = "cpu",
    state: Path | None = None,
    progress: Progress = silent,
) -> tuple[AutoEncoder, TrainingRecord]:
    """Train an auto-encoder.

    Args:
        texts: public utterances, each with a word; the network may reveal any of them.
        settings: of the network and the training; the defaults if None.
        device: "cpu", "cuda" or "auto".
        state: file of the training loop, from which an interrupted run continues.
        progress: called as by `dpcore.learn.training.fit`.

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
