"""What the README says can be run as it stands."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dpcore import __version__
from dpcore.cli import main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import MECHANISMS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("#")[0].strip().removeprefix("python -m dpcore ")
    for line in README.splitlines()
    if line.startswith("python -m dpcore ")
    and not re.search(r"lexicon (add|fetch|info)|map build|audit --all|privatize|autoencoder", line)
]


def test_the_python_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code[1], "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_examples_run(capsys, command):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


def test_there_are_examples():
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", [c for c in COMMANDS if "lexicon" not in c])
def test_the_fields_of_json_are_those_of_the_table(capsys, command):
    name = command.split()[0]
    row = re.search(rf"^\| `{name}` \| `(.*?)`", README, re.MULTILINE)[1]
    promised = set(re.sub(r"\[\{.*?\}\]", "", row).replace(" ", "").split(","))
    assert main([*shlex.split(command), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == promised


def test_the_table_of_mechanisms_is_that_of_the_registry():
    rows = re.findall(r"^\| [^|]+ \| `([a-z][a-z0-9-]+)` \|", README, re.MULTILINE)
    assert rows == [kind.short for kind in MECHANISMS.values()]


def test_the_default_lexicon_is_as_large_as_said():
    assert f"the bundled {len(load()):,} words" in README


def test_the_changelog_begins_with_this_version():
    log = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", log, re.MULTILINE)[1].rstrip(",") == __version__


def test_what_the_readme_points_to_is_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) >= 4
    for target in targets:
        assert target.startswith("http") or (Path(__file__).parents[1] / target).is_file(), target
    for folder in set(re.findall(r"`((?:dpcore|tests|pages|data)(?:/[\w.]+)*)/?`", README)):
        assert (Path(__file__).parents[1] / folder).exists(), folder
    assert (Path(__file__).parents[1] / "tests/benchmarks/load.py").is_file()


def test_the_tour_names_every_page():
    menu = (Path(__file__).parents[1] / "pages/shared/frame.py").read_text(encoding="utf-8")
    titles = re.findall(r'title="(\w+)"', menu)
    assert re.findall(r"^\| ([A-Z]\w+) \| .*\|$", README, re.MULTILINE)[: len(set(titles))] == list(
        dict.fromkeys(titles)
    )
