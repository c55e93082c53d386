"""Properties of any mechanism that writes, for any model: laws written out, and losses."""

import numpy as np
import pytest

from dpcore.noise.streams import generator
from dpcore.rewrite.write.writers import Writer, run_writer


def log_law_of_texts(mechanism: Writer, text: str, epsilon: float) -> np.ndarray:
    """ln P of every two tokens, shape (V, V)."""
    draw = mechanism.draw(epsilon)
    first = draw.log_law(mechanism.begin(text, 2)([]))
    rows = []
    for token in range(draw.vocabulary):
        scored = mechanism.begin(text, 2)
        scored([])
        rows.append(first[token] + draw.log_law(scored([token])))
    return np.array(rows)


def assert_two_texts_explain_every_output(
    mechanism: Writer, first: str, second: str, epsilon: float
) -> None:
    """Every two tokens, within the guarantee of a token, twice, and within that of both."""
    laws = [log_law_of_texts(mechanism, text, epsilon) for text in (first, second)]
    assert np.exp(laws[0]).sum() == pytest.approx(1.0)
    assert np.isfinite(laws[0]).all()
    apart = np.abs(laws[0] - laws[1]).max()
    draw = mechanism.draw(epsilon)
    assert 0 < apart <= 2 * draw.guarantee.epsilon <= 2 * epsilon * (1 + 1e-9)
    assert apart <= draw.composed(2, 0.0).epsilon


def assert_losses_are_those_of_the_laws(mechanism: Writer, text: str, other: str) -> None:
    """Two tokens: their probabilities and losses are those that are written out."""
    writing = run_writer(mechanism, text, 3.0, 2, generator(5, "test"))
    drawn = tuple(token.number for token in writing.tokens)
    first, second = (log_law_of_texts(mechanism, each, 3.0) for each in (text, other))
    assert writing.losses(other).sum() == pytest.approx((first - second)[drawn], abs=1e-5)
    np.testing.assert_allclose(writing.losses(text), 0.0, atol=1e-5)
    assert np.prod([t.probability for t in writing.tokens]) == pytest.approx(np.exp(first[drawn]))
