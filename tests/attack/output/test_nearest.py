"""The nearest-neighbour attacker against exact laws and against drawn outputs."""

import math

import numpy as np
import pytest

from dpcore.attack.output.nearest import nearest_guess, nearest_success
from dpcore.attack.output.prior import typed_prior, uniform
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(300, 8)
D = distances(LEXICON.vectors, LEXICON.vectors)


def test_a_list_is_guessed_from_by_distance() -> None:
    for output in range(20):
        true = min((7, 40, 112), key=lambda w: D[w, output])
        assert nearest_guess(LEXICON, output, [112, 7, 40]) == true
    line = lexicons.line(0.0, 1.0, 2.0)
    assert nearest_guess(line, 1, [2, 0]) == 0
    with pytest.raises(ParameterError, match="at least one"):
        nearest_guess(LEXICON, 3, [])


def test_an_exact_law_gives_an_exact_success() -> None:
    tem = create("tem", LEXICON)
    prior = typed_prior(LEXICON, {"w3": 0.6, "w9": 0.4})
    chance = nearest_success(tem, prior, [0.5, 3.0])
    assert chance.exact
    assert not chance.drawn
    assert not chance.error.any()
    for e, epsilon in enumerate((0.5, 3.0)):
        true = 0.0
        for word, weight in ((3, 0.6), (9, 0.4)):
            law = tem.law(word, [epsilon]).probabilities[0]
            right = (D[3] <= D[9]) if word == 3 else (D[9] < D[3])
            true += weight * law[right].sum()
        assert chance.value[e] == pytest.approx(true, abs=1e-12)


def test_an_estimate_agrees_with_drawn_outputs(rng: MakeRng) -> None:
    madlib = create("madlib", LEXICON)
    words = {"w3": 0.5, "w9": 0.25, "w200": 0.25}
    prior = typed_prior(LEXICON, words)
    chance = nearest_success(madlib, prior, [4.0])
    assert not chance.exact
    draws = 4000
    secret = prior.draw(rng(), draws)
    outputs = madlib.sample(rng(1), secret, 4.0)
    guesses = np.array([nearest_guess(LEXICON, y, [3, 9, 200]) for y in outputs.tolist()])
    share = float((guesses == secret).mean())
    # 200 directions of values in [0, 1] (Hoeffding) and the draws (Bernstein), half a false alarm.
    allowed = math.sqrt(math.log(4 / FALSE_ALARM) / (2 * 200))
    allowed += float(deviation(draws, share * (1 - share), FALSE_ALARM / 2))
    assert abs(share - chance.value[0]) <= allowed
    assert 0 < chance.error[0] < 0.1


def test_all_words_are_tried_by_a_sample_that_says_so() -> None:
    tem = create("tem", LEXICON)
    chance = nearest_success(tem, uniform(LEXICON), [2.0], words=100, seed=3)
    assert chance.drawn
    assert chance.exact
    assert chance.words <= 100
    stays = np.array([tem.law(w, [2.0]).stay()[0] for w in range(300)])
    assert abs(chance.value[0] - stays.mean()) <= deviation(100, stays.var())
    assert chance.error[0] > 0


def test_refusals() -> None:
    tem = create("tem", LEXICON)
    with pytest.raises(ParameterError, match="words to draw"):
        nearest_success(tem, uniform(LEXICON), [1.0], words=1)
    with pytest.raises(EpsilonError):
        nearest_success(tem, uniform(LEXICON), [-1.0])
