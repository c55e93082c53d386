"""The Deniability page taken along: link, curves, words at ε, commands, Python, BibTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.measure.words import Stratum
from pages.deniability.choosing import LIST, SAMPLE, TEXT, WORDS
from pages.deniability.tables import curve_table, word_table
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.pair import pair_is_typed
from pages.shared.reproducing import command_line, mechanism_words
from pages.shared.taking import Takeaway, take_it_with_you

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.deniability.views import Scene

_FILE = "FILE.txt"


def take(scene: Scene) -> None:
    """Draw the drawer."""
    take_it_with_you(lambda: _takeaway(scene))


def _takeaway(scene: Scene) -> Takeaway:
    curves, epsilons = list(scene.curves), scene.epsilons()
    at = [
        (curve.mechanism, epsilons[curve.mechanism.key])
        for curve in curves
        if epsilons[curve.mechanism.key] in curve.mechanism.admissible
    ]
    prints = say("One line a mechanism: it prints the numbers of the table at the chosen ε.")
    if scene.words.source == TEXT:
        prints = f"{prints} {say('Save the text as {file} first.', file=_FILE)}"
    return Takeaway(
        python_cell(scene, at),
        tuple(dict.fromkeys(key for curve in curves for key in curve.mechanism.cited)),
        "\n".join(_command(scene, mechanism, epsilon) for mechanism, epsilon in at),
        prints,
        typed=scene.words.source != SAMPLE or pair_is_typed(),
        tables={
            later("Curves"): lambda: _curves(scene),
            later("Words"): lambda: word_table(curves, epsilons, scene.pinned),
        },
        address=_with_words(scene),
    )


def _with_words(scene: Scene) -> str | None:
    """The link with the typed words in it, if that is wished for."""
    if scene.words.source != LIST or not st.toggle(
        say("Put my words into the link"),
        key="link_words",
        help=say(
            "Whoever gets the link, and every server and history that it passes, can read them."
        ),
    ):
        return None
    st.warning(say("This link contains your words."), icon=":material/visibility:")
    return link.permalink(scene.words.text, WORDS)


def _curves(scene: Scene) -> pd.DataFrame:
    """Nw and Sw of all mechanisms over ε, below one another."""
    parts = {quantity: curve_table(list(scene.curves), quantity) for quantity in ("nw", "sw")}
    return pd.concat(parts, names=["quantity", None]).reset_index("quantity")


def python_cell(scene: Scene, at: list[tuple[Mechanism, float]]) -> str:
    """A cell that prints mean Nw and mean Sw of each mechanism at its ε.

    Args:
        scene: whose words are measured.
        at: mechanisms, each with an ε at which it is defined.
    """
    words, how = scene.words, scene.how
    if words.source == SAMPLE:
        by = "" if words.by == Stratum.FREQUENCY else f", {str(words.by)!r}"
        imported = ["from dpcore.measure.words import sample"]
        rng = f'generator({how.seed}, "sample of words")'
        chosen = [f"words = sample(lexicon, {words.count}, {rng}{by})"]
    elif words.source == TEXT:
        imported = ["from pathlib import Path", "from dpcore.measure.words import corpus, reduced"]
        rng = f'generator({how.seed}, "words of a text")'
        chosen = [
            f'text = Path("{_FILE}").read_text(encoding="utf-8")',
            f"words = reduced(corpus(lexicon, text), {words.count}, {rng})",
        ]
    else:
        imported = []
        chosen = [f"words = {list(scene.selection.names)!r}"]
    if words.source != LIST:
        imported.append("from dpcore.noise.streams import generator")
    lexicon = "dp.lexicon()" if how.lexicon == "default" else f"dp.lexicon({how.lexicon!r})"
    rows = [f"    ({m.short!r}, {_changed(m)!r}, {epsilon!r})," for m, epsilon in at]
    return "\n".join(
        (
            "import dpcore as dp",
            "from dpcore.measure.summary import summarise",
            *imported,
            "",
            f"lexicon = {lexicon}",
            *chosen,
            "for name, settings, epsilon in [",
            *rows,
            "]:",
            "    mechanism = dp.mechanism(name, lexicon, **settings)",
            "    measured = dp.deniability(",
            f"        mechanism, words, epsilon, runs={how.runs}, seed={how.seed}",
            "    )",
            '    nw, sw = (summarise(measured, name).mean[0] for name in ("nw", "sw"))',
            "    print(mechanism.short, epsilon, nw, sw)",
        )
    )


def _changed(mechanism: Mechanism) -> dict[str, object]:
    """The settings that are not the usual ones."""
    declared = mechanism.parameters()
    return {
        name: value
        for name, value in mechanism.settings().items()
        if value != declared[name]["default"]
    }


def _command(scene: Scene, mechanism: Mechanism, epsilon: float) -> str:
    """The command line that measures the same words under one mechanism."""
    words, how = scene.words, scene.how
    if words.source == SAMPLE:
        chosen = ["--sample", str(words.count)]
        if words.by != Stratum.FREQUENCY:
            chosen += ["--stratify", words.by]
    elif words.source == TEXT:
        chosen = ["--corpus", _FILE, "--at-most", str(words.count)]
    else:
        chosen = ["--words", ",".join(scene.selection.names)]
    measured = ["--runs", str(how.runs), "--seed", str(how.seed), "--lexicon", how.lexicon]
    return command_line("deniability", *chosen, *mechanism_words(mechanism, epsilon), *measured)
