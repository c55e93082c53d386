"""ε of a level of the benchmark, and the status of its guarantee: proved, or certified."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcore.attack.leak import leak
from dpcore.attack.trade.levels import first_epsilons
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms import certificate
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.benchmark.cells import LADDER, QUICK, complete, first_guesses
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

    size = replace(QUICK, stranger="equal")  # no one has counted these words
    plan = Plan("some", "some.module:function", (Arm(""),), (lexicon.name,), options=size.options)
    given = Given({lexicon.name: lexicon}, run, lambda *_: None)
    _, rows = complete(plan, given, [("tem-calibrated", ())], calibrate=calibrate)
    (status,) = [each["variant"] for each in rows if each["quantity"] == "status"]
    assert status == str(Status.CERTIFIED if calibrate else Status.PROVED)


def test_a_search_begins_around_what_is_recorded() -> None:
    lexicon = load(None)
    for name, recorded in (("k-ary", True), ("rantext", False)):
        mechanism = create(name, lexicon)
        whole = first_epsilons(mechanism)
        assert first_guesses(mechanism, "equal") == whole
        guesses = first_guesses(mechanism, "counts")
        assert (guesses != whole) == recorded
        assert (guesses[0], guesses[-1]) == (whole[0], whole[-1])
    k_ary = create("k-ary", lexicon)
    guesses = first_guesses(k_ary, "counts")
    shares = [each.after for each in leak(k_ary, guesses, "counts")]
    for share in LADDER:  # within the two that lie around it
        place = int(np.searchsorted(shares, share))
        assert 0.7 * share < shares[place - 1] <= share <= shares[place] < 1.4 * share
