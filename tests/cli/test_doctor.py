"""`doctor`: findings, missing parts, and advice."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from dpcore import optional
from dpcore.cli import doctor
from dpcore.cli.doctor import PARTS, Finding, State, examine, without_places
from dpcore.lexicon import catalogue
from dpcore.lexicon.cache import bundled_data
from dpcore.privatize.folder import record_path
from dpcore.privatize.walk import tally, walk, walk_dict
from dpcore.study import recorded
from tests.fixtures import Uninstall
from tests.needs import ROOT
from tests.shell import run, small_vectors
from tests.test_repository import EXTRAS, PROJECT, requirements


def by_name() -> dict[str, Finding]:
    return {each.name: each for each in examine()}


def there(monkeypatch: pytest.MonkeyPatch, **changed: str | None) -> None:
    """Have these releases of packages installed, or none where it is None."""
    whole = optional.installed

    def installed(names: Iterable[str]) -> dict[str, str]:
        names = list(names)
        versions: dict[str, str | None] = {**whole(names)}
        versions |= {name: version for name, version in changed.items() if name in names}
        return {name: version for name, version in versions.items() if version is not None}

    for module in (doctor, optional):
        monkeypatch.setattr(module, "installed", installed)


def plain(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0]


def test_the_packages_are_those_of_the_project() -> None:
    declared = {"engine": PROJECT["project"]["dependencies"]}
    declared |= {part: EXTRAS[part] for part in ("app", "learn", "encoder", "dask")}
    for part in ("redact", "write"):
        declared[part] = requirements(f"requirements-{part}.txt")
    assert declared.keys() == PARTS.keys()
    for part, names in declared.items():
        wanted = {plain(name) for name in names} | ({"distributed"} if part == "dask" else set())
        assert {each.name for each in optional.requirements(part)} == wanted


def test_every_command_that_is_advised_is_one_of_the_readme_or_the_package() -> None:
    for part in optional._IN_CHECKOUT:
        command = optional.install(part)
        file = re.search(r"[\w/-]*requirements[\w-]*\.txt", command)
        extra = re.search(r"\[(\w+)\]", command)
        assert (file and (ROOT / file[0]).is_file()) or extra[1] in EXTRAS


@pytest.mark.slow
def test_here_everything_that_is_needed_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "everything that is needed is there" in out
    lines = {line.split(":")[0] for line in out.splitlines() if line.startswith("ok")}
    assert {"ok python", "ok lexicon", "ok nearest neighbours", "ok recorded results"} <= lines
    code, out, _ = run(capsys, "doctor", "--json")
    assert [each["name"] for each in json.loads(out)["findings"]] == list(by_name())


def test_a_release_is_walked_through_from_its_record(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text,label\nterrible weather,1\nweather,0\n", encoding="utf-8")
    options = (
        "privatize", str(source), "--out", str(out), "--mechanism", "tem", "--epsilon", "9",
        "--lexicon", small_vectors(tmp_path / "small.vec"), "--keep", "label",
    )  # fmt: skip
    assert run(capsys, *options)[0] == 0
    record = json.loads(record_path(out).read_text("utf-8"))
    code, told, notes = run(capsys, "doctor", "--release", str(out))
    assert code == 0
    assert f"!! {walk(record)[0].question} § 2.2 The Privacy Parameter ε\n" in told
    assert "   No: the cells of “label” are released as they are.\n" in told
    assert told.splitlines()[-1] == tally(walk(record))
    assert "NIST has not evaluated it" in notes
    # The record answers as the copy beside it does.
    results = [
        json.loads(run(capsys, "doctor", "--json", "--release", str(place))[1])
        for place in (out, record_path(out))
    ]
    assert results[0]["release"] == out.name
    assert results[0] | {"release": ""} == results[1] | {"release": ""}
    assert results[0]["rows"] == json.loads(json.dumps(walk_dict(walk(record))["rows"]))
    assert results[0]["run"] == record["run"]
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    promised = re.search(r"^\| `doctor --release` \| `(.*?)`", page, re.MULTILINE)[1]
    fields = re.sub(r" \[?\{.*?\}\]?", "", promised).split(", ")
    assert list(results[0]) == fields
    row = re.search(r"rows \[\{(.*?)\}\]", promised)[1]
    assert all(list(each) == row.split(", ") for each in results[0]["rows"])
    counted = re.search(r"counts \{(.*?)\}", promised)[1]
    assert list(results[0]["counts"]) == counted.split(", ")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        ("text\nweather\n", "no record of a private copy"),
        ("[]", "no record of a private copy"),
        ('{"guarantee": [], "mechanism": "tem.v1"}', "no record of a private copy"),
        ('{"guarantee": {}}', "no record of a private copy"),
        ("[" * 100_000, "no record of a private copy"),
    ],
)
def test_a_file_that_is_no_record_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, reason: str
) -> None:
    place = tmp_path / "copy.csv"
    if content is not None:
        place.write_text(content, encoding="utf-8")
    code, told, notes = run(capsys, "doctor", "--release", str(place))
    assert code == 2
    assert not told
    assert re.fullmatch(rf"error: [^\n]*{reason}[^\n]*\n", notes)


@pytest.mark.slow
def test_a_missing_package_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there(monkeypatch, pandas=None)
    finding = next(each for each in examine() if "pandas" in each.found)
    assert finding.state == State.BAD
    assert "missing: pandas" in finding.found
    assert finding.advice == "pip install -r requirements.txt"
    assert run(capsys, "doctor")[0] == 1


@pytest.mark.slow
def test_a_release_that_does_not_fit_is_no_good(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there(monkeypatch, numpy="1.26.4", pandas="4.0", torch="2.5.1")
    findings = by_name()
    engine = findings["packages of the engine"]
    assert engine.state == State.BAD
    assert "numpy 1.26.4 is not numpy<3,>=2.1" in engine.found
    assert engine.advice == 'pip install "numpy<3,>=2.1"'
    assert "pandas 4.0 is not pandas" in findings[f"packages of {PARTS['app']}"].found
    assert findings["packages of neural networks"].state == State.OPTIONAL
    assert run(capsys, "doctor")[0] == 1


def test_doctor_answers_where_the_engine_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("dpcore.mechanisms.registry", "dpcore.lexicon.catalogue"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, _ = run(capsys, "doctor")
    assert code == 1
    assert "!! lexicon: " in out
    assert "!! mechanisms of other packages: " in out


@pytest.mark.parametrize("version", ["2.1.0", "2.1", "2.99.dev0", "2.5.0rc1"])
def test_a_release_that_fits_is_good(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    there(monkeypatch, numpy=version)
    optional.check_engine()


@pytest.mark.parametrize("version", ["1.26.4", "2.0.2", "3.0.0"])
def test_an_engine_that_cannot_work_says_so_where_it_is_imported(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    import importlib

    import dpcore.arrays

    there(monkeypatch, numpy=version)
    with pytest.raises(ImportError) as refusal:
        importlib.reload(dpcore.arrays)
    assert str(refusal.value) == (
        f'dpcore needs numpy<3,>=2.1, but numpy {version} is installed: pip install "numpy<3,>=2.1"'
    )


def test_an_installation_is_advised_what_it_can_follow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Someone who has installed the engine has no requirements file in the folder."""
    monkeypatch.setattr(optional, "_project", lambda: None)
    monkeypatch.setattr(optional, "_PACKAGE", tmp_path / "dpcore")
    advice = {part: optional.install(part) for part in optional._IN_CHECKOUT}
    assert advice["app"] == 'pip install "word-privacy-lab[app]"'
    assert advice["encoder"] == 'pip install "word-privacy-lab[encoder]"'
    assert advice["engine"] == "pip install word-privacy-lab"
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for part, file in optional._FILES.items():
        assert advice[part].endswith(f'-r "{tmp_path / "dpcore" / file}"')
        assert f"dpcore/{file}" in wheel.values() or (ROOT / "dpcore" / file).is_file()
    for part, text in advice.items():
        assert "-r requirements" not in text, part


