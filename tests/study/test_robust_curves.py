"""Curves of records with networks, from a small table with known content."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpcore.study.plan import row
from dpcore.study.robust_curves import (
    CONSTANT,
    MEASURED,
    TRAININGS,
    allowed_curve,
    constant_line,
    interval_curves,
    refuted_at,
    rewriting_curves,
    training_curves,
)
from dpcore.study.tables import tidy


def record(rows: list[dict[str, float | str | None]]) -> Any:
    table = tidy(rows)
    return SimpleNamespace(table=table, rows=lambda q: table[table["quantity"] == q])


def placed(
    label: str, epsilon: float | None, *rows: dict[str, float | str | None], seed: int = 0
) -> list[dict[str, float | str | None]]:
    common: dict[str, Any] = {"label": label, "mechanism": label, "lexicon": "l"}
    common |= {"data": "d", "seed": seed}
    return [row | common | {"epsilon": epsilon} for row in rows]


def accuracy(share: float, learner: str, tested_on: str = "clean") -> dict[str, float | str | None]:
    return row("accuracy", share, learner=learner, tested_on=tested_on, count=10)


def attacked(share: float, learner: str) -> dict[str, float | str | None]:
    return row(
        "adversarial accuracy", share, learner=learner, variant="paper's attack",
        low=share - 0.1, high=share + 0.1, count=10,
    )  # fmt: skip


RECORD: Any = record(
    [
        *placed("", None, accuracy(0.9, "normal"), accuracy(0.8, "ibp"), row("majority", 0.55)),
        *placed("madlib", 1.0, attacked(0.2, "normal"), attacked(0.6, "ibp")),
        *placed("madlib", 5.0, attacked(0.5, "normal"), accuracy(0.7, "augmented")),
        *placed("truncated-gumbel", math.e**4, attacked(0.3, "normal")),
    ]
)


def test_accuracies_after_an_attack_have_their_intervals() -> None:
    points = training_curves(RECORD, "madlib", "paper")
    normal = points[points["curve"] == TRAININGS["normal"]]
    assert normal["x"].tolist() == [1.0, 5.0]
    assert normal["mean"].tolist() == [0.2, 0.5]
    assert normal["low"].tolist() == pytest.approx([0.1, 0.4])
    assert points[points["curve"] == TRAININGS["ibp"]]["x"].tolist() == [1.0]
    assert set(points["mechanism"]) == {""}


def test_what_knows_no_mechanism_is_drawn_at_every_epsilon() -> None:
    points = training_curves(RECORD, "madlib", "clean")
    assert points[points["curve"] == TRAININGS["augmented"]]["mean"].tolist() == [0.7]
    # Only ε at which something was measured with the mechanism: that of augmented training.
    assert points[points["curve"] == TRAININGS["normal"]]["x"].tolist() == [5.0]
    assert points[points["curve"] == TRAININGS["normal"]]["mean"].tolist() == [0.9]


def test_large_epsilons_are_read_as_logarithms() -> None:
    points = training_curves(RECORD, "truncated-gumbel", "paper")
    assert points["x"].tolist() == pytest.approx([4.0])


def test_a_constant_answer_is_drawn_from_end_to_end() -> None:
    result = constant_line(RECORD, training_curves(RECORD, "madlib", "paper"))
    assert result["x"].tolist() == [1.0, 5.0]
    assert result["mean"].tolist() == [0.55, 0.55]
    assert set(result["curve"]) == {CONSTANT}


def test_nothing_measured_gives_no_row() -> None:
    for measured in MEASURED:
        assert len(training_curves(RECORD, "tem", measured)) == 0


def test_means_over_seeds_and_computed_bounds() -> None:
    rows = [
        entry
        for seed, share in enumerate((0.2, 0.4))
        for entry in placed("laplace, d′ = 9", 2.0, row("nw", share), row("nw_bound", share),
                          seed=seed)
    ]  # fmt: skip
    result = record(rows)
    means, bounds = rewriting_curves(result, "nw"), interval_curves(result, "nw_bound")
    for curve in (means, bounds):
        assert curve["curve"].tolist() == ["laplace"]
        assert curve["mean"].tolist() == pytest.approx([0.3])
    assert means["low"].notna().all()
    assert bounds["low"].isna().all()


def test_a_success_above_what_its_claim_allows_refutes_it_if_every_seed_says_so() -> None:
    rows = []
    for seed, low in enumerate((0.3, 0.15)):
        for epsilon, bound in ((1.0, 0.1), (2.0, 0.2)):
            result = row("bayes", low + 0.05, low=low, high=low + 0.1)
            claim = row("first_bound", bound, variant="claimed", count=60)
            true = row("first_bound", 0.9, variant="true", count=60)
            rows += placed("adept", epsilon, result, claim, true, seed=seed)
            rows += placed(
                "laplace", epsilon, row("bayes", 0.01, low=0.0, high=0.02), claim, seed=seed
            )
    recorded = record(rows)
    assert refuted_at(recorded, "bayes", "d", "adept") == (1.0,)
    assert refuted_at(recorded, "bayes", "d", "laplace") == ()
    curve = allowed_curve(recorded, "d")
    assert curve["x"].tolist() == [1.0, 2.0]
    assert curve["mean"].tolist() == pytest.approx([0.1, 0.2])
