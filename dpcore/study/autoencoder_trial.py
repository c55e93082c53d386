"""Trial of a private auto-encoder: one trained network reads the noise of every mechanism and ε.

The network is trained on the public split of a corpus; the sentences of the other split are private
and are seen only as noisy vectors. The network's text is compared with the nearest word, the
likeliest word, the text written from the length alone, and a bound on any decoder.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import IntArray
from dpcore.attack.output.nearest import information, kept_at_most, likeliest_words
from dpcore.errors import TextError
from dpcore.learn.autoencoder import Architecture, Autoencoder, draw_vectors, frequent_words, train
from dpcore.learn.training import Training
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.measure.similarity import words_kept
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.reader import Documents
from dpcore.rewrite.vocabulary import stand_in
from dpcore.study.labelled_trial import likeness
from dpcore.study.plan import Cell, Row, canonical, row
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import plain_rows

NETWORK, LENGTH = "auto-encoder", "length alone"
NEAREST, LIKELIEST, ANY = "nearest word", "likeliest word", "any decoder"
"""Values of the column `learner`, the author of the text: the network; the network that is given
zero vectors; the nearest and the likeliest word of each noisy vector; a bound on all decoders."""
_END = re.compile(r"(?<=[.!?])\s+")
_TEXTS = 20_000  # of a split, at most


@dataclass(frozen=True, eq=False)
class SentenceMaterial:
    """Public words and sentences, and the private sentences as they are read.

    Attributes:
        lexicon: the frequent words of the public split.
        training: public sentences.
        private: sentences whose rewriting is measured.
        documents: the private sentences, read over the lexicon.
        guess: accuracy of the best guess from the position and the length alone.
    """

    lexicon: Lexicon
    training: tuple[str, ...]
    private: tuple[str, ...]
    documents: Documents
    guess: float


def sentences_of(texts: Sequence[str], least: int, most: int) -> list[str]:
    """Return the distinct sentences of some texts with `least` to `most` words between spaces."""
    parts = (part.strip() for text in texts for part in _END.split(text))
    return list(dict.fromkeys(part for part in parts if least <= len(part.split()) <= most))


def measure_autoencoder(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one arm at all its ε, or the text without noise.

    Options: `splits` (public, private), `vocabulary`, `words` (least and most of a sentence),
    `train` and `test` (numbers of sentences), `attacked` (number of test sentences attacked by the
    likeliest word), `hidden`, `norm`, `epochs`, `batch`, `rate`, `noise_in_training` (one network
    per ε, trained with its noise), `timed` (adds a row `cpu_seconds`, the time of a training
    epoch).
    """
    # Everything that the network without noise depends on; the arms of a seed share it.
    same = sorted(pair for pair in cell.options if pair[0] != "noise_in_training")
    known = _Known(cell, sources, canonical([cell.data, cell.lexicon, cell.seed, same]))
    material = _material(known)
    timed = bool(cell.option("timed", False))
    if not cell.mechanism:
        model, seconds = _trained(known)
        return [*_clean(model, material, cell.seed), *_timed(timed, seconds, None)]
    mechanism = create(cell.mechanism, material.lexicon, dict(cell.settings))
    adapted = bool(cell.option("noise_in_training", False))
    rows: list[Row] = []
    for epsilon in cell.epsilons:
        if adapted:
            model, seconds = _train(material, cell, mechanism, epsilon)
            rows += _timed(timed, seconds, epsilon)
        else:
            model = _trained(known)[0]
        rows += _noisy(model, material, mechanism, epsilon, cell)
    return rows


@dataclass(frozen=True, eq=False)
class _Known:
    """A cell with its sources, equal to another if network and sentences are the same."""

    cell: Cell
    sources: Sources
    key: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=2)
def _material(known: _Known) -> SentenceMaterial:
    cell, path = known.cell, known.sources.file(known.cell.data)
    public, private = cell.option("splits")
    least, most = cell.option("words")
    rng = cell.shared_generator("sentences", public)
    whole = sentences_of(plain_rows(path, public, _TEXTS, rng), least, most)
    lexicon = frequent_words(whole, known.sources.lexicon(cell.lexicon), cell.option("vocabulary"))
    rng = cell.shared_generator("sentences", private)
    hidden = sentences_of(plain_rows(path, private, _TEXTS, rng), least, most)
    seen = set(whole)
    tested = tuple(sentence for sentence in hidden if sentence not in seen)[: cell.option("test")]
    if not tested:
        raise TextError(
            f"no sentence of {least} to {most} words is in the split {private!r} of {path.name} "
            f"and not in {public!r}: there is nothing private to rewrite"
        )
    read = encode_all(tested, lexicon)
    return SentenceMaterial(
        lexicon, tuple(whole[: cell.option("train")]), tested, read, _guess(whole, lexicon)
    )


