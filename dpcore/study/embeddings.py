"""The lexicons of the experiments: words of a corpus with the vectors that the papers name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import StudyError
from dpcore.study.vocabularies import BUNDLED, load_vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.lexicon import Lexicon

RANDOM = "random"
_SEED = 2024  # of the random vectors: public, and the same for everyone
_GAP = 4.787  # median distance of a word to its nearest, as of GloVe 840B and the bundled lexicon
_SAMPLE = 1_000  # words whose nearest distance sets the scale


def random_vectors(lexicon: Lexicon) -> Lexicon:
    """The same words with random vectors: they know nothing of what the words mean.

    Entries are uniform on (−1, 1) (Wieting and Kiela 2019) times a public constant. Their scale is
    ours: without one, ε per unit of distance means nothing. It puts the median distance to the
    nearest word where it is for GloVe 840B, so that the same ε can be compared.
    """
    from dpcore.lexicon.lexicon import Lexicon as Made
    from dpcore.lexicon.metric import distances

    n, d = lexicon.vectors.shape
    rng = np.random.default_rng([_SEED, n, d])
    vectors = rng.uniform(-1.0, 1.0, (n, d)).astype(np.float32)
    some = np.sort(rng.permutation(n)[:_SAMPLE])
    gaps = distances(vectors, vectors[some])
    gaps[np.arange(some.size), some] = np.inf
    vectors *= np.float32(_GAP / np.median(gaps.min(axis=1)))
    vectors.setflags(write=False)
    return Made(f"random × {lexicon.name}", lexicon.words, vectors)


def load_embedding(key: str, folder: Path | None) -> Lexicon:
    """The lexicon of an experiment.

    Args:
        key: "bundled", a key of `dpcore.study.vocabularies` for its words with GloVe vectors, or
            one with "-bundled" (its words of the bundled lexicon) or "-random" behind.
        folder: holds corpora and vectors.

    Raises:
        StudyError: there is no such lexicon, or a file is missing.
    """
    from dpcore.lexicon.catalogue import load

    base, _, kind = key.partition("-")
    if kind not in {"", BUNDLED, RANDOM}:
        raise StudyError(
            f"no lexicon {key[:40]!r}: a vocabulary, or one with -{BUNDLED} or -{RANDOM} behind"
        )
    within = load() if kind == BUNDLED else None
    lexicon = load_vocabulary(base, folder, within=within).lexicon
    return random_vectors(lexicon) if kind == RANDOM else lexicon
