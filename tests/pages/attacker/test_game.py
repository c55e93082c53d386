"""Attacker page: the guessing game."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from pages.attacker.board import OUTPUT
from pages.attacker.game_view import ANY, LISTS, NEAR, OWN
from pages.attacker.scene import GAME
from pages.shared.dial import GROUPS
from tests.pages.app import shown_text, table, turn
from tests.pages.attacker.reading import FEW, metrics


def names(test: AppTest) -> set[str]:
    return {b.label for b in test.button if b.key.startswith("guess_")}


def play(test: AppTest, place: int) -> AppTest:
    return test.button(key=f"guess_{place}").click().run()


def test_the_game_is_madlib_among_neighbours_with_three_outputs(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME)
    dealt = test.session_state["attack_dealt"]
    assert (dealt.rules.mechanism, dealt.rules.epsilon) == ("madlib", "10")
    assert (dealt.rules.words, dealt.rules.releases, dealt.rules.seed) == (6, 3, 2024)
    assert names(test) == set(dealt.names)
    assert {"output 1", "output 2", "output 3"} <= set(metrics(test))
    assert "judgement" in vars(dealt)  # made while the person thinks, so that a guess waits less


@pytest.mark.slow
def test_a_round_of_the_game_is_played_and_scored(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME, game_list="Illnesses", attacked="tem")
    assert names(test) == set(LISTS["Illnesses"].split())
    assert metrics(test)["You"] == "0"
    play(test, 0)
    shown = shown_text(test)
    assert "It was “" in shown
    assert "You said “asthma”" in shown
    assert "The best attacker (Bayes) said “" in shown
    assert "rounds drawn like the later ones, Bayes is right in" in shown
    assert all(b.disabled for b in test.button if b.key.startswith("guess_"))
    first = table(test, "rounds", "you", "attacker", "chance").iloc[0]
    assert first["rounds"] == 1
    test.button(key="game_next").click().run()
    assert "Round 2." in shown_text(test)
    play(test, 1)
    assert table(test, "rounds")["rounds"].tolist() == [2]
    test.button(key="game_forget").click().run()
    assert metrics(test)["You"] == "0"
    assert "Round 1." in shown_text(test)
    assert not any("rounds" in d.value.columns for d in test.dataframe)


def test_the_estimated_attacker_says_its_chance_with_an_interval(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME)
    play(test, 0)
    shown = shown_text(test)
    assert re.search(r"\(chance about .+, estimated: \d+ to \d+\)", shown)
    assert "the nearest-word attacker is right in" in shown
    assert "Bayes is right at least as often" in shown


def test_the_link_of_a_score_plays_the_same_rounds(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME, seed="7", eps_metric="3", attacked="tem")
    rounds = []
    for _ in range(3):
        rounds.append(test.session_state["attack_dealt"].dealt)
        play(test, 0)
        test.button(key="game_next").click().run()
    (line,) = [code.value for code in test.code if "Your turn" in code.value]
    assert line.startswith("Seed 7, 3 played: I guessed ")
    given = {name: values[0] for name, values in parse_qs(line.partition("?")[2]).items()}
    # All that the rounds depend on is named, so that no later default changes them.
    assert set(given) >= {
        "view", "attacked", "eps_metric", "game_list", "game_count", "game_outputs", "seed", "word"
    }  # fmt: skip
    other = opened(**given)
    for dealt in rounds:
        assert other.session_state["attack_dealt"].dealt == dealt
        play(other, 1)
        other.button(key="game_next").click().run()


def test_typed_words_are_in_no_link_of_a_score(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME, game_list=OWN, attacked="tem")
    play(test, 0)
    assert not [code for code in test.code if "Your turn" in code.value]
    assert "Rounds of typed words have no link" in shown_text(test)


def test_game_and_other_views_have_a_mechanism_of_their_own(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()

    def look(view: str) -> tuple[Any, Any]:
        test.session_state["view"] = view
        test.run()
        return test.selectbox(key="attacked").value, test.session_state["eps_metric"]

    turn(test, GROUPS[0], 4.0)
    assert look(GAME) == ("madlib", 10.0)
    turn(test, GROUPS[0], 12.0)
    assert look(OUTPUT) == ("tem", 4.0)
    assert look(GAME) == ("madlib", 12.0)
    # A link that names a mechanism is played under it.
    assert opened(view=GAME, attacked="tem").selectbox(key="attacked").value == "tem"


@pytest.mark.parametrize("way", ["tab", "page"])
def test_the_game_leaves_what_was_chosen_as_it_was(
    opened: Callable[..., AppTest], way: str
) -> None:
    test = opened(attacked="vickrey", eps_metric="12")
    test.session_state["view"] = GAME
    test.run()
    assert (test.selectbox(key="attacked").value, test.session_state["eps_metric"]) == (
        "madlib",
        10.0,
    )
    if way == "tab":
        test.session_state["view"] = OUTPUT
        test.run()
        assert test.selectbox(key="attacked").value == "vickrey"
        assert test.query_params["attacked"] == "vickrey"
        assert test.query_params["eps_metric"] == "12"
    else:
        test.query_params.clear()  # as a browser does when one goes to another page
        test.switch_page("pages/curves/page.py").run()
        assert test.session_state["attacked"] == "vickrey"
    assert test.session_state["eps_metric"] == 12.0


def test_what_nobody_chose_before_the_game_is_a_default_after_it(
    opened: Callable[..., AppTest],
) -> None:
    usual = opened().session_state["eps_metric"]
    test = opened(view=GAME)
    test.session_state["view"] = OUTPUT
    test.run()
    assert test.selectbox(key="attacked").value == "tem"
    assert test.session_state["eps_metric"] == usual
    assert "eps_metric" not in test.query_params
    assert "attacked" not in test.query_params
    assert "eps_metric" in test.session_state["epsilons_of_one_page"]


def test_a_guess_is_right_exactly_when_the_secret_is_named(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME, attacked="tem")
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
    test = opened(view=GAME, attacked="tem")
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
    test = opened(view=GAME, game_list=title, attacked="tem")
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
    test = opened(view=GAME, attacked="hyperbolic", eps_metric="9")
    play(test, 2)
    shown = shown_text(test)
    assert "The nearest-word attacker said" in shown
    assert "A better one may exist" in shown
    assert "Nearest" in metrics(test)
