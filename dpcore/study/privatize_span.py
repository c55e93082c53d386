"""What a worker does for `privatize`: one span of the corpus, to a file of its own.

A job is a folder and a span; everything else stands in the folder. So no text and no secret
crosses a network or a log, and a refusal holds none of the text.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError, StudyError
from dpcore.lexicon.cache import replacing, write_text
from dpcore.lexicon.damage import FIELDS
from dpcore.study.corpus import Columns, Span, format_of
from dpcore.study.sources import Place, open_lexicon

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.mechanisms.bulk import Bulk
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.worker import Json

STATE, SECRET, MARK = "state.json", "secret", "spans"
LAWS_STEP = 512
"""Words whose laws are computed in one job."""
_CANARY_WORDS = 24


def part_of(folder: Path, number: int) -> Path:
    """The file of a span; a file of the same name with the end .json says that it is done."""
    return folder / MARK / f"{number:08d}.part"


def read_state(folder: Path) -> Json:
    """What a run was asked for.

    Raises:
        StudyError: the folder holds no run.
    """
    try:
        return dict(json.loads((folder / STATE).read_text(encoding="utf-8")))
    except (OSError, *FIELDS):
        raise StudyError(
            f"the unfinished run in {folder} is damaged: delete that folder and begin again"
        ) from None


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
class _Run:
    """A run as a worker keeps it: the mechanism, and laws and neighbours of words."""

    state: Json
    mechanism: Mechanism
    sampler: Bulk
    secret: bytes


@lru_cache(maxsize=1)
def _run(folder: Path, text: str, laws: bool) -> _Run:
    """Open a run once in each process; `text` is that of its state."""
    from dpcore.mechanisms.bulk import bulk
    from dpcore.mechanisms.bulk_tem import TemBulk
    from dpcore.mechanisms.registry import create

    state: Json = json.loads(text)
    lexicon = open_lexicon(Place(**state["lexicon"]))
    mechanism = create(state["mechanism"], lexicon, state["parameters"])
    if canary(mechanism, state["epsilon"]) != state["canary"]:
        raise StudyError(
            "a worker's mechanism is not that of the run: it has another certificate, other "
            "extents or another kind of processor; give all workers the same DPCORE_CACHE"
        )
    try:
        secret = (folder / SECRET).read_bytes()
    except OSError:
        raise StudyError(
            f"{folder} has lost its secret: delete that folder and begin again"
        ) from None
    sampler = bulk(mechanism, state["epsilon"])
    if laws and isinstance(sampler, TemBulk):
        parts = range(0, len(lexicon), LAWS_STEP)
        files = [law_file(folder, number) for number in range(len(parts))]
        sampler.use([np.load(f, mmap_mode="r", allow_pickle=False) for f in files], LAWS_STEP)
    return _Run(state, mechanism, sampler, secret)


def law_file(folder: Path, number: int) -> Path:
    """Where the laws of the words from `number`·`LAWS_STEP` on are kept for all workers."""
    return folder / "laws" / f"{number:06d}.npy"


def rewrite_span(payload: Json) -> Json:
    """Rewrite one span; the job of `dpcore.study.privatize`.

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
    from dpcore.mechanisms.bulk_tem import TemBulk

    run = _run(folder, (folder / STATE).read_text(encoding="utf-8"), False)
    first = payload["number"] * LAWS_STEP
    if isinstance(run.sampler, TemBulk):
        words = range(first, min(first + LAWS_STEP, len(run.mechanism.lexicon)))
        path = law_file(folder, payload["number"])
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, run.sampler.ends_of(words), allow_pickle=False)
    return {}


def _guarded(work: Callable[[Path, Json], Json], payload: Json, begins: str) -> Json:
    """Do a job; a failure is a sentence that holds none of the text."""
    folder = Path(payload["folder"])
    try:
        return work(folder, payload)
    except DpcoreError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StudyError(
                f"the disk of {folder} is full; make room and run the same command again: what "
                "is finished is kept"
            ) from None
        raise StudyError(
            f"a worker cannot use {folder} ({error.strerror}); all workers need the same paths"
        ) from None
    except MemoryError:
        raise
    except Exception as error:
        # Its message could hold words of the text.
        raise StudyError(
            f"a worker failed in the part that begins with {begins} ({type(error).__name__})"
        ) from None


def _rewrite(folder: Path, payload: Json) -> Json:
    run = _run(folder, (folder / STATE).read_text(encoding="utf-8"), payload["laws"])
    state = run.state
    span = Span(payload["start"], payload["stop"], payload["first"])
    columns = Columns(**state["columns"] | {"keep": tuple(state["columns"]["keep"])})
    counted: dict[str, int] = {}

    def rewrite(texts: list[str | None]) -> list[str | None]:
        found, facts = _private(run, texts, span.first)
        counted.update(facts)
        return found

    source = Path(state["source"])
    path = part_of(folder, payload["number"])
    with replacing(path) as temporary:
        format_of(source).rewrite(source, span, columns, rewrite, temporary)
    mark = {"start": span.start, "stop": span.stop, **counted}
    write_text(path.with_suffix(".json"), json.dumps(mark) + "\n")
    return mark


def _private(
    run: _Run, texts: list[str | None], first: int
) -> tuple[list[str | None], dict[str, int]]:
    """Private texts, and what the output shows of them anyway: how many, how long."""
    from dpcore.rewrite.casing import CasePolicy
    from dpcore.rewrite.documents import encode_all, release_all
    from dpcore.rewrite.policy import UnknownWordPolicy

    state: dict[str, Any] = run.state
    documents = encode_all(
        (text or "" for text in texts),
        run.mechanism.lexicon,
        policy=UnknownWordPolicy(state["unknown_words"]),
        keep_stop_words=bool(state["keep_stop_words"]),
        case_policy=CasePolicy(state["case"]),
        first=first,
    )
    ids = range(first, first + len(texts))
    outputs = release_all(
        documents, run.mechanism, state["epsilon"], run.secret, ids, sampler=run.sampler
    )
    written: list[str | None] = [
        None if text is None else new
        for text, new in zip(texts, documents.texts(outputs), strict=True)
    ]
    sizes = np.diff(documents.offsets)
    facts = {
        "documents": len(texts),
        "words": int(sizes.sum()),
        "longest": int(sizes.max(initial=0)),
    }
    return written, facts
