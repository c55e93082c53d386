"""Unknown words never get out, known ones come back as typed, and options do as documented."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError, TextError
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.policy import MASK, RELEASED, Treatment, UnknownWordPolicy, describe
from dpcore.rewrite.rewritten import assemble, write_slots
from dpcore.rewrite.tokens import MARKS, CasePolicy, tokenize
from dpcore.rewrite.vocabulary import Encoding, Role, canonical, encode, split_word
from tests.rewrite.test_tokens import random_text


class Words:
    """The least that `encode` needs."""

    language = "en"

    def __init__(self, words: Iterable[str]) -> None:
        self.words = list(dict.fromkeys(words))
        self.places = {word: place for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.places

    def index(self, word: str) -> int:
        return self.places[word]


PLAIN_WORD = re.compile("(?:[A-Z]?[a-z]+|I|[A-Z]{2,})[.,!?]?")
SMALL = Words(
    "the cat don't do not well known anna met in paris and is happy i we went u.s 1000".split()
)


def unchanged(encoding: Encoding, lexicon: Words, seed: int = 0) -> str:
    """Assemble what a mechanism without noise would give."""
    rng = np.random.default_rng(seed)
    return assemble(encoding, [lexicon.words[word] for word in encoding.draw(rng)])


def rewritten(text: str, lexicon: Words = SMALL, **options: Any) -> str:
    return unchanged(encode(tokenize(text), lexicon, Treatment(**options)), lexicon)


@pytest.mark.parametrize(
    "text",
    [
        "The cat met Anna.", "THE CAT, and I went!", "We don't... do we?", '(the cat) "in"',
        "the cat;\nanna\n\nThe u.s", "Anna's cat", "well-known Anna",
        "Well-Known", "I went. I met.",
        "¿and/not—the…", "DON'T",
    ],
)  # fmt: skip
def test_known_words_come_back_as_typed(text: str) -> None:
    assert rewritten(text) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("  the \t cat\u2003met\r\n\r\n\r\nanna \n", "the cat met\n\nanna"),
        ("t\u200bhe ca\u00adt", "the cat"),
        ("ＣＡＴ Ａnna’s U.S. 1,000", "CAT Anna's U.S 1000"),
        ("i met cAT", "I met cat"),
        ("end.Anna", "[…]. Anna"),
        ("cat🎉anna", "cat anna"),
        ("cat🎉zorblax", "[…]"),
        ("(🎉)", "([…])"),
        ("didn't Zorblax's grey-cat", "[…] […] […]"),
        ("isn't", "is not"),
        ("Isn't", "Is not"),
        ("ISN'T", "IS NOT"),
        ("a@b.co 5 http://the.cat", "[…] […] […]"),
    ],
)
def test_what_is_made_plain(text: str, result: str) -> None:
    assert rewritten(text, unknown_words=UnknownWordPolicy.MASK) == result


def test_endings_that_the_lexicon_holds_are_protected() -> None:
    lexicon = Words(["did", "n't", "anna", "'s", "cat"])
    encoding = encode(tokenize("Didn't Anna's"), lexicon)
    assert [slot.role for slot in encoding.slots] == [Role.PROTECTED] * 4
    assert [slot.source for slot in encoding.slots] == [0, 0, 1, 1]
    assert unchanged(encoding, lexicon) == "Didn't Anna's"
    # An ending that is rewritten to a word is separate; one that is put elsewhere as well.
    assert assemble(encoding, ["cat", "cat", "'s", "anna"]) == "Cat cat 'S anna"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("cat", ("cat",)), ("Cat", ("Cat",)), ("zorblax", ()), ("", ()), ("cat's", ("cat", "'s")),
        ("well-cat's", ("well", "-", "cat", "'s")), ("well-zorblax", ()), ("can't", ()),
        ("1,000", ("1000",)), ("1,00", ()), ("u.s.", ("u.s",)),
    ],
)  # fmt: skip
def test_splitting(word: str, parts: tuple[str, ...]) -> None:
    assert split_word(word, lambda part: part.lower() in SMALL, ENGLISH) == parts


def test_a_long_token_is_unknown() -> None:
    long = "a" * 101
    assert canonical(long) == ""
    assert encode(tokenize(long), Words([long, "b"])).unknown == (0,)
    assert encode(tokenize(long[1:]), Words([long[1:], "b"])).unknown == ()


def test_a_symbol_in_the_lexicon_is_protected() -> None:
    lexicon = Words(["%", "-", "five", "é"])
    # The last two are a full-width hyphen, which is no mark of ours, and é in two code points.
    encoding = encode(tokenize("five % － e\u0301"), lexicon)
    assert [slot.index for slot in encoding.slots] == [2, 0, 1, 3]
    assert all(slot.role is Role.PROTECTED for slot in encoding.slots)


SYMBOLS = "+-‐‑–—/%$€&#*_=<>|~^§™©°👍№@\\`"


@pytest.mark.parametrize("case_policy", CasePolicy)
@pytest.mark.parametrize("text", ["the {} cat", "I MET {}", "{} is in paris.", "met ({})!"])
@pytest.mark.parametrize("word", ["cat", "Anna", "I", "A", "Zorblax", "17", "don't"])
def test_no_symbol_at_the_edge_of_a_word_is_released(
    text: str, word: str, case_policy: CasePolicy
) -> None:
    """A word with a symbol before it, behind it or on both sides has the encoding of the word."""

    def encoded(written: str) -> Encoding:
        return encode(tokenize(text.format(written)), SMALL, Treatment(case=case_policy))

    plain = encoded(word)
    for symbol in SYMBOLS:
        for written in (f"{word}{symbol}", f"{symbol}{word}", f"{symbol}{word}{symbol * 2}"):
            if "@" in symbol and "@" in written[1:-1]:
                continue
            assert encoded(written) == plain, written
    assert encoded(f"{word}'") == encoded(f"’{word}") == plain


def test_a_vocabulary_that_holds_a_word_with_its_symbol_has_it_as_a_word() -> None:
    lexicon = Words(["c++", "c", "hcv-", "hcv", "%", "50"])
    encoding = encode(tokenize("C++ c# HCV- HCV 50% %"), lexicon)
    assert [lexicon.words[slot.index] for slot in encoding.slots] == [
        "c++", "c", "hcv-", "hcv", "50", "%",
    ]  # fmt: skip
    assert all(slot.role is Role.PROTECTED for slot in encoding.slots)


def test_drop() -> None:
    drop = UnknownWordPolicy.DROP
    text = "Zorblax met anna, Quux, and the\nZorblax cat (Zorblax)."
    assert rewritten(text, unknown_words=drop) == "met anna,, and the\ncat ()."
    assert rewritten("cat Zorblax(anna)", unknown_words=drop) == "cat (anna)"
    assert rewritten("Zorblax", unknown_words=drop) == ""
    # With the first word left out, the next begins the sentence.
    assert rewritten("zorblax met", case=CasePolicy.SENTENCE, unknown_words=drop) == "Met"


def test_reject_names_places_and_no_word() -> None:
    reject = Treatment(UnknownWordPolicy.REJECT)
    with pytest.raises(TextError) as caught:
        encode(tokenize("the, Zorblax met quux."), SMALL, reject)
    message = str(caught.value)
    assert message.startswith("words 2, 4 of the text are not among the 19 words")
    assert "orblax" not in message
    assert "quux" not in message
    with pytest.raises(TextError, match=r"^word 1 of the text is not"):
        encode(tokenize("Quux"), SMALL, reject)
    with pytest.raises(TextError, match="9, 10 and 5 more"):
        encode(tokenize("x " * 15), SMALL, reject)
    assert encode(tokenize("the cat"), SMALL, reject).unknown == ()


def test_stop_words_are_released_only_on_request() -> None:
    text = "The cat, THE Zorblax and I don't"
    closed = encode(tokenize(text), SMALL)
    opened = encode(tokenize(text), SMALL, Treatment(keep_stop_words=True))
    assert [slot.text for slot in closed.slots if slot.role is Role.RELEASED] == [","]
    released = [slot.text for slot in opened.slots if slot.role is Role.RELEASED]
    assert released == ["the", ",", "the", "and", "i", "don't"]
    assert len(opened.open_slots) == 2
    assert assemble(opened, ["x", "y"]) == "The x, THE Y and I don't"
    assert len(ENGLISH.stop_words) > 120
    assert all(word == word.lower() == canonical(word) for word in ENGLISH.stop_words)


def test_the_stand_in_is_uniform_and_independent_of_the_word() -> None:
    lexicon = Words(["a", "b", "c", "d"])
    first = encode(tokenize("Zorblax " * 20_000), lexicon)
    other = encode(tokenize("Quux-77 " * 20_000), lexicon)
    assert first.slots == other.slots
    drawn = first.draw(np.random.default_rng(5))
    assert drawn.dtype == np.int64
    assert not drawn.flags.writeable
    np.testing.assert_array_equal(drawn, other.draw(np.random.default_rng(5)))
    # Hoeffding for each of 4 counts of 20,000 draws, both sides: false alarm 1e-6 in all.
    slack = math.sqrt(math.log(2 * 4 / 1e-6) / (2 * len(drawn)))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    assert np.abs(shares - 0.25).max() < slack
    # Known words are not touched.
    assert encode(tokenize("d a"), lexicon).draw(np.random.default_rng(5)).tolist() == [3, 0]


def test_outputs_are_counted() -> None:
    encoding = encode(tokenize("the cat."), SMALL)
    with pytest.raises(ParameterError, match="2 output words are needed, got 1"):
        assemble(encoding, ["x"])
    with pytest.raises(ParameterError, match="got 3"):
        assemble(encoding, ["x", "y", "z"])
    assert write_slots(encoding, ["x", "y"]) == (("", "x"), (" ", "y"), ("", "."))


@pytest.mark.parametrize("policy", UnknownWordPolicy)
def test_what_is_released_is_said(policy: UnknownWordPolicy) -> None:
    released = Treatment(policy).released(ENGLISH)
    assert set(RELEASED) < set(released)
    assert describe(policy) in released
    assert not any("function words" in line for line in released)
    assert len({describe(each) for each in UnknownWordPolicy}) == 4
    assert (
        "function words such as 'the' are released unchanged: "
        "their presence and position are not protected"
    ) in Treatment(policy, keep_stop_words=True).released(ENGLISH)
    with pytest.raises(ValueError, match="pass"):
        Treatment("pass")  # type: ignore[arg-type]


OPEN_POLICIES = [each for each in UnknownWordPolicy if each is not UnknownWordPolicy.REJECT]


@pytest.mark.slow
@pytest.mark.parametrize("case_policy", CasePolicy)
@pytest.mark.parametrize("policy", OPEN_POLICIES)
def test_nothing_but_outputs_marks_and_space_gets_out(
    policy: UnknownWordPolicy, case_policy: CasePolicy
) -> None:
    """With outputs from letters that no input has, whatever else is written was passed through."""
    lexicon = Words(["ꙮꙮ", "ꙩꙩ", "don't", "anna", "well", "known"])
    allowed = re.compile(rf"(?:ꙮꙮ|{re.escape(MASK)}|[{re.escape(MARKS)}]|'S|'s|[ \n])*")
    source = random.Random(f"{policy} {case_policy}")
    for _ in range(2_000):
        text = random_text(source)
        encoding = encode(tokenize(text), lexicon, Treatment(policy, case=case_policy))
        written = assemble(encoding, ["ꙮꙮ"] * len(encoding.open_slots))
        assert allowed.fullmatch(written), (text, written)
        assert len(encoding.draw(np.random.default_rng(0))) == len(encoding.open_slots)


@pytest.mark.parametrize("case_policy", CasePolicy)
def test_unknown_words_are_interchangeable(case_policy: CasePolicy) -> None:
    """Two texts that differ in an unknown word alone have the same encoding."""
    source = random.Random(11)
    pairs = (
        ("zorblax", "quuxes"), ("Zorblax", "McQuux"), ("iPhone", "zorblax"), ("7,5", "8"),
        ("🎉", "☎☎"),
        ("a@b.org", "http://x.y/z"), ("Zor-Blax", "Quux's"), ("z\u200bz", "ö\u0301"),
        ("zorblax", "17"), ("🎉", "a@b.org"),
    )  # fmt: skip
    for first, second in pairs:
        for _ in range(50):
            pieces = [source.choice(["the", "Anna", ",", ".", "!", "\n\n", '"']) for _ in range(6)]
            place = source.randrange(2, 7)  # inside the sentence
            pieces = ["the", "cat", *pieces]
            texts = (
                " ".join([*pieces[:place], "met", word, *pieces[place:]])
                for word in (first, second)
            )
            left, right = (encode(tokenize(t), SMALL, Treatment(case=case_policy)) for t in texts)
            assert left == right


def test_real_sentences_survive(data_dir: Path) -> None:
    pandas = pytest.importorskip("pandas")
    words = (data_dir / "glove6b_50d_partial.vocab.txt").read_text(encoding="utf-8")
    lexicon = Words(words.split("\n")[:-1])
    seen = 0
    for text in pandas.read_parquet(data_dir / "ewt_sentences.parquet")["text"].tolist()[::4]:
        tokens = tokenize(text)
        assert tokens.text == text
        encoding = encode(tokens, lexicon)
        # Where all is known and plainly written, a mechanism without noise gives the text back.
        pieces = text.split(" ")
        if not encoding.unknown and all(map(PLAIN_WORD.fullmatch, pieces)) and "i" not in pieces:
            assert unchanged(encoding, lexicon) == text
            seen += 1
    assert seen > 300
