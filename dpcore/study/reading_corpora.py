"""Labelled corpora in parquet files: some texts of a split, drawn by a seed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.learn.labelled import LabelledTexts
from dpcore.learn.packages import need_pandas

if TYPE_CHECKING:
    from pathlib import Path


def labelled_rows(path: Path, split: str, most: int, rng: np.random.Generator) -> LabelledTexts:
    """Some texts of a split with their labels, in random order, without repetitions.

    Args:
        path: parquet with the columns text, label and split.
        split: whose rows are read.
        most: how many; all if there are fewer.
        rng: chooses and orders.

    Raises:
        StudyError: the file is not such a file, or has no such rows.
        CorpusError: the labels cannot be learned from.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    return LabelledTexts.of(*text_rows(path, split, most, rng))


def text_rows(
    path: Path, split: str, most: int, rng: np.random.Generator
) -> tuple[list[str], list[str]]:
    """Texts and the label of each; as `labelled_rows`, but nothing is asked of the labels."""
    part = _rows(path, ["text", "label"], split, most, rng)
    return [str(text) for text in part["text"]], [str(label) for label in part["label"]]


def plain_rows(path: Path, split: str, most: int, rng: np.random.Generator) -> list[str]:
    """Some texts of a split; as `labelled_rows`, without labels."""
    return [str(text) for text in _rows(path, ["text"], split, most, rng)["text"]]


def pair_rows(
    path: Path, split: str, most: int, rng: np.random.Generator
) -> tuple[list[str], list[str], list[str]]:
    """Premises, hypotheses and the label of each pair; as `text_rows`, distinct as pairs."""
    pair = ["premise", "hypothesis"]
    part = _rows(path, [*pair, "label"], split, most, rng, pair)
    premises, hypotheses, labels = (part[name].astype(str).tolist() for name in (*pair, "label"))
    return premises, hypotheses, labels


def _rows(
    path: Path,
    columns: list[str],
    split: str,
    most: int,
    rng: np.random.Generator,
    distinct: str | list[str] = "text",
) -> Any:
    frame = _kept_columns(path, (*columns, "split"))
    frame = frame[frame["split"] == split].dropna(subset=columns).drop_duplicates(distinct)
    if not len(frame):
        raise StudyError(f"{path} has no rows of the split {split!r}")
    # All rows are permuted, so that a larger sample of a seed begins with the smaller one.
    return frame.iloc[rng.permutation(len(frame))[:most]]


def read_columns(path: Path, columns: tuple[str, ...]) -> Any:
    """The columns of a parquet file, as a table of pandas.

    Raises:
        StudyError: the file is not such a file.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    pd = need_pandas("reading a corpus needs")
    try:
        return pd.read_parquet(path, columns=list(columns))
    except (OSError, ValueError):
        raise StudyError(
            f"{path} is not a parquet file with the columns {', '.join(columns)}"
        ) from None


_kept_columns = functools.lru_cache(maxsize=2)(read_columns)  # for the next cell of a worker
