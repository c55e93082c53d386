"""Functions under test: how they are found and called, and their permitted outputs."""

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.audit.blackbox.audit import audit_function
from dpcore.audit.blackbox.function import (
    Form,
    Refusal,
    Repeats,
    WordFunction,
    importable_name,
    repeats,
)
from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from tests.mechanisms import lexicons


def settled(function: Any, form: str = "auto") -> WordFunction:
    tested = WordFunction(function, 2.0, form)
    tested.settle(["doctor", "rain"])
    return tested


class Package:
    def method(self, word: str) -> str:
        return word[::-1]

    @staticmethod
    def static(word: str, epsilon: float) -> str:
        return f"{word}{epsilon:g}"

    def __call__(self, word: str) -> str:
        return word


@pytest.mark.parametrize(
    ("function", "form", "output"),
    [
        (lambda word: word, Form.WORD, "rain"),
        (lambda word, epsilon: f"{word}{epsilon:g}", Form.WORD, "rain2"),
        (lambda word, budget: f"{word}{budget:g}", Form.WORD, "rain2"),
        (lambda word, *, eps: f"{word}{eps:g}", Form.WORD, "rain2"),
        (lambda word, epsilon=9: f"{word}{epsilon:g}", Form.WORD, "rain2"),
        (lambda word, other=9: f"{word}{other:g}", Form.WORD, "rain9"),
        (lambda words: [f"{w}!" for w in words], Form.WORDS, "rain!"),
        (lambda words: np.array(words), Form.WORDS, "rain"),
        (lambda words, epsilon: tuple(words), Form.WORDS, "rain"),
        (Package().method, Form.WORD, "niar"),
        (Package.static, Form.WORD, "rain2"),
        (Package(), Form.WORD, "rain"),
        (str.lower, Form.WORD, "rain"),
    ],
)
def test_forms_are_found_out(function: Any, form: Form, output: str) -> None:
    tested = settled(function)
    assert tested.form is form
    (came,) = tested.outputs(["rain"])
    assert came == output
    assert type(came) is str
    assert tested.calls >= 2
    assert tested.seconds >= 0


