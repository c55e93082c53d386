"""The least protected words against all laws."""

import numpy as np
import pytest
from scipy import stats

from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import Prior, uniform
from dpcore.attack.output.success import exposure
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.registry import create
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(260, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tem", "tem-calibrated", "truncated-gumbel-repaired"])
def test_every_word_is_looked_at(name: str, rng: MakeRng) -> None:
    mechanism = create(name, LEXICON)
    epsilon = max(2.0, 1.2 * mechanism.admissible.low)
    channel = open_channel(mechanism)
    laws = np.stack([mechanism.law(w, [epsilon]).probabilities[0] for w in range(260)])
    assert np.allclose(channel.staying(epsilon), np.diag(laws), rtol=2e-3)
    prior = Prior("typed", rng().dirichlet(np.ones(260)), "")
    exposed = exposure(channel, epsilon, prior, count=3)
    order = np.argsort(-np.diag(laws))
    assert [entry.word for entry in exposed.worst] == order[:3].tolist()
    assert [entry.word for entry in exposed.best] == order[::-1][:3].tolist()
    near = distances(LEXICON.vectors, LEXICON.vectors) + np.diag(np.full(260, np.inf))
    gaps = near.min(axis=1)
    for entry in (*exposed.worst, *exposed.best):
        joint = prior.probability * laws[:, entry.word]
        assert entry.believed == pytest.approx(joint[entry.word] / joint.sum(), rel=5e-3)
        assert entry.nearest == pytest.approx(gaps[entry.word], rel=1e-6)
        assert entry.lonelier == pytest.approx((gaps < gaps[entry.word] * (1 - 1e-7)).mean())
    assert exposed.correlation == pytest.approx(
        stats.spearmanr(np.diag(laws), gaps).statistic, abs=5e-3
    )
    assert [row["group"] for row in exposed.rows(mechanism)] == ["worst"] * 3 + ["best"] * 3


def test_a_list_of_words_does_for_the_others() -> None:
    mechanism = create("truncated-gumbel", LEXICON)
    epsilon = 50 * mechanism.admissible.low
    with pytest.raises(ParameterError, match="list the words"):
        open_channel(mechanism).staying(epsilon)
    words = [3, 50, 120, 121]
    channel = open_channel(mechanism, words)
    true = [mechanism.law(w, [epsilon]).probability(w) for w in words]
    assert np.allclose(channel.staying(epsilon), true)
    prior = Prior("list", np.isin(np.arange(260), words) / 4, "")
    exposed = exposure(channel, epsilon, prior, count=50)
    assert len(exposed.worst) == len(exposed.best) == 4
    assert exposed.worst[0].stays == pytest.approx(max(true))


def test_words_that_all_stay_have_no_order() -> None:
    channel = open_channel(create("tem", lexicons.line(0.0, 1.0, 2.0, 3.0)))
    assert np.isnan(exposure(channel, 1e5, uniform(lexicons.line(0, 1, 2, 3))).correlation)
    for wrong in (0, 101):
        with pytest.raises(ParameterError, match="words to show"):
            exposure(channel, 1.0, uniform(lexicons.line(0, 1, 2, 3)), count=wrong)


def test_no_output_of_tem_gives_a_word_away_more_than_itself(rng: MakeRng) -> None:
    tem = create("tem", LEXICON)
    prior = rng().dirichlet(np.ones(260))
    for epsilon in (0.5, 2.0, 5.0):
        joint = prior[:, None] * np.stack(
            [tem.law(w, [epsilon]).probabilities[0] for w in range(260)]
        )
        after = joint / joint.sum(axis=0)
        assert np.all(np.diag(after) >= after.max(axis=1) * (1 - 1e-12))
