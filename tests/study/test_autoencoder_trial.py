"""Texts that an auto-encoder writes from a toy corpus: limits, splits, one network."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import TextError
from dpcore.learn import autoencoder as autoencoder_training
from dpcore.papers.huang2024 import plans as huang2024
from dpcore.papers.huang2024.plans import EPSILONS
from dpcore.study import autoencoder_trial
from dpcore.study.autoencoder_trial import (
    ANY,
    LENGTH,
    LIKELIEST,
    NEAREST,
    NETWORK,
    measure_autoencoder,
    sentences_of,
)
from dpcore.study.plan import Arm, Plan, Row
from dpcore.study.runner import gather
from tests import needs
from tests.study import toy_corpus

needs.torch()

CLIP = (("clip_norm", 1.0),)
OPTIONS = (
    ("splits", ("train", "test")), ("vocabulary", 70), ("words", (3, 15)), ("train", 100),
    ("test", 30), ("attacked", 10), ("hidden", 8), ("norm", 1.0), ("epochs", 3), ("batch", 16),
    ("rate", 0.02),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    autoencoder_trial._material.cache_clear()
    autoencoder_trial._trained.cache_clear()


@pytest.fixture
def rows_of(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    def rows(*arms: Any, **options: Any) -> list[dict[str, Any]]:
        every = tuple((dict(OPTIONS) | options).items())
        task = huang2024.NETWORK_TASK
        plan = Plan("toy", task, arms, ("toy",), ("toy.parquet",), (0,), every, together=True)
        files = {"toy.parquet": toy_corpus.write(tmp_path / "toy.parquet")}
        sources = gather(plan, tmp_path, lexicons={"toy": toy_corpus.lexicon()}, files=files)
        return [
            row | {"label": c.label}
            for c in plan.cells()
            for row in measure_autoencoder(c, sources)
        ]

    return rows


def value(rows: list[Row], quantity: str, learner: str, epsilon: float | None = None) -> float:
    result = [
        row["value"]
        for row in rows
        if (row["quantity"], row["learner"], row["epsilon"]) == (quantity, learner, epsilon)
    ]
    assert len(result) == 1
    return result[0]


def test_sentences_are_cut_and_stand_once() -> None:
    texts = ["one two three. four five! six", "four five!", "a b c d e", "3.5 is no end? it is not"]
    assert sentences_of(texts, 2, 4) == ["one two three.", "four five!", "3.5 is no end?",
                                         "it is not"]  # fmt: skip


def test_without_noise_and_without_anything(rows_of: Callable[..., list[dict[str, Any]]]) -> None:
    rows = rows_of(Arm(""))
    known = value(rows, "nw", NEAREST)
    assert 0.7 < known < 1.0  # each text has two words that the toy lexicon lacks
    assert value(rows, "nw", NETWORK) <= known
    assert value(rows, "nw", LENGTH) <= value(rows, "guess", ANY) + 0.15
    assert value(rows, "loss", LENGTH) > value(rows, "loss", NETWORK)
    assert 0 < value(rows, "guess", ANY) < 1
    assert not any(row["quantity"] == "cpu_seconds" for row in rows)


def test_little_noise_is_none_and_much_noise_is_much(
    rows_of: Callable[..., list[dict[str, Any]]],
) -> None:
    rows = rows_of(Arm(""), Arm("laplace", (1e-9, 1e12), CLIP))
    for quantity in ("nw", "rouge1", "bleu"):
        for learner in (NETWORK, NEAREST):
            least, most = (value(rows, quantity, learner, e) for e in (1e-9, 1e12))
            assert least < 0.6 * most
    assert value(rows, "nw", NETWORK, 1e12) == pytest.approx(value(rows, "nw", NETWORK), abs=0.1)
    assert value(rows, "nw_bound", ANY, 1e12) == 1.0
    guess = value(rows, "guess", ANY)
    assert value(rows, "nw_bound", ANY, 1e-9) == pytest.approx(guess, abs=1e-4)


def test_the_cut_of_trlaplace_is_used_by_one_who_knows_it(
    rows_of: Callable[..., list[dict[str, Any]]],
) -> None:
    rows = rows_of(Arm("trlaplace", (0.05,), CLIP))
    assert value(rows, "nw_bound", ANY, 0.05) == 1.0  # no bound: its support moves with the word
    assert value(rows, "nw_likeliest", LIKELIEST, 0.05) > 0.0


def test_one_network_serves_every_arm(
    rows_of: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    real = autoencoder_training.train

    def counted(*arguments: Any, **more: Any) -> Any:
        trained.append(more["noise"])
        return real(*arguments, **more)

    monkeypatch.setattr(autoencoder_trial, "train", counted)
    arms = (Arm(""), Arm("laplace", (1.0, 2.0), CLIP), Arm("gaussian", (1.0,), CLIP))
    rows = rows_of(*arms)
    assert trained == [None]
    assert {row["learner"] for row in rows} == {NETWORK, LENGTH, NEAREST, LIKELIEST, ANY}
    noisy = Arm("laplace", (1.0, 50.0), CLIP, options=(("noise_in_training", True),))
    result = rows_of(noisy, timed=True)
    assert [network is None for network in trained] == [True, False, False]
    assert value(result, "cpu_seconds", NETWORK, 50.0) > 0


def test_a_sentence_that_is_public_is_not_tested(
    rows_of: Callable[..., list[dict[str, Any]]],
) -> None:
    with pytest.raises(TextError, match="no sentence"):
        rows_of(Arm(""), splits=("train", "train"))


def test_the_plans_are_the_papers() -> None:
    plan = huang2024.NETWORKS[0].plan
    arms = [arm for arm in plan.arms if arm.name.startswith("trlaplace") and "corr" not in arm.name]
    assert sorted(e for arm in arms for e in arm.epsilons) == list(EPSILONS)
    assert [huang2024.total_of(e) for e in (0.05, 5.0, 10.0, 20.0)] == [
        300, 300, 500, 1700,
    ]  # fmt: skip
    # Computed exactly in the audit of Theorem 3.
    deltas = [huang2024.true_delta(e) for e in (0.05, 5.0)]
    assert deltas == pytest.approx([0.987, 0.843], abs=2e-3)
    assert set(dict(arms[0].settings)) == {"clip_norm", "delta_root", "dummy_dimensions"}
    for study in huang2024.NETWORKS:
        assert "3,000 most frequent words" in study.sizes