def test_a_form_can_be_declared() -> None:
    joined: Callable[[Any], Any] = lambda words: "".join(words)  # noqa: E731
    assert settled(joined).form is Form.WORD
    with pytest.raises(ParameterError, match="a value of type str for a list of words"):
        settled(joined, "words")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda word: None, "a value of type NoneType"),
        (lambda word: 7, "a value of type int"),
        (lambda word: 1 / 0, "ZeroDivisionError: division by zero"),
        (math.sin, "TypeError"),
    ],
)
def test_what_gives_no_word_is_refused_with_what_it_did(function: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        settled(function)


@pytest.mark.parametrize(
    "function",
    [lambda: "x", lambda a, b, c: a, lambda *, word: word, lambda word, *, more: word],
)
def test_arguments_that_are_neither_word_nor_epsilon_are_refused(function: Any) -> None:
    with pytest.raises(ParameterError, match="must take a word, or a word and ε"):
        WordFunction(function, 1.0, "auto")


def test_one_word_that_is_refused_does_not_take_its_list_along() -> None:
    def strict(words: list[str]) -> list[str]:
        if "rain" in words:
            raise KeyError("rain")
        return words

    tested = WordFunction(strict, 1.0, Form.WORDS)
    assert tested.outputs(["a", "rain", "b"]) == ["a", Refusal("KeyError: 'rain'"), "b"]
    short = WordFunction(lambda words: words[:1], 1.0, Form.WORDS)
    assert short.outputs(["a", "b"]) == [Refusal("1 values for a list of 2 words")] * 2


def test_what_a_function_prints_is_not_heard(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(word: str) -> str:
        print("loading")
        return word

    assert settled(noisy).outputs(["a"]) == ["a"]
    assert capsys.readouterr() == ("", "")


def test_a_long_complaint_is_cut_to_one_line() -> None:
    def complains(word: str) -> str:
        raise RuntimeError("line\n" * 500)

    (came,) = WordFunction(complains, 1.0, "word").outputs(["a"])
    assert isinstance(came, Refusal)
    assert "\n" not in came.reason
    assert len(came.reason) < 150


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noise_of_mine.py").write_text(
        "def replace(word): return word\nclass Kind:\n    pass\nvalue = 3\n", encoding="utf-8"
    )
    (tmp_path / "broken_noise.py").write_text("import no_such_package\n", encoding="utf-8")
    (tmp_path / "ending_noise.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    tested = WordFunction("noise_of_mine:replace", 1.0, "auto")
    assert tested.name == tested.importable == "noise_of_mine:replace"
    mine = importlib.import_module("noise_of_mine")
    assert importable_name(mine.replace) == "noise_of_mine:replace"
    assert importable_name(lambda word: word) is None
    for name, message in {
        "noise_of_mine": "named as package.module:function",
        ":replace": "named as",
        "noise_of_mine:": "named as",
        "../noise:replace": "named as",
        "no_such_module:replace": "no module 'no_such_module'",
        "noise_of_mine.inner:replace": "no module 'noise_of_mine.inner'",
        "noise_of_mine:other": "has no 'other'",
        "noise_of_mine:value": "no function but a value of type int",
        "broken_noise:replace": "no_such_package",
        "ending_noise:replace": "cannot be imported: SystemExit: 3",
    }.items():
        with pytest.raises(ParameterError, match=message):
            WordFunction(name, 1.0, "auto")


# Noise that is used twice: in fresh processes, and in calls of one process.
#
# Each finding is wrong with the probability that is handed over, here 2.5e-7.


ERROR = 2.5e-7
WORDS = [f"w{i}" for i in range(64)]
SOURCE = """
import numpy as np

GIVEN = np.random.default_rng(42)
FRESH = np.random.default_rng()
KEPT = {}


def seeded(word):
    return f"w{GIVEN.integers(64)}" if GIVEN.random() < 0.5 else word


def fresh(word):
    return f"w{FRESH.integers(64)}" if FRESH.random() < 0.5 else word


def same(word):
    return word


def constant(word):
    return "w0"


def remembered(word):
    return KEPT.setdefault(word, f"w{FRESH.integers(64)}")


def seeded_constant(word):
    return f"w{GIVEN.integers(64)}"


def ending(word):
    import os
    os._exit(3) if KEPT.get("child") else None
    return word
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "noise_under_test.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return "noise_under_test"


def asked(module: str, name: str) -> Repeats:
    tested = WordFunction(f"{module}:{name}", 1.0, "word")
    came = repeats(tested, 1.0, WORDS, ERROR)
    assert isinstance(came, Repeats), came
    return came


@pytest.mark.slow
def test_what_repeats_itself_is_told_from_what_does_not(module: str) -> None:
    found = {
        name: (r.same_noise, r.remembers, r.fixed)
        for name in ("seeded", "fresh", "same", "constant", "remembered", "seeded_constant")
        if (r := asked(module, name))
    }
    assert found == {
        "seeded": (True, False, False),
        "fresh": (False, False, False),
        "same": (False, False, True),
        "constant": (False, False, False),  # nothing to protect, nothing given away
        "remembered": (False, True, False),
        "seeded_constant": (False, False, False),  # it reacts to no word
    }


@pytest.mark.slow
def test_a_fixed_seed_refutes_and_memory_refutes_nothing(module: str) -> None:
    lexicon = lexicons.cloud(64, 3)
    seeded = audit_function(f"{module}:seeded", 30.0, lexicon=lexicon, samples=20_000)
    assert seeded.within_reach < seeded.pairs
    assert seeded.outcome is Outcome.REFUTED
    assert seeded.findings[0].startswith("Every fresh process has the same noise")
    kept = audit_function(f"{module}:remembered", 0.1, lexicon=lexicon, samples=20_000)
    assert kept.label == "not refuted (calls of one process are not independent)"
    fresh = audit_function(f"{module}:fresh", 30.0, lexicon=lexicon, samples=20_000)
    assert fresh.outcome is Outcome.NOT_REFUTED


def test_the_coin_is_exact() -> None:
    """Twenty words on which processes alone agree are as many heads of twenty fair coins."""

    def of(heads: int, tails: int, words: int = 64) -> Repeats:
        both = words - heads - tails
        return Repeats(words, both + tails, both + heads, heads, tails, True, ERROR)

    assert of(20, 0).p_same == pytest.approx(2.0**-20)
    assert not of(22, 0).same_noise
    assert of(23, 0).same_noise  # 2^-23 is at most half of the error
    assert not of(23, 0).partly_same
    assert not of(40, 1).same_noise  # then two processes did not agree on every word
    assert of(40, 1).partly_same
    assert "agree more than calls do: two of them on 63 of 64 words" in of(40, 1).sentence
    assert of(5, 30).remembers == (binom.sf(29, 35, 0.5) <= 0.5 * ERROR)


def test_a_function_without_a_name_is_not_tested() -> None:
    came = repeats(WordFunction(lambda word: word, 1.0, "word"), 1.0, WORDS, ERROR)
    assert isinstance(came, str)
    assert came.startswith("not tested: another process can import neither")


def test_a_process_that_ends_is_no_finding(module: str, tmp_path: Path) -> None:
    (tmp_path / "ending_child.py").write_text(
        "import os, sys\n"
        "def replace(word):\n"
        "    if sys.argv and 'worker' in sys.argv[0]: os._exit(1)\n"
        "    return word\n",
        encoding="utf-8",
    )
    came = repeats(WordFunction("ending_child:replace", 1.0, "word"), 1.0, WORDS, ERROR)
    assert isinstance(came, str)
    assert came.startswith("not tested: a fresh process failed")
