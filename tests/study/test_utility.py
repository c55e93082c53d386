"""Trials of utility: rows, shared parts of a draw, and refusals of corpora."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import CorpusError, StudyError
from dpcore.guarantee import Status
from dpcore.learn.corpus import bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.study.plan import CLEAN, COLUMNS, PRIVATE, Prepared, prepare, row
from dpcore.study.utility import (
    EQUAL_COLUMNS,
    LOSS,
    at_equal,
    baseline,
    loss_sentence,
    losses,
    private,
    trial,
)
from dpcore.study.vocabularies import labelled_rows, plain_rows
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng
from tests.study import toy_corpus

NAMES = ("averaged", "tf-idf")


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return toy_corpus.lexicon()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus.write(tmp_path_factory.mktemp("toy") / "toy.parquet")


@pytest.fixture(scope="module")
def parts(path: Path, lexicon: Lexicon) -> tuple[Prepared, Prepared]:
    rng = np.random.default_rng(1)
    train = prepare(labelled_rows(path, "train", 200, rng), lexicon, 8)
    return train, prepare(labelled_rows(path, "test", 200, rng), lexicon, 8)


def test_rows_have_the_columns_and_no_others() -> None:
    result = row("auc", np.float64(0.5), learner="averaged")
    assert set(result) <= set(COLUMNS)
    assert result["value"] == 0.5
    assert result["low"] is None
    with pytest.raises(KeyError, match="colour"):
        row("auc", 0.5, colour="red")


def test_the_baseline_learns_and_guesses(
    parts: tuple[Prepared, Prepared], lexicon: Lexicon
) -> None:
    result = list(baseline(*parts, lexicon, NAMES, 0))
    values = {(row["quantity"], row["learner"]): row["value"] for row in result}
    assert values["majority", ""] == 0.5
    assert all(values["accuracy", name] > 0.8 for name in NAMES)
    assert all(row["tested_on"] == CLEAN and row["epsilon"] is None for row in result)


def test_a_trial_without_noise_is_the_baseline_and_with_much_is_a_guess(
    parts: tuple[Prepared, Prepared], lexicon: Lexicon
) -> None:
    result = list(trial(*parts, create("madlib", lexicon), (1e-6, 1e6), NAMES, 0))
    shares = {
        (row["tested_on"], row["learner"], row["epsilon"]): row["value"]
        for row in result
        if row["quantity"] == "accuracy"
    }
    before = {row["learner"]: row["value"] for row in baseline(*parts, lexicon, NAMES, 0)}
    for name in NAMES:
        assert shares[CLEAN, name, 1e6] == pytest.approx(before[name], abs=0.1)
        # Private tests without a trace of their words: Hoeffding on a guess.
        slack = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * toy_corpus.TEXTS))
        assert abs(shares[PRIVATE, name, 1e-6] - 0.5) < slack
    kept = {row["epsilon"]: row["value"] for row in result if row["quantity"] == "nw"}
    assert kept[1e-6] < 0.2
    assert kept[1e6] == 1.0  # the unknown words come last and are cut off
    assert {row["tested_on"] for row in result} == {CLEAN, PRIVATE, ""}


def test_one_draw_holds_for_a_seed_and_parts_share_it(
    parts: tuple[Prepared, Prepared], lexicon: Lexicon
) -> None:
    mechanism = create("tem", lexicon)
    bags = [part.bags for part in parts]
    first = private(mechanism, bags, (1.0, 3.0), 5)
    assert [len(texts) for texts in first] == [2, 2]
    again = private(mechanism, bags, (1.0, 3.0), 5)
    other = private(mechanism, bags, (1.0, 3.0), 6)
    assert np.array_equal(first[1][0].words, again[1][0].words)
    assert not np.array_equal(first[1][0].words, other[1][0].words)
    assert first[0][0].offsets.tolist() == bags[0].offsets.tolist()


def test_a_corpus_is_read_by_split_without_repetitions(
    path: Path, tmp_path: Path, rng: MakeRng
) -> None:
    result = labelled_rows(path, "train", 50, rng())
    assert len(result) == 50
    assert all("unheard train" in text for text in result.texts)
    assert labelled_rows(path, "train", 50, rng()).texts == result.texts
    assert len(plain_rows(path, "test", 500, rng())) == toy_corpus.TEXTS
    with pytest.raises(StudyError, match="no rows of the split 'dev'"):
        labelled_rows(path, "dev", 50, rng())
    with pytest.raises(CorpusError, match="at least 5 texts"):
        labelled_rows(path, "train", 4, rng())
    (tmp_path / "no.parquet").write_bytes(b"text,label")
    with pytest.raises(StudyError, match="not a parquet file with the columns text, label"):
        labelled_rows(tmp_path / "no.parquet", "train", 5, rng())
    pd.DataFrame({"text": ["a"]}).to_parquet(tmp_path / "few.parquet")
    with pytest.raises(StudyError, match="not a parquet file"):
        labelled_rows(tmp_path / "few.parquet", "train", 5, rng())


def test_bags_are_cut(parts: tuple[Prepared, Prepared], lexicon: Lexicon) -> None:
    assert parts[0].bags.lengths.max() == 8
    assert bags_of(["w1 w2 w3"], lexicon, 2).words.tolist() == [1, 2]


# Equal privacy: joined curves, known losses, and statements about the others.


def rows(
    label: str,
    quantity: str,
    values: dict[float, float],
    seeds: tuple[int, ...] = (0, 1),
    **more: Any,
) -> list[dict[str, Any]]:
    return [
        row(quantity, value + 0.01 * seed, epsilon=epsilon, **more)
        | {"label": label, "mechanism": label, "lexicon": "toy", "data": "", "seed": seed}
        for epsilon, value in values.items()
        for seed in seeds
    ]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    tested: dict[str, Any] = {"learner": "averaged", "tested_on": "private"}
    proved: dict[str, Any] = {"seeds": (0,), "variant": str(Status.PROVED)}
    refuted: dict[str, Any] = proved | {"variant": str(Status.REFUTED)}
    result = [
        *rows("madlib", "accuracy", {1.0: 0.5, 9.0: 0.8}, **tested),
        *rows("tem", "accuracy", {1.0: 0.6, 2.0: 0.7}, **tested),
        *rows("gaussian", "accuracy", {5.0: 0.55}, **tested),
        *rows("trlaplace", "accuracy", {5.0: 0.75}, **tested),
        *rows("madlib", "nw", {1.0: 0.1, 9.0: 0.9}),
        *rows("tem", "nw", {1.0: 0.3}),
        *rows("madlib", "claimed_loss", {1.0: 10.0, 9.0: 90.0}, **proved),
        *rows("tem", "claimed_loss", {1.0: 10.0, 2.0: 20.0}, **proved),
        *rows("tem", "true_epsilon", {1.0: 0.6}, seeds=(0,), variant="computed"),
        *rows("gaussian", "claimed_loss", {5.0: 5.0}, **proved),
        *rows("trlaplace", "claimed_loss", {5.0: 5.0}, **refuted),
    ]
    return pd.DataFrame(result)[list(COLUMNS)]


ACCURACY = ("accuracy", {"learner": "averaged", "tested_on": "private"})


def test_two_quantities_are_joined_at_the_same_epsilon(table: pd.DataFrame) -> None:
    result = at_equal(table, ("nw", {}), ACCURACY)
    assert tuple(result.columns) == EQUAL_COLUMNS
    points = {(r.curve, r.epsilon): (r.x, r.mean) for r in result.itertuples()}
    assert points == {
        ("madlib", 1.0): pytest.approx((0.105, 0.505)),
        ("madlib", 9.0): pytest.approx((0.905, 0.805)),
        ("tem", 1.0): pytest.approx((0.305, 0.605)),
    }
    assert result["trials"].tolist() == [2, 2, 2]


def test_a_computed_loss_goes_before_a_claimed_one_and_a_refuted_claim_is_none(
    table: pd.DataFrame,
) -> None:
    known: Any = {(r.curve, r.epsilon): r.loss for r in losses(table).itertuples()}
    assert known["madlib", 9.0] == 90.0
    assert known["tem", 1.0] == pytest.approx(6.0)  # 0.6 / 1 of the claimed 10
    assert known["tem", 2.0] == 20.0
    assert known["gaussian", 5.0] == 5.0
    assert pd.isna(known["trlaplace", 5.0])
    drawn = at_equal(table, (LOSS, {}), ACCURACY)
    assert set(drawn["curve"]) == {"madlib", "tem", "gaussian"}


def test_it_is_said_what_is_unknown_and_what_has_a_delta(table: pd.DataFrame) -> None:
    message = loss_sentence(table)
    assert "(the guarantee is refuted): trlaplace." in message
    assert "Together with a δ: gaussian." in message
    without = table[~table["label"].isin(["gaussian", "trlaplace"])]
    assert loss_sentence(without) == ""


def test_no_measure_of_privacy_gives_no_points(table: pd.DataFrame) -> None:
    assert not len(at_equal(table, ("auc", {}), ACCURACY))
    assert not len(at_equal(table[table["quantity"] == "accuracy"], (LOSS, {}), ACCURACY))
