"""State of the Crowd page: what is compared, both dials, and the data of the board."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.attack.trade.ground import GUESSED
from dpcore.crowd.bundled import CROWDS, Crowd, crowd
from dpcore.crowd.shown import DrawnComparison, WordDifferences
from dpcore.errors import DpcoreError
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.rewrite.sentence import draw, prepare
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.figure import svg_board
from pages.shared.fragments import fragment, run_parts
from pages.shared.guessed import ABOUT
from pages.shared.language import language, later, numeral, say
from pages.shared.link import choose_one
from pages.shared.messages import refuse
from pages.shared.once import once
from pages.shared.progress import timed
from pages.shared.promised import promised_epsilon
from pages.shared.session import mechanism
from pages.shared.taking import drawer_is_open

# The picture should be in sight: the choices are beside the title, on a phone below the picture.
STYLE = """
.st-key-crowd_top h1 { font-size: 1.75rem; }
.st-key-crowd_top { flex-wrap: nowrap; }
.st-key-crowd_top > :first-child { flex: 0 1 auto; min-width: 12rem; }
.st-key-crowd_top > :last-child { flex: 0 0 auto; width: auto; }
.st-key-crowd_dials { --dial-exact: none; }
.st-key-crowd_dials [data-testid=stHorizontalBlock] { gap: 0.75rem; }
@media (max-width: 50rem) {
  .st-key-crowd_top h1 { font-size: 1.45rem; }
  .st-key-crowd_dials { --dial-ends: none; --dial-value: 1rem; }
  .st-key-crowd_dials [data-testid=stHorizontalBlock] { gap: 0; }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] > * { order: 3; }
  :has(> .st-key-crowd_top), .st-key-crowd_top { display: contents; }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
    > :has(> .st-key-crowd_dials) { order: 0; }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
    > :has(> .st-key-crowd_board) { order: 1; }
  .st-key-crowd_top > :last-child { order: 2; width: 100%; }
}
"""
"""Style sheet of the page."""

LEAKAGES = (0.05, 0.1, 0.2, 0.33, 0.5)
"""Shares of content words that are guessed."""
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
"""Numbers of texts; the last step is all of them."""
VIEWS = "crowd_views"
"""Fragment that shows numbers at the dials."""
OPEN_VIEW = "part"
"""Key of the open view."""
AT_THE_DIALS, COUNTED = later("In numbers"), later("Count a word")
"""Views whose numbers are those at the dials."""
MECHANISM = "k-ary"

_GUESSED, _TEXTS = "guessed", "texts"
_ALL = "all"  # texts, in a link
_START = {_GUESSED: 0.1, _TEXTS: 10_000}
_NAMED = 4  # words of each side in one sentence
_DRAWN = 20  # words, half of them on each side where there are as many
_WRITTEN = ("r0226", "r0505", "r0658")  # short reviews without anything private
NAMES = {
    "imdb": later("Film reviews (IMDb)"),
    "yelp": later("Sentences of reviews (Yelp)"),
    "agnews": later("News (AG News)"),
    "yahoo": later("Answers (Yahoo)"),
}
"""Titles of the bundled crowds."""
GROUPS = (
    later("praise"), later("blame"), later("world"), later("sports"), later("business"),
    later("science and technology"), later("society and culture"),
    later("science and mathematics"),
)  # fmt: skip
"""Names of the groups of all bundled crowds."""
REST = later("the rest")


@dataclass(frozen=True)
class Choices:
    """Comparison of groups of texts, as chosen on the page.

    Attributes:
        crowd: word counts of the texts.
        group: number of the group that is compared with the others.
        every: True if function words are compared too.
    """

    crowd: Crowd
    group: int
    every: bool

    @property
    def sides(self) -> tuple[str, str]:
        """Names of the group and of what it is compared with."""
        groups = self.crowd.groups
        return groups[self.group], groups[1 - self.group] if len(groups) == 2 else REST

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of texts at the steps of the dial."""
        texts = int(self.crowd.texts.sum())
        return (*(size for size in SIZES if size < texts), texts)


