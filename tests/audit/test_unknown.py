"""Unknown guarantees count as unknown: no verdict and no composition rests on one."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.audit.document import document_losses
from dpcore.audit.report import audit_report
from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.neighbours import Ranking
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(7, 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class Hiding(ExactMechanism):
    """Never says its last word for the first, and calls that "too small to compute"."""

    key = "hiding.v1"
    short = "hiding"
    title = "Hiding"
    summary = "A canary"
    source = "none"
    meaning = EpsilonMeaning.LOCAL
    log_estimate: ClassVar[float | None] = None

    def guarantee(self, epsilon: float) -> Guarantee:
        return PureLocalPrivacy(
            epsilon=epsilon, status=Status.CONDITIONAL, reason="a canary", source="none"
        )

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        law = np.full(len(self.lexicon), (1.0 - 1e-11) / (len(self.lexicon) - 1))
        law[-1] = 0.0 if word == 0 else 1e-11
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(law))

    def floored_log_law(self, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
        return self.log_law(word, epsilon), math.log(1e-11)


class Guessing(Hiding):
    """The same with an error that was only estimated."""

    log_estimate: ClassVar[float | None] = 1e-9

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        return np.full(len(self.lexicon), -math.log(len(self.lexicon)))


def test_what_is_hidden_below_a_floor_is_not_checked() -> None:
    report = audit_report(Hiding(lexicon=LEXICON), 1.0)
    assert report.outcome is Outcome.NOT_REFUTED
    assert "no known upper bound" in report.label


def test_an_estimated_error_is_no_check_and_no_composition() -> None:
    mechanism = Guessing(lexicon=LEXICON)
    report = audit_report(mechanism, 1.0)
    assert (report.outcome, report.epsilon_most) == (Outcome.NOT_REFUTED, math.inf)
    with pytest.raises(ParameterError, match="an unknown error is not 0"):
        document_losses(mechanism, 1.0, [0, 1], [2, 1])


def test_losses_of_the_published_gumbel_are_not_composed() -> None:
    mechanism = create("truncated-gumbel", lexicons.cloud(30, 5))
    epsilon = 2.0 * mechanism.admissible.low
    assert audit_report(mechanism, epsilon).outcome is not Outcome.CHECKED
    with pytest.raises(ParameterError, match="truncated-gumbel is known"):
        document_losses(mechanism, epsilon, [0], [3])


def test_the_ledger_of_rantext_counts_its_error() -> None:
    """On a line, against the law by quadrature: δ of a word lies below its bound."""
    from tests.mechanisms.candidates.test_rantext import one_dimension

    mechanism = RanText(lexicon=lexicons.line(*range(9)))
    first, second = (one_dimension(mechanism, word, 0.5) for word in (0, 8))
    losses = document_losses(mechanism, 0.5, [0], [8])
    for target in (0.0, 0.2, 0.5, 1.0):
        exact = float(np.maximum(first - math.exp(target) * second, 0.0).sum())
        assert exact <= losses.delta(target) <= exact + 0.02


@pytest.mark.parametrize("key", ["tem", "optimal", "k-ary", "santext", "syntf", "rantext"])
def test_bounds_of_a_law_enclose_it_and_sum_around_one(key: str) -> None:
    mechanism = create(key, LEXICON)
    bounds = mechanism.log_bounds(2, 2.5)
    assert bounds is not None
    low, high = bounds
    logs = mechanism.log_law(2, 2.5)
    assert ((low <= logs) & (logs <= high)).all()
    assert np.exp(low).sum() <= 1.0 <= np.exp(high).sum()
