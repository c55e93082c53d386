"""Code and commands of the README and of docs/ can be run as they are."""

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dpcore import __version__
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import MECHANISMS
from pages.shared.contents import CONTENTS
from tests.shell import accepted, small_vectors

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
MECHANISMS_PAGE = (ROOT / "docs/mechanisms.md").read_text(encoding="utf-8")
PAGES = [
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if path.name != "CHANGELOG.md"
]
ALL = [
    line.split("#")[0].strip().removeprefix("python -m dpcore ")
    for line in COMMANDS_PAGE.splitlines()
    if line.startswith("python -m dpcore ")
]
SCREEN = 50  # lines
# What takes long, or needs a network, a cluster or torch, runs smaller in the test that is named.
ELSEWHERE = {
    "lexicon fetch": "tests/lexicon/test_fetch.py",
    "map build": "tests/cli/test_map.py",
    "audit --all": "tests/cli/test_audit.py",
    "audit --callable": "tests/cli/test_audit_function.py",
    "autoencoder": "tests/cli/test_autoencoder.py",
    "write": "tests/cli/test_write.py",
    "leak --mechanism tem --epsilon 2 --releases": "tests/cli/test_leak.py",
    "leak --mechanism k-ary --epsilon 7.92 --releases 32": "tests/cli/test_leak.py",
    "persons": "tests/cli/test_persons.py",
    "privatize big.parquet": "tests/jobs/test_cluster.py",
}
OWN_FILES = [command for command in ALL if re.search(r"vectors\.txt|reviews\.csv| mine\b", command)]
COMMANDS = [
    command for command in ALL if command not in OWN_FILES and not command.startswith((*ELSEWHERE,))
]
_LONG = ("tradeoff",)  # near words of all words are looked up first, and it runs with --json too


def _marked(commands: list[str]) -> list[Any]:
    full = pytest.mark.full
    return [pytest.param(c, marks=full if c.startswith(_LONG) else ()) for c in commands]


def test_the_readme_has_two_screens() -> None:
    assert README.count("\n") <= 2 * SCREEN


@pytest.mark.slow
def test_every_line_of_the_python_example_gives_something() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    names: dict[str, Any] = {}
    results: list[Any] = []
    for line in ast.parse(code).body:
        if isinstance(line, ast.Expr):
            results.append(eval(ast.unparse(line), names))
        else:
            exec(ast.unparse(line), names)
    assert len(results) >= 5
    assert all(result is not None for result in results)
    promised = re.search(r"\.top\(3\)  # \[\((.*?), (0\.\d+)…\)", code)
    (word, probability), *others = names["tem"].law("doctor", epsilon=5).top(3)
    assert repr(word) == promised[1].replace('"', "'")
    assert f"{probability:.6f}".startswith(promised[2])
    assert len(others) == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", _marked(COMMANDS))
def test_the_shell_examples_run(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_examples_with_own_files_run_one_after_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
    assert {"guarantee", "longest_document", "composed", "released", "fingerprint"} <= set(record)


@pytest.mark.parametrize("command", [c for c in ALL if c.startswith((*ELSEWHERE,))])
def test_the_other_examples_are_accepted_and_run_in_another_test(command: str) -> None:
    assert accepted(shlex.split(command))
    (place,) = [place for start, place in ELSEWHERE.items() if command.startswith(start)]
    assert (ROOT / place).is_file()


def test_there_are_examples() -> None:
    assert len(COMMANDS) >= 5
    assert len(COMMANDS) + len(OWN_FILES) + sum(c.startswith((*ELSEWHERE,)) for c in ALL) == len(
        ALL
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in COMMANDS if "lexicon" not in c])
def test_the_fields_of_json_are_those_of_the_table(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = command.split()
    rows = re.findall(rf"^\| `({words[0]}(?: --[a-z-]+)*)` \| `", COMMANDS_PAGE, re.MULTILINE)
    # A row of its own has what an option makes another answer of.
    name = max((row for row in rows if set(row.split()) <= set(words)), key=len)
    row = re.search(rf"^\| `{name}` \| `(.*?)`", COMMANDS_PAGE, re.MULTILINE)[1]
    promised = set(re.sub(r"\[?\{.*?\}\]?", "", row).replace(" ", "").split(","))
    assert main([*shlex.split(command), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == promised


def test_the_table_of_mechanisms_is_that_of_the_registry() -> None:
    rows = re.findall(r"^\| [^|]+ \| `([a-z][a-z0-9-]+)` \|", MECHANISMS_PAGE, re.MULTILINE)
    shorts = [kind.short for kind in MECHANISMS.values()]
    assert rows == [short for short in shorts if short in rows]  # a new one may have no row yet


def test_the_default_lexicon_is_as_large_as_said() -> None:
    assert f"the bundled {len(load()):,} words" in README


def test_the_changelog_begins_with_this_version() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", log, re.MULTILINE)[1].rstrip(",") == __version__


def _headings(page: Path) -> set[str]:
    """The addresses of a page's headings, as a reader of Markdown makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("http"):
            continue
        place, _, heading = target.partition("#")
        aim = (page.parent / place).resolve() if place else page
        assert aim.is_file(), target
        assert not heading or heading in _headings(aim), target
    for name in set(re.findall(r"`((?:dpcore|tests|pages|data|docs)(?:/[\w.-]+)*)/?`", text)):
        assert (ROOT / name).exists(), name
    for module in set(re.findall(r"python -m (tests[\w.]+)", " ".join(text.split()))):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), module


def _linked(page: Path) -> set[Path]:
    """The pages that a page links to."""
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    places = {(page.parent / target).resolve() for target in targets if "://" not in target}
    return {place for place in places if place.suffix == ".md"}


def test_the_readme_leads_to_every_page_of_the_documents() -> None:
    """In at most three steps: what is for few stands behind CONTRIBUTING.md."""
    reached = {(ROOT / "README.md").resolve()}
    for _ in range(3):
        reached |= {page for each in reached for page in _linked(each)}
    assert {page.resolve() for page in PAGES} <= reached


def test_the_tour_is_the_list_of_pages() -> None:
    rows = re.findall(
        r"^\| \[([A-Z][\w-]+)\]\(data/pictures/(\w+)\.png\) \| (.*) \|$", README, re.MULTILINE
    )
    pages = [(content.title, content.address, content.question) for content in CONTENTS]
    assert rows[: len(CONTENTS)] == pages, (
        "README.md: its table of pages must have the rows of CONTENTS, pages/shared/contents.py, "
        "in the same order"
    )


def test_every_mechanism_has_a_row_of_the_table() -> None:
    row = r"^\| [^|]+ \| `([a-z][a-z0-9-]+)` \| [^|]+ \| [^|]+ \| (?:[\d.]+|–) \|$"
    named = re.findall(row, MECHANISMS_PAGE, re.MULTILINE)
    ours = [kind.short for key, kind in MECHANISMS.items() if key not in MECHANISMS.packages]
    assert named == ours, (
        "docs/mechanisms.md: its table must have one row for each mechanism, in the order of "
        "_OURS, dpcore/mechanisms/registry.py"
    )


def test_every_mechanism_has_a_cost_beside_the_first() -> None:
    row = r"^\| [^|]+ \| `[a-z][a-z0-9-]+` \| [^|]+ \| [^|]+ \| ([\d.]+) \|$"
    costs = [float(cost) for cost in re.findall(row, MECHANISMS_PAGE, re.MULTILINE)]
    assert 0 < len(costs) <= len(MECHANISMS)
    assert costs[0] == 1
