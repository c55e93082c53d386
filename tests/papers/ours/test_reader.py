"""Study of a reader of English: the mechanisms of its record are those of the benchmark."""

import json
from typing import Any

import pytest

from dpcore.lexicon.catalogue import load
from dpcore.papers.ours import authors
from dpcore.papers.ours.reader import LEVELS, STUDIES, complete, texts_of
from dpcore.study.plan import Given, Study
from dpcore.study.recorded import read_recorded


@pytest.mark.parametrize("study", [*STUDIES, authors.STUDY], ids=lambda study: study.name)
def test_what_was_recorded_is_what_the_recorded_benchmark_says(study: Study) -> None:
    def refused(_: object) -> list[Any]:
        raise AssertionError("nothing is run to find the mechanisms")

    (name,) = study.plan.lexicons
    plan, found = complete(study.plan, Given({name: load()}, refused, lambda *_: None))
    assert found == []
    recorded = read_recorded(study.name)
    assert json.loads(json.dumps(plan.to_json()))["arms"] == recorded.entry.plan["arms"]
    for arm in plan.arms:
        assert set(dict(arm.options)["levels"]) <= {(e, at) for e in arm.epsilons for at in LEVELS}


def test_the_texts_are_those_of_the_seed() -> None:
    lexicon = load()
    few, more = texts_of(lexicon, 3, 1), texts_of(lexicon, 5, 1)
    assert [list(each.words) for each in few] == [list(each.words) for each in more[:3]]
    assert all((each.words >= 0).any() for each in more)
