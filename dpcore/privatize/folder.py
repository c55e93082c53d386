"""Folder of an unfinished `privatize` run: its contents, creation, publication and deletion.

Beside the output is the folder `OUT.unfinished`, which only its owner can read:

    state.json    the order, with the run's id
    secret        32 bytes that key the noise of every document
    RUN/spans     the rewritten spans, each with a mark
    RUN/laws      laws of words that the workers share, each with a mark
    lexicons      the vectors that the workers map
    joined, record, complete.json    at the very end: the files to publish

Three rules make a record true of its text, whenever the run is killed.

- The folder appears and vanishes as a whole: it is built and deleted under a name that no run
  resumes (`OUT.scrap-…`), and renamed. The next run deletes what a killed run left under such a
  name.
- Every file that a run keeps is sealed: its mark has an HMAC of the run's id, the SHA-256 of the
  settings, its own place and the SHA-256 of its bytes, under the run's secret. So no file of
  another run is accepted, and a flipped bit is detected. The run's id is also part of the path, so
  that a worker that outlives its run has nowhere to write.
- Completion is a single step: the secret is deleted when everything to be published is on the
  disk, with its checksums. Before that step, a later run joins the spans again. After it, no one
  can remove the noise, and only two renames are left, the record first: so a text never exists
  without its record, or while its secret exists.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpcore.errors import StudyError
from dpcore.jobs.worker import Json
from dpcore.lexicon.cache import FIELDS, alone, flush, replacing, sha256_of_file, write_text
from dpcore.lexicon.catalogue import ship
from dpcore.lexicon.lexicon import Lexicon

_GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""Errors of a missing file, which mean damage; other system errors say nothing about the file."""
STATE, SPANS, LAWS = "state.json", "spans", "laws"
SECRET = "secret"  # noqa: S105 - the name of a file
_SCRAP = re.compile(r"\.scrap-[0-9a-f]{16}")
_JOINED, _RECORD, _COMPLETE = "joined", "record", "complete.json"


def folder_of(out: Path) -> Path:
    """Return the path of the folder of the unfinished run for an output."""
    return out.with_name(f"{out.name}.unfinished")


def record_path(out: Path) -> Path:
    """Return the path of the record of an output."""
    return out.with_name(f"{out.name}.run.json")


@contextlib.contextmanager
def alone_with(out: Path) -> Iterator[None]:
    """Keep other runs away from an output, and delete useless leftovers of killed runs.

    Raises:
        StudyError: another run is making this output, or its folder cannot be read or written.
    """
    with contextlib.ExitStack() as stack:
        busy = StudyError(
            f"another run is writing {out} at this moment: wait until it has ended, or choose "
            "another --out"
        )
        try:
            if not out.parent.is_dir():
                raise StudyError(f"there is no folder {out.parent}: make it first")
            stack.enter_context(alone(out.with_name(f"{out.name}.unfinished.lock"), busy))
        except OSError as error:
            raise StudyError(
                f"{out} cannot be kept for one run alone ({error.strerror}): choose an --out in a "
                "folder that can be written, on a file system with locks"
            ) from None
        try:
            folder = folder_of(out)
            if _is_complete(folder) and not (folder / _JOINED).exists():
                _drop(folder, out)  # killed after everything was published
            _sweep(out)
        except OSError as error:
            raise StudyError(
                f"the folder {out.parent} cannot be read ({error.strerror}): choose an --out in a "
                "folder that can be read and written"
            ) from None
        stack.callback(_sweep_if_possible, out)
        yield


