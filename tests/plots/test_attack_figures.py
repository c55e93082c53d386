"""The icon array, chances in everyday words, and the sentences of the odds card."""

import itertools
import math
import re

import pandas as pd
import pytest

from dpcore.plots.attack import icons as attack_icons
from dpcore.plots.attack.icons import AFTER, BEFORE, OTHER, REST, icon_caption, icon_figure
from dpcore.plots.attack.odds import (
    CAPTION_COLUMNS,
    change_text,
    others_sentence,
    success_sentence,
    worst_sentence,
)
from dpcore.plots.attack.words import (
    chance_text,
    count_text,
    limit_text,
    share_text,
    times_text,
)
from tests.plots.test_style import contrast

ICONS = pd.DataFrame(
    [
        (BEFORE, "A", "garage", 0),
        (BEFORE, "B", "<b>car", 1),
        (BEFORE, REST, OTHER, 99),
        (AFTER, "A", "garage", 34),
        (AFTER, "B", "<b>car", 2),
        (AFTER, REST, OTHER, 64),
    ],
    columns=list(attack_icons.COLUMNS),
)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0 in 100"),
        (1e-30, "less than 1 in a million"),
        (4e-5, "1 in 25,000"),
        (1 / 3333.4, "1 in 3,330"),
        (0.0099, "1 in 101"),
        (0.01, "1 in 100"),
        (0.3137, "31 in 100"),
        (0.99, "99 in 100"),
        (0.996, "99.6 in 100"),
        (1 - 1 / 5_770, "99.98 in 100"),
        (1 - 1e-5, "99.999 in 100"),
        (1 - 1e-9, "almost certain"),
        (1.0, "almost certain"),
    ],
)
def test_a_chance_is_a_count(probability: float, text: str) -> None:
    assert chance_text(probability) == text


def test_a_chance_that_rounds_to_one_is_called_certain_only_if_it_is() -> None:
    assert chance_text(1.0, certain=True) == "100 in 100"
    assert chance_text(1 - 1e-9, certain=True) == "almost certain"
    assert share_text(0.31, "cases") == "31 in 100 cases"
    assert share_text(1.0, "cases") == share_text(1 - 1e-9, "cases", certain=True)
    assert share_text(1.0) == "nearly all"
    assert share_text(1.0, "cases", certain=True) == "100 in 100 cases"


def test_a_posterior_that_rounds_to_one_is_certain_only_if_the_prior_was() -> None:
    assert chance_text(1.0) == "almost certain"
    assert chance_text(1.0, certain=True) == "100 in 100"
    assert "right in nearly all cases" in success_sentence(1.0, 1.0, 1.0, 9, 0.5, exact=True)
    assert "right in 100 in 100 cases" in success_sentence(1.0, 1.0, 1.0, 9, 1.0, exact=True)


def test_a_chance_is_never_far_from_what_it_says() -> None:
    for i in range(1, 2000):
        p = 1 / (1 + math.exp((i - 1000) / 100))
        text = chance_text(p)
        some, of = (float(part.replace(",", "")) for part in text.split()[-3::2])
        assert 0 < some < of
        slack = 0.0051 * p if p < 0.01 else min(0.00501, 0.501 * (1 - p))
        assert some / of == pytest.approx(p, rel=1e-12, abs=slack)


@pytest.mark.parametrize(
    ("logarithm", "text"),
    [
        (0.0, "as likely as before"),
        (math.log(6.1234), "6.12 times more likely"),
        (-math.log(8610), "8,610 times less likely"),
        (math.log(1.23e8), "over a million times more likely"),
        (-math.inf, "ruled out"),
    ],
)
def test_a_change_is_a_factor(logarithm: float, text: str) -> None:
    assert times_text(logarithm) == text


def test_an_infinite_factor_has_words() -> None:
    assert count_text(math.inf) == "over a million"


