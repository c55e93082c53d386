"""Private copies of a corpus, in constant memory, that resume after a kill or Ctrl-C.

The corpus is read through and checked, then cut into spans; a worker rewrites each span into its
own file, and at the end these are joined. Until then they are in a folder beside the output with
everything that a later run needs to continue (`dpcore.privatize.folder`): the order, and the run's
secret, 32 bytes from the operating system that key the noise of every document. The secret never
leaves that folder, which only its owner can read, and is deleted before the output appears. Anyone
with both the secret and the output can remove the noise, so an unfinished folder is as sensitive
as the original.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.errors import DpcoreError, InputError, LexiconError, StudyError, TextError
from dpcore.jobs.executors import Executor, Serial
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.catalogue import open_lexicon, shipping_place
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk import KEPT_BYTES, Bulk, bulk
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import SECRET_BYTES, DocumentGenerators, generator
from dpcore.privatize.folder import LAWS, SPANS, Run, alone_with, begin, resume
from dpcore.privatize.kept import KeptCheck, refuse_risks
from dpcore.privatize.order import Order, check_files, record_of, run_state
from dpcore.rewrite.documents import release_all
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.reader import Reader
from dpcore.tables.detection import format_of
from dpcore.tables.files import SPAN_BYTES, Columns, Documents, Format, Span, read_through
from dpcore.tables.shape import Reading, shape_of

# Jobs of a worker for `privatize`: one span of the corpus, written to its own file.
#
# A job names a span and the locations of corpus and run; everything else is in the run's folder. So
# no text and no secret crosses a network or a log, and a refusal holds none of the text.


LAWS_STEP = 512
"""Number of words whose laws are computed in one job."""
_CANARY_WORDS = 24


def stamp(source: Path) -> list[int]:
    """Return size, times of change and inode of a corpus.

    While they stay the same, so do its bytes; where they differ, `check_unchanged` compares them.
    """
    status = source.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def check_unchanged(source: Path, seen: list[int], sha256: str) -> list[int]:
    """Return the stamp of a corpus that still holds the bytes that were checked.

    A backup or a change of its mode gives a file another stamp, and must not end a run.

    Args:
        source: the corpus.
        seen: its stamp when it was checked.
        sha256: SHA-256 of its bytes when it was checked.

    Raises:
        InputError: it holds other bytes, or changes while it is read.
    """
    now = stamp(source)
    if now == seen:
        return now
    if now[0] != seen[0] or _digest(source, *now) != sha256 or stamp(source) != now:
        raise change_error(source)
    return now


@lru_cache(maxsize=1)
def _digest(source: Path, *_: int) -> str:
    """Return the SHA-256 of a corpus, computed once for each stamp."""
    return sha256_of_file(source)


def change_error(source: Path) -> InputError:
    """Return the error for a corpus that changes during a run."""
    return InputError(
        f"{source.name} was changed while it was being read: nothing of this run is kept; give the "
        "same command again when the file is as it shall be"
    )


def disk_refusal(error: OSError, place: Path, otherwise: str) -> StudyError:
    """Return the error for a full disk, or one with the message `otherwise`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StudyError(
            f"the disk of {place} is full; make room and run the same command again: what is "
            "finished is kept"
        )
    return StudyError(otherwise)


def canary(mechanism: Mechanism, epsilon: float) -> list[int]:
    """Return a fixed generator's outputs for fixed words, to compare the mechanisms of processes.

    A worker without the certificate or the distances of the run would add other noise than the
    record states.
    """
    rng = generator(0, "canary", mechanism.key)
    words = rng.integers(len(mechanism.lexicon), size=_CANARY_WORDS)
    return [int(word) for word in mechanism.sample(rng, words, epsilon)]


@dataclass(frozen=True, eq=False)
class _Open:
    """A run as a worker keeps it: the mechanism, the laws and neighbours of words, the reader."""

    run: Run
    mechanism: Mechanism
    sampler: Bulk
    reader: Reader
    generators: DocumentGenerators