def test_an_installation_reads_its_ranges_from_its_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["numpy<3,>=2.1", 'pandas>=2.2.3; extra == "app"', 'x>=1; sys_platform == "none"']
    lines.append('uvloop>=1; (sys_platform != "none") and extra == "app"')
    monkeypatch.setattr(optional, "_project", lambda: None)
    monkeypatch.setattr("importlib.metadata.requires", lambda name: lines)
    optional.requirements.cache_clear()
    try:
        assert [str(each) for each in optional.requirements("engine")] == ["numpy<3,>=2.1"]
        assert [each.name for each in optional.requirements("app")] == ["pandas", "uvloop"]
    finally:
        optional.requirements.cache_clear()


def test_without_scikit_learn_its_module_says_what_to_install(uninstalled: Uninstall) -> None:
    uninstalled("sklearn")
    uninstalled("dpcore.sklearn")
    sys.meta_path.pop(0)  # the module itself is there
    with pytest.raises(ImportError, match=r"dpcore\.sklearn needs the package scikit-learn; inst"):
        import dpcore.sklearn  # noqa: F401


@pytest.mark.slow
def test_a_missing_extra_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there(monkeypatch, torch=None)
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
    monkeypatch.setattr(doctor, "_PACKAGE", tmp_path / "dpcore")  # in which the results lie
    finding = by_name()["recorded results"]
    assert finding.state == State.BAD
    assert f"e/experiments/{table.name}" in finding.found
    assert finding.advice


