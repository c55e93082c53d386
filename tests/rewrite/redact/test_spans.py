"""Annotated facts: forms of JSON, places in a text, and nonsense that is refused."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import CorpusError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_FACT_TAG, MAX_FACTS
from dpcore.rewrite.redact.redaction import place_facts
from dpcore.rewrite.redact.spans import AnnotatedText, parse_facts
from tests.fuzzing import answered, damaged, repeated

TEXT = "Ann met Anna Lee. Anna-Lee, ANN’S doctor (not lee), wrote to ann.lee@mail.org."


def persons(*keywords: Any, tag: Any = "NAME") -> str:
    return json.dumps([{"facts": [{"tag": tag, "keyword": keyword} for keyword in keywords]}])


def standing(annotated: AnnotatedText) -> list[list[str]]:
    return [[annotated.text[start:end] for start, end in fact.spans] for fact in annotated.facts]


def test_keywords_are_found_as_whole_words() -> None:
    found = standing(
        parse_facts(TEXT, persons("ann", "anna lee", "Lee", "mail", "", "…", "nobody"))
    )
    # "Anna-Lee" and the address are words of their own; a possessive ending is left out.
    assert found == [["Ann", "ANN"], ["Anna Lee"], ["Lee", "lee"], [], [], [], []]
    assert standing(parse_facts(TEXT, persons("ANN.LEE@mail.org")))[0] == ["ann.lee@mail.org"]
    # Marks between are no words, and places do not overlap.
    assert standing(parse_facts("a, a a (764)861-0805", persons("a a", "(764) 861-0805"))) == [
        ["a, a"],
        ["764)861-0805"],
    ]


def test_persons_are_numbered() -> None:
    one = {"facts": [{"tag": "AGE", "keyword": "30", "certainty": 5}], "description": "x"}
    annotated = parse_facts("30 or 30", json.dumps([one, {"facts": []}, one]))
    assert [(fact.tag, fact.person, len(fact.spans)) for fact in annotated.facts] == [
        ("AGE", 0, 2),
        ("AGE", 2, 2),
    ]


@pytest.mark.parametrize("names", [("start", "end"), ("start_offset", "end_offset")])
def test_spans_are_facts_of_one_person(names: tuple[str, str]) -> None:
    first, last = names
    spans = [{first: 0, last: 3, "label": "NAME"}, {first: 8, last: 16, "label": "NAME"}]
    annotated = parse_facts(TEXT, json.dumps(spans))
    assert standing(annotated) == [["Ann"], ["Anna Lee"]]
    assert {fact.person for fact in annotated.facts} == {0}


def test_mentions_of_one_entity_are_places_of_one_fact() -> None:
    """The form of TAB: annotators, mentions, and the names of entities."""

    def mention(start: int, end: int, entity: str, identifier: str = "DIRECT") -> dict[str, Any]:
        return {
            "entity_type": "PERSON", "start_offset": start, "end_offset": end,
            "span_text": TEXT[start:end], "entity_id": entity, "identifier_type": identifier,
        }  # fmt: skip

    first = {"entity_mentions": [mention(0, 3, "a"), mention(28, 31, "a"), mention(8, 16, "b")]}
    other = {"entity_mentions": [mention(0, 3, "z")]}
    annotated = parse_facts(TEXT, json.dumps({"annotator1": first, "annotator2": other}))
    assert standing(annotated) == [["Ann", "ANN"], ["Anna Lee"]]
    assert parse_facts(TEXT, json.dumps(first)) == annotated
    assert not parse_facts(TEXT, json.dumps([mention(0, 3, "a", "NO_MASK")])).facts


@pytest.mark.parametrize("cell", ["", "  ", "[]", "{}", "null", '{"a": {}}', '[{"facts": []}]'])
def test_a_cell_may_have_no_facts(cell: str) -> None:
    assert parse_facts("Ann", cell) == AnnotatedText("Ann", ())


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("secret", "no JSON"),
        ('"secret"', "no list"),
        ("7", "no list"),
        ('["secret"]', "no list"),
        ('{"secret": 1}', "no list"),
        ('[{"facts": "secret"}]', "no list"),
        (persons(3), "keyword is no text"),
        ('[{"facts": [{"tag": "NAME"}]}]', "keyword is no text"),
        (persons("Ann", tag=None), "without a tag"),
        (persons("Ann", tag=""), "without a tag"),
        (persons("Ann", tag="secret\n"), "without a tag"),
        (persons("Ann", tag="s" * (MAX_FACT_TAG + 1)), "without a tag"),
        ('[{"start": 0, "end": 3}]', "without a tag"),
        ('[{"tag": "NAME", "start": 0, "end": 0}]', "start < end"),
        ('[{"tag": "NAME", "start": 0, "end": 4}]', "start < end"),
        ('[{"tag": "NAME", "start": -1, "end": 3}]', "start < end"),
        ('[{"tag": "NAME", "start": false, "end": true}]', "start < end"),
        ('[{"tag": "NAME", "start": 0.0, "end": 3.0}]', "start < end"),
        ('[{"tag": "NAME", "secret": 3}]', "start < end"),
        (persons(*["Ann"] * (MAX_FACTS + 1)), "at most"),
    ],
)
def test_other_cells_are_refused_without_their_content(cell: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message) as refusal:
        parse_facts("Ann", cell)
    assert "secret" not in str(refusal.value)


def test_repr_shows_no_text() -> None:
    annotated = parse_facts("secret Ann", persons("Ann"))
    placed = place_facts(annotated, load(None))
    assert not {"secret", "Ann"} & set(f"{annotated!r} {placed!r}".replace("'", " ").split())


def _json() -> st.SearchStrategy[Any]:
    names = st.sampled_from(
        "facts tag keyword start end entity_type entity_mentions entity_id start_offset".split()
    )
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(-2, 20), st.floats(), st.text(max_size=8)
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)
        ),
        max_leaves=12,
    )


@repeated(150)
@given(st.text(max_size=30), _json())
def test_nonsense_is_refused_or_has_places_inside_the_text(text: str, value: Any) -> None:
    annotated = answered(parse_facts, text, json.dumps(value))
    for fact in annotated.facts if annotated else ():
        assert all(0 <= start < end <= len(text) for start, end in fact.spans)


@repeated(100)
@given(damaged(persons("Ann", "Anna Lee").encode()))
def test_damaged_cells_are_refused_or_read(data: bytes) -> None:
    answered(parse_facts, TEXT, data.decode("utf-8", "replace"))


def test_positions_of_facts_and_of_what_is_blacked_out() -> None:
    text = "We saw Ann's friend in London, and zzyzxq too."
    annotated = parse_facts(text, persons("Ann", "friend", "zzyzxq", "saw zzyzxq"))
    placed = place_facts(annotated, load(None), "rules")
    assert [fact.places for fact in placed.facts] == [((2, 3),), ((3, 4),), ((7, 8),)]
    assert [bool(fact.value) for fact in placed.facts] == [True, True, False]
    # The rules hide "Ann's" as one word, and "London".
    assert np.flatnonzero(placed.hidden).tolist() == [2, 5]
    assert not place_facts(annotated, load(None)).hidden.any()


def test_a_possessive_ending_is_no_part_of_a_fact() -> None:
    lexicon = Lexicon("small", ("saw", "ann", "'s", "friend"), np.eye(4, dtype=np.float32))
    placed = place_facts(parse_facts("Saw Ann's friend", persons("Ann", "Ann's")), lexicon)
    assert placed.words.tolist() == [0, 1, 2, 3]
    assert [fact.places for fact in placed.facts] == [((1, 2),), ((1, 3),)]