@lru_cache(maxsize=1)
def _opened(folder: Path, number: str, laws: bool) -> _Open:
    """Open a run once per process; `number` is its id."""
    run = resume(folder)
    state = run.state
    if state["run"] != number or run.complete:
        raise StudyError(f"{folder} holds another run by now: give the same command again")
    try:
        lexicon = open_lexicon(shipping_place(folder, state["fingerprint"]))
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
        # Mapped, not read, so that all workers of a machine share the memory. As plain arrays,
        # because indexing a `memmap` takes ten times as long.
        files = [run.piece(LAWS, number) for number in range(-(-len(lexicon) // LAWS_STEP))]
        missing = [path for path in files if run.facts(path) is None]
        if missing:
            raise StudyError(f"{missing[0]} is not there: give the same command again")
        laws_of = [np.asarray(np.load(f, mmap_mode="r", allow_pickle=False)) for f in files]
        shared.use(laws_of, LAWS_STEP)
    treatment = Treatment(state["unknown_words"], state["keep_stop_words"], state["case"])
    return _Open(run, mechanism, sampler, Reader(lexicon, treatment), DocumentGenerators())


def close() -> None:
    """Close the run that this process has open, with its cached data."""
    _opened.cache_clear()


def rewrite_span(payload: Json) -> Json:
    """Rewrite one span; the job of `dpcore.privatize.run`.

    Raises:
        StudyError: the span, the folder or the worker is not as it must be.
    """
    return _guarded(_rewrite, payload, f"document {payload['first'] + 1:,}")


def compute_laws(payload: Json) -> Json:
    """Compute the laws of some words for all workers; the other job of `privatize`.

    Raises:
        StudyError: the folder or the worker is not as it must be.
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
    """Do a job; a failure becomes an error whose message holds none of the text."""
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
    except MemoryError:  # `perform` has a message for it
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
        InputError: the corpus has changed. In another text the fields may be elsewhere, so that
            private content could be kept.
    """
    try:
        form = format_of(source, reading, columns.typed)
        documents = form.read(source, span, columns)
    except (InputError, TextError):
        check_unchanged(source, seen, sha256)
        raise
    now = check_unchanged(source, seen, sha256)
    if now != seen:  # the content may be of a file that was there only for a moment
        form = format_of(source, reading, columns.typed)
        documents = form.read(source, span, columns)
        if stamp(source) != now:
            raise change_error(source)
    return form, documents


def _private(opened: _Open, texts: list[str | None], first: int) -> tuple[list[str | None], Json]:
    """Rewrite texts; return them and the lengths of documents, which the output shows anyway."""
    documents = opened.reader.read((text or "" for text in texts), first=first)
    # Noise is keyed by the number in the corpus, so it does not depend on how the corpus is cut.
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


SHARED_BYTES = 400
"""Bytes of corpus per word of the lexicon from which on workers share laws."""
_SPANS, _LEAST_SPAN_BYTES = 16, 50_000  # of each worker, unless the corpus is very large
_DO = "dpcore.privatize.run:rewrite_span"
_LAWS = "dpcore.privatize.run:compute_laws"


def privatize(
    order: Order,
    *,
    executor: Executor | None = None,
    progress: Progress = silent,
    span_bytes: int | None = None,
) -> dict[str, Any]:
    """Write the private copy, or what is left of it, and its record.

    Args:
        order: the order.
        executor: entered by the caller; this process if None.
        progress: called with the stage and the bytes (parquet: rows) done and to do in this run.
        span_bytes: amount of text that a worker holds at a time; it changes no output. If left
            out, each worker gets several spans, and no one waits long for the last of them.

    Returns:
        The record, as it was written beside the output.

    Raises:
        StudyError: the input, the output or the folder is not as it must be, or the disk is full;
            finished parts are kept for the next run.
        EpsilonError: as `Mechanism.check_epsilon`.
    """
    order.mechanism.check_epsilon(order.epsilon)
    with _sentences(order), alone_with(order.out):
        form = check_files(order.source, order.out, order.columns, order.reading)
        seen = stamp(order.source)
        executor = executor or Serial()
        run = _begun(order, form, seen, span_bytes or _share(order, executor), progress)
        if not run.complete:
            try:
                run = _work(order, form, run, seen, executor, progress)
            except (InputError, TextError):
                run.drop(order.out)  # no corrected input could ever finish this run
                raise
            finally:
                close()
        return run.publish(order.out)


def _share(order: Order, executor: Executor) -> int:
    """Return the bytes of a span: many for each worker, and none so small that it costs more."""
    size = order.source.stat().st_size // (_SPANS * executor.workers)
    return min(max(size, _LEAST_SPAN_BYTES), SPAN_BYTES)


def _begun(order: Order, form: Format, seen: list[int], span_bytes: int, progress: Progress) -> Run:
    """Begin a run, or resume an interrupted one, on a corpus that was checked."""
    size = form.size(order.source)
    progress("checking", 0, size)
    wanted = run_state(order, form) | {"input": sha256_of_file(order.source)}
    if order.folder.exists():
        run = resume(order.folder)
        changes = sorted(name for name, value in wanted.items() if run.state.get(name) != value)
        if changes:
            raise StudyError(
                f"{order.folder} holds an unfinished run with another {', '.join(changes)}: finish "
                "it with what it began with, or delete that folder (its noise must not serve twice)"
            )
        try:
            check_unchanged(order.source, seen, wanted["input"])
        except InputError:
            raise StudyError(
                f"{order.source.name} was changed while it was being read: give the same command "
                f"again when it is as it was when the run in {order.folder} began"
            ) from None
        progress("checking", size, size)
        return run
    kept = KeptCheck(order.columns.keep)
    try:  # every refusal of a worker comes here first, before there is a run or a secret
        read_through(
            form, order.source, order.columns, span_bytes,
            lambda stop: progress("checking", stop, size),
            lambda documents: kept.see(form.kept(documents, order.columns)),
        )  # fmt: skip
    finally:
        check_unchanged(order.source, seen, wanted["input"])
    if not order.keep_anyway:
        refuse_risks(kept.risks, order.source.name)
    # The record is computed once before there is a secret, so that it cannot fail at the end.
    record_of(order, wanted | {"run": ""}, {1: 1})
    state = wanted | {
        "kept": [risk.to_dict() for risk in kept.risks],
        "span_bytes": span_bytes,
        "canary": canary(order.mechanism, order.epsilon),
    }
    return begin(order.out, state, _secret(order.seed), order.mechanism.lexicon)


def _work(
    order: Order,
    form: Format,
    run: Run,
    seen: list[int],
    executor: Executor,
    progress: Progress,
) -> Run:
    """Rewrite the remaining spans, join all, and return the complete run.

    Args:
        order: the order.
        form: the format of the corpus.
        run: the run that has begun.
        seen: `stamp` of the corpus when it was checked.
        executor: executor of the jobs.
        progress: as for `privatize`.
    """
    common = {"folder": str(run.folder.resolve()), "run": run.state["run"]}
    laws = _share_laws(order, run, common, executor, progress)
    common |= {"laws": laws, "source": str(order.source.absolute()), "stamp": seen}
    earlier, spans = run.done(SPANS), list(form.spans(order.source, int(run.state["span_bytes"])))
    left = (  # a generator: a corpus may have millions of spans
        common | {"number": number} | asdict(span)
        for number, span in enumerate(spans)
        if number not in earlier
    )
    total = form.size(order.source) - sum(
        facts["stop"] - facts["start"] for facts in earlier.values()
    )
    done, stage = 0, f"rewriting {order.source.name}"
    progress(stage, 0, total)
    for payload, _ in executor.run(_DO, left):
        done += payload["stop"] - payload["start"]
        progress(stage, done, total)
    progress(stage, total, total)
    # Read again from the disk: the joined pieces must match their marks and these very spans.
    marks = run.done(SPANS)
    agreed = [asdict(span) for span in spans] == [
        {name: marks[number][name] for name in asdict(span)}
        for number, span in enumerate(spans)
        if number in marks
    ]
    check_unchanged(order.source, seen, run.state["input"])
    if not agreed or len(marks) != len(spans):
        raise StudyError(
            f"the unfinished run in {run.folder} lacks a part that it had: give the same command "
            "again, or delete that folder and begin again"
        )
    parts = [run.piece(SPANS, number) for number in range(len(spans))]
    lengths: Counter[int] = Counter()
    for number in range(len(spans)):
        lengths.update({int(size): count for size, count in marks[number]["lengths"].items()})
    record = record_of(order, run.state, lengths)

    def join(path: Path) -> None:
        with path.open("wb") as file:
            form.join(parts, file, order.source, order.columns)

    return run.finish(join, record)


def _share_laws(
    order: Order, run: Run, common: Json, executor: Executor, progress: Progress
) -> bool:
    """Compute the laws of words once for all workers, if the corpus is large enough for it.

    Returns:
        True if that was done.
    """
    laws = bulk(order.mechanism, order.epsilon).shared_laws
    n = len(order.mechanism.lexicon)
    large = order.source.stat().st_size >= SHARED_BYTES * n
    if laws is None or not (executor.workers > 1 and large):
        return False
    if laws.row_bytes * n > KEPT_BYTES:  # more than a worker may keep
        return False
    earlier = run.done(LAWS)
    left = [number for number in range(-(-n // LAWS_STEP)) if number not in earlier]
    stage = "laws of the words"
    jobs = (common | {"number": number} for number in left)
    for done, _ in enumerate(executor.run(_LAWS, jobs), start=1):
        progress(stage, done, len(left))
    return True


def _secret(seed: int | None) -> bytes:
    """Return a secret from the operating system, or from the seed of an experiment."""
    if seed is None:
        return secrets.token_bytes(SECRET_BYTES)
    return hashlib.sha256(f"experiment, seed {seed}".encode()).digest()


@contextlib.contextmanager
def _sentences(order: Order) -> Iterator[None]:
    """Turn an error of the disk into a `StudyError` of one sentence."""
    try:
        yield
    except OSError as error:
        raise disk_refusal(
            error, order.out, f"cannot read or write beside {order.out} ({error.strerror})"
        ) from None
