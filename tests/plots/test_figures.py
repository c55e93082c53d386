"""The figures and their captions, from small tables with known content."""

import math
import subprocess
import sys

import pandas as pd
import pytest

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots import law, strip
from dpcore.plots.attack import odds
from dpcore.plots.attack.odds import odds_sentence
from dpcore.plots.law import law_caption
from dpcore.plots.strip import strip_caption
from dpcore.plots.style import enlarged, epsilon_reading, factor_text, number, plain, powers_of_ten
from tests.needs import ROOT
from tests.plots.test_style import contrast

METRIC, LOG = EpsilonMeaning.METRIC, EpsilonMeaning.METRIC_LOG
PIECES = pd.DataFrame(
    [
        ("madlib.v1", "Madlib", METRIC, "city", 0.0, 20.0, "zoo", 9.0, True),
        ("madlib.v1", "Madlib", METRIC, "city", 20.0, 80.0, "<b>town", 4.8, True),
        ("madlib.v1", "Madlib", METRIC, "city", 80.0, math.inf, "city", 0.0, True),
        ("truncated-gumbel.v1", "Gumbel", LOG, "city", 20.0, 2e6, "town", 4.8, False),
    ],
    columns=list(strip.COLUMNS),
)
RANGES = {METRIC: (0.1, 1000.0), LOG: (math.exp(2), math.exp(20))}


def test_the_strip_cuts_pieces_at_the_range_and_keeps_scales_apart() -> None:
    figure = strip.strip_figure(PIECES, RANGES)
    first, second = figure.data
    assert list(first.base) == [0.1, 20.0, 80.0]
    ends = [a + b for a, b in zip(first.base, first.x, strict=True)]
    assert ends == pytest.approx([20.0, 80.0, 1000.0])
    assert first.xaxis != second.xaxis
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis2.type != "log"
    assert second.base[0] == pytest.approx(math.log(20.0))
    assert second.x[0] == pytest.approx(math.log(2e6 / 20.0))


def test_every_piece_is_legible_under_its_ink() -> None:
    for trace in strip.strip_figure(PIECES, RANGES).data:
        ink = trace.insidetextfont.color
        assert all(contrast(ink, colour) >= 4.5 for colour in trace.marker.color)


def test_words_cannot_become_markup_in_a_figure() -> None:
    figure = strip.strip_figure(PIECES, RANGES)
    assert "<b>town" not in str(figure.data[0].text)
    assert figure.data[0].text[1] == plain("<b>town") == "&lt;b&gt;town"


def test_the_strip_caption_says_from_where_the_word_stays() -> None:
    caption = strip_caption(PIECES).how
    assert "Madlib: stays from ε = 80 on, 2 other words below" in caption
    assert "Gumbel: never stays in this range, 1 other word" in caption


def bars(exact: bool) -> pd.DataFrame:
    return pd.DataFrame(
        [
            ("tem.v1", "city", 5.0, "town", 0.5, 0.01, 4.0, exact),
            ("tem.v1", "city", 5.0, "city", 0.2, 0.01, 0.0, exact),
        ],
        columns=list(law.COLUMNS),
    )


def test_an_estimate_has_error_bars_and_an_exact_law_none() -> None:
    assert law.law_figure(bars(True)).data[0].error_x.array is None
    error = law.law_figure(bars(False).assign(error=[0.01, 0.15])).data[0].error_x
    assert list(error.array) == [0.02, 0.3]
    assert list(error.arrayminus) == [0.02, 0.2]
    caption = law_caption(bars(False), (0.2, 0.17, 0.23), "400 draws").how
    assert "most likely becomes “town” (0.5, 4 away)" in caption
    assert "hold 70%" in caption
    assert "Estimated: 400 draws, ± 0.02 (two standard errors)" in caption
    assert law_caption(bars(True), 3 * (0.2,), "closed form").how.endswith("Exact: closed form.")


