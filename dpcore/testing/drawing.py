"""Shapes, seeds and batches of what a mechanism draws.

False-alarm probability of each randomised assertion: 1e-6.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpcore.lexicon.ranking import rank
from dpcore.testing.base import SMALL, Contract, dense_law
from dpcore.testing.chance import FALSE_ALARM, assert_same_law, deviation


class DrawingContract(Contract):
    """`sample` and `paths`."""

    def test_sample_gives_one_word_for_each_entry(self) -> None:
        """Of any number of entries, as int64 inside the vocabulary."""
        mechanism = self.make()
        for size in (0, 1, 7, 1300):
            words = self.rng().integers(0, len(SMALL), size)
            out = mechanism.sample(self.rng(1), words, self.typical)
            assert out.shape == (size,)
            assert out.dtype == np.int64
            assert np.all((out >= 0) & (out < len(SMALL)))

    def test_paths_have_the_agreed_form(self) -> None:
        """Pieces follow each other without a gap, and each changes the output."""
        mechanism = self.make()
        for words in (np.array([], np.int64), np.array([4]), np.array([4, 9, 4]), np.full(5, 11)):
            paths = mechanism.paths(self.rng(), words)
            assert len(paths) == words.size
            assert paths.outputs.dtype == np.int64
            assert paths.outputs.shape == (words.size, paths.breaks.shape[1] + 1)
            assert np.array_equal(paths.words, words)
            for i in range(words.size):
                pieces = paths.pieces(i)
                assert pieces[0].from_epsilon == paths.low
                assert pieces[-1].to_epsilon == paths.high
                for a, b in pairwise(pieces):
                    assert a.to_epsilon == b.from_epsilon
                    assert a.output != b.output
                assert all(0 <= piece.output < len(SMALL) for piece in pieces)

    def test_a_seed_determines_the_output(self) -> None:
        """Whatever was drawn before."""
        mechanism = self.make()
        words = np.arange(30)
        first = mechanism.sample(self.rng(), words, self.typical)
        assert np.array_equal(first, mechanism.sample(self.rng(), words, self.typical))
        other = mechanism.paths(self.rng(), words), mechanism.paths(self.rng(), words)
        assert np.array_equal(other[0].breaks, other[1].breaks)
        assert np.array_equal(other[0].outputs, other[1].outputs)

    def test_known_rankings_change_nothing(self) -> None:
        """They save time, and nothing else."""
        mechanism = self.make()
        words = np.array([3, 17, 3])
        known = rank(SMALL.vectors, SMALL.vectors[words])
        a = mechanism.paths(self.rng(), words)
        b = mechanism.paths(self.rng(), words, rankings=known)
        epsilons = np.geomspace(max(a.low, 1e-3), min(a.high, 1e6), 60)
        assert np.array_equal(a.at(epsilons), b.at(epsilons))

    def test_equal_words_of_a_batch_get_different_noise(self) -> None:
        """One noise vector for a whole batch would make all 300 outputs equal."""
        mechanism, words = self.make(), np.zeros(300, dtype=np.int64)
        law, _ = dense_law(mechanism, 0, self.typical, self.rng(1))
        assert law.max() ** 299 < FALSE_ALARM, "this ε cannot tell"
        assert np.unique(mechanism.sample(self.rng(), words, self.typical)).size > 1
        grid = np.array([self.typical])
        paths = mechanism.paths(self.rng(2), words, epsilons=grid)
        assert np.unique(paths.at(grid)).size > 1

    def test_entries_of_a_batch_are_independent(self) -> None:
        """Neighbours agree as often as two independent draws: Σ p², within Bernstein's bound."""
        mechanism, draws = self.make(), 20_000
        out = mechanism.sample(self.rng(), np.zeros(draws, dtype=np.int64), self.typical)
        share = np.bincount(out) / draws
        expected = np.square(share).sum()
        for lag in (1, 2, 512):
            agree = (out[:-lag:2] == out[lag::2]) if lag % 2 else out[:-lag] == out[lag:]
            # Pairs may share an entry: half of them do not.
            slack = deviation(agree.size // 2, expected * (1 - expected)) + 2 * deviation(
                draws, 0.25
            )
            assert abs(agree.mean() - expected) <= slack

    def test_the_law_of_an_entry_does_not_depend_on_the_batch(self) -> None:
        """Alone, among others, or many at once."""
        mechanism = self.make()
        generator, epsilon, word = self.rng(), self.typical, 5
        many = mechanism.sample(generator, np.full(6000, word), epsilon)
        mixed = np.resize([word, 0, 39, 21], 4 * 3000)
        among = mechanism.sample(generator, mixed, epsilon)[::4]
        alone = [mechanism.sample(generator, np.array([word]), epsilon)[0] for _ in range(1500)]
        assert_same_law(many, among)
        assert_same_law(many, alone)
