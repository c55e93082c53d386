"""ADePT: rewriting an utterance through a private latent vector, as published and repaired.

The text becomes a latent vector r of n coordinates, r is clipped and gets noise of dpcore
(`dpcore.mechanisms.clipped.adept`), and the decoder writes a text from the noisy vector
alone. Two texts are neighbours whatever they are, so the promise is about the whole utterance. It
holds for texts that the network was not trained on: what the network itself tells about its
training texts is not covered.
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
from dpcore.learn.tensors import array, device_of, seeded, torch_generator
from dpcore.learn.training import Fitted, Step, Training, fit
from dpcore.lexicon.cache import FIELDS
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.clipped.adept import LatentForm, NoisyLatents, privatise
from dpcore.noise.streams import generator
from dpcore.optional import torch
from dpcore.rewrite.tokens import Kind, bare, tokenize

if TYPE_CHECKING:
    import numpy as np


# Utterances as rows of word numbers, for an auto-encoder with a vocabulary of its own.


PAD, END, UNKNOWN = 0, 1, 2
"""Numbers that are no words: an empty place, the end, a word outside the vocabulary."""
_SPECIAL = 3
_UNKNOWN_TEXT = "…"


def words_of(text: str) -> list[str]:
    """The words of an utterance in lower case, without marks and symbols that touch a word."""
    words: list[str] = []
    for token in tokenize(text):
        if token.kind in {Kind.WORD, Kind.NUMBER}:
            words += bare(token.text.lower())
        elif token.kind is not Kind.PUNCTUATION:
            words.append(token.text.lower())
    return words


@dataclass(frozen=True)
class WordList:
    """The words that an auto-encoder knows, and the longest utterance that it reads.

    Attributes:
        words: distinct, the most frequent first; word i has the number i + 3.
        longest: words of an utterance that are read, its first ones.
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
        """How many numbers there are: words and those that are none."""
        return len(self.words) + _SPECIAL

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words in their order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: place + _SPECIAL for place, word in enumerate(self.words)}

    def rows(self, texts: Sequence[str]) -> IntArray:
        """Each utterance as its word numbers, then END, then PAD: shape (k, longest + 1).

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
        """The words of each row up to its END, with single spaces between."""
        texts = []
        for row in rows.tolist():
            end = row.index(END) if END in row else len(row)
            known = (
                self.words[i - _SPECIAL] if i >= _SPECIAL else _UNKNOWN_TEXT for i in row[:end]
            )
            texts.append(" ".join(known))
        return texts


def word_list(texts: Sequence[str], most: int, longest: int) -> WordList:
    """The most frequent words of public utterances; equally frequent ones in alphabetical order.

    Args:
        texts: public; the vocabulary is released with every rewritten text.
        most: words that are kept at most.
        longest: words of an utterance that are read.

    Raises:
        CorpusError: the texts hold no word.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    if not counts:
        raise CorpusError("the texts hold no word to learn from")
    # Alphabetical where counts are equal: the list must not depend on the order of the texts.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return WordList(tuple(ranked[:most]), longest)


# The network of ADePT: encoder, latent vector, decoder (Krishna, Gupta, Dupuy 2021).
#
# A recurrent encoder (GRU) reads an utterance; a linear layer makes n coordinates r of its last
# state, which are clipped to Euclidean norm 1. A second GRU writes an utterance from the vector
# alone: it gets the vector and its own last word at every step. What it writes is a function of the
# vector, so it has the privacy of the vector. Only while the network is trained, on public texts,
# is the decoder shown the true last word (teacher forcing).


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


# Training the auto-encoder of ADePT on public utterances.


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
