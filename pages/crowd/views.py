"""Views below the board of the Crowd page: numbers, method, what a crowd tells about one."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.crowd.scene import (
    AT_THE_DIALS,
    LEAKAGES,
    MECHANISM,
    NAMES,
    OPEN_VIEW,
    VIEWS,
    CrowdScene,
    response,
)
from pages.shared import link
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import tabs
from pages.shared.messages import note
from pages.shared.table import DIGITS, show_table
from pages.shared.taking import Takeaway, command_line, show_line, take_it_with_you


def views(scene: CrowdScene) -> None:
    """Draw the tabs and the drawer; only what is open is computed."""
    fragment(_views, scene, key=VIEWS)


def _views(scene: CrowdScene) -> None:
    kinds = {
        later("How is this computed?"): lambda: _computed_view(scene),
        AT_THE_DIALS: lambda: _numbers_view(scene),
        later("Privacy of one person"): _one_view,
    }
    tabs(kinds, OPEN_VIEW)
    take_it_with_you(lambda: _takeaway(scene))


def at_dials(scene: CrowdScene) -> pd.DataFrame:
    """Return one row for each word that is told apart at the dials, per 1,000 words."""
    differences = scene.here
    table = pd.DataFrame(
        {
            "word": [scene.words.words[place] for place in differences.words.tolist()],
            "difference": 1_000 * differences.difference,
            "low": 1_000 * (differences.difference - differences.half),
            "high": 1_000 * (differences.difference + differences.half),
            "truth": 1_000 * differences.truth,
            "z": differences.z,
        }
    )
    return table.assign(right=differences.difference * differences.truth > 0)


def _numbers_view(scene: CrowdScene) -> None:
    first, other = scene.choices.sides
    table = at_dials(scene)
    titles = {
        "difference": say("difference"),
        "low": say("interval from"),
        "high": say("to"),
        "truth": say("truth"),
        "z": "z",
    }
    config: dict[str, Any] = {
        name: st.column_config.NumberColumn(title, format=DIGITS) for name, title in titles.items()
    }
    config["right"] = st.column_config.CheckboxColumn(say("correct"))
    alt = say("Words that are told apart at the dials, the clearest first")
    show_table(table, alt, column_config=config)
    note(
        say(
            "Per 1,000 words, in {first} less in {other}. The intervals are adjusted for the "
            "choice of the words. truth: from the bundled counts. z: the difference in standard "
            "errors.",
            first=say(first),
            other=say(other),
        )
    )


def _computed_view(scene: CrowdScene) -> None:
    st.markdown(
        say(
            "**Counting through noise.** If a function *h* of the output has the mean *g(w)* for "
            "every word *w*, the sum of *h* over all outputs has the mean Σ *g* over all words "
            "written, whatever they are. For k-ary response, which keeps a word with probability "
            "*p* and puts any other with *q* in its place, *N* outputs with *o* times *w* tell "
            "that *w* was written about (*o* − *Nq*)/(*p* − *q*) times. `docs/crowd.md` has the "
            "proof, the variance, and other mechanisms."
        )
    )
    st.markdown(
        say(
            "**Comparing.** Each word's share in one group less that in the other, by its "
            "standard error. Of the words that are told apart at most 5 % are there by chance, on "
            "average (Benjamini and Hochberg 1995), and at most 5 % of their intervals miss the "
            "truth (Benjamini and Yekutieli 2005): they are wider, because only clear words are "
            "drawn. A word is told wrongly if it is truly more common in the other group."
        )
    )
    st.markdown(
        say(
            "**The numbers.** The texts are not here, only their word counts: {title}. "
            "Fewer texts are words drawn from these counts, and what comes out of them is drawn "
            "exactly from the mechanism, with noise of its own at every setting. Words of one text "
            "go together, which such a draw leaves out: real texts tell a little less about others "
            "like them.",
            title=say(NAMES[scene.choices.crowd.name]),
        )
    )
    st.markdown(say("**For a private copy of your own**, with a column `label` that was kept:"))
    show_line(
        command_line(*"count private.csv --record private.csv.run.json --by label --top 20".split())
    )


def _one_view() -> None:
    st.markdown(
        say(
            "**It costs no ε.** Everything here is computed from texts that are private already. "
            "The guarantee for each word stays what it was, however often they are counted."
        )
    )
    st.markdown(
        say(
            "**Many texts of one person are a crowd.** Someone who wrote a thousand of the texts "
            "can be counted like a thousand people: what they often write about is told, though "
            "no single word is. The guarantee holds for a word, not for a person."
        )
    )
    st.markdown(
        say(
            "**A list may be the secret.** If all texts are by patients of one clinic, what is "
            "told of the crowd is told of everyone known to be in it. Ask whether belonging to it "
            "is private before you publish even a private copy."
        )
    )
    st.page_link(
        "pages/release/page.py",
        label=say("Make a private copy of a file"),
        icon=":material/arrow_forward:",
    )


def _takeaway(scene: CrowdScene) -> Takeaway:
    return Takeaway(
        python_cell(scene),
        response(scene.words).cited,
        tables={later("Words told apart"): lambda: at_dials(scene)},
        drawing="crowd",
    )


def python_cell(scene: CrowdScene) -> str:
    """Return a Python cell that computes the same by itself."""
    leakage, size = scene.at
    choices = scene.choices
    every = ", every=True" if choices.every else ""
    setting = f"{choices.sizes[size]}, {link.SEED}, '{LEAKAGES[leakage]:g}'"
    return "\n".join(
        (
            "import dpcore as dp",
            "from dpcore.crowd.bundled import crowd",
            "from dpcore.crowd.shown import DrawnComparison",
            "",
            "lexicon = dp.lexicon()",
            f"mechanism = dp.mechanism({MECHANISM!r}, lexicon)",
            f"texts = crowd({choices.crowd.name!r}, lexicon)",
            f"drawn = DrawnComparison(mechanism, texts, {choices.group}{every})",
            f"told = drawn.at({scene.epsilons[leakage]!r}, {setting})",
            "for sign in (1, -1):",
            "    print([lexicon.words[told.words[place]] for place in told.side(sign)])",
            "print(told.wrong, 'wrongly')",
        )
    )
