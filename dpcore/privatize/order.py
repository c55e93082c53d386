"""Orders to `privatize`: checks before any work, and the fields of the record at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from dpcore import __version__
from dpcore.audit.composition import composition, group_compositions
from dpcore.errors import StudyError
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import FIELDS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.privatize.folder import awaits_publication, folder_of, record_path
from dpcore.rewrite.documents import AuthorSizes, vocabulary_caution
from dpcore.rewrite.languages import rules_of
from dpcore.rewrite.policy import Treatment
from dpcore.tables.detection import format_of
from dpcore.tables.files import Columns, Format
from dpcore.tables.shape import AS_FOUND, ENDS, FORMATS, Reading, format_by_name, packed_name

_LOOKED_AT_BYTES = 2**16
NOISE = "HMAC-SHA256 of the document's number under the run's secret keys ChaCha20"
"""Field `noise` of a record."""


@dataclass(frozen=True, eq=False)
class Order:
    """All inputs of a private copy.

    Attributes:
        source: the corpus; its suffix gives the format, unless `reading` does.
        out: path of the private copy, in the same format; must not exist.
        mechanism: mechanism that rewrites.
        epsilon: ε, for every word.
        columns: columns to rewrite and to copy.
        treatment: treatment of unknown words, function words and capital letters.
        seed: seed of an experiment that can be repeated; None for a release.
        reading: a person's choices on how the corpus is read.
        keep_anyway: True to keep columns even if they may give people away.
        authors: most texts and words of one author, for the record; None if they are not known.
    """

    source: Path
    out: Path
    mechanism: Mechanism
    epsilon: float
    columns: Columns
    treatment: Treatment
    seed: int | None = None
    reading: Reading = AS_FOUND
    keep_anyway: bool = False
    authors: AuthorSizes | None = None

    @property
    def experiment(self) -> bool:
        """True if the output must not be released: it is repeatable, or holds the originals."""
        return self.seed is not None or self.columns.original

    @property
    def folder(self) -> Path:
        """Folder of the run until it is finished."""
        return folder_of(self.out)

    @property
    def record(self) -> Path:
        """Path of the record of the output."""
        return record_path(self.out)


def first_look(order: Order) -> list[str]:
    """Describe how the corpus is read, and warn if the vocabulary does not fit its first texts."""
    form = format_of(order.source, order.reading, order.columns.typed)
    spans = form.spans(order.source, _LOOKED_AT_BYTES)
    documents = (form.read(order.source, span, order.columns) for span in spans)
    texts = (text or "" for part in documents for text in part.texts)
    caution = vocabulary_caution(texts, order.mechanism.lexicon)
    lines = [f"{order.source.name} is read as {form.shape.sentence}"]
    return [*lines, f"warning: {caution}"] if caution else lines


def check_files(source: Path, out: Path, columns: Columns, reading: Reading) -> Format:
    """Check source, output and columns before there is any work, and return the format.

    Raises:
        StudyError: with what to do.
    """
    try:
        return _checked(source, out, columns, reading)
    except OSError as error:
        raise StudyError(
            f"{error.filename or source} cannot be read ({error.strerror or 'damaged'})"
        ) from None


def _checked(source: Path, out: Path, columns: Columns, reading: Reading) -> Format:
    if not source.is_file():
        if source.exists():
            raise StudyError(_no_file(source))
        raise StudyError(f"there is no file {source}")
    _check_end(source, out, reading)
    # A run that was killed between its last two steps has already published its record.
    for path in (out,) if awaits_publication(out) else (out, record_path(out)):
        if path.exists():
            raise StudyError(
                f"{path} exists already: move it away, or choose another --out (to release the "
                "same texts a second time spends ε twice)"
            )
    if not source.stat().st_size:
        raise StudyError(f"{source.name} is empty")
    form = format_of(source, reading, columns.typed)
    if out.suffix.lower() == ".tsv" and form.shape.separator != "tab":
        raise StudyError(
            f"the output has the separator of the input, a {form.shape.separator}: give {out.name} "
            "the end .csv"
        )
    form.check(source, columns)
    return form


def is_published(out: Path) -> bool:
    """Return True if an output exists with its record."""
    return out.exists() and record_path(out).exists()


_OF_ITS_ORDER = (
    "kind", "mechanism", "parameters", "epsilon", "fingerprint", "unknown_words", "released",
    "format", "columns",
)  # fmt: skip
"""Fields of a record that follow from the order alone."""


def read_published(order: Order) -> Json:
    """Read the record of an output that this very order has made.

    Raises:
        StudyError: another order made it, or the record cannot be read.
    """
    if not order.source.is_file():  # how it is read is part of the order
        raise StudyError(
            _no_file(order.source) if order.source.exists() else f"there is no file {order.source}"
        )
    form = format_of(order.source, order.reading, order.columns.typed)
    asks = run_state(order, form) | {"released": _released(order)}
    asks["kind"] = _kind(order)
    try:
        record = dict(json.loads(order.record.read_text(encoding="utf-8")))
        differs = [name for name in _OF_ITS_ORDER if record[name] != asks[name]]
        # A record without a reading is not refused for it.
        if record.get("reading", asks["reading"]) != asks["reading"]:
            differs.append("reading")
        if record.get("seed") != asks["seed"]:
            differs.append("seed")
    except OSError as error:
        raise StudyError(f"{order.record} cannot be read ({error.strerror})") from None
    except FIELDS:
        raise StudyError(f"{order.record} is no record of a private copy") from None
    if differs:
        raise StudyError(
            f"{order.out} exists already, made with another {', '.join(differs)}: move it away, or "
            "choose another --out"
        )
    return record


def read_record(path: Path) -> Json:
    """Read the record of a private copy of any order.

    Args:
        path: the record itself, or the copy beside which it lies.

    Raises:
        StudyError: it cannot be read, or is none.
    """
    beside = record_path(path)
    place = beside if beside.is_file() else path
    try:
        record = dict(json.loads(place.read_text(encoding="utf-8")))
        if not (isinstance(record["guarantee"], dict) and record["mechanism"]):
            raise KeyError("guarantee")
    except OSError as error:
        raise StudyError(f"{place} cannot be read ({error.strerror})") from None
    except FIELDS:
        raise StudyError(
            f"{place} is no record of a private copy: give that record, or the copy beside its "
            f"{beside.name}"
        ) from None
    return record


class MissingFactError(Exception):
    """A fact is not in a record, or not of the type that it must have."""


class RecordFacts:
    """Facts of a record by dotted name; each read raises `MissingFactError` where there is none.

    Attributes:
        asked: names of the facts that were asked for, there or not, as keys.
    """

    def __init__(self, record: Json) -> None:
        self._record = record
        self.asked: dict[str, None] = {}

    def of(self, name: str) -> object:
        """Return a fact of any type, None where it is null."""
        self.asked[name] = None
        value: object = self._record
        for part in name.split("."):
            if not (isinstance(value, Mapping) and part in value):
                raise MissingFactError(name)
            value = value[part]
        return value

    def there(self, name: str) -> bool:
        """Return True if the record has this field."""
        try:
            self.of(name)
        except MissingFactError:
            return False
        return True

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        value = self.of(name)
        if not (isinstance(value, str) and value.strip()):
            raise MissingFactError(name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.of(name)
        if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise MissingFactError(name)
        return tuple(value)

    def statements(self, name: str) -> tuple[str, ...]:
        """Return the sentences of a list of findings; none where there is no such list."""
        value = self.of(name) if self.there(name) else None
        findings = value if isinstance(value, list) else []
        texts = (each.get("statement") for each in findings if isinstance(each, dict))
        return tuple(each for each in texts if isinstance(each, str))

    def flag(self, name: str) -> bool:
        """Return True or False."""
        value = self.of(name)
        if not isinstance(value, bool):
            raise MissingFactError(name)
        return value

    def number(self, name: str) -> float:
        """Return a number of a size that a float64 can calculate with."""
        value = self.of(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MissingFactError(name)
        if not -1e300 < value < 1e300:
            raise MissingFactError(name)
        return float(value)

    def positive(self, name: str, *, zero: bool = False) -> float:
        """Return a number above 0, or from 0 on."""
        value = self.number(name)
        if not (value > 0 or (zero and value == 0)):
            raise MissingFactError(name)
        return value

    def count(self, name: str, *, zero: bool = False) -> int:
        """Return a whole number above 0, or from 0 on."""
        value = self.positive(name, zero=zero)
        if value != int(value):
            raise MissingFactError(name)
        return int(value)


def _no_file(source: Path) -> str:
    if source.is_dir():
        return (
            f"{source} is a folder: join its parts into one file first (folders that are called "
            "NAME=VALUE hold a column in their names, which pandas.read_parquet puts into the "
            "table), and give that file"
        )
    return f"{source} is no regular file: a corpus is read more than once"


def _check_end(source: Path, out: Path, reading: Reading) -> None:
    """Refuse an output whose name means another format than that of the input."""
    kind = format_by_name(source.name) if reading.format == "auto" else reading.format
    if packed_name(out.name):
        raise StudyError(f"the output is not packed: leave out the end .gz of {out.name}")
    if kind is not None and format_by_name(out.name) != kind:
        ends = sorted(end for end, meant in ENDS.items() if meant == kind)
        raise StudyError(
            f"the output has the format of the input, {FORMATS[kind]}: give {out.name} the end "
            f"{' or '.join(ends)}"
        )


def run_state(order: Order, form: Format) -> Json:
    """Return all inputs of the output except the text, the secret and the lexicon's rows."""
    state = {
        "format": form.shape.format_name,
        "reading": form.shape.state(),
        "mechanism": order.mechanism.key,
        "parameters": order.mechanism.settings(),
        "epsilon": float(order.epsilon),
        "fingerprint": order.mechanism.lexicon.fingerprint,
        "columns": asdict(order.columns),
        **asdict(order.treatment),
        "experiment": order.experiment,
        "seed": order.seed,
        "version": __version__,
    }
    # Through JSON, which has lists and no tuples, to be equal to the state that `resume` reads.
    return dict(json.loads(json.dumps(state)))


