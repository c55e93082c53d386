"""The recorded auto-encoders: statements of the comparison, as inequalities."""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.papers.huang2024.plans import (
    EPSILONS,
    EQUAL,
    NETWORK_TASK,
    NOISELESS,
    equal_label,
    noiseless,
    printed,
)
from dpcore.papers.studies import EXPERIMENTS
from dpcore.study.autoencoder_trial import ANY, LENGTH, LIKELIEST, NEAREST, NETWORK
from dpcore.study.recorded import read_recorded
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import baseline, curves

NAMES = [name for name, experiment in EXPERIMENTS.items() if experiment.plan.task == NETWORK_TASK]
CLEAN = [name for name in NAMES if "-noise-" not in name]


def lexicon_of(name: str) -> str:
    return EXPERIMENTS[name].plan.lexicons[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_larger_epsilon_keeps_no_fewer_words(name: str) -> None:
    table, plan = read_recorded(name).table, EXPERIMENTS[name].plan
    assert set(table["variant"]) >= {"proved", "refuted"}
    for lexicon in plan.lexicons:
        for learner in (NETWORK, NEAREST):
            kept = curves(table, "nw", lexicon=lexicon, learner=learner)
            for _, rows in kept.groupby("curve"):
                assert rows["trials"].min() == len(plan.seeds)
                assert np.all(np.diff(rows["mean"]) > -0.01)


@pytest.mark.parametrize("name", NAMES)
def test_no_one_passes_the_bound_on_every_decoder(name: str) -> None:
    """By chance alone at most: a bound is for the mean, and a cell has 500 places or more."""
    table = read_recorded(name).table
    keys = ["label", "epsilon", "lexicon", "seed"]
    bound = chosen(table, "nw_bound", learner=ANY).set_index(keys)["value"]
    for quantity, learner in (("nw", NETWORK), ("nw", NEAREST), ("nw_likeliest", LIKELIEST)):
        rows = chosen(table, quantity, learner=learner)
        rows = rows[rows["epsilon"].notna()]
        assert (rows["count"] >= 400).all()
        # Hoeffding with 400 places: 0.14 is passed with probability below 1e-6.
        slack = np.sqrt(math.log(1e6) / (2 * rows["count"].to_numpy(dtype=float)))
        reached = rows.set_index(keys)["value"]
        assert (reached <= bound.loc[reached.index] + slack).all()


@pytest.mark.parametrize("name", CLEAN)
def test_without_noise_the_sentence_comes_back_and_with_the_papers_noise_nothing(name: str) -> None:
    table, lexicon = read_recorded(name).table, lexicon_of(name)
    where = {"lexicon": lexicon, "learner": NETWORK}
    whole = baseline(table, "rouge1_recall", lexicon=lexicon, learner=NEAREST).mean
    clean = baseline(table, "rouge1_recall", **where).mean
    assert clean > 0.97 * whole > 0.7
    assert baseline(table, "rouge1_recall", lexicon=lexicon, learner=LENGTH).mean < 0.15
    points = curves(table, "rouge1_recall", **where)
    assert points[points["epsilon"] <= 20]["mean"].max() < 0.12
    assert points[points["epsilon"] == 1000]["mean"].min() > 0.5


@pytest.mark.parametrize("name", CLEAN)
def test_the_law_of_trlaplace_gives_words_away(name: str) -> None:
    table = read_recorded(name).table
    words = dict(EXPERIMENTS[name].plan.options)["vocabulary"]
    points: Any = curves(table, "nw_likeliest", lexicon=lexicon_of(name), learner=LIKELIEST)
    points = points.set_index(["curve", "epsilon"])["mean"]
    assert points["trlaplace", 0.05] > 20 * math.exp(0.05) / words
    assert points["laplace", 0.05] < points["trlaplace", 0.05] / 4
    near: Any = curves(table, "nw", lexicon=lexicon_of(name), learner=NEAREST)
    near = near.set_index(["curve", "epsilon"])["mean"]
    for epsilon in EQUAL:  # at equal true privacy Gaussian noise keeps more
        assert near[equal_label(epsilon), epsilon] > 4 * near["trlaplace", epsilon]


@pytest.mark.parametrize("corpus", NOISELESS)
def test_the_papers_trlaplace_is_its_row_without_noise(corpus: str) -> None:
    for quantity, least in (("rouge1_recall", 0.01), ("loss", 0.2)):
        values = printed(corpus, quantity, "trlaplace")
        assert tuple(values) == EPSILONS
        assert max(abs(v - noiseless(corpus, quantity)) for v in values.values()) <= least
    for curve in ("laplace", "gaussian-classical"):
        assert printed(corpus, "loss", curve)[0.05] > math.log(10_000)
