"""Where a run of `privatize` lies until it is finished, and how it gets there and away.

Beside the output lies `OUT.unfinished`, which only its owner can read:

    state.json    what was asked for, with the run's id
    secret        32 bytes that key the noise of every document
    RUN/spans     the rewritten spans, each with a mark
    RUN/laws      laws of words that the workers share, each with a mark
    lexicons      the vectors that the workers map
    joined, record, complete.json    at the very end: what is about to be published

Three rules make a record true of its text, whenever the run is killed.

- The folder appears and vanishes whole: it is made, and taken away, under a name that no run takes
  up (`OUT.scrap-…`), and renamed. What a killed run has left under such a name the next one
  deletes.
- Whatever a run keeps is sealed: its mark has an HMAC of the run's id, the SHA-256 of the settings,
  its own place and the SHA-256 of its bytes, under the run's secret. So nothing of another run is
  ever taken for this one's, and a flipped bit is noticed. The run's id is also part of the path, so
  that a worker that outlived its run has nowhere to write.
- The end has one moment: the secret is deleted when everything that will be published is on the
  disk, with its checksums. Before, a later run joins the spans again. After, nobody can take the
  noise away, and what is left are two renames, the record first: so no text is ever without its
  record, and no text is there while its secret is.
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
"""Of a file that is not there: damage. Other errors of the system say nothing about the file."""
STATE, SPANS, LAWS = "state.json", "spans", "laws"
SECRET = "secret"  # noqa: S105 - the name of a file
_SCRAP = re.compile(r"\.scrap-[0-9a-f]{16}")
_JOINED, _RECORD, _COMPLETE = "joined", "record", "complete.json"


def folder_of(out: Path) -> Path:
    """Where the run that makes this output lies until it is finished."""
    return out.with_name(f"{out.name}.unfinished")


def record_path(out: Path) -> Path:
    """The file that says how an output was made."""
    return out.with_name(f"{out.name}.run.json")


@contextlib.contextmanager
def alone_with(out: Path) -> Iterator[None]:
    """Keep other runs away from an output, and delete what killed ones have left of no use.

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
                _drop(folder, out)  # killed when all was published
            _sweep(out)
        except OSError as error:
            raise StudyError(
                f"the folder {out.parent} cannot be read ({error.strerror}): choose an --out in a "
                "folder that can be read and written"
            ) from None
        stack.callback(_sweep_if_possible, out)
        yield


