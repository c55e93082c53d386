"""Laws against draws, and their limits.

False-alarm probability of each randomised assertion: 1e-6.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.testing.base import DIRECTIONS, SMALL, Contract, dense_law
from dpcore.testing.chance import assert_law, assert_law_near, assert_same_law

_DRAWS = 20_000


class LawContract(Contract):
    """`law`, and what it goes to where there is no noise, and where there is nothing else."""

    def test_law_agrees_with_samples_and_with_paths(self) -> None:
        """Of two words."""
        mechanism, epsilon = self.make(), self.typical
        for word in (0, 33):
            law, error = dense_law(mechanism, word, epsilon, self.rng(word))
            sampled = mechanism.sample(self.rng(word, 1), np.full(_DRAWS, word), epsilon)
            grid = np.array([epsilon])
            paths = mechanism.paths(self.rng(word, 2), np.full(_DRAWS, word), epsilons=grid)
            on_paths = paths.at(grid)[:, 0]
            assert_same_law(sampled, on_paths)
            for drawn in (sampled, on_paths):
                if error == 0:
                    assert_law(drawn, law)
                else:
                    assert_law_near(drawn, law, error, DIRECTIONS)

    def test_law_is_a_distribution_at_every_epsilon(self) -> None:
        """Its table, its largest entries and its single ones agree."""
        mechanism = self.make()
        allowed = mechanism.admissible
        top = min(0.999 * allowed.high, 1e6)
        epsilons = np.geomspace(max(1.001 * allowed.low, 1e-3), top, 9)
        law = mechanism.law(7, epsilons, rng=self.rng())
        assert law.exact is type(mechanism).exact_law
        assert law.probabilities.shape == (9, law.outputs.size)
        assert np.all(np.diff(law.outputs) > 0)
        assert np.all(law.probabilities >= 0)
        np.testing.assert_allclose(law.probabilities.sum(axis=1), 1, rtol=1e-9)
        np.testing.assert_allclose(law.stay(), law.dense(len(SMALL))[:, 7], rtol=0, atol=0)
        for e in (0, 8):
            best = law.top(3, e)
            row = law.dense(len(SMALL))[e]
            assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
            assert best[0][1] == row.max()
            assert all(row[SMALL.index(word)] == law.probability(word, e) == p for word, p in best)

    def test_a_law_without_a_generator_is_the_same_at_every_call(self) -> None:
        """Who looks twice sees one picture."""
        mechanism = self.make()
        epsilon = min(2 * mechanism.admissible.low + 0.1, 0.9 * mechanism.admissible.high)
        law = mechanism.law(0, epsilon)
        again = mechanism.law(SMALL.words[0], [epsilon], rng=mechanism.estimating())
        assert law.exact is again.exact is type(mechanism).exact_law
        np.testing.assert_array_equal(law.outputs, again.outputs)
        np.testing.assert_array_equal(law.probabilities, again.probabilities)

    def test_without_noise_the_word_stays(self) -> None:
        """At `quiet_epsilon`; a mechanism of which that is not true says so by `quiet`."""
        if self.quiet == "neither":
            return
        mechanism, words = self.make(**self.quiet_settings), np.arange(len(SMALL))
        outputs = mechanism.sample(self.rng(), words, self.quiet_epsilon)
        if self.quiet == "leaves":
            assert not (outputs == words).any()
            return
        np.testing.assert_array_equal(outputs, words)
        paths = mechanism.paths(self.rng(), words)
        if paths.high == math.inf:
            np.testing.assert_array_equal(paths.at(np.array([1e12]))[:, 0], words)

    def test_without_privacy_budget_the_word_does_not_matter(self) -> None:
        """ε→0: one law for all words; a mechanism of which that is not true says so by `forgets`.

        Where ε has a least value the word still matters there.
        """
        mechanism = self.make(**self.forgetting_settings)
        if mechanism.admissible.low > 0:
            return
        a, b = (mechanism.sample(self.rng(w), np.full(_DRAWS, w), 1e-6) for w in (0, 33))
        if self.forgets:
            assert_same_law(a, b)
            return
        try:
            assert_same_law(a, b)
        except AssertionError:
            return
        raise AssertionError("two words have one law as ε goes to 0: `forgets` is to be True")
