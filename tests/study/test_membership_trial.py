"""A trial of membership inference on toy quarters: an overfitted model is found out."""

from typing import Any

import numpy as np
import pytest

from dpcore.attack.membership import Answers, AttackNetwork, Knowledge, auc, train_attacker
from dpcore.learn.classifiers import learner_of, train
from dpcore.learn.corpus import Bags
from dpcore.noise.streams import generator
from dpcore.study.labelled_trial import (
    AS_WRITTEN,
    QUARTERS,
    ROC_RATES,
    STRONGER,
    MembershipTrial,
)
from dpcore.study.plan import Prepared
from tests.chance import FALSE_ALARM
from tests.mechanisms import lexicons

TEXTS, WORDS, N = 250, 15, 2_000


@pytest.fixture(scope="module")
def quarters() -> dict[str, Prepared]:
    """Labels that nothing explains: a model that gets them right was trained on them."""
    rng = np.random.default_rng(11)
    return {
        name: Prepared(
            Bags(rng.integers(N, size=TEXTS * WORDS), np.arange(TEXTS + 1) * WORDS, N),
            rng.integers(2, size=TEXTS),
        )
        for name in QUARTERS
    }


def rows_of(
    quarters: dict[str, Prepared], target: Bags, shadow: Bags, epsilon: float | None
) -> dict[Any, Any]:
    lexicon = lexicons.cloud(N, 4)
    rows = MembershipTrial(quarters, "tf-idf", 0, lexicon).rows(target, shadow, epsilon)
    return {(r["quantity"], r["variant"], r["tested_on"], r["at"]): r for r in rows}


SLACK = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * TEXTS))


def test_a_model_that_remembers_gives_its_texts_away(quarters: dict[str, Prepared]) -> None:
    clean = quarters["TR1"].bags, quarters["TE2"].bags
    rows = rows_of(quarters, *clean, None)
    assert rows["accuracy on what it learned", "", "clean", None]["value"] > 0.95
    for variant in (AS_WRITTEN, STRONGER):
        assert rows["auc", variant, "", None]["value"] > 0.5 + SLACK
        curve = [rows["roc", variant, "", rate]["value"] for rate in ROC_RATES]
        assert np.all(np.diff(curve) >= 0)
        assert curve[-1] == 1.0
    few = rows["tpr", STRONGER, "", 0.01]
    assert few["low"] <= few["value"] <= few["high"]
    assert few["count"] == TEXTS
    assert rows["majority", "", "clean", None]["value"] >= 0.3


def test_a_model_of_other_texts_does_not(quarters: dict[str, Prepared]) -> None:
    rng = np.random.default_rng(12)
    target, shadow = (
        quarters[n].bags.with_words(rng.integers(N, size=TEXTS * WORDS)) for n in ("TR1", "TE2")
    )
    rows = rows_of(quarters, target, shadow, 1.0)
    for variant in (AS_WRITTEN, STRONGER):
        assert abs(rows["auc", variant, "", None]["value"] - 0.5) < SLACK
    assert ("majority", "", "clean", None) not in rows
    assert rows["accuracy", "", "private", None]["epsilon"] == 1.0


def test_what_is_shared_by_all_epsilon_changes_nothing(quarters: dict[str, Prepared]) -> None:
    """The plain twin: a trial of its own for each ε, and the attack without what is kept."""
    rng = np.random.default_rng(13)
    lexicon = lexicons.cloud(N, 4)
    trial = MembershipTrial(quarters, "tf-idf", 0, lexicon)
    for epsilon in (1.0, 2.0):
        texts: Any = [
            quarters[n].bags.with_words(rng.integers(N, size=TEXTS * WORDS)) for n in ("TR1", "TE2")
        ]
        alone = MembershipTrial(quarters, "tf-idf", 0, lexicon)
        before, after = texts
        again = list(alone.rows(before, after, epsilon))
        assert list(trial.rows(before, after, epsilon)) == again

        def model(bags: Bags, part: str) -> Any:
            labels = quarters[part].labels
            seeds = generator(0, "learner", "tf-idf", part)
            return train(learner_of("tf-idf"), bags, labels, lexicon.vectors, seeds)

        def answers(of: Any, part: str) -> Answers:
            return Answers(of.probabilities(quarters[part].bags), quarters[part].labels)

        target, shadow = model(texts[0], "TR1"), model(quarters["TE2"].bags, "TE2")
        attacker = train_attacker(
            AttackNetwork(Knowledge.OUTPUT),
            (answers(shadow, "TE2"), answers(shadow, "TE1")),
            generator(0, "attack", "tf-idf", AS_WRITTEN),
        )
        scores = attacker.scores((answers(target, "TR1"), answers(target, "TR2")))
        rows = {
            (r["quantity"], r["variant"]): r["value"] for r in alone.rows(before, after, epsilon)
        }
        assert rows["auc", AS_WRITTEN] == auc(scores)
