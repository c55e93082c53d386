"""From text to tokens and back, without loss.

A text is first mapped, character by character, to a string of a few class letters; tokens are
found in that string. So combining marks, joiners and every script are treated by their Unicode
category and not by what a pattern language happens to call a word, and each pattern is short
enough to see that its running time grows in proportion to the text.

A guarantee about words holds only if what is *not* rewritten is a short, known list. Therefore
only `MARKS` are punctuation; any other symbol is protected like a word, and invisible characters
either belong to a token or count as white space.

A symbol that touches a word belongs to it, and is part of its token: `HIV+`, `C++`, `$5`, `50%`,
`#word`, `R&D`. So does a hyphen, a dash or a slash that touches a word on one side only, and an
apostrophe that does and is no half of a pair of quotation marks: `HCV-`, `-5`, `w/`, `dogs'`. Were
one of them a mark and another a word, what was released would tell which it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dpcore.rewrite.languages.language import Language

APOSTROPHES = "'’"
HYPHENS = "-‐‑"
MARKS = '.,;:!?…¿¡"“”„‘‚«»‹›()[]{}–—/' + APOSTROPHES + HYPHENS
"""The characters that are punctuation: the only ones, beside white space, released as they are."""


WHITE_SPACE = re.compile(r"\s+")
"""A run of the characters that `str.isspace` takes for white space."""


class Kind(StrEnum):
    """What a token looks like. Only PUNCTUATION is ever released without being asked for."""

    WORD = "word"
    NUMBER = "number"
    EMAIL = "email"
    URL = "url"
    PUNCTUATION = "punctuation"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes:
        text: Its characters as typed; never empty.
        kind: What it looks like.
        before: White space and invisible characters between the token before and this one.
    """

    text: str
    kind: Kind
    before: str


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The tokens of a text; iterating yields them.

    Attributes:
        tokens: All tokens in order.
        tail: White space and invisible characters after the last one.
    """

    tokens: tuple[Token, ...]
    tail: str

    @property
    def text(self) -> str:
        """The text that was tokenized, exactly."""
        return "".join(token.before + token.text for token in self.tokens) + self.tail

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)


def _class_of(character: str) -> str:
    """Map a character to its class letter.

    s white space, f invisible format character, w letter, d digit or other numeral, m combining
    mark, ' apostrophe, - hyphen, n dash, / slash, '.' full stop, ',' another mark that may stand
    inside a number, p other mark of `MARKS`, o anything else.
    """
    if character.isspace():
        return "s"
    if character in MARKS:
        if character in APOSTROPHES:
            return "'"
        if character in HYPHENS:
            return "-"
        return {".": ".", ",": ",", ":": ",", "/": "/", "–": "n", "—": "n"}.get(character, "p")
    category = unicodedata.category(character)
    if category == "Cf":
        return "f"
    return {"L": "w", "N": "d", "M": "m"}.get(category[0], "o")


class _Classes(dict[int, str]):
    """A table for `str.translate`, filled for Latin text and computed for the rest.

    What is computed is not kept: a text of rare characters must not make the table grow.
    """

    def __missing__(self, code: int) -> str:
        return _class_of(chr(code))


_CLASSES = _Classes({code: _class_of(chr(code)) for code in range(0x250)})

# Patterns over class letters. Within a word an apostrophe or a hyphen joins, and between two
# digits also one of . , : / (1,000 3.14 12:30 1/2 192.168.0.1): what a number is made of would
# show in the released marks if it were cut there. First comes an abbreviation such as "U.S.".
# Around the words of a token stand the symbols that touch them; a run of dashes between two words
# is a mark, and so is one that touches none. A run is looked at from its beginning only and given
# back never (`+` after a repetition), so that time grows with the text.
_CORE = r"[wd][wdmf]*(?:(?:['-]|(?<=d)[.,/](?=d))[wd][wdmf]*)*"
_RUN = r"[-n/om][-n/omf]*+"
_TOKEN = re.compile(
    r"(?P<word>w(?:\.w)+\.?(?![wdmf])"
    rf"|(?:(?<![-n/omwd])[-n/om]++f*+)?{_CORE}(?:(?=[-n/]*+[om]){_RUN}{_CORE})*(?:{_RUN}(?![wd]))?)"
    r"|(?P<mark>\.\.\.|[-'.,pn/])"
    r"|[mo][mof]*"
)

_BARE = re.compile(rf"w(?:\.w)+\.?(?![wdmf])|{_CORE}")  # the words of a token
_WRITTEN = frozenset([Kind.WORD, Kind.NUMBER])

# Patterns over the text itself. Every repetition is bounded or runs to the end of what it takes,
# so that a crafted line cannot make the search quadratic.
_INSIDE = r"[^\s<>\"“”]"
_END = r"[^\s<>\"“”.,;:!?…'’)\]}»*]"
_ADDRESS = re.compile(
    r"(?<!\w)(?:"
    rf"(?P<url>(?:[a-z][a-z0-9+.-]{{1,19}}://|www\d?\.){_INSIDE}*{_END})"
    r"|(?P<email>\w[\w.%+'-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    r"|(?P<host>(?:[\w-]{1,63}\.){1,8}(?:com|org|net|edu|gov|mil|info|biz|io|eu|uk|de|fr)(?![\w-])"
    rf"(?:/(?:{_INSIDE}*{_END})?)?)"
    r")",
    re.IGNORECASE,
)


def _addresses(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield start, end and kind of e-mail addresses and web addresses."""
    if "@" not in text and "." not in text and "://" not in text:
        return
    for match in _ADDRESS.finditer(text):
        yield match.start(), match.end(), Kind.EMAIL if match["email"] else Kind.URL