def record_of(order: Order, state: Json, lengths: Mapping[int, int]) -> dict[str, Any]:
    """Build the record of the output: nothing that depends on the words, and no seed of a release.

    Args:
        order: the order.
        state: result of `run_state`, and `run`, the run's id.
        lengths: number of documents by their number of protected words.
    """
    guarantee = order.mechanism.guarantee(order.epsilon)
    longest = max(lengths, default=0)

    def composed(words: int) -> dict[str, object]:
        found = composition(order.mechanism, order.epsilon, words, guarantee=guarantee)
        return found.to_dict()

    groups = group_compositions(order.mechanism, order.epsilon, longest, guarantee=guarantee)
    return {
        "kind": _kind(order),
        **{name: state[name] for name in ("run", "mechanism", "parameters", "epsilon")},
        "lexicon": order.mechanism.lexicon.name,
        "fingerprint": state["fingerprint"],
        "version": state["version"],
        "guarantee": guarantee.to_dict(),
        "longest_document": guarantee.for_tokens(longest),
        "composed": composed(longest),
        "composed_median": composed(median_length(lengths)),
        "composed_groups": {name: part.to_dict() for name, part in groups.items()},
        "unknown_words": state["unknown_words"],
        "released": _released(order),
        "format": state["format"],
        "reading": state["reading"],
        "columns": state["columns"],
        "kept": state.get("kept", []),
        "documents": sum(lengths.values()),
        "protected_words": sum(length * count for length, count in lengths.items()),
        "noise": NOISE,
    } | _if_known(order, composed)


