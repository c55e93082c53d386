"""The release check refuses disagreements, one at a time."""

import json
import subprocess
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def _script() -> ModuleType:
    spec = spec_from_loader("release", SourceFileLoader("release", str(ROOT / ".ci/release")))
    assert spec is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = _script()


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def git(root: Path, *arguments: Any) -> None:
    command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*command, *arguments], check=True, capture_output=True)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small repository without a fault."""
    write(tmp_path / "dpcore/__init__.py", '__version__ = "1.2.3"\n')
    write(tmp_path / "CHANGELOG.md", "# Changes\n\n## 1.2.3, 2030-01-02\n")
    write(tmp_path / "README.md", "![A page](data/pictures/page.png)\n")
    write(tmp_path / "data/pictures/page.png", "picture")
    write(tmp_path / "app.py", "")
    project = '[project]\nlicense = "A AND B"\nlicense-files = ["LICENSE", "data/NOTICE"]\n'
    write(tmp_path / "pyproject.toml", project)
    write(tmp_path / "data/NOTICE", "A: " + ", ".join(release.ROOMS[1:]) + "\nB: audit\n")
    write(tmp_path / "data/audit/verdicts.json", json.dumps({"version": "1.2.3"}))
    write(tmp_path / "data/results/a.parquet", "table")
    entry = {"file": "a.parquet", "sha256": sha256(b"table").hexdigest(), "version": "1.2.2"}
    write(tmp_path / "data/results/manifest.json", json.dumps({"studies": [entry]}))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def everything(root: Path) -> list[str]:
    looks = (
        release.version, release.results, release.readme, release.notices, release.tree
    )  # fmt: skip
    return [line for look in looks for line in look(root)]


def test_nothing_is_said_of_a_house_in_order(house: Path) -> None:
    assert everything(house) == []


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("dpcore/__init__.py", '__version__ = "1.2"\n', "'1.2' of dpcore is not of the form"),
        ("dpcore/__init__.py", '__version__ = "1.2.1"\n', "made by version 1.2.2, later than"),
        ("dpcore/__init__.py", '__version__ = "1.2.4"\n', "verdicts.json: of version 1.2.3"),
        ("CHANGELOG.md", "## 1.2.3, not yet released\n", "begins with '1.2.3, not yet released'"),
        ("CHANGELOG.md", "## 1.2.2, 2030-01-02\n", "not with '1.2.3, YEAR-MONTH-DAY'"),
        ("README.md", "no picture\n", "README.md shows no picture"),
        (
            "README.md",
            "![A page](data/pictures/other.png)\n",
            "its picture data/pictures/other.png",
        ),
        ("data/pictures/page.png", "x" * 300_001, "has 300,001 bytes"),
        ("data/pictures/old.png", "x", "old.png is shown nowhere"),
        ("data/NOTICE", "A and B: nothing of results/maps", "data/NOTICE does not name maps"),
        ("data/NOTICE", " ".join(release.ROOMS), "data/NOTICE does not name B"),
        ("data/results/a.parquet", "changed", "a.parquet is not the file that was recorded"),
        ("data/results/new.parquet", "x", "not committed: data/results/new.parquet"),
    ],
    ids=lambda text: text[:40],  # a whole picture is too long for the name of a test
)
def test_what_disagrees_is_said(house: Path, file: str, content: str, message: str) -> None:
    write(house / file, content)
    assert any(message in line for line in everything(house))


def test_a_tag_of_this_version_on_another_commit_is_said(house: Path) -> None:
    git(house, "tag", "v1.2.3")
    assert release.tree(house) == []
    git(house, "commit", "-qm", "more", "--allow-empty")
    assert release.tree(house) == ["the tag v1.2.3 is another commit: raise the version"]


def test_a_wheel_must_hold_what_git_holds(house: Path, tmp_path: Path) -> None:
    info = "word_privacy_lab-1.2.3.dist-info"

    def complaints(
        name: str = "word_privacy_lab-1.2.3-py3-none-any.whl",
        leave: Sequence[str] = (),
        more: Sequence[str] = (),
        terms: str = "A AND B",
    ) -> list[str]:
        files = ["dpcore/__init__.py", "dpcore/_data/results/a.parquet", *more]
        files += ["dpcore/_app/app.py", "dpcore/_app/data/pictures/page.png"]
        files += ["dpcore/_data/results/manifest.json", "dpcore/_data/audit/verdicts.json"]
        files += [f"{info}/licenses/LICENSE", f"{info}/licenses/data/NOTICE"]
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for file in files:
                if file not in leave:
                    archive.writestr(file, "")
            archive.writestr(
                f"{info}/METADATA", f"Name: word-privacy-lab\nLicense-Expression: {terms}\n\n"
            )
        return release.contents(house, tmp_path / name)

    assert complaints() == []
    assert complaints(leave=["dpcore/__init__.py"]) == ["not in the wheel: dpcore/__init__.py"]
    assert complaints(more=["dpcore/secret.txt"]) == ["in the wheel, not in git: dpcore/secret.txt"]
    assert complaints(leave=["dpcore/_app/app.py"]) == ["not in the wheel: dpcore/_app/app.py"]
    for file in ("LICENSE", "data/NOTICE"):
        line = f"not among the licences of the wheel: {file}"
        assert complaints(leave=[f"{info}/licenses/{file}"]) == [line]
    assert complaints(terms="A") == ["the wheel does not say that it is under A AND B"]
    assert complaints(name="word_privacy_lab-1.2.2-py3-none-any.whl") == [
        "the wheel is word_privacy_lab-1.2.2-py3-none-any.whl"
    ]


def test_this_house_is_in_order_but_for_what_is_under_way() -> None:
    assert release.results(ROOT) == []
    assert release.readme(ROOT) == []
    assert release.notices(ROOT) == []


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["--force"]) == 2
    assert "no-wheel" in capsys.readouterr().err
