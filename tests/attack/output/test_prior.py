"""Priors: accepted laws, and refusals with their reasons."""

import numpy as np
import pytest

from dpcore.attack.output.prior import (
    Prior,
    frequency,
    mix_priors,
    of_hundred,
    parse_prior,
    typed_prior,
    uniform,
    uniform_over,
)
from dpcore.errors import ParameterError, UnknownWordError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

# Counts out of a hundred: their sum, their distance from the shares, and what is refused.


def test_counts_sum_to_the_things_and_keep_within_one(rng: MakeRng) -> None:
    for size in (1, 2, 7, 100, 400):
        shares = rng().dirichlet(np.full(size, 0.3))
        counts = of_hundred(shares)
        assert counts.sum() == 100
        assert np.abs(counts - 100 * shares).max() < 1


@pytest.mark.parametrize(
    ("shares", "counts"),
    [
        ([1.0], [100]),
        ([0.5, 0.5], [50, 50]),
        ([1 / 3, 1 / 3, 1 / 3], [34, 33, 33]),
        ([0.994, 0.006], [99, 1]),
        ([0.996, 0.004], [100, 0]),
        ([0.0, 1.0], [0, 100]),
    ],
)
def test_known_counts(shares: list[float], counts: list[int]) -> None:
    assert of_hundred(shares).tolist() == counts


def test_another_number_of_things() -> None:
    assert of_hundred([0.26, 0.74], 10).tolist() == [3, 7]


@pytest.mark.parametrize("bad", [[], [0.5, 0.4], [1.5, -0.5], [np.nan, 1.0], [[1.0]], [np.inf]])
def test_anything_but_a_distribution_is_refused(bad: list[float]) -> None:
    with pytest.raises(ParameterError):
        of_hundred(bad)


def test_nothing_to_divide_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1 thing"):
        of_hundred([1.0], 0)


LEXICON = lexicons.cloud(300, 6)


def test_a_typed_prior_holds_what_was_typed_and_nothing_else() -> None:
    prior = parse_prior(LEXICON, "w3 = 0.25, w0=0.75 ,")
    assert prior.support.tolist() == [0, 3]
    assert prior.probability[[0, 3]].tolist() == [0.75, 0.25]
    assert prior.logs[1] == -np.inf
    assert "w3" not in prior.sentence  # typed words stay out of texts that may be kept


def test_a_typed_prior_may_be_rounded_but_not_wrong() -> None:
    thirds = typed_prior(LEXICON, {"w0": 0.333333, "w1": 0.333333, "w2": 0.333333})
    assert thirds.probability.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(ParameterError, match=r"sum to 1, got 0.9: change one of them by \+0.1"):
        parse_prior(LEXICON, "w0=0.5, w1=0.4")
    with pytest.raises(ParameterError, match=r"got 1.2.*-0.2"):
        parse_prior(LEXICON, "w0=0.8, w1=0.4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds 1 to 200 words, got 0"),
        ("w0", "part 1 of the prior is not of the form"),
        ("w0=half, w1=0.5", "part 1 of the prior is not of the form"),
        ("w0=0.5, =0.5", "part 2 of the prior is not of the form"),
        ("w0=nan, w1=1", "part 1"),
        ("w0=inf", "part 1"),
        ("w0=-0.5, w1=1.5", "from 0 to 1, got -0.5 for word 1"),
        ("w0=0.5, w1=0.25, w0=0.25", "part 3 of the prior names a word a second time"),
        ("w0=0.5, garage", "part 2"),
    ],
)
def test_a_wrong_prior_is_refused_with_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_prior(LEXICON, text)


def test_unknown_words_are_refused() -> None:
    with pytest.raises(UnknownWordError, match="'nobody'"):
        parse_prior(LEXICON, "w0=0.5, nobody=0.5")
    with pytest.raises(UnknownWordError):
        uniform_over(LEXICON, ["w0", "nobody"])


def test_a_list_of_words_is_uniform_on_it() -> None:
    assert np.array_equal(
        parse_prior(LEXICON, "w5, w2").probability, uniform_over(LEXICON, ["w2", "w5"]).probability
    )
    with pytest.raises(ParameterError, match=f"{MAX_ATTACK_PRIOR_WORDS} words, got 201"):
        uniform_over(LEXICON, LEXICON.words[: MAX_ATTACK_PRIOR_WORDS + 1])


def test_a_mixture_moves_from_one_prior_to_the_other() -> None:
    first, second = uniform(LEXICON), typed_prior(LEXICON, {"w7": 1.0})
    assert np.array_equal(mix_priors(first, second, 0.0).probability, first.probability)
    assert np.array_equal(mix_priors(first, second, 1.0).probability, second.probability)
    half = mix_priors(first, second, 0.5).probability
    assert half[7] == pytest.approx(0.5 + 0.5 / 300)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ParameterError, match="share"):
            mix_priors(first, second, share)
    with pytest.raises(ParameterError, match="same lexicon"):
        mix_priors(first, uniform(lexicons.cloud(5, 2)), 0.5)


def test_no_prior_is_made_that_is_not_a_law() -> None:
    for wrong in ([0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [[1.0]]):
        with pytest.raises(ParameterError):
            Prior("typed", np.array(wrong), "")


def test_words_are_drawn_from_it(rng: MakeRng) -> None:
    law = rng().dirichlet(np.ones(40)) * (np.arange(40) % 3 > 0)
    law /= law.sum()
    assert_law(Prior("typed", law, "").draw(rng(1), 20_000), law)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_frequency_is_a_mixture(share: float) -> None:
    lexicon = Lexicon("counted", ("the", "doctor", "garage"), lexicons.cloud(3, 4).vectors)
    parsed = parse_prior(lexicon, f"Frequency:{share}")
    parts = uniform(lexicon).probability, frequency(lexicon).probability
    assert parsed.probability == pytest.approx((1 - share) * parts[0] + share * parts[1])


@pytest.mark.parametrize("text", ["frequency:", "frequency:much", "frequency:2", "frequency:nan"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    lexicon = Lexicon("counted", ("the", "doctor", "garage"), lexicons.cloud(3, 4).vectors)
    with pytest.raises(ParameterError, match="share"):
        parse_prior(lexicon, text)
