"""A private copy of a corpus, in constant memory, that a kill or Ctrl-C only interrupts.

The corpus is cut into spans; each is rewritten by a worker into a file of its own, and at the end
these are joined. Until then they lie in a folder beside the output with what a later run needs to
go on: what was asked for (`state.json`) and the run's secret, 32 bytes from the operating system
that key the noise of every document. The secret never leaves that folder, which only its owner
can read, and goes with it. Whoever has both the secret and the output can take the noise away, so a
folder that is not finished is as private as the original.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import secrets
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.errors import StudyError
from dpcore.lexicon.cache import replacing, sha256_of_file, write_text
from dpcore.lexicon.damage import FIELDS
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk import bulk
from dpcore.mechanisms.bulk_kept import KEPT_BYTES
from dpcore.mechanisms.bulk_tem import TemBulk
from dpcore.noise.streams import SECRET_BYTES
from dpcore.study.corpus import SPAN_BYTES
from dpcore.study.executors import Serial
from dpcore.study.privatize_order import Order, check_files, record_of
from dpcore.study.privatize_span import (
    LAWS_STEP,
    MARK,
    SECRET,
    STATE,
    canary,
    law_file,
    part_of,
    read_state,
)
from dpcore.study.sources import ship

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dpcore.study.corpus import Format, Span
    from dpcore.study.executors import Executor
    from dpcore.study.worker import Json

SHARED_BYTES = 400
"""Bytes of corpus for each word of the lexicon, from which on workers share what they know."""
_DO = "dpcore.study.privatize_span:rewrite_span"
_LAWS = "dpcore.study.privatize_span:compute_laws"
_JOINED = "joined"
_MARKED = ("start", "stop", "documents", "words", "longest")


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
    with _sentences(order):
        form = check_files(order.source, order.out, order.columns)
        state = _begin(order, form, span_bytes, progress)
        workers = executor or Serial()
        laws = _share_laws(order, workers, progress)
        spans = form.spans(order.source, int(state["span_bytes"]))
        left = _left(order.folder, spans)
        total = form.size(order.source) - _done(order.folder)
        done, stage = 0, f"rewriting {order.source.name}"
        progress(stage, 0, total)
        common = {"folder": str(order.folder.resolve()), "laws": laws}
        for payload, _ in workers.run(_DO, (common | one for one in left)):
            done += payload["stop"] - payload["start"]
            progress(stage, done, total)
        progress(stage, total, total)
        return _finish(order, form, state)


def _begin(order: Order, form: Format, span_bytes: int, progress: Progress) -> Json:
    """The state of a new run, or of the one that was interrupted."""
    folder = order.folder
    size = order.source.stat().st_size
    progress("checking", 0, size)
    asked = _asked(order, form) | {"input": sha256_of_file(order.source)}
    progress("checking", size, size)
    if (folder / STATE).is_file():
        state = read_state(folder)
        changed = sorted(name for name, value in asked.items() if state.get(name) != value)
        if changed:
            raise StudyError(
                f"{folder} holds an unfinished run with another {', '.join(changed)}: finish it "
                "with what it began with, or delete that folder (its noise must not serve twice)"
            )
        return state
    folder.mkdir(mode=0o700, exist_ok=True)
    if not (folder / SECRET).is_file():
        with replacing(folder / SECRET) as temporary:
            temporary.chmod(0o600)
            temporary.write_bytes(_secret(order.seed))
    (folder / MARK).mkdir(exist_ok=True)
    state = asked | {
        "run": secrets.token_hex(8),  # no worker may take what it keeps of another run for this one
        "source": str(order.source.resolve()),
        "span_bytes": span_bytes,
        "lexicon": asdict(ship(order.mechanism.lexicon, folder)),
        "canary": canary(order.mechanism, order.epsilon),
    }
    write_text(folder / STATE, json.dumps(state, ensure_ascii=False, indent=1) + "\n")
    return state


def _share_laws(order: Order, executor: Executor, progress: Progress) -> bool:
    """For a corpus with most words of the lexicon: compute their laws once for all workers.

    Returns:
        Whether that was done.
    """
    sampler = bulk(order.mechanism, order.epsilon)
    n = len(order.mechanism.lexicon)
    large = order.source.stat().st_size >= SHARED_BYTES * n
    if not (isinstance(sampler, TemBulk) and executor.workers > 1 and large):
        return False
    if sampler.row_bytes * n > KEPT_BYTES:
        return False
    parts = range(-(-n // LAWS_STEP))
    left = [number for number in parts if not law_file(order.folder, number).is_file()]
    folder, stage = str(order.folder.resolve()), "laws of the words"
    jobs = ({"folder": folder, "number": number} for number in left)
    for done, _ in enumerate(executor.run(_LAWS, jobs), start=1):
        progress(stage, done, len(left))
    return True


def _asked(order: Order, form: Format) -> Json:
    """All that the output depends on beside the text, the secret and the lexicon's rows."""
    found = {
        "format": form.name,
        "mechanism": order.mechanism.key,
        "parameters": order.mechanism.settings(),
        "epsilon": float(order.epsilon),
        "fingerprint": order.mechanism.lexicon.fingerprint,
        "columns": asdict(order.columns),
        "unknown_words": str(order.unknown_words),
        "keep_stop_words": order.keep_stop_words,
        "case": str(order.case),
        "experiment": order.experiment,
        "seed": order.seed,
        "version": __version__,
    }
    return dict(json.loads(json.dumps(found)))


def _secret(seed: int | None) -> bytes:
    """From the operating system; of an experiment with a seed, from the seed."""
    if seed is None:
        return secrets.token_bytes(SECRET_BYTES)
    return hashlib.sha256(f"experiment, seed {seed}".encode()).digest()


def _left(folder: Path, spans: Iterable[Span]) -> Iterator[Json]:
    """The jobs of spans that are not done."""
    for number, span in enumerate(spans):
        if not part_of(folder, number).with_suffix(".json").is_file():
            yield {"number": number} | asdict(span)


def _marks(folder: Path) -> Iterator[Json]:
    """What is known of each span that is done, in order."""
    for path in sorted((folder / MARK).glob("*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            mark = {name: int(found[name]) for name in _MARKED}
        except FIELDS:
            raise StudyError(
                f"the unfinished run in {folder} is damaged ({path.name}): delete that folder and "
                "begin again"
            ) from None
        yield mark


def _done(folder: Path) -> int:
    """How much of the corpus earlier runs have rewritten."""
    return sum(int(mark["stop"]) - int(mark["start"]) for mark in _marks(folder))


def _finish(order: Order, form: Format, state: Json) -> dict[str, Any]:
    """Join the parts, write the record, and let the folder go with its secret."""
    folder = order.folder
    marks = list(_marks(folder))
    parts = [part_of(folder, number) for number in range(len(marks))]
    joined = folder / _JOINED
    form.join(parts, joined, order.source, order.columns)
    record = record_of(order, state, marks)
    write_text(order.record, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    order.record.chmod(0o644)
    (folder / SECRET).unlink(missing_ok=True)  # from here on nobody can take the noise away
    joined.replace(order.out)
    shutil.rmtree(folder)
    return record


@contextlib.contextmanager
def _sentences(order: Order) -> Iterator[None]:
    """A disk that is full or cannot be written, in one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StudyError(
                f"the disk of {order.out} is full; make room and run the same command again: "
                "what is finished is kept"
            ) from None
        raise StudyError(f"cannot read or write beside {order.out} ({error.strerror})") from None
