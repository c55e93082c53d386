"""Adding lexicons to the cache folder, from a file or from the table of public sources."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from dpcore.errors import LexiconError
from dpcore.lexicon.cache import (
    FIELDS,
    alone,
    cache_folder,
    cache_status,
    sha256_of_file,
    write_text,
)
from dpcore.lexicon.catalogue import DEFAULT_NAME, HYPERBOLIC_NAME, added_folder, write_stored
from dpcore.lexicon.extent import Extent, extent_of
from dpcore.lexicon.lexicon import ENGLISH, Lexicon, check_language
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.neighbours import ApproximateIndex
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.readers import ReadReport, read_lexicon

# Download of a large file: resumed where it was cut, accepted only if its checksum is right.


_BLOCK = 2**20
_TRIES = 4
_TRIES_TO_REACH = 2
_TIMEOUT_SECONDS = 60
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class _CutError(Exception):
    """Failed connection; the bytes so far are kept, and another try may continue from there."""


class _AwayError(_CutError):
    """No connection at all: the network, the name or the server is missing."""


class _RefusedError(Exception):
    """Final refusal by an address, which further tries do not change."""


def download(
    urls: Sequence[str],
    target: Path,
    size: int,
    sha256: str,
    progress: Progress | None = None,
    *,
    pause: float = 1.0,
) -> Path:
    """Download a file of known size and checksum.

    The bytes so far are kept beside `target` (.part) when the connection is cut, the process stops
    or there is no network, and the next call asks for the rest only. A cut connection is tried
    again until four tries in a row bring nothing (two, if the server cannot even be reached); then
    the next address is tried.

    Args:
        urls: addresses of the same file, tried in order.
        target: path of the file; returned at once if it exists with the right checksum.
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
        # Two processes that append to one file would mix their bytes.
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
    """Complete the file from one address; if that fails, record the reason in `failures`."""
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
        # Longer than the file can be: it is not a beginning of it.
        if have > size:
            file.truncate(0)
            have = 0
        if have == size:
            return
        try:
            _once(url, file, have, size, progress)
        except _CutError as error:
            # Any progress resets the count: a slow line may be cut a hundred times.
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
            if error.code == 416:  # the file there is shorter than the part here
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
    """Return the offset at which the answer starts; the file is emptied if that is 0."""
    if answer.status == 206:
        match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        # Only an answer that continues exactly here may be appended.
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


# Table of the public word vectors that `fetch` can download.
#
# Sizes and SHA-256 are those of the original archives, as published by several independent projects
# that pin them; every mirror must serve the same bytes.


@dataclass(frozen=True)
class Source:
    """An archive of word vectors.

    Attributes:
        key: the argument of `fetch`.
        title: for display.
        file: name of the archive.
        urls: its addresses, tried in this order.
        size: in bytes.
        sha256: of the archive, hexadecimal.
        members: the file inside for each dimension; an empty name where the archive is the file.
        dimension: the default dimension.
        words: number of rows.
        licence: its terms.
        page: address of its description.
    """

    key: str
    title: str
    file: str
    urls: tuple[str, ...]
    size: int
    sha256: str
    members: Mapping[int, str]
    dimension: int
    words: int
    licence: str
    page: str

    def member(self, dimension: int | None) -> tuple[int, str]:
        """Return the dimension, and the file inside the archive that has it.

        Raises:
            LexiconError: there is none of this dimension.
        """
        wanted = self.dimension if dimension is None else dimension
        if wanted not in self.members:
            offered = ", ".join(str(d) for d in sorted(self.members))
            raise LexiconError(f"{self.key} has no {wanted}-dimensional vectors: use {offered}")
        return wanted, self.members[wanted]


_GLOVE_PAGE = "https://nlp.stanford.edu/projects/glove/"
_STANFORD = (
    "https://nlp.stanford.edu/data/",
    "https://downloads.cs.stanford.edu/nlp/data/",
    "https://huggingface.co/stanfordnlp/glove/resolve/main/",
)

