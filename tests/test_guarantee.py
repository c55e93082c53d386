"""Guarantees as data: values, sentences, JSON, and refusals."""

import json
import math
from typing import Any, TypeVar

import pytest

from dpcore.errors import ParameterError
from dpcore.guarantee import (
    ApproximateLocalPrivacy,
    Guarantee,
    MetricPrivacy,
    PureLocalPrivacy,
    Status,
)

G = TypeVar("G", bound=Guarantee)


def _make(kind: type[G], epsilon: float = 2.0, **more: Any) -> G:
    if kind is ApproximateLocalPrivacy:
        more = {"log_delta": math.log(1e-5)} | more
    usual: dict[str, Any] = {"status": Status.PROVED, "reason": "why", "source": "where"}
    return kind(epsilon=epsilon, **usual | more)


KINDS: list[type[Guarantee]] = [MetricPrivacy, PureLocalPrivacy, ApproximateLocalPrivacy]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_epsilon_must_be_finite_and_positive(kind: type[Guarantee], epsilon: float) -> None:
    with pytest.raises(ParameterError, match="finite number > 0"):
        _make(kind, epsilon)


@pytest.mark.parametrize("log_delta", [0.0, 1.0, -math.inf, math.nan])
def test_delta_must_lie_between_zero_and_one(log_delta: float) -> None:
    with pytest.raises(ParameterError, match="below 0"):
        _make(ApproximateLocalPrivacy, log_delta=log_delta)


def test_loss() -> None:
    assert _make(MetricPrivacy, 2.0).loss(3.0) == 6.0
    assert _make(MetricPrivacy, 2.0).loss(0.0) == 0.0
    for kind in (PureLocalPrivacy, ApproximateLocalPrivacy):
        assert _make(kind).loss(100.0) == 2.0
        assert _make(kind).loss(1e-9) == 2.0
        assert _make(kind).loss(0.0) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_equal_guarantees_are_equal_and_can_be_saved(kind: type[Guarantee]) -> None:
    first, second, other = _make(kind), _make(kind), _make(kind, 2.5)
    assert first == second
    assert hash(first) == hash(second)
    assert first != other
    saved = first.to_dict()
    assert json.loads(json.dumps(saved, allow_nan=False)) == saved
    assert saved["kind"] == kind.kind
    assert saved["status"] == "proved"
    assert saved["statement"] == first.statement
    with pytest.raises(AttributeError):
        first.epsilon = 3.0  # type: ignore[misc]


@pytest.mark.parametrize("farthest", [4.0, math.inf])
def test_a_guarantee_from_json_bounds_the_same_euclidean_losses(farthest: float) -> None:
    first = _make(MetricPrivacy, metric="hyperbolic", euclidean_factor=1.5, farthest=farthest)
    saved = json.loads(json.dumps(first.to_dict(), allow_nan=False))
    most = saved["farthest"]
    again = _make(
        MetricPrivacy, saved["epsilon"], metric=saved["metric"],
        euclidean_factor=saved["euclidean_factor"], farthest=math.inf if most is None else most,
    )  # fmt: skip
    assert again == first
    assert again.euclidean_loss(100.0) == 2.0 * min(150.0, farthest)


def test_kinds_are_told_apart() -> None:
    assert len({kind.kind for kind in KINDS}) == 3
    promises: list[Guarantee] = [_make(MetricPrivacy), _make(PureLocalPrivacy)]
    assert promises[0] != promises[1]


def test_statements_name_their_numbers() -> None:
    assert "manhattan distance" in _make(MetricPrivacy, metric="manhattan").statement
    assert "e^(2·d)" in _make(MetricPrivacy).statement
    assert "e^2" in _make(PureLocalPrivacy).statement
    assert "δ = 1e-05" in _make(ApproximateLocalPrivacy).statement


def test_a_delta_below_the_smallest_float_is_said_as_a_power_of_ten() -> None:
    """4^−1700 = 10^−1023.5 underflows."""
    tiny = _make(ApproximateLocalPrivacy, log_delta=-1700 * math.log(4))
    assert tiny.delta_text == "10^-1023.5"
    assert tiny.to_dict()["log_delta"] == pytest.approx(-2356.7, abs=0.05)
    assert "10^-1023.5" in tiny.statement


def test_a_text_adds_up_its_tokens() -> None:
    assert "12 protected words" in _make(MetricPrivacy).for_tokens(12)
    assert "= e^24" in _make(PureLocalPrivacy).for_tokens(12)
    text = _make(ApproximateLocalPrivacy).for_tokens(12)
    assert "ε = 24" in text
    assert "δ = 0.00012 hold" in text
    assert "δ = 0.0002 hold" in _make(ApproximateLocalPrivacy).for_tokens(20)  # 10^-3.7 is less
    assert "nothing is guaranteed" in _make(ApproximateLocalPrivacy).for_tokens(100_000)
    assert "0 protected words" in _make(MetricPrivacy).for_tokens(0)
    for kind in KINDS:  # two texts, and what is alike in them
        assert (
            _make(kind)
            .for_tokens(1)
            .startswith(
                "For two texts that differ in nothing but their 1 protected word, place by place,"
            )
        )
    assert "ε = 0" in _make(ApproximateLocalPrivacy).for_tokens(0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_of_a_guarantee_that_is_not_kept_says_so(kind: type[Guarantee]) -> None:
    """A reader of the sentence alone must not take it for true."""
    kept = [_make(kind, status=status) for status in (Status.PROVED, Status.CERTIFIED)]
    assert len({promise.statement for promise in kept}) == 1
    refuted, conditional = (
        _make(kind, status=status) for status in (Status.REFUTED, Status.CONDITIONAL)
    )
    for text, plain in (
        (refuted.statement, kept[0].statement),
        (refuted.for_tokens(3), kept[0].for_tokens(3)),
    ):
        assert text.startswith("The claim, which is refuted: ")
        assert text.lower().endswith(plain.lower())
    assert conditional.statement.startswith("Under the condition that the reason names: ")
