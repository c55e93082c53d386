"""Interactive settings of each step of the lesson, with the result at each setting.

Every number is computed here, from the same sources as the answers of `dpcore.papers.lesson`. A
frame that would give the answer away is marked `asked`, so that a page can hide it until the guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.outwards import Shown, at_most, ordinary, without_noise
from dpcore.papers import lesson
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.written import Filled

DRAWN, DRAWN_SEED = 40, 2024
ODDS_EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
CLAIM_NUMBERS = (1, 4, 16, 64, 256, 1024)
GOALS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.50)


@dataclass(frozen=True)
class Bar:
    """One bar of a bar chart.

    Attributes:
        name: its label.
        share: its length, 0 to 1.
        text: its number with the unit.
    """

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Landing:
    """One draw of noise in the plane of three points, whose three distances are the true ones.

    Attributes:
        word: the input word, at the origin.
        noise: length of the noise, which ends at (noise, 0).
        output: the output word, nearest to the end of the noise.
        output_x: coordinate of the output word along the noise.
        output_y: coordinate of the output word across the noise.
    """

    word: str
    noise: float
    output: str
    output_x: float
    output_y: float


@dataclass(frozen=True)
class Frame:
    """The display at one setting.

    Attributes:
        name: the setting.
        bars: the results.
        finding: the finding in one sentence.
        asked: True if the frame shows the answer to the question of the step.
        landing: the draw shown, if there is one.
    """

    name: str
    bars: tuple[Bar, ...]
    finding: str
    asked: bool = False
    landing: Landing | None = None


@dataclass(frozen=True)
class Turn:
    """A setting that a visitor can change.

    Attributes:
        label: name of the setting.
        frames: one frame per value, in order.
        start: index of the frame shown first.
        action: label of the button that shows the next frame; empty where a slider is used.
    """

    label: str
    frames: tuple[Frame, ...]
    start: int = 0
    action: str = ""


def turn(key: str, lexicon: Lexicon) -> Turn:
    """Compute the interactive setting of one step; takes a few seconds at most.

    Args:
        key: one of `dpcore.papers.lesson.EXERCISES`.
        lexicon: the bundled lexicon.

    Raises:
        ParameterError: there is no such step.
    """
    if key not in TURNS:
        raise ParameterError(f"unknown step {key[:40]!r}; known are {', '.join(TURNS)}")
    return TURNS[key](lexicon)


def _of_100(share: float, shown: Shown = ordinary) -> str:
    of_100 = float(shown(without_noise(100 * share), 2))
    if share >= 0.995 or of_100 >= 100:
        return Filled("nearly all")
    return Filled("{share:.2g} of 100", share=of_100)


def _times_at_most(odds: float) -> str:
    """Format an upper bound with three digits and without an exponent: "89,900"."""
    shown = float(at_most(odds, 3))
    if shown < 1000:
        return Filled("{odds:.3g}", odds=shown)
    return Filled("{odds:,.0f}", odds=shown)


def _names(lexicon: Lexicon) -> Turn:
    frames = []
    for reach in lesson.linked(lexicon):
        words = (
            Filled("one ordinary word")
            if reach.known == 1
            else Filled("{known} ordinary words", known=reach.known)
        )
        frames.append(
            Frame(
                words,
                (Bar(Filled("texts found again"), reach.alone, _of_100(reach.alone)),),
                Filled(
                    "Anyone who knows {words} of a text is left with {fitting:.3g} fitting texts "
                    "of {texts:,}, on average.",
                    words=words,
                    fitting=reach.fitting,
                    texts=reach.texts,
                ),
                asked=reach.known > 1,
            )
        )
    return Turn(Filled("Words that someone knows"), tuple(frames))


def _draw(lexicon: Lexicon) -> Turn:
    mechanism = create("madlib", lexicon)
    word = lexicon.index(lesson.DRAW_WORD)
    rng = generator(DRAWN_SEED, "lesson draw")
    landed = mechanism.noisy_vectors(rng, np.full(DRAWN, word), lesson.DRAW_EPSILON)
    vectors = lexicon.vectors.astype(np.float64)
    # The squared distances but for a constant: a product is fifty times as fast as differences.
    outputs = ((vectors**2).sum(axis=1) / 2 - landed @ vectors.T).argmin(axis=1).tolist()
    frames = [
        Frame(
            Filled("no draw yet"),
            (Bar(_again(lesson.DRAW_WORD), 0.0, Filled("0 of 0 draws")),),
            Filled("Draw, and see where the noise moves “{word}”.", word=lesson.DRAW_WORD),
        )
    ]
    stayed = 0
    for number, (point, output) in enumerate(zip(landed, outputs, strict=True), start=1):
        landing = _landing(lexicon, vectors, (word, output), point)
        stayed += landing.output == landing.word
        gap = math.hypot(landing.output_x - landing.noise, landing.output_y)
        frames.append(
            Frame(
                Filled("draw {number}", number=number),
                (Bar(_again(landing.word), stayed / number, _draws(stayed, number)),),
                Filled(
                    "The noise moved “{word}” by {noise:.3g}. The nearest word there, at "
                    "{gap:.3g}, is “{output}”: it comes out.",
                    word=landing.word,
                    noise=landing.noise,
                    gap=gap,
                    output=landing.output,
                ),
                landing=landing,
            )
        )
    return Turn(Filled("Draws"), tuple(frames), action=Filled("Draw"))


def _again(word: str) -> str:
    return Filled("“{word}” came out again", word=word)


def _draws(stayed: int, number: int) -> str:
    if number == 1:
        return Filled("{stayed} of 1 draw", stayed=stayed)
    return Filled("{stayed} of {number} draws", stayed=stayed, number=number)


def _landing(
    lexicon: Lexicon, vectors: np.ndarray, words: tuple[int, int], point: np.ndarray
) -> Landing:
    """Place input word, output word and noisy point in their plane by the law of cosines."""
    word, output = words
    noise = float(np.linalg.norm(point - vectors[word]))
    apart = float(np.linalg.norm(vectors[output] - vectors[word]))
    gap = float(np.linalg.norm(vectors[output] - point))
    along = (apart**2 + noise**2 - gap**2) / (2 * noise)
    # Rounding may make the difference negative where the word lies along the noise.
    beside = math.sqrt(max(apart**2 - along**2, 0.0))
    return Landing(lexicon.words[word], noise, lexicon.words[output], along, beside)


def _odds(lexicon: Lexicon) -> Turn:
    distance = lesson.odds_distance(lexicon)
    first, second = lesson.ODDS_WORDS
    frames = []
    for epsilon in ODDS_EPSILONS:
        odds = math.exp(epsilon * distance)
        most = odds / (1.0 + odds)  # of two equally likely words, by Bayes' rule
        frames.append(
            Frame(
                _parameter(epsilon),
                (
                    Bar(Filled("before, a guess is right"), 0.5, _of_100(0.5)),
                    Bar(Filled("after, at most"), most, _of_100(most, at_most)),
                ),
                Filled(
                    "The odds between “{first}” and “{second}” change at most {times}-fold.",
                    first=first,
                    second=second,
                    times=_times_at_most(odds),
                ),
                # Smaller ε lead up to the question; larger ones would answer it.
                asked=epsilon > lesson.ODDS_EPSILON,
            )
        )
    return Turn(Filled("The parameter"), tuple(frames), start=2)


def _parameter(epsilon: float) -> str:
    return Filled("ε = {epsilon:g}", epsilon=epsilon)


def _crowd(lexicon: Lexicon) -> Turn:
    stays = lesson.stays(lexicon, lesson.CROWD_WORDS)[0]
    frames = []
    for place, epsilon in enumerate(lesson.STAY_EPSILONS):
        shares = stays[:, place].tolist()
        bars = tuple(
            Bar(Filled("“{word}” stays", word=word), share, _of_100(share))
            for word, share in zip(lesson.CROWD_WORDS, shares, strict=True)
        )
        order = sorted(zip(shares, lesson.CROWD_WORDS, strict=True))
        finding = Filled(
            "“{word}” stays {times:.2g} times as often as “{other}”, at the same ε.",
            word=order[1][1],
            times=order[1][0] / order[0][0],
            other=order[0][1],
        )
        frames.append(Frame(_parameter(epsilon), bars, finding, asked=True))
    return Turn(
        Filled("The parameter"),
        tuple(frames),
        start=lesson.STAY_EPSILONS.index(lesson.CROWD_EPSILON),
    )


def _price(_: Lexicon) -> Turn:
    price = lesson.recorded_price()
    frames = []
    for epsilon, (accuracy, low, high), stays in price.rows:
        frames.append(
            Frame(
                _parameter(epsilon),
                (
                    Bar(Filled("words that stay as they were"), stays, _of_100(stays)),
                    Bar(
                        Filled("reviews classified correctly"),
                        accuracy,
                        _of_100(accuracy),
                    ),
                    Bar(Filled("without any noise"), price.before, _of_100(price.before)),
                    Bar(
                        Filled("always the commoner answer"),
                        price.majority,
                        _of_100(price.majority),
                    ),
                ),
                Filled(
                    "It classifies {accuracy} correctly; 95 % interval over the trials: "
                    "{low:.0f} to {high:.0f}.",
                    accuracy=_of_100(accuracy),
                    low=100 * low,
                    high=100 * high,
                ),
                asked=epsilon == lesson.PRICE_EPSILON,
            )
        )
    return Turn(Filled("The parameter of TEM"), tuple(frames), start=0)


def _together(lexicon: Lexicon) -> Turn:
    reviews = lesson.together(lexicon)
    most = max(differences.words.size for differences in reviews.told.values())
    frames = []
    for texts, differences in reviews.told.items():
        count = int(differences.words.size)
        finding = Filled("No word distinguishes the groups.")
        if count:
            sides = ", ".join(filter(None, (reviews.named(lexicon, texts, i) for i in (1, -1))))
            finding = Filled("The clearest: {words}.", words=sides)
        frames.append(
            Frame(
                Filled("{texts:,} texts", texts=texts),
                (
                    Bar(Filled("words found"), count / most, Filled("{n:,}", n=count)),
                    Bar(
                        Filled("of them wrong"),
                        differences.wrong / most,
                        Filled("{n:,}", n=differences.wrong),
                    ),
                ),
                finding,
                asked=True,
            )
        )
    return Turn(Filled("Number of texts"), tuple(frames))


def _claim(lexicon: Lexicon) -> Turn:
    frames = []
    largest = lesson.true_epsilon(lexicon, CLAIM_NUMBERS[-1])
    for numbers in CLAIM_NUMBERS:
        true = lesson.true_epsilon(lexicon, numbers)
        frames.append(
            Frame(
                Filled("1 number") if numbers == 1 else Filled("{count:,} numbers", count=numbers),
                (
                    Bar(
                        Filled("claimed ε"),
                        lesson.CLAIM_EPSILON / largest,
                        Filled("{epsilon:g}", epsilon=lesson.CLAIM_EPSILON),
                    ),
                    Bar(Filled("true ε"), true / largest, Filled("{epsilon:.3g}", epsilon=true)),
                ),
                Filled(
                    "With {count:,} of them, the true ε is {times:.3g} times the claimed one.",
                    count=numbers,
                    times=true / lesson.CLAIM_EPSILON,
                ),
                asked=numbers >= lesson.CLAIM_LATENT,
            )
        )
    return Turn(Filled("Numbers that sum up a text"), tuple(frames), start=1)


def _proof(_: Lexicon) -> Turn:
    frames = []
    for size, share in lesson.proved():
        frames.append(
            Frame(
                Filled("changes up to {size:.2g}", size=size) if size else Filled("no change"),
                (Bar(Filled("digits with a proof"), share, _of_100(share)),),
                Filled(
                    ("For {share} no change of length {size:.2g} or less makes the answer wrong."),
                    share=_of_100(share),
                    size=size,
                )
                if size
                else Filled(
                    "Without a change, its vote for the correct digit is statistically "
                    "significant for {share}.",
                    share=_of_100(share),
                ),
                # Around the size of the question the neighbouring frames would tell as much.
                asked=lesson.PROOF_SIZE <= size < 2 * lesson.PROOF_SIZE,
            )
        )
    return Turn(Filled("Length of a change of the picture"), tuple(frames))


def _choose(_: Lexicon) -> Turn:
    curve = recorded_curves()["tem"]
    frames = []
    for goal in GOALS:
        epsilon, left = curve.epsilon_at("word", goal), curve.at("meaning", "word", goal)
        # TEM was not measured at this leakage.
        if epsilon is None or left is None:
            continue
        frames.append(
            Frame(
                Filled("{share:g} of 100 words", share=100 * goal),
                (
                    Bar(
                        Filled("words that may be guessed, all equally likely"),
                        goal,
                        Filled("{share:g} of 100", share=100 * goal),
                    ),
                    Bar(
                        Filled("meaning that is left"),
                        left,
                        Filled("{share:.2g} %", share=100 * left),
                    ),
                ),
                Filled("This goal needs ε = {epsilon:.3g}, or less.", epsilon=epsilon),
                asked=goal == lesson.GOAL,
            )
        )
    return Turn(Filled("Guessed at most, all words equally likely"), tuple(frames))


TURNS: dict[str, Callable[[Lexicon], Turn]] = {
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
"""Settings in the order of the lesson."""
