"""Sums of guaranteed losses against a loop over the places."""

import math

import numpy as np
import pytest

from dpcore.attack.budget import budget
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(60, 5)
D = distances(LEXICON.vectors, LEXICON.vectors)


def test_metric_losses_add_up_over_places_and_releases() -> None:
    tem = create("tem", LEXICON)
    text, other = [3, 7, 3, 9], [4, 7, 8, 1]
    total = budget(tem, text, 2.0, others=other, releases=5)
    assert total.other_loss == pytest.approx(
        5 * sum(2.0 * D[a, b] for a, b in zip(text, other, strict=True))
    )
    near = D + np.diag(np.full(60, np.inf))
    assert total.nearest_loss == pytest.approx(5 * sum(2.0 * near[a].min() for a in text))
    assert [(entry.word, entry.places, entry.releases) for entry in total.words] == [
        (3, 2, 10), (7, 1, 5), (9, 1, 5)
    ]  # fmt: skip
    assert total.words[0].nearest == int(near[3].argmin())
    assert total.words[1].other_loss == 0.0
    assert total.tokens == 4
    assert total.log_delta is None
    assert "20 protected words" in total.statement
    assert total.status == "proved"
    farthest = budget(tem, text, 2.0)
    assert farthest.other_loss == pytest.approx(sum(2.0 * D[a].max() for a in text))
    assert farthest.words[1].other == int(D[7].argmax())
    assert farthest.rows(tem)[0]["word"] == "w3"


def test_a_metric_of_its_own_is_used() -> None:
    tem = create("tem", LEXICON, {"metric": "manhattan"})
    far = distances(LEXICON.vectors, LEXICON.vectors, Metric.MANHATTAN)
    assert budget(tem, [1], 1.5, others=[2]).other_loss == pytest.approx(1.5 * far[1, 2])


def test_local_losses_count_places() -> None:
    laplace = create("laplace", LEXICON)
    total = budget(laplace, [1, 1, 2], 0.5, releases=2)
    assert total.nearest_loss == total.other_loss == pytest.approx(3.0)
    assert total.nearest_success == pytest.approx(1 / (1 + math.exp(-3.0)))
    gaussian = create("gaussian", LEXICON)
    both = budget(gaussian, [1, 2], 0.5, releases=3)
    assert both.log_delta == pytest.approx(math.log(6e-5))


def test_refusals() -> None:
    tem = create("tem", LEXICON)
    for words, keywords, message in (
        ([], {}, "1 to 200 words, got 0"),
        ([1] * 201, {}, "got 201"),
        ([1], {"releases": 0}, "releases must be"),
        ([1, 2], {"others": [1]}, "must have 2 words as well, got 1"),
        ([60], {}, "word indices"),
    ):
        with pytest.raises(ParameterError, match=message):
            budget(tem, words, 1.0, **keywords)
    with pytest.raises(EpsilonError):
        budget(tem, [1], 0.0)
