"""Counts in private texts: of a list, of a private copy with its record, and of what is asked."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arguments import a_kind, a_name, a_whole
from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.output.operators import check_countable
from dpcore.crowd import queries as asking
from dpcore.crowd.comparison import candidates, compare
from dpcore.crowd.estimates import (
    FOR,
    LEVEL,
    POPULATION,
    TEXTS,
    Estimates,
    OutputCounts,
    Tally,
    check_level,
)
from dpcore.crowd.queries import Queries
from dpcore.crowd.undo import Estimators, undo
from dpcore.errors import ParameterError, StudyError
from dpcore.jobs.executors import Executor
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import FIELDS
from dpcore.lexicon.catalogue import Place, open_lexicon, ship
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_QUERIES
from dpcore.mechanisms.mechanism import Mechanism, check_mechanism
from dpcore.mechanisms.registry import create
from dpcore.rewrite.documents import entries
from dpcore.rewrite.languages import rules_of
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment
from dpcore.rewrite.reader import Reader
from dpcore.tables.detection import format_of
from dpcore.tables.files import SPAN_BYTES, Columns, Format, Span
from dpcore.tables.shape import AUTO, Reading, shape_of

_TOGETHER = 1_000  # texts that are read at a time
LOOKED_AT = 400
"""Words that are compared where those are wanted that differ most."""

Batch = tuple[IntArray, IntArray, Sequence[str] | None]
"""Outputs of some texts, where each text begins, and its group."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Private texts, read as often as they are needed.

    Attributes:
        mechanism: that made them.
        epsilon: its ε.
        batches: reads all texts from the beginning.
        used: outputs that are told from words that were kept, shape (n,); None for all.
        grouped: True if a column divides them.
        expected: number of words, if it is known before they are read.
    """

    mechanism: Mechanism
    epsilon: float
    batches: Callable[[], Iterator[Batch]]
    used: BoolArray | None
    grouped: bool
    expected: int | None = None

    def tally(self, tally: Tally) -> OutputCounts:
        """Count them."""
        for words, offsets, groups in self.batches():
            tally.add(words, offsets, groups)
        return tally.observed()


def count(
    texts: Sequence[str],
    mechanism: Mechanism,
    epsilon: float,
    words: str | Sequence[str] | Queries | None = None,
    *,
    by: Sequence[str] | None = None,
    top: int | None = None,
    of: str = TEXTS,
    level: float = LEVEL,
    together: bool = True,
    looked_at: int = LOOKED_AT,
    treatment: Treatment = DEFAULT_TREATMENT,
    progress: Progress = silent,
) -> Estimates:
    """Estimate from private texts how often words were in the originals.

    It is post-processing: no ε is spent, and nothing is learned of a single text that its private
    form does not say. Words outside of the vocabulary count as they went in: each as a random word,
    if `treatment` replaces them.

    Args:
        texts: private texts, as `dpcore.release` or the command `privatize` wrote them.
        mechanism: that made them, over the same lexicon.
        epsilon: ε of each word.
        words: what is counted: words, or queries of `dpcore.crowd.queries`.
        by: a label for each text; counts are by label.
        top: in place of words: count those that came out most often, or with `by` those whose
            outputs differ most between the groups.
        of: "texts": the intervals are for these texts; "population": for those that they stand for.
        level: coverage of the intervals.
        together: True if all of them hold at once with that probability (Bonferroni).
        looked_at: number of words whose outputs differ most that are compared for `top`.
        treatment: with which the texts were made; function words that it kept are not counted.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the noise cannot be undone, a group has one text only, or an argument is out
            of range.
        UnknownWordError: the lexicon does not hold one of the words.
        EpsilonError: ε is not admissible.
    """
    check_mechanism(mechanism)
    treatment = a_kind(treatment, Treatment, "treatment is a `dpcore.rewrite.policy.Treatment`")
    read = Texts(
        mechanism,
        mechanism.check_epsilon(epsilon),
        _batches(texts, mechanism.lexicon, by, treatment),
        _used(mechanism.lexicon, treatment.keep_stop_words),
        by is not None,
    )
    queries = _asked(mechanism.lexicon, words)
    return estimate_counts(
        read,
        queries,
        top=top,
        of=of,
        level=level,
        together=together,
        looked_at=looked_at,
        progress=progress,
    )


def _batches(
    texts: Sequence[str], lexicon: Lexicon, by: Sequence[str] | None, treatment: Treatment
) -> Callable[[], Iterator[Batch]]:
    """Return a function that reads texts from the beginning, with their labels."""
    column = entries(texts)
    if not all(text is None or isinstance(text, str) for text in column):
        raise ParameterError("texts are a list of strings; one of them is something else")
    labels = None if by is None else _labels(by, len(column))
    reader = Reader(lexicon, treatment)

    def batches() -> Iterator[Batch]:
        for start in range(0, len(column), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            documents = reader.read([text or "" for text in column[part]], for_text=False)
            yield documents.words, documents.offsets, None if labels is None else labels[part]

    return batches


def true_counts(
    estimates: Estimates,
    originals: Sequence[str],
    lexicon: Lexicon,
    *,
    by: Sequence[str] | None = None,
    treatment: Treatment = DEFAULT_TREATMENT,
) -> FloatArray:
    """Return how often what was estimated is in the originals: for their owner's eyes alone.

    Words outside of the vocabulary are not in it; the estimate counts those that replaced them.

    Args:
        estimates: of the private texts that were made from `originals`.
        originals: the texts as they were written.
        lexicon: over which the private texts were made.
        by: a label for each text, where the estimates are by label.
        treatment: with which the private texts were made.

    Returns:
        Sums of each query over the words of each group, in the order of the estimates, shape
        (G, m).

    Raises:
        ParameterError: the groups are not those of the estimates, or an argument is out of range.
    """
    tally = Tally(len(lexicon), used=_used(lexicon, treatment.keep_stop_words))
    for words, offsets, groups in _batches(originals, lexicon, by, treatment)():
        tally.add(words, offsets, groups)
    observed = tally.observed()
    if observed.groups != estimates.observed.groups:
        raise ParameterError("the originals are in other groups than the private texts")
    return np.asarray(observed.outputs @ estimates.estimators.queries.matrix())


def _asked(lexicon: Lexicon, words: str | Sequence[str] | Queries | None) -> Queries | None:
    return words if words is None or isinstance(words, Queries) else asking.of_typed(lexicon, words)


def _labels(by: Any, count: int) -> list[str]:
    """Return a label for each text, as text."""
    single = isinstance(by, str | bytes | dict) or not hasattr(by, "__len__")
    labels = [] if single or np.ndim(by) != 1 else [str(label) for label in by]
    if len(labels) != count:
        raise ParameterError(f"{count:,} texts need a list of as many labels, got {len(labels):,}")
    return labels


def estimate_counts(
    texts: Texts,
    queries: Queries | None,
    *,
    top: int | None = None,
    of: str = TEXTS,
    level: float = LEVEL,
    together: bool = True,
    looked_at: int = LOOKED_AT,
    progress: Progress = silent,
) -> Estimates:
    """Count what is asked in texts that were opened; the arguments are those of `count`.

    Raises:
        ParameterError: as `count`.
    """
    if (queries is None) == (top is None):
        raise ParameterError("say what is counted: words, or the number of words for top")
    if a_name(of, "of") not in FOR:
        raise ParameterError(f"an interval is for {' or '.join(FOR)}, got {of[:40]!r}")
    level = check_level(level)
    mechanism, lexicon = texts.mechanism, texts.mechanism.lexicon
    check_countable(mechanism, texts.epsilon)
    observed, hypotheses = None, None
    if queries is None:
        number = a_whole(top, "top", 1, MAX_QUERIES)
        observed = texts.tally(Tally(len(lexicon), used=texts.used))
        most = a_whole(looked_at, "looked_at", 1, MAX_QUERIES)
        ranked = max(number, most) if texts.grouped else number
        queries = asking.of_indices(lexicon, candidates(observed, ranked))
        # Those that were not looked at are hypotheses too.
        hypotheses = len(lexicon) if texts.used is None else int(texts.used.sum())
    total = texts.expected or (None if observed is None else int(observed.words.sum()))
    if total is None:
        observed = texts.tally(Tally(len(lexicon), used=texts.used))
        total = int(observed.words.sum())
    estimators = undo(
        mechanism, texts.epsilon, queries, total, used=texts.used, progress=progress
    )  # fmt: skip
    if observed is not None and texts.grouped and top is not None:
        estimators = _clearest(texts, observed, estimators, hypotheses, top)
    if observed is None or of == POPULATION:
        sums = estimators if of == POPULATION else None
        observed = texts.tally(Tally(len(lexicon), sums, texts.used))
    return Estimates(
        mechanism.short, texts.epsilon, of, level, together, observed, estimators, hypotheses
    )


def _clearest(
    texts: Texts, observed: OutputCounts, estimators: Estimators, hypotheses: int | None, top: int
) -> Estimators:
    """Keep the queries that differ most clearly, by what the mechanism adds alone."""
    if len(observed.groups) < 2:
        return estimators.only(np.arange(min(top, len(estimators.queries))))
    found = Estimates(
        texts.mechanism.short, texts.epsilon, TEXTS, LEVEL, True, observed, estimators, hypotheses
    )
    names = list(dict.fromkeys(row.query for row in compare(found).rows))[:top]
    places = {name: place for place, name in enumerate(estimators.queries.names)}
    return estimators.only(np.array([places[name] for name in names]))


def _used(lexicon: Lexicon, keep_stop_words: bool) -> BoolArray | None:
    """Return the words that go through a mechanism; None for all."""
    if not keep_stop_words:
        return None
    language = rules_of(lexicon.language)
    is_stop_word = [language.lower(word) in language.stop_words for word in lexicon.words]
    return ~np.array(is_stop_word)


# A private copy and its record, as `dpcore.privatize` writes them.


def open_copy(
    path: Path,
    record: Path,
    lexicon: Lexicon,
    by: str | None = None,
    *,
    executor: Executor | None = None,
    folder: Path | None = None,
) -> Texts:
    """Open a private copy for counting.

    Args:
        path: the copy.
        record: its record.
        lexicon: over which it was made.
        by: a kept column whose values divide the texts.
        executor: entered by the caller, reads parts of the copy side by side; this process if None.
        folder: for the lexicon, where all workers of the executor can read it; needed with one.

    Raises:
        StudyError: the record cannot be read, is of another lexicon, or the column is not kept.
        InputError: the copy cannot be read.
        ParameterError: its mechanism's noise cannot be undone.
    """
    facts = _record(record)
    if facts["fingerprint"] != lexicon.fingerprint:
        raise StudyError(
            f"{path.name} was made over the lexicon {facts['lexicon']!r} with another fingerprint "
            f"than {lexicon.name!r}: give that one with --lexicon"
        )
    mechanism = create(facts["mechanism"], lexicon, facts["parameters"])
    epsilon = mechanism.check_epsilon(facts["epsilon"])
    columns = facts["columns"]
    reading = _reading_of_copy(shape_of(facts["reading"]))
    if columns["original"] and reading.format == "text":
        raise StudyError(
            f"the lines of {path.name} hold the original texts beside the private ones: it is an "
            "experiment that cannot be counted; make a copy without --experiment, or a CSV"
        )
    if by is not None and by not in columns["keep"]:
        is_stop_word = ", ".join(columns["keep"]) or "none"
        raise StudyError(f"{by[:60]!r} is no column that was kept; kept were: {is_stop_word}")
    # The copy has the columns that were kept, under their names, and the text.
    wanted = Columns(columns["text"], () if by is None else (by,))
    language = rules_of(lexicon.language)
    keeps = bool(language.stop_words_released) and language.stop_words_released in facts["released"]
    names = (*columns["keep"], columns["text"])
    treatment = Treatment(facts["unknown_words"], keeps)
    copy = _Copy(str(path.absolute()), reading, names, wanted, treatment)
    form = copy.form()
    form.check(path, wanted)

    def batches() -> Iterator[Batch]:
        spans = form.spans(path, SPAN_BYTES)
        if executor is None or folder is None:
            reader = Reader(lexicon, treatment)
            return (copy.read(form, reader, span) for span in spans)
        return _read_by_workers(copy, ship(lexicon, folder), spans, executor)

    expected = int(facts["protected_words"])
    return Texts(mechanism, epsilon, batches, _used(lexicon, keeps), by is not None, expected)


@dataclass(frozen=True)
class _Copy:
    """Format and columns of a private copy, for its readers.

    Attributes:
        path: where it is, for every worker.
        reading: its format.
        names: of all its columns.
        wanted: the text, and the column whose values divide the texts, if there is one.
        treatment: with which it was made.
    """

    path: str
    reading: Reading
    names: tuple[str, ...]
    wanted: Columns
    treatment: Treatment

    def form(self) -> Format:
        return format_of(Path(self.path), self.reading, self.names)

    def read(self, form: Format, reader: Reader, span: Span) -> Batch:
        documents = form.read(Path(self.path), span, self.wanted)
        words = reader.read((text or "" for text in documents.texts), for_text=False)
        groups = None
        if self.wanted.keep:
            cells = form.kept(documents, self.wanted)
            groups = ["" if cell is None else str(cell) for (cell,) in cells]
        return words.words, words.offsets, groups


def _read_by_workers(
    copy: _Copy, lexicon: Place, spans: Iterable[Span], executor: Executor
) -> Iterator[Batch]:
    """Yield the parts in their order, for sums of real numbers depend on it."""
    common = {"copy": asdict(copy), "lexicon": asdict(lexicon)}
    jobs = (common | {"number": i, "span": asdict(span)} for i, span in enumerate(spans))
    waiting: dict[int, Json] = {}
    place = 0
    for payload, result in executor.run("dpcore.crowd.counting:read_span", jobs):
        waiting[payload["number"]] = result
        while place in waiting:
            part = waiting.pop(place)
            words, lengths = (_unpacked(part[name]) for name in ("words", "lengths"))
            yield words, np.concatenate(([0], np.cumsum(lengths))), part["groups"]
            place += 1


def read_span(payload: Json) -> Json:
    """Read a part of a private copy as numbers of words: the job of a worker.

    Raises:
        DpcoreError: the copy or the lexicon cannot be read any more.
    """
    fields = payload["copy"]
    copy = _Copy(
        fields["path"],
        Reading(**fields["reading"]),
        tuple(fields["names"]),
        Columns(**fields["wanted"] | {"keep": tuple(fields["wanted"]["keep"])}),
        Treatment(**fields["treatment"]),
    )
    reader = Reader(open_lexicon(Place(**payload["lexicon"])), copy.treatment)
    words, offsets, groups = copy.read(copy.form(), reader, Span(**payload["span"]))
    return {"words": _packed(words), "lengths": _packed(np.diff(offsets)), "groups": groups}


def _packed(numbers: IntArray) -> str:
    return b64encode(numbers.astype("<i4").tobytes()).decode("ascii")


def _unpacked(text: str) -> IntArray:
    return np.frombuffer(b64decode(text), dtype="<i4").astype(np.int64)


def _reading_of_copy(source: Reading) -> Reading:
    """Return how a copy is read whose source was read so: a copy is UTF-8, and CSV has a header."""
    header = "yes" if source.format == "csv" else AUTO
    return replace(source, encoding="utf-8", header=header)


def _record(path: Path) -> dict[str, Any]:
    """Read the record of a private copy."""
    try:
        facts = dict(json.loads(path.read_text(encoding="utf-8")))
        needed = (
            "mechanism", "parameters", "epsilon", "lexicon", "fingerprint", "columns", "reading",
            "released", "unknown_words", "protected_words",
        )  # fmt: skip
        return {name: facts[name] for name in needed}
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror})") from None
    except FIELDS:
        raise StudyError(f"{path} is no record of a private copy: `privatize` writes one") from None
