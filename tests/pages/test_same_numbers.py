"""A number that stands on two pages is the same number."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_page, shown_text

EPSILON, WORD = 1.0, "doctor"


def on_rewrite() -> float:
    state = {"text": WORD, "via": "tem", "eps_metric": EPSILON, "metric": ["tem"]}
    test = open_page("rewrite", view="One word: strip and odds", log=[], local=[], **state)
    # In the finding under the figure, and again in how it is computed.
    (stays,) = set(re.findall(rf"“{WORD}” stays with probability (\S+?)[,;.]?\s", shown_text(test)))
    return float(stays)


def on_deniability() -> float:
    few = {"curve_metric": ["tem"], "curve_log": [], "curve_local": []}
    test = open_page("curves", of="My own words", words=WORD, eps_metric=EPSILON, runs=20, **few)
    return the_nw(test)


def on_words() -> float:
    few = {"curve_metric": ["tem"], "curve_log": [], "curve_local": []}
    test = open_page("words", word=WORD, other_word="monday", eps_metric=EPSILON, **few)
    return the_nw(test)


def the_nw(test: AppTest) -> float:
    assert not test.exception, test.exception
    for table in test.dataframe:
        frame = table.value
        for name in ("Nw", "nw"):
            if name in frame.columns:
                return float(frame[name].iloc[0])
    raise LookupError("no table with Nw")


@pytest.mark.slow
def test_nw_of_a_word_is_one_number_on_three_pages() -> None:
    first, second, third = on_rewrite(), on_deniability(), on_words()
    assert 0 < first < 1
    assert first == pytest.approx(second, rel=5e-3)  # shown with three digits here
    assert third == pytest.approx(second, rel=5e-3)  # and here
