"""`doctor`: what is there, what is missing, and what to do."""

import json
import re
import sys
from pathlib import Path

import pytest

from dpcore.cli import doctor
from dpcore.cli.doctor import PACKAGES, PARTS, Finding, State, examine
from dpcore.lexicon import catalogue
from dpcore.lexicon.bundled import bundled_data
from dpcore.study import recorded
from tests.fixtures import Uninstall
from tests.needs import ROOT
from tests.shell import run
from tests.test_repository import EXTRAS, PROJECT, requirements


def by_name() -> dict[str, Finding]:
    return {each.name: each for each in examine()}


def plain(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0]


def test_the_packages_are_those_of_the_project() -> None:
    declared = {"engine": PROJECT["project"]["dependencies"]}
    declared |= {part: EXTRAS[part] for part in ("app", "learn", "encoder", "dask")}
    for part in ("redact", "write"):
        declared[part] = requirements(f"requirements-{part}.txt")
    for part, names in declared.items():
        wanted = {plain(name) for name in names} | ({"distributed"} if part == "dask" else set())
        # torch is of two parts and stands under the first.
        assert set(PACKAGES[part]) == wanted - ({"torch"} if part == "encoder" else set())


def test_every_command_that_is_advised_is_one_of_the_readme_or_the_package() -> None:
    for _, command in PARTS.values():
        file = re.search(r"requirements[\w-]*\.txt", command)
        extra = re.search(r"\[(\w+)\]", command)
        assert (file and (ROOT / file[0]).is_file()) or extra[1] in EXTRAS


def test_here_everything_that_is_needed_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "everything that is needed is there" in out
    lines = {line.split(":")[0] for line in out.splitlines() if line.startswith("ok")}
    assert {"ok python", "ok lexicon", "ok nearest neighbours", "ok recorded results"} <= lines
    code, out, _ = run(capsys, "doctor", "--json")
    assert [each["name"] for each in json.loads(out)["findings"]] == list(by_name())


def test_a_missing_package_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        doctor, "installed", lambda names: dict.fromkeys({*names} - {"pandas"}, "1")
    )
    finding = next(each for each in examine() if "pandas" in each.found)
    assert finding.state == State.BAD
    assert "missing: pandas" in finding.found
    assert finding.advice == "pip install -r requirements.txt"
    assert run(capsys, "doctor")[0] == 1


def test_a_missing_extra_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda names: dict.fromkeys({*names} - {"torch"}, "1"))
    finding = next(each for each in examine() if "torch" in each.found)
    assert finding.state == State.OPTIONAL
    assert "requirements-learn.txt" in finding.advice
    assert run(capsys, "doctor")[0] == 0


def test_a_package_that_a_look_needs_may_be_missing(
    monkeypatch: pytest.MonkeyPatch, uninstalled: Uninstall
) -> None:
    uninstalled("platformdirs")
    monkeypatch.delenv("DPCORE_CACHE", raising=False)
    assert by_name()["cache"].state == State.BAD


def test_an_old_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    assert by_name()["python"].state == State.BAD


def test_a_damaged_result_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(bundled_data("results", "manifest.json"), tmp_path / "e")
    table = next((tmp_path / "e" / "experiments").glob("*.parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(recorded, "bundled_results", lambda: tmp_path / "e")
    finding = by_name()["recorded results"]
    assert finding.state == State.BAD
    assert table.name in finding.found
    assert finding.advice


def test_a_lexicon_that_cannot_be_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(catalogue, "load", fail)
    findings = by_name()
    assert findings["lexicon"].state == State.BAD
    assert findings["lexicon"].found == "no such file"
    assert findings["nearest neighbours"].state == State.BAD


@pytest.mark.parametrize(("free", "state"), [(999.0, "bad"), (1_000.0, "good"), (None, "good")])
def test_little_memory_is_said(
    monkeypatch: pytest.MonkeyPatch, free: float | None, state: str
) -> None:
    monkeypatch.setattr(doctor, "_free_megabytes", lambda: free)
    assert by_name()["memory"].state == state


def test_a_cache_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "file"))
    finding = by_name()["cache"]
    assert finding.state == State.OPTIONAL
    assert "cannot write" in finding.found


def test_the_folder_of_corpora_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    assert by_name()["real corpora"].state == State.GOOD
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path / "none"))
    assert by_name()["real corpora"].state == State.OPTIONAL
