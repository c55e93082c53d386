"""Exercises of the lesson: question, accepted guesses and true answer of each.

Every figure is computed here, on the bundled words, the teaching corpus and the recorded study. No
figure is private, so results may be shared between visitors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.linking import Linking, linking, ordinary_words_of
from dpcore.attack.output.channel import open_channel
from dpcore.attack.trade.ground import GUESSED
from dpcore.audit.composition import allowed_powers
from dpcore.audit.report import AuditSettings
from dpcore.crowd.bundled import crowd
from dpcore.crowd.shown import DrawnComparison, WordDifferences, k_ary
from dpcore.errors import ParameterError
from dpcore.learn.corpus import teaching_corpus
from dpcore.learn.pixeldp.certified import (
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import digits, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.measure.deniability import measure
from dpcore.measure.density import neighbourhood
from dpcore.measure.words import select_words
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.outwards import at_most
from dpcore.papers import read_toml
from dpcore.papers.claims import verdict
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.plots.attack.words import count_text
from dpcore.study.recorded import read_recorded
from dpcore.study.utility_summary import baseline, curves
from dpcore.written import Filled, Numeral

LINKED_WORDS = 2
DRAW_WORD, DRAW_EPSILON = "doctor", 12.0
ODDS_WORDS, ODDS_EPSILON = ("monday", "friday"), 1.0
CROWD_WORDS, CROWD_EPSILON = ("monday", "garage"), 12.0
STAY_EPSILONS = (4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 30.0)
"""Values of ε for Madlib; they include those of the two steps before."""
PRICE_MECHANISM, PRICE_EPSILON = "tem", 2.4
TOGETHER_CROWD, TOGETHER_SHARE, TOGETHER_SEED = "imdb", 0.1, 2024
TOGETHER_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
TOGETHER_TEXTS, TOGETHER_NAMED = 10_000, 4
"""The initial values on the page Crowd, so that it tells the same words apart."""
CLAIM_EPSILON, CLAIM_LATENT = 1.0, 256
PROOF_SEED, PROOF_SCALE, PROOF_DRAWS, PROOF_ERROR = 2024, 0.25, 200, 0.001
PROOF_SIZE = 0.15
"""The initial value on the page Robustness, so that its curve shows the same."""
PROOF_SIZES = (0.0, 0.05, 0.1, PROOF_SIZE, 0.2, 0.25, 2 * PROOF_SIZE, 0.4, 0.5)
GOAL = 0.10
_EPSILONS = (1.0, 4.0)
RUNS, REPETITIONS = 100, 20
"""Two sets of 100 draws differ by five percentage points, the mean of the repetitions by one."""


@dataclass(frozen=True)
class Exercise:
    """A question with its answer.

    Attributes:
        key: one of `EXERCISES`.
        question: one sentence with the figures that it needs.
        options: the choices; empty where the answer is a number.
        answer: index of the right option, or the number.
        low: smallest number that can be guessed.
        high: largest number that can be guessed.
        step: step between two numbers.
        near: largest distance from the answer at which a number still counts as right.
        unit: text after the number, such as " %".
        truth: the true answer, in one or two sentences with the computed figures.
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
        """Return True if a guess (the index of an option, or a number) counts as right."""
        # A guess that is `near` away counts; the difference of two decimals may be a little more.
        return abs(guess - self.answer) <= self.near + 1e-9

    def nearly(self, guess: float) -> bool:
        """Return True if a wrong number is at most twice `near` away from the answer."""
        return not self.right(guess) and abs(guess - self.answer) <= 2 * self.near + 1e-9