def tokenize(text: str) -> TokenizedText:
    """Cut a text into tokens.

    Args:
        text: Any string; see `check_text` for what a page should refuse.

    Returns:
        Tokens with `tokenize(text).text == text` for every string. A contraction, a hyphenated
        word, a number with its separators, each of them with the symbols that touch it, an
        address and a run of symbols are one token each; a punctuation mark is one token each, but
        three full stops are one.
    """
    tokens, tail = cut(text)
    return TokenizedText(tuple(joined(tokens, *unpaired(apostrophes(tokens)))), tail)


def cut(text: str) -> tuple[list[Token], str]:
    """Tokens, each apostrophe that is in no word as a mark, and what stands after the last one.

    No pattern takes in white space or looks beyond it: what is found between two white spaces
    depends on nothing else.
    """
    classes = text.translate(_CLASSES)
    tokens: list[Token] = []
    end = 0  # of the last token

    def add(start: int, stop: int, kind: Kind) -> None:
        nonlocal end
        tokens.append(Token(text[start:stop], kind, text[end:start]))
        end = stop

    def add_plain(start: int, stop: int) -> None:
        for match in _TOKEN.finditer(classes, start, stop):
            if match.lastgroup == "word":
                kind = Kind.WORD if "w" in match[0] else Kind.NUMBER
            else:
                kind = Kind.PUNCTUATION if match.lastgroup == "mark" else Kind.OTHER
            add(match.start(), match.end(), kind)

    done = 0
    for start, stop, kind in _addresses(text):
        add_plain(done, start)
        add(start, stop, kind)
        done = stop
    add_plain(done, len(text))
    return tokens, text[end:]


@dataclass(frozen=True, slots=True)
class Apostrophe:
    """An apostrophe that is a token.

    Attributes:
        place: Number of the token.
        after: Whether a word or number follows, without a space.
        before: Whether one stands before it, without a space.
    """

    place: int
    after: bool
    before: bool


def apostrophes(tokens: Sequence[Token]) -> list[Apostrophe]:
    """All of them, in order."""
    return [
        Apostrophe(
            place,
            after=_touching(tokens, place + 1),
            before=bool(place) and not token.before and tokens[place - 1].kind in _WRITTEN,
        )
        for place, token in enumerate(tokens)
        if token.text in APOSTROPHES and token.kind is Kind.PUNCTUATION
    ]