def choose_corpus(words: Lexicon) -> Choices:
    """Draw the choice of the corpus, of the group, and of function words.

    Args:
        words: the bundled lexicon.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="crowd_choices"):
        name = choose_one(
            st.selectbox,
            say("Texts"),
            {name: NAMES[name] for name in CROWDS},
            "crowd",
            help=say(
                "The texts to compare. Only their word counts are bundled with the laboratory, "
                "none of the texts."
            ),
            label_visibility="collapsed",
            width=200,
        )
        try:
            found = crowd(name, words)
        except DpcoreError as error:
            refuse(say("The word counts could not be read."), error)
            st.stop()
        group = 0
        if len(found.groups) > 2:
            group = int(
                choose_one(
                    st.selectbox,
                    say("Group"),
                    {
                        str(place): say("{group} against the rest", group=say(title))
                        for place, title in enumerate(found.groups)
                    },
                    "group",
                    help=say("The texts whose words are compared with those of all others."),
                    label_visibility="collapsed",
                    width=230,
                )
            )
        every = st.toggle(
            say("Function words too"),
            key="function",
            bind="query-params",
            help=say(
                "Also compares words such as “the” and “and”. They are protected like all "
                "others and easy to count because they are common, but they say little."
            ),
        )
    return Choices(found, group, every)


@dataclass(frozen=True, eq=False)
class CrowdScene:
    """State of the page.

    Attributes:
        words: the bundled lexicon.
        choices: the comparison.
        epsilons: ε at each leakage.
        differences: words that are told apart, by leakage and number of texts.
    """

    words: Lexicon
    choices: Choices
    epsilons: tuple[float, ...]
    differences: tuple[tuple[WordDifferences, ...], ...]

    @property
    def at(self) -> tuple[int, int]:
        """Steps of both dials."""
        return _step(_GUESSED, LEAKAGES), _step(_TEXTS, self.choices.sizes)

    @property
    def here(self) -> WordDifferences:
        """Words that are told apart at the dials."""
        leakage, size = self.at
        return self.differences[leakage][size]


def response(words: Lexicon) -> Mechanism:
    """Return the mechanism of the page."""
    return mechanism(words, resolve(MECHANISM).key)


def scene_or_stop(words: Lexicon, choices: Choices) -> CrowdScene:
    """Return the state at every setting of both dials; if there is none, say why and end."""
    try:
        epsilons = _epsilons()
        differences = _compare(words, choices, lambda steps: timed(say("Drawing noise"), steps))
    except DpcoreError as error:
        refuse(say("These texts could not be compared."), error)
        st.stop()
    return CrowdScene(words, choices, epsilons, differences)


def ahead(words: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request.

    Args:
        words: the bundled lexicon.
    """
    return [
        lambda: first_told(words),
        lambda: _compare(words, _first(words), iter),
        lambda: _private(words),
    ]


@cache
def _epsilons() -> tuple[float, ...]:
    curve = recorded_curves()[MECHANISM]
    found = [curve.epsilon_at(GUESSED, share) for share in LEAKAGES]
    return tuple(epsilon for epsilon in found if epsilon is not None)


_Steps = Sequence[tuple[int, int]]


def _compare(
    words: Lexicon, choices: Choices, steps: Callable[[_Steps], Iterable[tuple[int, int]]]
) -> tuple[tuple[WordDifferences, ...], ...]:
    """Compare at all settings, once for all sessions.

    Args:
        words: the bundled lexicon.
        choices: the comparison.
        steps: yields the settings it is given, and may show how many are done.
    """
    key = words.fingerprint, choices.crowd.name, choices.group, choices.every

    def compute() -> tuple[tuple[WordDifferences, ...], ...]:
        at, sizes = _compared_at(words, choices), len(choices.sizes)
        settings = list(product(range(len(LEAKAGES)), range(sizes)))
        found = [at(leakage, size) for leakage, size in steps(settings)]
        return tuple(tuple(found[i * sizes : (i + 1) * sizes]) for i in range(len(LEAKAGES)))

    return once("crowd", key, compute)


def _compared_at(words: Lexicon, choices: Choices) -> Callable[[int, int], WordDifferences]:
    """Return a function of the steps of both dials."""
    drawn = DrawnComparison(response(words), choices.crowd, choices.group, every=choices.every)
    epsilons, sizes = _epsilons(), choices.sizes
    return lambda i, j: drawn.at(epsilons[i], sizes[j], link.SEED, f"{LEAKAGES[i]:g}")


def first_told(words: Lexicon) -> str:
    """Say which words the page tells apart when it opens, for a page that leads there.

    Args:
        words: the bundled lexicon.
    """
    choices = _first(words)
    texts = int(_START[_TEXTS])
    at = LEAKAGES.index(_START[_GUESSED]), choices.sizes.index(texts)
    differences = once(
        "crowd opening", words.fingerprint, lambda: _compared_at(words, choices)(*at)
    )
    first, other = (
        ", ".join(f"“{word}”" for word in differences.clearest(words, sign, _NAMED))
        for sign in (1, -1)
    )
    return say(
        "**No one can read such texts, yet together they say a lot.** {texts:,} film reviews, "
        "rewritten until {guessed} of 100 content words can be guessed (k-ary response), still "
        "show that {first} belong to praise and {other} to blame: {count} words in all, "
        "{wrong}.",
        texts=texts,
        guessed=numeral(f"{100 * _START[_GUESSED]:g}"),
        count=differences.words.size,
        wrong=_wrongly(differences),
        first=first,
        other=other,
    )


