"""Axes of the trade-off (leakage and utility), and the steps of the dial on each."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.attack.trade.ground import COUNTED, GUESSED, KEPT, MEANT, NEARLY
from pages.shared.guessed import ABOUT
from pages.shared.language import later

_SHARES = (
    0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
    0.55, 0.6, 0.7, 0.8, 0.9,
)  # fmt: skip
# From just above a coin, which tells a pair half of the time.
_PAIRS = (0.51, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
# From what naming the commonest kind guesses: no mechanism is below it.
_KINDS = (0.25, 0.26, 0.28, *(share for share in _SHARES if share >= 0.3))


@dataclass(frozen=True)
class Leakage:
    """Something that an attacker learns.

    Attributes:
        key: key of `TradeCurve`, and name in links.
        title: title in the list of choices.
        axis: axis of the figure.
        counted: the count at the dial: "Guessed, …" … "of 100 content words".
        meaning: one sentence on its meaning.
        steps: steps of the dial, ascending.
        start: one of them.
        low: beginning of the axis: no attacker is below it, not even one who reads nothing.
    """

    key: str
    title: str
    axis: str
    counted: tuple[str, str]
    meaning: str
    steps: tuple[float, ...]
    start: float
    low: float = 0.0


@dataclass(frozen=True)
class Utility:
    """Utility that is left for users of the text.

    Attributes:
        key: key of `TradeCurve`.
        name: name in links.
        title: title in the list of choices.
        axis: axis of the figure.
        left: text after a number: "29 %" "of the meaning".
        data: record and labelling of texts to learn from; None for the lexicon.
        bound: the leakage that it can never exceed.
        ends: ends of its axis, in percent: for accuracy, from below chance to above no privacy;
            None for those of the close-up.
    """

    key: str
    name: str
    title: str
    axis: str
    left: str
    data: tuple[str, str] | None = None
    bound: str = ""
    ends: tuple[float, float] | None = None


_GUESSES = later("Guessed, if all were equally likely"), later("of 100 words")
LEAKAGES = (
    Leakage(
        GUESSED,
        later("the exact word"),
        later("content words guessed by frequency, of 100"),
        (ABOUT, later("of 100 content words")),
        later(
            "Someone who knows the method and how common words are sees the output and names "
            "the word."
        ),
        _SHARES,
        0.2,
    ),
    Leakage(
        NEARLY,
        later("the word or a near one"),
        later("guessed by frequency with near ones, of 100"),
        (later("Guessed by frequency, with near ones"), later("of 100 content words")),
        later("They name the word or one of the nine nearest to it."),
        # With nothing released, 1.7 of 100 are guessed within nine neighbours.
        tuple(share for share in _SHARES if share >= 0.02),
        0.4,
    ),
    Leakage(
        "word",
        later("the exact word, all equally likely"),
        later("words guessed if all equally likely, of 100"),
        _GUESSES,
        later(
            "The same for someone who considers all words of the vocabulary equally likely, as "
            "papers do. No one who knows the language does. Multiplied by the number of words, "
            "it bounds the factor by which anyone's chance can grow."
        ),
        _SHARES,
        0.08,
    ),
    Leakage(
        "near",
        later("the word or a near one, all equally likely"),
        later("with near ones, all equally likely, of 100"),
        (later("With near ones guessed, if all were equally likely"), later("of 100 words")),
        later(
            "They consider all words equally likely and name the word or one of the nine nearest."
        ),
        _SHARES,
        0.2,
    ),
    Leakage(
        "kind",
        later("its kind, all words equally likely"),
        later("kinds guessed if all words equally likely, of 100"),
        (later("Kinds guessed, if all words were equally likely"), later("of 100 words")),
        later(
            "They name its kind: an illness, a place, a feeling. Naming the commonest kind every "
            "time is right for about a quarter."
        ),
        _KINDS,
        0.35,
        0.2,
    ),
    Leakage(
        "pair",
        later("which of two near words"),
        later("of 100 times, told from its nearest word"),
        (later("Which of two near words: correct"), later("of 100 times")),
        later(
            "They know that it was the word or its nearest neighbour, and say which; a coin "
            "toss is right 50 times."
        ),
        _PAIRS,
        0.6,
        0.5,
    ),
    Leakage(
        "auc",
        later("that a text was in the data"),
        later("chance to tell a member from another text"),
        (ABOUT, later("of 100 content words")),
        later(
            "Membership: given one text from the training data and one from outside, which is "
            "which? A coin toss is right 50 times. The dial still counts guessed content words."
        ),
        _SHARES,
        0.1,
        0.5,
    ),
)
_COUNTABLE = {
    10_000: later("words countable in 10,000 texts"),
    100_000: later("words countable in 100,000 texts"),
    1_000_000: later("words countable in a million texts"),
}
UTILITIES = (
    Utility(
        MEANT,
        "meaning",
        later("meaning"),
        later("meaning left"),
        later("of the meaning"),
    ),
    Utility(
        KEPT,
        "kept",
        later("unchanged words"),
        later("words that stay"),
        later("of the words"),
        bound=GUESSED,
    ),
    *(
        Utility(
            key,
            key,
            _COUNTABLE[texts],
            later("words countable within ten percent"),
            later("of the words countable"),
            ends=(0.0, 100.0),
        )
        for texts, key in COUNTED.items()
    ),
    Utility(
        "accuracy",
        "sentiment",
        later("sentiment learned (teaching corpus)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage", "sentiment"),
        ends=(45.0, 90.0),
    ),
    Utility(
        "accuracy",
        "topic",
        later("topic learned (teaching corpus)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage", "topic"),
        ends=(10.0, 75.0),
    ),
    Utility(
        "accuracy",
        "sst2",
        later("sentiment learned (SST-2)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage-sst2", "SST-2"),
        ends=(45.0, 90.0),
    ),
    Utility(
        "accuracy",
        "agnews",
        later("topic learned (AG News)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage-agnews", "AG News"),
        ends=(20.0, 80.0),
    ),
    Utility(
        "accuracy",
        "imdb",
        later("sentiment learned (IMDb)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage-imdb", "IMDb"),
        ends=(45.0, 90.0),
    ),
    Utility(
        "accuracy",
        "yelp",
        later("sentiment learned (Yelp)"),
        later("accuracy of a classifier"),
        later("of texts classified correctly"),
        ("equal-leakage-yelp", "Yelp"),
        ends=(45.0, 90.0),
    ),
)
