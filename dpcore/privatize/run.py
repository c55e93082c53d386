"""A private copy of a corpus, in constant memory, that a kill or Ctrl-C only interrupts.

The corpus is read through and checked, then cut into spans; each is rewritten by a worker into a
file of its own, and at the end these are joined. Until then they lie in a folder beside the output
with what a later run needs to go on (`dpcore.privatize.folder`): what was asked for, and the run's
secret, 32 bytes from the operating system that key the noise of every document. The secret never
leaves that folder, which only its owner can read, and goes before the output appears. Whoever has
both the secret and the output can take the noise away, so a folder that is not finished is as
private as the original.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcore.errors import InputError, StudyError, TextError
from dpcore.jobs.executors import Serial
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk.documents import bulk
from dpcore.mechanisms.bulk.kept import KEPT_BYTES
from dpcore.noise.streams import SECRET_BYTES
from dpcore.privatize.folder import LAWS, SPANS, Run, alone_with, begin, resume
from dpcore.privatize.kept import KeptCheck, refuse_risks
from dpcore.privatize.order import Order, asked, check_files, record_of
from dpcore.privatize.span import LAWS_STEP, canary, close, disk_refusal, stamp, unchanged
from dpcore.tables.files import SPAN_BYTES, read_through

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpcore.jobs.executors import Executor
    from dpcore.jobs.worker import Json
    from dpcore.tables.files import Format

SHARED_BYTES = 400
"""Bytes of corpus for each word of the lexicon, from which on workers share what they know."""
_DO = "dpcore.privatize.span:rewrite_span"
_LAWS = "dpcore.privatize.span:compute_laws"


def privatize(
    order: Order,
    *,
    executor: Executor | None = None,
    progress: Progress = silent,
    span_bytes: int = SPAN_BYTES,
) -> dict[str, Any]:
    """Write the private copy, or what is left of it, and its record.

    Args:
        order: what to do.
        executor: entered by the caller; this process if None.
        progress: called with the bytes (parquet: rows) done and to do in this run.
        span_bytes: how much text a worker holds at a time; it changes no output.

    Returns:
        The record, as it was written beside the output.

    Raises:
        StudyError: the input, the output or the folder is not what it must be, or the disk is
            full; what is finished stays for the next run.
        EpsilonError: as `Mechanism.check_epsilon`.
    """
    order.mechanism.check_epsilon(order.epsilon)
    with _sentences(order), alone_with(order.out):
        form = check_files(order.source, order.out, order.columns, order.reading)
        seen = stamp(order.source)
        run = _begun(order, form, seen, span_bytes, progress)
        if not run.complete:
            try:
                run = _work(order, form, run, seen, executor or Serial(), progress)
            except (InputError, TextError):
                run.drop(order.out)  # no corrected input could ever finish this run
                raise
            finally:
                close()
        return run.publish(order.out)


def _begun(order: Order, form: Format, seen: list[int], span_bytes: int, progress: Progress) -> Run:
    """A new run, or the one that was interrupted, on a corpus that was checked."""
    size = form.size(order.source)
    progress("checking", 0, size)
    wanted = asked(order, form) | {"input": sha256_of_file(order.source)}
    if order.folder.exists():
        run = resume(order.folder)
        changes = sorted(name for name, value in wanted.items() if run.state.get(name) != value)
        if changes:
            raise StudyError(
                f"{order.folder} holds an unfinished run with another {', '.join(changes)}: finish "
                "it with what it began with, or delete that folder (its noise must not serve twice)"
            )
        try:
            unchanged(order.source, seen, wanted["input"])
        except InputError:
            raise StudyError(
                f"{order.source.name} was changed while it was being read: give the same command "
                f"again when it is as it was when the run in {order.folder} began"
            ) from None
        progress("checking", size, size)
        return run
    kept = KeptCheck(order.columns.keep)
    try:  # what a worker would refuse is refused here, before there is a run or a secret
        read_through(
            form, order.source, order.columns, span_bytes,
            lambda stop: progress("checking", stop, size),
            lambda documents: kept.see(form.kept(documents, order.columns)),
        )  # fmt: skip
    finally:
        unchanged(order.source, seen, wanted["input"])
    if not order.keep_anyway:
        refuse_risks(kept.risks, order.source.name)
    # What the record says is computed once before there is a secret: it cannot fail at the end.
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
    """Rewrite what is left, and join it all.

    Args:
        order: what to do.
        form: the format of the corpus.
        run: what has begun.
        seen: `stamp` of the corpus when it was checked.
        executor: who does it.
        progress: as for `privatize`.

    Returns:
        The run, complete.
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
    # Read again from the disk: what is joined is what the marks say, of exactly these spans.
    marks = run.done(SPANS)
    agreed = [asdict(span) for span in spans] == [
        {name: marks[number][name] for name in asdict(span)}
        for number, span in enumerate(spans)
        if number in marks
    ]
    unchanged(order.source, seen, run.state["input"])
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
    """For a corpus with most words of the lexicon: compute their laws once for all workers.

    Returns:
        Whether that was done.
    """
    laws = bulk(order.mechanism, order.epsilon).shared_laws
    n = len(order.mechanism.lexicon)
    large = order.source.stat().st_size >= SHARED_BYTES * n
    if laws is None or not (executor.workers > 1 and large):
        return False
    if laws.row_bytes * n > KEPT_BYTES:  # more than a worker may keep of them
        return False
    earlier = run.done(LAWS)
    left = [number for number in range(-(-n // LAWS_STEP)) if number not in earlier]
    stage = "laws of the words"
    jobs = (common | {"number": number} for number in left)
    for done, _ in enumerate(executor.run(_LAWS, jobs), start=1):
        progress(stage, done, len(left))
    return True


def _secret(seed: int | None) -> bytes:
    """From the operating system; of an experiment with a seed, from the seed."""
    if seed is None:
        return secrets.token_bytes(SECRET_BYTES)
    return hashlib.sha256(f"experiment, seed {seed}".encode()).digest()


@contextlib.contextmanager
def _sentences(order: Order) -> Iterator[None]:
    """A disk that is full or cannot be written, in one sentence."""
    try:
        yield
    except OSError as error:
        raise disk_refusal(
            error, order.out, f"cannot read or write beside {order.out} ({error.strerror})"
        ) from None
