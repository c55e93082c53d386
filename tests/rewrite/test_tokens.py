"""Tokens: nothing is lost, every kind is found, and no crafted text is slow or accepted wrongly."""

from __future__ import annotations

import random
import time
import unicodedata
from typing import Any

import pytest

from dpcore.errors import TextError
from dpcore.limits import MAX_TEXT_CHARACTERS, MAX_TEXT_TOKENS
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.sentence import check_text, decode
from dpcore.rewrite.tokens import (
    CASE_RELEASES,
    MARKS,
    Case,
    CasePolicy,
    Kind,
    apply,
    bare,
    plain_space,
    released_case,
    released_cases,
    sentence_starts,
    shape_of,
    tokenize,
)

# Capital letters: three patterns are released, and they are put back.


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


FRAGMENTS = (
    "don't", "Anna’s", "well-known", "U.S.", "1,000", "3:30", "a@b.co", "http://x.org/a?b=1).",
    "www.", "x.com/", "...", "…", " ", "  ", "\n", "\r\n", "\u00a0", "\u2029", "\u200b", "\u200d",
    "👩‍👩‍👧", "🏴",
    "é", "e\u0301", "\u0323", "שלום", "مرحبا", "字", "ﬁ", "²", "½", "İ", "ß", "_",
    "$",
    "%", "'", "’", '"', "-", "–", "/", "@", "#", ".", ",", "!", "?", "\ufeff", "\U000e0061",
    "I", "\u202e", "１２", "٣", "iPhone", "://", "www.a", "a+b@", "://.",
)  # fmt: skip


def random_text(source: random.Random) -> str:
    """Return a short text of random code points, nasty fragments, or both."""
    pieces = []
    for _ in range(source.randrange(12)):
        if source.random() < 0.6:
            pieces.append(source.choice(FRAGMENTS))
        else:
            code = source.randrange(source.choice((0x80, 0x3000, 0x110000)))
            if not 0xD800 <= code < 0xE000:
                pieces.append(chr(code))
    return "".join(pieces)


def kinds(text: str) -> list[tuple[str, Kind]]:
    return [(token.text, token.kind) for token in tokenize(text)]


def test_nothing_is_lost() -> None:
    source = random.Random(20240501)
    for _ in range(10_000):
        text = random_text(source)
        tokens = tokenize(text)
        assert tokens.text == text
        for token in tokens:
            assert token.text
            assert not any(c.isspace() for c in token.text)
            assert all(c.isspace() or unicodedata.category(c) == "Cf" for c in token.before)
            if token.kind is Kind.PUNCTUATION:
                assert token.text == "..." or (len(token.text) == 1 and token.text in MARKS)


@pytest.mark.slow
def test_every_code_point_survives() -> None:
    text = " ".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    assert tokenize(text).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t", [("Don’t", Kind.WORD)]),
        ("well-known", [("well-known", Kind.WORD)]),
        ("in the U.S. now", [("in", "word"), ("the", "word"), ("U.S.", "word"), ("now", "word")]),
        ("so.I went", [("so", "word"), (".", "punctuation"), ("I", "word"), ("went", "word")]),
        ("1,000.50,", [("1,000.50", "number"), (",", "punctuation")]),
        ("192.168.0.1", [("192.168.0.1", "number")]),
        ("3:30pm", [("3:30pm", "word")]),
        ("½", [("½", "number")]),
        ("a.b+c@d-e.co.uk)", [("a.b+c@d-e.co.uk", "email"), (")", "punctuation")]),
        ("(http://x.org/?q=1", [("(", "punctuation"), ("http://x.org/?q=1", "url")]),
        ("http://x.org/?q=1.", [("http://x.org/?q=1", "url"), (".", "punctuation")]),
        ("WWW.x.y", [("WWW.x.y", "url")]),
        ("example.com/a", [("example.com/a", "url")]),
        ("wait....", [("wait", "word"), ("...", "punctuation"), (".", "punctuation")]),
        ("👩‍👩‍👧🎉", [("👩‍👩‍👧🎉", "other")]),
        ("$5%", [("$5%", "number")]),
        ("HCV- HIV+", [("HCV-", "word"), ("HIV+", "word")]),
        ("(C++, C#)", [("(", "punctuation"), ("C++", "word"), (",", "punctuation"),
                       ("C#", "word"), (")", "punctuation")]),
        ("R&D -5 w/", [("R&D", "word"), ("-5", "number"), ("w/", "word")]),
        ("so--but", [("so", "word"), ("-", "punctuation"), ("-", "punctuation"), ("but", "word")]),
        ("a – b/c", [("a", "word"), ("–", "punctuation"), ("b", "word"), ("/", "punctuation"),
                     ("c", "word")]),
        ("dogs' '90s", [("dogs'", "word"), ("'90s", "word")]),
        ("'dogs' cat'", [("'", "punctuation"), ("dogs", "word"), ("'", "punctuation"),
                         ("cat'", "word")]),
        ("☎ § _", [("☎", "other"), ("§", "other"), ("_", "other")]),
        ("foo\u200bbar", [("foo\u200bbar", "word")]),
        ("e\u0301te\u0301", [("e\u0301te\u0301", "word")]),
        ("می\u200cخواهم", [("می\u200cخواهم", "word")]),
        ("'tis'", [("'", "punctuation"), ("tis", "word"), ("'", "punctuation")]),
    ],
)  # fmt: skip
def test_kinds(text: str, expected: list[tuple[str, Kind]]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [("HCV-", ("HCV",)), ("R&D", ("R", "D")), ("+👍", ()), ("-1,000.5%", ("1,000.5",)),
     ("'tis", ("tis",)), ("cat's'", ("cat's",)), ("U.S.", ("U.S.",))],
)  # fmt: skip
def test_the_words_of_a_token(text: str, words: tuple[str, ...]) -> None:
    assert bare(text) == words


