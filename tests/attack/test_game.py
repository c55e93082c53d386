"""The guessing game: the attacker against brute force, its long run by play, refusals."""

import math

import numpy as np
import pytest

from dpcore.attack.game import Game
from dpcore.errors import EpsilonError, ParameterError
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

ROUNDS = 4000


def game(epsilon: float = 1.0, releases: int = 1, short: str = "tem") -> Game:
    return Game(create(short, lexicons.cloud(60, 4)), epsilon, (3, 17, 40), releases)


def plain_posterior(rules: Game, outputs: tuple[int, ...]) -> list[float]:
    """Bayes' rule, one probability at a time."""
    laws = [rules.mechanism.law(w, [rules.epsilon]) for w in rules.candidates]
    weights = [math.prod(law.probability(y) for y in outputs) for law in laws]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("releases", [1, 3])
def test_the_posterior_is_bayes_rule(rng: MakeRng, releases: int) -> None:
    rules = game(releases=releases)
    stream = rng()
    for _ in range(20):
        dealt = rules.deal(stream)
        assert len(dealt.outputs) == releases
        judgement = rules.judge(dealt.outputs)
        assert judgement.posterior == pytest.approx(
            plain_posterior(rules, dealt.outputs), abs=1e-12
        )
        assert judgement.guess == int(np.argmax(judgement.posterior))


@pytest.mark.slow
def test_the_long_run_is_what_play_gives(rng: MakeRng) -> None:
    rules, stream = game(), rng()
    wins = sum(
        rules.judge(dealt.outputs).guess == dealt.secret
        for dealt in (rules.deal(stream) for _ in range(ROUNDS))
    )
    expected = rules.long_run()
    assert expected is not None
    # Hoeffding: two-sided.
    margin = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * ROUNDS))
    assert abs(wins / ROUNDS - expected) <= margin
    assert expected - margin > 1 / 3  # chance would be seen


def test_the_secret_is_drawn_alike(rng: MakeRng) -> None:
    rules, stream = game(), rng()
    counts = np.bincount([rules.deal(stream).secret for _ in range(ROUNDS)], minlength=3)
    margin = math.sqrt(math.log(2 * 3 / FALSE_ALARM) / (2 * ROUNDS))
    assert np.abs(counts / ROUNDS - 1 / 3).max() <= margin


def test_no_noise_is_no_game_and_much_noise_is_chance() -> None:
    assert game(1e4).long_run() == pytest.approx(1.0, abs=1e-2)  # TEM: a far word with β
    assert game(1e-6).long_run() == pytest.approx(1 / 3, abs=1e-5)


def test_more_outputs_tell_more(rng: MakeRng) -> None:
    once, often, stream = game(0.5).long_run(), game(0.5, releases=20), rng()
    assert once is not None
    dealt = [often.deal(stream) for _ in range(1000)]
    right = sum(often.judge(deal.outputs).guess == deal.secret for deal in dealt) / 1000
    # Hoeffding, one-sided: 20 outputs are better even at the unlucky end of 1000 rounds.
    assert right - math.sqrt(math.log(1 / FALSE_ALARM) / (2 * 1000)) > once


def test_without_a_law_the_nearest_candidate_is_named() -> None:
    rules = game(short="madlib")
    for word in rules.candidates:
        judgement = rules.judge((word, word))
        assert rules.candidates[judgement.guess] == word
        assert judgement.posterior is None
        assert judgement.distance.min() == 0.0
    assert rules.long_run() is None
    assert game(releases=2).long_run() is None


def test_an_output_that_no_candidate_explains_leaves_all_alike() -> None:
    words = lexicons.line(*np.arange(40.0))
    far = Game(create("truncated-gumbel", words), 1e5, (0, 1))
    judgement = far.judge((39,))
    assert judgement.posterior is not None
    assert judgement.posterior.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("candidates", "releases", "message"),
    [
        ((1,), 1, "2 to 12 different words, got 1"),
        (tuple(range(13)), 1, "got 13"),
        ((1, 2, 1), 1, "no word twice"),
        ((1, 2), 0, "1 to 20 times, got 0"),
        ((1, 2), 21, "1 to 20 times, got 21"),
        ((1, 60), 1, "0..59"),
    ],
)
def test_rules_without_a_game_are_refused(
    candidates: tuple[int, ...], releases: int, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Game(create("tem", lexicons.cloud(60, 4)), 1.0, candidates, releases)


def test_epsilon_and_outputs_are_checked() -> None:
    with pytest.raises(EpsilonError):
        game(math.nan)
    with pytest.raises(ParameterError, match="at least one output"):
        game().judge(())
    with pytest.raises(ParameterError, match=r"0\.\.59"):
        game().judge((-1,))
