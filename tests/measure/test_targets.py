"""ε that meets a target, and which targets are comparable."""

import numpy as np
import pytest

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.deniability import measure, summarise
from dpcore.measure.targets import Interval, Target, calibrate, holding, scan, solve
from dpcore.measure.words import select_words
from dpcore.mechanisms.registry import MECHANISMS, create
from tests.mechanisms.contract import make


def test_holding_finds_every_interval_of_a_wavy_curve() -> None:
    grid = np.geomspace(1.0, np.exp(4.0), 60)
    solution = holding(lambda e: np.sin(6 * np.log(e)), lambda v: v <= 0.5, grid)
    rises = np.pi / 36 + np.arange(4) * np.pi / 3
    falls = 5 * np.pi / 36 + np.arange(4) * np.pi / 3
    wanted = list(zip([0.0, *falls], [*rises, 4.0], strict=True))
    assert len(solution) == len(wanted)
    for part, (low, high) in zip(solution, wanted, strict=True):
        assert np.log([part.low, part.high]) == pytest.approx([low, high], abs=2e-4)
        assert np.sin(6 * np.log([part.low, part.high])).max() <= 0.5  # never too long
    assert not solution[0].low_is_crossing
    assert solution[0].high_is_crossing
    assert not solution[-1].high_is_crossing


def test_holding_at_the_edges() -> None:
    grid = np.array([1.0, 2.0, 3.0])
    assert holding(lambda e: e, lambda v: v > 9, grid) == ()
    assert holding(lambda e: e, lambda v: v > 0, grid) == (Interval(1.0, 3.0, False, False),)
    (interval,) = holding(lambda e: e, lambda v: (v > 1.5) & (v < 2.5), grid)
    assert (interval.low, interval.high) == pytest.approx((1.5, 2.5), rel=2e-4)
    (last,) = holding(lambda e: e, lambda v: v >= 3, grid)
    assert last == Interval(3.0, 3.0, True, False) or last.low == pytest.approx(3.0, rel=2e-4)


@pytest.mark.parametrize("key", MECHANISMS)
def test_scan_stays_inside_the_admissible_range(key: str, small: Lexicon) -> None:
    mechanism = make(key, small)
    grid = scan(mechanism)
    assert (np.diff(grid) > 0).all()
    assert 10 < grid.size < 200
    mechanism.check_epsilons(grid)
    assert scan(mechanism, grid[3], grid[5])[[0, -1]] == pytest.approx(grid[[3, 5]])
    with pytest.raises(ParameterError, match="must not be empty"):
        scan(mechanism, grid[5], grid[3])
    with pytest.raises(EpsilonError):
        scan(mechanism, -1.0)


@pytest.mark.parametrize(
    "target",
    [Target("nw", 0.3), Target("nw", 0.6, "worst"), Target("sw", 12, "median"),
     Target("effective", 5, "worst")],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("key", ["tem", "madlib"])
def test_a_solution_meets_its_target_and_not_beyond(
    key: str, target: Target, small: Lexicon
) -> None:
    mechanism, chosen = create(key, small), select_words(small, small.words[:8])
    solution = solve(mechanism, chosen, target, runs=100)
    (part,) = solution.intervals  # the larger ε, the less deniable
    assert part.high_is_crossing
    assert not part.low_is_crossing
    assert (solution.smallest, solution.largest) == (part.low, part.high)
    assert solution.crossings == (part.high,)
    again = measure(mechanism, chosen, [part.high, 1.001 * part.high], runs=100)
    assert target.holds(target.values(again)).tolist() == [True, False]
    assert (solution.error == 0) == (key == "tem")


@pytest.mark.slow
def test_nw_of_the_truncated_gumbel_dips(small: Lexicon) -> None:
    """Near its lower end Nw falls with ε first, so a low target holds on an inner interval."""
    gumbel, chosen = create("truncated-gumbel", small), select_words(small, small.words[:8])
    curve = summarise(measure(gumbel, chosen, scan(gumbel)), "nw").mean
    bound = 0.5 * (curve.min() + curve[0])
    assert curve.min() < bound < curve[0]
    solution = solve(gumbel, chosen, Target("nw", float(bound)))
    (part,) = solution.intervals
    assert part.low_is_crossing
    assert part.high_is_crossing
    assert gumbel.admissible.low < part.low < part.high
    assert len(solution.crossings) == 2
    nowhere = solve(gumbel, chosen, Target("nw", float(0.9 * curve.min())))
    assert nowhere.intervals == ()
    assert nowhere.smallest is nowhere.largest is None


def test_calibration_gives_equal_nw(small: Lexicon) -> None:
    chosen = select_words(small, small.words[:8])
    tem, madlib = create("tem", small), create("madlib", small)
    (epsilon,) = calibrate(tem, 1.5, madlib, chosen).crossings
    same = [
        summarise(measure(m, chosen, [e]), "nw").mean[0] for m, e in ((tem, 1.5), (madlib, epsilon))
    ]
    assert same[0] == pytest.approx(same[1], abs=1e-3)
    (back,) = calibrate(madlib, epsilon, tem, chosen).crossings
    assert back == pytest.approx(1.5, rel=2e-3)


@pytest.mark.parametrize(
    ("quantity", "bound", "over"),
    [("nw", 1.5, "mean"), ("nw", float("nan"), "mean"), ("sw", 0.5, "mean"),
     ("sw", float("inf"), "mean"), ("entropy", 2, "mean"), ("nw", 0.5, "best")],
)  # fmt: skip
def test_a_target_out_of_range_is_refused(quantity: str, bound: float, over: str) -> None:
    with pytest.raises(ParameterError):
        Target(quantity, bound, over)
