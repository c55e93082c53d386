"""The ε of a level of leakage: found where it can be computed, and said where there is none."""

import math

import numpy as np
import pytest

from dpcore.attack.trade.attackers import from_laws, measure_from_pairs
from dpcore.attack.trade.ground import Ground
from dpcore.attack.trade.levels import Outputs, epsilons_at, first_epsilons
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import silent
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM
from tests.mechanisms import lexicons

N = 120
SHARES = (0.05, 0.1, 0.25)
MET = 0.02  # relative: the search stops within a hundredth of a level, of laws that are computed
WHOLE = Outputs(columns=N, laws=N, draws=3_000)


def test_randomised_response_has_its_levels_in_closed_form() -> None:
    """Bayes names the word that came out: e^ε/(e^ε + n − 1) of the words."""
    levels = epsilons_at(create("k-ary", lexicons.cloud(N, 5)), SHARES, outputs=WHOLE)
    for level, share in zip(levels, SHARES, strict=True):
        assert (level.share, level.why) == (share, "")
        odds = math.exp(level.epsilon or 0.0)
        assert odds / (odds + N - 1) == pytest.approx(share, rel=MET)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tem", "santext", "truncated-gumbel"])
def test_where_laws_are_computed_the_share_at_the_found_epsilon_is_the_level(name: str) -> None:
    """Of truncated Gumbel noise the share is that of one who repeats: a lower bound."""
    mechanism = create(name, lexicons.cloud(N, 5))
    for level in epsilons_at(mechanism, SHARES, outputs=WHOLE):
        if level.epsilon is None:
            assert "at the least ε" in level.why
            continue
        if name == "truncated-gumbel":
            laws = [mechanism.law(word, [level.epsilon]).dense(N)[0, word] for word in range(N)]
            assert np.mean(laws) == pytest.approx(level.share, rel=MET)
        else:
            (share,), _ = from_laws(mechanism, np.array([level.epsilon]))
            assert share == pytest.approx(level.share, rel=MET)


@pytest.mark.parametrize("name", ["madlib", "gaussian"])
def test_where_outputs_are_drawn_other_noise_finds_the_level_again(name: str) -> None:
    """Search and check both count: each comparison fails once in 10⁶ by chance."""
    mechanism = create(name, lexicons.cloud(N, 5))
    ground, count = Ground.of(mechanism.lexicon, pairs=2, seed=0), 20_000
    z = 4.9
    assert math.erfc(z / math.sqrt(2.0)) <= FALSE_ALARM
    for level in epsilons_at(mechanism, SHARES, outputs=WHOLE):
        assert level.epsilon is not None
        rows = measure_from_pairs(mechanism, np.array([level.epsilon]), ground, count, 1, silent)
        (seen,) = (row.value for row in rows if row.quantity == "word")
        spread = level.share * (1.0 - level.share)
        error = math.sqrt(spread / (1.5 * WHOLE.draws)) + math.sqrt(spread / count)
        # On top of both counts, what the straight line between two ε may be off.
        assert abs(seen - level.share) <= z * error + MET * level.share


def test_a_level_that_is_not_quite_reached_stands_a_hundredth_below_the_most() -> None:
    """Response over ten neighbours gives away one word of ten at most, and that at no finite ε."""
    mechanism = create("neighbour-response", lexicons.cloud(N, 5), {"k": 10})
    first, second, third = epsilons_at(mechanism, (0.05, 0.1, 0.25), outputs=WHOLE)
    assert first.why == ""
    assert second.why.startswith("gives away 0.1 at most")
    (share,), _ = from_laws(mechanism, np.array([second.epsilon or 0.0]))
    assert share == pytest.approx(0.099, rel=MET)
    assert third.epsilon is None
    assert "gives away 0.1 of the words at the largest ε" in third.why


@pytest.mark.slow
def test_what_gives_away_more_at_any_epsilon_says_so() -> None:
    mechanism = create("truncated-gumbel", lexicons.cloud(N, 5))
    (level,) = epsilons_at(mechanism, (1.5 / N,), outputs=WHOLE)
    assert level.epsilon is None
    assert "at the least ε" in level.why


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_anything_but_a_share_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="above 0 and below 1"):
        epsilons_at(create("k-ary", lexicons.cloud(N, 5)), (share,))


def test_the_first_grid_spans_all_admissible_epsilons() -> None:
    mechanism = create("madlib", lexicons.cloud(N, 5))
    grid = first_epsilons(mechanism)
    assert list(grid) == sorted(set(grid))
    ground = Ground.of(mechanism.lexicon, pairs=2, seed=0)
    rows = measure_from_pairs(mechanism, np.array([grid[0], grid[-1]]), ground, 2_000, 0, silent)
    least, most = (row.value for row in rows if row.quantity == "word")
    assert least < 0.05
    assert most > 0.9


def test_where_the_share_hardly_rises_any_more_epsilon_is_still_the_one_of_the_level() -> None:
    """At twice this ε nearly as many words are guessed: a share within a percent is not enough."""
    mechanism = create("neighbour-response", lexicons.cloud(N, 5), {"k": 10})
    (level,) = epsilons_at(mechanism, (0.1,), outputs=WHOLE)
    # e^ε/(10 e^ε + n − 10) = .099.
    assert level.epsilon == pytest.approx(math.log(0.099 * (N - 10) / 0.01), rel=0.05)
