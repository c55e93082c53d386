"""One output: what it was before, what the attacker believes now, and what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.attack.output.posterior import RareOutputError
from dpcore.errors import DpcoreError
from dpcore.measure.density.density import neighbourhood
from dpcore.plots.attack.captions import success_sentence, worst_sentence
from dpcore.plots.attack.odds import odds_caption, odds_figure
from dpcore.plots.captions import epsilon_reading
from dpcore.plots.layout import number
from pages.attacker.believing import LIST, choose_belief
from pages.attacker.choosing import choose_output, choose_pair
from pages.attacker.command import posterior_command, python_cell
from pages.attacker.moving import NAME, show_believed, steps_of
from pages.attacker.nearest_view import nearest_view
from pages.attacker.tables import belief_table, listed_table, odds_table
from pages.attacker.weighing import (
    OUTPUTS,
    TOP,
    known_success,
    look,
    measure_success,
    worst_pair,
)
from pages.shared.figure import show_figure
from pages.shared.groups import group_of
from pages.shared.language import language, numeral, say
from pages.shared.memo import session_memo
from pages.shared.messages import note, refuse
from pages.shared.pair import pair_is_typed
from pages.shared.progress import Reporter
from pages.shared.table import numbers, show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.words import say_unknown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    import pyarrow as pa

    from dpcore.attack.output.odds import Odds
    from dpcore.lexicon.lexicon import Lexicon
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene
    from pages.attacker.weighing import Look


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Figure and tables of one look, so that a second look at an ε only shows them.

    What is listed is as it is sent: to make that of a DataFrame took longer than to draw a figure.
    """

    listed: pa.Table
    odds: go.Figure | None
    ratio: pd.DataFrame


def output_view(scene: Scene) -> None:
    """Draw one output at all ε, the choice of the output and of the prior, and two words."""
    if not scene.mechanism.exact_law:
        nearest_view(scene)
        return
    words = scene.words
    card = st.container(key="attack_card")
    output = choose_output(words)
    say_unknown(words)
    st.header(say("The likeliest words"), anchor=False)
    likeliest = st.container()
    st.header(say("What the attacker knows before"), anchor=False)
    belief = choose_belief()
    st.header(say("This word or that one?"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = choose_pair(words)
    seen = words.words[output]
    scenes = scene.steps
    step = [each.epsilon for each in scenes].index(scene.epsilon)
    try:
        steps = steps_of(scenes, step, output, belief, pair)
        if steps is None:
            return
        with card:
            show_believed(group_of(scene.mechanism.meaning).name, step, steps, seen, belief.kind)
        view = look(scene, output, belief, pair)
        worst = worst_pair(scene, output, belief, pair)
    except RareOutputError:
        note(say("Too rare an output leaves nothing to list: choose another one, or a smaller ε."))
        return
    except DpcoreError as error:
        refuse(say("The attacker cannot work with this."), error)
        return
    if view is None or worst is None:
        return
    drawn = _drawn(scene, view)
    _two_words(scene, worst, drawn)
    show_table(
        drawn.listed,
        say(
            "The likeliest words once “{word}” is seen, with their chances before and after",
            word=seen,
        ),
        place=likeliest,
        column_config=numbers(["probability"]),
    )
    _overall(scene, belief)
    with st.expander(say("How is this computed?")):
        note(
            say(
                "Before: {prior}. Probabilities: {method}, right to {error} of their size. "
                "Bayes' rule does the rest: the attacker sees the word that came out, and knows "
                "the mechanism and ε. Nothing is secret but the word itself and the noise.",
                prior=view.prior,
                method=view.method,
                error=numeral(number(view.error)),
            )
        )
        note(epsilon_reading(scene.mechanism.meaning, scene.epsilon, _nearest(words, seen)))
    take_it_with_you(
        lambda: Takeaway(
            python_cell(scene, seen, belief),
            scene.mechanism.cited,
            posterior_command(scene, seen, belief, TOP),
            say("It prints the likeliest words with their chances before and after."),
            typed=belief.typed or pair_is_typed(),
            tables={"Chances": lambda: belief_table(words, view)},
            drawing=NAME,
        )
    )


def _drawn(scene: Scene, view: Look) -> _Drawn:
    import pyarrow as pa

    def draw() -> _Drawn:
        ratio = odds_table(scene, view)
        return _Drawn(
            listed=pa.Table.from_pandas(listed_table(scene.words, view)),
            odds=odds_figure(ratio) if len(ratio) else None,
            ratio=ratio,
        )

    return session_memo("attack_drawn", (language(), view), draw, 24)


def _two_words(scene: Scene, worst: Odds, drawn: _Drawn) -> None:
    words = scene.words
    if drawn.odds is not None:
        show_figure(drawn.odds, odds_caption(drawn.ratio), drawn.ratio, "odds")
        note(
            say(
                "Whatever the attacker believed of the two before, this output multiplies the "
                "odds between them by that factor."
            )
        )
    st.text(
        worst_sentence(
            words.words[worst.first],
            words.words[worst.second],
            worst.log_ratio,
            worst.claimed,
            broken=worst.broken,
        )
    )


def _overall(scene: Scene, belief: Belief) -> None:
    st.header(say("Over all words and outputs"), anchor=False)
    success = known_success(scene, belief)
    if success is None:
        asked = belief.kind == LIST or st.button(
            say("How often is the attacker right?"),
            key="attack_overall",
            icon=":material/casino:",
            help=say(
                "All outputs are summed where that can be done; else words are drawn as the "
                "attacker believes them, {outputs} outputs are released, and the chance that "
                "the best guess is right is computed for each; some seconds.",
                outputs=OUTPUTS,
            ),
        )
        if not asked:
            return
        with Reporter(say("Asking the attacker")) as progress:
            success = measure_success(scene, belief, progress)
    if success is not None:
        st.text(
            success_sentence(
                success.value,
                success.low,
                success.high,
                success.outputs,
                success.blind,
                exact=success.exact,
            )
        )


def _nearest(words: Lexicon, name: str) -> float:
    """Distance of a word to its nearest neighbour."""
    return session_memo(
        "attack_nearest",
        (words.fingerprint, name),
        lambda: neighbourhood(words, words.index(name), 1).nearest,
    )
