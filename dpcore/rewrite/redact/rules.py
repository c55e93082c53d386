"""A public set of rules that find personal data by its form, as the simplest redactors do.

A rule finds a kind by its pattern: an address, a telephone number, a card number with its check
digit, a date, a sum. A name has no pattern. Here a word that begins with a capital letter inside a
sentence counts as one: a name that begins a sentence stays, and so does one in small letters or all
in capitals; a word with a capital that is no name (Catholic, Internet) goes. A list of names would
find more, and is the selling point of a redactor; `entities` has a model in its place.

The rules are of English, with any lexicon: months, days and titles, and names
by their capital. In German, where every noun has one, they would take all nouns for names.

The rules are in order of precedence: text that one has taken, no later one takes. Every repetition
in a pattern is bounded, or runs to the end of its match, so that time grows with the text
(`tests/rewrite/redact/test_rules.py` measures it).
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.redact.spans import Redactor, Span, disjoint
from dpcore.rewrite.tokens import Case, Kind, Token, bare, released_case, sentence_starts, tokenize

_ADDRESSES = {Kind.EMAIL: "e-mail", Kind.URL: "web"}

# No letter, digit or hyphen before or after: else it is part of something longer.
_ALONE, _ENDS = r"(?<![\w-])", r"(?![\w-])"
_CARD = re.compile(rf"{_ALONE}\d(?:[ -]?\d){{12,18}}(?!\d)", re.ASCII)
_CARD_DIGITS = 13, 19
# ISO 13616: country, two check digits, then groups of four. A last group after a space has digits
# alone, since a word in capitals may follow.
_IBAN = re.compile(
    rf"{_ALONE}[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: \d{{1,3}}|[A-Z0-9]{{1,3}})?{_ENDS}",
    re.ASCII,
)
_IP = re.compile(r"(?<![\w:.])[0-9A-Fa-f:.]{2,45}(?![\w:])", re.ASCII)
_SOCIAL = re.compile(rf"{_ALONE}\d{{3}}([- ])\d{{2}}\1\d{{4}}{_ENDS}", re.ASCII)

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?\b", r"\d{4}\b"
_DATE = re.compile(
    rf"{_ALONE}(?:"
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})|"
    r"(?:19|20)\d\d[-–/](?:19|20)?\d\d|"
    rf"{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?|{_MONTH} {_DAY}(?:,? {_YEAR})?|{_MONTH},? {_YEAR}"
    rf"){_ENDS}",
    re.ASCII,
)
_HALF = r"[ap]\.?m\b\.?"
_TIME = re.compile(
    rf"{_ALONE}(?:\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?: ?{_HALF})?|\d{{1,2}}(?:\.\d{{2}})? ?{_HALF}|"
    r"\d{1,2} o['’]clock)(?![\w:-])",
    re.ASCII | re.IGNORECASE,
)
_AMOUNT = r"\d{1,15}(?:[.,]\d{1,15}){0,8}"
_MANY = r"(?: ?(?:thousand|million|billion|bn|k|m)\b)?"
_MONEY = re.compile(
    rf"(?:[$£€¥] ?{_AMOUNT}{_MANY}|"
    rf"{_ALONE}{_AMOUNT}{_MANY} ?(?:[$£€¥]|(?:USD|EUR|GBP|CHF|dollars?|euros?|pounds?|cents?|"
    r"pence|quid)\b))(?!\w)",
    re.ASCII | re.IGNORECASE,
)
# Groups of two digits or more: 1.234.567 is a number.
_PHONE = re.compile(
    r"(?<![\w.,+-])(?:"
    r"(?:\+\d{1,3}[ .-]?|00\d{1,3}[ .-]|1[ -])?(?:\(\d{1,5}\)[ .-]?|\d{2,5}[ ./-])"
    r"(?:\d{2,5}[ .-]){0,3}\d{2,9}|"
    r"\+\d{7,15}|0\d{8,11}|\d{10})"
    r"(?: ?(?:x|ext\.?) ?\d{1,5})?(?![\w-]|[.,]\d)",
    re.ASCII | re.IGNORECASE,
)
_PHONE_DIGITS = 7, 18


def _digits(text: str) -> list[int]:
    return [int(character) for character in text if character.isdigit()]


def luhn(digits: Sequence[int]) -> bool:
    """Return True if a card number's last digit fits the others (ISO/IEC 7812-1, Annex B)."""
    doubled = [digit * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def _cards(text: str) -> Iterator[Span]:
    low, high = _CARD_DIGITS
    for match in _CARD.finditer(text):
        # Digits that follow a card number may be another number: the longest part that fits counts.
        ends = [
            match.start() + place
            for place in range(len(match[0]), low - 1, -1)
            if match[0][place - 1].isdigit() and not match[0][place : place + 1].isdigit()
        ]
        for end in ends:
            digits = _digits(text[match.start() : end])
            if low <= len(digits) <= high and luhn(digits):
                yield Span(match.start(), end, "card")
                break


def _internet(text: str) -> Iterator[Span]:
    for match in _IP.finditer(text):
        written = match[0].rstrip(".")  # the full stop of a sentence
        if not any(character.isalnum() for character in written):
            continue
        try:
            ipaddress.ip_address(written)
        except ValueError:
            continue
        yield Span(match.start(), match.start() + len(written), "ip")


def _pattern(kind: str, pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    return lambda text: (Span(*match.span(), kind) for match in pattern.finditer(text))


def _phones(text: str) -> Iterator[Span]:
    for match in _PHONE.finditer(text):
        if _PHONE_DIGITS[0] <= len(_digits(match[0])) <= _PHONE_DIGITS[1]:
            yield Span(*match.span(), "phone")


_CHECKED: dict[str, Callable[[str], Iterator[Span]]] = {
    "card": _cards,
    "social security": _pattern("social security", _SOCIAL),
    "ip": _internet,
}
_PATTERNS: dict[str, Callable[[str], Iterator[Span]]] = {
    "iban": _pattern("iban", _IBAN),
    **_CHECKED,
    "date": _pattern("date", _DATE),
    "time": _pattern("time", _TIME),
    "money": _pattern("money", _MONEY),
    "phone": _phones,
}
KINDS = (*_ADDRESSES.values(), *_PATTERNS, "number", "name")
"""Kinds that the rules find, in order of precedence; a day or month is a date."""


def _placed(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    places, done = [], 0
    for token in tokens:
        start = done + len(token.before)
        done = start + len(token.text)
        places.append((start, done))
    return places


def _written_addresses(tokens: Sequence[Token], places: Sequence[tuple[int, int]]) -> list[Span]:
    return [
        Span(*place, _ADDRESSES[token.kind])
        for token, place in zip(tokens, places, strict=True)
        if token.kind in _ADDRESSES
    ]


def structured_spans(text: str) -> tuple[Span, ...]:
    """Return e-mail and web addresses, card and social-security numbers and IP addresses.

    A rule finds these kinds better than a model does, because of their fixed form.
    """
    tokens = tokenize(text).tokens
    spans = _written_addresses(tokens, _placed(tokens))
    for finds in _CHECKED.values():
        spans += finds(text)
    return disjoint(spans)


def by_rules(text: str) -> tuple[Span, ...]:
    """Return all spans that the rules find in a text, in order and without overlap."""
    tokens = tokenize(text).tokens
    places = _placed(tokens)
    spans = _written_addresses(tokens, places)
    for finds in _PATTERNS.values():
        spans += finds(text)
    taken = disjoint(spans)
    taken = disjoint([*taken, *_numbers(text, places, taken)])
    return disjoint([*taken, *_names(tokens, places, taken)])


def _numbers(text: str, places: Sequence[tuple[int, int]], taken: Sequence[Span]) -> Iterator[Span]:
    """Yield words with a digit, or their parts that other rules left: no digit stays."""
    following = iter(taken)
    span = next(following, None)
    for start, end in places:
        while start < end:
            while span is not None and span.end <= start:
                span = next(following, None)
            stop = end if span is None else min(end, max(start, span.start))
            if any(map(str.isdigit, text[start:stop])):
                yield Span(start, stop, "number")
            start = end if span is None else max(stop, min(end, span.end))


def _names(
    tokens: Sequence[Token], places: Sequence[tuple[int, int]], taken: Sequence[Span]
) -> list[Span]:
    """Return runs of words with a capital inside a sentence; days and months are dates.

    A run ends before a taken word: if that word were in the run, the whole name would be dropped.
    """
    begins = _beginnings(tokens)
    ends = [span.end for span in taken]
    spans: list[Span] = []
    last = -2  # number of the token that the last name ended with
    for number, (token, (start, end)) in enumerate(zip(tokens, places, strict=True)):
        kind = _capitalised(token, begins[number])
        after = bisect_right(ends, start)  # the first span that does not end before the word
        if not kind or (after < len(taken) and taken[after].start < end):
            continue
        joined = kind == "name" and last == number - 1 and token.before == " "
        if joined:
            spans[-1] = Span(spans[-1].start, end, kind)
        else:
            spans.append(Span(start, end, kind))
        last = number if kind == "name" else -2
    return spans


def _beginnings(tokens: Sequence[Token]) -> list[bool]:
    """Mark the tokens that may have their capital from their position.

    They are at the beginning of a sentence or a line and after a colon; and everywhere in a text
    in which every word has a capital, such as a headline.
    """
    words = [token.text for token in tokens if token.kind is Kind.WORD]
    inside = [word for word in words[1:] if word.lower() not in ENGLISH.always_capital]
    if len(inside) > 1 and all(released_case(word) is not Case.LOWER for word in inside):
        return [True] * len(tokens)
    starts = list(sentence_starts(tokens))
    for number, token in enumerate(tokens):
        behind = number and tokens[number - 1].text in {":", "•", "*", "-", "–"}
        starts[number] = starts[number] or bool(behind) or "\n" in token.before
    return starts


def _capitalised(token: Token, begins: bool) -> str:
    """Return the kind of a word with a capital: "name", "date", or "" for neither."""
    if token.kind is not Kind.WORD:
        return ""
    word = " ".join(bare(token.text))
    plain = word.replace("’", "'").removesuffix("'s")
    if plain in _DAYS or plain.removesuffix("s") in _DAYS:
        return "date"
    if plain in _MONTHS and not (begins and plain in {"March", "May"}):
        return "date"
    if begins or plain.lower() in ENGLISH.always_capital:
        return ""
    # An abbreviation in capitals is no name, nor is a single letter.
    return "name" if released_case(plain) is Case.TITLE and len(plain) > 1 else ""


RULES = Redactor(
    "rules",
    "Rules of a redactor",
    "Finds addresses, numbers, dates and sums by their form, and names by a capital letter inside "
    "a sentence",
    by_rules,
)
