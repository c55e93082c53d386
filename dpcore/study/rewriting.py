"""How much of a text is left after rewriting, at each ε: the texts that come out are compared.

The comparison is with the text as it was written; so even without noise something is lost: words
outside the vocabulary, which are never passed through, and some white space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import TextError
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS
from dpcore.measure.similarity.rewriting_quality import bleu, greedy_matching, rouge1, words_kept
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import prepare
from dpcore.study.plan import canonical
from dpcore.study.rows import Row, row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.similarity.encoder import Encoder
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.sentence import Sentence

QUANTITIES = {
    "nw": "Nw: share of the words that stay",
    "rouge1_recall": "ROUGE-1 recall",
    "rouge1": "ROUGE-1 F1",
    "bleu": "BLEU (0 to 100)",
    "matching": "greedy matching of static vectors, F1",
    "bert_style": "greedy matching of contextual vectors (BERTScore's formula), F1",
    "cosine": "cosine of sentence vectors",
}
"""The quantities, and what they are called."""


def rewriting(
    texts: Sequence[str],
    lexicon: Lexicon,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    seed: int,
    encoder: Encoder | None = None,
) -> Iterator[Row]:
    """Rows of every quantity at each ε, from one noise draw of `seed`.

    Args:
        texts: as written; those without a word to protect are left out.
        lexicon: of the mechanism; its vectors are those that are matched.
        mechanism: None: the words stay, except that unknown ones have random stand-ins.
        epsilons: of the mechanism.
        seed: of all noise.
        encoder: for the contextual quantities; without it they are left out.

    Raises:
        TextError: a text cannot be read, or none holds a word.
        EpsilonError: the mechanism does not have an ε.
    """
    limits: dict[str, Any] = {
        "max_characters": MAX_FILE_CHARACTERS,
        "max_tokens": MAX_FILE_TOKENS,
    }
    read = [(text, prepare(text, lexicon, **limits)) for text in texts if text.strip()]
    read = [(text, sentence) for text, sentence in read if sentence.protected]
    if not read:
        raise TextError("none of the texts holds a word to rewrite: there is nothing to compare")
    before = np.concatenate([sentence.words for _, sentence in read])
    key = (mechanism.key, canonical(mechanism.settings())) if mechanism else ("",)
    rng = generator(seed, "rewritten text", *key)
    # Drawn for every place: which other words are unknown must not change a stand-in.
    inputs = np.where(before < 0, rng.integers(len(lexicon), size=before.size), before)
    meanings = encoder.pieces([text for text, _ in read]) if encoder else []
    if mechanism is None:
        yield from _compared(read, before, inputs, lexicon, None)
        if encoder:
            yield from _meanings(read, inputs, encoder, meanings, None)
        return
    outputs = outputs_at(mechanism, rng, inputs, np.asarray(epsilons))
    for e, epsilon in enumerate(epsilons):
        yield from _compared(read, before, outputs[:, e], lexicon, epsilon)
        if encoder:
            yield from _meanings(read, outputs[:, e], encoder, meanings, epsilon)


def _compared(
    read: Sequence[tuple[str, Sentence]],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    lexicon: Lexicon,
    epsilon: float | None,
) -> Iterator[Row]:
    """Every quantity at one ε but those of meaning."""
    ends, parts, written = _written(read, after)
    yield from likeness([text for text, _ in read], written, before, after, epsilon=epsilon)
    # An unknown word has no vector that could be matched with what is written in its place.
    known = [part[part >= 0] for part in np.split(before, ends)]
    matched = greedy_matching(known, parts, lexicon.vectors).f1
    if np.isfinite(matched).any():  # else no text has a known word
        yield row("matching", float(np.nanmean(matched)), epsilon=epsilon, count=len(read))


def likeness(
    originals: Sequence[str],
    written: Sequence[str],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    **named: Any,
) -> Iterator[Row]:
    """Words that stay, and the overlap of texts as they are written, by ROUGE-1 and BLEU.

    Args:
        originals: texts as they were.
        written: texts as they became.
        before: their words, −1 outside the vocabulary, shape (t,).
        after: what became of each, shape (t,).
        named: other columns of the rows.
    """
    yield row("nw", words_kept(before, after), count=before.size, **named)
    overlap = rouge1(originals, written)
    for quantity, value in (
        ("rouge1_recall", overlap.recall.mean()),
        ("rouge1", overlap.f1.mean()),
        ("bleu", bleu(originals, written)),
    ):
        yield row(quantity, value, count=len(written), **named)


def _meanings(
    read: Sequence[tuple[str, Sentence]],
    after: NDArray[np.int64],
    encoder: Encoder,
    meanings: Sequence[NDArray[np.float32]],
    epsilon: float | None,
) -> Iterator[Row]:
    """The quantities that an encoder gives, at one ε."""
    from dpcore.measure.similarity.encoder import compare

    style, cosine = compare(meanings, encoder.pieces(_written(read, after)[2]))
    yield row("bert_style", style.mean(), epsilon=epsilon, count=len(read))
    yield row("cosine", cosine.mean(), epsilon=epsilon, count=len(read))


def _written(
    read: Sequence[tuple[str, Sentence]], after: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], list[str]]:
    """Where each text ends, its words after rewriting, and what is written."""
    ends = np.cumsum([sentence.protected for _, sentence in read])[:-1]
    parts = np.split(after, ends)
    return ends, parts, [s.write(part).text for (_, s), part in zip(read, parts, strict=True)]
