"""View of one output: the prior, the posterior and the guarantee."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import streamlit as st

from dpcore.attack.output.posterior import Odds, RareOutputError
from dpcore.attack.output.prior import of_hundred
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import neighbourhood
from dpcore.plots.attack.icons import MARKS, OTHER, colours
from dpcore.plots.attack.odds import (
    odds_caption,
    odds_figure,
    others_sentence,
    success_sentence,
    worst_sentence,
)
from dpcore.plots.attack.words import chance_at_most, chance_text
from dpcore.plots.style import INK, epsilon_reading, number
from dpcore.plots.utility.roc import roc_figure, tests_caption
from dpcore.written import Named
from pages.attacker.believing import LIST, Belief, choose_belief
from pages.attacker.command import posterior_command, python_cell
from pages.attacker.exposed_view import nearest_view
from pages.attacker.scene import AttackerScene, choose_output, choose_pair
from pages.attacker.tables import (
    LETTERS,
    RATES,
    belief_table,
    listed_table,
    odds_table,
    tests_table,
)
from pages.attacker.weighing import (
    OUTPUTS,
    TOP,
    Look,
    known_success,
    look,
    measure_success,
    prepare,
    worst_pair,
)
from pages.shared import link
from pages.shared.dial import group_of
from pages.shared.figure import SVG_FILES, show_figure
from pages.shared.language import for_component, language, later, numeral, say
from pages.shared.link import segments
from pages.shared.messages import note, refuse
from pages.shared.once import session_memo
from pages.shared.progress import Reporter
from pages.shared.table import numbers, show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.words import pair_is_typed, say_unknown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# One output at every step of the dial: a hundred squares, before and after it is seen.
#
# The numbers that depend on ε are sent once, a few kilobytes, so that moving the dial needs only
# the browser. Steps that take long to compute (a mechanism may have to solve for its law) are sent
# once the dial has rested there.


_ONE, _ANY = later("this output"), later("any output")
NAME = "posterior"
"""Name of the drawing, in files."""
_WORDS = {
    "waiting": later("Let go of the dial: this step takes a moment to compute."),
    "cases": later("{word}: {before} → {after} of 100"),
    "spoken": later("Of 100 cases, before: {before}. After: {after}."),
    "best": later("it was “{word}”, now that the output is seen"),
    "any": later("any possible word"),
    "prior": later("before, with {prior}"),
    "before": later("before it is seen"),
    "seen": later("“{word}” was seen"),
}
"""Sentences of the component itself, which fills their gaps."""

_HERE = Path(__file__).parent
# For the steps beside the current one, in processor time of this thread: a busy machine sends as
# many steps, only later.
_PATIENCE_SECONDS = 0.5
_TOGETHER = 8  # steps that share the work of an output


@cache
def _component() -> Callable[..., Any]:
    scripts = _HERE.parent / "shared" / "spoken.js", *SVG_FILES, _HERE / "believed.js"
    js = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    css = (_HERE / "believed.css").read_text(encoding="utf-8")
    return st.components.v2.component("word_privacy_lab.believed", css=css, js=js)


def show_believed(
    group: str, step: int, steps: list[dict[str, Any] | None], output: str, belief: Belief
) -> None:
    """Draw the squares and the card.

    Args:
        group: name of the group whose dial moves them.
        step: current step of the dial.
        steps: result of `steps_of`.
        output: the output word.
        belief: the prior.
    """
    _component()(
        key="believed",
        data={
            "group": group,
            "step": step,
            "name": NAME,
            "output": output,
            "known": belief.known,
            "steps": steps,
            "marks": list(MARKS[:LETTERS]),
            "rest": say(OTHER),
            "colours": colours(LETTERS),
            "ink": INK,
            "rows": _rows(steps),
        }
        | for_component(_WORDS),
    )


def _rows(steps: list[dict[str, Any] | None]) -> int:
    """Return the lines of the legend at the step that needs most: two entries stand in a line."""
    # The same at every step, so that nothing below jumps while the dial moves.
    named = [
        sum(before > 0 or after > 0 for before, after in zip(*step["panels"], strict=True))
        for step in steps
        if step is not None
    ]
    return math.ceil(max(named, default=0) / 2)


def steps_of(
    scenes: list[AttackerScene], step: int, output: int, belief: Belief, pair: tuple[int, int]
) -> list[dict[str, Any] | None] | None:
    """Return the data of each step; None at steps that are not computed yet.

    Args:
        scenes: one per step.
        step: current step of the dial: computed however long it takes, then the steps beside it.
        output: index of the output word.
        belief: the prior.
        pair: the two words to tell apart.

    Returns:
        None while the mechanism is being prepared; its progress is then drawn.

    Raises:
        DpcoreError: the prior is invalid.
    """
    key = (language(), scenes[0].mechanism, output, belief, pair)
    # By language as well: the entries are finished sentences.
    known: dict[int, dict[str, Any]] = session_memo("attack_steps", key, dict, 12)

    def fill(place: int) -> bool:
        scene = scenes[place]
        try:
            view = look(scene, output, belief, pair)
        # An answer like any other: at large ε many outputs are too rare for numbers.
        except RareOutputError:
            known[place] = _rare(scene, output)
            return True
        if view is not None:
            known[place] = _shown(scene, view, output, belief.known)
        return view is not None

    # The current step is needed whatever it takes; the others only as far as time allows.
    if step not in known and not fill(step):
        return None
    missing = [i for i in range(len(scenes)) if i not in known]
    # The dial passes the neighbouring steps first.
    missing.sort(key=lambda i: abs(i - step))
    start = time.thread_time()
    for count, place in enumerate(missing):
        if time.thread_time() - start > _PATIENCE_SECONDS:
            break
        if count % _TOGETHER == 0:
            together = missing[count : count + _TOGETHER]
            prepare([scenes[i] for i in together], output, belief, pair)
        fill(place)
    return [known.get(place) for place in range(len(scenes))]


def _shown(scene: AttackerScene, view: Look, output: int, known: str) -> dict[str, Any]:
    names = scene.words.words
    named = view.top[:LETTERS]
    best = named[0]
    shares = [each.prior for each in named], [each.posterior for each in named]
    # Rounding may bring the sum a little above 1; the remainder must not be negative.
    panels = [of_hundred([*share, max(0.0, 1.0 - sum(share))]).tolist() for share in shares]
    # An upper bound, so it is rounded up.
    bound = numeral(chance_at_most(view.bound))
    # Under the prior of this view; at the dial the guarantee is read for common words.
    lines = [
        say(
            "With {prior}, the guarantee alone allows up to {bound} for one output.",
            prior=known,
            bound=bound,
        )
    ]
    lines.append(say(others_sentence(belief_table(scene.words, view), view.perplexity)))
    return {
        "title": _title(scene, output),
        "best": names[best.word],
        "now": numeral(chance_text(best.posterior, certain=best.prior >= 1)),
        "before": numeral(chance_text(best.prior, certain=True)),
        "lines": lines,
        "words": [names[each.word] for each in named],
        "panels": panels,
    }


def _title(scene: AttackerScene, output: int) -> str:
    return say(
        "“{word}” came out of {reading}. Each square is one of 100 texts in which that happens; "
        "its letter is the word that was written.",
        word=scene.words.words[output],
        reading=scene.reading,
    )


def _rare(scene: AttackerScene, output: int) -> dict[str, Any]:
    return {
        "title": _title(scene, output),
        "best": "",
        "now": say("0 to 100 in 100"),
        "before": say("as before"),
        "lines": [
            say(
                "This output is too rare here: under every possible word its chance is below "
                "what can be computed, so each of them may have been it."
            )
        ],
        "words": [],
        "panels": [[100], [100]],
    }


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Figure and tables of one posterior, so that returning to an ε only shows them.

    The list is kept in the form in which it is sent: converting it from a DataFrame took longer
    than drawing a figure.
    """

    listed: pa.Table
    odds: go.Figure | None
    ratio: pd.DataFrame


