"""Noise between any two clipped inputs: reference values, quadrature in the plane, and refusals."""

import dataclasses
import math
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.audit.report import any_inputs_report, on_any_inputs
from dpcore.audit.verdict import Outcome
from dpcore.errors import ComputationError, EpsilonError, ParameterError
from dpcore.mechanisms.clipped.clipped import ClippedMechanism
from dpcore.mechanisms.clipped.trlaplace import worst_delta
from dpcore.mechanisms.registry import MECHANISMS

CLIPPED = [kind.short for kind in MECHANISMS.values() if issubclass(kind, ClippedMechanism)]
OTHERS = [kind.short for kind in MECHANISMS.values() if kind.short not in CLIPPED]


def audited(name: str, epsilon: float, dimension: int, **settings: Any) -> Any:
    return any_inputs_report(on_any_inputs(name, dimension, settings), epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "true"),
    [(0.1, 0.986588957), (1.0, 0.9789585353), (5.0, 0.843)],
)
def test_the_published_trlaplace_in_300_dimensions(epsilon: float, true: float) -> None:
    report = audited("trlaplace", epsilon, 300)
    assert report.outcome is Outcome.REFUTED
    assert report.claimed_log_delta == pytest.approx(-300 * math.log(4.0))
    assert report.delta_true == pytest.approx(true, abs=5e-4 if epsilon == 5 else 1e-9)
    assert report.worst.delta == pytest.approx(report.delta_true, rel=1e-6)
    assert report.worst.word == "x = C·(0.05774, 0.05774, …)"
    assert report.worst.other == "−x = C·(−0.05774, −0.05774, …)"
    assert report.epsilon_effective == math.inf
    assert report.resolution is None


@pytest.mark.parametrize("dimension", [1, 4])
def test_adept_is_off_by_the_root_of_the_dimension(dimension: int) -> None:
    report = audited("adept", 0.5, dimension)
    assert report.epsilon_effective == pytest.approx(0.5 * math.sqrt(dimension))
    assert (report.outcome is Outcome.REFUTED) == (dimension > 1)
    assert (report.delta_true > 0) == (dimension > 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in CLIPPED if n not in {"adept", "trlaplace"}])
@pytest.mark.parametrize("dimension", [1, 40])
def test_what_is_proved_holds_for_any_inputs(name: str, dimension: int) -> None:
    report = audited(name, 0.9, dimension)
    claimed = math.exp(report.claimed_log_delta)
    assert report.outcome is Outcome.PROVED
    assert report.epsilon_effective <= 0.9 * (1 + 1e-9)
    assert report.delta_true <= claimed * (1 + 1e-9)
    if not claimed:  # pure: the loss is attained
        assert report.epsilon_effective == pytest.approx(0.9)
    elif name != "gaussian-classical":
        assert report.delta_true == pytest.approx(claimed, rel=1e-3)


def _plane(
    alpha: float, cut: float, shift: NDArray[np.float64], epsilon: float, points: int = 1200
) -> float:
    """∫ (p − e^ε·q)₊ over the plane by midpoints, p and q (truncated) Laplace at 0 and `shift`."""
    reach = cut if cut < math.inf else 40.0 / alpha
    middle = (np.arange(points) + 0.5) * (2 * reach / points) - reach
    mass = -math.expm1(-alpha * reach)

    def density(x: NDArray[np.floating]) -> NDArray[np.float64]:
        inside = np.abs(x) <= reach
        return np.where(inside, 0.5 * alpha * np.exp(-alpha * np.abs(x)) / mass, 0.0)

    p = [density(middle)] * 2
    q = [density(middle - v) for v in shift]
    rest = np.multiply.outer(*p) - math.exp(epsilon) * np.multiply.outer(*q)
    return float(np.maximum(rest, 0.0).sum()) * (2 * reach / points) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adept", "trlaplace"])
def test_delta_in_the_plane_by_quadrature(name: str) -> None:
    """The largest over differences of norm 2C."""
    epsilon, norm = 0.6, 1.7
    mechanism: Any = on_any_inputs(name, 2, {"clip_norm": norm})
    report = any_inputs_report(mechanism, epsilon)
    if name == "adept":
        alpha, cut = epsilon / (2 * norm), math.inf
    else:
        noise = mechanism.truncation(epsilon)
        alpha, cut = noise.alpha, noise.cut
        assert report.delta_true == pytest.approx(worst_delta(noise, norm, 2), rel=1e-6)
    shifts = [2 * norm * np.array([math.cos(a), math.sin(a)]) for a in np.linspace(0, 0.6, 4)]
    shifts.append(np.full(2, math.sqrt(2.0) * norm))
    true = max(_plane(alpha, cut, shift, epsilon) for shift in shifts)
    assert report.delta_true == pytest.approx(true, rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adept-l1", "gaussian", "trlaplace"])
def test_the_norm_is_only_a_unit(name: str) -> None:
    unit, other = (audited(name, 0.4, 3, clip_norm=c) for c in ("1", "2.5e6"))
    assert other.epsilon_effective == pytest.approx(unit.epsilon_effective, rel=1e-6)
    assert other.delta_true == pytest.approx(unit.delta_true, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", OTHERS)
def test_a_loss_that_depends_on_the_words_needs_them(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} cannot be audited .*: leave out d"):
        on_any_inputs(name, 300, {})


@pytest.mark.parametrize("dimension", ["0", "-3", "4097", "many", "2.5", "", "1e2"])
def test_a_dimension_is_a_whole_number(dimension: str) -> None:
    with pytest.raises(ParameterError, match="d must be a whole number from 1 to 4,096"):
        on_any_inputs("laplace", dimension, {})


def test_an_epsilon_without_noise_is_refused() -> None:
    with pytest.raises(EpsilonError, match="must be <"):
        audited("trlaplace", 9.0, 300)


@pytest.mark.slow
@pytest.mark.parametrize("field", ["epsilon_effective", "delta_true", "error"])
def test_a_report_whose_figures_are_nan_is_none(field: str) -> None:
    """A comparison with NaN is false, so that it would look as if the claim held."""
    report = any_inputs_report(on_any_inputs("laplace", 3, {}), 1.0)
    with pytest.raises(ComputationError, match="NaN"):
        dataclasses.replace(report, **cast("dict[str, Any]", {field: math.nan}))