def test_what_stands_before_a_token() -> None:
    tokens = tokenize(" \u200ba\n b\ufeff ")
    assert [token.before for token in tokens] == [" \u200b", "\n "]
    # An invisible character behind a letter belongs to the word.
    assert [token.text for token in tokens] == ["a", "b\ufeff"]
    assert tokens.tail == " "
    assert len(tokens) == 2


@pytest.mark.parametrize(
    ("space", "plain"),
    [
        ("", ""), ("\u200b\u200d", ""), ("   ", " "), ("\u00a0", " "), ("\u200a\u200b\t", " "),
        (" \r\n ", "\n"), ("\u2028", "\n"), ("\n \n", "\n\n"), ("\r\n\r\n\r\n", "\n\n"),
    ],
)  # fmt: skip
def test_white_space_is_made_plain(space: str, plain: str) -> None:
    assert plain_space(space) == plain


CRAFTED = {
    "letters": "a", "abbreviation": "a.", "hyphens": "a-", "apostrophes": "a'", "at": "a@",
    "host": "a-.", "scheme": "a+.-", "plus": "a+", "mail": "a@b.", "http": "http://",
    "www": "www.", "stops": ".", "digits": "1,", "spaces": " ", "emoji": "👩\u200d",
    "marks": "\u0301\u0323", "invisible": "\u200b", "slashes": "/", "quoted": '"http://',
    "dead end": 'http://."', "symbols": "+-", "dashes": "-\u200b", "glued": "a+", "quotes": " 'a",
    "closing": "a' ", "between": "a-+",
}  # fmt: skip


def seconds(text: str) -> float:
    """Return the smallest of five times of the processor, whatever else the machine does."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        tokenize(text)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("unit", CRAFTED.values(), ids=CRAFTED.keys())
def test_time_grows_with_the_length_only(unit: str) -> None:
    short = (unit * 20_000)[:10_000]
    # A factor 8 in length: 8 in time if linear, 64 if quadratic. The constant stands for what a
    # busy machine adds to a run of a fraction of a millisecond.
    assert seconds(short * 8) < 24 * seconds(short) + 0.02


@pytest.mark.parametrize("end", ["http://" + "." * 20_000, "x.com/" + "." * 20_000])
def test_an_address_without_an_end_is_not_slow(end: str) -> None:
    assert seconds(end) < 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t\u200b", "empty"),
        ("a" * (MAX_TEXT_CHARACTERS + 1), r"2,001 characters; at most 2,000"),
        ("a " * (MAX_TEXT_TOKENS + 1), r"201 words .* at most 200"),
        ("abc\x00def", r"U\+0000 at character 4"),
        ("\x7fELF", r"U\+007F at character 1"),
        ("GIF89a\x01", r"U\+0001 at character 7"),
        ("ab\ud800", r"U\+D800, at character 3"),
        ("caf\ufffd \ufffd\ufffd", "3 of the 7 characters"),
    ],
)
def test_refused_texts(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        check_text(text)


@pytest.mark.parametrize("text", ["a", "\ta\r\nb\f", "字", "👍", "!", "one \ufffd in a long line"])
def test_accepted_texts(text: str) -> None:
    check_text(text)


def test_limits_can_be_set() -> None:
    check_text("a " * 300, max_characters=600, max_tokens=300)
    with pytest.raises(TextError, match="at most 299"):
        check_text("a " * 300, max_characters=600, max_tokens=299)


def test_decode() -> None:
    assert decode("né".encode()) == "né"
    assert decode(b"\xef\xbb\xbfabc") == "abc"
    assert decode(b"") == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("né".encode("latin-1"), "byte 0xE9 at position 2 "),
        (b"\xef\xbb\xbfab\xff", "byte 0xFF at position 6 "),
        ("abc".encode("utf-16"), "UTF-16"),
        (b"\x89PNG\r\n", "byte 0x89 at position 1 "),
        (b"ab\xed\xa0\x80", "byte 0xED at position 3 "),
    ],
)
def test_bytes_that_are_not_text(data: bytes, message: str) -> None:
    with pytest.raises(TextError, match=message):
        decode(data)


def test_random_bytes_give_a_text_or_a_message() -> None:
    source = random.Random(7)
    accepted = 0
    for _ in range(2_000):
        data = source.randbytes(source.randrange(12))
        try:
            check_text(decode(data))
        except TextError:
            continue
        accepted += 1
    assert 0 < accepted < 1_000
