"""Views below the board: numbers at the dial, meaning of the axes, method, files."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from dpcore.attack.trade.ground import COUNTED, GUESSED, KEPT, MEANT, NEARLY
from dpcore.crowd.planner import WORDS_PER_TEXT
from dpcore.papers.ours.tradeoff import ARMS, COUNTING, LEAK, STUDY
from dpcore.written import Filled
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import tabs
from pages.shared.messages import note
from pages.shared.promised import promise
from pages.shared.session import Bench
from pages.shared.table import numbers, show_table
from pages.shared.taking import Takeaway, command_line, made_view, recorded, take_it_with_you
from pages.tradeoff.goal import goal_view
from pages.tradeoff.packet import counted
from pages.tradeoff.quantities import Utility
from pages.tradeoff.scene import AT_THE_DIAL, CHOOSE, OPEN_VIEW, VIEWS, TradeoffScene, step_of


def views(scene: TradeoffScene, bench: Bench) -> None:
    """Draw the tabs and the drawer; only what is open is computed."""
    kinds = {
        CHOOSE: lambda: goal_view(scene, bench),
        AT_THE_DIAL: lambda: _numbers_view(scene),
        later("What the axes mean"): lambda: _meaning_view(scene),
        later("How is this computed?"): lambda: _computed_view(scene),
    }
    fragment(_views, kinds, scene, key=VIEWS)
    st.page_link(
        "pages/curves/page.py",
        label=say("Nw and Sw over ε, with the papers' figures beside them"),
        icon=":material/arrow_forward:",
    )


def _views(kinds: dict[str, Callable[[], None]], scene: TradeoffScene) -> None:
    tabs(kinds, OPEN_VIEW)
    take_it_with_you(lambda: _takeaway(scene))


def at_step(scene: TradeoffScene) -> pd.DataFrame:
    """Return one row per mechanism: leakage and utility at the dial, and the ε that this takes."""
    leakage, utility = scene.leakage, scene.utility
    share = leakage.steps[step_of(leakage)]
    kept = _kept_column(utility)
    rows = []
    for one in scene.shown:
        # At the level of the dial, which counts guessed words even where the axis is AUC.
        epsilon = one.curve.epsilon_at(counted(leakage), share)
        left = None
        if utility.key in one.drawn:
            left = one.drawn.at(utility.key, counted(leakage), share)
        rows.append(
            {
                "mechanism": one.curve.label,
                "ε": epsilon,
                "promise": "" if epsilon is None else promise(one.mechanism, epsilon),
                leakage.axis: None if epsilon is None else 100 * share,
                kept: None if left is None else 100 * left,
                "attacker": say("not the best possible: at least")
                if leakage.key in one.curve.at_least
                else say("the best possible"),
            }
        )
    return pd.DataFrame(rows)


def _kept_column(utility: Utility) -> Filled:
    return Filled("{axis} (%)", axis=Filled(utility.axis))


def _numbers_view(scene: TradeoffScene) -> None:
    table, kept = at_step(scene), _kept_column(scene.utility)
    # A column of a mechanism's ε may hold no number at all, and is then none of these.
    columns = [str(name) for name in table.select_dtypes("float")]
    show_table(
        table,
        say("Leakage and utility of every mechanism at the dial"),
        column_config=numbers(columns, "%.3g")
        | {str(kept): st.column_config.NumberColumn(say(kept), format="%.3g")},
    )
    note(
        say(
            "Curves are linear between measurements. Where the attacker is not the best "
            "possible, a better one may guess more. Bars in the figure are 95 % intervals of "
            "the measurements. ε is read at the estimate; Choose ε and Release read it at the "
            "unfavourable end of its interval."
        )
    )


def _meaning_view(scene: TradeoffScene) -> None:
    leakage, utility = scene.leakage, scene.utility
    st.markdown(f"**{say(leakage.title)}**: {say(leakage.meaning)}")
    if utility.key == MEANT:
        st.markdown(
            say(
                "**meaning left**: 1 minus the expected distance between word and output, "
                "divided by the word's mean distance to all words: 100 % for the word itself, "
                "0 % for an unrelated one. Content words count as often as they occur."
            )
        )
    elif utility.key == KEPT:
        st.markdown(
            say(
                "**words that stay**: how often the word itself comes out. Content words count as "
                "often as they occur."
            )
        )
    elif utility.key in COUNTED.values():
        st.markdown(
            say(
                "**words countable**: the share of content words, as they occur, whose count "
                "in the private texts ({words} words each) is known within ten percent, with a "
                "95 % interval. A mechanism without an exact distribution, such as madlib, "
                "cannot be inverted and has no curve, nor has one that was not measured.",
                words=WORDS_PER_TEXT,
            )
        )
        st.page_link(
            "pages/crowd/page.py",
            label=say("What many private texts still reveal together"),
            icon=":material/arrow_forward:",
        )
    else:
        st.markdown(
            say(
                "**accuracy**: a linear classifier learns from private training texts and is "
                "tested on private test texts, several times with fresh noise; guessing is "
                "right for 50 of 100 texts where there are two equal classes."
            )
        )
    st.markdown(
        say(
            "**Why one axis of leakage?** Some mechanisms multiply ε by a distance, others "
            "apply it to any two words, so equal ε is not equal privacy. Guessing rates can be "
            "compared."
        )
    )
    st.markdown(
        say(
            "**What a reader can use, an attacker can use.** An attacker who repeats the "
            "output is as near to the word as the reader is. The first chart counts exact "
            "words, the second one near words too: mechanisms that answer with a neighbour "
            "give away far more of those. Ask which of the two matters in your texts."
        )
    )


def _computed_view(scene: TradeoffScene) -> None:
    note(
        say(
            "Recorded once on the bundled lexicon, with content words as frequent as in "
            "English text. Where a mechanism has closed-form columns, the best guess is summed "
            "over all outputs; elsewhere the best of several attackers counts. Utility, and "
            "the guesses with equally likely words, cover 5,000 of the 25,000 outputs. For "
            "other lexicons and settings: `python -m dpcore leak` and `python -m dpcore "
            "tradeoff`."
        )
    )
    made_view(recorded(LEAK.name))
    made_view(recorded(STUDY.name))
    if scene.utility.key in COUNTED.values():
        made_view(recorded(COUNTING))
    if scene.utility.data is not None:
        made_view(recorded(scene.utility.data[0]))


def _takeaway(scene: TradeoffScene) -> Takeaway:
    share = scene.leakage.steps[step_of(scene.leakage)]
    arms = {arm.name: arm for arm in ARMS}
    lines = []
    for one in scene.shown:
        epsilon = one.curve.epsilon_at(counted(scene.leakage), share)
        if epsilon is None:
            continue
        words = ["--mechanism", arms[one.curve.label].mechanism, "--epsilon", f"{epsilon:.4g}"]
        for name, value in arms[one.curve.label].settings:
            words += ["--set", f"{name}={value}"]
        # Two records, two commands: `leak` for a prior by frequency, `tradeoff` for equally likely
        # words.
        if counted(scene.leakage) in {GUESSED, NEARLY}:
            gain = "near" if scene.leakage.key == NEARLY else "word"
            lines.append(command_line("leak", *words, "--gain", gain))
        else:
            lines.append(command_line("tradeoff", *words))
    return Takeaway(
        python_cell(scene),
        tuple(key for one in scene.shown for key in one.mechanism.cited),
        "\n".join(lines) if lines else None,
        say("Each command measures one mechanism at the ε of the dial."),
        # The board shows a sentence, which may be typed; no command or cell here needs it.
        typed=True,
        tables={
            later("Numbers at the dial"): lambda: at_step(scene),
            later("All curves"): lambda: recorded(STUDY.name).table,
            later("All guessing rates"): lambda: recorded(LEAK.name).table,
            later("All shares of countable words"): lambda: recorded(COUNTING).table,
        },
        drawing="tradeoff",
    )


def python_cell(scene: TradeoffScene) -> str:
    """Return a Python cell that computes the same by itself."""
    leakage, utility = scene.leakage, scene.utility
    share = leakage.steps[step_of(leakage)]
    source = "recorded_curves()"
    imports = "from dpcore.papers.ours.tradeoff import recorded_curves"
    if utility.data is not None:
        name, data = utility.data
        imports = (
            "from dpcore.papers.ours.equal_leakage import task_curves\n"
            "from dpcore.study.recorded import Figures\n"
            "from dpcore.study.recorded import read_recorded"
        )
        source = f"task_curves(Figures(read_recorded({name!r})), {data!r})"
    labels = [one.curve.label for one in scene.shown]
    return "\n".join(
        (
            imports,
            "",
            f"curves = {source}",
            f"for label in {labels!r}:",
            "    curve = curves.get(label)",
            f"    if curve is not None and {utility.key!r} in curve:",
            f"        epsilon = curve.epsilon_at({counted(leakage)!r}, {share!r})",
            f"        left = curve.at({utility.key!r}, {counted(leakage)!r}, {share!r})",
            "        print(label, epsilon, left)",
        )
    )