def exercise(key: str, lexicon: Lexicon) -> Exercise:
    """Compute one exercise; takes about a second at most.

    Args:
        key: one of `EXERCISES`.
        lexicon: the bundled lexicon.

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
    """Build an exercise from the sentences of `lesson.toml`; `span` is low, high and step."""
    sentences = read_toml("lesson.toml")[key]
    return Exercise(
        key,
        Filled(sentences["question"], **numbers),
        tuple(Filled(option, **numbers) for option in sentences.get("options", ())),
        answer,
        *span,
        near,
        unit,
        Filled(sentences["truth"], **numbers),
    )


def _percent(key: str, share: float, near: float = 10.0, **numbers: Any) -> Exercise:
    return _filled(key, 100 * share, span=(0, 100, 1), near=near, unit=" %", **numbers)


@lru_cache(maxsize=1)
def linked(lexicon: Lexicon) -> tuple[Linking, ...]:
    """Measure how far one, two and three known ordinary words narrow down the teaching corpus."""
    texts = ordinary_words_of(teaching_corpus(), lexicon)
    return tuple(linking(texts, known) for known in (1, LINKED_WORDS, 3))


def _names(lexicon: Lexicon) -> Exercise:
    one, two, three = (reach.alone for reach in linked(lexicon))
    texts = linked(lexicon)[0].texts + linked(lexicon)[0].skipped
    return _percent("names", two, texts=texts, one=one, two=two, three=three)


@lru_cache(maxsize=2)
def stays(lexicon: Lexicon, words: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """Measure Nw and Sw of Madlib for some words, each of shape (words, `STAY_EPSILONS`)."""
    mechanism, selection = create("madlib", lexicon), select_words(lexicon, words)
    table = measure(mechanism, selection, STAY_EPSILONS, runs=RUNS, repetitions=REPETITIONS)
    return table.figures.nw, table.figures.sw


def _draw(lexicon: Lexicon) -> Exercise:
    place = STAY_EPSILONS.index(DRAW_EPSILON)
    nw, others = (float(figure[0, place]) for figure in stays(lexicon, (DRAW_WORD,)))
    numbers: dict[str, Any] = {"word": DRAW_WORD, "epsilon": DRAW_EPSILON, "stays": 100 * nw}
    return _percent("draw", nw, others=others, **numbers)


def odds_distance(lexicon: Lexicon) -> float:
    """Return the Euclidean distance between the two words of the step "odds"."""
    first, second = lexicon.indices(ODDS_WORDS)
    rows = lexicon.vectors[[first]], lexicon.vectors[[second]]
    return float(paired_distances(*rows, Metric.EUCLIDEAN)[0])


def _odds(lexicon: Lexicon) -> Exercise:
    distance = odds_distance(lexicon)
    once = math.exp(ODDS_EPSILON * distance)
    mechanism, powers = create("madlib", lexicon), []
    for factor in (1, 2, 4):
        promise = mechanism.guarantee(factor * ODDS_EPSILON)
        most = float(allowed_powers(promise, promise.loss(distance), [0.01])[0])
        powers.append(Numeral(at_most(most, 3, times=100)))
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
        fourth=count_text(4 * distance),
        found=powers,
    )


def _crowd(lexicon: Lexicon) -> Exercise:
    place = STAY_EPSILONS.index(CROWD_EPSILON)
    shares = stays(lexicon, CROWD_WORDS)[0][:, place].tolist()
    gaps = [neighbourhood(lexicon, int(w)).nearest for w in lexicon.indices(CROWD_WORDS)]
    numbers: dict[str, Any] = {"epsilon": CROWD_EPSILON, "words": CROWD_WORDS, "stays": shares}
    return _filled("crowd", float(np.argmax(shares)), gaps=gaps, **numbers)


@dataclass(frozen=True)
class Price:
    """The recorded experiment of the step "price".

    Attributes:
        before: accuracy without noise.
        majority: accuracy of always giving the more common answer.
        rows: ε; accuracy with the ends of its 95 % interval; share of words that stay.
    """

    before: float
    majority: float
    rows: tuple[tuple[float, tuple[float, float, float], float], ...]


@lru_cache(maxsize=1)
def recorded_price() -> Price:
    """Read the accuracy of a classifier of the teaching corpus under TEM at every recorded ε."""
    table = read_recorded("teaching-corpus").table
    where = {"learner": "tf-idf", "data": "sentiment", "tested_on": "clean"}
    accuracy, staying = (
        means[means["mechanism"] == PRICE_MECHANISM]
        for means in (curves(table, "accuracy", **where), curves(table, "nw"))
    )
    stays_at = dict(zip(staying["epsilon"].tolist(), staying["mean"].tolist(), strict=True))
    columns = (accuracy[name].tolist() for name in ("epsilon", "mean", "low", "high"))
    rows = tuple(
        (epsilon, (mean, low, high), stays_at[epsilon])
        for epsilon, mean, low, high in zip(*columns, strict=True)
    )
    return Price(
        baseline(table, "accuracy", **where).mean,
        baseline(table, "majority", data="sentiment").mean,
        rows,
    )


def _price(_: Lexicon) -> Exercise:
    price = recorded_price()
    before, majority = price.before, price.majority
    ((after, staying),) = (
        (accuracy[0], share) for epsilon, accuracy, share in price.rows if epsilon == PRICE_EPSILON
    )
    return _percent(
        "price",
        after,
        near=5.0,
        epsilon=PRICE_EPSILON,
        before=before,
        majority=majority,
        stays=staying,
        after=after,
        # Of what a classifier adds to always giving the commoner answer, not of the accuracy
        # itself.
        left=(after - majority) / (before - majority),
    )


@dataclass(frozen=True, eq=False)
class Together:
    """Words told apart in many private reviews, for the step "together".

    Attributes:
        stays: probability that a word stays.
        told: words that are told apart, by number of texts.
    """

    stays: float
    told: dict[int, WordDifferences]

    def named(self, lexicon: Lexicon, texts: int, sign: int) -> str:
        """Return the clearest words of one side."""
        words = self.told[texts].clearest(lexicon, sign, TOGETHER_NAMED)
        return ", ".join(f"“{word}”" for word in words)


@lru_cache(maxsize=1)
def together(lexicon: Lexicon) -> Together:
    """Draw releases of more and more reviews, and tell words of praise and of blame apart."""
    mechanism = create("k-ary", lexicon)
    epsilon = recorded_curves()["k-ary"].epsilon_at(GUESSED, TOGETHER_SHARE)
    if epsilon is None:
        raise ParameterError(f"k-ary was not measured where {TOGETHER_SHARE} are guessed")
    comparison = DrawnComparison(mechanism, crowd(TOGETHER_CROWD, lexicon), 0)
    told = {
        texts: comparison.at(epsilon, texts, TOGETHER_SEED, f"{TOGETHER_SHARE:g}")
        for texts in TOGETHER_SIZES
    }
    _, stays, _ = k_ary(mechanism, epsilon)
    return Together(stays, told)


def _together(lexicon: Lexicon) -> Exercise:
    reviews = together(lexicon)
    differences = reviews.told[TOGETHER_TEXTS]
    counts = {texts: int(told.words.size) for texts, told in reviews.told.items()}
    enough = next(texts for texts, count in counts.items() if count)
    return _filled(
        "together",
        2,
        guessed=100 * TOGETHER_SHARE,
        stays=100 * reviews.stays,
        texts=TOGETHER_TEXTS,
        count=int(differences.words.size),
        wrong=differences.wrong,
        first=reviews.named(lexicon, TOGETHER_TEXTS, 1),
        other=reviews.named(lexicon, TOGETHER_TEXTS, -1),
        few=TOGETHER_SIZES[0],
        enough=enough,
        enough_count=counts[enough],
        before=max(texts for texts in counts if texts < enough),
    )


def true_epsilon(lexicon: Lexicon, latent: int) -> float:
    """Compute ADePT's true ε where it claims `CLAIM_EPSILON`, for a vector of `latent` numbers."""
    settings = AuditSettings(epsilon=CLAIM_EPSILON, latent=latent)
    return float(verdict("adept-published", lexicon, settings).numbers["true epsilon"])


