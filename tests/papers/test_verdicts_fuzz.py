"""Distorted verdicts: read, or refused with one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from dpcore.audit.verdict import Verdict
from dpcore.errors import ParameterError
from dpcore.papers.claims import read_recorded, verdicts_file
from tests.fuzzing import answered, damaged, distorted, repeated

WHOLE = json.loads(verdicts_file().read_text(encoding="utf-8"))
WHOLE["verdicts"] = WHOLE["verdicts"][:2]
VERDICTS = json.dumps(WHOLE["verdicts"], ensure_ascii=False)


def test_a_distorted_table_of_verdicts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"

    @repeated(150)
    @given(distorted(WHOLE).map(lambda it: json.dumps(it).encode()) | damaged(VERDICTS.encode()))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        answered(read_recorded, path)

    check()
    for text in ("[" * 100_000, "", "null", "{}", "[]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ParameterError, match="cannot be read"):
            read_recorded(path)


@repeated(150)
@given(distorted(WHOLE["verdicts"][0]))
def test_a_distorted_verdict_is_refused(fields: object) -> None:
    answered(Verdict.from_dict, fields)


@pytest.mark.parametrize("fields", [None, [], {}, 1, {"key": "x"}, {"outcome": "maybe"}])
def test_anything_but_a_verdict_is_refused(fields: Any) -> None:
    with pytest.raises(ParameterError, match="no verdict"):
        Verdict.from_dict(fields)
