"""Bounds of a guarantee on membership inference: the region of errors, and when it is vacuous."""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.attack.membership import DocumentBound, document_bound
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, PureLocalPrivacy, Status
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons


def promise(kind: Any, status: Status = Status.PROVED, **more: Any) -> Any:
    return kind(epsilon=0.5, status=status, reason="", source="", **more)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 0.1), (4.0, 0.01), (0.01, 0.5)])
def test_auc_is_the_area_under_the_largest_roc(epsilon: float, delta: float) -> None:
    bound = DocumentBound(1, epsilon, delta, True, "")
    rates = np.linspace(0, 1, 400_001)
    curve = bound.true_positives(rates)
    assert np.all(np.diff(curve) >= -1e-12)
    assert np.trapezoid(curve, rates) == pytest.approx(bound.auc, abs=1e-5)
    assert curve[0] == pytest.approx(delta)
    assert curve[-1] == 1.0


def test_randomised_response_attains_it() -> None:
    """Two answers with odds e^ε: its corner is the corner of the bound."""
    epsilon = 1.2
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    bound = DocumentBound(1, epsilon, 0.0, True, "")
    assert bound.true_positives(1 - right) == pytest.approx(right)
    assert bound.auc == pytest.approx(right)


def test_losses_add_up_over_the_words() -> None:
    assert document_bound(promise(PureLocalPrivacy), 10, 3.0).epsilon == pytest.approx(5.0)
    metric = document_bound(promise(MetricPrivacy), 10, 3.0)
    assert metric.epsilon == pytest.approx(15.0)
    wide = document_bound(promise(MetricPrivacy, euclidean_factor=2.0), 10, 3.0)
    assert wide.epsilon == pytest.approx(30.0)
    local = document_bound(promise(ApproximateLocalPrivacy, log_delta=math.log(1e-3)), 10, 3.0)
    assert local.epsilon == pytest.approx(5.0)
    assert local.delta == pytest.approx(0.01)
    assert "AUC above 0.993" in document_bound(promise(PureLocalPrivacy), 10, 3.0).sentence


def test_a_bound_that_says_nothing_says_so() -> None:
    huge = document_bound(promise(MetricPrivacy), 10_000, 13.0)
    assert huge.vacuous
    assert huge.auc == 1.0
    assert "bounds nothing" in huge.sentence
    assert huge.true_positives([0.0, 0.5]).tolist() == [1.0, 1.0]
    many = document_bound(promise(ApproximateLocalPrivacy, log_delta=math.log(0.5)), 10, 3.0)
    assert many.delta == 1.0
    assert many.auc == 1.0


def test_a_refuted_guarantee_bounds_nothing() -> None:
    mechanism = create("trlaplace", lexicons.cloud(40, 3), {"clip_norm": 1.0})
    guarantee = mechanism.guarantee(0.05)
    assert guarantee.status is Status.REFUTED
    bound = document_bound(guarantee, 1, 3.0)
    assert not bound.holds
    assert (bound.auc, bound.epsilon) == (1.0, math.inf)
    assert "refuted" in bound.sentence
    assert not document_bound(promise(PureLocalPrivacy, Status.CONDITIONAL), 1, 3.0).holds


@pytest.mark.parametrize(("tokens", "diameter"), [(0, 1.0), (1, 0.0), (1, math.inf), (1, math.nan)])
def test_refusals(tokens: int, diameter: float) -> None:
    with pytest.raises(ParameterError, match="at least one place"):
        document_bound(promise(PureLocalPrivacy), tokens, diameter)
