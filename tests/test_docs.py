"""Notebooks run from first cell to last, reference pages build, and the paper is as it says."""

import abc
import importlib.util
import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from dpcore.audit.report import AuditSettings
from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.claims import CLAIMS, verdict
from tests.needs import writer

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = (
    600  # of one cell, on a busy machine; a whole notebook takes less than a minute on a quiet
)


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# The kernel's own packages warn of what they do to each other.
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = _read(path)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """Results of one machine are no part of the text, and change with every run."""
    notebook = _read(path)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_there_are_four_notebooks() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.slow
def test_the_reference_pages_build_without_a_warning(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    pages = {str(page.relative_to(tmp_path)) for page in reference.build(tmp_path)}
    wanted = {name for name in reference.MODULES if not name.startswith("!")}
    assert pages == {"index.html", *(name.replace(".", "/") + ".html" for name in wanted)}
    front = (tmp_path / "dpcore.html").read_text(encoding="utf-8")
    for name in ("read", "draw", "release", "deniability", "mechanism", "privatize_column"):
        assert re.search(rf'id="{name}"', front)


# Adapters for benchmarks that are not installed: the printed code, on a stand-in of each interface.


class _RatBench(abc.ABC):
    @abc.abstractmethod
    def anonymize(self, text: str) -> str: ...


class _TauEval:
    def anonymize(self, text: str) -> str:
        raise NotImplementedError


def _adapter(monkeypatch: pytest.MonkeyPatch, base: type, place: str, name: str) -> Any:
    """Run a block of docs/adapters.md with a module at `place` that has the base class."""
    parts = place.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    monkeypatch.setattr(sys.modules[place], "Anonymizer", base, raising=False)
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if name in block
    ]
    assert f"from {place} import Anonymizer" in code
    names: dict[str, Any] = {}
    exec(code, names)
    assert issubclass(names[name], base)
    return names[name]


TEXT = "Dr. Zzyzzx saw the doctor in London, and Qwrtp did not. " * 60  # longer than a page allows


def test_the_adapter_for_rat_bench_rewrites_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = _adapter(
        monkeypatch, _RatBench, "pii_benchmark.anonymizers.anonymizer", "WordPrivacyAnonymizer"
    )
    first = kind().anonymize(TEXT)
    # At this ε each of 480 words stays with one chance in four: all do with less than 10⁻²⁸⁰.
    assert first != TEXT
    assert "Zzyzzx" not in first
    assert len(first.split()) >= len(TEXT.split())  # unknown words are exchanged, not left out
    kept = kind("k-ary", 60.0).anonymize(TEXT).split()
    # By e^−60·25,000 a word less than 10⁻²¹ of those that are known changes.
    assert kept[2:7] == "saw the doctor in London,".split()


def test_the_adapter_for_tau_eval_rewrites_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = _adapter(monkeypatch, _TauEval, "tau_eval.models", "WordPrivacyModel")
    model = kind("k-ary", 60.0)
    assert model.name == "k-ary, ε = 60"
    assert model.anonymize_batch(["The doctor came.", ""]) == ["The doctor came.", ""]
    assert model.anonymize("The doctor came.") == "The doctor came."
    assert kind().name == "tem, ε = 2.388"
    assert kind().anonymize(TEXT) != TEXT


def test_the_adapters_page_names_claims_as_they_are_judged() -> None:
    writer()
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| (\w+):", page, re.MULTILINE)
    assert len(rows) == 2
    for key, outcome in rows:
        assert key in CLAIMS
        assert verdict(key, load(None), AuditSettings(words=2)).outcome == outcome


# The paper, in the form that the Journal of Open Source Software asks for.

