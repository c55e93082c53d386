"""A new sentence beside the words of a mechanism: at one ε of the whole text, and when asked."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import MissingPackageError
from dpcore.papers.ours.writers import STUDY
from dpcore.study.recorded import read_recorded
from pages.rewrite import sentence_view
from pages.shared.once import _shelf
from tests.pages.app import open_page
from tests.rewrite.write import tiny

FEW: dict[str, Any] = {
    "metric": [],
    "log": [],
    "local": ["k-ary"],
    "sentence_writer": "dp-prompt",
    "sentence_tokens": 6,
}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    model = tiny.model()
    monkeypatch.setattr("dpcore.rewrite.write.writers.load_model", lambda: model)
    monkeypatch.setattr("pages.shared.needed.load_model", lambda: model)
    _shelf("language model").results.clear()
    return lambda **state: open_page("rewrite", **FEW | {"view": "A new sentence"} | state)


def shown(test: AppTest) -> str:
    return " ".join(str(element.value) for element in [*test.markdown, *test.info, *test.text])


def test_nothing_is_written_until_it_is_asked_for(opened: Callable[..., AppTest]) -> None:
    test = opened()
    assert "Nothing has been written yet" in shown(test)
    assert not [frame for frame in test.dataframe if "likeliest" in frame.value.columns]


def test_both_texts_have_one_epsilon(opened: Callable[..., AppTest]) -> None:
    test = opened()
    test.button(key="sentence_start").click().run()
    (tokens,) = (frame.value for frame in test.dataframe if "likeliest" in frame.value.columns)
    assert len(tokens) == 6
    writing = test.session_state[sentence_view._WRITTEN][1]
    beside = [element.value for element in test.text]
    assert writing.text in beside
    assert {"**k-ary randomised response**", "**DP-Prompt**"} <= {e.value for e in test.markdown}
    total = writing.composed().total
    assert writing.epsilon == pytest.approx(total / 6)
    assert f"ε = {total:.4g} for the whole text is {total / 6:.4g} for each of 6 draws" in shown(
        test
    )


def test_other_settings_take_the_sentence_away(opened: Callable[..., AppTest]) -> None:
    test = opened()
    test.button(key="sentence_start").click().run()
    test.number_input(key="sentence_tokens").set_value(7).run()
    assert "Nothing has been written yet" in shown(test)


def test_a_missing_package_is_said_in_one_sentence(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise MissingPackageError("install it with: pip")

    test = opened()
    monkeypatch.setattr("pages.shared.needed.load_model", absent)
    test.button(key="sentence_start").click().run()
    assert [error.value for error in test.error] == ["The sentence cannot be written."]
    assert "install it with: pip" in shown(test)


def test_a_refuted_promise_has_no_epsilon_to_share(opened: Callable[..., AppTest]) -> None:
    test = opened(local=["adept"])
    assert "There is no ε of the whole text to share" in shown(test)
    assert not [button for button in test.button if button.key == "sentence_start"]


def test_a_word_for_each_word_is_written_without_any_package(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise MissingPackageError("install it with: pip")

    monkeypatch.setattr("pages.shared.needed.load_model", absent)
    test = opened(sentence_writer="dp-masked")
    assert not [field for field in test.number_input if field.key == "sentence_tokens"]
    test.button(key="sentence_start").click().run()
    writing = test.session_state[sentence_view._WRITTEN][1]
    assert len(writing.tokens) == len(writing.source.split())
    assert "between any two texts of as many words" in shown(test)


def test_of_a_text_without_words_nothing_can_be_written(opened: Callable[..., AppTest]) -> None:
    test = opened(sentence_writer="dp-masked", text="?! …")
    assert not [button for button in test.button if button.key == "sentence_start"]


def test_an_auto_encoder_stands_in_the_same_row(opened: Callable[..., AppTest]) -> None:
    test = opened(sentence_writer="auto-encoder")
    assert not [button for button in test.button if button.key == "sentence_start"]
    assert "claimed ε = " in shown(test)


def test_what_writers_leave_is_shown_with_intervals(opened: Callable[..., AppTest]) -> None:
    test = opened()
    (table,) = (f.value for f in test.dataframe if "words kept" in f.value.columns)
    record = read_recorded(STUDY.name).table
    assert list(dict.fromkeys(table["writer or mechanism"])) == list(dict.fromkeys(record["label"]))
    kept = record[(record["quantity"] == "kept") & record["epsilon"].notna()]
    for label, epsilon, value in zip(kept["label"], kept["epsilon"], kept["value"], strict=True):
        rows = (table["writer or mechanism"] == label) & (
            table["ε of the whole text"] == f"{epsilon:g}"
        )
        assert table[rows]["words kept"].item().startswith(f"{value:.2f} (")
    assert table.loc[0, "words kept"] == "1.00 (1.00 to 1.00)"
