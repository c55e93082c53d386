"""What a mechanism refuses, and with which words: ε, indices, indexes and parameters.

False-alarm probability of each randomised assertion: 1e-6.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.approximate import ApproximateIndex
from dpcore.lexicon.neighbours import ExactIndex
from dpcore.mechanisms.registry import construct
from dpcore.testing.base import SMALL, Contract, refusal, refused
from dpcore.testing.chance import assert_same_law


class RefusalContract(Contract):
    """Every refusal says what was wrong, what was given, and what is allowed."""

    def test_epsilon_must_be_a_finite_positive_number(self) -> None:
        """Whatever is asked."""
        mechanism, words = self.make(), np.array([0])
        bad: list[Any] = [0, 0.0, -1, math.nan, math.inf, -math.inf, 10**400, "text", None]
        for value in bad:
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.check_epsilon(value)
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.guarantee(value)
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.sample(self.rng(), words, value)

    def test_bad_epsilons_of_a_law_are_refused(self) -> None:
        """Also one of several."""
        for bad in ([0.0], [1.0, math.nan], [math.inf], [-2.0]):
            with refused(EpsilonError):
                self.make().law(0, bad, rng=self.rng())

    def test_the_ends_of_the_range_are_open_and_explained(self) -> None:
        """An ε at an end is outside; the refusal names the end and its reason."""
        mechanism = self.make()
        allowed = mechanism.admissible
        ends = [(allowed.low, 0.5, 1.0001, allowed.low_reason)] if allowed.low > 0 else []
        if allowed.high < math.inf:
            ends.append((allowed.high, 2.0, 0.9999, allowed.high_reason))
        for end, outwards, inwards, reason in ends:
            for value in (end, end * outwards):
                with refused(EpsilonError):
                    mechanism.check_epsilon(value)
                text = refusal(EpsilonError, lambda v=value: mechanism.check_epsilon(v))  # type: ignore[misc]
                assert f"{end:.6g}" in text
                assert reason in text
                assert f"got {value:g}" in text
            assert mechanism.check_epsilon(end * inwards) == end * inwards

    def test_words_outside_the_vocabulary_are_refused(self) -> None:
        """And arrays that are no list of words."""
        for bad in ([-1], [len(SMALL)], [[0, 1]]):
            with refused(ParameterError, "word indices"):
                self.make().sample(self.rng(), np.array(bad), self.typical)

    def test_an_approximate_index_is_refused_unless_it_is_post_processing(self) -> None:
        """A set of neighbours that misses some is another mechanism."""
        mechanism, words = self.make(), np.zeros(4000, dtype=np.int64)
        approximate = ApproximateIndex(SMALL)
        if not mechanism.accepts_approximate_search:
            with refused(ParameterError, "approximate"):
                mechanism.sample(self.rng(), words, self.typical, index=approximate)
            return
        own_points = getattr(mechanism, "targets", None) is not SMALL.vectors
        for index in (approximate, ExactIndex(SMALL.vectors)):
            if own_points:
                with refused(ParameterError, "its own points"):
                    mechanism.sample(self.rng(), words, self.typical, index=index)
            else:
                outputs = mechanism.sample(self.rng(), words, self.typical, index=index)
                assert_same_law(outputs, mechanism.sample(self.rng(1), words, self.typical))

    def test_settings_survive_a_round_trip_through_json(self) -> None:
        """As numbers, and as the texts of a command line."""
        settings = self.make().settings()
        assert construct(self.kind, SMALL, json.loads(json.dumps(settings))).settings() == settings
        as_text = {name: str(value) for name, value in settings.items()}
        assert construct(self.kind, SMALL, as_text).settings() == settings

    def test_an_unknown_parameter_is_named_with_the_known_ones(self) -> None:
        """Or that there is none."""
        text = refusal(ParameterError, lambda: construct(self.kind, SMALL, {"no_such": 1}))
        for name in ("no_such", *(self.kind.parameters() or ["none"])):
            assert name in text

    def test_parameters_are_bounded_and_explained(self) -> None:
        """Each has a help, and bounds or choices."""
        for name, declared in self.kind.parameters().items():
            assert declared["help"]
            bad: list[object] = [math.nan] if declared["low"] is not None else []
            if declared["low"] is not None:
                bad.append(declared["low"] - 1)
            if declared["high"] is not None:
                bad.append(declared["high"] * 2 + 1)
            if declared["type"] == "str":  # one of its choices, or what the mechanism can read
                bad.append("no such choice")
            assert bad, f"{name} has neither bounds nor choices"
            for value in bad:
                with refused(ParameterError, name):
                    self.make(SMALL, **{name: value})