def test_a_lexicon_that_cannot_be_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(catalogue, "load", fail)
    findings = by_name()
    assert findings["lexicon"].state == State.BAD
    assert findings["lexicon"].found == "no such file"
    assert findings["nearest neighbours"].state == State.BAD


@pytest.mark.slow
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


def test_a_folder_without_locks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctor._locks() == Finding("file locks", State.GOOD, "the working folder has them")

    def none(*arguments: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    pytest.importorskip("fcntl")
    monkeypatch.setattr("fcntl.flock", none)
    finding = doctor._locks()
    assert finding is not None
    assert finding.state == State.OPTIONAL
    assert finding.found == f"the working folder has none ({os.strerror(errno.ENOSYS)})"
    assert "--out" in finding.advice
    assert not list(tmp_path.iterdir())


def test_locks_are_not_tried_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("dpcore.lexicon.cache.check_place", none)
    assert doctor._locks() is None


@pytest.mark.slow
def test_the_folder_of_corpora_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    assert by_name()["real corpora"].state == State.GOOD
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path / "none"))
    assert by_name()["real corpora"].state == State.OPTIONAL


# Words that only the person who runs the laboratory may know.
PRIVATE = ("klabauter", "zwiebel", "fjordling", "quastenflosser", "mumpitz", "schnurps")


