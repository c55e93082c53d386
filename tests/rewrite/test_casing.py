"""Capital letters: three patterns are released, and they are put back."""

from __future__ import annotations

from typing import Any

import pytest

from dpcore.rewrite.casing import (
    CASE_RELEASES,
    Case,
    CasePolicy,
    apply,
    released_case,
    released_cases,
    sentence_starts,
    shape_of,
)
from dpcore.rewrite.languages.english import ENGLISH
from dpcore.rewrite.tokens import Kind, tokenize


@pytest.mark.parametrize(
    ("word", "shape", "released"),
    [
        ("cat", "lower", "lower"), ("Cat", "title", "title"), ("NASA", "upper", "upper"),
        ("A", "title", "title"), ("iPhone", "mixed", "lower"), ("McDonald", "mixed", "title"),
        ("O'Brien", "mixed", "title"), ("don't", "lower", "lower"), ("Don't", "title", "title"),
        ("Élan", "title", "title"), ("2", "lower", "lower"), ("字", "lower", "lower"),
        ("", "lower", "lower"), ("ΑΒ", "upper", "upper"), ("ßT", "mixed", "lower"),
    ],
)  # fmt: skip
def test_shapes(word: str, shape: str, released: str) -> None:
    assert shape_of(word) == shape
    assert released_case(word) == released


@pytest.mark.parametrize(
    ("case", "word", "written"),
    [
        (Case.LOWER, "cat", "cat"), (Case.LOWER, "Paris", "Paris"), (Case.TITLE, "cat", "Cat"),
        (Case.TITLE, "'tis", "'Tis"), (Case.UPPER, "cat", "CAT"), (Case.LOWER, "i", "I"),
        (Case.LOWER, "i'm", "I'm"), (Case.TITLE, "i", "I"), (Case.UPPER, "i'm", "I'M"),
        (Case.TITLE, "ǆ", "ǅ"), (Case.TITLE, "$", "$"), (Case.TITLE, "", ""),
    ],
)  # fmt: skip
def test_apply(case: Case, word: str, written: str) -> None:
    assert apply(case, word, ENGLISH) == written


def words_of(text: str, flags: tuple[object, ...]) -> dict[str, Any]:
    return {
        token.text: flag
        for token, flag in zip(tokenize(text), flags, strict=True)
        if token.kind is not Kind.PUNCTUATION
    }


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two. three", {"one", "three"}),
        ('"one," two. "three (four)', {"one", "three"}),
        ("one? (two) three! four", {"one", "two", "four"}),
        ("one, two: three... four… five", {"one"}),
        ("one two\nthree\n\nfour", {"one", "four"}),
        ("- 5 cats", {"5"}),
    ],
)
def test_sentence_starts(text: str, first: set[str]) -> None:
    flags = words_of(text, sentence_starts(tokenize(text).tokens))
    assert {word for word, flag in flags.items() if flag} == first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat met Anna", "title lower lower title"),
        ("the cat", "lower lower"),
        ("I said I went", "title lower lower lower"),
        ("so I'm here", "lower lower lower"),
        ("THIS IS A MESS AND I SAW", "upper upper upper upper upper upper upper"),
        ("Plan A works", "title title lower"),
        ("my iPhone McDonald", "lower lower title"),
        # What has no case is written like the first word of a sentence, or like any other.
        ("5 cats 5", "title lower lower"),
        ("HTTP://X.ORG a@B.com", "title lower"),
    ],
)
def test_keep(text: str, expected: str) -> None:
    assert " ".join(released_cases(tokenize(text).tokens, CasePolicy.KEEP, ENGLISH)) == expected


def test_sentence_policy_sees_no_letter() -> None:
    texts = "the CAT met Anna. iPhone Is", "THE cat MET anna. IPHONE is", "1 2 3 ☎. 5 6"
    sentence = CasePolicy.SENTENCE
    cases = {released_cases(tokenize(text).tokens, sentence, ENGLISH) for text in texts}
    assert cases == {tuple(map(Case, "title lower lower lower lower title lower".split()))}


def test_every_policy_says_what_it_releases() -> None:
    assert set(CASE_RELEASES) == set(CasePolicy)