PAPER = ROOT / "docs/paper"
_, FRONT, BODY = (PAPER / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
TEXT_OF_PAPER = re.sub(r"<!--.*?-->", "", BODY, flags=re.DOTALL)
SECTIONS = [
    "Summary", "Statement of need", "State of the field", "Software design",
    "Research impact statement", "Limits, ethics and misuse", "AI usage disclosure",
    "Acknowledgements", "References",
]  # fmt: skip
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `([^`]+)` \|$", TEXT_OF_PAPER, re.MULTILINE)


def _entries(path: Path) -> dict[str, dict[str, str]]:
    """Fields of the entries of a BibTeX file, by key."""
    entries = {}
    for entry in re.split(r"\n\n+", path.read_text(encoding="utf-8").strip()):
        kind, key = re.match(r"@(\w+)\{([\w-]+),\n", entry).groups()
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        assert entry.count("\n") == len(fields) + 1, f"{key}: a line that is no field"
        entries[key] = {"kind": kind} | fields
    return entries


def test_the_paper_has_the_front_matter_and_the_sections_that_are_asked_for() -> None:
    front = yaml.safe_load(FRONT)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert [author["name"] for author in front["authors"]] == [
        author["name"] for author in citation["authors"]
    ]
    assert front["title"].startswith(f"{citation['title']}: ")
    places = {place["index"] for place in front["affiliations"]}
    assert {author["affiliation"] for author in front["authors"]} == places
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ 20\d\d", front["date"])
    assert front["bibliography"] == "paper.bib"
    assert len(front["tags"]) >= 3
    assert re.findall(r"^# (.*)$", TEXT_OF_PAPER, re.MULTILINE) == SECTIONS
    words = [word for word in TEXT_OF_PAPER.split() if re.search(r"\w", word)]
    assert 750 <= len(words) < 1_500


def test_the_paper_cites_what_is_in_its_bibliography_and_nothing_else() -> None:
    cited = set(re.findall(r"(?<![\w.])@([a-z][\w-]+)", TEXT_OF_PAPER))
    entries = _entries(PAPER / "paper.bib")
    assert list(entries) == sorted(cited)
    ours = _entries(ROOT / "dpcore/papers/sources.bib")
    for key, entry in entries.items():
        place = {"inproceedings": "booktitle", "article": "journal"}[entry["kind"]]
        assert {"author", "title", "year", place} <= entry.keys(), key
        assert entry["year"] in key
        # One entry for one work, except for what a journal wants on top.
        assert entry == ours.get(key, entry) | {k: entry[k] for k in ("doi",) if k in entry}


def test_figures_and_tables_of_the_paper_are_there_and_are_pointed_to() -> None:
    figures = re.findall(r"!\[(.*?)\]\(([^)]+)\)", TEXT_OF_PAPER, re.DOTALL)
    assert figures
    for _, name in figures:
        assert (PAPER / name).resolve().is_relative_to(ROOT)
        assert (PAPER / name).stat().st_size < 300_000
    labels = re.findall(r"\\label\{(\w+)\}", TEXT_OF_PAPER)
    assert len(labels) == len(figures) + 1  # and the table
    assert sorted(labels) == sorted(set(re.findall(r"\\autoref\{(\w+)\}", TEXT_OF_PAPER)))


@pytest.mark.slow
@pytest.mark.parametrize(("finding", "conditions", "command"), ROWS, ids=[row[2] for row in ROWS])
def test_a_number_of_the_paper_is_what_its_command_prints(
    capsys: pytest.CaptureFixture[str], finding: str, conditions: str, command: str
) -> None:
    assert main(shlex.split(command)) == 0
    printed = capsys.readouterr().out
    # An ε, a number of words or of texts that the command itself was given is no result.
    arguments = {part.replace(",", "") for part in re.findall(r"[\d.]+", command)}
    numbers = re.findall(r"(?<![\w^])\d*\.?\d+(?:,\d{3})*(?![\w}])", finding)
    results = [number for number in numbers if number.replace(",", "") not in {*arguments, "100"}]
    assert results
    for number in results:
        assert number in printed, (number, printed)


@pytest.mark.slow
def test_the_paper_has_a_table_of_numbers_and_says_what_is_guessed_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(ROWS) >= 5
    assert main([*shlex.split(ROWS[3][2]), "--json"]) == 0
    before = json.loads(capsys.readouterr().out)["before"]
    share = f"{100 * before:.2f}".lstrip("0")
    assert f"name {share} of 100 before they see an output" in " ".join(TEXT_OF_PAPER.split())


def test_counts_of_the_paper_are_those_of_the_laboratory() -> None:
    recorded = json.loads((ROOT / "data/audit/verdicts.json").read_text(encoding="utf-8"))
    tally = Counter(one["outcome"] for one in recorded["verdicts"])
    sentence = " ".join(TEXT_OF_PAPER.split())
    assert (
        f"Of {tally.total()} claims, from papers, from published code and of our own, "
        f"{tally['proved']} are proved and {tally['checked exactly on this vocabulary']} checked "
        f"exactly on the bundled vocabulary; {tally['conditional']} hold under a condition, "
        f"{tally['refuted']} are refuted, and {tally['not refuted']} is not refuted" in sentence
    )
    ours = [key for key in MECHANISMS if key not in MECHANISMS.packages]
    assert f"Each of the {len(ours)} registered mechanisms" in sentence
    words = load(None)
    assert f"{len(words):,} English words with vectors in {words.dimension} dimensions" in sentence


def test_the_paper_repeats_what_the_leaderboard_says_of_itself() -> None:
    board = (ROOT / "docs/benchmark.md").read_text(encoding="utf-8")
    ours = board[board.index("## The bundled words") :]
    assert "In each of 4 trials 403 training and 173 test texts" in ours
    assert "No two mechanisms are told apart where 10 of 100 content words are guessed" in ours
    sentence = " ".join(TEXT_OF_PAPER.split())
    assert "Where 10 of 100 content words are guessed, no two are told apart" in sentence
    assert "(four trials of 403 training and 173 test texts" in sentence
