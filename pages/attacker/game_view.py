"""Guess the word: a person against the Bayes attacker, who see the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.limits import MAX_GAME_RELEASES
from dpcore.plots.attack.icons import icon_caption, icon_figure
from dpcore.plots.attack.words import chance_text, share_text
from pages.attacker.listing import OWN, choose_list
from pages.attacker.playing import (
    answer,
    answer_of,
    forget,
    next_round,
    on_the_table,
    round_number,
    scores,
)
from pages.attacker.tables import candidate_table, game_icons, score_table
from pages.shared.downloads import csv_button
from pages.shared.fields import choose_seed, whole_number
from pages.shared.figure import show_figure
from pages.shared.language import numeral, say
from pages.shared.messages import note, refuse
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.words import plain_label

if TYPE_CHECKING:
    from pages.attacker.playing import Answer, Dealt
    from pages.attacker.scene import Scene


def game_view(scene: Scene) -> None:
    """Draw the rules, the round on the table, its end, and the score."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice, releases, seed = choose_list(scene.words), _releases(), _seed()
    try:
        listed = choice.listed(scene.words, seed)
        table = on_the_table(scene, listed, releases, seed)
    except DpcoreError as error:
        refuse(say("There is nothing to guess from."), error)
        return
    given = answer_of(table)
    left, right = st.columns([2, 1])
    with left, st.container(border=True):
        _question(table, given, scene.reading)
        if given is not None:
            _end(table, given)
    with right, st.container(border=True):
        _score(table)
    if given is None:
        note(
            say(
                "Guess as the attacker does: which word of the list is most likely to become "
                "this one? Your guess is then set beside the attacker's."
            )
        )
    else:
        _after(table)
    _all_scores()
    note(say("Who opens the link plays the same rounds; the score stays in this browser session."))
    take_it_with_you(lambda: Takeaway(None, scene.mechanism.cited, typed=listed.title == OWN))


def _seed() -> int:
    return choose_seed(
        say("Secrets and noise come from it: a class that opens one link plays the same rounds."),
        150,
    )


def _releases() -> int:
    return whole_number(
        say("Outputs you see"),
        1,
        MAX_GAME_RELEASES,
        1,
        "game_outputs",
        say(
            "How often the one secret is released, each time with fresh noise. Every output "
            "tells something, and the ε of all add up."
        ),
        width=150,
    )


def _question(table: Dealt, given: Answer | None, reading: str) -> None:
    st.markdown(
        say(
            "**Round {number}.** The secret went through {reading}. This came out:",
            number=round_number(),
            reading=reading,
        )
    )
    with st.container(horizontal=True, key="game_outputs_shown"):
        for number, output in enumerate(table.dealt.outputs, start=1):
            label = (
                say("output")
                if len(table.dealt.outputs) == 1
                else say("output {number}", number=number)
            )
            st.metric(label, table.game.mechanism.lexicon.words[output], width="content")
    st.markdown(say("Which word was it?"))
    with st.container(horizontal=True, key="game_guesses"):
        for place, name in enumerate(table.names):
            st.button(
                plain_label(name),
                key=f"guess_{place}",
                disabled=given is not None,
                on_click=answer,
                args=(table, place),
                help=say("Your guess; the first one counts."),
            )


def _end(table: Dealt, given: Answer) -> None:
    judgement = table.judgement()
    st.markdown(f"**{_headline(given)}**")
    who, sure = say("The nearest-word attacker"), ""
    if judgement.posterior is not None:
        who = say("Bayes")
        chance = chance_text(float(judgement.posterior[judgement.guess]))
        sure = say(" (chance {chance})", chance=numeral(chance))
    # st.text: the words may come from a list that a person typed.
    st.text(
        say(
            "It was “{secret}”.\nYou said “{guess}”: {right}.\n{who} said “{other}”: "
            "{attacker_right}{sure}.",
            secret=table.names[table.dealt.secret],
            guess=table.names[given.guess],
            right=_verdict(given.right),
            who=who,
            other=table.names[judgement.guess],
            attacker_right=_verdict(given.attacker_right),
            sure=sure,
        )
    )
    st.button(
        say("Next word"),
        key="game_next",
        icon=":material/arrow_forward:",
        on_click=next_round,
        help=say("Draws another secret under the same rules."),
    )


def _after(table: Dealt) -> None:
    """What the attacker saw in the outputs."""
    judgement = table.judgement()
    candidates = candidate_table(table, judgement)
    if judgement.posterior is None:
        note(
            say(
                "The probabilities of this mechanism's outputs cannot be computed, so this "
                "attacker names the word of the list that is nearest to what came out. A better "
                "one may exist."
            )
        )
        show_table(candidates, say("Each word of the list with its distance from the outputs"))
        return
    st.header(say("What the attacker believes now"), anchor=False)
    left, right = st.columns(2)
    with left:
        icons = game_icons(table, judgement)
        show_figure(icon_figure(icons), icon_caption(icons, "this"), icons, "game")
    with right:
        show_table(
            candidates,
            say("Each word of the list with the attacker's probability and its distance"),
        )
        long_run = table.game.long_run()
        if long_run is not None:
            st.text(
                say(
                    "In the long run Bayes is right in {share} with this list at this ε, blind "
                    "guessing in {blind}. Nobody who sees the same does better than Bayes; in a "
                    "few rounds you may be lucky.",
                    share=numeral(share_text(long_run, "rounds")),
                    blind=numeral(chance_text(1 / len(table.names))),
                )
            )


def _headline(given: Answer) -> str:
    if given.right and given.attacker_right:
        return say("✔ Both right")
    if given.right:
        return say("✔ You beat the attacker")
    return say("✘ The attacker knows") if given.attacker_right else say("✘ The secret is kept")


def _verdict(right: bool) -> str:
    return say("✔ right") if right else say("✘ wrong")


def _score(table: Dealt) -> None:
    played = scores().get(table.rules, [])
    rounds = len(played)
    st.markdown(
        say("**Score** in {rounds} rounds like this one", rounds=rounds)
        if rounds != 1
        else say("**Score** in 1 round")
    )
    exact = table.game.mechanism.exact_law
    with st.container(horizontal=True):
        st.metric(say("You"), f"{sum(answer.right for answer in played)}")
        st.metric(
            say("Bayes") if exact else say("Nearest"),
            f"{sum(answer.attacker_right for answer in played)}",
        )
        st.metric(say("Chance"), numeral(f"{rounds / len(table.names):.1f}"))


def _all_scores() -> None:
    table = score_table(scores())
    if not len(table):
        return
    with st.expander(say("All your rounds")):
        show_table(
            table,
            say("Rounds won by you, by the attacker and by chance under all rules played so far"),
            spoken=["list"],
        )
        with st.container(horizontal=True):
            csv_button(say("Score as CSV"), "guess_the_word", lambda: table, key="csv_score")
            st.button(
                say("Start from nought"),
                key="game_forget",
                icon=":material/restart_alt:",
                on_click=forget,
                help=say("Forgets the score of this session; it is stored nowhere else."),
            )
