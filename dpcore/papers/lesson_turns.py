"""What can be turned in each step of the lesson: some settings, and what comes out at each.

Every number is computed here, from the same sources as the answers of `dpcore.papers.lesson`. A
frame that would give the answer away is marked `asked`, so that a page can keep it until the guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.noise.streams import generator
from dpcore.papers import lesson

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.lexicon.lexicon import Lexicon

DRAWN, DRAWN_SEED = 40, 2024
ODDS_EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
CLAIM_NUMBERS = (1, 4, 16, 64, 256, 1024)
GOALS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.50)


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes:
        name: what it shows.
        share: its length, 0 to 1.
        text: its number with the unit.
    """

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Landing:
    """One draw of noise in the plane of three points; their three distances are the true ones.

    Attributes:
        word: that went in, at the origin.
        noise: length of the noise; it ends at (noise, 0).
        output: the word that came out, the nearest to where the noise ends.
        output_x: where it lies, along the noise.
        output_y: beside it.
    """

    word: str
    noise: float
    output: str
    output_x: float
    output_y: float


@dataclass(frozen=True)
class Frame:
    """What is shown at one setting.

    Attributes:
        name: the setting.
        bars: what comes out.
        finding: in a sentence.
        asked: whether it shows what the question of the step asks for.
        landing: the draw that it shows, if it shows one.
    """

    name: str
    bars: tuple[Bar, ...]
    finding: str
    asked: bool = False
    landing: Landing | None = None


@dataclass(frozen=True)
class Turn:
    """Something to turn.

    Attributes:
        label: what is set.
        frames: in the order of the settings.
        start: the frame that is shown first; it is not asked for.
        action: what a button says that shows the next frame; empty where a slider chooses.
    """

    label: str
    frames: tuple[Frame, ...]
    start: int = 0
    action: str = ""


def turn(key: str, lexicon: Lexicon) -> Turn:
    """What can be turned in one step; a few seconds at most.

    Args:
        key: one of `dpcore.papers.lesson.EXERCISES`.
        lexicon: the bundled one.

    Raises:
        ParameterError: there is no such step.
    """
    if key not in TURNS:
        raise ParameterError(f"unknown step {key[:40]!r}; known are {', '.join(TURNS)}")
    return TURNS[key](lexicon)


def _of_100(share: float) -> str:
    return f"{100 * share:.2g} of 100" if share < 0.995 else "nearly all"


def _times(odds: float) -> str:
    """Three digits, and no power of ten: "89,900"."""
    return f"{odds:.3g}" if odds < 1000 else f"{float(f'{odds:.3g}'):,.0f}"


def _names(lexicon: Lexicon) -> Turn:
    frames = []
    for reach in lesson.linked(lexicon):
        words = "one ordinary word" if reach.known == 1 else f"{reach.known} ordinary words"
        frames.append(
            Frame(
                words,
                (Bar("texts found again", reach.alone, _of_100(reach.alone)),),
                f"Whoever knows {words} of a text is left with {reach.fitting:.3g} "
                f"fitting texts of {reach.texts:,}, on average.",
                asked=reach.known > 1,
            )
        )
    return Turn("Words that somebody knows", tuple(frames))


def _draw(lexicon: Lexicon) -> Turn:
    from dpcore.mechanisms.registry import create

    mechanism = create("madlib", lexicon)
    word = lexicon.index(lesson.DRAW_WORD)
    rng = generator(DRAWN_SEED, "lesson draw")
    landed = mechanism.noisy_vectors(rng, np.full(DRAWN, word), lesson.DRAW_EPSILON)
    vectors = lexicon.vectors.astype(np.float64)
    frames = [
        Frame(
            "no draw yet",
            (Bar(f"“{lesson.DRAW_WORD}” came out again", 0.0, "0 of 0 draws"),),
            f"Draw, and see where the noise pushes “{lesson.DRAW_WORD}”.",
        )
    ]
    stayed = 0
    for number, point in enumerate(landed, start=1):
        landing = _landing(lexicon, vectors, word, point)
        stayed += landing.output == landing.word
        gap = math.hypot(landing.output_x - landing.noise, landing.output_y)
        frames.append(
            Frame(
                f"draw {number}",
                (
                    Bar(
                        f"“{landing.word}” came out again",
                        stayed / number,
                        f"{stayed} of {number} {'draw' if number == 1 else 'draws'}",
                    ),
                ),
                f"The noise pushed “{landing.word}” {landing.noise:.3g} away. Nearest to there, "
                f"at {gap:.3g}, lies “{landing.output}”: it comes out.",
                landing=landing,
            )
        )
    return Turn("Draws", tuple(frames), action="Draw")


