"""The exercises of the lesson: each a question, a guess that counts as right, and what is true.

Every figure is computed here, on the bundled words, the teaching corpus and the recorded study; a
person guesses first. Nothing in it is private, so results may be shared between people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.noise.streams import generator
from dpcore.papers.written import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon

LINKED_WORDS = 2
DRAW_WORD, DRAW_EPSILON = "doctor", 12.0
ODDS_WORDS, ODDS_EPSILON = ("monday", "friday"), 1.0
CROWD_WORDS, CROWD_EPSILON = ("monday", "garage"), 12.0
PRICE_MECHANISM, PRICE_EPSILON = "tem", 2.4
CLAIM_EPSILON, CLAIM_LATENT = 1.0, 256
PROOF_SEED, PROOF_SCALE, PROOF_DRAWS, PROOF_ERROR = 2024, 0.25, 200, 0.001
PROOF_SIZE = 0.15
"""As the page Robustness begins, so that its curve shows the same."""
GOAL = 0.10
_EPSILONS = (1.0, 4.0)
RUNS, REPETITIONS = 100, 20
"""A hundred draws differ by five percentage points from a hundred others, the mean by one."""


@dataclass(frozen=True)
class Exercise:
    """A question with its answer.

    Attributes:
        key: one of `EXERCISES`.
        question: one sentence, with the figures that it needs.
        options: to choose from; empty where a number is guessed.
        answer: the place of the right option, or the number.
        low: the smallest number that can be guessed.
        high: the largest.
        step: between two numbers.
        near: a number this far from the answer still counts as right.
        unit: after the number, such as " %".
        truth: what is true, in a sentence or two with the computed figures.
    """

    key: str
    question: str
    options: tuple[str, ...]
    answer: float
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    near: float = 0.0
    unit: str = ""
    truth: str = ""

    def right(self, guess: float) -> bool:
        """Whether a guess (the place of an option, or a number) counts as right."""
        return abs(guess - self.answer) <= self.near + 1e-9


def exercise(key: str, lexicon: Lexicon) -> Exercise:
    """Compute one exercise; about a second at most.

    Args:
        key: one of `EXERCISES`.
        lexicon: the bundled one.

    Raises:
        ParameterError: there is no such exercise.
    """
    if key not in EXERCISES:
        raise ParameterError(f"unknown exercise {key[:40]!r}; known are {', '.join(EXERCISES)}")
    return EXERCISES[key](lexicon)


def _filled(
    key: str,
    answer: float,
    *,
    span: tuple[float, float, float] = (0.0, 0.0, 1.0),
    near: float = 0.0,
    unit: str = "",
    **numbers: Any,
) -> Exercise:
    """An exercise with the sentences of `lesson.toml`; `span` is low, high and the step."""
    sentences = written("lesson.toml")[key]
    return Exercise(
        key,
        sentences["question"].format_map(numbers),
        tuple(option.format_map(numbers) for option in sentences.get("options", ())),
        answer,
        *span,
        near,
        unit,
        sentences["truth"].format_map(numbers),
    )


def _percent(key: str, share: float, near: float = 10.0, **numbers: Any) -> Exercise:
    return _filled(key, 100 * share, span=(0, 100, 1), near=near, unit=" %", **numbers)


def _names(lexicon: Lexicon) -> Exercise:
    from dpcore.attack.linking import linking, ordinary_words_of
    from dpcore.learn.corpus import teaching_corpus

    texts = ordinary_words_of(teaching_corpus(), lexicon)
    one, two, three = (linking(texts, known).alone for known in (1, LINKED_WORDS, 3))
    return _percent("names", two, texts=len(texts), one=one, two=two, three=three)


def _stays(lexicon: Lexicon, words: Sequence[str], epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Nw and Sw of Madlib for each of some words."""
    from dpcore.measure.deniability import measure
    from dpcore.measure.words import named
    from dpcore.mechanisms.registry import create

    mechanism, selection = create("madlib", lexicon), named(lexicon, words)
    table = measure(mechanism, selection, [epsilon], runs=RUNS, repetitions=REPETITIONS)
    return table.figures.nw[:, 0], table.figures.sw[:, 0]


def _draw(lexicon: Lexicon) -> Exercise:
    nw, sw = _stays(lexicon, [DRAW_WORD], DRAW_EPSILON)
    stays, others = float(nw[0]), float(sw[0])
    numbers: dict[str, Any] = {"word": DRAW_WORD, "epsilon": DRAW_EPSILON, "stays": 100 * stays}
    return _percent("draw", stays, others=others, **numbers)


