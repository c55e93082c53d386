"""What `privatize` is asked for, what it refuses before any work, and what it says at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.audit.composition import composition
from dpcore.errors import StudyError
from dpcore.privatize.files import Columns
from dpcore.privatize.folder import awaits_publication, folder_of, record_path
from dpcore.privatize.formats import format_of

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.jobs.worker import Json
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.privatize.files import Format
    from dpcore.rewrite.policy import Treatment


@dataclass(frozen=True, eq=False)
class Order:
    """What is asked for.

    Attributes:
        source: the corpus; its name's end says the format.
        out: the private copy, of the same format; must not exist.
        mechanism: what rewrites.
        epsilon: ε, for every word.
        columns: what is rewritten and what is copied.
        treatment: what becomes of unknown words, function words and capital letters.
        seed: of an experiment that can be repeated; None for a release.
    """

    source: Path
    out: Path
    mechanism: Mechanism
    epsilon: float
    columns: Columns
    treatment: Treatment
    seed: int | None = None

    @property
    def experiment(self) -> bool:
        """Whether the output must not be released: it is repeatable, or holds the originals."""
        return self.seed is not None or self.columns.original

    @property
    def folder(self) -> Path:
        """Where the run lies until it is finished."""
        return folder_of(self.out)

    @property
    def record(self) -> Path:
        """The file that says how the output was made."""
        return record_path(self.out)


def check_files(source: Path, out: Path, columns: Columns) -> Format:
    """Refuse what can be refused before there is any work.

    Raises:
        StudyError: with what to do.
    """
    if not source.is_file():
        if source.exists():
            raise StudyError(f"{source} is no regular file: a corpus is read more than once")
        raise StudyError(f"there is no file {source}")
    form = format_of(source)
    if format_of(out).name != form.name:
        raise StudyError(
            f"the output has the format of the input, {form.name}: give {out.name} the end "
            f"{source.suffix}"
        )
    # A run that was killed between its last two steps has published its record already.
    for path in (out,) if awaits_publication(out) else (out, record_path(out)):
        if path.exists():
            raise StudyError(f"{path} exists already: move it away, or choose another --out")
    if not source.stat().st_size:
        raise StudyError(f"{source.name} is empty")
    form.check(source, columns)
    return form


def record_of(order: Order, state: Json, marks: list[Json]) -> dict[str, Any]:
    """How the output was made: nothing that depends on the words, and no seed of a release."""
    guarantee = order.mechanism.guarantee(order.epsilon)
    longest = max((int(mark["longest"]) for mark in marks), default=0)
    released = list(order.treatment.released)
    if order.columns.keep:
        released.append(f"the columns {', '.join(order.columns.keep)}, unchanged")
    if order.columns.original:
        released.append("THE ORIGINAL TEXTS, unchanged: an experiment, never to be released")
    return {
        "kind": "experiment" if order.experiment else "release",
        **{name: state[name] for name in ("run", "mechanism", "parameters", "epsilon")},
        "lexicon": order.mechanism.lexicon.name,
        "fingerprint": state["fingerprint"],
        "version": state["version"],
        "guarantee": guarantee.to_dict(),
        "longest_document": guarantee.for_tokens(longest),
        "composed": composition(
            order.mechanism, order.epsilon, longest, guarantee=guarantee
        ).to_dict(),
        "unknown_words": state["unknown_words"],
        "released": released,
        "format": state["format"],
        "columns": state["columns"],
        "documents": sum(int(mark["documents"]) for mark in marks),
        "protected_words": sum(int(mark["words"]) for mark in marks),
        "noise": "HMAC-SHA256 of the document's number under the run's secret keys ChaCha20",
    } | ({"seed": order.seed} if order.seed is not None else {})
