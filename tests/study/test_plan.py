"""Plans: a product of cells, which are the same after JSON; refused where they make no sense."""

import dataclasses
import json
from typing import Any

import pytest

from dpcore.errors import DpcoreError, StudyError
from dpcore.study.plan import BASELINE, Arm, Cell, Plan

ARMS = (
    Arm("tem", (1.0, 2.0), (("beta", 0.01),), options=(("trees", 7),)),
    Arm("madlib", (5.0,), label="Madlib"),
    Arm(BASELINE),
)


def plan(**changed: Any) -> Plan:
    fields = {"name": "p", "task": "dpcore.study.x:measure", "arms": ARMS, "seeds": (0, 1)}
    return Plan(**fields | {"data": ("a", "b"), "options": (("trees", 3), ("cut", "x"))} | changed)


def test_cells_are_every_combination_once() -> None:
    cells = plan(lexicons=("default", "mine")).cells()
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 4
    assert {cell.label for cell in cells} == {"tem", "Madlib", "baseline"}
    assert [c.epsilon for c in cells[:4]] == [1.0, 2.0, 5.0, None]
    assert cells[0].option("trees") == 7
    assert cells[2].option("trees") == 3
    assert cells[2].option("absent", 4) == 4


def test_together_one_cell_has_all_epsilons() -> None:
    cells = plan(together=True).cells()
    assert len(cells) == 2 * 2 * 3
    assert cells[0].epsilons == (1.0, 2.0)
    with pytest.raises(StudyError, match="2 values of ε"):
        cells[0].epsilon  # noqa: B018 - reading it is what is refused


def test_a_cell_is_the_same_after_json() -> None:
    for cell in plan(options=(("sizes", (1, 2, (3,))), ("name", "ä"))).cells():
        assert Cell.from_json(json.loads(json.dumps(cell.to_json()))) == cell
        assert Cell.from_json(cell.to_json()) == cell


def test_noise_depends_on_the_cell_and_a_split_on_seed_and_data_alone() -> None:
    cells = plan().cells()
    first = [cell.generator("n").random() for cell in cells]
    assert first == [cell.generator("n").random() for cell in cells]
    assert len(set(first)) == len(cells)
    splits = {(c.seed, c.data): c.shared_generator("split").random() for c in cells}
    assert len(set(splits.values())) == 4
    assert all(c.shared_generator("split").random() == splits[c.seed, c.data] for c in cells)
    other = dataclasses.replace(cells[0], options=(("trees", 8),), label="another name")
    assert other.generator("n").random() == first[0]


WRONG: dict[str, dict[str, Any]] = {
    "no arms": {"arms": ()},
    "no seeds": {"seeds": ()},
    "a cell twice": {"data": ("a", "a")},
    "a task without a function": {"task": "dpcore.study.x"},
    "a task that is code": {"task": "os:system('x')"},
    "a negative seed": {"seeds": (-1,)},
    "an option that is no JSON": {"options": (("f", object()),)},
    "an option that is NaN": {"options": (("f", float("nan")),)},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_plan_is_refused(name: str) -> None:
    with pytest.raises(DpcoreError):
        plan(**WRONG[name])


@pytest.mark.parametrize(
    ("mechanism", "epsilons"),
    [("tem", ()), ("tem", (0.0,)), ("tem", (float("nan"),)), ("tem", (1.0, 1.0)),
     (BASELINE, (1.0,)), ("magic", (1.0,))],
)  # fmt: skip
def test_a_wrong_arm_is_refused(mechanism: str, epsilons: tuple[float, ...]) -> None:
    with pytest.raises(DpcoreError):
        Arm(mechanism, epsilons)
