"""Command `doctor`: a check of the laboratory, and of a release by its record.

Each part is imported where it is checked, since any of them may be missing.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from dpcore import __version__
from dpcore.cli import flags
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.errors import DpcoreError, MissingPackageError, StudyError
from dpcore.optional import fits, install, install_releases, installed, requirements

LEAST_PYTHON = (3, 11)
LEAST_MEGABYTES = 1_000
"""Free memory needed: the app with every page visited takes about half of it."""
PARTS = {
    "engine": "the engine",
    "app": "the app, classifiers and recorded results",
    "dask": "work on a cluster",
    "learn": "neural networks",
    "encoder": "sentence similarity by an encoder",
    "redact": "a redactor's model",
    "write": "a model that writes",
}
"""Part of the laboratory and its purpose. Without the first two the app does not run."""
NEEDED = ("engine", "app")
_PLUGINS = "mechanisms of other packages"
_LOCKS = "file locks"


class State(StrEnum):
    """Result of a check."""

    GOOD = "good"
    OPTIONAL = "optional"  # absent, and only some things need it
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    """Finding of one check.

    Attributes:
        name: of the checked part.
        state: good, optional or bad.
        found: the result, in a few words.
        advice: how to mend it; empty where nothing is to be done.
    """

    name: str
    state: State
    found: str
    advice: str = ""


_MARKS = {State.GOOD: "ok", State.OPTIONAL: "--", State.BAD: "!!"}


@command("doctor")
@flags.file("--release", "a private copy, or its record: look at this release instead")
def doctor_command(options: Options) -> Answer:
    """Look whether everything is there and works; the exit code is 1 if something is not.

    The answer names no folder and no file of yours, so it can go into a report.

    With --release, go through the questions of NIST SP 800-226 on a private copy, and answer them
    from its record. The exit code is 0 then, whatever the answers are: no copy meets all.
    """
    if options.release is not None:
        return _release(options.release)
    findings = examine()
    bad = sum(finding.state == State.BAD for finding in findings)
    result = {"version": __version__, "findings": [asdict(finding) for finding in findings]}
    return Answer(result, _lines(findings, bad), code=int(bad > 0))


def _lines(findings: Sequence[Finding], bad: int) -> Iterator[str]:
    for finding in findings:
        yield f"{_MARKS[finding.state]} {finding.name}: {finding.found}"
        if finding.advice:
            yield f"   {finding.advice}"
    yield "everything that is needed is there" if not bad else f"{bad} to be mended, marked !!"


_JUDGED = {"met": "ok", "not met": "!!", "not known": "??", None: "->"}


def _release(path: Path) -> Answer:
    """Walk through the questions of NIST SP 800-226 with the record of a release."""
    from dpcore.privatize.order import read_record
    from dpcore.privatize.walk import CITED, DISCLAIMER, PARTS, tally, walk, walk_dict

    record = read_record(path)
    rows = walk(record)

    def lines() -> Iterator[str]:
        for part, title in PARTS.items():
            yield title
            for row in (row for row in rows if row.part == part):
                yield f"{_JUDGED[row.met]} {row.question} {row.title}".rstrip()
                yield from (f"   {text}" for text in (" ".join(row.answer),) if text)
                yield from (f"   - {point}" for point in row.points)
        yield tally(rows)

    # Folders of a person say who they are and what they work on.
    result = {"version": __version__, "release": path.name, "run": str(record.get("run", ""))}
    return Answer(result | walk_dict(rows), lines(), (DISCLAIMER, CITED))


def examine() -> tuple[Finding, ...]:
    """Check everything, in about a second.

    Nothing is changed but a probe of the cache, and one of the working folder.
    """
    found = (
        _python(),
        *_packages(),
        _guarded("lexicon", _lexicon),
        _guarded(_PLUGINS, _plugins),
        _guarded("nearest neighbours", _neighbours),
        _guarded("reader of sentences", _reader),
        _guarded("cache", _cache),
        _guarded(_LOCKS, _locks),
        _guarded("recorded results", _results),
        _memory(),
        _data(),
    )
    return tuple(
        replace(each, found=without_places(each.found), advice=without_places(each.advice))
        for each in found
        if each is not None
    )


_PACKAGE = Path(__file__).parents[1]
_SOUGHT = "$(python -c 'import dpcore; print(*dpcore.__path__)')"
"""The folder of the package in the words of a shell: a command with it runs on any machine."""
_NAMED = r"""(?:[A-Za-z]:)?[\\/][^\s\\/'"“”,;:()]"""
_PLACE = re.compile(
    rf"""(?<=')(?:{_NAMED}[^']*)(?=')|(?<=")(?:{_NAMED}[^"]*)(?=")"""
    rf"""|(?<![\w.…~)\\/]){_NAMED}[^\s'"“”,;:()]*"""
)
"""An absolute path, in quotation marks or without blanks."""


def without_places(text: str) -> str:
    """Return a text without folders and files of the person, whose names may be private.

    A path inside the laboratory is written from its folder on, and of a Python file elsewhere the
    name stays, which says where an import failed. Any other path becomes an ellipsis.
    """
    text = text.replace(f'"{_PACKAGE}{os.sep}', f'"{_SOUGHT}{os.sep}')
    # Whole before part: the cache may lie below the home folder.
    folders = [os.environ.get("DPCORE_CACHE", ""), os.environ.get("DPCORE_DATA", "")]
    for folder in (f"{_PACKAGE.parent}{os.sep}", *sorted(folders, key=len, reverse=True)):
        # Not "/" alone, which stands in every fraction.
        text = text.replace(folder, "…" if folder in folders else "") if folder[1:] else text

    def shortened(place: re.Match[str]) -> str:
        name = re.split(r"[\\/]", place[0])[-1]
        return f"…/{name}" if name.endswith(".py") else "…"

    return _PLACE.sub(shortened, text)


def _guarded(name: str, look: Callable[[], Finding | None]) -> Finding | None:
    """Return the finding of a check, or the reason why it fails."""
    try:
        return look()
    # Before `DpcoreError`, of which it is a kind.
    except MissingPackageError as error:
        return Finding(name, State.BAD, str(error))  # the message has the command
    except (DpcoreError, ImportError, OSError) as error:
        return Finding(
            name, State.BAD, str(error), "install the laboratory again, or mend the file"
        )


def _python() -> Finding:
    have = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= LEAST_PYTHON:
        return Finding("python", State.GOOD, f"{have}, dpcore {__version__}")
    least = ".".join(map(str, LEAST_PYTHON))
    return Finding("python", State.BAD, have, f"Python {least} or later is needed")


def _packages() -> Iterator[Finding | None]:
    for part, purpose in PARTS.items():
        yield _guarded(f"packages of {purpose}", partial(_part, part))


def _part(part: str) -> Finding:
    """Check the packages of a part: present, of another release, or missing."""
    needed = requirements(part)
    versions = installed(each.name for each in needed)
    absent = [each for each in needed if each.name not in versions]
    # Another release is told apart from a missing one: the advice differs.
    wrong = [e for e in needed if e.name in versions and not fits(e, versions[e.name])]
    facts = [", ".join(f"{e.name} {versions[e.name]}" for e in needed if e.name in versions)]
    facts += [
        f"{each.name} {versions[each.name]} is not {each.name}{each.specifier}" for each in wrong
    ]
    if absent:
        facts.append("missing: " + ", ".join(each.name for each in absent))
    found, name = "; ".join(filter(None, facts)), f"packages of {PARTS[part]}"
    if not (absent or wrong):
        return Finding(name, State.GOOD, found)
    # A missing option is no fault: the exit code stays 0.
    state = State.BAD if part in NEEDED else State.OPTIONAL
    advice = install_releases([*absent, *wrong], part) if wrong else install(part)
    return Finding(name, state, found, advice)


def _plugins() -> Finding | None:
    """Check the mechanisms of other packages; None where there are none."""
    import warnings

    from dpcore.mechanisms.registry import MECHANISMS

    with warnings.catch_warnings():  # reported below
        warnings.simplefilter("ignore")
        problems, packages = MECHANISMS.problems, MECHANISMS.packages
    taken = ", ".join(f"{key} ({package})" for key, package in packages.items())
    if problems:
        advice = "ask who maintains the package"
        # Not bad: the mechanisms of other packages are left out, and ours work.
        return Finding(_PLUGINS, State.OPTIONAL, "; ".join(problems), advice)
    return Finding(_PLUGINS, State.GOOD, taken) if taken else None


def _lexicon() -> Finding:
    from dpcore.lexicon.catalogue import load

    start = time.perf_counter()
    words = load()
    seconds = time.perf_counter() - start
    return Finding(
        "lexicon",
        State.GOOD,
        f"{len(words):,} words x {words.dimension}, read in {seconds:.2f} s, fingerprint "
        f"{words.fingerprint[:12]}",
    )


def _neighbours() -> Finding:
    """Compare FAISS with numpy on the first words of the bundled lexicon."""
    import faiss
    import numpy as np

    from dpcore.lexicon.catalogue import load

    vectors = np.asarray(load().vectors[:2_000], np.float32)
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    searched = index.search(vectors[:50], 2)[1]
    # In double precision and by the definition, so that it cannot err as FAISS may.
    exact = ((vectors[:50, None].astype(float) - vectors[None].astype(float)) ** 2).sum(axis=2)
    nearest = np.argsort(exact)[:, :2]
    name, threads = "nearest neighbours", faiss.omp_get_max_threads()
    # As sets: the word itself and a copy of it are equally near, in either order.
    if (np.sort(searched, axis=1) == np.sort(nearest, axis=1)).all():
        return Finding(name, State.GOOD, f"FAISS agrees with numpy; {threads} threads")
    advice = "install faiss-cpu again: pip install --force-reinstall faiss-cpu"
    return Finding(name, State.BAD, "FAISS disagrees with numpy", advice)


def _reader() -> Finding:
    """Check that the file of the network that reads sentences is the tested one."""
    from dpcore.attack.language.language import language_folder
    from dpcore.attack.language.reader_training import reader_manifest
    from dpcore.lexicon.cache import sha256_of_file
    from dpcore.lexicon.masked_model import FILE

    name, manifest = "reader of sentences", reader_manifest()
    # By its hash: a network with damaged weights still answers, only wrongly.
    if sha256_of_file(language_folder() / FILE) != manifest["files"][FILE]["sha256"]:
        advice = "install the laboratory again, or train with `python -m dpcore language train`"
        return Finding(name, State.BAD, f"{FILE} is not as its manifest says", advice)
    tried = manifest["held_out"]
    return Finding(
        name,
        State.GOOD,
        f"pseudo-perplexity {tried['pseudo_perplexity']:.0f} on held-out text "
        f"(bigrams on both sides {tried['pseudo_perplexity_bigram']:.0f})",
    )


def _cache() -> Finding:
    from dpcore.lexicon.cache import cache_status

    status = cache_status()
    cache_folder = os.environ.get("DPCORE_CACHE")
    where = (
        "the folder given in DPCORE_CACHE" if cache_folder else "the usual folder of this system"
    )
    if not status.writable:
        advice = "name another folder in DPCORE_CACHE, or everything is computed again each time"
        return Finding("cache", State.OPTIONAL, f"{where}: {status.reason}", advice)
    size = sum(path.stat().st_size for path in status.folder.rglob("*") if path.is_file())
    return Finding("cache", State.GOOD, f"{where}, {size / 1e6:,.0f} MB")


def _locks() -> Finding | None:
    """Try a lock in the working folder, where private copies go; None if it cannot be written."""
    from dpcore.lexicon.cache import alone, check_place

    probe = Path.cwd() / f".dpcore-{secrets.token_hex(8)}.lock"
    try:
        check_place(probe)
    except OSError:
        return None  # nothing can be published there either
    try:
        with alone(probe, StudyError("another process holds a lock of a random name")):
            return Finding(_LOCKS, State.GOOD, "the working folder has them")
    except OSError as error:
        probe.unlink(missing_ok=True)
        finding = f"the working folder has none ({error.strerror or type(error).__name__})"
        advice = "give `privatize` an --out in a folder of another file system"
        return Finding(_LOCKS, State.OPTIONAL, finding, advice)


def _results() -> Finding:
    from dpcore.study.recorded import read_bundled, read_recorded

    entries = read_bundled()
    for entry in entries:
        # Reading compares the hash of each file with its manifest.
        read_recorded(entry.name)
    text = f"{len(entries)} tables, all as their manifests say"
    return Finding("recorded results", State.GOOD, text)


def _memory() -> Finding:
    name, free, cores = "memory", _free_megabytes(), f"{os.cpu_count() or 1} cores"
    if free is None:
        return Finding(name, State.GOOD, f"{cores}; free memory is not known on this system")
    text = f"{free:,.0f} MB free, {cores}"
    if free >= LEAST_MEGABYTES:
        return Finding(name, State.GOOD, text)
    advice = f"end other programs: the app needs up to {LEAST_MEGABYTES:,} MB"
    return Finding(name, State.BAD, text, advice)


def _free_megabytes() -> float | None:
    """Return the memory that a new program can have, on Linux; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        # Not MemFree: the system gives back what it only caches.
        if line.startswith("MemAvailable:"):
            # The file counts in kB.
            return int(line.split()[1]) / 1_000
    return None


def _data() -> Finding:
    name, given = "real corpora", os.environ.get("DPCORE_DATA", "")
    if given and Path(given).is_dir():
        return Finding(name, State.GOOD, "the folder given in DPCORE_DATA")
    absent = "DPCORE_DATA is not the path of a folder" if given else "DPCORE_DATA is not set"
    advice = "only `study run` of the papers' experiments and some tests need them"
    return Finding(name, State.OPTIONAL, absent, advice)