def test_a_word_that_almost_certainly_stays_shows_what_is_missing_from_1() -> None:
    caption = law_caption(bars(True), 3 * (1.0,), "closed form", -50.0).how
    assert "stays with probability 1 − 1.9·10⁻²²;" in caption
    assert "stays with probability 1;" in law_caption(bars(True), 3 * (1.0,), "closed form").how
    assert "1 −" not in law_caption(bars(True), 3 * (0.9994,), "closed form", -7.4).how


ODDS = pd.DataFrame(
    [
        (
            "tem.v1",
            "TEM",
            "city",
            "town",
            "zoo",
            *3 * [math.log(2)],
            math.log(7.4),
            True,
            "proved",
            math.nan,
            math.nan,
        ),
        (
            "madlib.v1",
            "Madlib",
            "city",
            "town",
            "zoo",
            math.nan,
            -math.inf,
            math.inf,
            500.0,
            False,
            "refuted",
            0.003,
            1 / 417,
        ),
        (
            "vickrey.v1",
            "Vickrey",
            "city",
            "town",
            "town",
            -math.log(3),
            -math.log(4),
            math.log(2),
            2.0,
            False,
            "proved",
            0.5,
            0.5,
        ),
        (
            "mahalanobis.v1",
            "Mahalanobis",
            "city",
            "town",
            "town",
            math.nan,
            -math.inf,
            -math.log(5),
            2.0,
            False,
            "proved",
            0.5,
            0.5,
        ),
    ],
    columns=list(odds.COLUMNS),
)


def test_the_odds_say_who_is_favoured_and_what_is_guaranteed() -> None:
    caption = [odds_sentence(row) for _, row in ODDS.iterrows()]
    assert caption[0] == (
        "TEM: seeing “zoo” multiplies the odds of “city” against “town” by 2; guarantee: at most "
        "7.4."
    )
    assert caption[1] == (
        "Madlib: “zoo” leaves the odds undecided: each at most 1 in 330; guarantee, refuted: no "
        "real limit."
    )
    assert odds.odds_figure(ODDS).data[0].text[1] == "undecided: each at most 1 in 330"
    assert "multiplies the odds of “town” against “city” by about 3 (0.5 to 4);" in caption[2]
    assert "multiplies the odds of “town” against “city” by at least 5;" in caption[3]


def test_the_odds_figure_starts_at_one_and_cuts_what_is_huge() -> None:
    figure = odds.odds_figure(ODDS)
    bar, bound = figure.data
    assert bar.x[0] == pytest.approx(math.log10(2))
    assert bar.x[1] == 0.0
    assert max(bound.x) == 60.0
    assert "learns nothing" in figure.layout.annotations[0].text
    assert "1×" in figure.layout.xaxis.ticktext


def test_bars_and_captions_speak_for_the_same_word_by_the_same_factor() -> None:
    figure = odds.odds_figure(ODDS)
    bar, bound = figure.data
    left, right = figure.layout.xaxis.title.text.split("(")[0], figure.layout.xaxis.title.text
    assert left.startswith("← for “town”")
    assert right.endswith("for “city” →")
    for (_, row), x, text in zip(ODDS.iterrows(), bar.x, bar.text, strict=True):
        if math.isnan(row["log_ratio"]):
            continue
        caption = odds_sentence(row)
        word, factor = odds.favoured_word(row)[0], 10 ** abs(x)
        assert word == ("city" if x > 0 else "town")  # its side of the axis
        assert f"odds of “{word}” against" in caption
        interval = "" if row["exact"] else " (0.5 to 4)"
        assert text.endswith(f"{factor:.3g} times{interval} for “{word}”")
        assert f"{factor:.3g}{interval};" in caption
    # The guarantee bounds both sides, and the factors of the axis are the same on both.
    half = len(ODDS)
    assert list(bound.x) == [*bound.x[:half], *(-x for x in bound.x[:half])]
    ticks = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
    assert all(ticks[-place] == label for place, label in ticks.items())


