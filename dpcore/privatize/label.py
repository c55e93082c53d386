"""Privacy label of a private copy: its protection, its limits, and both of its numbers.

It accompanies the copy, as a page that any browser shows or as JSON. All of it follows from the
record and from measurements of the mechanism; every sentence on the guarantee is the engine's own.
Folded at the end is the walk through NIST SP 800-226 (`dpcore.privatize.walk`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

from dpcore.attack.leak import COUNTS, leak
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.audit.composition import worst_powers
from dpcore.errors import StudyError
from dpcore.guarantee import Status
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import check_place, write_text
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_least, at_most
from dpcore.privatize.folder import folder_of, record_path
from dpcore.privatize.walk import (
    CITED,
    DISCLAIMER,
    PARTS,
    TITLE,
    TOLD,
    Row,
    protected_words,
    tally,
    walk,
    walk_dict,
)

SUFFIXES = (".html", ".json")
"""Allowed suffixes of a label file."""
_MEANS = {
    "metric": "per unit of distance between two words",
    "pure-local": "between any two words",
    "approximate-local": "between any two words, up to a probability of δ",
}
_UNKNOWN = (
    "How many words are guessed by someone who knows how common words are was not measured for "
    "this mechanism, these settings, this ε and this lexicon."
)
_TWICE = (
    "Anyone who releases the same texts again spends ε twice: keep this copy, and use it from "
    "now on."
)
_AUTHORS = (
    "If one person wrote several texts, ε adds up over all of their words: who wrote what was not "
    "counted here."
)
_RATE = 0.01
_STYLE = (
    "body{font:16px/1.45 system-ui,sans-serif;color:#1a1a1a;background:#fff;margin:1rem}"
    "main{max-width:44rem;border:3px solid #1a1a1a;padding:.25rem 1.25rem 1rem}"
    "h1{font-size:1.7rem;margin:.5rem 0;border-bottom:8px solid #1a1a1a}"
    "h2{font-size:1.05rem;margin:1rem 0 .25rem;border-top:1px solid #1a1a1a;padding-top:.5rem}"
    "p,ul,dl{margin:.25rem 0}ul{padding-left:1.2rem}li,dd{overflow-wrap:anywhere}"
    "summary,dt,h3{font-size:1rem;font-weight:700;margin:.75rem 0 .25rem}dd{margin:0}"
    ".warning{font-weight:700;border:3px solid #b34700;padding:.5rem}"
)


@dataclass(frozen=True)
class Label:
    """A privacy label.

    Attributes:
        record: record of the private copy, as `privatize` returns it.
        guessed: share of content words, as frequent as in English text, that someone guesses at
            this ε who knows how frequent they are, and its ends; None if there is no measurement.
        near: the same where one of the nine nearest words counts as well.
        measured: ε of the measurements: this ε, or the two around it, which then give the ends.
        at_least: True if a better attacker may guess more.
        date: date of the label, such as "2026-01-31".
        power: most texts of 100 in which any test finds a word that is wrong in `_RATE` of the
            texts with any other word, as a share: what the guarantee allows (f-DP).
    """

    record: Json
    guessed: tuple[float, float, float] | None
    near: tuple[float, float, float] | None
    measured: tuple[float, ...]
    at_least: bool
    date: str
    power: float = 1.0

    @property
    def warning(self) -> str:
        """A warning to read first; empty if there is none."""
        guarantee = self.record["guarantee"]
        # First: an experiment may show its seed or the original texts.
        if self.record["kind"] != "release":
            return "An experiment: this must never be released."
        if guarantee["status"] == Status.REFUTED:
            return f"The guarantee is refuted: {guarantee['reason']}"
        if guarantee["status"] == Status.CONDITIONAL:
            return f"The guarantee holds under a condition only: {guarantee['reason']}"
        return ""

    @property
    def guesses(self) -> str:
        """The shares of words that are guessed, in one sentence."""
        if self.guessed is None or self.near is None:
            return _UNKNOWN
        word = self._share(self.guessed, " of 100 content words")
        near = self._share(self.near, "")
        where = ""
        # Not measured at this ε: the shares at the two ε around it are the ends.
        if len(self.measured) > 1:
            first, last = self.measured
            where = (
                f": values are interpolated, and the ends in brackets were measured at "
                f"ε = {first:.4g} and {last:.4g}, between which this ε lies"
            )
        return (
            "Someone who knows the method and how common words are, and sees one word at a time, "
            f"guesses {word}, and for {near} the word or one of the nine nearest{where}; words "
            "that the rest of a text gives away are guessed more often."
        )

    @property
    def _tests(self) -> str:
        """Sentence on the best test between any two words."""
        power = at_most(self.power, 3, times=100)
        if power == "100":
            return (
                "The guarantee limits hardly any test between two words that are far apart: only "
                "the measurement says what they give away."
            )
        return (
            "Any test that takes one word for another in 1 of 100 texts finds it in at most "
            f"{power} of 100: that is guaranteed for any two words."
        )

    @property
    def _author(self) -> str:
        """Sentence on all texts of one author."""
        author = self.record.get("composed_author")
        if author is None:
            return _AUTHORS
        texts = "1 text" if author["texts"] == 1 else f"{author['texts']:,} texts"
        return (
            f"All texts of one author: no one wrote more than {texts} and "
            f"{protected_words(author['words'])}. Taken as one text: {author['statement']}"
        )

    @property
    def walk(self) -> tuple[Row, ...]:
        """The questions of NIST SP 800-226, answered from the record."""
        return walk(self.record)

    def _share(self, ends: tuple[float, float, float], of: str) -> str:
        value, low, high = (100 * share for share in ends)
        about = f"at least {at_least(value, 3)}" if self.at_least else f"about {value:.3g}"
        first, last = f"{low:.3g}", f"{high:.3g}"
        # An exact share has no interval.
        return f"{about}{of}" + ("" if first == last else f" ({first} to {last})")

    @property
    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Titles, each with its sentences."""
        record, guarantee = self.record, self.record["guarantee"]
        median, longest = record["composed_median"], record["composed"]
        parameters = ", ".join(f"{name} = {value}" for name, value in record["parameters"].items())
        return (
            (
                "What is protected",
                (
                    f"Each of the {record['protected_words']:,} protected words in "
                    f"{record['documents']:,} texts, exchanged at random with fresh noise.",
                    guarantee["statement"],
                    f"Status: {guarantee['status']}. {guarantee['reason']}",
                    f"Source: {guarantee['source']}",
                ),
            ),
            (
                "Two numbers",
                (
                    f"Guaranteed: ε = {at_most(record['epsilon'])} {_MEANS[guarantee['kind']]}.",
                    f"Given away: {self.guesses}",
                    self._tests,
                ),
            ),
            (
                "A whole text",
                (
                    f"Half of the texts have at most {protected_words(median['words'])}. "
                    f"{median['statement']}",
                    f"The longest has {protected_words(longest['words'])}. {longest['statement']}",
                    *(
                        f"Where words are exchanged within one budget ({name}): {part['statement']}"
                        for name, part in record["composed_groups"].items()
                    ),
                    self._author,
                    _TWICE,
                ),
            ),
            (
                "What is not protected",
                (
                    "how many texts there are, and their order",
                    *record["released"],
                    *(risk["statement"] for risk in record.get("kept", ())),
                ),
            ),
            (
                "Made with",
                (
                    f"{record['mechanism']}{' with ' if parameters else ''}{parameters}",
                    f"lexicon {record['lexicon']}, fingerprint {record['fingerprint']}",
                    f"dpcore {record['version']}, run {record['run']}, {self.date}",
                ),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: the numbers, and every sentence of the page."""
        record, guarantee = self.record, self.record["guarantee"]
        shares = {}
        for gain, ends in (("word", self.guessed), ("near", self.near)):
            value, low, high = ends or (None, None, None)
            shares[gain] = {"value": value, "low": low, "high": high}
        return {
            "label": "privacy label",
            "date": self.date,
            "warning": self.warning,
            "status": guarantee["status"],
            "epsilon": record["epsilon"],
            "epsilon_means": _MEANS[guarantee["kind"]],
            "guessed": {
                "stranger": COUNTS,
                **shares,
                "at_least": self.at_least,
                "measured_at": list(self.measured),
            },
            "best_test": {"false_positive_rate": _RATE, "power": self.power},
            "median_text": record["composed_median"],
            "longest_text": record["composed"],
            "author": record.get("composed_author"),
            **{name: record[name] for name in _CARRIED},
            "sections": [
                {"title": title, "sentences": list(sentences)} for title, sentences in self.sections
            ],
            "walk": walk_dict(self.walk),
        }

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """Return a self-contained page: no script, nothing from a network, every text escaped."""
        warning = f'<p class="warning">{escape(self.warning)}</p>' if self.warning else ""
        parts = (
            f"<h2>{escape(title)}</h2>{_listed(sentences)}" for title, sentences in self.sections
        )
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>Privacy label</title><style>{_STYLE}</style></head>"
            f"<body><main><h1>Privacy label</h1>{warning}{''.join(parts)}"
            f"{_folded(self.walk)}</main></body></html>\n"
        )


def _folded(rows: tuple[Row, ...]) -> str:
    """Return the walk as HTML, folded."""
    parts = []
    for part, title in PARTS.items():
        lines = (
            f"<dt>{escape(f'{TOLD[row.met]}: {row.question} {row.title}'.strip())}</dt>"
            f"<dd>{escape(' '.join(row.answer))}{_listed(row.points)}</dd>"
            for row in rows
            if row.part == part
        )
        parts.append(f"<h3>{escape(title)}</h3><dl>{''.join(lines)}</dl>")
    return (
        f"<details><summary>{escape(TITLE)}</summary><p>{escape(DISCLAIMER)} {escape(tally(rows))}"
        f"</p>{''.join(parts)}<p>{escape(CITED)}</p></details>"
    )


def _listed(sentences: tuple[str, ...]) -> str:
    if not sentences:
        return ""
    return "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in sentences) + "</ul>"


_CARRIED = (
    "kind", "run", "mechanism", "parameters", "lexicon", "fingerprint", "version", "documents",
    "protected_words",
)  # fmt: skip


def privacy_label(record: Json, mechanism: Mechanism, curve: TradeCurve | None, day: date) -> Label:
    """Build the label of a private copy.

    Args:
        record: record of the copy.
        mechanism: mechanism that made it.
        curve: measurements of this mechanism with its settings on its lexicon, if there are any.
        day: date of the label.
    """
    around: tuple[tuple[float, float, float], tuple[float, ...]] | None = None
    near: tuple[tuple[float, float, float], tuple[float, ...]] | None = None
    law = None if curve is None else mechanism.sparse_law(record["epsilon"])
    if law is not None and law.response is not None:
        # Of such a law the shares are summed in a moment, and need no measurement.
        epsilon = record["epsilon"]
        word, nearly = (leak(mechanism, epsilon, gain=gain) for gain in ("word", "near"))
        around = (word.after, word.low, word.high), (epsilon,)
        near = (nearly.after, nearly.low, nearly.high), (epsilon,)
    elif curve is not None:
        # A measurement at the smallest ε with the same law holds for this ε.
        epsilon = mechanism.same_law_from(record["epsilon"])
        around, near = (curve.measured_around(name, epsilon) for name in (GUESSED, NEARLY))
    guessed, measured = around or (None, ())
    at_least = curve is not None and GUESSED in curve.at_least
    # Under a condition that may not be met no test is excluded.
    power = 1.0
    if record["guarantee"]["status"] in (Status.PROVED, Status.CERTIFIED):
        power = float(worst_powers(mechanism, record["epsilon"], 1, [_RATE])[0])
    return Label(record, guessed, near and near[0], measured, at_least, day.isoformat(), power)


def check_label(path: Path, *taken: Path) -> None:
    """Refuse a path that a label cannot be written to, before there is any work.

    Args:
        path: path of the label.
        taken: outputs of the same run, each with a record and a folder beside it.

    Raises:
        StudyError: with what to do.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise StudyError(f"a label is written to *.html or *.json, got {path.name}")
    try:
        mine = _place(path)
        for out in taken:
            # The run writes to all three places: it would overwrite the label or be stopped by it.
            within = _place(folder_of(out))
            if mine in (_place(out), _place(record_path(out))) or mine.is_relative_to(within):
                raise StudyError(
                    f"the run itself writes to {path}: choose another --label, such as "
                    f"{out.stem}.label.html"
                )
        if path.exists():
            raise StudyError(f"{path} exists already: move it away, or choose another --label")
        if not path.parent.is_dir():
            raise StudyError(f"there is no folder {path.parent}: make it first")
        check_place(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror})") from None


def _place(path: Path) -> Path:
    """Return a path that compares equal on a file system that ignores case."""
    # The folder is resolved and the name is not: a link is replaced, not its target.
    return Path(str(path.parent.resolve() / path.name).casefold())


def write_label(label: Label, path: Path) -> None:
    """Write a label in the format of the suffix of its path.

    Raises:
        StudyError: as `check_label`, or the file cannot be written.
    """
    # Again: the run may have taken hours, and the path may have been taken meanwhile.
    check_label(path)
    html = path.suffix.lower() == ".html"
    try:
        write_text(path, label.to_html() if html else label.to_json(), lasting=True)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror})") from None