def test_the_panels_hold_a_hundred_squares_with_letters() -> None:
    before, after = icon_figure(ICONS).data
    for panel, named in ((before, 1), (after, 36)):
        assert [len(row) for row in panel.z] == [10] * 10
        letters = [letter for row in panel.text for letter in row]
        assert sum(letter != "" for letter in letters) == named
        # A square of no word has level 0, one of a word the level of its letter.
        levels = [level for row in panel.z for level in row]
        assert [" AB"[level].strip() for level in levels] == letters
    assert icon_figure(ICONS).layout.annotations[1].text == AFTER


def test_letters_are_legible_and_neighbours_differ() -> None:
    rows = [(AFTER, mark, f"w{mark}", 8) for mark in attack_icons.MARKS]
    table = pd.DataFrame([*rows, (AFTER, REST, OTHER, 4)], columns=ICONS.columns)
    (panel,) = icon_figure(table).data
    colours = [colour for _, colour in panel.colorscale][2::2]
    assert len(colours) == len(attack_icons.MARKS)
    assert all(contrast(panel.textfont.color, colour) >= 4.5 for colour in colours)
    assert all(left != right for left, right in itertools.pairwise(colours))


def test_words_cannot_become_markup() -> None:
    text = icon_figure(ICONS).to_json()
    assert "<b>car" not in text
    assert not re.search(r"\\u003cb\\u003ecar", text)
    assert "&lt;b&gt;car" in text.replace("\\u0026", "&")


def test_the_caption_counts_cases() -> None:
    assert icon_caption(ICONS).how == (
        "Of 100 cases in which this is seen: “garage” (A) in 34, “<b>car” (B) in 2, any other "
        "word in 64. Before: “<b>car” (B) in 1, any other word in 99."
    )
    alike = pd.DataFrame(
        [
            (when, mark, mark, n)
            for when in (BEFORE, AFTER)
            for mark, n in zip("ABC", (34, 33, 33), strict=True)
        ],
        columns=ICONS.columns,
    )
    assert icon_caption(alike).how == (
        "Of 100 cases in which this is seen: each of the 3 words in 33 or 34. Before: each of the "
        "3 words in 33 or 34."
    )


BELIEFS = pd.DataFrame(
    [("garage", 4e-5, 0.344), ("truck", 4e-5, 2.45e-4)], columns=list(CAPTION_COLUMNS)
)


def test_the_odds_card_speaks_everyday_words() -> None:
    assert others_sentence(BELIEFS, 1391.7) == (
        "The next likeliest word is “truck”, 1 in 4,080. All in all as uncertain as among "
        "1,390 equally likely words (perplexity)."
    )
    alone = others_sentence(BELIEFS[:1], 1.0)
    assert alone == "No other word is possible: hardly any doubt is left."
    assert "2.5 equally likely words" in others_sentence(BELIEFS, 2.51)


def test_the_success_says_whether_it_is_summed_or_drawn() -> None:
    summed = success_sentence(0.34, 0.3399, 0.3401, 25_000, 4e-5, exact=True)
    assert summed == (
        "The best guess is right in 34 in 100 cases (summed over all 25,000 outputs). Anyone who "
        "sees nothing and names the likeliest word is right in 1 in 25,000."
    )
    drawn = success_sentence(0.34, 0.244, 0.443, 200, 0.04, exact=False)
    assert "(200 outputs drawn, 95 % interval 24.4 to 44.3 in 100)" in drawn


def test_a_change_of_the_chance() -> None:
    assert change_text(4e-5, 0.344) == "8,600 times more likely"
    assert change_text(0.5, 0.0) == "ruled out"
    assert change_text(0.0, 0.0) == "was impossible"
    assert change_text(0.5, 0.25) == "2 times less likely"


def test_the_worst_pair_says_how_much_of_the_guarantee_is_used() -> None:
    sentence = worst_sentence("garage", "14", math.log(1.7e4), math.log(1.5e8), broken=False)
    assert sentence == (
        "Of all words this output separates “garage” from “14” most, relative to the guarantee: by "
        "a factor of 17,000; guarantee: no real limit."
    )
    assert limit_text(math.log(20)) == "at most 20"
    assert limit_text(math.inf) == "no limit"
    assert "guarantee: at most 2, which this breaks" in worst_sentence(
        "a", "b", 3.0, math.log(2), broken=True
    )