def _first(words: Lexicon) -> Choices:
    return Choices(crowd(CROWDS[0], words), 0, False)


def _private(words: Lexicon) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return three texts of ours as they were written, and at each leakage as they come out."""

    def compute() -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        corpus = teaching_corpus()
        written = tuple(corpus.texts[corpus.ids.index(name)] for name in _WRITTEN)
        epsilons = np.array(_epsilons())
        kind = response(words)
        drawn = [
            draw(prepare(text, words), kind, link.SEED, number, epsilons=epsilons)
            for number, text in enumerate(written)
        ]
        texts = [tuple(one.at(epsilon).text for one in drawn) for epsilon in epsilons.tolist()]
        return written, tuple(texts)

    return once("crowd texts", words.fingerprint, compute)


# The dials.


def show_scene(scene: CrowdScene, dial_place: DeltaGenerator, board_place: DeltaGenerator) -> None:
    """Draw both dials and the board."""
    # A visitor who comes back finds the dials as they were, and the link says so.
    for name, values, step in zip(
        (_GUESSED, _TEXTS), (LEAKAGES, scene.choices.sizes), scene.at, strict=True
    ):
        _write(name, values, step)
    with dial_place:
        # A fragment: when a dial rests, the page need not run, since the board follows in the
        # browser.
        fragment(_dials, scene)
    with board_place:
        show_board(packet(scene))


def _dials(scene: CrowdScene) -> None:
    leakage, size = scene.at
    sizes = scene.choices.sizes
    left, right = st.columns(2)
    with left:
        show_dial(_leakage_dial(scene), leakage, lambda step: _rested(_GUESSED, LEAKAGES, step))
    with right:
        show_dial(_size_dial(scene), size, lambda step: _rested(_TEXTS, sizes, step))


def _step(name: str, values: Sequence[float]) -> int:
    """Return the position of a dial: from the link, else the default."""
    text = st.session_state.get(f"crowd_{name}", st.query_params.get(name, ""))
    if name == _TEXTS and text == _ALL:
        return len(values) - 1
    try:
        target = float(text) / (100 if name == _GUESSED else 1)
    except ValueError:
        target = _START[name]
    if not 0 < target < math.inf:
        target = _START[name]
    return min(range(len(values)), key=lambda i: abs(math.log(values[i] / target)))


def _rested(name: str, values: Sequence[float], step: int) -> None:
    st.session_state[f"crowd_{name}"] = _write(name, values, step)
    follows = st.session_state.get(OPEN_VIEW) in {AT_THE_DIALS, COUNTED}
    if follows or drawer_is_open():
        run_parts(VIEWS)


def _write(name: str, values: Sequence[float], step: int) -> str:
    """Write the position of a dial into the link, and return it as it is there."""
    value, usual = values[step], f"{_START[name]:g}"
    label = f"{value:g}"
    if name == _GUESSED:
        label, usual = f"{100 * value:g}", f"{100 * _START[name]:g}"
    elif step == len(values) - 1:
        label = _ALL
    link.write(name, label, usual)
    return label


def _leakage_dial(scene: CrowdScene) -> Dial:
    about, of = say(ABOUT), say("of 100 content words")
    kind = response(scene.words)
    steps = []
    for share, epsilon in zip(LEAKAGES, scene.epsilons, strict=True):
        number = f"{numeral(f'{100 * share:g}')} {of}"
        promised = say("Guarantee"), promised_epsilon(kind, epsilon)
        spoken = f"{about} {number}; {promised[0]}: {promised[1]}"
        steps.append(Step((about, number), promised, spoken, epsilon, share))
    return Dial("crowd_guessed", f"{about}, {of}", tuple(steps))


def _size_dial(scene: CrowdScene) -> Dial:
    choices = scene.choices
    word_count = int(choices.crowd.words.sum())
    about, steps = say("Number of texts"), []
    for size in choices.sizes:
        number = numeral(f"{size:,}")
        words = say("{words} words", words=_rounded(word_count * size / choices.sizes[-1]))
        of = say("Together")
        steps.append(Step((about, number), (of, words), f"{about} {number}; {of} {words}"))
    ends = say("← fewer"), say("more →")
    return Dial("crowd_texts", about, tuple(steps), ends)


def _rounded(count: float) -> str:
    """Write a large number with two digits: "22,000", "2.2 million"."""
    if count < 1e6:
        return numeral(f"{int(float(f'{count:.2g}')):,}")
    return say("{millions} million", millions=numeral(f"{count / 1e6:.2g}"))


# The board: everything that it shows at each setting, so that the dials need only the browser.


def show_board(data: dict[str, Any]) -> None:
    """Draw the board.

    Args:
        data: `dials` (names of both), `at` (their steps), `compared` (a name of what is compared),
            `axis` (low, high, ticks as [value, text], title), `sides` (of words that are more
            common in the group, and in the other), `words`, `cells` by both steps (`up` and `down`:
            rows of index into `words`, estimate, half of the interval, truth, per 1,000 words;
            `finding`, `more`), `texts` by the first step, `written`, and `said` (titles).
    """
    svg_board("crowd", Path(__file__).parent)(key="crowd_told", data=data)


def packet(scene: CrowdScene) -> dict[str, Any]:
    """Return the data of the board."""
    choices, words = scene.choices, dict[str, int]()
    cells = [
        [
            _cell(scene, differences, size, words)
            for differences, size in zip(row, choices.sizes, strict=True)
        ]
        for row in scene.differences
    ]
    written, texts = _private(scene.words)
    drawn = [row for line in cells for cell in line for row in (*cell["up"], *cell["down"])]
    side = later("more in {group}")
    first, other = (say(side, group=say(name)) for name in choices.sides)
    return {
        "dials": ["crowd_guessed", "crowd_texts"],
        "at": list(scene.at),
        "compared": f"{choices.crowd.name} {choices.group} {choices.every} {language()}",
        "axis": _axis([row[1] - row[2] for row in drawn], [row[1] + row[2] for row in drawn]),
        "sides": [first, other],
        "words": list(words),
        "cells": cells,
        "texts": [list(each) for each in texts],
        "written": list(written),
        "said": {
            "released": say("Released texts"),
            "texts": say(
                "three short reviews written for this laboratory, rewritten like all others"
            ),
            "written": say("Original texts"),
            "told": say("Words that tell the groups apart"),
            "legend": say("Dot and bar: estimate and interval. Ring: the truth."),
        },
    }


def _cell(
    scene: CrowdScene, differences: WordDifferences, size: int, words: dict[str, int]
) -> dict[str, Any]:
    sides = [differences.side(sign).tolist() for sign in (1, -1)]
    rows = [
        [
            _row(scene, differences, place, words)
            for place in own[: max(_DRAWN // 2, _DRAWN - len(other))]
        ]
        for own, other in (sides, sides[::-1])
    ]
    finding, more = finding_at(differences, size), ""
    if not differences.words.size:
        more = say("Add texts, or allow more words to be guessed.")
    elif (shown := sum(map(len, rows))) < differences.words.size:
        more = say("Shown: the {shown} clearest.", shown=shown)
    return {"up": rows[0], "down": rows[1], "finding": finding, "more": more}


def _row(
    scene: CrowdScene, differences: WordDifferences, place: int, words: dict[str, int]
) -> list[float]:
    word = words.setdefault(scene.words.words[differences.words[place]], len(words))
    numbers = (differences.difference[place], differences.half[place], differences.truth[place])
    # Per 1,000 words; a thousandth of that is less than a pixel.
    return [word, *(round(1_000 * float(number), 3) for number in numbers)]


def finding_at(differences: WordDifferences, size: int) -> str:
    """Count the words that are told apart, those told wrongly, and intervals without the truth."""
    told, missed = _told(differences, size), int(differences.missed.sum())
    if not missed:
        return told
    # A word may be told apart correctly while its interval misses how large the difference is.
    if missed == 1:
        return say("{told} 1 interval misses the truth.", told=told)
    return say("{told} {missed:,} intervals miss the truth.", told=told, missed=missed)


def _told(differences: WordDifferences, size: int) -> str:
    count, wrong = differences.words.size, differences.wrong
    if not count:
        return say("{texts:,} texts: no word can be told apart.", texts=size)
    if count == 1:
        one = say("wrongly") if wrong else say("correctly")
        return say("{texts:,} texts: 1 word told apart, {how}.", texts=size, how=one)
    how = _wrongly(differences)
    return say(
        "{texts:,} texts: {count:,} words told apart, {how}.", texts=size, count=count, how=how
    )


def _wrongly(differences: WordDifferences) -> str:
    wrong = differences.wrong
    return say("{wrong:,} wrongly", wrong=wrong) if wrong else say("none wrongly")


def _axis(lows: list[float], highs: list[float]) -> dict[str, Any]:
    """Return one axis for all settings, so that intervals are seen to shrink."""
    low, high = min(lows, default=-1.0), max(highs, default=1.0)
    width = next(
        step * 10.0**power
        for power, step in product(range(-3, 4), (1, 2, 5))
        if (high - low) / (step * 10.0**power) <= 7
    )
    first, last = math.floor(low / width), math.ceil(high / width)
    ticks = [round(width * i, 6) for i in range(first, last + 1)]
    return {
        "title": say("difference per 1,000 words"),
        "low": ticks[0],
        "high": ticks[-1],
        "ticks": [[tick, _signed(tick)] for tick in ticks],
    }


def _signed(value: float) -> str:
    return numeral(f"{value:+g}".replace("-", "\N{MINUS SIGN}")) if value else "0"
