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


def certain(rules: Game) -> float:
    """Success of the Bayes attacker on one output: (1/k) Σ_y max_w P(y|w)."""
    n = len(rules.mechanism.lexicon)
    laws = [rules.mechanism.law(w, [rules.epsilon]).dense(n)[0] for w in rules.candidates]
    return float(np.max(laws, axis=0).sum() / len(laws))


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
    expected = certain(rules)
    # Hoeffding: two-sided.
    margin = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * ROUNDS))
    assert abs(wins / ROUNDS - expected) <= margin
    assert expected - margin > 1 / 3  # chance would be seen
    long_run = rules.long_run
    margin = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * long_run.rounds))
    share, low, high = long_run.right
    assert abs(share - expected) <= margin
    assert low < share < high


def test_the_long_run_counts_the_rounds_that_show_the_secret() -> None:
    rules = game(releases=3)
    stays = np.mean([
        rules.mechanism.law(w, [rules.epsilon]).probability(w) for w in rules.candidates
    ])  # fmt: skip
    share, *_ = rules.long_run.shown
    margin = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * rules.long_run.rounds))
    # At least one of three outputs: between the largest of the chances and their sum.
    assert stays - margin <= share <= 3 * stays + margin


def test_the_secret_is_drawn_alike(rng: MakeRng) -> None:
    rules, stream = game(), rng()
    counts = np.bincount([rules.deal(stream).secret for _ in range(ROUNDS)], minlength=3)
    margin = math.sqrt(math.log(2 * 3 / FALSE_ALARM) / (2 * ROUNDS))
    assert np.abs(counts / ROUNDS - 1 / 3).max() <= margin


def test_no_noise_is_no_game_and_much_noise_is_chance() -> None:
    assert game(1e4).long_run.right[0] == pytest.approx(1.0, abs=1e-2)  # TEM: a far word with β
    _, low, high = game(1e-6).long_run.right
    assert low < 1 / 3 < high


def test_more_outputs_tell_more() -> None:
    once, often = game(0.5).long_run, game(0.5, releases=20).long_run
    assert often.right[1] > once.right[2]


def test_without_a_law_the_nearest_candidate_is_named() -> None:
    rules = game(5.0, short="hyperbolic")
    assert not rules.by_bayes
    for word in rules.candidates:
        judgement = rules.judge((word, word))
        assert rules.candidates[judgement.guess] == word
        assert judgement.posterior is None
        assert judgement.error is None
        assert judgement.distance.min() == 0.0


@pytest.mark.slow
def test_an_estimated_posterior_is_bayes_rule_within_its_error(rng: MakeRng) -> None:
    """Plain twin: the laws of few words, counted in a million draws."""
    words = lexicons.cloud(12, 3)
    mechanism = create("madlib", words)
    rules = Game(mechanism, 1.5, (0, 4, 7), 3)
    draws = 300_000
    laws = [
        np.bincount(mechanism.sample(rng(), np.full(draws, w), 1.5), minlength=12) / draws
        for w in rules.candidates
    ]
    stream = rng()
    for _ in range(10):
        outputs = rules.deal(stream).outputs
        judgement = rules.judge(outputs)
        assert judgement.posterior is not None
        assert judgement.error is not None
        weights = np.array([math.prod(law[y] for y in outputs) for law in laws])
        assert judgement.posterior.sum() == pytest.approx(1.0)
        assert (judgement.error > 0).all()
        off = np.abs(judgement.posterior - weights / weights.sum())
        # Six standard errors, and what the count of the twin itself may be off.
        assert (off <= 6 * judgement.error + 0.02).all()


def test_the_posterior_is_estimated_the_same_every_time() -> None:
    first, second = (game(2.0, 2, "madlib").judge((3, 20)) for _ in range(2))
    assert first.posterior == pytest.approx(second.posterior, abs=0)


@pytest.mark.parametrize("short", ["tem", "madlib"])
def test_the_opening_can_be_reasoned(rng: MakeRng, short: str) -> None:
    rules = game(1.0, 3, short)
    opening = rules.opening(rng())
    assert opening.telling
    secret = rules.candidates[opening.secret]
    assert secret not in opening.outputs
    vectors = rules.mechanism.lexicon.vectors.astype(float)
    for output in opening.outputs:
        away = [float(np.linalg.norm(vectors[output] - vectors[w])) for w in rules.candidates]
        assert int(np.argmin(away)) == opening.secret
    assert rules.opening(rng()) == opening


def test_an_opening_that_shows_the_secret_is_an_ordinary_round(rng: MakeRng) -> None:
    opening = game(100.0, 3, "k-ary").opening(rng())
    assert not opening.telling
    assert len(opening.outputs) == 3


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
