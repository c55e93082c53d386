"""Notebooks run from first cell to last, and the reference pages build without a warning."""

import abc
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from dpcore.audit.report import AuditSettings
from dpcore.lexicon.catalogue import load
from dpcore.papers.claims import CLAIMS, verdict

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
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| (\w+):", page, re.MULTILINE)
    assert len(rows) == 2
    for key, outcome in rows:
        assert key in CLAIMS
        assert verdict(key, load(None), AuditSettings(words=2)).outcome == outcome
