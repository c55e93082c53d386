"""Many documents under a mechanism: read once, then released with noise of their own.

A document's noise is keyed by the run's secret and the document's id (`document_generator`), so
its output is the same in any batch, order and process; it is what `dpcore.rewrite.sentence.release`
gives with that generator. Two documents of one run must not share an id, and no secret may serve
two releases: both would give two outputs of the same noise.
"""

from __future__ import annotations

import re
from itertools import islice
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.mechanisms.bulk.documents import bulk
from dpcore.noise.streams import document_generator
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment
from dpcore.rewrite.reader import Reader
from dpcore.rewrite.vocabulary import UNFIT, stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.bulk.documents import Bulk
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.noise.streams import DocumentGenerators
    from dpcore.rewrite.encoded import Documents

_SIGNS = re.compile(r"[_|#/:▁Ġ<>\[\]]")  # of words with prefixes, word classes or spaces
_LOOKED_AT = 200  # texts, or words of a lexicon, for a caution


def encode_all(
    texts: Iterable[str],
    lexicon: Lexicon,
    treatment: Treatment = DEFAULT_TREATMENT,
    *,
    for_text: bool = True,
    first: int = 0,
) -> Documents:
    """Read documents: tokens, roles, lexicon indices. A blank document has no words.

    Args:
        texts: the documents.
        lexicon: the vocabulary.
        treatment: of unknown words, function words and capital letters.
        for_text: keep what `Documents.texts` needs; without, a word takes 8 bytes.
        first: number of documents before these, for messages.

    Raises:
        TextError: a word is refused by the policy; the message names the document by its number.
    """
    return Reader(lexicon, treatment).read(texts, for_text=for_text, first=first)


def vocabulary_caution(texts: Iterable[str], lexicon: Lexicon) -> str:
    """Warning if a lexicon does not hold most words of the first texts; "" if it does.

    It counts nothing: how many words are unknown is protected in a release.
    """
    words = encode_all(islice(texts, _LOOKED_AT), lexicon, for_text=False).words
    if 2 * np.count_nonzero(words < 0) <= words.size:
        return ""
    return f"most words of the first texts are not in this vocabulary: {UNFIT}"


def lexicon_caution(lexicon: Lexicon) -> str:
    """Warning if most words of a lexicon are not found when they stand in a text; "" otherwise.

    A word that is all in capitals is looked for in small letters, as most texts have it. Only the
    first words are looked at, in most files the most frequent ones: the last are often no words.
    """
    first = min(len(lexicon), 10 * _LOOKED_AT)
    places = np.linspace(0, first - 1, min(first, _LOOKED_AT)).astype(int)
    words = [lexicon.words[place] for place in places.tolist()]
    written = [word.lower() if word.isupper() and len(word) > 1 else word for word in words]
    documents = encode_all(written, lexicon, for_text=False)
    whole = np.diff(documents.offsets) == 1
    whole[[_SIGNS.search(word) is not None for word in words]] = False
    found = documents.words[documents.offsets[:-1][whole]] == places[whole]
    if 2 * np.count_nonzero(found) >= len(words):
        return ""
    return (
        "most words of this vocabulary are not found when they stand in a text: they are in "
        "capitals, have prefixes, or hold spaces or underscores; write them as texts do"
    )


def release_all(
    documents: Documents,
    mechanism: Mechanism,
    epsilon: float,
    secret: bytes,
    ids: Sequence[int | str] | None = None,
    *,
    sampler: Bulk | None = None,
    generators: DocumentGenerators | None = None,
) -> IntArray:
    """Fresh noise at one ε for every word of every document.

    Args:
        documents: over the mechanism's lexicon.
        mechanism: what rewrites.
        epsilon: the privacy parameter.
        secret: of the run.
        ids: one a document, unique in the run; 0, 1, … if None.
        sampler: `bulk(mechanism, epsilon)`, to keep laws and neighbours from call to call.
        generators: to keep generators from call to call.

    Returns:
        Output words, shape (k,), in the order of `documents.words`.

    Raises:
        ParameterError: there is not one id a document, or one stands twice.
    """
    names = range(len(documents)) if ids is None else ids
    if len(names) != len(documents) or len(set(names)) != len(names):
        raise ParameterError(
            f"{len(documents):,} documents need as many different ids, got {len(set(names)):,}"
        )
    if generators is None:
        rngs = [document_generator(secret, name) for name in names]
    else:
        rngs = generators(secret, names)
    inputs = documents.words.copy()
    # Before the noise, from the document's own stream, as `release` draws them.
    absent = np.searchsorted(documents.offsets, np.flatnonzero(inputs < 0), side="right") - 1
    for i in np.unique(absent).tolist():
        part = slice(*documents.offsets[i : i + 2].tolist())
        inputs[part] = stand_in(inputs[part], len(documents.lexicon), rngs[i])
    return (sampler or bulk(mechanism, epsilon))(rngs, inputs, documents.offsets)


def release_seconds(
    documents: Documents,
    mechanism: Mechanism,
    epsilon: float,
    ids: Sequence[int | str] | None = None,
    *,
    sampler: Bulk | None = None,
) -> float:
    """Processor time that `release_all` takes, whatever else the machine does.

    The noise is of a secret that everybody knows: only the time is wanted.

    Args:
        documents: as for `release_all`, as is the rest.
        mechanism: what rewrites.
        epsilon: the privacy parameter.
        ids: one a document.
        sampler: `bulk(mechanism, epsilon)`, if laws and neighbours are to be kept.
    """
    start = process_time()
    release_all(documents, mechanism, epsilon, bytes(32), ids, sampler=sampler)
    return process_time() - start
