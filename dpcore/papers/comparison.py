"""Paper against measurement, figure by figure: what is said, what is measured, and why they differ.

Nothing that is measured is typed here: every number of ours is read from the recorded result, or
computed from the formula that it is about.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcore.papers.huang2024.deniability_comparison import huang_rows
from dpcore.papers.row import Row
from dpcore.papers.xu2021.comparison import xu_rows

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.results import Recorded

__all__ = ["Row", "compare", "comparison_table"]


def compare(recorded: Recorded) -> tuple[Row, ...]:
    """The rows of a recorded study; empty for a study that reproduces no paper.

    Raises:
        StudyError: the result lacks a curve or an ε that is compared.
    """
    name = recorded.entry.name
    if name.startswith("xu2021-"):
        return xu_rows(recorded)
    if name.startswith("huang2024-"):
        return huang_rows(recorded)
    return ()


def comparison_table(recorded: Recorded) -> pd.DataFrame:
    """The rows as a table with the columns of `Row`."""
    import pandas as pd

    columns = list(Row.__dataclass_fields__)
    return pd.DataFrame([asdict(row) for row in compare(recorded)], columns=columns)
