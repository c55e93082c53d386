"""The teaching corpus as an experiment: its splits, and its plan."""

import numpy as np

from dpcore.learn.corpus import LABELLINGS, teaching_corpus
from dpcore.papers.ours.teaching import ARMS, STUDY, divided
from dpcore.papers.studies import EXPERIMENTS
from tests.fixtures import MakeRng

PLAN = STUDY.plan


def test_both_labellings_are_of_the_same_texts_divided_alike(rng: MakeRng) -> None:
    result = divided(rng())
    corpus = teaching_corpus()
    assert set(result) == set(LABELLINGS)
    (train, test), (other_train, other_test) = result.values()
    assert train.texts == other_train.texts
    assert test.texts == other_test.texts
    assert sorted([*train.texts, *test.texts]) == sorted(corpus.texts)
    assert (len(train), len(test)) == (1_008, 432)
    for parts in result.values():
        for part in parts:
            assert np.ptp(np.bincount(part.labels)) <= 1
    labels = dict(zip(corpus.texts, corpus.topic, strict=True))
    topics = result["topic"][0]
    assert [topics.classes[i] for i in topics.labels.tolist()] == [labels[t] for t in topics.texts]


def test_another_trial_divides_otherwise() -> None:
    rngs = [PLAN.cells()[0].shared_generator("split") for _ in range(2)]
    first, again = (divided(rng)["topic"][0].texts for rng in rngs)
    last = divided(PLAN.cells()[-1].shared_generator("split"))["topic"][0].texts
    assert first == again
    assert first != last


def test_it_is_an_experiment_without_a_data_folder() -> None:
    experiment = EXPERIMENTS["teaching-corpus"]
    assert experiment.plan == PLAN
    assert not experiment.reads_data
    assert next(iter(EXPERIMENTS)) == "teaching-corpus"
    assert len({len(arm.epsilons) for arm in ARMS if arm.mechanism}) == 1