def private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home, a working folder, and variables of the environment with private names."""
    home = tmp_path / PRIVATE[0] / f"of {PRIVATE[1]}"
    work = home / PRIVATE[2]
    work.mkdir(parents=True)
    places = {
        "HOME": home, "USERPROFILE": home, "XDG_CACHE_HOME": home / PRIVATE[3],
        "DPCORE_DATA": work, "SECRET": PRIVATE[4],
    }  # fmt: skip
    for name, place in places.items():
        monkeypatch.setenv(name, str(place))
    monkeypatch.delenv("DPCORE_CACHE", raising=False)
    monkeypatch.chdir(work)
    return work


def betrayed(*outputs: str) -> set[str]:
    return {word for word in PRIVATE for output in outputs if word in output.lower()}


@pytest.mark.slow
@pytest.mark.parametrize("cache", [None, "given", "a file"])
def test_no_private_word_is_in_its_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, cache: str
) -> None:
    work = private_folder(monkeypatch, tmp_path)
    own = small_vectors(work / f"{PRIVATE[5]}.vec")
    if cache is not None:
        place = work / PRIVATE[3]
        place.write_text("") if cache == "a file" else place.mkdir()
        monkeypatch.setenv("DPCORE_CACHE", str(place))
    if cache != "a file":  # vectors of the person, kept in the cache under their name
        assert run(capsys, "lexicon", "add", own, "--name", PRIVATE[5])[0] == 0
    outputs = [
        each for options in ((), ("--json",)) for each in run(capsys, "doctor", *options)[1:]
    ]
    assert "DPCORE_DATA" in outputs[0]
    assert ("DPCORE_CACHE" in outputs[0]) == (cache is not None)
    assert not betrayed(*outputs)


def test_no_error_that_it_repeats_has_a_private_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    work = private_folder(monkeypatch, tmp_path)
    installed = work / "lib" / "dpcore"
    monkeypatch.setattr(doctor, "_PACKAGE", installed)
    monkeypatch.setattr(optional, "_PACKAGE", installed)
    monkeypatch.setattr(optional, "_project", lambda: None)
    there(monkeypatch, gguf=None)

    def fail(name: object = None) -> None:
        open(work / "lib" / "dpcore" / "_data" / "words.bin")  # noqa: PTH123, SIM115

    def miss() -> None:
        raise ImportError(f"cannot import name 'x' from 'y' ({work / 'site' / 'y.py'})")

    monkeypatch.setattr(catalogue, "load", fail)
    monkeypatch.setattr(recorded, "read_bundled", miss)
    outputs = [
        each for options in ((), ("--json",)) for each in run(capsys, "doctor", *options)[1:]
    ]
    assert "No such file or directory: 'dpcore/_data/words.bin'" in outputs[0]  # still of use
    assert not betrayed(*outputs)


def test_advice_without_a_folder_is_a_command_that_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = f'echo "{doctor._PACKAGE}/limits.py"'
    shortened = without_places(command)
    assert str(ROOT) not in shortened
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    answer = subprocess.run(shortened, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert Path(answer.stdout.strip()).is_file(), answer


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file /a/secret/b.npz: it is gone", "no file …: it is gone"),
        ("[Errno 2] No: '/a b/secret c/d'", "[Errno 2] No: '…'"),
        (r"No: 'C:\Users\secret\d.txt'", "No: '…'"),
        ("import fails (/a/secret/lib/y.py)", "import fails (…/y.py)"),
        ("files ('/a/x', '/b/y.py')", "files ('…', '…/y.py')"),
        ("1/2 of words/texts, and / or; a/b", "1/2 of words/texts, and / or; a/b"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("pip install -r requirements/app.txt", "pip install -r requirements/app.txt"),
    ],
)
def test_places_are_taken_out_and_nothing_else(text: str, shown: str) -> None:
    assert without_places(text) == shown


def test_a_release_is_named_by_its_file_and_by_its_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Names that are published with the copy: its own, columns that are kept, and the lexicon."""
    work = private_folder(monkeypatch, tmp_path)
    source = work / f"{PRIVATE[5]}.csv"
    source.write_text(f"{PRIVATE[4]},label\nterrible {PRIVATE[0]},1\nweather,0\n", "utf-8")
    options = (
        "privatize", str(source), "--out", str(work / "copy.csv"), "--mechanism", "tem",
        "--epsilon", "9", "--lexicon", small_vectors(work / "public.vec"), "--text-column",
        PRIVATE[4], "--keep", "label",
    )  # fmt: skip
    assert run(capsys, *options)[0] == 0
    outputs = [
        each
        for more in ((), ("--json",))
        for each in run(capsys, "doctor", "--release", str(work / "copy.csv"), *more)[1:]
    ]
    assert all(name in outputs[0] for name in ("label", "public.vec"))
    assert not betrayed(*outputs)
