"""What the README says can be run as it stands."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dpcore import __version__
from dpcore.cli.main import _parser, main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import MECHANISMS
from pages.shared.contents import CONTENTS
from tests.shell import small_vectors

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ALL = [
    line.split("#")[0].strip().removeprefix("python -m dpcore ")
    for line in README.splitlines()
    if line.startswith("python -m dpcore ")
]
# What takes long, or needs a network, a cluster or torch, runs smaller in the test that is named.
ELSEWHERE = {
    "lexicon fetch": "tests/lexicon/test_fetch.py",
    "map build": "tests/cli/test_map.py",
    "audit --all": "tests/cli/test_audit.py",
    "autoencoder": "tests/cli/test_autoencoder.py",
    "privatize big.parquet": "tests/jobs/test_cluster.py",
}
OWN_FILES = [command for command in ALL if re.search(r"vectors\.txt|reviews\.csv| mine\b", command)]
COMMANDS = [
    command for command in ALL if command not in OWN_FILES and not command.startswith((*ELSEWHERE,))
]


def test_the_python_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code[1], "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_examples_run(capsys, command):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


def test_the_examples_with_files_of_ones_own_run_one_after_another(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    small_vectors(tmp_path / "vectors.txt")
    rows = [f'"{("terrible", "doctor")[i % 2]} weather word{i}",{i % 2}' for i in range(120)]
    text = "\n".join(["text,stars", *rows, ""])
    (tmp_path / "reviews.csv").write_text(text, encoding="utf-8")
    assert len(OWN_FILES) >= 8
    for command in dict.fromkeys(OWN_FILES):  # what stands there twice is done once
        assert main(shlex.split(command)) == 0, (command, capsys.readouterr().err)
    assert capsys.readouterr().out
    private = (tmp_path / "private.csv").read_text(encoding="utf-8")
    assert private.count("\n") == text.count("\n")
    record = json.loads((tmp_path / "private.csv.run.json").read_text(encoding="utf-8"))
    assert {"guarantee", "longest_document", "released", "fingerprint"} <= set(record)


@pytest.mark.parametrize("command", [c for c in ALL if c.startswith((*ELSEWHERE,))])
def test_the_other_examples_are_accepted_and_run_in_another_test(command):
    options = _parser().parse_args(shlex.split(command))
    assert callable(options.handler)
    (place,) = [place for start, place in ELSEWHERE.items() if command.startswith(start)]
    assert (ROOT / place).is_file()


def test_there_are_examples():
    assert len(COMMANDS) >= 5
    assert len(COMMANDS) + len(OWN_FILES) + sum(c.startswith((*ELSEWHERE,)) for c in ALL) == len(
        ALL
    )


@pytest.mark.parametrize("command", [c for c in COMMANDS if "lexicon" not in c])
def test_the_fields_of_json_are_those_of_the_table(capsys, command):
    name = command.split()[0]
    row = re.search(rf"^\| `{name}` \| `(.*?)`", README, re.MULTILINE)[1]
    promised = set(re.sub(r"\[\{.*?\}\]", "", row).replace(" ", "").split(","))
    assert main([*shlex.split(command), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == promised


def test_the_table_of_mechanisms_is_that_of_the_registry():
    rows = re.findall(r"^\| [^|]+ \| `([a-z][a-z0-9-]+)` \|", README, re.MULTILINE)
    shorts = [kind.short for kind in MECHANISMS.values()]
    assert rows == [short for short in shorts if short in rows]  # a new one may have no row yet


def test_the_default_lexicon_is_as_large_as_said():
    assert f"the bundled {len(load()):,} words" in README


def test_the_changelog_begins_with_this_version():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", log, re.MULTILINE)[1].rstrip(",") == __version__


def test_what_the_readme_points_to_is_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) >= 4
    for target in targets:
        assert target.startswith("http") or (ROOT / target).is_file(), target
    for folder in set(re.findall(r"`((?:dpcore|tests|pages|data)(?:/[\w.]+)*)/?`", README)):
        assert (ROOT / folder).exists(), folder
    assert (ROOT / "tests/benchmarks/load.py").is_file()


def test_the_tour_is_the_list_of_pages():
    rows = re.findall(r"^\| ([A-Z]\w+) \| (.*) \|$", README, re.MULTILINE)
    assert rows[: len(CONTENTS)] == [(one.title, one.question) for one in CONTENTS]


def test_every_mechanism_has_a_cost_beside_the_first():
    row = r"^\| [^|]+ \| `[a-z][a-z0-9-]+` \| [^|]+ \| [^|]+ \| ([\d.]+) \|$"
    costs = [float(cost) for cost in re.findall(row, README, re.MULTILINE)]
    assert 0 < len(costs) <= len(MECHANISMS)
    assert costs[0] == 1
