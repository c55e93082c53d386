"""The budget of a sentence, curves of attackers' success, and the least protected words."""

import math

import pandas as pd
import pytest

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.attack import budget as attack_budget
from dpcore.plots.attack import exposed as attack_exposed
from dpcore.plots.attack import success as attack_success
from dpcore.plots.attack.budget import budget_caption, budget_figure
from dpcore.plots.attack.exposed import BEST, OTHER, WORST, exposed_caption, exposed_figure
from dpcore.plots.attack.success import (
    FOUND,
    found_caption,
    found_figure,
    released_caption,
    released_figure,
    success_caption,
    success_figure,
)


def spent(count: int) -> pd.DataFrame:
    rows = [("my", 2, 2, "your", 20.0), ("<b>doctor", 1, 1, "nurse", 5.0)]
    rows += [(f"w{i}", 1, 1, "v", 1.0) for i in range(count - 2)]
    return pd.DataFrame(rows, columns=list(attack_budget.COLUMNS))


def test_stairs_begin_where_the_last_one_ended_and_end_at_the_sum() -> None:
    (bars,) = budget_figure(spent(5)).data
    ends = [base + x for base, x in zip(bars.base, bars.x, strict=True)]
    assert list(bars.base[1:-1]) == pytest.approx(ends[:-2])
    assert bars.base[-1] == 0
    assert ends[-1] == pytest.approx(ends[-2]) == pytest.approx(28 / math.log(10))


def test_a_long_text_has_one_stair_for_the_rest_and_loses_nothing() -> None:
    figure = budget_figure(spent(90))
    (bars,) = figure.data
    labels = figure.layout.yaxis.ticktext
    assert labels[-2] == "<b>66 more words</b>"
    assert bars.hovertext[-2].startswith("66 more words: at most ")
    assert sum(bars.x[:-1]) == pytest.approx(bars.x[-1]) == pytest.approx(113 / math.log(10))


def test_words_of_a_budget_are_no_markup() -> None:
    assert budget_figure(spent(3)).layout.yaxis.ticktext[1] == "&lt;b&gt;doctor"
    assert budget_figure(spent(3)).layout.yaxis.ticktext[0] == "my (2×)"
    assert budget_figure(spent(3)).data[0].hovertext[0].startswith("“my” (2×): at most ")


def test_the_budget_caption_names_the_sum_and_the_dearest_word() -> None:
    caption = budget_caption(spent(2), 1.0).how
    assert "by the guarantee: no real limit" in caption
    assert "a guess may be right in nearly all cases. Most" in caption
    assert "“my” (2 outputs; no real limit against “your”)" in caption


CURVES = pd.DataFrame(
    [
        ("alike", 1.0, 0.1, 0.05, 0.15),
        ("alike", 2.0, 0.5, 0.45, 0.55),
        ("context", 1.0, 0.4, 0.35, 0.45),
        ("context", 2.0, 0.6, 0.6, 0.6),
    ],
    columns=list(attack_success.COLUMNS),
)


def test_every_attacker_has_a_curve_a_band_and_looks_of_its_own() -> None:
    figure = success_figure(CURVES, EpsilonMeaning.METRIC, 2.0)
    bands, curves = figure.data[::2], figure.data[1::2]
    assert [curve.name for curve in curves] == ["alike", "context"]
    assert len({(c.line.color, c.line.dash, c.marker.symbol) for c in curves}) == 2
    assert list(bands[0].y) == pytest.approx([15, 55, 45, 5])
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.shapes[0].x0 == 2.0


def test_small_shares_fill_the_axis() -> None:
    few = CURVES.assign(**{name: CURVES[name] / 10 for name in ("right", "low", "high")})
    assert success_figure(few, EpsilonMeaning.METRIC).layout.yaxis.range[1] < 11
    assert success_figure(CURVES, EpsilonMeaning.METRIC).layout.yaxis.range[1] > 100
    none = CURVES.assign(right=0.0, low=0.0, high=0.0)
    assert success_figure(none, EpsilonMeaning.METRIC).layout.yaxis.range[1] > 0


def test_the_axis_of_a_logarithmic_meaning_is_that_of_ln_epsilon() -> None:
    table = CURVES.assign(epsilon=CURVES["epsilon"].map(math.exp))
    figure = success_figure(table, EpsilonMeaning.METRIC_LOG, math.e)
    assert list(figure.data[1].x) == pytest.approx([1.0, 2.0])
    assert figure.layout.shapes[0].x0 == pytest.approx(1.0)
    assert figure.layout.xaxis.type == "linear"
    assert not success_figure(table, EpsilonMeaning.METRIC_LOG).layout.shapes


