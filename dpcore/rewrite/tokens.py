"""From text to tokens and back, without loss.

A text is first mapped, character by character, to a string of a few class letters; tokens are
found in that string. So combining marks, joiners and every script are treated by their Unicode
category and not by what a pattern language happens to call a word, and each pattern is short
enough to see that its running time grows in proportion to the text.

A guarantee about words holds only if what is *not* rewritten is a short, known list. Therefore
only `MARKS` are punctuation; any other symbol is a token that is protected like a word, and
invisible characters either belong to such a token or count as white space.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

APOSTROPHES = "'’"
HYPHENS = "-‐‑"
MARKS = '.,;:!?…¿¡"“”„‘‚«»‹›()[]{}–—/' + APOSTROPHES + HYPHENS
"""The characters that are punctuation: the only ones, beside white space, released as they are."""


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
        """Return the number of tokens."""
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        """Iterate over the tokens."""
        return iter(self.tokens)


def _class_of(character: str) -> str:
    """Map a character to its class letter.

    s white space, f invisible format character, w letter, d digit or other numeral, m combining
    mark, ' apostrophe, - hyphen, '.' full stop, ',' a mark that may stand inside a number,
    p other mark of `MARKS`, o anything else.
    """
    if character.isspace():
        return "s"
    if character in MARKS:
        if character in APOSTROPHES:
            return "'"
        if character in HYPHENS:
            return "-"
        return {".": ".", ",": ",", ":": ",", "/": ","}.get(character, "p")
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
_TOKEN = re.compile(
    r"(?P<word>w(?:\.w)+\.?(?![wdmf])"
    r"|[wd][wdmf]*(?:(?:['-]|(?<=d)[.,](?=d))[wd][wdmf]*)*)"
    r"|(?P<mark>\.\.\.|[-'.,p])"
    r"|[mo][mof]*"
)

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
        word, a number with its separators, an address and a run of symbols are one token each;
        a punctuation mark is one token each, but three full stops are one.
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
    return TokenizedText(tuple(tokens), text[end:])


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
