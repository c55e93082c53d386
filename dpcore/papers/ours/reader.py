"""Reconstruction of the teaching corpus by a reader of English: trial and study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpcore.attack.language.context import BIGRAM, SMOLLM2, WORDS
from dpcore.attack.language.recovered import BLIND, CONTEXT, FREQUENCY, TEN, recover, share_of
from dpcore.attack.output.channel import Channel, open_channel
from dpcore.learn.corpus import teaching_corpus
from dpcore.learn.intervals import ratio_of_sums
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.rewrite.sentence import Sentence, prepare
from dpcore.study.plan import Arm, Cell, Given, Plan, Row, Study, row
from dpcore.study.recorded import read_recorded
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import BUNDLED

# Recovery of changed content words from texts by attackers with increasing knowledge.
#
# Every text is rewritten once at each ε and given to all attackers
# (`dpcore.attack.language.recovered`). The interval of a share comes from the spread between texts,
# because the words of one text are not independent.


FIRST, TENTH, GAIN_FIRST, GAIN_TEN = (
    "recovered first", "recovered in ten", "gain first", "gain in ten",
)  # fmt: skip
"""Shares of the changed content words, and the gain of the network over the bigrams."""
READ_BY = (BLIND, FREQUENCY, BIGRAM)
"""The attackers besides the reader under test: one that sees nothing, one that sees the output, and
bigrams, which read the text as well."""
_QUANTILE = 1.96


def trial_rows(
    channel: Channel,
    sentences: Sequence[Sentence],
    epsilon: float,
    level: float,
    seed: int,
    tried: str = WORDS,
) -> Iterator[Row]:
    """Measure one mechanism at one ε.

    Args:
        channel: channel of the mechanism, over the whole lexicon.
        sentences: the texts, each with a protected word of the vocabulary.
        epsilon: ε of every word.
        level: level of leakage at this ε, for the column `at`.
        seed: seed of the noise.
        tried: the reader whose gain over the bigrams is measured.

    Yields:
        Rows of the four quantities; `variant` is the attacker, `count` the number of words.
    """
    attackers = (*READ_BY, tried)
    total = np.zeros(len(sentences))
    right = np.zeros((len(attackers), 2, len(sentences)))
    for i, sentence in enumerate(sentences):
        words = sentence.inputs(seed)
        rng = generator(seed, "reader trial", channel.mechanism.key, i)
        outputs = channel.mechanism.sample(rng, words, epsilon)
        by_reader = {
            reader: recover(channel, sentence, outputs, epsilon, reader=reader)
            for reader in (BIGRAM, tried)
        }
        total[i] = by_reader[BIGRAM].counted.sum()
        for a, name in enumerate(attackers):
            recovered = by_reader[tried if name == tried else BIGRAM]
            attacker = CONTEXT if name in by_reader else name
            right[a, :, i] = recovered.right(attacker), recovered.right(attacker, TEN)
    if not total.any():
        return
    count = int(total.sum())
    for k, (quantity, gain) in enumerate(((FIRST, GAIN_FIRST), (TENTH, GAIN_TEN))):
        for a, name in enumerate(attackers):
            share = share_of(right[a, k], total)
            yield row(
                quantity, share["share"], epsilon=epsilon, at=level, variant=name,
                low=share["low"], high=share["high"], count=count,
            )  # fmt: skip
        more, error = ratio_of_sums(right[-1, k] - right[-2, k], total)
        yield row(
            gain, more, epsilon=epsilon, at=level, variant=tried,
            low=more - _QUANTILE * error, high=more + _QUANTILE * error, count=count,
        )  # fmt: skip


LEVELS = (0.10, 0.25)
"""Shares of content words guessed by someone who knows how common they are: levels of the
benchmark."""
TEXTS = 12
_BENCHMARK = "benchmark"
_SEED = 1


def complete(plan: Plan, given: Given) -> tuple[Plan, list[Row]]:
    """Give every mechanism whose law is exact its ε of the recorded benchmark.

    Returns:
        The plan with an arm for each mechanism, in the order of the benchmark, and no rows.

    Raises:
        StudyError: the benchmark is not recorded.
    """
    (lexicon,) = given.lexicons.values()
    table = read_recorded(_BENCHMARK).table
    table = table[(table["quantity"] == "level") & table["at"].isin(LEVELS) & (table["value"] > 0)]
    settings = {
        arm["label"] or arm["mechanism"]: arm["settings"]
        for arm in read_recorded(_BENCHMARK).entry.plan["arms"]
    }
    arms = []
    for label, rows in table.groupby("label", sort=False):
        short = str(rows["mechanism"].iloc[0])
        pairs = tuple((str(k), v) for k, v in settings[str(label)])
        mechanism = create(short, lexicon, dict(pairs))
        # The others have no probabilities over the whole lexicon for a reader to weigh.
        if not (mechanism.exact_law and mechanism.column_form):
            continue
        levels = tuple((float(e), float(a)) for e, a in zip(rows["value"], rows["at"], strict=True))
        arms.append(
            Arm(short, tuple(e for e, _ in levels), pairs, str(label), (("levels", levels),))
        )
    return replace(plan, arms=tuple(arms)), []


def _study(name: str, title: str, *options: tuple[str, object]) -> Study:
    return Study(
        title,
        "",
        Plan(
            name,
            "dpcore.papers.ours.reader:measure_reader",
            (Arm(""),),
            (BUNDLED,),
            seeds=(_SEED,),
            options=(("texts", TEXTS), *options),
            together=True,
        ),
        f"{TEXTS} test texts of the teaching corpus, each rewritten once at each of two ε by the "
        "mechanisms of the benchmark whose probabilities are computed over the whole lexicon; "
        "content words that were replaced by another word count.",
        rewrites=False,  # nothing is learned from the texts
        complete=complete,
    )


STUDY = _study("reader", "What a reader of English gets back, at equal leakage")
LARGE = _study(
    "reader-smollm2", "What a language model gets back, at equal leakage", ("reader", SMOLLM2)
)
STUDIES = (STUDY, LARGE)


def texts_of(lexicon: Lexicon, count: int, seed: int) -> list[Sentence]:
    """Draw test texts of the teaching corpus, each with a word of the vocabulary."""
    return [sentence for _, sentence in drawn_tests(lexicon, count, seed)]


def drawn_tests(lexicon: Lexicon, count: int, seed: int) -> list[tuple[int, Sentence]]:
    """Return the same texts, each with its number among the test texts."""
    tests = teaching_corpus().part("test")
    order = generator(seed, "reader texts").permutation(len(tests)).tolist()
    prepared = ((i, prepare(tests.texts[i], lexicon)) for i in order)
    known = ((i, sentence) for i, sentence in prepared if (sentence.words >= 0).any())
    return [each for each, _ in zip(known, range(count), strict=False)]


def measure_reader(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at all its ε.

    Options: `texts`, their number; `reader`, the reader beside the bigrams, "words" by default;
    `levels`, pairs of ε and the leakage at that ε.
    """
    mechanism = sources.mechanism(cell)
    channel = open_channel(mechanism)
    sentences = texts_of(sources.lexicon(cell.lexicon), int(cell.option("texts")), cell.seed)
    levels, reader = dict(cell.option("levels")), str(cell.option("reader", WORDS))
    return [
        each
        for epsilon in cell.epsilons
        for each in trial_rows(channel, sentences, epsilon, levels[epsilon], cell.seed, reader)
    ]
