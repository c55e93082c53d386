"""Default ε: where a quarter of the content words is guessed, or a fixed value."""

import pytest
import streamlit as st

from dpcore.attack.trade.ground import GUESSED
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.tradeoff import recorded_curve
from pages.shared.dial import GROUPS, Group, group_of
from pages.shared.epsilon_dial import SHARE, UNRECORDED, default_epsilon
from tests.mechanisms import lexicons
from tests.pages.app import open_link


def test_a_quarter_of_the_words_is_guessed_there() -> None:
    mechanism = create("madlib", load())
    curve = recorded_curve(mechanism)
    assert curve is not None
    epsilon = default_epsilon(group_of(mechanism.meaning), [mechanism])
    assert curve.at_epsilon(GUESSED, epsilon) == pytest.approx(SHARE, abs=0.01)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_without_a_record_it_is_a_step_of_the_slider(group: Group) -> None:
    assert default_epsilon(group) == UNRECORDED[group.name]
    assert UNRECORDED[group.name] in group.grid


def test_another_lexicon_has_no_record() -> None:
    mechanism = create("madlib", lexicons.cloud(30, 3))
    group = group_of(mechanism.meaning)
    assert default_epsilon(group, [mechanism]) == UNRECORDED[group.name]


def test_a_link_to_an_epsilon_between_two_steps_says_which_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(st, "toast", lambda text, icon: said.append(text))
    for given in ("15", "16", "none"):
        open_link("words", eps_metric=given)
    assert said == ["The link asks for ε = 15; the dial's nearest step is 16."]
