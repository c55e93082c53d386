"""Paper against measurement, figure by figure: what is said, what is measured, and why they differ.

Nothing that is measured is typed here: every number of ours is read from the recorded result, or
computed from the formula that it is about.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from dpcore.papers.carvalho2021.comparison import carvalho_rows
from dpcore.papers.habernal2021.comparison import adept_rows
from dpcore.papers.huang2024 import (
    autoencoder_comparison,
    deniability_comparison,
    utility_comparison,
)
from dpcore.papers.row import Row
from dpcore.papers.xu2021.comparison import figure_rows as xu_figure_rows
from dpcore.papers.xu2021.training_comparison import training_rows
from dpcore.study.reading import Figures

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dpcore.study.recorded import Recorded

_COMPARED: dict[str, Callable[[Figures], tuple[Row, ...]]] = {
    "xu2021-figure-1-imdb": xu_figure_rows,
    "xu2021-figure-1-snli": xu_figure_rows,
    "xu2021-tables-2-3-imdb": training_rows,
    "xu2021-tables-2-3-snli": training_rows,
    "huang2024-figure-2-yelp": deniability_comparison.figure_rows,
    "huang2024-figure-5-yahoo": deniability_comparison.figure_rows,
    "huang2024-figure-4-sst2": utility_comparison.accuracy_rows,
    "huang2024-figure-4-agnews": utility_comparison.accuracy_rows,
    "huang2024-tables-yelp": utility_comparison.table_rows,
    "huang2024-autoencoder-yelp": autoencoder_comparison.autoencoder_rows,
    "huang2024-autoencoder-yahoo": autoencoder_comparison.autoencoder_rows,
    "huang2024-autoencoder-noise-yelp": autoencoder_comparison.noise_rows,
    "carvalho2021-figure-1": carvalho_rows,
    "adept2021-atis-snips": adept_rows,
}
"""By the name of the study; one that is not here reproduces no paper."""


def compare(recorded: Recorded) -> tuple[Row, ...]:
    """The rows of a recorded study; empty for a study that reproduces no paper.

    Raises:
        StudyError: the result lacks a curve or an ε that is compared.
    """
    rows = _COMPARED.get(recorded.entry.name)
    return rows(Figures(recorded)) if rows else ()


def comparison_table(recorded: Recorded) -> pd.DataFrame:
    """The rows as a table with the columns of `Row`."""
    import pandas as pd

    columns = [field.name for field in fields(Row)]
    return pd.DataFrame([asdict(row) for row in compare(recorded)], columns=columns)
