"""View of a person: the facts in a text that are left or guessed; and the authors who are found."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.attack.output.prior import content_words
from dpcore.attack.persons import FactsLeft, Guesses, facts_left, guesses_at
from dpcore.attack.trade.ground import BAYES
from dpcore.errors import DpcoreError
from dpcore.outwards import at_least
from dpcore.papers.ours import authors
from dpcore.plots.attack.success import FOUND, found_caption, found_figure
from dpcore.rewrite.redact.redaction import redact
from dpcore.rewrite.redact.spans import parse_facts
from dpcore.study.recorded import Recorded
from pages.attacker.command import person_cell
from pages.attacker.scene import AttackerScene
from pages.attacker.sentence_view import bench_of, is_typed, outputs_of
from pages.shared.figure import show_figure
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_seed, segments
from pages.shared.messages import inform, note, refuse
from pages.shared.once import once, session_memo
from pages.shared.progress import Reporter
from pages.shared.session import PRESETS, identity
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, recorded, show_line, take_it_with_you
from pages.shared.text_box import text_box

_FACTS, _OF, _KNOWN = "person_facts", "person_text", "persons_measured"
# Of each example what a reader would call a fact about its author; each stands in it word for word.
_EXAMPLES = {
    "hospital": "city hospital, sister, heart medicine",
    "letter": "Anna Keller, Berlin, 3 May 2024, bank",
    "contact": "Tom, tom.hale@example.org, Friday",
    "review": "food, waiter",
    "message": "lost my job, 250 dollars, winter",
    "trip": "London, Paris, dog",
}
_AMONG = {later("first"): "1", later("among the first ten"): "10"}
_REWRITINGS = 100  # where a share is drawn
_WRITTEN = "as written"  # label of the record for what is released unchanged


def person_view(scene: AttackerScene) -> None:
    """Draw the text with its facts, what comes out of it, and the recorded authors."""
    note(
        say(
            "It is people who are harmed: by a name, a place, an illness that becomes known. "
            "This view shows which facts of a text still come out, or can still be guessed."
        )
    )
    text = text_box()
    facts = _choose_facts(text)
    seed = choose_seed(
        say("Seed of all noise on this page: the same link shows the same words to everyone."), 150
    )
    try:
        bench = bench_of(scene, text)
        released = bench.sentence.write(outputs_of(scene, bench, seed)).text
        _show(scene, facts, measure_facts(scene, text, facts), released)
    except DpcoreError as error:
        refuse(say("This text cannot be measured."), error)
    take_it_with_you(
        lambda: Takeaway(
            person_cell(scene, text, facts),
            scene.mechanism.cited,
            prints=say("It prints how often each fact stays and how often it is guessed."),
            typed=is_typed() or facts != _listed(_EXAMPLES.get(_example(text), "")),
        )
    )


def _example(text: str) -> str:
    """Return the name of the example with this text; "" if it was typed."""
    return next((name for name, example in PRESETS.items() if example == text), "")


def _choose_facts(text: str) -> tuple[str, ...]:
    """Draw the field of the facts; a new text brings facts of its own."""
    if st.session_state.get(_OF) != text:
        st.session_state[_OF], st.session_state[_FACTS] = text, _first_facts(text)
    typed = st.text_input(
        say("Facts in it, with commas between them"),
        key=_FACTS,
        persist_state="session",
        help=say(
            "Words exactly as in the text. For your own text these are at first the personal "
            "data that rules find; add anything else that says something about you. Like the "
            "text, they stay in this browser session and out of the link."
        ),
    )
    return _listed(typed)


def _first_facts(text: str) -> str:
    if example := _EXAMPLES.get(_example(text)):
        return example
    try:
        spans = redact(text).spans
    except DpcoreError:  # the view says what is wrong with the text
        return ""
    return ", ".join(dict.fromkeys(text[span.start : span.end].strip(" ,") for span in spans))


def _listed(typed: str) -> tuple[str, ...]:
    parts = dict.fromkeys(part.strip() for part in typed.split(","))
    return tuple(part for part in parts if part)


def measure_facts(scene: AttackerScene, text: str, facts: Sequence[str]) -> FactsLeft:
    """Return what a release leaves of each fact; its tag is its number.

    Raises:
        DpcoreError: the text cannot be read, or nothing is known about how common its words are.
    """
    mechanism, epsilon, words = scene.mechanism, scene.epsilon, scene.words

    def guesses() -> list[Guesses]:
        with Reporter(say("Computing the best guess for each output")) as progress:
            return guesses_at(
                mechanism,
                mechanism.check_epsilons([epsilon]),
                content_words(words),
                progress=progress,
            )

    def compute() -> FactsLeft:
        # What is guessed from an output depends on the law alone, so that all visitors share it.
        of_each_output = once("guesses", (identity(mechanism), epsilon), guesses, 20)
        keywords = [{"tag": f"{i:02}", "keyword": fact} for i, fact in enumerate(facts)]
        annotated = parse_facts(text, json.dumps([{"facts": keywords}]))
        (left,) = facts_left(
            [annotated], words, mechanism, [epsilon], guesses=of_each_output, draws=_REWRITINGS
        )
        return left

    return session_memo(_KNOWN, (text, tuple(facts), mechanism, epsilon), compute, 60)


def _show(scene: AttackerScene, facts: Sequence[str], found: FactsLeft, released: str) -> None:
    st.markdown(say("Released by {reading}:", reading=scene.reading))
    show_line(released)
    if found.persons_left is None or found.persons_guessed is None:
        inform(
            say(
                "None of these facts occurs in the text word for word: copy them from the text, "
                "with commas between them."
            )
        )
        return
    weak = found.attacker != BAYES
    with st.container(horizontal=True):
        st.metric(say("facts in the text"), found.tags[0].facts, width="content")
        for title, share, lower in (
            (say("of 100 releases leave at least one"), found.persons_left.value, False),
            (say("let at least one be guessed"), found.persons_guessed.value, weak),
        ):
            st.metric(title, _of_100(share, at_least_so=lower), width="content")
    rows = [
        {
            say("fact"): facts[int(each.tag)],
            say("comes out, of 100"): _of_100(each.left.value if each.left else None),
            say("guessed, of 100"): _of_100(
                each.guessed.value if each.guessed else None, at_least_so=weak
            ),
            say("guessed before, of 100"): _of_100(each.before),
            say("in the vocabulary"): _where(each.facts, each.outside),
        }
        for each in found.tags[1:]
    ]
    show_table(
        pd.DataFrame(rows),
        say("Each fact, how often it comes out as it went in, and how often it is guessed"),
    )
    note(
        say(
            "The attacker knows the mechanism and how common words are, sees one output at a "
            "time, and is given the function words. A word outside the vocabulary never comes "
            "out. Not measured: what a text only implies, its style and its length."
        )
    )
    if weak:
        note(say("For this mechanism the guesses are those of a simple attacker: a lower bound."))
    if not (found.left_exact and found.guessed_exact):
        # Of Clopper and Pearson: 0 of 100 is compatible with 1 − .025^(1/100) = .0363.
        note(
            say(
                "Its shares are counted over 100 rewritings: for a fact in the vocabulary, 0 can "
                "still mean up to 3.7 of 100 (95 %)."
            )
        )


def _where(standing: int, outside: int) -> str:
    if not standing:
        return say("not in the text")
    return say("no: never comes out") if outside else say("yes")


def _of_100(share: float | None, *, at_least_so: bool = False) -> str:
    if share is None:
        return ""
    if at_least_so:
        return "≥ " + numeral(at_least(share, 3, times=100))
    return numeral(f"{100 * share:.3g}")


# Recorded: how many authors are found.


def found_view(scene: AttackerScene) -> None:
    """Draw how many authors were found by their texts; it is the same at every step of the dial."""
    mechanism = scene.mechanism.short
    st.header(say("How many of 100 people are found"), anchor=False)
    try:
        record = recorded(authors.PERSONS.name)
    except DpcoreError as error:
        refuse(say("The recorded study is missing."), error)
        return
    table = record.table
    labels = [name for name in dict.fromkeys(table["label"]) if name != _WRITTEN]
    with st.container(horizontal=True):
        label = segments(
            say("Released by"),
            labels,
            "person_mechanism",
            say("The record was made once, on the bundled lexicon."),
            # The mechanism of the page if it was recorded; the field stays free to choose another.
            start=mechanism if mechanism in labels else labels[0],
            names=True,
        )
        among = segments(
            say("The author ranks"),
            _AMONG,
            "person_among",
            say("All authors are ranked by how well their known words fit."),
            start="among the first ten",
        )
    top = _AMONG[among]
    found = found_authors(record, label, top)
    by_chance = table[(table["quantity"] == "among by chance") & (table["variant"] == top)]
    chance = float(by_chance["value"].iloc[0])
    show_figure(found_figure(found, chance), found_caption(found, chance), found, "found_authors")
    note(
        say(
            "Recorded at the words guessed that each line names, wherever the dial is. {people} "
            "people of SynthPAI, a made-up forum (Yukhymenko and others 2024): half of "
            "what each wrote is known, the other half was released. Few wrote much, so the points "
            "on the right rest on few people, who are also known by more words. One release; 95 % "
            "intervals over people. For your own texts: `python -m dpcore attack --authors FILE "
            "--curve 25,100,all`. Recorded by:",
            people=int(found["authors"].max()),
        )
    )
    show_line(record.entry.command)
    take_it_with_you(lambda: Takeaway(None, scene.mechanism.cited, typed=False))


def found_authors(record: Recorded, label: str, top: str) -> pd.DataFrame:
    """Return the rows of the figure: as written, and at each recorded leakage of a mechanism.

    Args:
        record: of `dpcore.papers.ours.authors.PERSONS`.
        label: of the mechanism.
        top: "1" or "10".
    """
    table = record.table
    rows = table[
        (table["quantity"] == "author among")
        & (table["variant"] == top)
        & table["label"].isin([_WRITTEN, label])
        & table["at"].notna()
    ]
    guessed = table[(table["quantity"] == "word") & (table["label"] == label)]
    names = {
        epsilon: f"{round(100 * share)} of 100 content words guessed"
        for epsilon, share in zip(guessed["epsilon"], guessed["value"], strict=True)
    }
    release = [names.get(epsilon, _WRITTEN) for epsilon in rows["epsilon"]]
    columns = (release, rows["at"], rows["value"], rows["low"], rows["high"], rows["count"])
    return pd.DataFrame(dict(zip(FOUND, columns, strict=True))).reset_index(drop=True)
