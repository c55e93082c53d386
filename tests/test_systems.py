"""Differences between Linux, macOS and Windows: encodings, line ends, processes, file names."""

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpcore.cli.main import main
from tests import rules, wheels
from tests.needs import ROOT
from tests.shell import small_vectors
from tests.test_repository import APP, ENGINE, FILES, breaches

# Python's documentation marks these as available on Unix alone; standard modules that need some of
# them are imported before they go.
_WITHOUT_UNIX = """
import asyncio, logging, multiprocessing, os, platform, selectors, shutil, signal, socket, sys
import tempfile, uuid
import filelock

for name in ("fork", "forkpty", "killpg", "getpgid", "setpgid", "setpriority", "getpriority",
             "PRIO_PROCESS", "nice", "geteuid", "getuid", "getegid", "getgid", "chown", "fchown",
             "fchmod", "mkfifo", "sysconf", "statvfs", "sched_getaffinity", "getloadavg",
             "pread", "pwrite", "posix_fadvise", "O_DIRECTORY", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "alarm", "setitimer"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"):
    sys.modules[name] = None
"""
_UNIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def started(program: str, *, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, with this repository on its path."""
    path = os.pathsep.join(filter(None, (environment.pop("PYTHONPATH", ""), str(ROOT))))
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, check=False,
        encoding="utf-8", errors="replace",
        env=os.environ | {"PYTHONPATH": path} | environment,
    )  # fmt: skip


# Consoles


_SPOKEN = """
from dpcore.cli.main import main
import sys
codes = []
for line in (
    "meter --epsilon 1 --lexicon small.vec", "meter --help", "meter --epsilon ε",
    "neighbours --word 東京ε --lexicon small.vec", "meter --ε 1", "study list", "--help",
):
    try:
        codes.append(main(line.split()))
    except SystemExit as end:
        codes.append(end.code)
    sys.stdout.flush()
print(codes, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp932", "ascii", "utf-8"])
def test_a_console_that_lacks_letters_gets_escapes_and_no_error(
    tmp_path: Path, encoding: str
) -> None:
    """The consoles of Windows in the West and in Japan, and a terminal in the locale C."""
    small_vectors(tmp_path / "small.vec")
    done = started(
        f"# -*- coding: utf-8 -*-\n{_SPOKEN}", folder=tmp_path, PYTHONIOENCODING=encoding,
        PYTHONUTF8="0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "UnicodeEncodeError" not in done.stderr
    assert done.stderr.rstrip().endswith("[0, 0, 2, 2, 2, 0, 0]"), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is simulated with pty")
def test_a_bar_is_drawn_on_a_terminal_of_another_encoding(tmp_path: Path) -> None:
    """tqdm draws blocks that cp1252 lacks, unless it asks for the encoding of the terminal."""
    import pty
    import termios

    small_vectors(tmp_path / "small.vec")
    (tmp_path / "in.txt").write_text("doctor\n" * 50, encoding="utf-8")
    words = "privatize in.txt --out out.txt --mechanism tem --lexicon small.vec --epsilon 3"
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcore", *words.split()], cwd=tmp_path,
        stdout=theirs, stderr=theirs,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal with an error
        while part := os.read(ours, 65_536):
            output += part
    os.close(ours)
    assert process.wait() == 0, output
    text = output.decode("cp1252")
    assert "Traceback" not in text
    assert "100%" in text


# Files


def test_the_engine_and_the_app_name_the_encoding_of_every_text_file() -> None:
    """Windows would take the code page of the country."""
    assert not breaches(ENGINE | APP, rules.without_encoding)


@pytest.mark.parametrize(
    "source",
    [
        "path.read_text()",
        "path.write_text(text)",
        "path.open()",
        'path.open("w", newline="")',
        "open(name)",
        'open(name, mode="a")',
        "subprocess.run(command, text=True)",
    ],
)
def test_the_rule_finds_text_files_without_an_encoding(source: str) -> None:
    assert len(rules.without_encoding(source)) == 1


def test_the_rule_allows_bytes_archives_and_named_encodings() -> None:
    source = (
        'path.read_text("utf-8")\npath.write_text(text, encoding="utf-8")\npath.open("rb")\n'
        'open(name, "w", encoding="ascii")\nos.open(name, os.O_RDONLY)\ngzip.open(name)\n'
        'archive.open(member)\npath.read_text(encoding="utf-8")\npath.read_bytes()\n'
        "subprocess.run(command, check=True)\n"
    )
    assert rules.without_encoding(source) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in.txt", "in.csv"])
def test_line_ends_of_windows_change_neither_the_release_nor_its_record(
    tmp_path: Path, name: str
) -> None:
    """At ε = 60 a word changes with a probability below 10⁻²⁰."""
    small_vectors(tmp_path / "small.vec")
    table = name == "in.csv"
    rows = ["text,label", "word1 doctor,1", '"weather, ""terrible""",0']
    text = "\n".join([*(rows if table else ["doctor weather.", "terrible"]), ""])
    copies, records = [], []
    for end in ("\n", "\r\n"):
        folder = tmp_path / f"{len(end)}"
        folder.mkdir()
        (folder / name).write_bytes(text.replace("\n", end).encode())
        line = f"privatize {folder / name} --out {folder / 'out'}{Path(name).suffix}"
        keep = ["--keep", "label"] if table else []
        lexicon = ["--lexicon", str(tmp_path / "small.vec")]
        settings = ["--mechanism", "k-ary", "--epsilon", "60", *lexicon, *keep]
        assert main([*line.split(), *settings]) == 0
        out = folder / f"out{Path(name).suffix}"
        copies.append(out.read_bytes())
        record = out.with_name(f"{out.name}.run.json").read_bytes()
        assert b"\r" not in record
        records.append(json.loads(record))
        del records[-1]["run"]  # the run's number, drawn at random
    assert copies[0] == copies[1]
    assert b"\r" not in copies[0]
    assert records[0] == records[1]
    assert copies[0].count(b"\n") == text.count("\n")


def test_every_file_can_be_checked_out_on_windows_and_macos() -> None:
    reserved = re.compile(r"(?i)(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.[^/]*)?(/|$)")
    assert not [name for name in FILES if re.search(r'[:*?"<>|\\]|[. ](/|$)', name)]
    assert not [name for name in FILES if reserved.search(name)]
    assert max(map(len, FILES)) < 160  # of 259 that a path of Windows has
    folded = [name.casefold() for name in FILES]
    assert len(set(folded)) == len(folded)


def test_a_checkout_on_windows_keeps_the_line_ends_that_hashes_are_of() -> None:
    assert "* text=auto eol=lf" in (ROOT / ".gitattributes").read_text("utf-8").splitlines()
    tables = [name for name in FILES if name.startswith("data/") and name.endswith(".json")]
    assert tables
    assert not [name for name in tables if b"\r" in (ROOT / name).read_bytes()]


# Processes


def test_the_engine_and_the_app_import_nothing_that_windows_lacks() -> None:
    """An import within `try` has another way."""

    def unguarded(text: str) -> list[str]:
        tree = ast.parse(text)
        tried = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.Try)
            for node in ast.walk(block)
        }
        return [
            f"{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            and id(node) not in tried
            and {name.split(".")[0] for name in _names(node)} & _UNIX_MODULES
        ]

    assert not breaches(ENGINE | APP, unguarded)
    assert unguarded("def f():\n    import fcntl")
    assert unguarded("from pwd import getpwnam")
    assert not unguarded("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None")


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]


