"""Study of facts about persons: a small run, its record, its page."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpcore.papers.ours.redactors import PERSON_ARMS, PERSONS
from dpcore.papers.ours.tradeoff import ARMS as TRADE_ARMS
from dpcore.study.plan import Arm, Plan
from dpcore.study.recorded import Recorded, read_recorded
from dpcore.study.runner import collected, gather, run
from tests.attack.test_leak import FEW
from tests.attack.test_persons import TEXTS, A, B, C, D, E
from tests.needs import ROOT

LEVELS = (0.1, 0.25, 0.5)
BEFORE = ("tem", "neighbour-response, k = 10", "k-ary")
"""Mechanisms behind redactors in the table of the page."""


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return read_recorded(PERSONS.name)


def test_a_small_run(tmp_path: Path) -> None:
    people = [
        [{"facts": [{"tag": "X", "keyword": f"{A} {B}"}, {"tag": "X", "keyword": C}]}],
        [{"facts": [{"tag": "X", "keyword": D}, {"tag": "Y", "keyword": "nowhere"}]}],
        [{"facts": [{"tag": "X", "keyword": E}]}],
    ]
    file = tmp_path / "people.parquet"
    texts = [each.text for each in TEXTS]
    pd.DataFrame({"text": texts, "subjects": [json.dumps(p) for p in people]}).to_parquet(file)
    both = (("redactors", ("", "rules")), ("reads", True))
    arms = (
        Arm("", label="as written", options=(("redactors", ("",)),)),
        Arm("", label="redactors", options=(("redactors", ("rules",)), ("reads", True))),
        Arm("tem", (4.0, 40.0), options=both),
        Arm("madlib", (4.0,), options=both[:1]),
    )
    task, draws = PERSONS.plan.task, (("draws", 10),)
    plan = Plan("toy", task, arms, ("few",), (file.name,), options=draws, together=True)
    sources = gather(plan, tmp_path, lexicons={"few": FEW}, files={file.name: file})
    assert len(list(run(plan, sources, tmp_path))) == len(arms)
    table = pd.DataFrame(collected(plan, sources, tmp_path))
    assert table["label"].unique().tolist() == [
        "as written", "rules", "tem", "rules + tem", "madlib", "rules + madlib",
    ]  # fmt: skip
    value: Any = table.set_index(["label", "quantity", "variant", "epsilon"])["value"].sort_index()
    assert value["as written", "left", ""].item() == 1
    assert value["tem", "left", "", 40.0] > value["tem", "left", "", 4.0]
    assert value["rules + tem", "left", "", 4.0] <= value["tem", "left", "", 4.0]
    assert 0 < value["tem", "leak", "", 4.0] < value["tem", "leak", "", 40.0] <= 1
    assert 0 <= value["tem", "guessed-reads", "", 4.0] <= 1
    assert ("rules", "persons-guessed-reads") in value.index.droplevel(["variant", "epsilon"])
    assert "apart" not in set(table[table["label"] == "madlib"]["quantity"])
    assert "Y" not in set(table["variant"])  # it stands in no text


def test_the_arms_are_those_of_the_trade_off() -> None:
    settings = {arm.name: (arm.mechanism, arm.settings) for arm in TRADE_ARMS}
    for arm in PERSON_ARMS[2:]:
        assert (arm.mechanism, arm.settings) == settings[arm.name]


def test_the_record_is_consistent(recorded: Recorded) -> None:
    table = recorded.table
    shares = table[table["low"].notna()]
    assert (shares["low"] <= shares["value"] + 1e-12).all()
    assert (shares["value"] <= shares["high"] + 1e-12).all()
    whole = table[table["variant"] == ""].set_index(["label", "epsilon", "quantity"])["value"]
    # At each level the words that are guessed are about as many.
    leaks = table[table["quantity"] == "leak"]
    for share in leaks["value"]:
        assert min(abs(share / level - 1) for level in LEVELS) < 0.1
    for arm in PERSON_ARMS[2:]:
        for epsilon in arm.epsilons:
            left = [
                whole[name + arm.name, epsilon, "left"] for name in ("", "rules + ", "entities + ")
            ]
            assert left[0] > max(left[1:])
            assert whole[arm.name, epsilon, "persons-left"] >= left[0]


def rendered(record: Recorded) -> list[str]:
    """The table of `docs/redactors.md`, in 100."""
    table = record.table[record.table["variant"] == ""]
    lines = [
        "| of 100 | words guessed | facts left | facts guessed | told apart | persons |",
        "|---|" + "---:|" * 5,
    ]

    def line(label: str, epsilon: float | None) -> str:
        at = table["epsilon"].isna() if epsilon is None else table["epsilon"] == epsilon
        rows = {r["quantity"]: r for r in table[(table["label"] == label) & at].to_dict("records")}
        cells = []
        for name in ("leak", "left", "guessed", "apart", "persons-left"):
            row = rows.get(name)
            if row is None:
                cells.append("")
                continue
            value, low, high = (100 * row[key] for key in ("value", "low", "high"))
            ends = "" if high - low < 0.05 else f" [{low:.1f}, {high:.1f}]"
            cells.append(f"{value:.1f}{ends}")
        title = label if epsilon is None else f"{label}, ε = {epsilon:g}"
        return f"| {title} | {' | '.join(cells)} |"

    lines += [line(name, None) for name in ("as written", "rules", "entities")]
    for arm in PERSON_ARMS[2:]:
        lines += [line(arm.name, epsilon) for epsilon in arm.epsilons]
    for arm in PERSON_ARMS[2:]:
        if arm.name in BEFORE:
            lines += [
                line(f"{redactor} + {arm.name}", arm.epsilons[1])
                for redactor in ("rules", "entities")
            ]
    return lines


def test_the_page_has_the_recorded_table(recorded: Recorded) -> None:
    page = (ROOT / "docs/redactors.md").read_text(encoding="utf-8")
    assert "\n".join(rendered(recorded)) in page
