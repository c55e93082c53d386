"""Attacker page: the guessing game."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.attacker.board import GAME
from pages.attacker.game_view import ANY, LISTS, NEAR, OWN
from pages.shared.dial import GROUPS
from tests.pages.app import shown_text, table, turn
from tests.pages.attacker.reading import FEW, metrics


def play(test: AppTest, place: int) -> AppTest:
    return test.button(key=f"guess_{place}").click().run()


@pytest.mark.slow
def test_a_round_of_the_game_is_played_and_scored(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME)
    assert {b.label for b in test.button if b.key.startswith("guess_")} == set(
        LISTS["Illnesses"].split()
    )
    assert metrics(test)["You"] == "0"
    play(test, 0)
    shown = shown_text(test)
    assert "It was “" in shown
    assert "You said “asthma”" in shown
    assert "Bayes said “" in shown
    assert "In the long run Bayes is right in" in shown
    assert all(b.disabled for b in test.button if b.key.startswith("guess_"))
    first = table(test, "rounds", "you", "attacker", "chance").iloc[0]
    assert first["rounds"] == 1
    test.button(key="game_next").click().run()
    assert "Round 2." in shown_text(test)
    play(test, 1)
    assert table(test, "rounds")["rounds"].tolist() == [2]
    test.button(key="game_forget").click().run()
    assert metrics(test)["You"] == "0"
    assert not any("rounds" in d.value.columns for d in test.dataframe)


def test_a_guess_is_right_exactly_when_the_secret_is_named(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME)
    for _ in range(3):
        dealt = test.session_state["attack_dealt"]
        play(test, dealt.dealt.secret)
        assert f"You said “{dealt.names[dealt.dealt.secret]}”: ✔ right" in shown_text(test)
        test.button(key="game_next").click().run()
    dealt = test.session_state["attack_dealt"]
    play(test, (dealt.dealt.secret + 1) % len(dealt.names))
    assert "✘ wrong" in shown_text(test)
    assert metrics(test)["You"] == "3"


def test_a_played_round_cannot_be_played_again(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME)
    play(test, 0)
    turn(test, GROUPS[0], 3.0)
    assert not test.button(key="guess_0").disabled
    play(test, 0)
    assert len(table(test, "rounds")) == 2  # each ε has a score of its own
    turn(test, GROUPS[0], 2.5)
    assert test.button(key="guess_0").disabled
    assert table(test, "rounds")["rounds"].sum() == 2


@pytest.mark.parametrize("title", [ANY, NEAR, OWN])
def test_every_list_can_be_played(opened: Callable[..., AppTest], title: str) -> None:
    test = opened(view=GAME, game_list=title, game_outputs="3")
    play(test, 1)
    assert "You said" in shown_text(test)
    assert {"output 1", "output 2", "output 3"} <= set(metrics(test))


def test_a_list_without_a_game_is_refused(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME, game_list=OWN)
    for typed, message in (
        ("zzqq!! <b>x</b>", "are not in lexicon"),
        ("doctor", "2 to 12 different words, got 1"),
        ("", "the list of words is empty"),
        (" ".join(FEW[:13]), "got 13"),
    ):
        test.text_input(key="game_words").set_value(typed).run()
        shown = shown_text(test)
        assert "There is nothing to guess from." in shown
        assert message in shown
        assert typed not in str(test.query_params) or not typed


def test_the_nearest_word_attacker_plays_where_there_is_no_law(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME, attacked="madlib")
    play(test, 2)
    shown = shown_text(test)
    assert "The nearest-word attacker said" in shown
    assert "A better one may exist" in shown
    assert "Nearest" in metrics(test)
