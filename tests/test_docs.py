"""Notebooks run from first cell to last, and the reference pages build without a warning."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

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