def _odds(lexicon: Lexicon) -> Exercise:
    from dpcore.lexicon.metric import Metric, paired_distances

    first, second = lexicon.indices(ODDS_WORDS)
    rows = lexicon.vectors[[first]], lexicon.vectors[[second]]
    distance = float(paired_distances(*rows, Metric.EUCLIDEAN)[0])
    once = math.exp(ODDS_EPSILON * distance)
    return _filled(
        "odds",
        2,
        words=ODDS_WORDS,
        distance=distance,
        epsilon=ODDS_EPSILON,
        double=2 * ODDS_EPSILON,
        once=once,
        once_twice=2 * once,
        square=math.exp(2 * ODDS_EPSILON * distance),
        fourfold=4 * ODDS_EPSILON,
        fourth=math.exp(4 * distance),
    )


def _crowd(lexicon: Lexicon) -> Exercise:
    from dpcore.measure.density.density import neighbourhood

    stays = _stays(lexicon, CROWD_WORDS, CROWD_EPSILON)[0].tolist()
    gaps = [neighbourhood(lexicon, int(w)).nearest for w in lexicon.indices(CROWD_WORDS)]
    numbers: dict[str, Any] = {"epsilon": CROWD_EPSILON, "words": CROWD_WORDS, "stays": stays}
    return _filled("crowd", float(np.argmax(stays)), gaps=gaps, **numbers)


def _price(_: Lexicon) -> Exercise:
    from dpcore.study.recorded import read_recorded
    from dpcore.study.utility_summary import baseline, curves

    table = read_recorded("teaching-corpus").table
    where = {"learner": "tf-idf", "data": "sentiment", "tested_on": "clean"}
    before = baseline(table, "accuracy", **where).mean
    majority = baseline(table, "majority", data="sentiment").mean
    after = _at(curves(table, "accuracy", **where))
    return _percent(
        "price",
        after,
        near=5.0,
        epsilon=PRICE_EPSILON,
        before=before,
        majority=majority,
        stays=_at(curves(table, "nw")),
        after=after,
        left=(after - majority) / (before - majority),
    )


def _at(means: pd.DataFrame) -> float:
    rows = means[(means["mechanism"] == PRICE_MECHANISM) & (means["epsilon"] == PRICE_EPSILON)]
    return float(rows["mean"].iloc[0])


def _claim(lexicon: Lexicon) -> Exercise:
    from dpcore.audit.settings import AuditSettings
    from dpcore.papers.claims import verdict

    settings = AuditSettings(epsilon=CLAIM_EPSILON, latent=CLAIM_LATENT)
    true = float(verdict("adept-published", lexicon, settings).numbers["true epsilon"])
    return _filled(
        "claim",
        2,
        latent=CLAIM_LATENT,
        epsilon=CLAIM_EPSILON,
        double=2 * CLAIM_EPSILON,
        true=true,
        odds=math.exp(true),
        promised=math.exp(CLAIM_EPSILON),
    )


def _proof(_: Lexicon) -> Exercise:
    from dpcore.learn.pixeldp.certified_prediction import (
        Bound,
        certified_accuracy,
        certify,
        draw_scores,
        score_bounds,
    )
    from dpcore.learn.pixeldp.digits import digits, train_digits
    from dpcore.learn.pixeldp.noise_layer import Accounting

    data, rng = digits(), generator(PROOF_SEED, "digits")
    model = train_digits(Accounting.ANALYTIC, PROOF_SCALE, 2.0, rng)
    scores = draw_scores(model.scores, model.layer, data.test, PROOF_DRAWS, rng)
    certified = certify(model.layer, score_bounds(scores, PROOF_ERROR, Bound.CLOPPER_PEARSON))
    sizes = [0.0, PROOF_SIZE, 2 * PROOF_SIZE]
    right, small, large = certified_accuracy(certified, model.places(data.test_labels), sizes)
    shares = {"right": right, "small": small, "large": large}
    facts = {"digits": data.test.shape[0], "draws": PROOF_DRAWS, "size": PROOF_SIZE}
    return _percent("proof", small, error=PROOF_ERROR, **facts, **shares)


def _choose(lexicon: Lexicon) -> Exercise:
    from scipy.optimize import brentq

    from dpcore.attack.output.channel import open_channel
    from dpcore.mechanisms.registry import create

    channel = open_channel(create("tem", lexicon))

    def stays(epsilon: float) -> float:
        return float(channel.staying(epsilon).mean())

    epsilon = float(brentq(lambda e: stays(e) - GOAL, *_EPSILONS, xtol=1e-4))
    shares = [stays(e) for e in (2.0, 2.5, 3.0)]
    numbers: dict[str, Any] = {
        "times": 1 / GOAL,
        "epsilon": epsilon,
        "n": len(lexicon),
        "stays": shares,
    }
    return _filled("choose", epsilon, span=(*_EPSILONS, 0.05), near=0.15, **numbers)


EXERCISES: dict[str, Callable[[Lexicon], Exercise]] = {
    "names": _names,
    "draw": _draw,
    "odds": _odds,
    "crowd": _crowd,
    "price": _price,
    "claim": _claim,
    "proof": _proof,
    "choose": _choose,
}
"""In the order of the lesson."""