SOURCES: dict[str, Source] = {
    source.key: source
    for source in (
        Source(
            key="glove-6b",
            title="GloVe, Wikipedia 2014 + Gigaword 5, lower case",
            file="glove.6B.zip",
            urls=tuple(base + "glove.6B.zip" for base in _STANFORD),
            size=862_182_613,
            sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
            members={d: f"glove.6B.{d}d.txt" for d in (50, 100, 200, 300)},
            dimension=300,
            words=400_000,
            licence="PDDL-1.0",
            page=_GLOVE_PAGE,
        ),
        Source(
            key="glove-840b",
            title="GloVe, Common Crawl, cased",
            file="glove.840B.300d.zip",
            urls=tuple(base + "glove.840B.300d.zip" for base in _STANFORD),
            size=2_176_768_927,
            sha256="c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
            members={300: "glove.840B.300d.txt"},
            dimension=300,
            words=2_196_017,
            licence="PDDL-1.0",
            page=_GLOVE_PAGE,
        ),
        Source(
            key="fasttext-wiki-news",
            title="fastText, Wikipedia 2017 + UMBC + statmt news, cased",
            file="wiki-news-300d-1M.vec.zip",
            urls=(
                "https://dl.fbaipublicfiles.com/fasttext/vectors-english/wiki-news-300d-1M.vec.zip",
            ),
            size=681_808_098,
            sha256="bdeb85f44892c505953e3654183e9cb0d792ee51be0992460593e27198d746f8",
            members={300: "wiki-news-300d-1M.vec"},
            dimension=300,
            words=999_994,
            licence="CC-BY-SA-3.0",
            page="https://fasttext.cc/docs/en/english-vectors.html",
        ),
        Source(
            key="word2vec-googlenews",
            title="word2vec, Google News, cased, with phrases",
            file="GoogleNews-vectors-negative300.bin.gz",
            urls=(
                "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",
                "https://huggingface.co/LoganKilpatrick/GoogleNews-vectors-negative300/resolve/"
                "main/GoogleNews-vectors-negative300.bin.gz",
            ),
            size=1_647_046_227,
            sha256="21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
            members={300: ""},
            dimension=300,
            words=3_000_000,
            licence="Apache-2.0",
            page="https://code.google.com/archive/p/word2vec/",
        ),
    )
}


def source_named(key: str, sources: Mapping[str, Source] = SOURCES) -> Source:
    """Return the source of this name in the table.

    Raises:
        LexiconError: there is none.
    """
    try:
        return sources[key]
    except KeyError:
        raise LexiconError(
            f"no source is called {key[:40]!r}: there are {', '.join(sources)}"
        ) from None


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class AddedLexicon:
    """A lexicon that was added.

    Attributes:
        name: the argument of `catalogue.load` for it.
        folder: of its files.
        words: number of words.
        dimension: number of coordinates.
        fingerprint: of the lexicon.
        report: format of its file, and the number of rows dropped.
    """

    name: str
    folder: Path
    words: int
    dimension: int
    fingerprint: str
    report: ReadReport


