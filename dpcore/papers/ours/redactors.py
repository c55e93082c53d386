"""Redactors beside a mechanism: remaining text of the teaching corpus, and its leakage.

A redactor blacks out the words that it takes for personal data, and releases every other word
unchanged. So nearly the whole text remains; and a text can be recognised by its ordinary words,
which no redactor looks for. Four quantities are measured, on texts with marked personal data:

* `left`: words for which the release holds the original word; `personal` the same for the marked
  words, by kind in the column `variant`. A word is left unless a character of it is blacked out; a
  mechanism leaves it if it draws the word itself (words that its lexicon lacks never stay).
* `linked`: two ordinary (unmarked) words of a text, which the release of this text holds and no
  other release does (`dpcore.attack.linking`); every pair is tried.
* `first` and `ten`: words under the blocks that an attacker who knows English names with one
  guess, and with ten (`dpcore.attack.language`). They are given the number of words that a block
  covers, which it hides; a word that the lexicon lacks they cannot name. With the variant `known`,
  the share among all other words.

Redactors draw no noise, and the mechanism is drawn once: intervals are of level 95 %, from the
spread between texts.

`PERSONS` compares them by what they leave of annotated facts about persons, with mechanisms at
equal leakage of words, and redactors before mechanisms (`dpcore.attack.persons`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.attack.language.context import SENTENCE_ENDS
from dpcore.attack.language.language import Bigram, forward_backward, language
from dpcore.attack.language.recovered import share_of
from dpcore.attack.leak import COUNTS, READS, leak
from dpcore.attack.linking import linking, ordinary_words_of
from dpcore.attack.persons import FactsLeft, facts_left
from dpcore.learn.corpus import SPAN_TYPES, Bags, Corpus, bags_of, teaching_corpus
from dpcore.learn.corpus import Span as Marked
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.bulk import outputs_at
from dpcore.rewrite.redact.redaction import Redaction, redact
from dpcore.rewrite.redact.spans import Span, parse_facts
from dpcore.rewrite.sentence import Sentence, prepare
from dpcore.rewrite.tokens import Kind
from dpcore.study.plan import Arm, Cell, Plan, Row, Settings, Study, row
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import read_columns

ARMS = (
    Arm("", label="as written"),
    Arm("", label="rules", options=(("redactor", "rules"),)),
    Arm("", label="entities", options=(("redactor", "entities"),)),
    Arm("tem", (2.1,)),
)
"""TEM at the ε at which one word of ten is guessed (`dpcore.papers.ours.equal_leakage`)."""
KNOWN, GUESSES = 2, {"first": 1, "ten": 10}
_DEVIATIONS = 1.96  # of a normal law, for an interval of level 95 %

STUDY = Study(
    "Redactors: what they leave of a text, and what that tells",
    "",
    Plan("redactors", f"{__name__}:measure_redactor", ARMS, ("bundled",), together=True),
    "All 1,440 texts of the teaching corpus; every pair of ordinary words of each; TEM drawn once.",
    rewrites=False,  # no classifier learns from the texts
)


def measure_redactor(cell: Cell, sources: Sources) -> list[Row]:
    """Measure what one redactor, one mechanism or neither leaves of the corpus.

    Option: `redactor`, its name.

    Raises:
        MissingPackageError: the packages of the redactor are not installed.
    """
    corpus, lexicon = teaching_corpus(), sources.lexicon(cell.lexicon)
    bags, sentences = bags_of(corpus.texts, lexicon), [prepare(t, lexicon) for t in corpus.texts]
    redactor = cell.option("redactor")
    stays, released = np.ones(bags.words.size, dtype=bool), bags
    if cell.mechanism:
        rng = cell.generator("texts")
        outputs = outputs_at(sources.mechanism(cell), rng, bags.inputs(rng), cell.epsilons)[:, 0]
        stays, released = outputs == bags.words, bags.with_words(outputs)
    elif redactor:
        found = [redact(text, redactor) for text in corpus.texts]
        stays = ~np.concatenate(list(map(hidden, sentences, found)))
        # −1 is an unknown word: a block may be any word.
        released = bags.with_words(np.where(stays, bags.words, -1))
    rows = [*_left(corpus, sentences, bags, stays), _linked(corpus, lexicon, released)]
    if redactor:
        rows += _guessed(language(lexicon), sentences, bags, stays)
    return [each | {"epsilon": cell.epsilon} for each in rows]


def hidden(sentence: Sentence, redaction: Redaction) -> NDArray[np.bool_]:
    """Return True for each position of a text that is at least partly blacked out, shape (L,).

    A compound that the lexicon lacks may be two positions; it is one word to a redactor.
    """
    words = np.array([word.hidden for word in redaction.words], dtype=bool)
    number = np.cumsum([token.kind is not Kind.PUNCTUATION for token in sentence.tokens]) - 1
    return np.asarray(words[number[[slot.source for slot in sentence.encoding.open_slots]]])


def marks(sentence: Sentence, text: str, spans: Sequence[Marked]) -> NDArray[np.str_]:
    """Return the kind of marked data at each position of a text, shape (L,); "" for none."""
    kinds = np.full(sentence.protected, "", dtype=f"<U{max(map(len, SPAN_TYPES))}")
    for span in spans:
        kinds[hidden(sentence, Redaction(text, (Span(*span),), ""))] = span.type
    return kinds


def _left(
    corpus: Corpus, sentences: Sequence[Sentence], bags: Bags, stays: NDArray[np.bool_]
) -> Iterator[Row]:
    """Yield the shares of words that are left: of all words, and of the marked ones."""
    marked = np.concatenate(list(map(marks, sentences, corpus.texts, corpus.spans)))
    yield _share("left", bags, stays, np.ones(stays.size, dtype=bool))
    yield _share("personal", bags, stays, marked != "")
    for kind in SPAN_TYPES:
        yield _share("personal", bags, stays, marked == kind, kind)


def _share(
    quantity: str,
    bags: Bags,
    right: NDArray[np.bool_],
    total: NDArray[np.bool_],
    variant: str = "",
) -> Row:
    """Return a share of words with its interval: the words of one text are not independent."""
    hits, words = (
        # Summed text by text, since a text is what is drawn independently.
        np.add.reduceat(which.astype(np.float64), bags.offsets[:-1])
        for which in (right & total, total)
    )
    share = share_of(hits, words)
    return row(
        quantity,
        share["share"],
        variant=variant,
        low=share["low"],
        high=share["high"],
        count=int(share["tokens"]),
    )


def _linked(corpus: Corpus, lexicon: Lexicon, released: Bags) -> Row:
    """Return how often two ordinary words of a text occur together in its release only."""
    texts = [frozenset(released.part([i]).words.tolist()) - {-1} for i in range(len(released))]
    link = linking(ordinary_words_of(corpus, lexicon), KNOWN, texts)
    half = _DEVIATIONS * link.error
    low, high = max(0.0, link.alone - half), min(1.0, link.alone + half)
    return row("linked", link.alone, low=low, high=high, count=link.texts)


def _guessed(
    model: Bigram, sentences: Sequence[Sentence], bags: Bags, stays: NDArray[np.bool_]
) -> Iterator[Row]:
    """Yield the shares of words under the blocks that are named with one guess, and with ten."""
    parts = np.split(stays, bags.offsets[1:-1])
    ranks = np.concatenate([ranked(model, *each) for each in zip(sentences, parts, strict=True)])
    for quantity, guesses in GUESSES.items():
        for variant, which in (("", ~stays), ("known", ~stays & (bags.words >= 0))):
            yield _share(quantity, bags, ranks < guesses, which, variant)


def ranked(model: Bigram, sentence: Sentence, stays: NDArray[np.bool_]) -> FloatArray:
    """Return the number of words that the attacker ranks above the true word, shape (L,).

    Args:
        model: language model of English.
        sentence: the text.
        stays: True at each position that is left, shape (L,).

    Returns:
        Infinity for a word that is left, and for a word that the lexicon lacks.
    """
    n, words = model.boundary, sentence.words
    ranks = np.full(words.size, np.inf)
    for run in _runs(sentence, stays, n):
        evidence = [np.ones(n) if seen is None else seen for _, seen in run]
        for (place, seen), law in zip(run, forward_backward(model, evidence), strict=True):
            if seen is None and words[place] >= 0:
                ranks[place] = float((law > law[words[place]]).sum())
    return ranks


def _runs(
    sentence: Sentence, stays: NDArray[np.bool_], end: int
) -> Iterator[list[tuple[int, int | None]]]:
    """Yield runs of adjacent blocks, with the visible words on both sides of them.

    A visible word splits the chain: nothing beyond a run's neighbours adds information about it. An
    entry is a position (−1 for the end of a sentence) and the visible word there: None for a block.
    """
    run: list[tuple[int, int | None]] = []
    place = -1
    for slot in sentence.encoding.slots:
        if slot.is_open:
            place += 1
            run.append((place, int(sentence.words[place]) if stays[place] else None))
        elif slot.text[-1:] in SENTENCE_ENDS:
            run.append((-1, end))
        else:
            continue
        if run[-1][1] is not None:
            if any(seen is None for _, seen in run):
                yield run
            run = run[-1:]
    if any(seen is None for _, seen in run):
        yield run


# Facts about persons, of redactors, of mechanisms at equal leakage, and of both together.


_FILE, _DRAWS = "panorama_people.parquet", 100
_REWRITTEN = 30  # times, of Madlib: its attacker weighs all words for each output
_BOTH: Settings = (("redactors", ("", "rules", "entities")),)
_READ: Settings = (*_BOTH, ("reads", True))
PERSON_ARMS = (
    Arm("", label="as written", options=(("redactors", ("",)),)),
    Arm("", label="redactors", options=(("redactors", ("rules", "entities")), ("reads", True))),
    # At these ε `counts` guesses about 10, 25 and 50 of 100 content words; a mechanism that does
    # not reach a level is absent there (`dpcore.papers.ours.tradeoff.LEAK`). Calibrated TEM and
    # SanText have the law of TEM, at another ε and at this one. 1-Diffractor and SynTF, whose laws
    # take minutes for each ε here, are left out.
    Arm("optimal", (1.05, 1.2, 1.35), options=_BOTH),  # steps of its weights
    Arm("tem", (2.092, 2.388, 2.684), options=_READ),
    Arm("madlib", (9.217, 11.35, 13.83), options=(*_BOTH, ("draws", _REWRITTEN))),
    Arm("k-ary", (7.923, 9.027, 10.12), options=_BOTH),
    *(
        Arm("neighbour-response", values, (("k", k),), f"neighbour-response, k = {k}", _BOTH)
        for k, values in ((3, (7.418, 8.709, 10.74)), (10, (6.783, 8.463)), (30, (6.348,)))
    ),
    Arm("custext", (6.32,), options=_BOTH),
)
PERSONS = Study(
    "Facts left: annotated facts about persons, after redactors and mechanisms",
    "",
    Plan(
        "persons-facts",
        f"{__name__}:measure_persons",
        PERSON_ARMS,
        ("bundled",),
        (_FILE,),
        options=(("draws", _DRAWS),),
        together=True,
    ),
    "All 531 texts of PANORAMA with annotated facts; what is left and what `counts` guesses is "
    f"summed where the law is exact, and counted over {_REWRITTEN} rewritings for Madlib; values "
    f"of several words are told apart on {_DRAWS} outputs of each fact; TEM is read once by "
    "bigrams.",
    rewrites=False,  # no classifier learns from the texts
)


def measure_persons(cell: Cell, sources: Sources) -> list[Row]:
    """Measure the facts that one mechanism at all its ε leaves, alone and behind redactors.

    Quantities: `left`, `guessed` and `before` by `counts`, `guessed-reads` by the bigrams, `apart`;
    with the tag in the column `variant`, "" for all. `outside` counts facts with a word outside the
    vocabulary. `persons-left`, `persons-guessed` and `persons-guessed-reads`: persons of whom a
    fact is. `leak`: the share of content words that `counts` guesses at this ε.

    Options: `redactors`, their names, "" for none; `draws`; `reads`, True to read on as well.

    Raises:
        MissingPackageError: the packages of a redactor are not installed.
    """
    lexicon, draws = sources.lexicon(cell.lexicon), int(cell.option("draws"))
    frame = read_columns(sources.file(cell.data), ("text", "subjects"))
    cells = zip(frame["text"].tolist(), frame["subjects"].tolist(), strict=True)
    texts = [parse_facts(str(text), str(facts)) for text, facts in cells]
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    redactors = tuple(cell.option("redactors"))
    more: dict[str, Any] = {"redactors": redactors, "draws": draws, "seed": cell.seed}
    results = facts_left(texts, lexicon, mechanism, cell.epsilons, **more)
    rows = [each for result in results for each in _person_rows(result, cell.label)]
    if cell.option("reads", False):
        # The share that is read takes a text of its own, so it is measured without a redactor.
        more["redactors"] = redactors[:1] if mechanism else redactors
        read = facts_left(texts, lexicon, mechanism, cell.epsilons, stranger=READS, **more)
        rows += [
            each | {"quantity": f"{each['quantity']}-{READS}"}
            for result in read
            for each in _person_rows(result, cell.label)
            if each["quantity"].endswith("guessed")
        ]
    if mechanism is not None:
        rows += [
            row("leak", each.after, low=each.low, high=each.high, epsilon=each.epsilon)
            for each in leak(mechanism, cell.epsilons, COUNTS, seed=cell.seed)
        ]
    return rows


def _person_rows(result: FactsLeft, label: str) -> Iterator[Row]:
    """Yield the shares of one release; a redactor before it is named in the label."""
    name = label if result.mechanism else ""
    at: dict[str, Any] = {"epsilon": result.epsilon}
    named = {"label": " + ".join(filter(None, (result.redactor, name))) or label}
    for each in result.tags:
        if not each.facts:
            continue
        for quantity, share, count in (
            ("left", each.left, each.facts),
            ("guessed", each.guessed, each.facts),
            ("apart", each.apart, each.compared),
        ):
            if share is not None:
                ends = {"low": share.low, "high": share.high, "count": count}
                yield named | row(quantity, share.value, variant=each.tag, **ends, **at)
        numbers = {"before": each.before or 0.0, "outside": each.outside}
        for quantity, number in numbers.items():
            yield named | row(quantity, number, variant=each.tag, count=each.facts, **at)
    for quantity, share in (
        ("persons-left", result.persons_left),
        ("persons-guessed", result.persons_guessed),
    ):
        if share is not None:
            ends = {"low": share.low, "high": share.high, "count": result.persons}
            yield named | row(quantity, share.value, **ends, **at)
