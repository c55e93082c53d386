"""Laws and draws at an ε that is no step of the dial are those of this ε, and of none near it."""

import numpy as np
import pytest

from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.registry import create
from dpcore.rewrite.sentence import prepare, redraw
from pages.shared import session
from pages.shared.session import Bench, admissible

BETWEEN = 13.0  # of the steps 12 and 14


def _bench() -> Bench:
    return Bench(prepare("doctor", session.lexicon("default")), SharedDirections())


@pytest.mark.slow
@pytest.mark.parametrize("short", ["madlib", "tem"])
def test_a_law_between_two_steps_is_its_own(short: str) -> None:
    bench = _bench()
    mechanism, word = create(short, bench.lexicon), bench.word(0)
    assert BETWEEN not in admissible(mechanism)
    assert not bench.has_law(mechanism, word, BETWEEN)
    law, row = bench.law(mechanism, word, BETWEEN)
    assert bench.has_law(mechanism, word, BETWEEN)
    assert law.epsilons[row] == BETWEEN
    stays = [bench.probability(mechanism, word, word, e)[0] for e in (12.0, BETWEEN, 14.0)]
    assert stays == sorted(stays)
    if short == "madlib":  # along the same directions, so that it lies strictly between
        assert stays[0] < stays[1] < stays[2]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [12.0, BETWEEN])
def test_many_draws_hold_the_epsilon_that_is_asked_for(epsilon: float) -> None:
    bench = _bench()
    mechanism = create("trlaplace-corrected", bench.lexicon)  # its paths are exact at a grid alone
    drawn = bench.redraw(mechanism, 5, 10, 0, epsilon)
    assert bench.has_redraw(mechanism, 5, 10, 0, epsilon)
    own = redraw(bench.sentence, mechanism, 0, 5, 10, epsilons=np.array([epsilon]))
    at = np.array([epsilon])
    np.testing.assert_array_equal(drawn.at(at), own.at(at))
