"""Equal privacy: what is joined, which losses are known, and what is said of the others."""

from typing import Any

import pandas as pd
import pytest

from dpcore.guarantee import Status
from dpcore.study.rows import COLUMNS, row
from dpcore.study.utility_calibrated import EQUAL_COLUMNS, LOSS, at_equal, loss_sentence, losses


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
