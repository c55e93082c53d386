"""k-ary randomised response: its law by hand, its path, its guarantee; the contract is elsewhere.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import uniform
from dpcore.attack.output.success import overall_success
from dpcore.audit.exact import audit_mechanism
from dpcore.audit.report import audit_report
from dpcore.mechanisms.registry import create
from dpcore.noise.discrete import Digits
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 12
LEXICON = lexicons.cloud(N, 3)
MECHANISM = create("k-ary", LEXICON)


def by_hand(n: int, word: int, epsilon: float) -> np.ndarray:
    law = np.full(n, 1.0 / (math.exp(epsilon) + n - 1))
    law[word] = math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    return law


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 2.5, 30.0])
def test_the_law_is_the_formula(epsilon: float) -> None:
    law = MECHANISM.law(4, [epsilon]).dense(N)[0]
    np.testing.assert_allclose(law, by_hand(N, 4, epsilon), rtol=1e-14)
    np.testing.assert_allclose(np.exp(MECHANISM.log_law(4, epsilon)), law, rtol=1e-13)
    grouped = MECHANISM.grouped_law(4, np.array([epsilon]), None)  # type: ignore[arg-type]
    assert grouped is not None
    stays, values, counts = grouped
    assert stays[0] == law[4]
    assert (values * counts).sum() == pytest.approx(1.0)


def test_logarithms_do_not_underflow() -> None:
    logs = MECHANISM.log_law(0, 5_000.0)
    assert (logs[0], logs[1]) == (0.0, -5_000.0)
    assert MECHANISM.law(0, [5_000.0]).probabilities.tolist() == [[1.0] + [0.0] * (N - 1)]


def test_draws_have_the_law_and_so_have_paths(rng: MakeRng) -> None:
    draws, grid = 30_000, np.array([0.5, 2.0, 4.0])
    words = np.full(draws, 7)
    on_paths = MECHANISM.paths(rng(1), words).at(grid)
    for i, epsilon in enumerate(grid):
        assert_law(MECHANISM.sample(rng(), words, epsilon), by_hand(N, 7, epsilon))
        assert_law(on_paths[:, i], by_hand(N, 7, epsilon))


def test_a_path_leads_from_one_other_word_to_the_word(rng: MakeRng) -> None:
    paths = MECHANISM.paths(rng(), np.arange(N).repeat(50))
    for i, word in enumerate(paths.words.tolist()):
        pieces = paths.pieces(i)
        assert pieces[-1].output == word
        assert pieces[0].from_epsilon == 0.0
        assert len(pieces) <= 2
        if len(pieces) == 2:
            assert pieces[0].output != word
            assert pieces[0].to_epsilon == pieces[1].from_epsilon > 0


@pytest.mark.parametrize("epsilon", [0.7, 6.0, 900.0])
def test_units_are_whole_and_every_word_can_come_out(epsilon: float) -> None:
    """The stored weights are those of e^(−ε) to its last bit, also where float64 holds none."""
    from dpcore.mechanisms.response import _shifts

    weights = _shifts(N, epsilon)
    owned = np.diff(np.append(0, weights.steps.astype(object)))
    assert min(owned) >= 1
    assert owned[0] == 1 << weights.k
    if epsilon < 100:
        assert weights._width(3, 64) == Fraction(math.exp(-epsilon)) * (1 << weights.k)
    # Digits that lead just past the word's own units settle on another word.
    past = (int(weights.steps[0]) << 64) // int(weights.steps[-1]) + 1
    assert weights.settle(past, Digits(np.random.default_rng(0))) < N


@pytest.mark.parametrize("epsilon", [0.2, 3.0, 40.0])
def test_every_pair_spends_all_of_epsilon(epsilon: float) -> None:
    """All outputs of all pairs by the plain audit, and the search that stands for it."""
    promise = MECHANISM.guarantee(epsilon)
    assert promise.loss(1e-9) == promise.loss(1e9) == epsilon
    assert 0 < promise.rounding.loss < 1e-14
    plain = audit_mechanism(MECHANISM, epsilon, words=np.arange(N)).losses
    whole = audit_mechanism(MECHANISM, epsilon).losses
    for audit in (plain, whole):
        assert audit.holds
        assert audit.epsilon_effective == pytest.approx(epsilon, rel=1e-13)
    assert audit_report(MECHANISM, epsilon).label == "proved"


def test_the_attacker_over_a_whole_lexicon_is_right_as_often_as_the_word_stays() -> None:
    lexicon = lexicons.cloud(300, 3)  # more words than a list may hold
    mechanism, epsilon = create("k-ary", lexicon), 5.0
    channel = open_channel(mechanism)
    seen = channel.seen(9).at(epsilon)
    np.testing.assert_allclose(np.exp(seen.logs), by_hand(300, 9, epsilon), rtol=1e-12)
    success = overall_success(channel, uniform(lexicon), epsilon)
    assert success.low <= by_hand(300, 0, epsilon)[0] <= success.high
