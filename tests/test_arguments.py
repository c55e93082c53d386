"""Every name of the front door called with odd arguments: a sentence, and never an accident."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import arguments
from dpcore.errors import DpcoreError, EpsilonError, ParameterError

LEXICON = dp.lexicon(limit=60)
TEM = dp.mechanism("tem", LEXICON)
KARY = dp.mechanism("k-ary", LEXICON)
MADLIB = dp.mechanism("madlib", LEXICON)
TEXT = dp.read("the was of", LEXICON)
MANY = ["the was of", "of the"] * 5
ODD: dict[str, Any] = {
    "True": True,
    "None": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "-1": -1,
    "0": 0,
    "text": "x",
    "digits": "20",
    "empty text": "",
    "bytes": b"x",
    "numpy float": np.float64(2),
    "numpy int": np.int64(2),
    "numpy bool": np.True_,
    "array of no dimension": np.array(2.0),
    "array of a text": np.array("a"),
    "array of one": np.array([2.0]),
    "array of two dimensions": np.array([[2.0]]),
    "array of truths": np.array([True]),
    "empty list": [],
    "empty tuple": (),
    "empty dict": {},
    "dict": {"a": 1},
    "list of lists": [[1.0]],
    "list of a text": ["a"],
    "list of nothing": [None],
    "object": object(),
    "complex": 1 + 2j,
    "huge": 2**2000,
    "3.5": 3.5,
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "mechanism: name": lambda v: dp.mechanism(v, LEXICON),
    "mechanism: lexicon": lambda v: dp.mechanism("tem", v),
    "mechanism: setting": lambda v: dp.mechanism("tem", LEXICON, beta=v),
    "release: text": lambda v: dp.release(v, TEM, 20),
    "release: mechanism": lambda v: dp.release(TEXT, v, 20),
    "release: epsilon": lambda v: dp.release(TEXT, TEM, v),
    "read: text": lambda v: dp.read(v, LEXICON),
    "read: lexicon": lambda v: dp.read("a b", v),
    "read: treatment": lambda v: dp.read("a b", LEXICON, v),
    "read: characters": lambda v: dp.read("a b", LEXICON, max_characters=v),
    "read: tokens": lambda v: dp.read("a b", LEXICON, max_tokens=v),
    "draw: text": lambda v: dp.draw(v, TEM, 1),
    "draw: mechanism": lambda v: dp.draw(TEXT, v, 1),
    "draw: seed": lambda v: dp.draw(TEXT, TEM, v),
    "draw: number": lambda v: dp.draw(TEXT, TEM, 1, v),
    "draw: epsilons": lambda v: dp.draw(TEXT, MADLIB, 1, epsilons=v),
    "draw: at": lambda v: dp.draw(TEXT, TEM, 1).at(v),
    "deniability: mechanism": lambda v: dp.deniability(v, ["the"], 2),
    "deniability: words": lambda v: dp.deniability(TEM, v, 2),
    "deniability: epsilons": lambda v: dp.deniability(TEM, ["the"], v),
    "deniability: runs": lambda v: dp.deniability(TEM, ["the"], 2, runs=v),
    "deniability: method": lambda v: dp.deniability(TEM, ["the"], 2, method=v),
    "deniability: repetitions": lambda v: dp.deniability(TEM, ["the"], 2, repetitions=v),
    "audit: subject": lambda v: dp.audit(v, 2),
    "audit: epsilon": lambda v: dp.audit(TEM, v),
    "audit: words": lambda v: dp.audit(TEM, 2, words=v),
    "audit: pairs": lambda v: dp.audit(TEM, 2, pairs=v),
    "audit: seed": lambda v: dp.audit(TEM, 2, words=5, seed=v),
    "audit: replay": lambda v: dp.audit(str.upper, 2, replay=v),
    "audit: replayed subject": lambda v: dp.audit(v, replay=True),
    "audit: replayed epsilon": lambda v: dp.audit(str.upper, v, replay=True),
    "audit: replayed form": lambda v: dp.audit(str.upper, replay=True, form=v),
    "audit: replayed texts": lambda v: dp.audit(str.upper, replay=True, texts=v),
    "audit: replayed lexicon": lambda v: dp.audit(str.upper, replay=True, lexicon=v),
    "audit: replayed seed": lambda v: dp.audit(str.upper, replay=True, seed=v),
    "lexicon: name": dp.lexicon,
    "lexicon: limit": lambda v: dp.lexicon(limit=v),
    "lexicon: language": lambda v: dp.lexicon(limit=300, language=v),
    "leak: mechanism": lambda v: dp.leak(v, 2),
    "leak: epsilon": lambda v: dp.leak(TEM, v),
    "leak: stranger": lambda v: dp.leak(TEM, 2, v),
    "leak: gain": lambda v: dp.leak(TEM, 2, gain=v),
    "leak: reader": lambda v: dp.leak(TEM, 2, "reads", reader=v, draws=2),
    "leak: draws": lambda v: dp.leak(TEM, 2, draws=v),
    "leak: seed": lambda v: dp.leak(MADLIB, 2, draws=100, seed=v),
    "repeated_leak: mechanism": lambda v: dp.repeated_leak(v, 2, 2),
    "repeated_leak: epsilon": lambda v: dp.repeated_leak(KARY, v, 2),
    "repeated_leak: releases": lambda v: dp.repeated_leak(KARY, 2, v),
    "repeated_leak: stranger": lambda v: dp.repeated_leak(KARY, 2, 2, v),
    "repeated_leak: draws": lambda v: dp.repeated_leak(KARY, 2, 2, draws=v),
    "repeated_leak: seed": lambda v: dp.repeated_leak(KARY, 2, 2, seed=v),
    "count: texts": lambda v: dp.count(v, TEM, 2, ["the"]),
    "count: mechanism": lambda v: dp.count(MANY, v, 2, ["the"]),
    "count: epsilon": lambda v: dp.count(MANY, TEM, v, ["the"]),
    "count: words": lambda v: dp.count(MANY, TEM, 2, v),
    "count: by": lambda v: dp.count(MANY, TEM, 2, ["the"], by=v),
    "count: top": lambda v: dp.count(MANY, TEM, 2, top=v),
    "count: of": lambda v: dp.count(MANY, TEM, 2, ["the"], of=v),
    "count: level": lambda v: dp.count(MANY, TEM, 2, ["the"], level=v),
    "count: looked_at": lambda v: dp.count(MANY, TEM, 2, top=1, looked_at=v),
    "count: treatment": lambda v: dp.count(MANY, TEM, 2, ["the"], treatment=v),
    "plan: mechanism": lambda v: dp.plan(v, texts=100, epsilon=2, words=["the"]),
    "plan: texts": lambda v: dp.plan(KARY, texts=v, epsilon=2, words=["the"]),
    "plan: error": lambda v: dp.plan(KARY, error=v, epsilon=2, words=["the"]),
    "plan: epsilon": lambda v: dp.plan(KARY, texts=100, epsilon=v, words=["the"]),
    "plan: leakage": lambda v: dp.plan(KARY, texts=100, leakage=v, words=["the"]),
    "plan: words": lambda v: dp.plan(KARY, texts=100, epsilon=2, words=v),
    "plan: share": lambda v: dp.plan(KARY, texts=100, epsilon=2, words=["the"], share=v),
    "plan: level": lambda v: dp.plan(KARY, texts=100, epsilon=2, words=["the"], level=v),
    "plan: stranger": lambda v: dp.plan(KARY, texts=100, epsilon=2, words=["the"], stranger=v),
    "meter: lexicon": lambda v: dp.meter(v, 1),
    "meter: epsilon": lambda v: dp.meter(LEXICON, v),
    "meter: prior": lambda v: dp.meter(LEXICON, 1, v),
    "meter: delta": lambda v: dp.meter(LEXICON, 1, local=True, delta=v),
    "meter: metric": lambda v: dp.meter(LEXICON, 1, metric=v),
    "least_distance: lexicon": lambda v: dp.least_distance(v, 1),
    "least_distance: epsilon": lambda v: dp.least_distance(LEXICON, v),
    "least_distance: metric": lambda v: dp.least_distance(LEXICON, 1, metric=v),
    "tradeoff: mechanisms": lambda v: dp.tradeoff(v, [2], outputs=100, pairs=20),
    "tradeoff: a mechanism of several": lambda v: dp.tradeoff([(v, [2])], outputs=100, pairs=20),
    "tradeoff: epsilons of several": lambda v: dp.tradeoff([(TEM, v)], outputs=100, pairs=20),
    "tradeoff: epsilons": lambda v: dp.tradeoff(TEM, v, outputs=100, pairs=20),
    "tradeoff: outputs": lambda v: dp.tradeoff(TEM, [2], outputs=v, pairs=20),
    "tradeoff: near": lambda v: dp.tradeoff(TEM, [2], outputs=100, near=v, pairs=20),
    "tradeoff: pairs": lambda v: dp.tradeoff(TEM, [2], outputs=100, pairs=v),
    "tradeoff: seed": lambda v: dp.tradeoff(TEM, [2], outputs=100, seed=v, pairs=20),
    "redact: text": dp.redact,
    "redact: redactor": lambda v: dp.redact("a b", v),
    "write: text": lambda v: dp.write(v, "none", epsilon=40),
    "write: mechanism": lambda v: dp.write("a b", v, epsilon=40),
    "privatize_column: column": lambda v: dp.privatize_column(v, TEM, 20),
    "privatize_column: mechanism": lambda v: dp.privatize_column(["a"], v, 20),
    "privatize_column: epsilon": lambda v: dp.privatize_column(["the"], TEM, v),
    "map_batch: batch": lambda v: dp.map_batch(v, "a", TEM, 20),
    "map_batch: column": lambda v: dp.map_batch({"a": ["the"]}, v, TEM, 20),
    "map_batch: mechanism": lambda v: dp.map_batch({"a": ["the"]}, "a", v, 20),
    "map_batch: epsilon": lambda v: dp.map_batch({"a": ["the"]}, "a", TEM, v),
    "law: word": lambda v: TEM.law(v, 2),
    "law: epsilon": lambda v: TEM.law("the", v),
    "replace: word": lambda v: TEM.replace(v, 2),
    "replace: epsilon": lambda v: TEM.replace("the", v),
    "guarantee": TEM.guarantee,
}
# Truth is a number to Python. Where it is no argument at all, it must not become 1.
NEVER_ONE = [name for name in CALLS if "epsilon" in name or name.endswith(("seed", "at", "word"))]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_an_odd_argument_gets_a_sentence(call: str) -> None:
    refused = False
    for value in ODD.values():
        try:
            CALLS[call](value)
        except DpcoreError as error:
            refused = True
            if "object at 0x" in str(error):
                pytest.fail(str(error))
    assert refused


@pytest.mark.parametrize("call", NEVER_ONE)
def test_true_is_not_one(call: str) -> None:
    for value in (True, np.True_, [True], np.array([True])):
        with pytest.raises(DpcoreError):
            CALLS[call](value)


def test_every_name_of_the_front_door_is_called() -> None:
    assert {call.partition(":")[0] for call in CALLS} >= set(dp.__all__)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float32(2), np.int8(2), np.array(2), Fraction(2), Decimal(2)]
)
def test_numbers_are_numbers(value: Any) -> None:
    assert arguments.a_real(value, "it") == 2.0
    assert arguments.reals(value, "it").tolist() == [2.0]
    assert arguments.reals([value, 3], "it").tolist() == [2.0, 3.0]
    assert TEM.check_epsilon(value) == 2.0


def test_whole_numbers_are_whole() -> None:
    assert arguments.a_whole(np.int64(2), "it", 1, 3) == 2
    assert arguments.a_whole(np.array(2), "it") == 2
    for value in (True, 2.0, "2", 4, 0):
        with pytest.raises(ParameterError, match="it must be a whole number from 1 to 3, got"):
            arguments.a_whole(value, "it", 1, 3)


def test_a_text_in_the_wrong_place_is_not_repeated() -> None:
    private = "my name is Rosalind"
    for wrong in (
        lambda: dp.privatize_column(3, TEM, private),  # type: ignore[arg-type]
        lambda: dp.release(TEXT, TEM, private),  # type: ignore[arg-type]
        lambda: dp.release(private, TEM, 2),  # type: ignore[arg-type]
        lambda: dp.draw(TEXT, TEM, private),  # type: ignore[arg-type]
        lambda: dp.map_batch([private], "text", TEM, 20),  # type: ignore[arg-type]
    ):
        with pytest.raises(DpcoreError) as refusal:
            wrong()
        assert "Rosalind" not in str(refusal.value)


def test_several_epsilons_are_checked_one_by_one() -> None:
    assert arguments.epsilons(np.array([1, 2])).tolist() == [1.0, 2.0]
    for values in ([], [1, 0], [1, float("nan")], "ab", {1: 2}, [[1]], np.zeros((1, 1))):
        with pytest.raises(EpsilonError, match="epsilon must be"):
            arguments.epsilons(values)