@pytest.mark.slow
def test_workers_start_without_fork_and_without_what_only_unix_has(tmp_path: Path) -> None:
    """Like on Windows, `spawn` is the only way to start a process, in workers too."""
    small_vectors(tmp_path / "small.vec")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(_WITHOUT_UNIX, encoding="utf-8")
    (tmp_path / "in.txt").write_text("doctor terrible\nweather\n" * 2_000, encoding="utf-8")
    program = (
        "import multiprocessing, os, sys\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.set_start_method('spawn')\n"
        "    assert not hasattr(os, 'fork')\n"
        "    from dpcore.cli.main import main\n"
        "    sys.exit(main(sys.argv[1:]))\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    words = "privatize in.txt --out out.txt --mechanism tem --lexicon small.vec --epsilon 3"
    done = subprocess.run(
        [sys.executable, "program.py", *words.split(), "--workers", "2", "--json"], cwd=tmp_path,
        capture_output=True, encoding="utf-8", check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path / "site"), str(ROOT)))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 4_000
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").count("\n") == 4_000


# Wheels


def test_the_pins_that_are_asked_for_are_those_of_each_system() -> None:
    linux, windows, mac = (
        wheels.wanted(system, "3.11") for system in ("Linux arm64", "Windows x86-64", "macOS arm64")
    )
    names = {
        key: {pin.partition("==")[0] for pin in pins}
        for key, pins in (("linux", linux), ("windows", windows), ("mac", mac))
    }
    assert "uvloop" in names["linux"] & names["mac"]
    assert "uvloop" not in names["windows"]
    assert "appnope" in names["mac"] - names["linux"] - names["windows"]
    assert {"numpy", "faiss-cpu", "streamlit"} <= set.intersection(*names.values())
    pinned = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert all(f"\n{name}==" in pinned for name in wheels.SOURCE_ONLY)
    asked = wheels.command("Linux arm64", "3.14", ["a==1"], "folder")
    assert asked[-1] == "a==1"
    assert "manylinux_2_17_aarch64" in asked
    assert not [word for word in asked if "index" in word or "://" in word]


def test_missing_wheels_are_named_and_another_failure_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """pip stops at the first; the rest is asked for again."""
    lacking = [wheels.wanted("macOS arm64", "3.12")[k] for k in (5, 9)]

    def pip(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        first = next((pin for pin in words if pin in lacking), "")
        message = f"ERROR: No matching distribution found for {first}\n" if first else ""
        return subprocess.CompletedProcess(words, int(bool(first)), "", message)

    monkeypatch.setattr(subprocess, "run", pip)
    assert list(wheels.missing("macOS arm64", "3.12", {lacking[1]})) == lacking[::-1]

    def no_network(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "no network")

    monkeypatch.setattr(subprocess, "run", no_network)
    with pytest.raises(RuntimeError, match="no network"):
        list(wheels.missing("macOS arm64", "3.12", set()))
