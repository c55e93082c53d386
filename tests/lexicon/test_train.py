"""The trainer from beginning to end, on a toy text; its parts are tested in train/."""

import dataclasses
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import LexiconError, MissingPackageError, ParameterError
from dpcore.lexicon.train import vectors as encoder
from dpcore.lexicon.train import vocabulary
from dpcore.lexicon.train.run import RECORDED, TrainingPlan, train
from dpcore.lexicon.train.sources import Source
from dpcore.optional import installed
from tests.fixtures import MakeRng
from tests.lexicon.train.toy import toy_source


@pytest.fixture
def texts(tmp_path: Path, rng: MakeRng) -> tuple[Path, tuple[Source, Source]]:
    """A folder with a toy text and a toy dictionary, and the sources that read it."""
    draw = rng()
    words = [
        f"{a}{b}" for a in ("ba", "do", "ki", "mu", "re") for b in ("fan", "gol", "lin", "ted")
    ]
    lines = [" ".join(draw.choice(words, size=12)) for _ in range(300)]
    pd.DataFrame({"text": lines}).to_parquet(tmp_path / "toy.parquet")
    pd.DataFrame({"members": words, "gloss": "a word", "lexfile": "noun.act"}).to_parquet(
        tmp_path / "words.parquet"
    )
    dictionary = toy_source(name="oewn", file="words.parquet", read=lambda frame: iter(()))
    return tmp_path, (toy_source(), dictionary)


def small_plan(**changes: Any) -> TrainingPlan:
    plan = TrainingPlan(
        name="toy",
        selection=vocabulary.Selection(words=15),
        dimensions=4,
        svd_dimensions=6,
        shift=0.0,
        encoder=False,
        nearest_distance=2.5,
    )
    return dataclasses.replace(plan, **changes)


def test_a_run_is_complete_scaled_and_the_same_twice(
    texts: tuple[Path, tuple[Source, Source]],
) -> None:
    folder, sources = texts
    stages: Counter[str] = Counter()
    manifest = train(
        small_plan(),
        folder,
        folder / "a",
        lambda stage, done, total: stages.update([stage]),
        sources=sources,
    )
    train(small_plan(), folder, folder / "b", sources=sources)
    names = {"vectors.npy", "words.txt", "manifest.json"}
    assert {path.name for path in (folder / "a").iterdir()} == names
    for name in names:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()

    words = (folder / "a" / "words.txt").read_text().split("\n")
    vectors = np.load(folder / "a" / "vectors.npy", allow_pickle=False)
    assert manifest == json.loads((folder / "a" / "manifest.json").read_text())
    assert (len(words), vectors.shape, vectors.dtype) == (15, (15, 4), np.float16)
    assert manifest["median_nearest_distance"] == pytest.approx(2.5, rel=1e-3)
    assert manifest["plan"]["window"] == 5
    assert set(stages) == {
        "reading texts",
        "choosing words",
        "counting",
        "factorising",
        "joining",
    } - {"reading texts"}  # a text this short is read between two reports


def test_an_absent_text_is_named(texts: tuple[Path, tuple[Source, Source]]) -> None:
    folder, sources = texts
    (folder / "toy.parquet").unlink()
    with pytest.raises(LexiconError, match=r"the training text toy\.parquet"):
        train(small_plan(), folder, folder / "a", sources=sources)


def test_a_missing_package_is_named_with_the_command(
    texts: tuple[Path, tuple[Source, Source]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, sources = texts
    monkeypatch.setattr(encoder, "PACKAGE", "no_such_package")
    with pytest.raises(
        MissingPackageError, match=r"pip install -r dpcore/lexicon/train/requirements\.txt"
    ):
        train(small_plan(encoder=True), folder, folder / "a", sources=sources)
    assert not (folder / "a").exists()


def test_versions_hold_what_is_installed() -> None:
    assert installed(RECORDED)["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"encoder_weight": math.nan}, "encoder_weight must be a finite number > 0, got nan"),
        ({"nearest_distance": math.inf}, "nearest_distance must be a finite number > 0, got inf"),
        ({"shift": math.nan}, "shift must be finite, got nan"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"selection": vocabulary.Selection(words=1)}, "words must be at least 2, got 1"),
        ({"encoder": False, "dimensions": 301}, "at most svd_dimensions"),
    ],
)
def test_a_plan_out_of_range_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TrainingPlan(**changes)
