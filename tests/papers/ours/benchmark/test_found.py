"""ε of a level of the benchmark, and the status of its guarantee: proved, or certified."""

from typing import Any

import pytest

from dpcore.guarantee import Status
from dpcore.mechanisms import certificate
from dpcore.papers.ours.benchmark.cells import LADDER, QUICK, complete
from dpcore.study.plan import Arm, Given, Plan
from tests.mechanisms import lexicons


@pytest.mark.parametrize("calibrate", [True, False])
def test_noise_that_is_certified_on_the_way_is_used_at_once(
    calibrate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "CERTIFIED_AT_ONCE_WORDS", 10)  # not by itself
    lexicon = lexicons.cloud(60, 31 + calibrate)

    def run(first: Plan) -> list[dict[str, Any]]:
        (arm,) = first.arms
        named = {"label": arm.name, "variant": "", "value": 1.0}  # where certificates help
        return [named | {"at": share} for share in LADDER]

    plan = Plan("some", "some.module:function", (Arm(""),), (lexicon.name,), options=QUICK.options)
    given = Given({lexicon.name: lexicon}, run, lambda *_: None)
    _, rows = complete(plan, given, [("tem-calibrated", ())], calibrate=calibrate)
    (status,) = [each["variant"] for each in rows if each["quantity"] == "status"]
    assert status == str(Status.CERTIFIED if calibrate else Status.PROVED)
