"""Training a word auto-encoder on public sentences, and its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.autoencoder.autoencoder import Architecture, Autoencoder
from dpcore.learn.autoencoder.network import dropped, network_of
from dpcore.learn.checkpoint import Checkpoint, load, restore, save
from dpcore.learn.packages import torch
from dpcore.learn.tensors import array, device_of, seeded, torch_generator
from dpcore.learn.training import fit
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.rows import freeze
from dpcore.noise.streams import generator
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.vocabulary import stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.learn.training_settings import Fitted, Step, Training
    from dpcore.mechanisms.mechanism import Mechanism

NAME = "word-autoencoder"
"""Of the architecture, in a checkpoint."""
Noise = Callable[[np.random.Generator, "IntArray"], "FloatArray"]
"""Noisy vectors of words, such as `Mechanism.noisy_vectors` at one ε."""
_HELD_OUT = 0.1  # share of the sentences that decide when training stops


def frequent_words(texts: Sequence[str], lexicon: Lexicon, most: int) -> Lexicon:
    """The most frequent words of public texts, as a lexicon of their own, in the lexicon's order.

    Raises:
        ParameterError: fewer than two words of the texts are in the lexicon, or are asked for.
    """
    words = encode_all(texts, lexicon, for_text=False).words
    counts = np.bincount(words[words >= 0], minlength=len(lexicon))
    # A stable sort of −counts: of equally frequent words those that stand first in the lexicon.
    there = np.flatnonzero(counts)
    if not min(there.size, most) >= 2:
        raise ParameterError(
            f"an auto-encoder needs two words or more; {there.size:,} words of the texts have a "
            f"vector and {most:,} were asked for"
        )
    kept = np.sort(there[np.argsort(-counts[there], kind="stable")[:most]])
    return part_of(lexicon, [lexicon.words[i] for i in kept.tolist()])


def part_of(lexicon: Lexicon, words: Sequence[str]) -> Lexicon:
    """Some words of a lexicon, in this order.

    Raises:
        UnknownWordError: the lexicon does not hold one.
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
) -> tuple[Autoencoder, Fitted]:
    """Train on public sentences to write the words that were read.

    Args:
        texts: public; a word outside the lexicon has one random stand-in all along.
        lexicon: words and vectors; the vectors are not trained.
        architecture: of the network.
        training: of the loop.
        noise: draws what the network reads in training; None: the clipped vectors themselves.
        noise_name: what the noise is, so that training goes on with the same.
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
    model = untrained(lexicon, architecture, training.seed, device)
    task = _Reading(model, sentences, training.seed, noise)
    # A run is resumed only with the same words, network, noise and sentences: all are digested.
    told = json.dumps([lexicon.fingerprint, asdict(architecture), noise_name])
    digest = hashlib.sha256(told.encode() + words.tobytes() + read.offsets.tobytes()).hexdigest()
    return model, fit(task, training, state=state, vocabulary=digest, progress=progress)


def drawn(
    mechanism: Mechanism, epsilon: float, rng: np.random.Generator, words: IntArray
) -> FloatArray:
    """Noisy vectors at one ε: with the first two given, a `Noise`."""
    return mechanism.noisy_vectors(rng, words, epsilon)


def untrained(
    lexicon: Lexicon, architecture: Architecture, seed: int, device: str = "cpu"
) -> Autoencoder:
    """An auto-encoder at its start, which depends on the seed."""
    codes = architecture.clipped(lexicon) * np.float32(architecture.scale(lexicon))
    with seeded(generator(seed, "auto-encoder")):
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
        # Fresh noise at every reading: a network that saw one draw again would learn it by heart.
        vectors = model.origins[words] if noise is None else noise(rng, words)
        inputs = model.inputs(np.asarray(vectors, dtype=np.float64))
        return words, model.network.states(inputs, [sentence.size for sentence in chosen])


def save_autoencoder(path: Path, model: Autoencoder, facts: dict[str, Any]) -> None:
    """Write a checkpoint: the network and its words, without their vectors.

    Raises:
        ParameterError: the file cannot be of this name or in this folder.
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
    # Only now is the lexicon of its words known, whose fingerprint the file has to carry.
    lexicon = part_of(vectors, words)
    checkpoint = load(path, architecture=NAME, lexicon=lexicon)
    model = untrained(lexicon, architecture, 0, device)
    restore(checkpoint, model.network.parameters)
    return model, checkpoint