def unpaired(marks: Iterable[Apostrophe]) -> tuple[frozenset[int], frozenset[int]]:
    """The places of those of a text that touch a word on one side and have no partner to it.

    One before a word opens, one behind a word or a mark closes the last that is open.

    Returns:
        Those before their words, and those behind.
    """
    opened: list[int] = []
    alone: list[int] = []
    for mark in marks:
        if mark.after and not mark.before:
            opened.append(mark.place)
        elif opened:
            opened.pop()
        elif mark.before and not mark.after:
            alone.append(mark.place)
    return frozenset(opened), frozenset(alone)


def joined(tokens: list[Token], leading: frozenset[int], trailing: frozenset[int]) -> list[Token]:
    """The tokens with the apostrophes in these places as parts of the words that they touch."""
    if not (leading or trailing):
        return tokens
    result: list[Token] = []
    for place, token in enumerate(tokens):
        if place - 1 in leading:  # the apostrophe before it goes with this word
            mark = result.pop()
            result.append(Token(mark.text + token.text, token.kind, mark.before))
        elif place in trailing:
            word = result.pop()
            result.append(Token(word.text + token.text, word.kind, word.before))
        else:
            result.append(token)
    return result


def _touching(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word or number stands here, without a space before it."""
    return place < len(tokens) and tokens[place].kind in _WRITTEN and not tokens[place].before


def bare(text: str) -> tuple[str, ...]:
    """The words of a token without the symbols that touch them; none in a run of symbols.

    Args:
        text: Of a token of `tokenize`.
    """
    classes = text.translate(_CLASSES)
    return tuple(text[match.start() : match.end()] for match in _BARE.finditer(classes))


_LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")


def plain_space(space: str) -> str:
    r"""Reduce white space to what a reader sees, so that it cannot carry anything else.

    Args:
        space: White space and invisible characters, such as `Token.before`.

    Returns:
        "", " ", "\n" or "\n\n".
    """
    if space in {"", " "}:  # most of them
        return space
    breaks = len(_LINE_BREAK.findall(space))
    if breaks:
        return "\n" if breaks == 1 else "\n\n"
    return " " if any(character.isspace() for character in space) else ""


# Capital letters: what of them is released, and how it is put back.
#
# How a word is capitalised says something about it: a capital inside a sentence marks a name. Only
# three patterns are ever released, so that "iPhone" or "McDonald" cannot be told by its shape.


class Case(StrEnum):
    """The capitalisation of a word."""

    LOWER = "lower"
    TITLE = "title"
    UPPER = "upper"
    MIXED = "mixed"


class CasePolicy(StrEnum):
    """What is released about capital letters."""

    KEEP = "keep"
    SENTENCE = "sentence"


CASE_RELEASES = {
    CasePolicy.KEEP: (
        "which words begin with a capital letter and which are all in capitals "
        "(a capital inside a sentence often marks a name)"
    ),
    CasePolicy.SENTENCE: (
        "nothing about capital letters: the first word of every sentence gets one, "
        "wherever the text had them"
    ),
}
"""For each policy, what it releases, to be shown to users."""

_SENTENCE_END = frozenset(".!?")
# Between the end of a sentence and the next word these may stand.
_TRANSPARENT = frozenset("\"'“”„‘’‚«»‹›()[]{}-‐‑–—¿¡")


def _cased(word: str) -> list[str]:
    """Return the letters that have an upper and a lower case."""
    return [letter for letter in word if letter.lower() != letter.upper()]


def shape_of(word: str) -> Case:
    """Return how a word is capitalised.

    Args:
        word: Any string.

    Returns:
        LOWER also where there is no cased letter at all, TITLE for a single capital letter.
    """
    if word.isascii() and word == word.lower():  # most words: no capital letter
        return Case.LOWER
    if word.isascii() and word.isalpha():
        if word.isupper() and len(word) > 1:
            return Case.UPPER
        return Case.TITLE if word.istitle() else Case.MIXED
    capital = [letter != letter.lower() for letter in _cased(word)]
    if not any(capital):
        return Case.LOWER
    if all(capital) and len(capital) > 1:
        return Case.UPPER
    return Case.TITLE if capital[0] and not any(capital[1:]) else Case.MIXED


def released_case(word: str) -> Case:
    """Return the pattern that is released for a word: LOWER, TITLE or UPPER, never MIXED."""
    shape = shape_of(word)
    if shape is not Case.MIXED:
        return shape
    first = _cased(word)[0]
    return Case.TITLE if first != first.lower() else Case.LOWER


def apply(case: Case, word: str, language: Language) -> str:
    """Write a word with a given capitalisation.

    Args:
        case: LOWER leaves the word as the lexicon has it. MIXED is refused by `released_case`
            and treated as LOWER.
        word: Any string.
        language: Of the word.

    Returns:
        The word; in English the pronoun "I" and its contractions always have their capital.
    """
    if case is Case.UPPER:
        return language.upper(word)
    if case is Case.TITLE or word in language.always_capital:
        for place, letter in enumerate(word):
            if letter.isalnum():
                return word[:place] + language.title(letter) + word[place + 1 :]
    return word


def begins_sentence(token: Token) -> bool | None:
    """Say whether the word after a token begins a sentence; None if the token changes nothing."""
    if token.kind is not Kind.PUNCTUATION:
        return False
    return True if token.text in _SENTENCE_END else None if token.text in _TRANSPARENT else False


def sentence_starts(tokens: Sequence[Token]) -> tuple[bool, ...]:
    """Say which tokens are the first word of a sentence.

    Args:
        tokens: Tokens of one text.

    Returns:
        One flag a token, computed from released information only: kinds of punctuation, paragraph
        breaks and places of words.
    """
    flags: list[bool] = []
    fresh = True
    for token in tokens:
        if plain_space(token.before) == "\n\n":
            fresh = True
        flags.append(fresh and token.kind is not Kind.PUNCTUATION)
        begins = begins_sentence(token)
        fresh = fresh if begins is None else begins
    return tuple(flags)


def _without_symbols(text: str) -> str:
    """A token that is one word with symbols around it as that word: "I-" is the pronoun."""
    words = () if text.isalpha() else bare(text)
    return words[0] if len(words) == 1 else text


def own_case(token: Token, language: Language) -> tuple[Case | None, bool]:
    """Return how a token is capitalised by itself.

    Args:
        token: Any token.
        language: Of the text.

    Returns:
        LOWER, TITLE or UPPER; None if that is for its place in the sentence to say. And whether it
        is a single capital letter, which looks alike in a title and in capitals: its neighbours
        decide.
    """
    if token.kind is not Kind.WORD:
        return None, False
    shape = released_case(token.text)
    text = _without_symbols(token.text).replace("’", "'")
    single = len(text) == 1 and shape is Case.TITLE
    if text[0].isupper() and language.lower(text) in language.always_capital:
        # Its capital says nothing about a name and must not move to another word.
        return None, single
    return shape if (text.isascii() and text.isalpha()) or _cased(text) else None, single


def released_cases(
    tokens: Sequence[Token], policy: CasePolicy, language: Language
) -> tuple[Case, ...]:
    """Return the capitalisation with which each token will be written.

    Args:
        tokens: Tokens of one text.
        policy: What may be released.
        language: Of the text.

    Returns:
        One of LOWER, TITLE and UPPER for each token. Under SENTENCE it depends on no letter of
        any word.
    """
    cases = [Case.TITLE if start else Case.LOWER for start in sentence_starts(tokens)]
    if CasePolicy(policy) is CasePolicy.SENTENCE:
        return tuple(cases)
    words = [place for place, token in enumerate(tokens) if token.kind is Kind.WORD]
    for number, place in enumerate(words):
        own, single = own_case(tokens[place], language)
        around = words[max(number - 1, 0) : number] + words[number + 1 : number + 2]
        if single and around and all(released_case(tokens[i].text) is Case.UPPER for i in around):
            cases[place] = Case.UPPER
        elif own is not None:
            cases[place] = own
    return tuple(cases)