def _guess(texts: Sequence[str], lexicon: Lexicon) -> float:
    """Compute how often the likeliest word, given position and sentence length, is right."""
    read = encode_all(texts, lexicon, for_text=False)
    lengths = np.diff(read.offsets)
    length = np.repeat(lengths, lengths)
    place = np.arange(read.words.size) - np.repeat(read.offsets[:-1], lengths)
    cells, cell = np.unique(length * (length.max() + 1) + place, return_inverse=True)
    # A cell is one position in sentences of one length; its likeliest word is right as often as it
    # occurs there. An unknown word is never right, but its position counts.
    there = read.words >= 0
    pairs, counts = np.unique(cell[there] * len(lexicon) + read.words[there], return_counts=True)
    best = np.zeros(cells.size)
    np.maximum.at(best, pairs // len(lexicon), counts)
    return float(best.sum() / read.words.size)


@functools.lru_cache(maxsize=2)
def _trained(known: _Known) -> tuple[Autoencoder, float]:
    return _train(_material(known), known.cell, None, 0.0)


def _train(
    material: SentenceMaterial, cell: Cell, mechanism: Mechanism | None, epsilon: float
) -> tuple[Autoencoder, float]:
    """Train an auto-encoder; return it and the processor seconds per epoch."""
    noise = None
    if mechanism is not None:
        noise = functools.partial(draw_vectors, mechanism, epsilon)
    start = time.process_time()
    model, fitted = train(
        material.training,
        material.lexicon,
        Architecture(int(cell.option("hidden")), norm=float(cell.option("norm"))),
        Training(
            epochs=int(cell.option("epochs")),
            batch=int(cell.option("batch")),
            rate=float(cell.option("rate")),
            patience=2,
            seed=cell.seed,
            threads=1,
        ),
        noise=noise,
    )
    return model, (time.process_time() - start) / len(fitted.epochs)


def _timed(timed: bool, seconds: float, epsilon: float | None) -> list[Row]:
    if not timed:
        return []
    return [row("cpu_seconds", seconds, epsilon=epsilon, learner=NETWORK)]


def _clean(model: Autoencoder, material: SentenceMaterial, seed: int) -> Iterator[Row]:
    """Yield the rows without noise, and with nothing but the length."""
    read = material.documents
    words = stand_in(read.words, len(material.lexicon), generator(seed, "stand-ins, tested"))
    vectors = model.origins[words].astype(np.float64)
    yield row("guess", material.guess, learner=ANY, count=words.size)
    for learner, seen in ((NETWORK, vectors), (LENGTH, np.zeros_like(vectors))):
        out, losses = model.judge(seen, read.offsets, words)
        yield from _written(material, out, None, learner)
        yield row("loss", losses.mean(), learner=learner, count=words.size)
    yield from _written(material, words, None, NEAREST)


def _noisy(
    model: Autoencoder, material: SentenceMaterial, mechanism: Mechanism, epsilon: float, cell: Cell
) -> Iterator[Row]:
    """Yield the rows at one ε: each decoder on the same noisy vectors, and a bound on all."""
    model.check_mechanism(mechanism)
    read = material.documents
    key = (mechanism.key, canonical(mechanism.settings()), str(epsilon))
    rng = generator(cell.seed, "noisy vectors", *key)
    words = stand_in(read.words, len(material.lexicon), rng)
    noisy = mechanism.noisy_vectors(rng, words, epsilon)
    out, losses = model.judge(noisy, read.offsets, words)
    yield from _written(material, out, epsilon, NETWORK)
    yield row("loss", losses.mean(), epsilon=epsilon, learner=NETWORK, count=words.size)
    yield from _written(material, NearestSearch(model.origins)(noisy), epsilon, NEAREST)
    places = int(read.offsets[min(int(cell.option("attacked")), len(read))])
    likeliest = likeliest_words(mechanism, noisy[:places], epsilon)
    kept = words_kept(read.words[:places], likeliest)
    yield row("nw_likeliest", kept, epsilon=epsilon, learner=LIKELIEST, count=places)
    # A decoder sees all ℓ noisy vectors of a sentence, so each of its ℓ positions receives at most
    # ℓ times the information of one vector: Σ ℓ² over the sentences, per position.
    lengths = np.diff(read.offsets)
    nats = information(mechanism, epsilon) * float((lengths**2).sum()) / words.size
    yield row(
        "nw_bound", kept_at_most(nats, material.guess), epsilon=epsilon, learner=ANY,
        count=words.size,
    )  # fmt: skip


def _written(
    material: SentenceMaterial, words: IntArray, epsilon: float | None, learner: str
) -> Iterator[Row]:
    """Yield the quality of the written text."""
    read = material.documents
    named = {"epsilon": epsilon, "learner": learner}
    yield from likeness(material.private, read.texts(words), read.words, words, **named)
