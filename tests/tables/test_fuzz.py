"""No private word leaves, whatever table is given."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import repeated
from tests.tables.fuzz import check


@pytest.mark.slow
def test_no_private_word_leaves_an_odd_table(tmp_path: Path) -> None:
    outcomes: list[str] = []

    @repeated(200)
    @given(st.integers(0, 2**32))
    def one(seed: int) -> None:
        outcomes.append(check(seed, tmp_path))

    one()
    assert {"released", "refused"} <= set(outcomes)
