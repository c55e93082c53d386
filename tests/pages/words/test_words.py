"""The two words of the page Words: chosen, exchanged, refused, and never shared."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import vocabulary_density
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from pages.shared import session as resources
from pages.words import scene
from tests.pages.app import shown_text
from tests.pages.words.reading import FEW, panes, shown


@pytest.mark.slow
def test_a_typed_word_is_found_and_chosen(opened: Callable[..., AppTest]) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("Doctor").run()
    assert not test.exception
    assert shown(test) == ("doctor", "garage")
    assert test.query_params["word"] == "doctor"
    test.text_input(key="find_other_word").set_value("hospit").run()
    assert shown(test) == ("doctor", "garage")
    assert "hospit" not in str(test.query_params)
    box = test.selectbox(key="match_other_word")
    assert "hospital" in box.options
    box.set_value("hospital").run()
    assert shown(test) == ("doctor", "hospital")
    assert test.query_params["other"] == "hospital"
    assert any("“doctor”" in caption for caption in panes(test)["captions"])


def test_a_word_that_is_not_there_gets_the_nearest_spellings(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("hospitel").run()
    assert not test.exception
    assert shown(test) == DEFAULT_PAIR
    assert "did you mean 'hospital'" in shown_text(test)
    assert "The picture still shows “monday” and “garage”." in shown_text(test)
    assert "hospitel" not in str(test.query_params)


def test_the_same_word_twice_is_refused_with_a_sentence(opened: Callable[..., AppTest]) -> None:
    test = opened(word="city", other_word="city", **FEW)
    assert not test.exception
    assert len(test.error) == 1
    assert "two different words are needed" in shown_text(test)
    assert not any(e.proto.component_name.endswith(".panes") for e in test.get("bidi_component"))
    assert len(test.text_input) == 2


@pytest.mark.slow
def test_a_default_makes_room_for_the_chosen_word(opened: Callable[..., AppTest]) -> None:
    assert shown(opened(word="garage", **FEW)) == ("garage", "monday")
    assert shown(opened(other_word="monday", **FEW)) == ("garage", "monday")


def test_the_two_words_are_exchanged(opened: Callable[..., AppTest]) -> None:
    test = opened(word="city", more="Facts", **FEW)
    test.button(key="exchange").click().run()
    assert shown(test) == ("garage", "city")
    assert test.query_params["word"] == "garage"
    assert test.query_params["other"] == "city"


def test_a_word_of_a_typed_text_is_shown_but_not_in_the_link(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(word="nurse", pair_typed=frozenset({"word"}), taking=True, **FEW)
    assert shown(test) == ("nurse", "garage")
    assert "word" not in test.query_params
    assert "nurse" not in test.code[0].value
    assert "--word nurse" in test.code[1].value
    assert "Your text is not in the link" in shown_text(test)


def test_a_typed_pair_enters_no_shared_cache(opened: Callable[..., AppTest]) -> None:
    test = opened(word="nurse", pair_typed=frozenset({"word"}), **FEW)
    assert not test.exception
    words = resources.lexicon("default")
    default = scene.public_bench(words, *scene.default_words(words))
    assert default.pair.names == DEFAULT_PAIR
    measured = [row for rows in list(default._rows.values()) for row in rows]
    assert {row["word"] for row in measured} <= set(DEFAULT_PAIR)
    assert test.session_state["neighbouring_bench"][1].pair.names[0] == "nurse"


def test_words_are_no_markup(opened: Callable[..., AppTest]) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("**bold** <img src=x>").run()
    assert not test.exception
    rendered = [str(e.value) for kind in (test.markdown, test.error) for e in kind]
    assert not any("**bold**" in text or "<img" in text for text in rendered)


def test_shown_words_of_a_lexicon_without_the_default_pair() -> None:
    words = Lexicon("two", ("a", "b"), np.eye(2, dtype=np.float32))
    assert scene.default_words(words) == ("a", "b")
    assert Pair.of(words, "a", "b").gaps == pytest.approx((2**0.5, 2**0.5))


def test_without_the_default_pair_the_densest_and_the_sparsest_word_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    # On a line, so that δ is 3, 1, 1, 4, 50; “1st” is not alphabetic, hence not ordinary.
    rows = np.array([[0], [3], [4], [8], [58]], dtype=np.float32)
    words = Lexicon("line", ("far", "close", "near", "out", "1st"), rows)
    assert scene.default_words(words) == ("far", "close")  # nothing is computed unasked
    vocabulary_density(words, 4)  # leaves the table of neighbours on the disk
    assert scene.default_words(words) == ("close", "out")
    assert scene.public_bench(words, *scene.default_words(words)).pair.names == ("close", "out")
