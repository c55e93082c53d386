"""The words of the page Curves: typed, of a text, refused, and never shared."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import TextError
from dpcore.limits import PAGE_CORPUS_BYTES, PAGE_CORPUS_CHARACTERS, PAGE_WORDS
from pages.curves.choosing import LIST, TEXT, Words
from pages.shared import session
from pages.shared.session import CURVE_MECHANISMS
from tests.pages.app import shown_text, strings_of
from tests.pages.curves.reading import CORPUS


@pytest.mark.slow
def test_typed_words_are_measured_and_named(opened: Callable[..., AppTest]) -> None:
    test = opened(
        of=LIST, words="Doctor, city;  money", curve_metric=["tem"], curve_log=[], curve_local=[]
    )
    test.session_state["part"] = "Word by word"
    test.run()
    table = test.dataframe[-1].value
    assert table["word"].tolist() == ["doctor", "city", "money"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "the list of words is empty"),
        (" ,; \n", "the list of words is empty"),
        ("hospital qqzzyyxx", "qqzzyyxx"),
        ("aaqqxx bbqqxx", "'aaqqxx', 'bbqqxx' are not in lexicon"),
        (" ".join(f"w{i}" for i in range(PAGE_WORDS + 1)), f"got {PAGE_WORDS + 1} words"),
        ("x" * 5000, "2,000 characters"),
    ],
)
def test_bad_words_get_one_clear_sentence(
    opened: Callable[..., AppTest], typed: str, message: str
) -> None:
    test = opened(of=LIST, words=typed)
    assert not test.exception
    assert len(test.error) == 1
    assert message in shown_text(test)
    assert not test.get("plotly_chart")


def test_typed_words_are_no_markup_and_enter_no_shared_cache(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(of=LIST, words="**hospital** <img/src=x> unmistakablesecretword")
    assert not test.exception
    rendered = [str(e.value) for kind in (test.markdown, test.error) for e in kind]
    assert not any("**hospital**" in text or "<img" in text for text in rendered)
    words = session.lexicon("default")
    shared = [words, *(session.mechanism(words, f"{short}.v1") for short in CURVE_MECHANISMS)]
    secret = "unmistakablesecretword"
    assert not any(secret in text for thing in shared for text in strings_of(thing))


def test_a_text_is_measured_by_frequency_and_says_what_is_measured(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(
        of=TEXT, corpus=CORPUS, sample=5, part="Word by word", curve_metric=["tem"], curve_log=[]
    )
    assert not test.exception
    weights = test.dataframe[-1].value.set_index("word")["weight"]
    assert (weights["the"], weights["doctor"]) == (5.0, 3.0)
    assert weights.sum() == pytest.approx(15.0)
    assert any("15 words, of which 15 are in the vocabulary" in e.value for e in test.markdown)
    state = {"taking": True, "curve_metric": ["tem"], "curve_log": []}
    test = opened(of=TEXT, corpus=CORPUS, sample=5, **state)
    assert "doctor" not in test.code[0].value
    assert "--corpus FILE.txt --at-most 5" in test.code[1].value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no text yet"),
        (" \n ", "there is no text yet"),
        ("qqzzyyxx zzqqyyxx", "none of the words of the text is among the 25,000 words"),
        ("a " * PAGE_CORPUS_CHARACTERS, f"at most {PAGE_CORPUS_CHARACTERS:,} are allowed"),
        ("city \x00 money", "control character"),
    ],
    ids=["empty", "blank", "unknown", "long", "binary"],
)
def test_a_bad_text_gets_one_clear_sentence(
    opened: Callable[..., AppTest], text: str, message: str
) -> None:
    test = opened(of=TEXT, corpus=text)
    assert not test.exception
    assert len(test.error) == 1
    assert message in shown_text(test)
    assert not test.get("plotly_chart")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("die Straße".encode("latin-1"), "not UTF-8"),
        ("city".encode("utf-16"), "UTF-16"),
        (b"x" * (PAGE_CORPUS_BYTES + 1), f"larger than {PAGE_CORPUS_BYTES:,} bytes"),
    ],
    ids=["latin1", "utf16", "large"],
)
def test_a_bad_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Words(TEXT, 5, text="city", data=data).selection(session.lexicon("default"), 0)


def test_a_file_goes_before_the_pasted_text(opened: Callable[..., AppTest]) -> None:
    test = opened(of=TEXT, corpus="city", part="Word by word", curve_metric=["tem"], curve_log=[])
    test.get("file_uploader")[0].upload("story.txt", b"money money", "text/plain").run()
    assert not test.exception
    assert test.dataframe[-1].value["word"].tolist() == ["money"]
