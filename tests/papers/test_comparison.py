"""The table of paper against measurement: complete, and computed from the records."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from dpcore import papers
from dpcore.errors import StudyError
from dpcore.measure.counting import expected_distinct
from dpcore.papers import read_toml
from dpcore.papers.comparison import (
    Agreement,
    agreement,
    comparison_rows,
    comparison_table,
    drawing,
    row_within,
)
from dpcore.papers.huang2024 import comparison as comparison_huang
from dpcore.papers.huang2024.plans import NOISELESS
from dpcore.papers.row import Row, comparison_row, signed
from dpcore.papers.studies import STUDIES
from dpcore.papers.xu2021.comparison import wide_noise_law
from dpcore.study.recorded import Figures, MeanInterval, Recorded, read_recorded

# Printed numbers within measured intervals: what is judged, what is not, and where it is read.


def row(in_paper: str, ours: str) -> Row:
    return Row(
        paper="", figure="", quantity="", in_paper=in_paper, ours=ours, reason="for a reason"
    )


@pytest.mark.parametrize(
    ("in_paper", "ours", "within"),
    [
        ("0.52", "0.517 (0.483 to 0.550)", True),
        ("0.52", "0.517 (0.483 to 0.519)", False),
        ("0.50", "as written 0.505 (0.499 to 0.512); stronger 0.500 (0.489 to 0.511)", True),
        ("0.50", "as written 0.513 (0.501 to 0.526); stronger 0.500 (0.489 to 0.511)", False),
        ("0.1, 0.7", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", True),
        ("0.7, 0.1", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", False),
        ("6e-05", "6.05e-05 (5.2e-05 to 0.0013)", True),
        ("−0.1", "−0.12 (−0.2 to −0.05)", True),
        ("0.1, 0.7, 0.9", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", None),
        ("0.52", "0.517", None),
        ("about 0.52", "0.517 (0.483 to 0.550)", None),
        ("10,000", "7,224", None),
        ("not given", "0.017 (0.009 to 0.025)", None),
    ],
)
def test_a_row_is_judged_where_numbers_stand_beside_intervals(
    in_paper: str, ours: str, within: bool | None
) -> None:
    assert row_within(row(in_paper, ours)) is within


def test_rows_are_counted() -> None:
    rows = [
        row("0.52", "0.517 (0.483 to 0.550)"),
        row("0.9", "0.517 (0.483 to 0.550)"),
        row("more", "less"),
    ]
    assert agreement(rows) == Agreement(rows=3, numbers=2, within=1, printed=2)
    assert agreement(()) == Agreement(0, 0, 0, 0)


def test_of_carvalho_two_printed_figures_lie_in_the_intervals() -> None:
    """Madlib at ε = 2, where nothing is left; TEM has other accuracy and another attacker's AUC."""
    rows = comparison_rows(read_recorded("carvalho2021-figure-1"))
    assert [r.quantity for r in rows if row_within(r)] == [
        "accuracy of madlib at ε = 2",
        "attacker's AUC against madlib at ε = 2",
    ]
    assert [r.quantity for r in rows if row_within(r) is False] == [
        "accuracy of tem at ε = 2",
        "attacker's AUC against tem at ε = 2",
    ]


PAPERS_FOLDER = Path(papers.__file__).parent
PAPERS = [name for name, study in STUDIES.items() if study.source]


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_is_compared_with_a_reason(name: str) -> None:
    rows = comparison_rows(read_recorded(name))
    message = " ".join(row.figure for row in rows)
    wanted = ["Figure 1", "Figure 2"]
    if name.startswith("huang"):
        wanted = ["Figure 2" if "yelp" in name else "Figure 5", "Theorem 3"]
    assert all(figure in message for figure in wanted)
    for row in rows:
        fields = dataclasses.asdict(row)
        assert all(text for field, text in fields.items() if field != "difference")
        assert not any(re.search(r"\b(nan|None|inf)\b", text) for text in fields.values())
    assert len({(row.figure, row.quantity) for row in rows}) == len(rows)
    table = comparison_table(read_recorded(name))
    assert list(table.columns) == [field.name for field in dataclasses.fields(Row)]
    assert len(table) == len(rows)


def test_a_study_without_a_paper_has_nothing_to_compare() -> None:
    assert comparison_rows(read_recorded("bundled-mechanisms")) == ()


@pytest.mark.parametrize("name", PAPERS)
def test_our_side_follows_the_record(name: str) -> None:
    """Other recorded numbers give other sentences: none of them is typed."""
    recorded = read_recorded(name)
    halved = recorded.table.assign(mean=recorded.table["mean"] / 2, true_delta=0.123)
    changed = comparison_rows(Recorded(recorded.entry, halved))
    rows = comparison_rows(recorded)
    fixed = {
        "number of words n", "smallest distance Δ₀", "smallest ε", "clipping norm C",
        "the guarantee at these ε",
    }  # fmt: skip
    for before, after in zip(rows, changed, strict=True):
        assert before.in_paper == after.in_paper
        assert (before.ours == after.ours) == (before.quantity in fixed)


