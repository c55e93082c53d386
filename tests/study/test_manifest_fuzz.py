"""Distorted manifests, damaged tables and damaged corpora: refused with one sentence."""

import copy
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given

from dpcore.errors import StudyError
from dpcore.privatize.folder import STATE
from dpcore.privatize.run import privatize
from dpcore.study.recorded import (
    FOLDER,
    MANIFEST,
    bundled_results,
    read_manifest,
    read_recorded,
)
from dpcore.tables.files import Columns
from tests.fuzzing import answered, damaged, distorted, repeated
from tests.privatize.corpora import KINDS, order, read, write

FOLDERS = {"experiments": bundled_results() / FOLDER, "runs": bundled_results()}


@pytest.mark.slow
@pytest.mark.parametrize("field", FOLDERS)
def test_distorted_manifests_and_damaged_tables_are_refused(field: str, tmp_path: Path) -> None:
    folder = FOLDERS[field]
    whole = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    whole[field] = whole[field][:1]
    file = whole[field][0]["file"]
    table = (folder / file).read_bytes()

    def use(manifest: object) -> None:
        (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        for entry in read_manifest(tmp_path):
            read_recorded(entry.name, tmp_path)

    shutil.copy(folder / file, tmp_path)
    use(whole)

    @repeated(120)
    @given(distorted(whole))
    def check_manifest(result: object) -> None:
        answered(use, result)

    @repeated(40)
    @given(damaged(table))
    def check_table(data: bytes) -> None:
        (tmp_path / file).write_bytes(data)
        result = copy.deepcopy(whole)
        result[field][0]["sha256"] = hashlib.sha256(data).hexdigest()
        answered(use, result)

    check_manifest()
    check_table()
    for text in ("[" * 100_000, "", "null", json.dumps({"format": 1, field: 3}), '{"format": 2}'):
        (tmp_path / MANIFEST).write_text(text, encoding="utf-8")
        with pytest.raises(StudyError):
            read_manifest(tmp_path)


MARKS = "*/spans/*.json"
TEXTS = ["w1 w2, Secretword w3", 'w4 "w5"', "", "w6\tw7 w8", "w9 Secretword."]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_corpus_is_rewritten_or_refused(kind: str, tmp_path: Path) -> None:
    source, out = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    whole = write(source, TEXTS).read_bytes()

    @repeated(50)
    @given(damaged(whole))
    def check(data: bytes) -> None:
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        source.write_bytes(data)
        if answered(lambda: privatize(order(source, out))) is None:
            return
        assert all("secretword" not in (row["text"] or "").casefold() for row in read(out))

    check()


def test_the_folder_of_an_unfinished_run_may_be_damaged(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    folder = tmp_path / "out.txt.unfinished"
    wanted = order(source, out, columns=Columns())

    class StopError(Exception):
        pass

    def stop(stage: str, done: int, total: int) -> None:
        if list(folder.glob(MARKS)):
            raise StopError

    with pytest.raises(StopError):
        privatize(wanted, progress=stop, span_bytes=200)
    mark, state = next(folder.glob(MARKS)), folder / STATE
    for path in (mark, state):
        whole = path.read_bytes()
        for data in (b"", b"[" * 100_000, b"null", b"{}", b"[]", whole[:-5]):
            path.write_bytes(data)
            with pytest.raises(StudyError, match="delete that folder"):
                privatize(wanted, span_bytes=200)
        path.write_bytes(whole)
    privatize(wanted, span_bytes=200)
    assert len(read(out)) > 5
