"""The cache folder: whole files, checked, raced for, read-only, and where it lies."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from dpcore.errors import StudyError
from dpcore.lexicon import cache
from dpcore.lexicon.cache import (
    CacheEntry,
    alone,
    cache_folder,
    cache_status,
    cached_record,
    keep,
    recall,
    replacing,
)
from dpcore.lexicon.lexicon import Lexicon
from tests.fixtures import MakeRng

PRINT = "f" * 64
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def sample() -> CacheEntry:
    return CacheEntry(
        {"a": np.arange(7, dtype=np.int32), "b": np.ones((2, 3), dtype=np.float32)}, {"x": 1.5}
    )


def test_what_is_kept_comes_back_read_only() -> None:
    assert recall(PRINT, "thing") is None
    assert keep(PRINT, "thing", sample())
    kept = recall(PRINT, "thing")
    assert kept.facts == {"x": 1.5}
    assert kept.arrays["a"].tolist() == list(range(7))
    assert kept.arrays["b"].shape == (2, 3)
    assert cache.kinds_kept(PRINT) == ["thing"]
    with pytest.raises(ValueError, match="read-only"):
        kept.arrays["a"][0] = 3


def test_every_damaged_byte_is_noticed(folder: Path) -> None:
    keep(PRINT, "thing", sample())
    (path,) = folder.rglob("thing.bin")
    whole = path.read_bytes()
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x11
        path.write_bytes(broken)
        # Only the padding carries nothing.
        kept = recall(PRINT, "thing")
        assert kept is None or (whole[position] == 0 and kept.facts == {"x": 1.5})
    path.write_bytes(whole.replace(b'"x": 1.5', b'"x": 2.5'))
    assert recall(PRINT, "thing") is None
    for length in range(0, len(whole), 16):
        path.write_bytes(whole[:length])
        kept = recall(PRINT, "thing")
        assert kept is None or length >= len(whole) - 64


def test_a_file_of_another_lexicon_or_kind_or_of_objects_is_not_taken(folder: Path) -> None:
    keep(PRINT, "thing", sample())
    (path,) = folder.rglob("thing.bin")
    content = path.read_bytes()
    path.with_name("other.bin").write_bytes(content)
    assert recall(PRINT, "other") is None
    foreign = folder / "derived" / ("0" * 64) / "thing.bin"
    foreign.parent.mkdir()
    foreign.write_bytes(content)
    assert recall("0" * 64, "thing") is None
    path.write_bytes(content.replace(b'"<i4"', b'"|O" ', 1))
    assert recall(PRINT, "thing") is None


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail_half_way() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def unwritable(folder: Path) -> Path:
    """A cache folder in which nothing can be written, by any user."""
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the folder should be")
    return folder


def test_without_a_writable_folder_everything_works_and_the_status_says_so(
    unwritable: Path, rng: MakeRng
) -> None:
    vectors = rng().standard_normal((30, 4)).astype(np.float32)
    lexicon = Lexicon("some", tuple(f"w{i}" for i in range(30)), vectors)
    assert lexicon.extent.exact
    assert lexicon.neighbours(3).indices.shape == (30, 3)
    assert not keep(PRINT, "thing", sample())
    status = cache_status()
    assert not status.writable
    assert "nothing is kept" in status.reason


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to any folder"
)
def test_a_read_only_folder_is_noticed(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o500)
    assert not cache_status().writable
    assert not keep(PRINT, "thing", sample())


def test_the_folder_is_where_it_always_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_status().writable
    monkeypatch.delenv("DPCORE_CACHE")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "word-privacy-lab"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder() == Path.home() / ".cache" / "word-privacy-lab"
    elif sys.platform == "darwin":
        assert cache_folder() == Path.home() / "Library" / "Caches" / "word-privacy-lab"
    else:
        assert cache_folder() == Path(os.environ["LOCALAPPDATA"]) / "word-privacy-lab"


RACER = """
import numpy as np
from dpcore.lexicon.lexicon import Lexicon
vectors = np.random.default_rng(5).standard_normal((400, 8)).astype(np.float32)
lexicon = Lexicon("race", [f"w{i}" for i in range(400)], vectors)
for _ in range(15):
    fresh = Lexicon("race", lexicon.words, lexicon.vectors)
    table = fresh.neighbours()
    assert (table.indices[:, 0] == np.arange(400)).all()
    print(fresh.extent.diameter, int(table.indices.sum()))
    for path in __import__("pathlib").Path(__import__("os").environ["DPCORE_CACHE"]).rglob("*.bin"):
        path.unlink(missing_ok=True)
"""


@pytest.mark.slow
def test_processes_that_race_for_the_cache_all_get_the_right_answer(folder: Path) -> None:
    environment = {**os.environ, "DPCORE_CACHE": str(folder), "PYTHONPATH": str(ROOT)}

    def run(_: int) -> CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RACER], env=environment, capture_output=True, text=True
        )

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(run, range(3)))
    assert [result.returncode for result in results] == [0, 0, 0], results[0].stderr
    answers = {line for result in results for line in result.stdout.splitlines()}
    assert len(answers) == 1
    assert not list(folder.rglob("*.part"))


def test_a_header_is_plain_json(folder: Path) -> None:
    keep(PRINT, "thing", sample())
    (path,) = folder.rglob("thing.bin")
    header = json.loads(path.read_bytes().split(b"\n", 1)[0])
    assert header["fingerprint"] == PRINT
    assert [entry[0] for entry in header["arrays"]] == ["a", "b"]


HOLDING = """
import os, sys
from pathlib import Path
from dpcore.errors import StudyError
from dpcore.lexicon.cache import alone
with alone(Path(sys.argv[1]), StudyError("busy")):
    print("in", flush=True)
    sys.stdin.read()
"""


def test_a_lock_ends_with_the_process_that_has_it(tmp_path: Path) -> None:
    """A killed one leaves the file behind, which is no lock: the next takes it over."""
    path = tmp_path / "x.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "in\n"
        with pytest.raises(StudyError, match="mine"), alone(path, StudyError("mine")):
            pass
        process.kill()
    assert path.exists()
    with alone(path, StudyError("mine")):
        assert path.exists()
    assert not path.exists()


def test_a_lasting_file_makes_no_folder(tmp_path: Path) -> None:
    """Or a process that outlives its run would create the run's folder again."""
    path = tmp_path / "gone" / "file"
    with pytest.raises(FileNotFoundError), replacing(path, lasting=True):
        pass
    assert not path.parent.exists()


@dataclass(frozen=True)
class Computed:
    """Values of a lexicon that take long."""

    places: np.ndarray
    middle: float


def test_a_record_is_computed_once_and_again_where_its_file_is_another() -> None:
    calls = []

    def compute() -> Computed:
        calls.append(1)
        return Computed(np.geomspace(1e-300, 0.1, 5), 0.1 + 0.2)

    first, second = (cached_record(Computed, PRINT, "record", compute) for _ in range(2))
    assert len(calls) == 1
    assert second.places.tobytes() == first.places.tobytes()
    assert second.middle == first.middle
    keep(PRINT, "record", CacheEntry({"places": first.places}, {}))
    assert cached_record(Computed, PRINT, "record", compute).middle == first.middle
    assert len(calls) == 2
