"""Tokeniser: tokens of a text, without loss, and the capital letters that are released.

A text is first mapped, character by character, to a string of a few class letters; tokens are
found in that string. So combining marks, joiners and every script are treated by their Unicode
category and not by a pattern language's idea of a word, and each pattern is short enough to see
that its running time grows in proportion to the text.

A guarantee about words holds only if the part that is *not* rewritten is a short, public list.
Therefore only `MARKS` are punctuation; any other symbol is protected like a word, and invisible
characters either belong to a token or count as white space.

A symbol that touches a word belongs to it, and is part of its token: `HIV+`, `C++`, `$5`, `50%`,
`#word`, `R&D`. So does a hyphen, a dash or a slash that touches a word on one side only, and an
apostrophe that does and is no half of a pair of quotation marks: `HCV-`, `-5`, `w/`, `dogs'`. If
one of them were a mark and another a word, the released part would reveal which it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dpcore.rewrite.languages import Language

APOSTROPHES = "'’"
HYPHENS = "-‐‑"
MARKS = '.,;:!?…¿¡"“”„‘‚«»‹›()[]{}–—/' + APOSTROPHES + HYPHENS
"""Characters that are punctuation: besides white space, the only ones released unchanged."""


WHITE_SPACE = re.compile(r"\s+")
"""A run of the characters that `str.isspace` takes for white space."""


class Kind(StrEnum):
    """Form of a token. Only PUNCTUATION is ever released without an option for it."""

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
        kind: Its form.
        before: White space and invisible characters between the token before and this one.
    """

    text: str
    kind: Kind
    before: str


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """Tokens of a text; iterating yields them.

    Attributes:
        tokens: All tokens in order.
        tail: White space and invisible characters after the last one.
    """

    tokens: tuple[Token, ...]
    tail: str

    @property
    def text(self) -> str:
        """Exact text that was tokenized."""
        return "".join(token.before + token.text for token in self.tokens) + self.tail

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)


def _class_of(character: str) -> str:
    """Map a character to its class letter.

    s white space, f invisible format character, w letter, d digit or other numeral, m combining
    mark, ' apostrophe, - hyphen, n dash, / slash, '.' full stop, ',' another mark allowed
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

    Computed entries are not stored: a text of rare characters must not make the table grow.
    """

    def __missing__(self, code: int) -> str:
        return _class_of(chr(code))


_CLASSES = _Classes({code: _class_of(chr(code)) for code in range(0x250)})

# Patterns over class letters. Within a word an apostrophe or a hyphen joins, and between two
# digits also one of . , : / (1,000 3.14 12:30 1/2 192.168.0.1): the parts of a number would show in
# the released marks if it were cut there. First comes an abbreviation such as "U.S.". Symbols that
# touch the words of a token are around them; a run of dashes between two words is a mark, and so is
# one that touches none. A run is matched from its beginning only, without backtracking (`+` after a
# repetition), so that time grows with the text.
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

# Patterns over the text itself. Every repetition is bounded or runs to the end of its match, so
# that a crafted line cannot make the search quadratic.
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
        text: Any string; `check_text` refuses those that a page should not accept.

    Returns:
        Tokens with `tokenize(text).text == text` for every string. A contraction, a hyphenated
        word, a number with its separators, each of them with the symbols that touch it, an
        address and a run of symbols are one token each; a punctuation mark is one token each, but
        three full stops are one.
    """
    tokens, tail = cut(text)
    return TokenizedText(tuple(join_apostrophes(tokens, *unpaired(apostrophes(tokens)))), tail)


def cut(text: str) -> tuple[list[Token], str]:
    """Cut into tokens, each apostrophe in no word as a mark, and the text after the last one.

    No pattern matches white space or looks beyond it: the tokens between two white spaces depend
    on nothing else.
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
        after: True if a word or number follows, without a space.
        before: True if a word or number precedes it, without a space.
    """

    place: int
    after: bool
    before: bool


def apostrophes(tokens: Sequence[Token]) -> list[Apostrophe]:
    """Return all apostrophes that are tokens, in order."""
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
    """Find the apostrophes of a text that touch a word on one side and have no partner.

    One before a word opens, one after a word or a mark closes the last that is open.

    Returns:
        Places of those before their words, and of those after.
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


def join_apostrophes(
    tokens: list[Token], leading: frozenset[int], trailing: frozenset[int]
) -> list[Token]:
    """Join the apostrophes in these places to the words that they touch."""
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
    """Return True if a word or number is at this place, without a space before it."""
    return place < len(tokens) and tokens[place].kind in _WRITTEN and not tokens[place].before


def bare(text: str) -> tuple[str, ...]:
    """Return the words of a token without the symbols that touch them; none in a run of symbols.

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


# Capital letters: the released patterns, and their restoration.
#
# The capitalisation of a word is informative: a capital inside a sentence marks a name. Only three
# patterns are ever released, so that the shape of "iPhone" or "McDonald" does not reveal it.


class Case(StrEnum):
    """Capitalisation of a word."""

    LOWER = "lower"
    TITLE = "title"
    UPPER = "upper"
    MIXED = "mixed"


class CasePolicy(StrEnum):
    """Policy for the release of capital letters."""

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
"""Information released under each policy, to be shown to users."""

_SENTENCE_END = frozenset(".!?")
# These may be between the end of a sentence and the next word.
_TRANSPARENT = frozenset("\"'“”„‘’‚«»‹›()[]{}-‐‑–—¿¡")


def _cased(word: str) -> list[str]:
    """Return the letters that have an upper and a lower case."""
    return [letter for letter in word if letter.lower() != letter.upper()]


def shape_of(word: str) -> Case:
    """Return the capitalisation of a word.

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
        case: LOWER leaves the word as in the lexicon. MIXED, which `released_case` never returns,
            is treated as LOWER.
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
    """Return True if a token ends a sentence, False if not, None if it changes nothing."""
    if token.kind is not Kind.PUNCTUATION:
        return False
    return True if token.text in _SENTENCE_END else None if token.text in _TRANSPARENT else False


def sentence_starts(tokens: Sequence[Token]) -> tuple[bool, ...]:
    """Mark the tokens that are the first word of a sentence.

    Args:
        tokens: Tokens of one text.

    Returns:
        One flag per token, computed from released information only: kinds of punctuation,
        paragraph breaks and places of words.
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
    """Reduce a token of one word with symbols around it to that word: "I-" is the pronoun."""
    words = () if text.isalpha() else bare(text)
    return words[0] if len(words) == 1 else text


def own_case(token: Token, language: Language) -> tuple[Case | None, bool]:
    """Return the capitalisation of a token by itself.

    Args:
        token: Any token.
        language: Of the text.

    Returns:
        LOWER, TITLE or UPPER; None if its place in the sentence decides. And True if it is a single
        capital letter, which looks alike in a title and in capitals: its neighbours decide.
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
        policy: For the release of capital letters.
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
