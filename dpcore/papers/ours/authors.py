"""Authorship attacks on released text: passages of weblogs, and persons with many comments.

`STUDY`: weblogs of the English Web Treebank, at equal leakage for single words. Passages come from
documents that neither the counts of the language model nor any reader has seen. For each, all
documents of all blogs but its own are known. A blog is taken for an author; some have guests, and a
blog has topics as well as a style.

`PERSONS`: synthetic authors of comments (SynthPAI: Yukhymenko, Staab, Vero, Vechev 2024). Half of
each author's comments are known, the other half is released; and a classifier predicts sex, age and
continent from the release. No one of them is real: a language model wrote the comments from
profiles, and each profile writes about its own life more than people do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.arrays import IntArray
from dpcore.attack.language.authors import (
    AnonymousText,
    Authors,
    FoundAuthors,
    KindAccuracy,
    KnownAuthors,
    follow,
    follow_written,
    joined,
    rank_authors,
    read_kinds,
    split_documents,
)
from dpcore.attack.language.build import is_held_out
from dpcore.attack.language.context import WORDS
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.leak import COUNTS, leak
from dpcore.attack.output.channel import open_channel
from dpcore.errors import StudyError
from dpcore.learn.classifiers import cross_predict, folds_of, learner_of
from dpcore.learn.corpus import Bags, bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.bulk import outputs_at
from dpcore.papers.ours.reader import complete
from dpcore.rewrite.sentence import prepare
from dpcore.study.plan import CLEAN, PRIVATE, Arm, Cell, Plan, Row, Study, kept, row
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


# Persons: authors found by all that they release, and kinds of person.

COMMENTS = 8
"""Least number of comments of a person: four are known and four released."""
LENGTHS = (25, 50, 100, 200, 400, 800)
"""Released words of a person along the learning curve, before all of them."""
TOPS = (1, 10)
KINDS = ("sex", "age", "continent")
_PERSONS = "synthpai_authors.parquet"
_LEARNER = "tf-idf"
# ε at which someone who knows how common content words are guesses about 50, 25 and 10 of 100 of
# them, from the recorded curves of the study `leak`. A response over k words cannot leak more than
# those who weigh k candidates guess: k = 10 does not reach 50.
_ARMS = (
    Arm("", label="as written"),
    Arm("k-ary", (10.12, 9.027, 7.923)),
    Arm("neighbour-response", (10.74, 8.709, 7.418), (("k", 3),), "neighbour-response, k = 3"),
    Arm("neighbour-response", (8.463, 6.783), (("k", 10),), "neighbour-response, k = 10"),
    Arm("tem", (2.684, 2.388, 2.092)),
    Arm("optimal", (1.35, 1.2, 1.05)),
)

PERSONS = Study(
    "The author found, and what kind of person, from all that a person releases",
    "",
    Plan(
        "persons-authors",
        "dpcore.papers.ours.authors:measure_persons",
        _ARMS,
        (BUNDLED,),
        (_PERSONS,),
        (_SEED,),
        (("comments", COMMENTS), ("lengths", LENGTHS), ("tops", TOPS), ("learner", _LEARNER)),
        together=True,
    ),
    f"The 261 of 300 synthetic authors with {COMMENTS} comments or more, a random half of each "
    "author's comments known and the other half released once; the kinds of person from all "
    "comments of an author, by a classifier that is trained on other authors.",
    rewrites=False,  # no corpus is learned from as a whole
)

_AGES = {"under 30": 30, "30 to 44": 45, "45 or more": 1_000}  # each below this number of years
# Countries as the profiles name them; regions of the United Nations (M49), its Americas in two.
_CONTINENTS = {
    "Africa": "Egypt, Ghana, Kenya, Morocco, Nigeria, South Africa, Tunisia, Zambia",
    "Asia": "Armenia, Azerbaijan, China, Georgia, India, Israel, Japan, Malaysia, Philippines, "
    "Singapore, South Korea, Thailand, Turkey, UAE, United Arab Emirates",
    "Europe": "Albania, Austria, Belgium, Bulgaria, Croatia, Czech Republic, Denmark, Finland, "
    "France, Germany, Greece, Hungary, Ireland, Italy, Lithuania, Netherlands, North Macedonia, "
    "Norway, Poland, Portugal, Romania, Russia, Serbia, Slovenia, Spain, Sweden, Switzerland, "
    "Ukraine, United Kingdom",
    "North America": "Canada, Cuba, El Salvador, Honduras, Jamaica, Mexico, Nicaragua, Panama, "
    "USA, United States",
    "Oceania": "Australia, New Zealand",
    "South America": "Argentina, Bolivia, Brazil, Chile, Colombia, Ecuador, Paraguay, Peru, "
    "Uruguay, Venezuela",
}
_CONTINENT_OF = {
    country: continent
    for continent, countries in _CONTINENTS.items()
    for country in countries.split(", ")
}


@dataclass(frozen=True, eq=False)
class Persons:
    """Persons with their comments and kinds.

    Attributes:
        texts: all comments, person by person.
        wrote: person of each comment, shape (t,).
        kinds: for each of `KINDS` the kind of each person, numbered from 0, shape (k,).
    """

    texts: tuple[str, ...]
    wrote: IntArray
    kinds: dict[str, IntArray]


def persons(file: Path, least: int) -> Persons:
    """Read the persons who wrote so many comments or more.

    Raises:
        StudyError: the file is not that of the authors, or a country has no continent here.
    """
    frame = read_columns(file, ("comments", "attributes"))
    frame = frame[frame["comments"].map(len) >= least]
    facts = [json.loads(text) for text in frame["attributes"]]
    countries = [str(each["city_country"]).rpartition(",")[2].strip() for each in facts]
    absent = sum(country not in _CONTINENT_OF for country in countries)
    if absent:
        raise StudyError(f"{absent} persons live in a country whose continent is not listed")
    named = {
        "sex": [str(each["sex"]) for each in facts],
        "age": [next(k for k, end in _AGES.items() if int(each["age"]) < end) for each in facts],
        "continent": [_CONTINENT_OF[country] for country in countries],
    }
    return Persons(
        tuple(str(text) for texts in frame["comments"] for text in texts),
        np.repeat(np.arange(len(frame)), frame["comments"].map(len)),
        {name: np.unique(kinds, return_inverse=True)[1] for name, kinds in named.items()},
    )


def measure_persons(cell: Cell, sources: Sources) -> list[Row]:
    """Measure the text as written, or one mechanism at all its ε.

    Options: `comments`, least number of a person; `lengths` and `tops`, as for
    `dpcore.attack.language.authors.FoundAuthors`; `learner`, the classifier.

    Returns:
        For each ε and number of words (`at`; empty for all) `author place` and `author among`
        (the first `variant`), with those by chance; for each of `KINDS` (`variant`) the share of
        persons whose kind is named: `kind` (by a classifier that learned from text as it is
        tested), `kind from originals` (it learned from original text), `kind by channel` (naive
        Bayes through the exact channel, of original text), and `kind by chance`, that of the
        commonest kind; the share of content words guessed, `word`, and of positions whose word
        stayed, `nw`.
    """
    lexicon = sources.lexicon(cell.lexicon)
    people = persons(sources.file(cell.data), int(cell.option("comments")))
    bags = bags_of(people.texts, lexicon)
    known, released = split_documents(people.wrote, cell.seed)
    frequency = word_frequencies(lexicon)
    suspects = KnownAuthors(joined(bags, known), frequency)
    lengths, tops = tuple(cell.option("lengths")), tuple(cell.option("tops"))
    everything = [np.flatnonzero(people.wrote == person) for person in range(suspects.count)]
    originals = joined(bags, everything)

    learner = str(cell.option("learner"))
    folds = {name: folds_of(labels, cell.seed) for name, labels in people.kinds.items()}

    def of_kind(
        quantity: str, name: str, predicted: IntArray, epsilon: float | None, by: str = ""
    ) -> Row:
        right = KindAccuracy.of(predicted, people.kinds[name])
        return row(
            quantity, right.share, low=right.low, high=right.high, count=right.persons,
            variant=name, epsilon=epsilon, learner=by,
            tested_on=CLEAN if epsilon is None else PRIVATE,
        )  # fmt: skip

    def classified(quantity: str, training: Bags, tested: Bags, epsilon: float | None) -> list[Row]:
        return [
            of_kind(
                quantity, name,
                cross_predict(
                    learner_of(learner), training, tested, labels, folds[name], lexicon.vectors,
                    cell.generator("learner"),
                ),
                epsilon, learner,
            )
            for name, labels in people.kinds.items()
        ]  # fmt: skip

    def by_channel(predicted: Sequence[IntArray], epsilon: float | None) -> list[Row]:
        named = zip(people.kinds, predicted, strict=True)
        return [of_kind("kind by channel", name, each, epsilon) for name, each in named]

    asked = originals, list(people.kinds.values()), list(folds.values())
    if not cell.mechanism:
        found = follow_written(suspects, joined(bags, released), lengths)
        read_as_written = read_kinds(None, *asked, [originals], (), frequency)[0]
        commonest = {
            name: np.full(labels.size, np.bincount(labels).argmax())
            for name, labels in people.kinds.items()
        }
        return [
            *_found_rows(found, tops, None),
            *classified("kind", originals, originals, None),
            *by_channel(read_as_written, None),
            *(of_kind("kind by chance", *each, None) for each in commonest.items()),
        ]
    mechanism = sources.mechanism(cell)
    rng = cell.generator("texts")
    outputs = outputs_at(mechanism, rng, bags.inputs(rng), cell.epsilons)
    private = [bags.with_words(column) for column in outputs.T]
    channel = open_channel(mechanism)
    halves = [joined(text, released) for text in private]
    ranked = follow(channel, suspects, halves, cell.epsilons, lengths)
    written = [joined(text, everything) for text in private]
    read = read_kinds(channel, *asked, written, cell.epsilons, frequency)
    guessed = leak(mechanism, cell.epsilons, COUNTS)
    rows: list[Row] = []
    for e, epsilon in enumerate(cell.epsilons):
        share = guessed[e]
        rows += [
            row("word", share.after, epsilon=epsilon, low=share.low, high=share.high),
            kept((bags, private[e]), epsilon=epsilon),
            *_found_rows(ranked[e], tops, epsilon),
            *classified("kind", written[e], written[e], epsilon),
            *classified("kind from originals", originals, written[e], epsilon),
            *by_channel(read[e], epsilon),
        ]
    return rows


def _found_rows(found: FoundAuthors, tops: Sequence[int], epsilon: float | None) -> list[Row]:
    rows = [row("place by chance", (found.authors + 1) / 2, epsilon=epsilon, count=found.authors)]
    for point in found.rows(tops):
        where = {"epsilon": epsilon, "at": point["words"], "count": point["authors"]}
        place = point["place"]
        rows.append(
            row("author place", place["mean"], low=place["low"], high=place["high"], **where)
        )
        for top in point["top"]:
            ends = {"low": top["low"], "high": top["high"], "variant": str(top["count"])}
            rows.append(row("author among", top["share"], **ends, **where))
            if point["words"] is None:
                rows.append(
                    row("among by chance", top["chance"], variant=str(top["count"]), **where)
                )
    return rows