def awaits_publication(out: Path) -> bool:
    """Return True if a run was killed after it published its record and before its output."""
    folder = folder_of(out)
    return _is_complete(folder) and not (folder / _RECORD).exists()


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has begun, with one identity in all its files.

    Attributes:
        folder: folder of the run.
        state: the order, and `run`, the run's id.
        secret: 32 bytes; empty when the run is complete and only waits for publication.
    """

    folder: Path
    state: Json
    secret: bytes

    @property
    def complete(self) -> bool:
        """True if only publication is left."""
        return not self.secret

    @cached_property
    def settings(self) -> str:
        """SHA-256 of the state."""
        return hashlib.sha256(_canonical(self.state)).hexdigest()

    def piece(self, kind: str, number: int) -> Path:
        """Return the file of a span or of some laws; its mark has the suffix .json instead."""
        return self.folder / str(self.state["run"]) / kind / f"{number:08d}.part"

    def keep(self, path: Path, write: Callable[[Path], None], facts: Json) -> None:
        """Write a piece, then its mark.

        Args:
            path: path of the piece, from `piece`.
            write: writes the piece to a path.
            facts: facts to store in the mark.

        Raises:
            OSError: the folder is gone or cannot be written.
        """
        with replacing(path, lasting=True) as temporary:
            write(temporary)
            facts = facts | self._identity(path) | {"sha256": sha256_of_file(temporary)}
        _write_sealed(_mark(path), self.secret, facts)

    def facts(self, path: Path) -> Json | None:
        """Return the facts in the mark of a piece; None if the piece is not done.

        Raises:
            StudyError: the piece or its mark is not what this run has written.
        """
        mark = _mark(path)
        if not mark.is_file():
            return None
        with contextlib.suppress(*_GONE, *FIELDS):
            facts = _read_sealed(mark, self.secret)
            expected = self._identity(path) | {"sha256": sha256_of_file(path)}
            if all(facts[name] == value for name, value in expected.items()):
                return facts
        raise StudyError(
            f"the unfinished run in {self.folder} is damaged: {path.parent.name}/{path.name} is "
            f"not as it was written; delete {mark} and give the same command again, which makes "
            "that part again, or delete that folder and begin again"
        )

    def done(self, kind: str) -> dict[int, Json]:
        """Return the facts of all finished pieces of a kind, by number.

        Raises:
            StudyError: as `facts`.
        """
        marks = self.piece(kind, 0).parent.glob("*.json")
        numbers = sorted(int(mark.stem) for mark in marks if mark.stem.isdecimal())
        pieces = ((number, self.facts(self.piece(kind, number))) for number in numbers)
        return {number: facts for number, facts in pieces if facts is not None}

    def finish(self, join: Callable[[Path], None], record: Json) -> Run:
        """Write the files to publish, then delete the secret.

        Args:
            join: writes the output to a path.
            record: record of the output.

        Returns:
            The complete run.
        """
        joined, beside = self.folder / _JOINED, self.folder / _RECORD
        join(joined)
        text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
        beside.write_text(text, encoding="utf-8", newline="\n")
        for path in (joined, beside):
            flush(path)
        checks = {_JOINED: sha256_of_file(joined), _RECORD: sha256_of_file(beside)}
        checks[STATE] = sha256_of_file(self.folder / STATE)
        write_text(self.folder / _COMPLETE, json.dumps(checks) + "\n", lasting=True)
        flush(self.folder)
        (self.folder / SECRET).unlink()  # from here on no one can remove the noise
        flush(self.folder)
        return Run(self.folder, self.state, b"")

    def publish(self, out: Path) -> Json:
        """Move the record and the output to their places, and delete the folder.

        Args:
            out: path of the output.

        Returns:
            The record.

        Raises:
            StudyError: a file is not what the run wrote, or another file is in its place.
        """
        checks = _completed(self.folder)
        joined, beside, record = self.folder / _JOINED, self.folder / _RECORD, record_path(out)
        # The record goes first. A kill between the two leaves a record of the folder's output.
        if beside.exists():
            _expect(self.folder, beside, checks[_RECORD])
        _expect(self.folder, joined, checks[_JOINED])
        for path in (record, out) if beside.exists() else (out,):
            if path.exists():
                raise StudyError(f"{path} exists already: move it away and run again")
        if beside.exists():
            os.replace(beside, record)
            flush(out.parent)
        _expect(self.folder, record, checks[_RECORD])
        facts = dict(json.loads(record.read_text(encoding="utf-8")))
        os.replace(joined, out)
        # The output is published. A later failure must not look like a refusal: the next run
        # deletes what is left of the folder.
        with contextlib.suppress(OSError):
            flush(out.parent)
            self.drop(out)
        return facts

    def drop(self, out: Path) -> None:
        """Delete the folder, in one step as far as any later run can see."""
        _drop(self.folder, out)

    def _identity(self, path: Path) -> Json:
        place = f"{path.parent.name}/{path.name}"
        return {"run": self.state["run"], "settings": self.settings, "place": place}


def begin(out: Path, state: Json, secret: bytes, lexicon: Lexicon) -> Run:
    """Make the folder of a new run, which appears as a whole.

    Args:
        out: path of the output.
        state: the order, without the run's id.
        secret: secret that keys the noise.
        lexicon: the lexicon, written where workers can map it.

    Returns:
        The run, with a new id.

    Raises:
        OSError: the folder cannot be written.
    """
    state = state | {"run": secrets.token_hex(8)}
    scrap = _scrap_of(out)
    scrap.mkdir(mode=0o700)
    handle = os.open(scrap / SECRET, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secret)
    run = Run(scrap, state, secret)
    for kind in (SPANS, LAWS):
        run.piece(kind, 0).parent.mkdir(parents=True)
    ship(lexicon, scrap)
    _write_sealed(scrap / STATE, secret, state)
    os.rename(scrap, folder_of(out))
    return Run(folder_of(out), state, secret)


def resume(folder: Path) -> Run:
    """Open the run in a folder.

    Raises:
        StudyError: the folder is damaged, or has lost its secret.
        OSError: the system cannot read it.
    """
    if _is_complete(folder):
        checks = _completed(folder)
        _expect(folder, folder / STATE, checks[STATE])
        with contextlib.suppress(*_GONE, *FIELDS):
            return Run(folder, _read_facts(folder / STATE), b"")
        raise _damaged(folder, STATE)
    try:
        secret = (folder / SECRET).read_bytes()
    except FileNotFoundError:
        raise StudyError(
            f"{folder} has lost its secret: delete that folder and begin again"
        ) from None
    with contextlib.suppress(*_GONE, *FIELDS):
        state = _read_sealed(folder / STATE, secret)
        str(state["run"])
        return Run(folder, state, secret)
    raise _damaged(folder, f"{STATE} or {SECRET}")


def _is_complete(folder: Path) -> bool:
    return (folder / _COMPLETE).is_file() and not (folder / SECRET).exists()


def _completed(folder: Path) -> dict[str, str]:
    """Read the checksums of the files that a complete run is about to publish."""
    with contextlib.suppress(*_GONE, *FIELDS):
        checks = json.loads((folder / _COMPLETE).read_text(encoding="utf-8"))
        return {name: str(checks[name]) for name in (_JOINED, _RECORD, STATE)}
    raise _damaged(folder, _COMPLETE)


def _expect(folder: Path, path: Path, sha256: str) -> None:
    """Refuse a file that is not what the run wrote."""
    with contextlib.suppress(*_GONE):
        if sha256_of_file(path) == sha256:
            return
    raise _damaged(folder, path.name)


def _damaged(folder: Path, name: str) -> StudyError:
    return StudyError(
        f"the unfinished run in {folder} is damaged ({name} is not as it was written): delete that "
        "folder and begin again"
    )


def _mark(path: Path) -> Path:
    return path.with_suffix(".json")


# Folders that are being made or deleted, under names that no run resumes.


def _scrap_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.scrap-{secrets.token_hex(8)}")


def _drop(folder: Path, out: Path) -> None:
    """Delete a folder, in one step as far as any later run can see."""
    scrap = _scrap_of(out)
    os.rename(folder, scrap)
    _delete(scrap)


def _delete(scrap: Path) -> None:
    """Delete a renamed folder; the next run deletes what cannot be deleted now."""
    (scrap / SECRET).unlink(missing_ok=True)  # first, before steps that may take long
    shutil.rmtree(scrap, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Delete what killed runs had begun to make or to delete."""
    with os.scandir(out.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(out.name)]
    for name in names:
        if _SCRAP.fullmatch(name[len(out.name) :]):
            _delete(out.with_name(name))