def add(
    location: str,
    *,
    name: str | None = None,
    limit: int | None = None,
    language: str = ENGLISH,
    replace: bool = False,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> AddedLexicon:
    """Read a vector file once and store it in the folder format, which loads by memory mapping.

    Args:
        location: the path, with ::MEMBER for a member of a zip archive.
        name: its name; made from the file's name if None.
        limit: keep only the first rows.
        language: of the words, such as "de".
        replace: replace a lexicon of this name.
        facts: fields of the manifest about its origin, JSON values.
        progress: called with (stage, done, total).

    Raises:
        LexiconError: the name is taken or not allowed, the language is no code, the file cannot be
            read, or the cache folder cannot be written.
    """
    check_language(language)
    chosen = name or _name_from(location)
    folder = _free(chosen, replace)
    lexicon, report = read_lexicon(location, limit=limit, progress=progress, name=chosen)
    origin = {"source": str(location), "limit": limit, "dropped": asdict(report.dropped)}
    lexicon = lexicon.with_language(language)
    write_stored(lexicon, folder, {**origin, "format": report.format, **(facts or {})})
    return AddedLexicon(
        chosen, folder, len(lexicon), lexicon.dimension, lexicon.fingerprint, report
    )


def fetch(
    key: str,
    *,
    dimension: int | None = None,
    name: str | None = None,
    limit: int | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    sources: Mapping[str, Source] | None = None,
    pause: float = 1.0,
) -> AddedLexicon:
    """Download one of the public sources, check it, and `add` it.

    The archive is deleted once it has been added; the bytes of a cut download are kept.

    Args:
        key: one of `dpcore.lexicon.fetch.SOURCES`.
        dimension: of the vectors, where the archive holds several (glove-6b).
        name: the lexicon's name; the key (and the dimension, if not the usual one) if None.
        limit: keep only the first words, the most frequent ones.
        replace: replace a lexicon of this name.
        progress: called with (stage, done, total).
        sources: another table of sources.
        pause: seconds before the first repetition of a download that was cut.

    Raises:
        LexiconError: there is no such source, no network, no room, a wrong file was served, or
            as `add`.
    """
    source = source_named(key, SOURCES if sources is None else sources)
    wanted, member = source.member(dimension)
    usual = wanted == source.dimension
    chosen = name or (source.key if usual else f"{source.key}-{wanted}d")
    _free(chosen, replace)
    rows = source.words if limit is None else min(limit, source.words)
    # The archive and its vectors in float32 are on the disk at the same time.
    _check_room(source.size + 4 * wanted * rows)
    target = cache_folder() / "downloads" / source.file
    archive = download(source.urls, target, source.size, source.sha256, progress, pause=pause)
    added = add(
        f"{archive}::{member}" if member else str(archive),
        name=chosen,
        limit=limit,
        replace=replace,
        facts={
            "source": source.page,
            "title": source.title,
            "licence": source.licence,
            "archive": source.file,
            "archive_sha256": source.sha256,
        },
        progress=progress,
    )
    archive.unlink(missing_ok=True)
    return added


def _name_from(location: str) -> str:
    stem = re.split(r"[/\\]|::", str(location))[-1]
    while True:
        shorter = re.sub(r"\.(gz|zip|txt|vec|bin|npy|npz)$", "", stem, flags=re.IGNORECASE)
        if shorter == stem:
            break
        stem = shorter
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "lexicon"


def _free(name: str, replace: bool) -> Path:
    """Return the folder for a new lexicon of this name, or refuse the name."""
    if not _NAME.fullmatch(name) or name in {DEFAULT_NAME, HYPERBOLIC_NAME}:
        raise LexiconError(
            "a lexicon's name has 1 to 64 letters, digits, dots, dashes and underscores and is "
            f"not '{DEFAULT_NAME}' or '{HYPERBOLIC_NAME}', got {name[:80]!r}"
        )
    status = cache_status()
    if not status.writable:
        raise LexiconError(f"{status.folder} cannot keep a lexicon: {status.reason}")
    folder = added_folder() / name
    if folder.exists() and not replace:
        raise LexiconError(
            f"there is a lexicon called {name!r} already: choose another name, or ask to replace it"
        )
    return folder


def _check_room(needed: int) -> None:
    free = shutil.disk_usage(cache_folder()).free
    if free < needed:
        raise LexiconError(
            f"{cache_folder()} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed"
        )


# Precomputation for a lexicon, so that later calls do not wait.


PARTS = ("extent", "neighbours", "hnsw")


@dataclass(frozen=True)
class BuildReport:
    """Record of the parts that were built.

    Attributes:
        fingerprint: of the lexicon.
        parts: the parts available now, of "extent", "neighbours" and "hnsw".
        extent: the exact extent, if it was asked for.
        kept: True if the cache folder could keep it.
    """

    fingerprint: str
    parts: tuple[str, ...]
    extent: Extent | None
    kept: bool


def build(
    lexicon: Lexicon,
    parts: tuple[str, ...] = ("extent", "neighbours"),
    progress: Progress | None = None,
) -> BuildReport:
    """Compute the exact extent, the neighbour table or the approximate index, and keep them.

    The first two take all pairs. On two busy cores 25,000 x 300 took 6 s and 48 s; 400,000 is
    256 times as much work, so leave it to a night. Manhattan and Chebyshev extents take 150 s for
    25,000. The other parts need the Euclidean metric, and are left out under another one.

    Raises:
        LexiconError: a part is not one of `PARTS`.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise LexiconError(f"cannot build {unknown[0]!r}: the parts are {', '.join(PARTS)}")
    extent = None
    if "extent" in parts:
        extent = extent_of(
            lexicon.vectors,
            lexicon.metric,
            lexicon.fingerprint,
            force_exact=True,
            progress=progress,
        )
    if lexicon.metric is not Metric.EUCLIDEAN:
        parts = tuple(part for part in parts if part == "extent")
    if "neighbours" in parts:
        lexicon.neighbours(progress=progress)
    if "hnsw" in parts:
        ApproximateIndex(lexicon, progress)
    return BuildReport(lexicon.fingerprint, parts, extent, cache_status().writable)


def write_extent(path: Path, lexicon: Lexicon, extent: Extent) -> None:
    """Set this lexicon's entry in a JSON file of extents by fingerprint (a bundled extent.json).

    Raises:
        LexiconError: the file is not such a table, or cannot be written.
    """
    table: dict[str, object] = {}
    try:
        if path.exists():
            table = dict(json.loads(path.read_text(encoding="utf-8")))
        table[lexicon.fingerprint] = {
            "lexicon": lexicon.name,
            "metric": lexicon.metric.value,
            **extent.as_json(),
        }
        write_text(path, json.dumps(table, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise LexiconError(f"cannot write {path} ({error.strerror})") from None
    except FIELDS:
        raise LexiconError(f"{path} is not a table of extents") from None