@pytest.mark.parametrize(("n", "expected"), [(48_210, 18.8), (11_673, 17.1)])
def test_sw_with_candidates_equally_likely(n: int, expected: float) -> None:
    law = wide_noise_law(n)
    assert np.isclose(law.sum(), 1.0)
    assert float(expected_distinct(law, 1_000)) == pytest.approx(expected, abs=0.05)


def test_the_width_of_published_noise() -> None:
    # MECHANISMS reference: C = 1, δ^{1/d} = 1/4, ε = 0.1: deviation 2.319464576
    assert comparison_huang.published_deviation(0.1) == pytest.approx(2.319464576, rel=1e-8)
    spread = comparison_huang.deviations()
    assert spread["laplace"] == pytest.approx(48.99, abs=0.005)
    assert spread["gaussian-classical"] > spread["laplace"]


def test_reading_a_curve() -> None:
    recorded = read_recorded("xu2021-figure-1-snli")
    figures = Figures(recorded)
    half = figures.crossing("nw", "madlib", 0.5)
    rows = recorded.rows("nw")
    rows = rows[rows["series"] == "madlib"].sort_values("epsilon")
    below, above = rows[rows["epsilon"] <= half].iloc[-1], rows[rows["epsilon"] > half].iloc[0]
    assert below["mean"] < 0.5 <= above["mean"]
    assert figures.crossing("nw", "madlib", 2.0) is None
    assert figures.interpolated("sw", "madlib", None) is None
    assert figures.mean("nw", "madlib", 20.0) > 0.9
    with pytest.raises(StudyError, match="no nw of madlib at ε = 21"):
        figures.at("nw", "madlib", 21.0)
    with pytest.raises(StudyError, match="no curve 'none'"):
        figures.at("nw", "none", 1.0)


def test_reading_trials() -> None:
    figures = Figures(read_recorded("huang2024-tables-yelp")).only(lexicon="yelp")
    half = 0.5 * figures.without("nw").mean
    epsilon = figures.reaching("nw", "laplace", half)
    rows = figures.curve("nw", "laplace")
    assert rows.loc[rows["epsilon"] < epsilon, "mean"].max() < half
    assert figures.interpolated("nw", "laplace", epsilon) == pytest.approx(half)
    assert figures.reaching("nw", "laplace", 2.0) is None
    assert figures.option("rewritten") == 200
    assert figures.lexicon("yelp")["words"] == 7_223
    with pytest.raises(StudyError, match="no curve 'none'"):
        figures.at("nw", "none", 1.0)


def test_a_reading_says_its_interval_if_it_has_one() -> None:
    assert str(MeanInterval(0.5, 0.4, 0.6)) == "0.500 (0.400 to 0.600)"
    assert str(MeanInterval(0.5, float("nan"), float("nan"))) == "0.5"


def test_printed_values_are_drawn_beside_the_measured_ones() -> None:
    recorded = read_recorded("huang2024-figure-2-yelp")
    table = drawing(recorded, STUDIES[recorded.entry.name].panels[0]).table
    paper = table[table["layer"] == "paper"]
    assert set(paper["curve"]) == {"gaussian-classical", "laplace", "trlaplace"}
    assert len(paper) == 24
    assert paper["mean"].max() < NOISELESS["yelp"]["nw"] + 0.05
    protocol = table[table["layer"] == "protocol"]
    assert set(protocol["curve"]) == {"gaussian-classical", "laplace"}


@pytest.mark.parametrize(
    "file", sorted(PAPERS_FOLDER.glob("*/comparison.toml")), ids=lambda file: file.parent.name
)
def test_every_sentence_is_used(file: Path) -> None:
    sentences = read_toml(f"{file.parent.name}/{file.name}")
    code = "".join(path.read_text("utf-8") for path in file.parent.glob("*.py"))
    for key, content in sentences.items():
        if isinstance(content, dict):
            assert f'"{key}"' in code
        elif key != "paper":
            assert f"{{{key}}}" in file.read_text("utf-8")


def test_a_gap_that_nothing_fills_is_an_error() -> None:
    figures = Figures(read_recorded("xu2021-figure-1-snli"))
    with pytest.raises(KeyError, match="near"):
        comparison_row("xu2021", "smallest-distance", figures, paper_near=1.0)


def test_a_difference_has_a_real_minus_sign() -> None:
    assert signed(-0.5) == "−0.5"
    assert signed(0.25) == "+0.25"
