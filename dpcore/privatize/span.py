"""What a worker does for `privatize`: one span of the corpus, to a file of its own.

A job is a span, and where the corpus and the run lie; everything else stands in the run's folder.
So no text and no secret crosses a network or a log, and a refusal holds none of the text.
"""

from __future__ import annotations

import errno
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import DpcoreError, InputError, LexiconError, StudyError, TextError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.shipping import open_lexicon, shipped
from dpcore.privatize.folder import LAWS, SPANS, Run, resume
from dpcore.tables.files import Columns, Span
from dpcore.tables.formats import format_of
from dpcore.tables.shape import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.jobs.worker import Json
    from dpcore.mechanisms.bulk.documents import Bulk
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.noise.streams import DocumentGenerators
    from dpcore.rewrite.reader import Reader
    from dpcore.tables.files import Documents, Format
    from dpcore.tables.shape import Reading

LAWS_STEP = 512
"""Words whose laws are computed in one job."""
_CANARY_WORDS = 24


def stamp(source: Path) -> list[int]:
    """Return size, times of change and inode of a corpus.

    While they stay, its bytes do; where they differ, `unchanged` compares the bytes.
    """
    status = source.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def unchanged(source: Path, seen: list[int], sha256: str) -> list[int]:
    """Return the stamp of a corpus that still holds the bytes that were checked.

    A backup or a change of its mode gives a file another stamp, and must not end a run.

    Args:
        source: the corpus.
        seen: its stamp when it was checked.
        sha256: of its bytes then.

    Raises:
        InputError: it holds other bytes, or changes while it is read.
    """
    now = stamp(source)
    if now == seen:
        return now
    if now[0] != seen[0] or _digest(source, *now) != sha256 or stamp(source) != now:
        raise changed(source)
    return now


@lru_cache(maxsize=1)
def _digest(source: Path, *_: int) -> str:
    """SHA-256 of a corpus, computed once for each stamp."""
    return sha256_of_file(source)


def changed(source: Path) -> InputError:
    """The refusal of a corpus that does not stay as it is."""
    return InputError(
        f"{source.name} was changed while it was being read: nothing of this run is kept; give the "
        "same command again when the file is as it shall be"
    )


