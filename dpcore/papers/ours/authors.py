"""Authorship attack on released text: weblogs of the English Web Treebank, at equal leakage.

Leakage is equal for single words. Passages come from documents that neither the counts of the
language model nor any reader has seen. For each, all documents of all blogs but its own are known.
A blog is taken for an author; some have guests, and a blog has topics as well as a style.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpcore.attack.language.authors import AnonymousText, Authors, rank_authors
from dpcore.attack.language.build import is_held_out
from dpcore.attack.language.context import WORDS
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.output.channel import open_channel
from dpcore.learn.corpus import bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.ours.reader import complete
from dpcore.rewrite.sentence import prepare
from dpcore.study.plan import Arm, Cell, Plan, Row, Study, row
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import BUNDLED, read_columns

PASSAGE, PASSAGES = 50, 4
"""Least number of words of a passage, in whole sentences; most passages of a document."""
_FILE = "ewt_sentences.parquet"
_SEED = 1

STUDY = Study(
    "Who wrote a released text, at equal leakage",
    "",
    Plan(
        "authors",
        "dpcore.papers.ours.authors:measure_authors",
        (Arm(""),),
        (BUNDLED,),
        (_FILE,),
        (_SEED,),
        (("passage", PASSAGE), ("passages", PASSAGES)),
        together=True,
    ),
    f"Passages of {PASSAGE} words or a few more, at most {PASSAGES} of each held-out document of "
    "the weblogs of the English Web Treebank, each rewritten once at each of two ε by the "
    "mechanisms of the benchmark whose probabilities are computed over the whole lexicon.",
    rewrites=False,  # the training texts are not rewritten
    complete=complete,
)


def measure_authors(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at all its ε.

    Options: `passage`, its words; `passages`, of a document at most; `levels`, pairs of ε and the
    leakage at that ε.

    Returns:
        For each ε and attacker (`variant`) the share of passages whose author is named, the mean
        rank of the author and that by chance: `author first`, `author place`, `place by chance`.
    """
    authors, tried = blogs(
        sources.lexicon(cell.lexicon), sources.file(cell.data),
        int(cell.option("passage")), int(cell.option("passages")),
    )  # fmt: skip
    channel, levels = open_channel(sources.mechanism(cell)), dict(cell.option("levels"))
    rows = [row("place by chance", (authors.count + 1) / 2, count=len(tried))]
    for epsilon in cell.epsilons:
        ranked = rank_authors(channel, authors, tried, epsilon, reader=WORDS, seed=cell.seed)
        where = {"epsilon": epsilon, "at": levels[epsilon], "count": len(tried)}
        for name in ranked.places:
            first, mean = ranked.first(name), ranked.mean(name)
            rows += [
                row(
                    "author first", first["share"], low=first["low"], high=first["high"],
                    variant=name, **where,
                ),
                row(
                    "author place", mean.mean, low=mean.low, high=mean.high, variant=name, **where
                ),
            ]  # fmt: skip
    return rows


def blogs(
    lexicon: Lexicon, file: Path, passage: int, passages: int
) -> tuple[Authors, list[AnonymousText]]:
    """Return the blogs with two documents or more, and the passages of their held-out documents.

    Raises:
        StudyError: the file is not that of the treebank.
    """
    frame = read_columns(file, ("text", "label", "doc"))
    frame = frame[frame["label"] == "weblog"]
    sentences = {str(name): texts.tolist() for name, texts in frame.groupby("doc")["text"]}
    blog = {name: name.split("_20")[0] for name in sentences}  # date and hour follow
    wrote = list(blog.values())
    # With one document a blog has nothing left that is known of it.
    kept = [name for name in sentences if wrote.count(blog[name]) > 1]
    names = sorted({blog[name] for name in kept})
    bags = bags_of([" ".join(sentences[name]) for name in kept], lexicon)
    authors = Authors(
        bags, np.array([names.index(blog[name]) for name in kept]), word_frequencies(lexicon)
    )
    tried = [
        AnonymousText(prepare(text, lexicon), document)
        for document, name in enumerate(kept)
        if is_held_out(name)
        for text in _passages(sentences[name], passage)[:passages]
    ]
    return authors, tried


def _passages(sentences: Sequence[str], words: int) -> list[str]:
    """Join sentences in order until a passage has enough words; the remainder is left out."""
    made: list[str] = []
    held: list[str] = []
    for sentence in sentences:
        held += sentence.split()
        if len(held) >= words:
            made.append(" ".join(held))
            held = []
    return made
