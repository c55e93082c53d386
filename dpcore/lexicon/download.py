"""Downloading a large file: resumed where it was cut, accepted only if its checksum is right."""

from __future__ import annotations

import http.client
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import alone, sha256_of_file
from dpcore.lexicon.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.lexicon.progress import Progress

_BLOCK = 2**20
_TRIES = 4
_TRIES_TO_REACH = 2
_TIMEOUT_SECONDS = 60
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class _CutError(Exception):
    """The connection failed; what came is kept, and another try may go on from there."""


class _AwayError(_CutError):
    """There was no connection at all: the network, the name or the server is missing."""


class _RefusedError(Exception):
    """This address will not give the file, however often it is asked."""


def download(
    urls: Sequence[str],
    target: Path,
    size: int,
    sha256: str,
    progress: Progress | None = None,
    *,
    pause: float = 1.0,
) -> Path:
    """Get a file of known size and checksum.

    What has arrived is kept beside `target` (.part) when the connection is cut, the process
    stops or there is no network, and the next call asks for the rest only. A cut connection is
    taken up again until four tries in a row bring nothing (two, if the server cannot even be
    reached); then the next address has its turn.

    Args:
        urls: addresses of the same file, tried in order.
        target: where to put it; returned at once if it is there with the right checksum.
        size: its bytes.
        sha256: its checksum, hexadecimal.
        progress: called with ("downloading", bytes so far, size).
        pause: seconds before the first repetition; doubled for each further one.

    Returns:
        `target`.

    Raises:
        LexiconError: no address gave the right file, or the folder cannot be written.
    """
    if target.is_file() and target.stat().st_size == size and sha256_of_file(target) == sha256:
        return target
    part = target.with_name(target.name + ".part")
    report = progress or silent
    failures: dict[str, list[str]] = {}
    busy = LexiconError(f"another process is downloading {target.name} already")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(part.with_name(f"{part.name}.lock"), busy), part.open("ab") as file:
            right = any(_complete(url, file, size, sha256, report, pause, failures) for url in urls)
            kept = file.seek(0, os.SEEK_END)
        if right:
            os.replace(part, target)
            return target
        if not kept:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise LexiconError(f"cannot write {part} ({error.strerror or error})") from None
    rest = f"; {kept:,} of {size:,} bytes are kept for the next try" if kept else ""
    reasons = "; ".join(f"{', '.join(hosts)}: {why}" for why, hosts in failures.items())
    raise LexiconError(f"could not download {target.name}: {reasons}{rest}")


def _complete(
    url: str,
    file: IO[bytes],
    size: int,
    sha256: str,
    progress: Progress,
    pause: float,
    failures: dict[str, list[str]],
) -> bool:
    """Complete the file from one address; if not, say why in `failures`."""
    begun = file.seek(0, os.SEEK_END) > 0
    try:
        _from_one(url, file, size, progress, pause)
        progress("checking", size, size)
        if sha256_of_file(Path(file.name)) == sha256:
            return True
        file.truncate(0)
        if begun:  # the beginning may have been the wrong part: take all from here
            return _complete(url, file, size, sha256, progress, pause, failures)
        failures.setdefault("served a wrong file (its SHA-256 differs)", []).append(_host(url))
    except (_CutError, _RefusedError) as error:
        failures.setdefault(str(error), []).append(_host(url))
    return False


def _from_one(url: str, file: IO[bytes], size: int, progress: Progress, pause: float) -> None:
    """Append to the file until it has `size` bytes."""
    idle = 0
    while True:
        have = file.seek(0, os.SEEK_END)
        if have > size:
            file.truncate(0)
            have = 0
        if have == size:
            return
        try:
            _once(url, file, have, size, progress)
        except _CutError as error:
            idle = 0 if file.seek(0, os.SEEK_END) > have else idle + 1
            if idle >= (_TRIES_TO_REACH if isinstance(error, _AwayError) else _TRIES):
                raise
            time.sleep(pause * 2.0 ** max(idle - 1, 0))


def _once(url: str, file: IO[bytes], have: int, size: int, progress: Progress) -> None:
    headers = {"User-Agent": "dpcore", **({"Range": f"bytes={have}-"} if have else {})}
    if urlsplit(url).scheme not in ("http", "https"):
        raise _RefusedError("not an http address")
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(  # noqa: S310 - checked above
            request, timeout=_TIMEOUT_SECONDS
        ) as answer:
            have = _start(answer, file, have, size)
            while have < size:
                block = answer.read(min(_BLOCK, size - have))
                if not block:
                    raise _CutError("the connection was cut")
                file.write(block)
                have += len(block)
                progress("downloading", have, size)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:  # the file there is shorter than what is here
                file.truncate(0)
                raise _RefusedError("it serves another file") from None
            if error.code in (429, 500, 502, 503, 504):
                raise _CutError(f"HTTP status {error.code}") from None
            raise _RefusedError(f"HTTP status {error.code}") from None
    except urllib.error.URLError as error:
        reason = _reason(error.reason)
        raise _AwayError(f"cannot be reached ({reason}), is there a network?") from None
    except http.client.HTTPException as error:
        raise _CutError(f"the connection was cut ({type(error).__name__})") from None
    except (ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise _CutError(f"the connection was cut ({_reason(error)})") from None


def _start(answer: http.client.HTTPResponse, file: IO[bytes], have: int, size: int) -> int:
    """Where the answer goes on from; the file is emptied if it begins anew."""
    if answer.status == 206:
        match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if match and int(match[1]) == have and int(match[2]) == size:
            return have
        file.truncate(0)
        raise _RefusedError("it serves another file (wrong size)")
    length = answer.headers.get("Content-Length")
    if length is not None and length.isdigit() and int(length) != size:
        raise _RefusedError(f"it serves another file ({int(length):,} bytes instead of {size:,})")
    file.truncate(0)
    file.seek(0)
    return 0


def _reason(error: object) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def _host(url: str) -> str:
    return urlsplit(url).hostname or url
