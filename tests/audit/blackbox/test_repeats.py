"""Noise that is used twice: in fresh processes, and in calls of one process.

Each finding is wrong with the probability that is handed over, here 2.5e-7.
"""

from pathlib import Path

import pytest
from scipy.stats import binom

from dpcore.audit.blackbox.audit import audit_function
from dpcore.audit.blackbox.function import WordFunction
from dpcore.audit.blackbox.repeats import Repeats, repeats
from dpcore.audit.verdict import Outcome
from tests.mechanisms import lexicons

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