def _landing(lexicon: Lexicon, vectors: np.ndarray, word: int, point: np.ndarray) -> Landing:
    """The three points in their plane: by the law of cosines from the three distances."""
    gaps = np.linalg.norm(vectors - point, axis=1)
    output = int(gaps.argmin())
    noise = float(np.linalg.norm(point - vectors[word]))
    apart = float(np.linalg.norm(vectors[output] - vectors[word]))
    gap = float(gaps[output])
    along = (apart**2 + noise**2 - gap**2) / (2 * noise)
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
                f"ε = {epsilon:g}",
                (
                    Bar("before, a stranger is right", 0.5, "50 of 100"),
                    Bar("after, at most", most, _of_100(most)),
                ),
                f"The odds between “{first}” and “{second}” change at most {_times(odds)}-fold.",
                asked=epsilon > lesson.ODDS_EPSILON,
            )
        )
    return Turn("The parameter", tuple(frames), start=2)


def _crowd(lexicon: Lexicon) -> Turn:
    stays = lesson.stays(lexicon, lesson.CROWD_WORDS)[0]
    frames = []
    for place, epsilon in enumerate(lesson.STAY_EPSILONS):
        shares = stays[:, place].tolist()
        bars = tuple(
            Bar(f"“{word}” stays", share, _of_100(share))
            for word, share in zip(lesson.CROWD_WORDS, shares, strict=True)
        )
        order = sorted(zip(shares, lesson.CROWD_WORDS, strict=True))
        finding = (
            f"“{order[1][1]}” stays {order[1][0] / order[0][0]:.2g} times as often as "
            f"“{order[0][1]}”, at the same ε."
        )
        frames.append(Frame(f"ε = {epsilon:g}", bars, finding, asked=True))
    return Turn(
        "The parameter", tuple(frames), start=lesson.STAY_EPSILONS.index(lesson.CROWD_EPSILON)
    )


def _price(_: Lexicon) -> Turn:
    price = lesson.recorded_price()
    frames = []
    for epsilon, (accuracy, low, high), stays in price.rows:
        frames.append(
            Frame(
                f"ε = {epsilon:g}",
                (
                    Bar("words that stay as they were", stays, _of_100(stays)),
                    Bar("reviews that the classifier reads right", accuracy, _of_100(accuracy)),
                    Bar("without any noise", price.before, _of_100(price.before)),
                    Bar("always the commoner answer", price.majority, _of_100(price.majority)),
                ),
                f"It reads {_of_100(accuracy)} right; 95 % interval over the trials: "
                f"{100 * low:.0f} to {100 * high:.0f}.",
                asked=epsilon == lesson.PRICE_EPSILON,
            )
        )
    return Turn("The parameter of TEM", tuple(frames), start=0)


def _claim(lexicon: Lexicon) -> Turn:
    frames = []
    largest = lesson.true_epsilon(lexicon, CLAIM_NUMBERS[-1])
    for numbers in CLAIM_NUMBERS:
        true = lesson.true_epsilon(lexicon, numbers)
        frames.append(
            Frame(
                f"{numbers:,} {'number' if numbers == 1 else 'numbers'}",
                (
                    Bar(
                        "claimed ε",
                        lesson.CLAIM_EPSILON / largest,
                        f"{lesson.CLAIM_EPSILON:g}",
                    ),
                    Bar("true ε", true / largest, f"{true:.3g}"),
                ),
                f"With {numbers:,} of them, the true ε is {true / lesson.CLAIM_EPSILON:.3g} times "
                "the promise.",
                asked=numbers >= lesson.CLAIM_LATENT,
            )
        )
    return Turn("Numbers that sum up a text", tuple(frames), start=1)


def _proof(_: Lexicon) -> Turn:
    frames = []
    for size, share in lesson.proved():
        frames.append(
            Frame(
                f"changes up to {size:.2g}" if size else "no change",
                (Bar("digits proved to stay right", share, _of_100(share)),),
                f"For {_of_100(share)} no change of length {size:.2g} or less makes it wrong."
                if size
                else f"Without a change it reads {_of_100(share)} right, beyond chance.",
                asked=lesson.PROOF_SIZE <= size < 2 * lesson.PROOF_SIZE,
            )
        )
    return Turn("Length of a change of the picture", tuple(frames))


def _choose(_: Lexicon) -> Turn:
    from dpcore.papers.ours.tradeoff import recorded_curves

    curve = recorded_curves()["tem"]
    frames = []
    for goal in GOALS:
        epsilon, left = curve.epsilon_at("word", goal), curve.at("meaning", "word", goal)
        if epsilon is None or left is None:
            continue
        frames.append(
            Frame(
                f"{100 * goal:g} of 100 words",
                (
                    Bar("words that a stranger may guess", goal, f"{100 * goal:g} of 100"),
                    Bar("meaning that is left", left, f"{100 * left:.2g} %"),
                ),
                f"This goal needs ε = {epsilon:.3g}, or less.",
                asked=goal == lesson.GOAL,
            )
        )
    return Turn("A stranger guesses at most", tuple(frames))


TURNS: dict[str, Callable[[Lexicon], Turn]] = {
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