def _if_known(order: Order, composed: Callable[[int], dict[str, object]]) -> dict[str, object]:
    """Return the seed of an experiment, and what holds for all texts of one author."""
    fields: dict[str, object] = {}
    if order.authors is not None:
        fields["composed_author"] = {"texts": order.authors.texts} | composed(order.authors.words)
    if order.seed is not None:
        fields["seed"] = order.seed
    return fields


def _kind(order: Order) -> str:
    return "experiment" if order.experiment else "release"


def _released(order: Order) -> list[str]:
    """Return sentences on everything that an output shows unchanged."""
    released = list(order.treatment.released(rules_of(order.mechanism.lexicon.language)))
    if order.columns.keep:
        columns = "column" if len(order.columns.keep) == 1 else "columns"
        released.append(f"the {columns} {', '.join(order.columns.keep)}, unchanged")
    if order.columns.original:
        released.append("THE ORIGINAL TEXTS, unchanged: an experiment, never to be released")
    return released


def median_length(lengths: Mapping[int, int]) -> int:
    """Return the smallest length that at least half of the documents do not exceed; 0 for none."""
    ordered = sorted(lengths)
    reached = accumulate(lengths[length] for length in ordered)
    half = sum(lengths.values()) / 2
    return next(
        (length for length, so_far in zip(ordered, reached, strict=True) if so_far >= half), 0
    )