def disk_refusal(error: OSError, place: Path, otherwise: str) -> StudyError:
    """The refusal of a disk that is full, or `otherwise`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StudyError(
            f"the disk of {place} is full; make room and run the same command again: what is "
            "finished is kept"
        )
    return StudyError(otherwise)


def canary(mechanism: Mechanism, epsilon: float) -> list[int]:
    """What a fixed generator makes of fixed words: the same wherever the mechanism is the same.

    A worker without the certificate or the distances that the run began with would add another
    noise than its record says.
    """
    from dpcore.noise.streams import generator

    rng = generator(0, "canary", mechanism.key)
    words = rng.integers(len(mechanism.lexicon), size=_CANARY_WORDS)
    return [int(word) for word in mechanism.sample(rng, words, epsilon)]


@dataclass(frozen=True, eq=False)
class _Open:
    """A run as a worker keeps it: the mechanism, laws and neighbours of words, what it has read."""

    run: Run
    mechanism: Mechanism
    sampler: Bulk
    reader: Reader
    generators: DocumentGenerators


@lru_cache(maxsize=1)
def _opened(folder: Path, number: str, laws: bool) -> _Open:
    """Open a run once in each process; `number` is its id."""
    from dpcore.mechanisms.bulk.documents import bulk
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import DocumentGenerators
    from dpcore.rewrite.policy import Treatment
    from dpcore.rewrite.reader import Reader

    run = resume(folder)
    state = run.state
    if state["run"] != number or run.complete:
        raise StudyError(f"{folder} holds another run by now: give the same command again")
    try:
        lexicon = open_lexicon(shipped(folder, state["fingerprint"]))
    except LexiconError:
        raise StudyError(
            f"the unfinished run in {folder} is damaged (its lexicon is not as it was written): "
            "delete that folder and begin again"
        ) from None
    mechanism = create(state["mechanism"], lexicon, state["parameters"])
    if canary(mechanism, state["epsilon"]) != state["canary"]:
        raise StudyError(
            "a worker's mechanism is not that of the run: it has another certificate, other "
            "extents or another kind of processor; give all workers the same DPCORE_CACHE"
        )
    sampler = bulk(mechanism, state["epsilon"])
    if laws and (shared := sampler.shared_laws) is not None:
        # Mapped and not read: the pages of all workers of a machine are the same memory. As plain
        # arrays, since to index a `memmap` takes ten times as long.
        files = [run.piece(LAWS, number) for number in range(-(-len(lexicon) // LAWS_STEP))]
        missing = [path for path in files if run.facts(path) is None]
        if missing:
            raise StudyError(f"{missing[0]} is not there: give the same command again")
        laws_of = [np.asarray(np.load(f, mmap_mode="r", allow_pickle=False)) for f in files]
        shared.use(laws_of, LAWS_STEP)
    treatment = Treatment(state["unknown_words"], state["keep_stop_words"], state["case"])
    return _Open(run, mechanism, sampler, Reader(lexicon, treatment), DocumentGenerators())


def close() -> None:
    """Forget the run that this process has open, with what it has read."""
    _opened.cache_clear()


def rewrite_span(payload: Json) -> Json:
    """Rewrite one span; the job of `dpcore.privatize.run`.

    Raises:
        StudyError: the span, the folder or the worker is not what it must be.
    """
    return _guarded(_rewrite, payload, f"document {payload['first'] + 1:,}")


def compute_laws(payload: Json) -> Json:
    """Compute the laws of some words, for all workers; the other job of `privatize`.

    Raises:
        StudyError: the folder or the worker is not what it must be.
    """
    return _guarded(_compute, payload, f"word {payload['number'] * LAWS_STEP + 1:,} of the lexicon")


def _compute(folder: Path, payload: Json) -> Json:
    opened = _opened(folder, payload["run"], False)
    first = payload["number"] * LAWS_STEP
    shared = opened.sampler.shared_laws
    if shared is not None:
        words = range(first, min(first + LAWS_STEP, len(opened.mechanism.lexicon)))
        laws = shared.ends_of(words)

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.save(file, laws, allow_pickle=False)

        opened.run.keep(opened.run.piece(LAWS, payload["number"]), write, {})
    return {}


def _guarded(work: Callable[[Path, Json], Json], payload: Json, begins: str) -> Json:
    """Do a job; a failure is a sentence that holds none of the text."""
    folder = Path(payload["folder"])
    try:
        return work(folder, payload)
    except DpcoreError:
        raise
    except OSError as error:
        raise disk_refusal(
            error,
            folder,
            f"a worker cannot use {error.filename or folder} ({error.strerror}); all workers need "
            "the same paths",
        ) from None
    except MemoryError:  # `perform` has a sentence for it
        raise
    except Exception as error:
        # Its message could hold words of the text.
        raise StudyError(
            f"a worker failed in the part that begins with {begins} ({type(error).__name__})"
        ) from None


def _rewrite(folder: Path, payload: Json) -> Json:
    opened = _opened(folder, payload["run"], payload["laws"])
    run, state = opened.run, opened.run.state
    span = Span(payload["start"], payload["stop"], payload["first"])
    columns = Columns(**state["columns"] | {"keep": tuple(state["columns"]["keep"])})
    source, reading = Path(payload["source"]), shape_of(state["reading"])
    form, documents = _read(reading, source, span, columns, payload["stamp"], state["input"])
    private, facts = _private(opened, documents.texts, span.first)
    mark = asdict(span) | facts
    path = run.piece(SPANS, payload["number"])

    def write(part: Path) -> None:
        with part.open("wb") as file:
            form.write(documents, private, columns, file)

    run.keep(path, write, mark)
    return mark


def _read(
    reading: Reading, source: Path, span: Span, columns: Columns, seen: list[int], sha256: str
) -> tuple[Format, Documents]:
    """Read a span of the corpus that was checked.

    Raises:
        InputError: the corpus has changed. Of another text, fields may lie elsewhere: what is kept
            could then be what is private.
    """
    try:
        form = format_of(source, reading, columns.typed)
        documents = form.read(source, span, columns)
    except (InputError, TextError):
        unchanged(source, seen, sha256)
        raise
    now = unchanged(source, seen, sha256)
    if now != seen:  # what was read may be of a file that lay there for a moment
        form = format_of(source, reading, columns.typed)
        documents = form.read(source, span, columns)
        if stamp(source) != now:
            raise changed(source)
    return form, documents


def _private(opened: _Open, texts: list[str | None], first: int) -> tuple[list[str | None], Json]:
    """Private texts, and what the output shows of them anyway: how many are how long."""
    from dpcore.rewrite.documents import release_all

    documents = opened.reader.read((text or "" for text in texts), first=first)
    # The number in the corpus keys the noise, so it does not depend on how the corpus was cut.
    ids = range(first, first + len(texts))
    epsilon, secret = opened.run.state["epsilon"], opened.run.secret
    outputs = release_all(
        documents,
        opened.mechanism,
        epsilon,
        secret,
        ids,
        sampler=opened.sampler,
        generators=opened.generators,
    )
    written: list[str | None] = [
        None if text is None else new
        for text, new in zip(texts, documents.texts(outputs), strict=True)
    ]
    sizes, counts = np.unique(np.diff(documents.offsets), return_counts=True)
    lengths = dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True))
    return written, {"lengths": lengths}
