"""The private copy of a table in memory: what a run on the same file writes, and no second way."""

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import EpsilonError, StudyError
from dpcore.learn.table import Table, read_table
from dpcore.privatize import table as in_memory
from dpcore.privatize.files import Columns
from dpcore.privatize.run import privatize
from dpcore.privatize.table import check_size, privatize_table
from tests.privatize.corpora import order, write

KEEP = Columns(keep=("label",))


def test_it_is_what_a_run_on_the_file_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_bytes", lambda size: bytes(size))
    source = write(tmp_path / "in.csv")
    asked = order(source, tmp_path / "out.csv", columns=KEEP, seed=None)
    told: list[tuple[int, int]] = []
    table = read_table(source.read_bytes())
    copy = privatize_table(asked, table, progress=lambda _, done, total: told.append((done, total)))
    record = privatize(asked)
    assert copy.csv.encode() == asked.out.read_bytes()
    assert json.loads(json.dumps(copy.record)) == record | {"run": copy.record["run"]}
    assert told[0] == (0, len(table.rows))


def test_every_call_draws_anew_and_columns_that_were_not_named_stay_behind(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv")
    asked = order(source, tmp_path / "out.csv", columns=Columns(), seed=None)
    table = read_table(source.read_bytes())
    first, second = (privatize_table(asked, table) for _ in range(2))
    assert first.csv != second.csv
    assert first.csv.splitlines()[0] == "text"
    assert list(tmp_path.iterdir()) == [source]


def test_what_is_too_large_missing_or_no_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(("text", "label"), (("w1 w2", "a"), ("w3", "b")))

    def asked(**more: Any) -> None:
        privatize_table(order(tmp_path / "in.csv", tmp_path / "out.csv", **more), table)

    with pytest.raises(StudyError, match="it has no seed"):
        asked(seed=3)
    with pytest.raises(StudyError, match="no column 'words'"):
        asked(columns=Columns("words"), seed=None)
    with pytest.raises(EpsilonError):
        asked(epsilon=-1.0, seed=None)
    check_size(table, "text")
    for name in ("PAGE_RELEASE_ROWS", "PAGE_RELEASE_WORDS"):
        with monkeypatch.context() as patched:
            patched.setattr(in_memory, name, 1)
            with pytest.raises(StudyError, match="at most 1 are released in memory"):
                check_size(table, "text")
