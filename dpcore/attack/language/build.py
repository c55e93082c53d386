"""Counts of words and of neighbouring words in openly licensed text, for the context attacker.

The texts are those of the bundled lexicon (`dpcore.lexicon.train.sources`), cut into sentences. A
fifth of the documents of the web treebank is held out, so that an attacker can be tried on text
that was not counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.arrays import IntArray
from dpcore.attack.language.language import (
    FILE,
    LARGEST,
    Bigram,
    CountPlan,
    Counts,
    check_english,
    perplexity,
    read_counts,
    write_counts,
)
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.train.sources import SOURCES, Document, Source
from dpcore.lexicon.train.vocabulary import Corpus, tokenise
from dpcore.optional import need_of_trainer

_USED = ("wikipedia", "ewt", "snli", "snips")
_BROAD = "wikipedia"
_TREEBANK = "ewt"
_HELD_OUT = 5  # one document in this many
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def is_held_out(document: str) -> bool:
    """Return True if a document of the treebank is held out for trying attackers."""
    # By its name: a document stays held out when the texts are extended or reordered.
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % _HELD_OUT == 0


def sentences(document: Document) -> Document:
    """Cut the lines of a document behind full stops, question and exclamation marks."""
    return [part for line in document for part in _SENTENCE_END.split(line)]


def held_out_sentences(folder: Path) -> list[str]:
    """Read the held-out sentences of the treebank, which are in no count."""
    source = next(source for source in SOURCES if source.name == _TREEBANK)
    frame = need_of_trainer("pandas").read_parquet(source.path(folder))
    return [
        text for text, name in zip(frame["text"], frame["doc"], strict=True) if is_held_out(name)
    ]


def _documents(source: Source, folder: Path) -> Iterator[Document]:
    if source.name == _TREEBANK:
        frame = need_of_trainer("pandas").read_parquet(source.path(folder))
        for name, texts in frame.groupby("doc", sort=True)["text"]:
            if not is_held_out(name):
                yield sentences(texts.tolist())
        return
    for document in source.documents(folder):
        yield sentences(document)


def known_tokens(corpus: Corpus, lexicon: Lexicon) -> IntArray:
    """Return the lexicon index of each token of a corpus, −1 for an unknown word, shape (T,)."""
    known = np.array([lexicon.index(f) if f in lexicon else -1 for f in corpus.forms] + [0])[:-1]
    return np.asarray(known[corpus.ids].astype(np.int64))


def sequences(corpus: Corpus, lexicon: Lexicon) -> tuple[IntArray, IntArray]:
    """Return neighbouring pairs of a corpus, including the boundaries of its sentences.

    Returns:
        Lexicon index of each token, −1 for an unknown word, shape (T,); and the pairs with two
        known members as first·(n + 1) + second, in no order.
    """
    n = len(lexicon)
    tokens = known_tokens(corpus, lexicon)
    starts = np.ones(tokens.size, dtype=bool)
    starts[1:] = corpus.segments[1:] != corpus.segments[:-1]
    ends = np.append(starts[1:], True)[: tokens.size]
    # The boundary of a sentence, number n, is before its first word and behind its last.
    before = np.where(starts, n, np.concatenate(([n], tokens[:-1]))[: tokens.size])
    first = np.concatenate((before, tokens[ends]))
    second = np.concatenate((tokens, np.full(int(ends.sum()), n)))
    both = (first >= 0) & (second >= 0)
    return tokens, first[both] * (n + 1) + second[both]


def compounds(lexicon: Lexicon) -> frozenset[str]:
    """Return the hyphenated words of a lexicon, which tokenisation must not split."""
    return frozenset(word for word in lexicon.words if "-" in word)


def count(lexicon: Lexicon, sources: Iterable[tuple[Iterable[Document], int]], plan: CountPlan,
          progress: Progress = silent) -> Counts:  # fmt: skip
    """Count words and pairs.

    Args:
        lexicon: words to count.
        sources: documents of sentences, and their weight.
        plan: settings; they decide which pairs are stored.
        progress: called with ("sources", done, done).
    """
    n = len(lexicon)
    words = np.zeros(n, dtype=np.int64)
    keys, totals = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for done, (documents, weight) in enumerate(sources, start=1):
        tokens, pairs = sequences(tokenise([documents], compounds(lexicon)), lexicon)
        words += weight * np.bincount(tokens[tokens >= 0], minlength=n)
        distinct, often = np.unique(pairs, return_counts=True)
        keys, place = np.unique(np.concatenate((keys, distinct)), return_inverse=True)
        totals = np.bincount(place, np.concatenate((totals, weight * often))).astype(np.int64)
        progress("sources", done, done)
    first, second = np.divmod(keys, n + 1)
    # Sums over all pairs, rare ones too; only the stored pairs are cut.
    kept = totals >= plan.least
    return Counts(
        words=words,
        contexts=np.bincount(first, totals, minlength=n + 1).astype(np.int64),
        continuations=np.bincount(second, minlength=n + 1),
        first=first[kept].astype(np.int32),
        second=second[kept].astype(np.int32),
        pairs=np.minimum(totals[kept], LARGEST).astype(np.int32),
    )


def sources_of(folder: Path, everyday: int) -> list[tuple[Iterable[Document], int]]:
    """Return the shared texts in a folder: documents of sentences, and their weight.

    Args:
        folder: folder of the texts.
        everyday: weight of a text outside the encyclopedia.

    Raises:
        LexiconError: a text is missing.
    """
    used = [source for source in SOURCES if source.name in _USED]
    # Paths are checked at once: counting the first text takes minutes.
    for source in used:
        source.path(folder)
    return [(_documents(source, folder), _times(source, everyday)) for source in used]


def _times(source: Source, everyday: int) -> int:
    return 1 if source.name == _BROAD else everyday


def used_sources(folder: Path, everyday: int) -> list[dict[str, Any]]:
    """Return the shared texts' entries for a manifest: file, fingerprint, licence, part used."""
    return [
        {
            "name": source.name,
            "file": source.file,
            "sha256": sha256_of_file(source.path(folder)),
            "licence": source.licence,
            "credit": source.credit,
            "used": source.used if source.name != _TREEBANK else "four documents in five",
            "times": _times(source, everyday),
        }
        for source in SOURCES
        if source.name in _USED
    ]


def build(
    lexicon: Lexicon, folder: Path, out: Path, plan: CountPlan, progress: Progress = silent
) -> dict[str, Any]:
    """Count, try the model on the held-out text, and write the file and its manifest.

    Returns:
        The manifest.

    Raises:
        LexiconError: the lexicon is not English, as the texts are, or a text is missing.
    """
    check_english(lexicon)
    counts = count(lexicon, sources_of(folder, plan.everyday), plan, progress)
    write_counts(out / FILE, counts)
    model = Bigram.of(read_counts(out / FILE), plan.discount)
    corpus = tokenise([[[text] for text in held_out_sentences(folder)]], compounds(lexicon))
    manifest = {
        "command": "python -m dpcore language count --data ../shared/data --out data/language",
        "version": __version__,
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "plan": asdict(plan),
        "tokens": int(counts.words.sum()),
        "pairs": int(counts.pairs.size),
        "files": {
            FILE: {"sha256": sha256_of_file(out / FILE), "bytes": (out / FILE).stat().st_size}
        },
        "held_out": perplexity(model, sequences(corpus, lexicon)[1]),
        "sources": used_sources(folder, plan.everyday),
    }
    write_text(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest
