"""Every command on streams that are closed, full, gone, or of another encoding: no traceback."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpcore.cli import printer
from dpcore.cli.main import COMMANDS, main
from tests.needs import ROOT
from tests.shell import small_vectors

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")

TEM = "--mechanism tem --lexicon small.vec"
LINES = {
    "mechanisms": "",
    "distribution": f"{TEM} --epsilon 3 --word doctor",
    "path": f"{TEM} --word doctor --seed 7",
    "calibrate": "--mechanism tem-calibrated --lexicon small.vec",
    "rewrite": f"{TEM} --epsilon 3 --text doctor",
    "write": "--mechanism no-such --epsilon 3 --text doctor",
    "redact": "--text 555-010-9999",
    "privatize": f"in.txt --out in.txt {TEM} --epsilon 3",  # refused: it is there
    "count": "in.txt --record none.json --top 1 --lexicon small.vec",  # refused: no record
    "plan": "--mechanism k-ary --lexicon small.vec --epsilon 3 --texts 100 --words doctor",
    "deniability": f"{TEM} --epsilon 2 --words doctor",
    "solve": f"{TEM} --words doctor --nw-at-most 0.5",
    "meter": "--epsilon 1 --lexicon small.vec",
    "leak": f"{TEM} --epsilon 2 --stranger equal",
    "tradeoff": f"{TEM} --epsilon 2 --outputs 100 --pairs 5",
    "compose": f"{TEM} --epsilon 1 --text doctor --other weather",
    "neighbours": "--word doctor --k 3 --lexicon small.vec",
    "density": "--word doctor --lexicon small.vec",
    "map": "list",
    "appendix-c": "--words doctor",
    "audit": "--mechanism trlaplace --epsilon 1",
    "attack": f"{TEM} --epsilon 3 --words doctor,weather",
    "persons": "people.jsonl --facts facts --redact rules",
    "language": "info",
    "utility": "--mechanism no-such --epsilon 8",
    "robust": "digits --draws no",
    "autoencoder": "rewrite --checkpoint none.safetensors --mechanism gaussian --text a",
    "study": "list",
    "reproduce": "--list",
    "benchmark": "--recorded",
    "lexicon": "list",
    "doctor": "",
}
ALWAYS = ("study",)
STREAMS = {
    "a full disk": ">/dev/full",
    "a closed output": ">&-",
    "closed errors": "2>&- >/dev/null",
    "full errors": "2>/dev/full >/dev/null",
    "all closed": "<&- >&- 2>&-",
    "a reader that goes away": "| head -c 1 >/dev/null",
    "another encoding": ">out.txt",
    "JSON in another encoding": "--json >out.json",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    small_vectors(folder / "small.vec")
    (folder / "in.txt").write_text("doctor\n", encoding="utf-8")
    facts = [{"start": 0, "end": 3, "tag": "NAME"}]
    people = json.dumps({"text": "Ann is here", "facts": facts})
    (folder / "people.jsonl").write_text(f"{people}\n", encoding="utf-8")
    return folder


def test_every_command_has_a_line() -> None:
    assert tuple(LINES) == COMMANDS.names


def cases() -> Iterator[Any]:
    """One command on all streams, each other one on three of them.

    All write through one printer (`test_only_the_printer_writes_to_a_stream`).
    """
    streams = list(STREAMS)
    for i, name in enumerate(LINES):
        own = streams if name in ALWAYS else [streams[(i + 3 * k) % len(streams)] for k in range(3)]
        for stream in own:
            marks = () if name in ALWAYS else pytest.mark.full
            yield pytest.param(name, stream, marks=marks, id=f"{name}: {stream}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stream"), list(cases()))
def test_no_command_ends_in_a_traceback(folder: Path, name: str, stream: str) -> None:
    end = STREAMS[stream].removeprefix("--json ")
    # In a file: behind a pipe the shell tells the exit code of the last program alone.
    command = (
        f"{sys.executable} -m dpcore {name} {LINES[name]} {'--json' if 'JSON' in stream else ''}"
    )
    script = f"{{ {command}; echo $? >code; }} {end}"
    encoding = "cp1252" if "encoding" in stream else "utf-8"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, capture_output=True, encoding=encoding, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    code = int((folder / "code").read_text())
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    # As on a terminal: 0, 2 where it is refused; 1 where no one can have the answer.
    refused = name in {"write", "privatize", "count", "utility", "robust", "autoencoder"}
    lost = stream in {"a full disk", "a closed output", "all closed"}
    assert code == (2 if refused else 1 if lost else 0), done.stderr
    if lost and not refused and "2>" not in end:
        # Notes of the command may surround the one sentence.
        assert done.stderr.count("error:") == 1
        assert "error: the answer could not be written" in done.stderr
    if stream == "another encoding" and not refused:
        (folder / "out.txt").read_bytes().decode("cp1252")
    if "JSON" in stream and not refused:
        assert json.loads((folder / "out.json").read_bytes().decode("ascii"))


@pytest.mark.slow
def test_json_is_the_same_in_every_encoding(folder: Path) -> None:
    outputs = []
    for encoding in ("utf-8", "cp1252", "ascii", "utf-16"):
        done = subprocess.run(
            [sys.executable, "-m", "dpcore", "study", "list", "--json"], cwd=folder,
            capture_output=True, check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        outputs.append(json.loads(done.stdout.decode(encoding)))
    assert all(output == outputs[0] for output in outputs)
    assert "ε" in json.dumps(outputs[0], ensure_ascii=False)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("end", ["--help >/dev/full", "--version >/dev/full"])
def test_help_that_no_one_can_read_is_a_failure(end: str, unbuffered: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m dpcore {end}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError(28, "No space left on device", "x"), MemoryError()])
def test_a_system_that_is_out_of_something_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(self: object) -> object:
        raise error

    monkeypatch.setattr("dpcore.study.plan.Plan.__post_init__", fail, raising=False)
    monkeypatch.setattr("dpcore.cli.printer.Answer.show", lambda self, as_json: fail(self))
    assert main(["mechanisms"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


def test_only_the_printer_writes_to_a_stream() -> None:
    """All that holds for the printer then holds for every command."""
    for path in sorted(Path(printer.__file__).parent.glob("*.py")):
        if path.name == "printer.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.unparse(node) if isinstance(node, ast.Call | ast.Attribute) else ""
            assert not text.startswith(("print(", "sys.stdout", "sys.stderr", "click.echo")), path