def test_the_caption_reads_the_chosen_epsilon_or_the_widest_gap() -> None:
    assert success_caption(CURVES, 2.0).how == (
        "Right guesses at ε = 2: alike: 50 in 100 (45 to 55); context: 60 in 100."
    )
    assert success_caption(CURVES, 7.0).how.startswith("Right guesses at ε = 1: alike: 10 in 100")
    alone = CURVES[CURVES["attacker"] == "alike"]
    assert success_caption(alone).how.startswith("Right guesses at ε = 2")


EXPOSED = pd.DataFrame(
    [
        ("ante", WORST, 5.9, 0.35),
        ("gawk", WORST, 6.2, 0.349),
        ("<i>14", BEST, 1.6, 0.25),
        ("car", OTHER, 4.0, 0.33),
    ],
    columns=list(attack_exposed.COLUMNS),
)


def test_both_ends_have_marks_and_the_first_of_each_a_name() -> None:
    figure = exposed_figure(EXPOSED)
    by_name = {trace.name: trace for trace in figure.data}
    assert list(by_name[WORST].text) == ["ante", ""]
    assert list(by_name[BEST].text) == ["&lt;i&gt;14"]
    assert by_name[OTHER].text is None
    assert len({trace.marker.symbol for trace in figure.data}) == 3


def test_the_caption_names_both_ends_and_the_reason() -> None:
    caption = exposed_caption(EXPOSED, 0.62, 25_000).how
    assert "Of 25,000 words “ante” is protected least: it stays in 35 in 100 cases" in caption
    assert "best protected is “<i>14”, 25 in 100 (1.6 away)" in caption
    assert "is 0.62." in caption
    assert "all words stay equally often." in exposed_caption(EXPOSED, math.nan, 2).how


FOUND_AUTHORS = pd.DataFrame(
    [
        ("as written", 25, 0.3, 0.2, 0.4, 100),
        ("as written", 50, 0.5, 0.3, 0.7, 20),
        ("released", 25, 0.1, 0.05, 0.2, 100),
        ("released", 50, 0.4, 0.2, 0.6, 20),
    ],
    columns=FOUND,
)


def test_authors_found_are_drawn_with_what_chance_finds() -> None:
    figure = found_figure(FOUND_AUTHORS, 0.04)
    named = [trace for trace in figure.data if trace.name]
    assert [trace.name for trace in named] == ["as written", "released"]
    assert list(named[1].y) == [10, 40]
    assert list(named[1].customdata) == [100, 20]
    (chance,) = figure.layout.shapes
    assert chance.y0 == chance.y1 == 4
    assert list(figure.layout.xaxis.ticktext) == ["25", "50"]


def test_a_finding_rests_on_many_authors_where_there_are_many() -> None:
    caption = found_caption(FOUND_AUTHORS, 0.04)
    assert caption.finding == (
        "“released”, 25 words: 10 of 100 authors are found, 4 by chance (dotted)."
    )
    assert "50 words: 40 (20 to 60; 20 authors)" in caption.how
    few = FOUND_AUTHORS[FOUND_AUTHORS["authors"] < 50]
    assert found_caption(few, 0.04).finding.startswith("“released”, 50 words: 40 of 100")


def released(value: float = 0.5, bound: float = 1.0) -> pd.DataFrame:
    rows = [("fresh noise", r, value * r / 6, value * r / 7, value * r / 5) for r in range(1, 7)]
    rows += [("memoised answers", r, value / 6, value / 6, value / 6) for r in range(1, 7)]
    rows += [("allowed by the guarantee", r, bound, bound, bound) for r in range(1, 7)]
    return pd.DataFrame(rows, columns=list(attack_success.RELEASED))


def test_releases_are_drawn_on_an_axis_of_powers_of_two() -> None:
    figure = released_figure(released())
    band, fresh, memoised, allowed = figure.data
    assert [curve.name for curve in (fresh, memoised, allowed)] == [
        "fresh noise", "memoised answers", "allowed by the guarantee"
    ]  # fmt: skip
    assert list(fresh.y) == pytest.approx([100 * 0.5 * r / 6 for r in range(1, 7)])
    assert list(memoised.y) == pytest.approx([100 * 0.5 / 6] * 6)
    assert set(allowed.y) == {100.0}
    assert max(band.y) == pytest.approx(100 * 0.5 * 6 / 5)
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4]


def test_the_caption_of_releases_has_the_computed_numbers() -> None:
    caption = released_caption(released(bound=0.4))
    assert "50 in 100 words are guessed after 6 releases" in caption.finding
    assert "8.33 in 100" in caption.finding or "8 in 100" in caption.finding
    assert len(caption.finding.split()) <= 25
    assert "4: 33.3 in 100 (28.6 to 40)" in caption.how
    assert "6: " not in caption.how
    assert "would allow 40 in 100 words" in caption.how
    assert "nearly all" in released_caption(released()).how
