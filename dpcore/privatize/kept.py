"""Checks of kept columns for content that reveals what the noise in the texts hides.

Kept columns are released unchanged. The checks look for free text, names, addresses and near-unique
values. They only count; no cell of a column ever leaves them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpcore.errors import InputError
from dpcore.limits import MAX_CLASSES
from dpcore.tables.csv_files import is_formula

FREE_TEXT, NAMES, CONTACTS, UNIQUE = "free text", "names", "addresses", "as many values as rows"
NUMBERS, FORMULAS = "as many numbers as rows", "formulas"
DANGEROUS = frozenset({FREE_TEXT, NAMES, CONTACTS, UNIQUE})
"""Risks that a person must accept before the column is released; the others are only reported."""
_MANY_WORDS = 5  # words that make a cell free text
_TEXT_SHARE, _NAME_SHARE, _CONTACT_SHARE = 0.1, 0.3, 0.05  # of the nonempty cells
_DISTINCT = 0.5  # of the nonempty cells: categories repeat themselves
_UNIQUE_SHARE, _UNIQUE_ROWS = 0.9, 20
_COUNTED = 100_000  # limit of distinct values to count
_CONTACT = re.compile(
    r"[^\s@]+@[^\s@]+\.[^\s@]+"  # e-mail
    r"|https?://|www\."
    r"|(?<!\w)\+?\d(?:[\s()/.-]{0,2}\d){8,14}(?!\w)"  # telephone
    r"|\b\d{1,5}[a-z]?\s+(?:\w+\s+){1,3}(?:st|street|rd|road|ave|avenue|lane|drive|dr|blvd|way)\b"
    r"|\b\w*(?:straße|strasse|str\.|gasse|weg|platz|allee)\s+\d{1,4}\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:[^\W\d_a-zß-öø-ÿ][\w'’-]*\.?,?\s+){1,3}[^\W\d_a-zß-öø-ÿ][\w'’-]*\.?")
_NAMED = re.compile(
    r"\b(?:(?:full|first|last|sur|user|family|given|nick)[\s_-]*names?|names?|e-?mails?|phones?|"
    r"telephones?|address(?:es)?|streets?|authors?|patients?|customers?|clients?|employees?|ssn|iban|nachname|vorname|"
    r"adresse|telefon)\b",
    re.IGNORECASE,
)
_MORE = {
    FREE_TEXT: "{count:,} of {filled:,} cells hold five words or more",
    NAMES: "{count:,} of {filled:,} cells look like names of people or places",
    CONTACTS: "{count:,} of {filled:,} cells look like an address, a telephone number or a link",
    UNIQUE: "{count:,} different values in {filled:,} cells: who knows one finds its row",
    NUMBERS: "{count:,} different numbers in {filled:,} cells: who knows one finds its row",
    FORMULAS: "{count:,} of {filled:,} cells begin like a formula, which a spreadsheet may run",
}


@dataclass(frozen=True)
class Risk:
    """A finding on a kept column.

    Attributes:
        column: its position among the kept columns, from 1.
        name: its name, as a person typed or confirmed it.
        kind: one of `DANGEROUS`, `NUMBERS` or `FORMULAS`.
        count: number of cells or of distinct values behind the finding.
        filled: number of nonempty cells.
    """

    column: int
    name: str
    kind: str
    count: int
    filled: int

    @property
    def dangerous(self) -> bool:
        """True if a person must accept it."""
        return self.kind in DANGEROUS

    @property
    def sentence(self) -> str:
        """The finding, without any cell."""
        more = _MORE[self.kind].format(count=self.count, filled=self.filled)
        if self.kind == NAMES and not self.count:
            more = "its name says that it identifies people"
        return f"the kept column {self.name}: {self.kind} ({more})"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "column": self.name,
            "risk": self.kind,
            "dangerous": self.dangerous,
            "count": self.count,
            "filled": self.filled,
            "statement": self.sentence,
        }


@dataclass(eq=False)
class _Column:
    """Counts of one column."""

    filled: int = 0
    texts: int = 0
    names: int = 0
    contacts: int = 0
    formulas: int = 0
    numbers: int = 0
    steps: bool = True
    last: float | None = None
    values: set[bytes] = field(default_factory=set)

    def see(self, cell: object) -> None:
        if cell is None or cell == "":
            return
        self.filled += 1
        number = _number(cell)
        text = cell if isinstance(cell, str) else str(cell)
        if len(self.values) < _COUNTED:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
            self.values.add(digest.digest())
        if number is not None:
            self.numbers += 1
            self.steps &= self.last is None or number == self.last + 1
            self.last = number
            return
        self.steps = False
        self.texts += len(text.split()) >= _MANY_WORDS
        self.names += len(text) < 80 and _NAME.fullmatch(text.strip()) is not None
        self.contacts += _CONTACT.search(text[:2_000]) is not None
        self.formulas += is_formula(cell)

    def risks(self, name: str) -> Iterable[tuple[str, int]]:
        distinct, filled = len(self.values), self.filled
        if not filled:
            return
        various = distinct >= min(_DISTINCT * filled, _COUNTED)
        # People who wrote several texts each: far fewer names than rows, yet more than categories.
        many = various or distinct > MAX_CLASSES
        if self.texts >= max(1, _TEXT_SHARE * filled) and various:
            yield FREE_TEXT, self.texts
        if self.contacts >= max(1, _CONTACT_SHARE * filled):
            yield CONTACTS, self.contacts
        if self.names >= max(1, _NAME_SHARE * filled) and many:
            yield NAMES, self.names
        elif _NAMED.search(name) and self.numbers < filled:
            yield NAMES, 0
        if filled >= _UNIQUE_ROWS and distinct >= min(_UNIQUE_SHARE * filled, _COUNTED):
            if self.numbers < filled:
                yield UNIQUE, distinct
            elif not self.steps:  # consecutive row numbers reveal nothing
                yield NUMBERS, distinct
        if self.formulas:
            yield FORMULAS, self.formulas


class KeptCheck:
    """Row-by-row counts of the kept columns."""

    def __init__(self, names: Sequence[str]) -> None:
        """Store the names of the columns, as a person typed or confirmed them."""
        self._names = tuple(names)
        self._columns = [_Column() for _ in names]

    def see(self, rows: Iterable[Sequence[Any]]) -> None:
        """Count some rows of kept cells."""
        for row in rows:
            for column, cell in zip(self._columns, row, strict=True):
                column.see(cell)

    @property
    def risks(self) -> tuple[Risk, ...]:
        """The findings, in the order of the columns."""
        return tuple(
            Risk(number, name, kind, count, column.filled)
            for number, (name, column) in enumerate(
                zip(self._names, self._columns, strict=True), start=1
            )
            for kind, count in column.risks(name)
        )


def refuse_risks(risks: Iterable[Risk], source: str) -> None:
    """Refuse columns whose release a person must accept.

    Args:
        risks: findings on the kept columns.
        source: name of the corpus, for the message.

    Raises:
        InputError: with the findings, and no cell.
    """
    dangerous = [risk for risk in risks if risk.dangerous]
    if dangerous:
        raise InputError(
            f"{source}: {'; '.join(risk.sentence for risk in dangerous[:5])}. Kept columns are "
            "released unchanged, with no protection: leave them out, or say --keep-anyway"
        )


def _number(cell: object) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None