def _claim(lexicon: Lexicon) -> Exercise:
    true = true_epsilon(lexicon, CLAIM_LATENT)
    return _filled(
        "claim",
        2,
        latent=CLAIM_LATENT,
        epsilon=CLAIM_EPSILON,
        double=2 * CLAIM_EPSILON,
        true=true,
        odds=count_text(true),
        promised=math.exp(CLAIM_EPSILON),
    )


@lru_cache(maxsize=1)
def proved() -> tuple[tuple[float, float], ...]:
    """Compute the share of test digits proved to stay right under changes of some sizes."""
    data, rng = digits(), generator(PROOF_SEED, "digits")
    model = train_digits(Accounting.ANALYTIC, PROOF_SCALE, 2.0, rng)
    scores = draw_scores(model.scores, model.layer, data.test, PROOF_DRAWS, rng)
    certified = certify(model.layer, score_bounds(scores, PROOF_ERROR, Bound.CLOPPER_PEARSON))
    shares = certified_accuracy(certified, model.places(data.test_labels), PROOF_SIZES)
    return tuple(zip(PROOF_SIZES, shares.tolist(), strict=True))


def _proof(_: Lexicon) -> Exercise:
    shares = dict(proved())
    right, small, large = (shares[size] for size in (0.0, PROOF_SIZE, 2 * PROOF_SIZE))
    facts = {"digits": digits().test.shape[0], "draws": PROOF_DRAWS, "size": PROOF_SIZE}
    named = {"right": right, "small": small, "large": large}
    return _percent("proof", small, error=PROOF_ERROR, **facts, **named)


def _choose(lexicon: Lexicon) -> Exercise:
    from scipy.optimize import brentq

    channel = open_channel(create("tem", lexicon))

    def guessed(epsilon: float) -> float:
        return float(channel.staying(epsilon).mean())

    # The mean of Nw grows with ε, and the goal lies between the ends.
    epsilon = float(brentq(lambda e: guessed(e) - GOAL, *_EPSILONS, xtol=1e-4))
    shares = [guessed(e) for e in (2.0, 2.5, 3.0)]
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
    "together": _together,
    "claim": _claim,
    "proof": _proof,
    "choose": _choose,
}
"""Exercises in the order of the lesson."""