def output_view(scene: AttackerScene) -> None:
    """Draw one output at all ε, the choice of the output and of the prior, and two words."""
    if not scene.mechanism.exact_law:
        nearest_view(scene)
        return
    words = scene.words
    # First on the screen, and filled last: it needs the choices below it.
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
        by = segments(
            say("Told apart by"),
            [_ONE, _ANY],
            "apart",
            say(
                "This output: the odds between the two words now that it was seen. Any output: how "
                "well the best test tells them apart before an output is known."
            ),
        )
    seen = words.words[output]
    scenes = scene.steps
    # The dial of this page has the same steps as `scenes`, so its ε is among them.
    step = [each.epsilon for each in scenes].index(scene.epsilon)
    try:
        steps = steps_of(scenes, step, output, belief, pair)
        if steps is None:
            return
        with card:
            show_believed(group_of(scene.mechanism.meaning).name, step, steps, seen, belief)
        view = look(scene, output, belief, pair)
        worst = worst_pair(scene, output, belief, pair)
    # Before `DpcoreError`, of which it is a kind: here nobody made a mistake.
    except RareOutputError:
        note(say("Too rare an output leaves nothing to list: choose another one, or a smaller ε."))
        return
    except DpcoreError as error:
        refuse(say("The attacker cannot work with this."), error)
        return
    if view is None or worst is None:
        return
    drawn = _drawn(scene, view)
    if by == _ANY:
        _best_tests(scene, pair)
    else:
        _two_words(scene, worst, drawn)
    show_table(
        drawn.listed,
        say(
            "The likeliest words once “{word}” is seen, with their chances before and after",
            word=seen,
        ),
        # Above the controls on the screen, though its numbers depend on them.
        place=likeliest,
        column_config=numbers(["probability"]),
    )
    _overall(scene, belief)
    with st.expander(say("How is this computed?")):
        note(
            say(
                "Before: {prior}. Probabilities: {method}, relative error at most {error}. "
                "Bayes' rule does the rest: the attacker sees the word that came out, and knows "
                "the mechanism and ε. Nothing is secret but the word itself and the noise.",
                prior=view.prior,
                method=Named(view.method),
                error=number(view.error),
            )
        )
        note(say(epsilon_reading(scene.mechanism.meaning, scene.epsilon, _nearest(words, seen))))
    take_it_with_you(
        lambda: Takeaway(
            python_cell(scene, seen, belief),
            scene.mechanism.cited,
            posterior_command(scene, seen, belief, TOP),
            say("It prints the likeliest words with their chances before and after."),
            typed=belief.typed or pair_is_typed(),
            tables={later("Chances"): lambda: belief_table(words, view)},
            drawing=NAME,
        )
    )


