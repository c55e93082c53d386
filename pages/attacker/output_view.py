"""One output: what it was before, what the attacker believes now, and what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.measure.density.density import neighbourhood
from dpcore.plots.attack.captions import (
    guess_sentence,
    others_sentence,
    success_sentence,
    worst_sentence,
)
from dpcore.plots.attack.icons import icon_caption, icon_figure
from dpcore.plots.attack.odds import odds_figure, odds_sentence
from dpcore.plots.attack.words import chance_text
from dpcore.plots.captions import epsilon_reading
from pages.attacker.believing import LIST, choose_belief
from pages.attacker.choosing import choose_output, choose_pair
from pages.attacker.command import posterior_command, python_cell
from pages.attacker.nearest_view import nearest_view
from pages.attacker.tables import belief_icons, belief_table, listed_table, odds_table
from pages.attacker.weighing import OUTPUTS, TOP, known_success, look, measure_success
from pages.shared.figure import show_figure
from pages.shared.memo import session_memo
from pages.shared.messages import note, refuse
from pages.shared.pair import pair_is_typed
from pages.shared.progress import Reporter
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.words import plain_label, say_unknown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    import pyarrow as pa

    from dpcore.lexicon.lexicon import Lexicon
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene
    from pages.attacker.weighing import Look

# On a phone the chances and the squares come before the choice of the word.
_STYLE = """
@media (max-width: 640px) {
  .st-key-attack_picture [data-testid=stMetricValue] { font-size: 1.5rem; }
}
"""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Figures and tables of one look, so that a second look at an ε only shows them.

    What is listed is as it is sent: to make that of a DataFrame took longer than to draw a figure.
    """

    icons: go.Figure
    icons_caption: str
    numbers: pd.DataFrame
    listed: pa.Table
    odds: go.Figure | None
    ratio: pd.DataFrame


def output_view(scene: Scene) -> None:
    """Draw the choice of the output and of the prior, the odds card, and the posterior."""
    if not scene.mechanism.exact_law:
        nearest_view(scene)
        return
    words = scene.words
    with st.container(key="attack_picture"):
        st.html(f"<style>{_STYLE}</style>")
        left, right = st.columns(2)
        with left:
            card = st.container(border=True, key="attack_card")
            output = choose_output(words)
    say_unknown(words)
    st.subheader("The likeliest words", anchor=False)
    likeliest = st.container()
    st.subheader("What the attacker knows before", anchor=False)
    belief = choose_belief()
    st.subheader("This word or that one?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = choose_pair(words)
    try:
        view = look(scene, output, belief, pair)
    except DpcoreError as error:
        refuse("The attacker cannot work with this.", error)
        return
    if view is None:
        return
    seen = words.words[output]
    drawn = _drawn(scene, view, seen)
    with card:
        _card(scene, view, seen)
    with right:
        show_figure(drawn.icons, drawn.icons_caption, drawn.numbers, "posterior", files=False)
    _two_words(scene, view, drawn)
    show_table(
        drawn.listed,
        f"The likeliest words once “{seen}” is seen, with their chances before and after",
        place=likeliest,
    )
    _overall(scene, belief)
    with st.expander("How is this computed?"):
        note(
            f"Before: {view.prior}. Probabilities: {view.method}, right to {view.error:.1g} of "
            "their size. Bayes' rule does the rest: the attacker sees the word that came out, and "
            "knows the mechanism and ε. Nothing is secret but the word itself and the noise."
        )
        note(epsilon_reading(scene.mechanism.meaning, scene.epsilon, _nearest(words, seen)))
    take_it_with_you(
        lambda: Takeaway(
            python_cell(scene, seen, belief),
            scene.mechanism.cited,
            posterior_command(scene, seen, belief, TOP),
            "It prints the likeliest words with their chances before and after.",
            typed=belief.typed or pair_is_typed(),
            tables={"Chances": lambda: belief_table(words, view)},
            figure="posterior",
        )
    )


def _drawn(scene: Scene, view: Look, seen: str) -> _Drawn:
    words = scene.words

    import pyarrow as pa

    def draw() -> _Drawn:
        icons, ratio = belief_icons(words, view), odds_table(scene, view)
        return _Drawn(
            icons=icon_figure(icons),
            icons_caption=icon_caption(icons, f"“{seen}”"),
            numbers=belief_table(words, view),
            listed=pa.Table.from_pandas(listed_table(words, view)),
            odds=odds_figure(ratio) if len(ratio) else None,
            ratio=ratio,
        )

    return session_memo("attack_drawn", view, draw, 24)


def _card(scene: Scene, view: Look, seen: str) -> None:
    names = scene.words.words
    best = view.top[0]
    st.text(f"“{seen}” came out of {scene.reading}.")
    with st.container(horizontal=True):
        label = plain_label(f"now: it was “{names[best.word]}”")
        now = chance_text(best.posterior, certain=best.prior >= 1)
        st.metric(label, now, width="content")
        before = chance_text(best.prior, certain=True)
        st.metric("before it was seen", before, width="content")
    table = belief_table(scene.words, view)
    st.text(guess_sentence(table, seen, view.bound))
    st.text(others_sentence(table, view.perplexity))


def _two_words(scene: Scene, view: Look, drawn: _Drawn) -> None:
    words = scene.words
    if drawn.odds is not None:
        show_figure(drawn.odds, odds_sentence(drawn.ratio.iloc[0]), drawn.ratio, "odds")
        note(
            "Whatever the attacker believed of the two before, this output multiplies the odds "
            "between them by that factor."
        )
    worst = view.worst
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
    st.subheader("Over all words and outputs", anchor=False)
    success = known_success(scene, belief)
    if success is None:
        asked = belief.kind == LIST or st.button(
            "How often is the attacker right?",
            key="attack_overall",
            icon=":material/casino:",
            help="All outputs are summed where that can be done; else words are drawn as the "
            f"attacker believes them, {OUTPUTS} outputs are released, and the chance that the best "
            "guess is right is computed for each; some seconds.",
        )
        if not asked:
            return
        with Reporter("Asking the attacker") as progress:
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