def test_a_bound_beyond_the_axis_is_an_arrow() -> None:
    bound = odds.odds_figure(ODDS).data[1]  # the second guarantees 500 nats, 217 powers of ten
    symbols = list(bound.marker.symbol)
    assert [symbols[i] for i in (1, 5)] == [odds.BEYOND[1], odds.BEYOND[0]]
    assert {symbols[i] for i in (0, 2, 3, 4, 6, 7)} == {"line-ns-open"}
    beyond = [i for i, text in enumerate(bound.hovertext) if "beyond this axis" in text]
    assert beyond == [1, 5]
    far = [-900.0, 1.0, 1.0, 1.0]
    huge = odds.odds_figure(ODDS.assign(log_ratio=far, log_low=far, log_high=far)).data[0]
    assert "beyond this axis" in huge.text[0]


def test_infinite_odds_do_not_break_the_figure() -> None:
    infinite = [math.inf, -math.inf, math.nan, math.nan]
    table = ODDS.assign(log_ratio=infinite, log_low=infinite, log_high=infinite)
    figure = odds.odds_figure(table)
    assert all(math.isfinite(x) for x in figure.data[0].x)
    assert all(math.isfinite(x) for x in figure.layout.xaxis.range)


@pytest.mark.parametrize(
    ("log_factor", "text"),
    [
        (0.0, "1"),
        (math.log(7.4), "7.4"),
        (math.log(2.5e22), "2.5·10²²"),
        (math.log(9.99e15), "1.0·10¹⁶"),
        (1e6, "10⁴³⁴⁰⁰⁰"),
        (-1e6, "10⁻⁴³⁴⁰⁰⁰"),
        (-math.log(1e5), "1.0·10⁻⁵"),
        (math.inf, "any factor"),
    ],
)
def test_factors_stay_readable(log_factor: float, text: str) -> None:
    assert factor_text(log_factor) == text


def test_numbers_and_ticks() -> None:
    assert [number(x) for x in (0.1, 12.0, 22026.47, 4.85e8, 1e15)] == [
        "0.1",
        "12",
        "22,000",
        "485,000,000",
        "10¹⁵",
    ]
    places, labels = powers_of_ten(-1.0, 60.0)
    assert len(places) == len(labels) <= 8
    assert 0.0 in places


def test_the_reading_multiplies_what_it_says() -> None:
    assert epsilon_reading(METRIC, 12.0, 4.3).endswith("4.3 away: no real limit.")
    caption = epsilon_reading(METRIC, 2.0, 4.29549)
    assert "by e^(2 × 4.3) against a nearest word 4.3 away: at most 5,440." in caption
    assert 5430 < math.exp(2 * 4.3) < 5440
    assert "e^2: at most 7.39" in epsilon_reading(EpsilonMeaning.LOCAL, 2.0, None)
    assert epsilon_reading(METRIC, 3.0, None) == "ε = 3 per unit of distance."


def test_large_letters_are_those_of_axes_and_legends() -> None:
    usual = odds.odds_figure(ODDS)
    before = usual.to_plotly_json()
    figure = enlarged(usual)
    assert usual.to_plotly_json() == before  # it may be kept, and shown to others
    layout = figure.layout
    sizes = [layout.font.size, layout.legend.font.size]
    sizes += [layout.xaxis.tickfont.size, layout.yaxis.title.font.size]
    assert min(sizes) >= 16
    assert all(text.font.size < 16 for text in figure.layout.annotations)  # their room is as it was
    assert figure.layout.height == usual.layout.height
    assert figure.layout.margin == usual.layout.margin


def test_words_for_numbers_come_without_the_library_of_charts() -> None:
    """The command line writes numbers as the figures do, and must not wait for Plotly."""
    program = "import sys, dpcore.plots.style, dpcore.plots.style; print('plotly' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert answer.stdout.strip() == "False"
