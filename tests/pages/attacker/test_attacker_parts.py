"""Parts of the Attacker page by themselves: labels, the preparation in the background, lists."""

import threading
from typing import Any

import pytest

from dpcore.errors import ParameterError
from dpcore.jobs.background import Turns
from dpcore.lexicon.progress import Progress
from dpcore.limits import MAX_PAGE_WORK
from dpcore.mechanisms.registry import create
from pages.attacker import channels
from pages.attacker.channels import Opening
from pages.attacker.game_view import LISTS
from pages.shared.session import lexicon
from pages.shared.words import plain_label
from tests.mechanisms import lexicons


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("garage", "garage"),
        ("**x**", r"\*\*x\*\*"),
        (":smile:", r"\:smile\:"),
        ("<b>", r"\<b\>"),
        ("$a_b$", r"\$a\_b\$"),
        ("[x](y)", r"\[x\]\(y\)"),
    ],
)
def test_a_label_takes_the_signs_of_markdown_literally(word: str, label: str) -> None:
    assert plain_label(word) == label


def test_the_lists_of_the_game_are_words_of_the_bundled_lexicon() -> None:
    words = lexicon("default")
    for text in LISTS.values():
        assert all(word in words for word in text.split())
        assert 2 <= len(set(text.split())) == len(text.split()) <= 12


def begin(mechanism: Any) -> Any:
    """A preparation that hands on what stands in for a mechanism."""
    return Opening(mechanism)


def test_preparing_the_attacker_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "open_channel", lambda mechanism, progress: mechanism)
    # Not the queue of the process, in which an earlier test may have left a preparation at work.
    work = Turns(MAX_PAGE_WORK)
    monkeypatch.setattr(channels, "WORK", work)
    turns = [work.join() for _ in range(MAX_PAGE_WORK)]
    begun = begin("tem")
    assert (*begun.progress(), begun.channel) == (0.0, "Waiting: 1 before you", None)
    for taken in turns:
        taken.leave()
    begun.thread.join(30)
    assert begun.channel == "tem"
    assert work.join().wait(0)


def test_a_preparation_says_how_far_it_is_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    reported, go_on = threading.Event(), threading.Event()

    def slow(mechanism: object, progress: Progress) -> str:
        progress("distances", 1, 0)  # a stage whose length is not known
        progress("distances", 1, 4)
        reported.set()
        assert go_on.wait(30)
        return f"channel of {mechanism}"

    monkeypatch.setattr(channels, "open_channel", slow)
    begun = begin("tem")
    assert reported.wait(30)
    share, text = begun.progress()
    assert share == 0.25
    assert "s left" in text
    assert not begun.done
    go_on.set()
    begun.thread.join(30)
    assert begun.done
    assert begun.channel == "channel of tem"


def test_a_refused_preparation_keeps_the_reason() -> None:
    begun = Opening(create("madlib", lexicons.cloud(20, 3)))
    begun.thread.join(30)
    assert begun.channel is None
    assert isinstance(begun.error, ParameterError)
    assert "no exact law" in str(begun.error)
