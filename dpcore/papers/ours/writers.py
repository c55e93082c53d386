"""Writers beside mechanisms for words, at one ε of the whole text: remaining utility.

Between any two texts (of as many words) the whole text has one ε, divided evenly among the draws:
the tokens of a writer, the words of a mechanism for words. It is the only scale that all of them
share. For every output text are measured

* `cosine`: its meaning, by a sentence encoder, against the original text;
* `kept`: original words of the vocabulary that occur in it, counted with multiplicity, anywhere;
* `accuracy` and `majority`: how often a classifier that learned from original texts predicts its
  sentiment or its topic (`variant`), and how often the largest class of the training texts is
  correct.

Each text is written once: intervals are of level 95 %, from the spread between texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpcore.audit.composition import composition
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.learn.classifiers import learner_of, train
from dpcore.learn.corpus import LABELLINGS, LabelledTexts, bags_of, teaching_corpus
from dpcore.learn.intervals import mean_interval
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.similarity import load_encoder
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers.ours.reader import drawn_tests
from dpcore.rewrite.sentence import prepare
from dpcore.rewrite.write.writers import run_writer, writer_of
from dpcore.study.plan import CLEAN, PRIVATE, Arm, Cell, Plan, Row, Study, row
from dpcore.study.runner import Sources
from dpcore.study.utility import majority
from dpcore.study.vocabularies import BUNDLED

TEXTS = 40
TOTALS = (100.0, 200.0, 400.0, 800.0)
"""ε of the whole text."""
LEARNER = "tf-idf"
_SEED = 1
_LEVEL = 0.025  # outside an interval, on either side
_RANGES = {"cosine": (-1.0, 1.0), "kept": (0.0, 1.0)}


def _words(label: str) -> Arm:
    return Arm("", label=label, options=(("mechanism", label),))


def _writer(name: str, form: str) -> Arm:
    return Arm("", label=f"{name}, {form}", options=(("writer", name), ("form", form)))


ARMS = (
    Arm("", label="as written"),
    _words("k-ary"),
    _words("tem"),
    _writer("dp-masked", "response"),
    _writer("dp-masked", "calibrated"),
    _writer("dp-prompt", "response"),
)

STUDY = Study(
    "Writers beside mechanisms for words, at one ε of the whole text",
    "",
    Plan(
        "writers",
        "dpcore.papers.ours.writers:measure_writer",
        ARMS,
        (BUNDLED,),
        seeds=(_SEED,),
        options=(("texts", TEXTS), ("totals", TOTALS)),
        together=True,
    ),
    f"{TEXTS} test texts of the teaching corpus, each written once at each of {len(TOTALS)} ε of "
    "the whole text; classifiers learned from the training texts as they were written.",
    rewrites=False,  # the training texts are not rewritten
)


def measure_writer(cell: Cell, sources: Sources) -> list[Row]:
    """Measure what one writer, one mechanism for words or neither leaves, at every ε of the text.

    Options: `texts`, a number; `totals`, ε of the whole text; `writer` with `form`, or `mechanism`.

    Raises:
        MissingPackageError: the packages of the writer or of the encoder are not installed.
    """
    lexicon = sources.lexicon(cell.lexicon)
    drawn = drawn_tests(lexicon, int(cell.option("texts")), cell.seed)
    looked = _Looked(lexicon, [number for number, _ in drawn])
    if cell.option("writer"):
        write = _of_writer(str(cell.option("writer")), str(cell.option("form")), cell.seed)
    elif cell.option("mechanism"):
        write = _of_words(str(cell.option("mechanism")), lexicon, cell.seed)
    else:
        return [*looked.rows(looked.texts, None, CLEAN), *looked.guesses()]
    rows: list[Row] = []
    for total in cell.option("totals"):
        released = [write(text, float(total), i) for i, text in enumerate(looked.texts)]
        rows += looked.rows(released, float(total), PRIVATE)
    return rows


def _of_writer(name: str, form: str, seed: int) -> Callable[[str, float, int], str]:
    writer = writer_of(name, form)

    def write(text: str, total: float, number: int) -> str:
        count = writer.count(text, None)
        rng = generator(seed, "writers", name, form, number)
        return run_writer(writer, text, total / count, count, rng).text

    return write


def _of_words(name: str, lexicon: Lexicon, seed: int) -> Callable[[str, float, int], str]:
    mechanism = create(name, lexicon)

    def write(text: str, total: float, number: int) -> str:
        sentence = prepare(text, lexicon)
        # The plain sum over the words is ε times a number that is the same at every ε.
        epsilon = total / composition(mechanism, 1.0, sentence.protected).total
        rng = generator(seed, "writers", name, number)
        outputs = mechanism.sample(rng, sentence.inputs(seed), epsilon)
        return sentence.write(outputs).text

    return write


class _Looked:
    """Test texts, and the encoder and classifiers that measure their rewrites.

    Args:
        lexicon: lexicon of the words to count and learn from.
        numbers: indices of the texts in the test part of the corpus.
    """

    def __init__(self, lexicon: Lexicon, numbers: Sequence[int]) -> None:
        self.lexicon = lexicon
        corpus = teaching_corpus()
        training, testing = corpus.part("train"), corpus.part("test")
        self.texts = [testing.texts[i] for i in numbers]
        self._words = [prepare(text, lexicon).words for text in self.texts]
        self._encoder = load_encoder()
        self._meaning = [rows.mean(axis=0) for rows in self._encoder.pieces(self.texts)]
        bags = bags_of(training.texts, lexicon)
        self._labelled = {}
        for name in LABELLINGS:
            learned = LabelledTexts.of(training.texts, training.labels(name))
            wanted = [testing.labels(name)[i] for i in numbers]
            labels = np.array([learned.classes.index(label) for label in wanted])
            rng = generator(_SEED, "writers", "learner", name)
            model = train(learner_of(LEARNER), bags, learned.labels, lexicon.vectors, rng)
            self._labelled[name] = model, labels, learned.labels

    def guesses(self) -> Iterator[Row]:
        """Yield how often the largest class is correct."""
        for name, (_, labels, learned) in self._labelled.items():
            yield majority(learned, labels, variant=name)

    def rows(self, released: Sequence[str], total: float | None, tested_on: str) -> Iterator[Row]:
        """Yield the remaining utility of output texts."""
        pieces = [rows.mean(axis=0) for rows in self._encoder.pieces(released)]
        cosines = [
            min(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))), 1.0)
            for a, b in zip(self._meaning, pieces, strict=True)
        ]
        bags = bags_of(released, self.lexicon)
        yield _mean("cosine", cosines, total)
        yield _mean(
            "kept",
            [
                _kept(before.tolist(), bags.part([i]).words.tolist())
                for i, before in enumerate(self._words)
            ],
            total,
        )
        for name, (model, labels, _) in self._labelled.items():
            right = int((model.predict(bags) == labels).sum())
            low, high = clopper_pearson(right, labels.size, _LEVEL)
            yield row(
                "accuracy", right / labels.size, epsilon=total, low=low, high=high,
                count=labels.size, variant=name, learner=LEARNER, tested_on=tested_on,
            )  # fmt: skip


def _kept(before: Sequence[int], after: Sequence[int]) -> float:
    """Return the share of vocabulary words that a release holds too, with multiplicity."""
    known = Counter(word for word in before if word >= 0)
    return (known & Counter(after)).total() / known.total()


def _mean(quantity: str, values: Sequence[float], total: float | None) -> Row:
    """Return a mean over texts with its interval, clipped to the range of the quantity."""
    least, most = _RANGES[quantity]
    mean = mean_interval(values)
    return row(
        quantity, mean.mean, epsilon=total, low=max(mean.low, least), high=min(mean.high, most),
        count=mean.trials,
    )  # fmt: skip