def awaits_publication(out: Path) -> bool:
    """Whether a run has published its record, and was killed before it published its output."""
    folder = folder_of(out)
    return _is_complete(folder) and not (folder / _RECORD).exists()


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has begun: one identity, in all that it keeps.

    Attributes:
        folder: where it lies.
        state: what it was asked for, and `run`, its id.
        secret: 32 bytes; empty when the run is complete and only waits to be published.
    """

    folder: Path
    state: Json
    secret: bytes

    @property
    def complete(self) -> bool:
        """Whether all that is left is to publish it."""
        return not self.secret

    @cached_property
    def settings(self) -> str:
        """SHA-256 of the state."""
        return hashlib.sha256(_canonical(self.state)).hexdigest()

    def piece(self, kind: str, number: int) -> Path:
        """The file of a span or of some laws; the same name with the end .json is its mark."""
        return self.folder / str(self.state["run"]) / kind / f"{number:08d}.part"

    def keep(self, path: Path, write: Callable[[Path], None], facts: Json) -> None:
        """Write a piece, then its mark.

        Raises:
            OSError: the folder is gone or cannot be written.
        """
        with replacing(path, lasting=True) as temporary:
            write(temporary)
            facts = facts | self._identity(path) | {"sha256": sha256_of_file(temporary)}
        _write_sealed(_mark(path), self.secret, facts)

    def facts(self, path: Path) -> Json | None:
        """What the mark of a piece says; None if the piece is not done.

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
            "that part anew, or delete that folder and begin again"
        )

    def done(self, kind: str) -> dict[int, Json]:
        """The facts of all pieces of a kind that are done, by number.

        Raises:
            StudyError: as `facts`.
        """
        marks = self.piece(kind, 0).parent.glob("*.json")
        numbers = sorted(int(mark.stem) for mark in marks if mark.stem.isdecimal())
        pieces = ((number, self.facts(self.piece(kind, number))) for number in numbers)
        return {number: facts for number, facts in pieces if facts is not None}

    def finish(self, join: Callable[[Path], None], record: Json) -> Run:
        """Write what will be published, then let the secret go.

        Args:
            join: writes the output to a path.
            record: how it was made.

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
        (self.folder / SECRET).unlink()  # from here on nobody can take the noise away
        flush(self.folder)
        return Run(self.folder, self.state, b"")

    def publish(self, out: Path) -> Json:
        """Put the record and the output in their places, and delete the folder.

        Returns:
            The record.

        Raises:
            StudyError: a file is not what the run wrote, or another lies in its place.
        """
        checks = _completed(self.folder)
        joined, beside, record = self.folder / _JOINED, self.folder / _RECORD, record_path(out)
        # The record goes first. A kill between the two leaves a record of what the folder holds.
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
        # It is published. Whatever fails from here on must not look like a refusal: what is left of
        # the folder is deleted by the next run.
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
    """Make the folder of a new run, which appears whole.

    Args:
        out: what the run will write.
        state: what is asked for.
        secret: that keys its noise.
        lexicon: is written where workers can map it.

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
    """The run that lies in a folder.

    Raises:
        StudyError: it is damaged, or has lost its secret.
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
    """The checksums of what a complete run is about to publish."""
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


# Folders that are being made or deleted, under names that no run takes up.


def _scrap_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.scrap-{secrets.token_hex(8)}")


def _drop(folder: Path, out: Path) -> None:
    """Delete a folder, in one step as far as any later run can see."""
    scrap = _scrap_of(out)
    os.rename(folder, scrap)
    _delete(scrap)


def _delete(scrap: Path) -> None:
    """Delete what was renamed; what cannot be deleted now is deleted by the next run."""
    (scrap / SECRET).unlink(missing_ok=True)  # before anything that may take long
    shutil.rmtree(scrap, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Delete what a killed run had begun to make or to delete."""
    with os.scandir(out.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(out.name)]
    for name in names:
        if _SCRAP.fullmatch(name[len(out.name) :]):
            _delete(out.with_name(name))


def _sweep_if_possible(out: Path) -> None:
    with contextlib.suppress(OSError):  # the next run does it
        _sweep(out)


# Small files of facts, each with an HMAC: only who knows the secret can have written them.


def _canonical(facts: Json) -> bytes:
    """The bytes that stand for facts, in whatever order they were written."""
    return json.dumps(facts, sort_keys=True).encode()


def _seal(secret: bytes, facts: Json) -> str:
    """HMAC-SHA256 of facts under a key of its own, made from the secret."""
    key = hmac.digest(secret, b"seal", "sha256")
    return hmac.new(key, _canonical(facts), "sha256").hexdigest()


def _write_sealed(path: Path, secret: bytes, facts: Json) -> None:
    """Write facts with their seal, whole and lasting."""
    sealed = {"seal": _seal(secret, facts), "facts": facts}
    write_text(path, json.dumps(sealed, ensure_ascii=False, indent=1) + "\n", lasting=True)


def _read_facts(path: Path) -> Json:
    """The facts of a sealed file, not checked: when the secret has gone."""
    return dict(json.loads(path.read_text(encoding="utf-8"))["facts"])


def _read_sealed(path: Path, secret: bytes) -> Json:
    """The facts of a sealed file.

    Raises:
        ValueError: as all of `FIELDS`: they are not what was sealed with this secret.
    """
    facts = _read_facts(path)
    seal = json.loads(path.read_text(encoding="utf-8"))["seal"]
    if not hmac.compare_digest(str(seal).encode(), _seal(secret, facts).encode()):
        raise ValueError("another seal")
    return facts
