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
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.errors import StudyError
from dpcore.lexicon.cache import replacing, sha256_of_file, write_text
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import SECRET_BYTES
from dpcore.study.corpus import SPAN_BYTES, Columns, format_of
from dpcore.study.executors import Serial
from dpcore.study.privatize_span import MARK, SECRET, STATE, canary, part_of, read_state
from dpcore.study.sources import ship

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.casing import CasePolicy
    from dpcore.rewrite.policy import UnknownWordPolicy
    from dpcore.study.corpus import Format, Span
    from dpcore.study.executors import Executor
    from dpcore.study.worker import Json

_DO = "dpcore.study.privatize_span:rewrite_span"
_JOINED = "joined"


@dataclass(frozen=True, eq=False)
class Order:
    """What is asked for.

    Attributes:
        source: the corpus; its name's end says the format.
        out: the private copy, of the same format; must not exist.
        mechanism: what rewrites.
        epsilon: ε, for every word.
        columns: what is rewritten and what is copied.
        unknown_words: what becomes of words outside the vocabulary.
        keep_stop_words: release function words unchanged.
        case: what is released about capital letters.
        seed: of an experiment that can be repeated; None for a release.
    """

    source: Path
    out: Path
    mechanism: Mechanism
    epsilon: float
    columns: Columns
    unknown_words: UnknownWordPolicy
    keep_stop_words: bool
    case: CasePolicy
    seed: int | None = None

    @property
    def experiment(self) -> bool:
        """Whether the output must not be released: it is repeatable, or holds the originals."""
        return self.seed is not None or self.columns.original

    @property
    def folder(self) -> Path:
        """Where the run lies until it is finished."""
        return _folder(self.out)

    @property
    def record(self) -> Path:
        """The file that says how the output was made."""
        return _record_of(self.out)


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
        spans = form.spans(order.source, int(state["span_bytes"]))
        left = _left(order.folder, spans)
        total = form.size(order.source) - _done(order.folder)
        done, stage = 0, f"rewriting {order.source.name}"
        progress(stage, 0, total)
        payloads = ({"folder": str(order.folder.resolve()), **one} for one in left)
        for payload, _ in (executor or Serial()).run(_DO, payloads):
            done += payload["stop"] - payload["start"]
            progress(stage, done, total)
        progress(stage, total, total)
        return _finish(order, form, state)


def check_files(source: Path, out: Path, columns: Columns) -> Format:
    """Refuse what can be refused before there is any work.

    Raises:
        StudyError: with what to do.
    """
    if not source.is_file():
        raise StudyError(f"there is no file {source}")
    form = format_of(source)
    if format_of(out).name != form.name:
        raise StudyError(
            f"the output has the format of the input, {form.name}: give {out.name} the end "
            f"{source.suffix}"
        )
    # A run that was killed at its very end has left its record.
    written = (out,) if _folder(out).exists() else (out, _record_of(out))
    for path in written:
        if path.exists():
            raise StudyError(f"{path} exists already: move it away, or choose another --out")
    if not out.parent.is_dir():
        raise StudyError(f"there is no folder {out.parent}: make it first")
    if not source.stat().st_size:
        raise StudyError(f"{source.name} is empty")
    form.check(source, columns)
    return form


def _folder(out: Path) -> Path:
    return out.with_name(f"{out.name}.unfinished")


def _record_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.run.json")


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
        yield dict(json.loads(path.read_text(encoding="utf-8")))


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
    record = _record(order, state, marks)
    write_text(order.record, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    order.record.chmod(0o644)
    (folder / SECRET).unlink(missing_ok=True)  # from here on nobody can take the noise away
    joined.replace(order.out)
    shutil.rmtree(folder)
    return record


def _record(order: Order, state: Json, marks: list[Json]) -> dict[str, Any]:
    """How the output was made: nothing that depends on the words, and no seed of a release."""
    from dpcore.rewrite.policy import released_description

    guarantee = order.mechanism.guarantee(order.epsilon)
    longest = max((int(mark["longest"]) for mark in marks), default=0)
    released = list(
        released_description(
            order.unknown_words, keep_stop_words=order.keep_stop_words, case_policy=order.case
        )
    )
    if order.columns.keep:
        released.append(f"the columns {', '.join(order.columns.keep)}, unchanged")
    if order.columns.original:
        released.append("THE ORIGINAL TEXTS, unchanged: an experiment, never to be released")
    return {
        "kind": "experiment" if order.experiment else "release",
        "mechanism": state["mechanism"],
        "parameters": state["parameters"],
        "epsilon": state["epsilon"],
        "lexicon": order.mechanism.lexicon.name,
        "fingerprint": state["fingerprint"],
        "version": state["version"],
        "guarantee": guarantee.to_dict(),
        "longest_document": guarantee.for_tokens(longest),
        "unknown_words": state["unknown_words"],
        "released": released,
        "format": state["format"],
        "columns": state["columns"],
        "documents": sum(int(mark["documents"]) for mark in marks),
        "protected_words": sum(int(mark["words"]) for mark in marks),
        "noise": "HMAC-SHA256 of the document's number under the run's secret keys Philox 4x64",
    } | ({"seed": order.seed} if order.seed is not None else {})


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
