"""The exercises of the lesson: each a question, a guess that counts as right, and what is true.

Every figure is computed here, on the bundled words, the teaching corpus and the recorded study; a
person guesses first. Nothing in it is private, so results may be shared between people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

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
        found: what is true, in a sentence or two with the computed figures.
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
    found: str = ""

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


def _percent(key: str, question: str, share: float, truth: str, near: float = 10.0) -> Exercise:
    return Exercise(key, question, (), 100 * share, 0, 100, 1, near, " %", truth)


def _names(lexicon: Lexicon) -> Exercise:
    from dpcore.attack.linking import linking, ordinary_words_of
    from dpcore.learn.corpus import teaching_corpus

    texts = ordinary_words_of(teaching_corpus(), lexicon)
    by_one, by_two, by_three = (linking(texts, known) for known in (1, LINKED_WORDS, 3))
    return _percent(
        "names",
        f"From {len(texts):,} short messages and reviews every name, date, place and amount was "
        "removed. Somebody happens to know two ordinary words of yours, no names. How often is "
        "yours then the only text that holds both?",
        by_two.alone,
        f"In {by_two.alone:.0%} of all cases; with one known word in {by_one.alone:.0%}, with "
        f"three in {by_three.alone:.0%}. (Every pair of ordinary words of every text was tried; "
        "words such as “the” do not count.) Without any name, a few words together mostly single a "
        "text out. "
        "Among more texts more fit, and a few more words are needed.",
    )


def _draw(lexicon: Lexicon) -> Exercise:
    from dpcore.measure.deniability import measure
    from dpcore.measure.words import named
    from dpcore.mechanisms.registry import create

    mechanism, word = create("madlib", lexicon), named(lexicon, [DRAW_WORD])
    table = measure(mechanism, word, [DRAW_EPSILON], runs=RUNS, repetitions=REPETITIONS)
    stays, others = float(table.figures.nw[0, 0]), float(table.figures.sw[0, 0])
    return _percent(
        "draw",
        f"Madlib draws fresh noise for “{DRAW_WORD}” a hundred times at ε = {DRAW_EPSILON:g}. How "
        f"many of the hundred outputs are “{DRAW_WORD}” again?",
        stays,
        f"About {100 * stays:.0f} of a hundred on average; a hundred outputs are about "
        f"{others:.0f} different words. Whoever sees one of them alone cannot be sure which word "
        "was written, and nobody can take the noise off again: it is drawn once and thrown away.",
    )


def _odds(lexicon: Lexicon) -> Exercise:
    from dpcore.lexicon.metric import Metric, paired_distances

    first, second = lexicon.indices(ODDS_WORDS)
    rows = lexicon.vectors[[first]], lexicon.vectors[[second]]
    distance = float(paired_distances(*rows, Metric.EUCLIDEAN)[0])
    once, twice = math.exp(ODDS_EPSILON * distance), math.exp(2 * ODDS_EPSILON * distance)
    options = (
        f"{once:.3g}-fold: the same",
        f"{2 * once:.3g}-fold: twice as much",
        f"{twice:.3g}-fold: the square",
    )
    return Exercise(
        "odds",
        f"“{ODDS_WORDS[0]}” and “{ODDS_WORDS[1]}” lie {distance:.2f} apart. At ε = "
        f"{ODDS_EPSILON:g} no output may change the odds between them more than {once:.3g}-fold. "
        f"And at ε = {2 * ODDS_EPSILON:g}?",
        options,
        2,
        found=f"{twice:.3g}-fold. The bound is e to the power of ε times the distance, so doubling "
        f"ε squares it; at ε = {4 * ODDS_EPSILON:g} it is {math.exp(4 * distance):,.0f}-fold. "
        "That is what may happen at most; but whoever allows odds of 1 to 1 to become that many to "
        "1 promises hardly anything.",
    )


def _crowd(lexicon: Lexicon) -> Exercise:
    from dpcore.measure.deniability import measure
    from dpcore.measure.density.density import neighbourhood
    from dpcore.measure.words import named
    from dpcore.mechanisms.registry import create

    mechanism, words = create("madlib", lexicon), named(lexicon, CROWD_WORDS)
    table = measure(mechanism, words, [CROWD_EPSILON], runs=RUNS, repetitions=REPETITIONS)
    stays = table.figures.nw[:, 0].tolist()
    near = [neighbourhood(lexicon, int(w)).nearest for w in lexicon.indices(CROWD_WORDS)]
    dense, lonely = CROWD_WORDS
    return Exercise(
        "crowd",
        f"Under Madlib at ε = {CROWD_EPSILON:g}, which of the two words comes out unchanged more "
        "often, and in this is protected less?",
        (f"“{dense}”", f"“{lonely}”", "both alike: ε is the same"),
        float(np.argmax(stays)),
        found=f"“{lonely}” stays in about {stays[1]:.0%} of draws, “{dense}” in {stays[0]:.0%}. "
        f"The nearest word to “{lonely}” is {near[1]:.2f} away, to “{dense}” {near[0]:.2f}: in a "
        "crowd the same noise lands on somebody else sooner.",
    )


def _price(_: Lexicon) -> Exercise:
    from dpcore.study.recorded import read_recorded
    from dpcore.study.utility_summary import baseline, curves

    table = read_recorded("teaching-corpus").table
    where = {"learner": "tf-idf", "data": "sentiment", "tested_on": "clean"}
    before = baseline(table, "accuracy", **where)
    majority = baseline(table, "majority", data="sentiment")
    after = _at(curves(table, "accuracy", **where))
    stays = _at(curves(table, "nw"))
    return _percent(
        "price",
        f"A classifier that learned from our reviews and messages tells praise from blame in "
        f"{before.mean:.0%} of new, unchanged texts; always saying the commoner one, in "
        f"{majority.mean:.0%}. Now TEM at ε = {PRICE_EPSILON:g} exchanges the words that it "
        f"learns from, and {stays:.0%} of them stay. How often is it right about unchanged texts "
        "then?",
        after,
        f"In {after:.0%} of new, unchanged texts, on average over the trials of a recorded "
        "experiment. What is left of its advantage over saying the commoner one "
        f"is {_left(before.mean, majority.mean, after):.0%}. That is the price; the page Utility "
        "shows it over ε, and what the classifier gave away of its texts.",
        near=5.0,
    )


def _at(means: pd.DataFrame) -> float:
    rows = means[(means["mechanism"] == PRICE_MECHANISM) & (means["epsilon"] == PRICE_EPSILON)]
    return float(rows["mean"].iloc[0])


def _left(before: float, least: float, after: float) -> float:
    return (after - least) / (before - least)


def _claim(lexicon: Lexicon) -> Exercise:
    from dpcore.audit.settings import AuditSettings
    from dpcore.papers.claims import verdict

    settings = AuditSettings(epsilon=CLAIM_EPSILON, latent=CLAIM_LATENT)
    numbers = verdict("adept-published", lexicon, settings).numbers
    true = float(numbers["true epsilon"])
    options = (
        f"{CLAIM_EPSILON:g}, as claimed",
        f"{2 * CLAIM_EPSILON:g}, twice as much",
        f"{true:g}",
        f"{CLAIM_LATENT:g}",
    )
    return Exercise(
        "claim",
        f"ADePT sums up a text in {CLAIM_LATENT} numbers, shortens this vector to a given length, "
        f"adds Laplace noise and promises ε = {CLAIM_EPSILON:g}. Which ε is true?",
        options,
        2,
        found=f"{true:g}, the square root of {CLAIM_LATENT} times the promise: odds may change "
        f"{math.exp(true):,.0f}-fold, not {math.exp(CLAIM_EPSILON):.2g}-fold. The proof measured "
        "one kind of distance and drew noise for another. It does not show in a few outputs: "
        "such a mistake is found by calculation (Habernal 2021).",
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
    return _percent(
        "proof",
        f"A classifier of {data.test.shape[0]} handwritten digits has noise built in: it looks "
        f"{PROOF_DRAWS} times, each time through other noise, and takes what it sees on average. "
        f"{right:.0%} of them it reads right, so clearly that chance can hardly be the reason. "
        "For how many can it be proved that no change of the picture by a length of "
        f"{PROOF_SIZE:g} or less (a white pixel made black has length 1) makes it wrong?",
        small,
        f"For {small:.0%}; for changes twice as long, for {large:.0%}. The proof is the promise of "
        "privacy read the other way: if no output says much about which of two near pictures went "
        "in, no small change turns the vote. What is proved is about the average over all noise; "
        f"each statement is wrong with probability {PROOF_ERROR:g} at most, for its "
        f"{PROOF_DRAWS} looks are a sample.",
    )


def _choose(lexicon: Lexicon) -> Exercise:
    from scipy.optimize import brentq

    from dpcore.attack.output.channel import open_channel
    from dpcore.mechanisms.registry import create

    channel = open_channel(create("tem", lexicon))

    def stays(epsilon: float) -> float:
        return float(channel.staying(epsilon).mean())

    epsilon = float(brentq(lambda e: stays(e) - GOAL, *_EPSILONS, xtol=1e-4))
    return Exercise(
        "choose",
        f"You publish texts with TEM. An attacker names the word that came out, and shall be right "
        f"at most once in {1 / GOAL:.0f} times. Which is the largest ε that you can allow?",
        (),
        epsilon,
        *_EPSILONS,
        0.05,
        0.15,
        "",
        f"ε = {epsilon:.2f}, on average over all {len(lexicon):,} words, each as likely as any "
        f"other. At ε = 2 the attacker is right in {stays(2.0):.0%} of cases, at 2.5 in "
        f"{stays(2.5):.0%}, at 3 in {stays(3.0):.0%}: a small step in ε is a large one in privacy. "
        "That is what TEM does, not what ε promises; and an attacker who knows more, such as the "
        "words around, is right more often. That is why ε is chosen by what an attacker gets, on "
        "your words, and not by custom.",
    )


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
