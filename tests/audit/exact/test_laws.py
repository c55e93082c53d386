"""Exact audits of mechanisms of the registry: the whole vocabulary, samples, and refusals."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore import limits
from dpcore.audit.exact import exact, laws
from dpcore.errors import ParameterError
from dpcore.mechanisms.gumbel import repaired
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons


@pytest.mark.parametrize("name", ["tem", "truncated-gumbel"])
def test_a_sample_bounds_the_whole_from_below(name: str) -> None:
    mechanism = create(name, lexicons.cloud(30, 5))
    epsilon = max(2.0, 2 * mechanism.admissible.low)
    whole = laws.audit_mechanism(mechanism, epsilon)
    some = laws.audit_mechanism(mechanism, epsilon, words=12, seed=4)
    pairs = laws.audit_mechanism(mechanism, epsilon, pairs=15, seed=4)
    assert (whole.complete, some.complete, pairs.complete) == (True, False, False)
    assert some.losses.epsilon_effective <= whole.losses.epsilon_effective * (1 + 1e-9)
    assert pairs.losses.epsilon_effective <= whole.losses.epsilon_effective * (1 + 1e-9)
    worst = pairs.losses.worst
    again = laws.audit_mechanism(mechanism, epsilon, words=np.array([worst.word, worst.other]))
    assert again.losses.epsilon_effective == pytest.approx(pairs.losses.epsilon_effective)
    assert "seed 4" in some.method


@pytest.mark.parametrize("missing", [1, 3, 12])
def test_logarithms_that_were_not_computed_never_make_a_loss(
    missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """−∞ of `log_law` is no zero: a few are bounded one by one, many lie below a proved floor."""
    mechanism: Any = create("truncated-gumbel", lexicons.cloud(30, 5))
    epsilon = 1.5 * mechanism.admissible.low
    right = laws.audit_mechanism(mechanism, epsilon).losses
    whole = TruncatedGumbel.log_law

    def partial(
        self: Any, word: int, epsilon: float, outputs: Any = None, *, ranking: Any = None
    ) -> NDArray[np.float64]:
        logs = np.array(whole(self, word, epsilon, ranking=ranking))
        logs[ranking.order[-missing:]] = -np.inf
        return logs

    monkeypatch.setattr(TruncatedGumbel, "log_law", partial)
    monkeypatch.setattr(exact, "SUM_TOLERANCE", 1.0)
    result = laws.audit_mechanism(mechanism, epsilon).losses
    if missing <= 8:
        assert result.unknown == 0
        assert result.epsilon_effective == pytest.approx(right.epsilon_effective, rel=0.1)
    else:
        assert result.unknown == 30 * missing
        assert result.epsilon_effective <= right.epsilon_effective * (1 + 1e-6)
    logs, floor = mechanism.floored_log_law(4, epsilon)
    true = whole(mechanism, 4, epsilon)
    if floor is not None:
        assert np.all(true[np.isneginf(logs)] <= floor + 1e-6)


def test_the_closed_form_of_tem_equals_the_matrix() -> None:
    mechanism = create("tem", lexicons.cloud(80, 5))
    closed = laws.audit_mechanism(mechanism, 3.0)
    rows = laws.audit_mechanism(mechanism, 3.0, words=np.arange(80))
    assert rows.complete
    assert closed.losses.epsilon_effective == pytest.approx(rows.losses.epsilon_effective, rel=1e-9)
    assert closed.losses.worst.distance == pytest.approx(rows.losses.worst.distance)
    assert closed.losses.worst.loss == pytest.approx(rows.losses.worst.loss, rel=1e-9)


@pytest.mark.parametrize("name", ["truncated-gumbel-repaired", "tem-calibrated"])
def test_the_certificate_equals_the_matrix(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mechanism = create(name, lexicons.cloud(80, 5))
    epsilon = max(3.0, 1.5 * mechanism.admissible.low)
    rows = laws.audit_mechanism(mechanism, epsilon, words=np.arange(80))
    for module in (laws, repaired):
        monkeypatch.setattr(module, "MAX_AUDIT_WORDS", 20)
    whole = laws.audit_mechanism(mechanism, epsilon)
    assert whole.complete
    assert whole.losses.epsilon_effective == pytest.approx(rows.losses.epsilon_effective, rel=1e-5)
    assert whole.error >= whole.losses.epsilon_effective - rows.losses.epsilon_effective
    loss = whole.losses.worst.loss / whole.losses.worst.distance
    assert loss == pytest.approx(rows.losses.epsilon_effective, rel=1e-5)
    assert whole.losses.holds
    assert "all pairs of the 80 words" in whole.method


@pytest.mark.parametrize("name", ["tem", "tem-calibrated", "truncated-gumbel-repaired"])
@pytest.mark.parametrize("epsilon", [300.0, 1e3, 1e6])
def test_a_probability_that_underflows_refutes_nothing(name: str, epsilon: float) -> None:
    """Up to e^(−10⁷): no output is impossible, and every loss keeps its promise."""
    mechanism = create(name, lexicons.cloud(30, 5))
    samples: tuple[dict[str, Any], ...] = ({}, {"words": 12}, {"pairs": 9})
    for sample in samples:
        result = laws.audit_mechanism(mechanism, epsilon, **sample).losses
        assert result.holds
        assert result.delta == 0.0
        assert result.unknown == 0
    assert np.isfinite(mechanism.floored_log_law(4, epsilon)[0]).all()


def test_what_cannot_be_audited_exactly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="no exact law"):
        laws.audit_mechanism(create("madlib", lexicons.cloud(10, 2)), 1.0)
    small = lexicons.cloud(30, 2)
    monkeypatch.setattr(laws, "MAX_AUDIT_WORDS", 20)
    gumbel = create("truncated-gumbel", small)
    with pytest.raises(
        ParameterError, match=r"up to 20 words, this lexicon has 30: audit a sample"
    ):
        laws.audit_mechanism(gumbel, 2 * gumbel.admissible.low)
    monkeypatch.setattr(laws, "MAX_AUDIT_TEM_WORDS", 20)
    tem = create("tem", small)
    with pytest.raises(ParameterError, match="up to 20 words"):
        laws.audit_mechanism(tem, 1.0)
    for wrong in (1, 31):
        with pytest.raises(ParameterError, match="2 to 30 words"):
            laws.audit_mechanism(tem, 1.0, words=wrong)
    with pytest.raises(ParameterError, match="not both"):
        laws.audit_mechanism(tem, 1.0, words=5, pairs=5)
    with pytest.raises(ParameterError, match=f"from 1 to {limits.MAX_AUDIT_PAIRS:,}"):
        laws.audit_mechanism(tem, 1.0, pairs=0)