def _sweep_if_possible(out: Path) -> None:
    with contextlib.suppress(OSError):  # the next run does it
        _sweep(out)


# Small files of facts, each with an HMAC: writing one requires the secret.


def _canonical(facts: Json) -> bytes:
    """Return canonical bytes of facts, independent of their order."""
    return json.dumps(facts, sort_keys=True).encode()


def _seal(secret: bytes, facts: Json) -> str:
    """Return the HMAC-SHA256 of facts under a separate key derived from the secret."""
    key = hmac.digest(secret, b"seal", "sha256")
    return hmac.new(key, _canonical(facts), "sha256").hexdigest()


def _write_sealed(path: Path, secret: bytes, facts: Json) -> None:
    """Write facts with their seal, atomically and durably."""
    sealed = {"seal": _seal(secret, facts), "facts": facts}
    write_text(path, json.dumps(sealed, ensure_ascii=False, indent=1) + "\n", lasting=True)


def _read_facts(path: Path) -> Json:
    """Read the facts of a sealed file without a check, for when the secret is gone."""
    return dict(json.loads(path.read_text(encoding="utf-8"))["facts"])


def _read_sealed(path: Path, secret: bytes) -> Json:
    """Read the facts of a sealed file.

    Raises:
        ValueError: or another of `FIELDS`: the facts were not sealed with this secret.
    """
    facts = _read_facts(path)
    seal = json.loads(path.read_text(encoding="utf-8"))["seal"]
    if not hmac.compare_digest(str(seal).encode(), _seal(secret, facts).encode()):
        raise ValueError("another seal")
    return facts