def _drawn(scene: AttackerScene, view: Look) -> _Drawn:
    def draw() -> _Drawn:
        ratio = odds_table(scene, view)
        return _Drawn(
            listed=pa.Table.from_pandas(listed_table(scene.words, view)),
            odds=odds_figure(ratio) if len(ratio) else None,
            ratio=ratio,
        )

    return session_memo("attack_drawn", (language(), view), draw, 24)


def _two_words(scene: AttackerScene, worst: Odds, drawn: _Drawn) -> None:
    words = scene.words
    if drawn.odds is not None:
        show_figure(drawn.odds, odds_caption(drawn.ratio), drawn.ratio, "odds")
        note(
            say(
                "Under any prior, this output multiplies the odds between the two words by that "
                "factor."
            )
        )
    st.text(
        say(
            worst_sentence(
                words.words[worst.first],
                words.words[worst.second],
                worst.log_ratio,
                worst.claimed,
                broken=worst.broken,
            )
        )
    )


def _best_tests(scene: AttackerScene, pair: tuple[int, int]) -> None:
    """Draw the power of the best test between two words against its false-positive rate."""
    names = scene.words.words[pair[0]], scene.words.words[pair[1]]
    if pair[0] == pair[1]:
        note(say("Choose two different words."))
        return
    try:
        table, area = session_memo(
            "attack_tests",
            (language(), scene.mechanism, scene.epsilon, pair),
            lambda: tests_table(scene, pair),
            24,
        )
    except DpcoreError as error:
        refuse(say("No best test is known here."), error)
        return
    rate = link.steps(
        say("A false alarm in … of 100 texts with the other word"),
        [100 * each for each in RATES],
        1.0,
        "alarms",
        say(
            "The threshold of the test: how often it may name the first word for texts that hold "
            "the second one."
        ),
    )
    figure = roc_figure(table, rate / 100)
    show_figure(figure, tests_caption(table, rate / 100, names, area), table, "tests")


def _overall(scene: AttackerScene, belief: Belief) -> None:
    st.header(say("Over all words and outputs"), anchor=False)
    success = known_success(scene, belief)
    if success is None:
        # A short list is summed at once; all words of a lexicon take seconds.
        asked = belief.kind == LIST or st.button(
            say("How often is the attacker right?"),
            key="attack_overall",
            icon=":material/casino:",
            help=say(
                "All outputs are summed where possible; otherwise {outputs} words are drawn from "
                "the prior and released, and the chance that the best guess is right is computed "
                "for each. This takes some seconds.",
                outputs=OUTPUTS,
            ),
        )
        if not asked:
            return
        with Reporter(say("Asking the attacker")) as progress:
            success = measure_success(scene, belief, progress)
    if success is not None:
        st.text(
            say(
                success_sentence(
                    success.value,
                    success.low,
                    success.high,
                    success.outputs,
                    success.blind,
                    exact=success.exact,
                )
            )
        )


def _nearest(words: Lexicon, name: str) -> float:
    """Return the distance of a word to its nearest neighbour."""
    return session_memo(
        "attack_nearest",
        (words.fingerprint, name),
        lambda: neighbourhood(words, words.index(name), 1).nearest,
    )
