"""How a function under test is found and called, and what it may give."""

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.audit.blackbox.function import Form, Refusal, WordFunction, importable_name
from dpcore.errors import ParameterError


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
