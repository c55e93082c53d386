"""Posteriors, odds and success against Bayes' rule written out on a small vocabulary."""

import dataclasses
import math
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.attack.output.channel import Likelihood, open_channel
from dpcore.attack.output.posterior import odds, posterior, posterior_bound, worst_odds
from dpcore.attack.output.prior import Prior, typed_prior, uniform, uniform_over
from dpcore.attack.output.success import bernstein, overall_success
from dpcore.errors import ParameterError
from dpcore.guarantee import PureLocalPrivacy, Status
from dpcore.lexicon.metric import distances
from dpcore.measure.counting import effective_number
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM, assert_law, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(250, 10)
EPSILON = 2.0


@pytest.fixture(scope="module")
def tem() -> TruncatedExponential:
    return cast("TruncatedExponential", create("tem", LEXICON))


@pytest.fixture(scope="module")
def laws(tem: TruncatedExponential) -> NDArray[np.float64]:
    return np.stack([tem.law(w, [EPSILON]).probabilities[0] for w in range(len(LEXICON))])


def given(rows: Any, words: Any = None) -> Likelihood:
    """A likelihood of output 0 from made-up P(y | w)."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(rows, dtype=np.float64))
    words = np.arange(logs.size) if words is None else np.asarray(words)
    return Likelihood(0, 1.0, words, logs, np.zeros(logs.size), "given")


def test_a_posterior_is_bayes_rule_written_out(
    tem: TruncatedExponential, laws: NDArray[np.float64], rng: MakeRng
) -> None:
    channel = open_channel(tem)
    for prior in (uniform(LEXICON), Prior("typed", rng().dirichlet(np.ones(250)), "")):
        belief = posterior(channel.seen(31).at(EPSILON), prior)
        true = prior.probability * laws[:, 31]
        assert belief.log_evidence == pytest.approx(math.log(true.sum()), abs=1e-3)
        true /= true.sum()
        assert np.allclose(belief.probability, true, rtol=math.expm1(belief.error), atol=1e-6)
        assert belief.probability.sum() == pytest.approx(1.0, abs=1e-12)
        assert belief.best == int(true.argmax())
        assert belief.success == pytest.approx(true.max(), rel=2e-3)
        assert belief.perplexity == pytest.approx(math.exp(-(true * np.log(true)).sum()), rel=2e-3)
        assert 0 < belief.error < 5e-3


def test_the_posterior_is_what_is_seen_when_words_are_drawn(
    tem: TruncatedExponential, rng: MakeRng
) -> None:
    """Words from the prior through the sampler: given the output, they have the posterior."""
    prior = uniform_over(LEXICON, ["w3", "w40", "w77", "w200"])
    likelihood = open_channel(tem, prior.support).seen(3).at(EPSILON)
    law = posterior(likelihood, prior).probability[prior.support]
    words = prior.draw(rng(), 200_000)
    outputs = tem.sample(rng(1), words, EPSILON)
    seen = np.searchsorted(prior.support, words[outputs == 3])
    assert seen.size > 200
    assert_law(seen, law)


def test_an_output_that_tells_nothing_leaves_the_prior_as_it_was() -> None:
    prior = Prior("typed", np.array([0.5, 0.3, 0.2]), "")
    belief = posterior(given([1e-200, 1e-200, 1e-200]), prior)
    assert np.allclose(belief.probability, prior.probability, atol=1e-15)
    assert belief.candidate(1).odds_factor == pytest.approx(0.0, abs=1e-12)
    assert [candidate.word for candidate in belief.top(2)] == [0, 1]
    assert [candidate.word for candidate in belief.top(9)] == [0, 1, 2]


def test_the_factor_of_the_odds_does_not_cancel() -> None:
    prior = Prior("typed", np.array([0.5, 0.5]), "")
    belief = posterior(given([1.0, 1e-30]), prior)
    assert belief.candidate(0).odds_factor == pytest.approx(30 * math.log(10), rel=1e-12)
    assert belief.candidate(1).odds_factor == pytest.approx(-30 * math.log(10), rel=1e-12)
    assert belief.perplexity == pytest.approx(1.0)


def test_impossible_words_and_outputs() -> None:
    prior = Prior("typed", np.array([0.0, 0.4, 0.6]), "")
    belief = posterior(given([0.9, 0.1, 0.0]), prior)
    assert belief.probability.tolist() == [0.0, 1.0, 0.0]
    assert [candidate.word for candidate in belief.top(5)] == [1]
    with pytest.raises(ParameterError, match="choose another output"):
        posterior(given([1.0, 0.0, 0.0]), prior)
    with pytest.raises(ParameterError, match="open the channel for the words of the prior"):
        posterior(given([0.5, 0.5], words=[0, 1]), prior)
    rows = belief.rows(lexicons.cloud(3, 2), 3)
    assert rows == [{"word": "w1", "prior": 0.4, "posterior": 1.0, "log_odds_factor": None}]


def test_the_error_covers_laws_that_are_off_by_it(rng: MakeRng) -> None:
    prior = Prior("typed", rng().dirichlet(np.ones(30)), "")
    logs = np.log(rng(1).dirichlet(np.ones(30)))
    errors = rng(2).uniform(0, 0.2, 30)
    words = np.arange(30)
    belief = posterior(Likelihood(0, 1.0, words, logs, errors, ""), prior)
    shown = belief.probability >= 1e-3
    for draw in range(50):
        moved = logs + errors * rng(3, draw).choice([-1, 1], 30)
        other = posterior(Likelihood(0, 1.0, words, moved, 0 * errors, ""), prior)
        gap = np.abs(np.log(other.probability / belief.probability))[shown]
        assert gap.max() <= belief.error + 1e-12


def test_no_posterior_passes_the_bound_of_the_guarantee(
    tem: TruncatedExponential, rng: MakeRng
) -> None:
    channel = open_channel(tem)
    guarantee = tem.guarantee(EPSILON)
    prior = Prior("typed", rng().dirichlet(np.ones(250)), "")
    d = distances(LEXICON.vectors, LEXICON.vectors)
    for output in (0, 9, 100):
        belief = posterior(channel.seen(output).at(EPSILON), prior)
        for word in (output, 5):
            limit = posterior_bound(LEXICON, guarantee, prior, word)
            by_hand = (
                prior.probability[word] / (prior.probability * np.exp(-EPSILON * d[word])).sum()
            )
            assert limit == pytest.approx(by_hand)
            assert belief.probability[word] <= limit
    local = PureLocalPrivacy(epsilon=1.5, status=Status.PROVED, reason="", source="")
    p = prior.probability[7]
    known = math.exp(1.5) * p / (1 + (math.exp(1.5) - 1) * p)
    assert posterior_bound(LEXICON, local, prior, 7) == pytest.approx(known)
    gaussian = create("gaussian", LEXICON).guarantee(1.0)
    assert posterior_bound(LEXICON, gaussian, prior, 7) == 1.0
    assert posterior_bound(LEXICON, local, typed_prior(LEXICON, {"w1": 1.0}), 7) == 0.0


def test_odds_against_the_claim(tem: TruncatedExponential, laws: NDArray[np.float64]) -> None:
    seen = open_channel(tem).seen(8).at(EPSILON)
    guarantee = tem.guarantee(EPSILON)
    logs = np.log(laws[:, 8])
    d = distances(LEXICON.vectors, LEXICON.vectors)
    ratio = odds(LEXICON, seen, guarantee, 8, 120)
    assert ratio.log_ratio == pytest.approx(logs[8] - logs[120], abs=ratio.error)
    assert ratio.claimed == pytest.approx(EPSILON * d[8, 120])
    assert ratio.distance == pytest.approx(d[8, 120])
    assert not ratio.broken
    worst = worst_odds(LEXICON, seen, guarantee, 8)
    with np.errstate(invalid="ignore"):
        share = np.abs(logs[:, None] - logs) / (EPSILON * d)
    # Of all pairs, the worst for this output has the output in it.
    assert worst.used == pytest.approx(np.nanmax(share), rel=2e-3)
    assert worst.used <= 1.0
    with pytest.raises(ParameterError, match="two different words"):
        odds(LEXICON, seen, guarantee, 8, 8)


def test_odds_beyond_a_claim_are_called_so() -> None:
    lexicon = lexicons.line(0.0, 1.0, 5.0)
    claim = PureLocalPrivacy(epsilon=1.0, status=Status.PROVED, reason="", source="")
    seen = given([0.9, 0.1, 0.0])
    assert odds(lexicon, seen, claim, 0, 1).broken
    assert odds(lexicon, seen, claim, 2, 1).broken  # impossible against possible
    unresolved = dataclasses.replace(seen, errors=np.array([0.0, 0.0, 1.0]))
    worst = worst_odds(lexicon, unresolved, claim, 0)
    assert worst.second == 1  # an entry that is not resolved is no evidence
    known = worst_odds(lexicon, seen, claim, 0)
    assert (known.second, known.log_ratio) == (2, math.inf)  # one that is 0 is the best
    assert worst.used == pytest.approx(math.log(9))


def test_success_over_a_list_is_the_sum_over_all_outputs(
    tem: TruncatedExponential, laws: NDArray[np.float64]
) -> None:
    prior = typed_prior(LEXICON, {"w3": 0.5, "w40": 0.3, "w77": 0.2})
    overall = overall_success(open_channel(tem, prior.support), prior, EPSILON)
    joint = prior.probability[[3, 40, 77], None] * laws[[3, 40, 77]]
    assert overall.exact
    assert overall.value == overall.low == overall.high == pytest.approx(joint.max(axis=0).sum())
    assert overall.blind == 0.5
    with pytest.raises(ParameterError, match="not in this channel"):
        overall_success(open_channel(tem, [3]), prior, EPSILON)


def test_success_over_a_lexicon_under_a_uniform_prior_is_exact(
    tem: TruncatedExponential, laws: NDArray[np.float64]
) -> None:
    channel = open_channel(tem)
    for epsilon in (0.3, EPSILON, 6.0):
        rows = np.stack([tem.law(w, [epsilon]).probabilities[0] for w in range(250)])
        true = rows.max(axis=0).sum() / 250
        overall = overall_success(channel, uniform(LEXICON), epsilon)
        assert overall.exact
        assert overall.low <= true <= overall.high
        assert overall.high - overall.low < 5e-3 * true


def test_success_over_a_lexicon_is_estimated_without_bias(
    tem: TruncatedExponential, laws: NDArray[np.float64], rng: MakeRng
) -> None:
    prior = Prior("typed", rng().dirichlet(np.ones(250)), "")
    channel = open_channel(tem)
    true = (prior.probability[:, None] * laws).max(axis=0).sum()
    draws = 4000
    overall = overall_success(channel, prior, EPSILON, outputs=draws, seed=1)
    assert not overall.exact
    assert 0 <= overall.low < overall.value < overall.high <= 1
    # Hoeffding for values between 0 and 1.
    assert abs(overall.value - true) <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * draws))
    again = overall_success(channel, prior, EPSILON, outputs=50, seed=1)
    assert again == overall_success(channel, prior, EPSILON, outputs=50, seed=1)
    for wrong in (1, 10**6):
        with pytest.raises(ParameterError, match="outputs to draw"):
            overall_success(channel, prior, EPSILON, outputs=wrong)


def test_the_interval_covers_as_often_as_it_says(rng: MakeRng) -> None:
    """Of 2,000 intervals at 95 % no more than 5 % miss, but for a chance of 1e-6."""
    missed = 0
    for draw in range(2000):
        mean, margin = bernstein(rng(draw).beta(0.3, 2.0, 60))
        missed += abs(mean - 0.3 / 2.3) > margin
    assert stats.binom.sf(missed - 1, 2000, 0.05) >= FALSE_ALARM


def test_guesses_on_drawn_words_are_right_as_often_as_the_formula_says(
    tem: TruncatedExponential, rng: MakeRng
) -> None:
    prior = uniform(LEXICON)
    channel = open_channel(tem)
    words = prior.draw(rng(), 3000)
    outputs = tem.sample(rng(1), words, 4.0)
    best = {y: posterior(channel.seen(y).at(4.0), prior).best for y in np.unique(outputs).tolist()}
    right = np.mean([best[y] == w for y, w in zip(outputs.tolist(), words.tolist(), strict=True)])
    rows = np.stack([tem.law(w, [4.0]).probabilities[0] for w in range(250)])
    true = rows.max(axis=0).sum() / 250
    assert abs(right - true) <= deviation(3000, true * (1 - true))


def test_perplexity_and_the_effective_number_are_two_measures() -> None:
    """e^H and 1/Σp²: the second is never larger, and each has its own name."""
    belief = posterior(given([0.7, 0.2, 0.1]), Prior("typed", np.full(3, 1 / 3), ""))
    assert belief.perplexity == pytest.approx(
        math.exp(-sum(p * math.log(p) for p in (0.7, 0.2, 0.1)))
    )
    assert effective_number(np.array([[0.7, 0.2, 0.1]]))[0] == pytest.approx(1 / 0.54)
    assert effective_number(np.array([[0.7, 0.2, 0.1]]))[0] < belief.perplexity


def test_a_ratio_where_none_is_allowed_is_the_worst(
    tem: TruncatedExponential, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words at distance 0 need one law: any ratio between them takes up more than all."""
    likelihood = open_channel(tem).seen(3).at(EPSILON)
    guarantee = tem.guarantee(EPSILON)
    far = int(likelihood.words[likelihood.logs.argmin()])

    def allowed(*_: object) -> np.ndarray:
        losses = np.full(len(LEXICON), 100.0)
        losses[far] = 0.0
        return losses

    monkeypatch.setattr("dpcore.attack.output.posterior.promised_losses", allowed)
    ratio = worst_odds(LEXICON, likelihood, guarantee, 3)
    assert (ratio.second, ratio.used) == (far, math.inf)
    assert ratio.broken
