"""Views of a sentence: guesses word by word and jointly, recorded guesses, and the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.arrays import IntArray
from dpcore.attack.budget import Budget, RepeatedLeak, budget, repeated_leak
from dpcore.attack.language.context import BIGRAM, SMOLLM2, WORDS, places_of
from dpcore.attack.language.pufferfish import SentenceLoss, nearest_others, sentence_loss
from dpcore.attack.language.recovered import (
    BLIND,
    CONTEXT,
    FREQUENCY,
    TEN,
    Recovery,
    read_recorded_trial,
    recover,
)
from dpcore.attack.leak import describe_stranger, scored_words
from dpcore.attack.output.channel import Channel
from dpcore.audit.composition import TEXT_DELTA, ShuffledBag, shuffled
from dpcore.errors import DpcoreError, StudyError
from dpcore.limits import MAX_ATTACK_RELEASES, MAX_GUESSED_RELEASES
from dpcore.mechanisms.registry import resolve
from dpcore.outwards import at_least, at_most
from dpcore.plots.attack.budget import budget_caption, budget_figure
from dpcore.plots.attack.success import (
    COLUMNS,
    released_caption,
    released_figure,
    success_caption,
    success_figure,
)
from pages.attacker.channels import channel_or_progress
from pages.attacker.command import (
    budget_cell,
    repeated_cell,
    repeated_command,
    sentence_cell,
    sentence_command,
)
from pages.attacker.recovered_view import ALONE, recovered_view
from pages.attacker.scene import AttackerScene
from pages.attacker.tables import budget_table, neighbours_finding, neighbours_table
from pages.shared.figure import csv_button, show_figure
from pages.shared.language import later, numeral, retold, say
from pages.shared.link import choose_seed, segments, whole_number
from pages.shared.messages import inform, note, refuse
from pages.shared.needed import load_language_model
from pages.shared.once import once, session_memo
from pages.shared.progress import Reporter, timed
from pages.shared.session import Bench, bench_for, identity
from pages.shared.sidebar import Choices, carried_choices
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, show_line, take_it_with_you
from pages.shared.text_box import text_box

# Recorded success rates of three attackers on real text, against ε.


TITLES = {
    "likeliest": later("all words alike"),
    "frequency": later("common words first"),
    "context": later("reads the sentence"),
}
"""Attacker of the record -> its title."""
_KINDS = {
    later("all words"): "all",
    later("without function words"): "content",
    later("replaced words"): "changed",
}
_START = "replaced words"


def recorded_view(scene: AttackerScene) -> None:
    """Draw the recorded figure and its source."""
    st.header(say("On real text"), anchor=False)
    try:
        trial = _recorded()
    except StudyError as error:
        refuse(say("The recorded trial is missing."), error)
        return
    names = list(dict.fromkeys(row["mechanism"] for row in trial["rows"]))
    with st.container(horizontal=True):
        mechanism = names[0]
        if len(names) > 1:
            mechanism = st.segmented_control(
                say("Mechanism of the record"),
                names,
                # The mechanism of the page if it was recorded; the field stays free to choose
                # another.
                default=scene.mechanism.short if scene.mechanism.short in names else names[0],
                required=True,
                key="trial_mechanism",
                help=say("The record was made once, on the bundled lexicon."),
            )
        kind = st.segmented_control(
            say("Words that count"),
            list(_KINDS),
            format_func=say,
            default=_START,
            required=True,
            key="trial_words",
            help=say(
                "Function words such as 'the' and 'of' are easy to guess from their context. "
                "Replaced words are those for which another word was released."
            ),
        )
    table = _table(trial, mechanism, _KINDS[kind])
    show_figure(
        success_figure(table, resolve(mechanism).meaning, scene.epsilon),
        success_caption(table, scene.epsilon),
        table,
        "trial",
    )
    note(
        say(
            "{mechanism}: {sentences} sentences of the {text}, which the model of English has "
            "not seen; 95 % intervals from the spread between sentences. Recorded by:",
            mechanism=mechanism,
            sentences=trial["sentences"],
            text=trial["text"],
        )
    )
    show_line(trial["command"])


@st.cache_resource(max_entries=1, show_spinner=False)
def _recorded() -> dict[str, Any]:
    # Read once: the record is the same for everybody.
    return read_recorded_trial()


def _table(trial: dict[str, Any], mechanism: str, kind: str) -> pd.DataFrame:
    rows = [
        (TITLES[row["attacker"]], row["epsilon"], row["share"], row["low"], row["high"])
        # In the order of the titles, from the weakest attacker to the strongest.
        for name in TITLES
        for row in trial["rows"]
        if (row["mechanism"], row["words"], row["attacker"]) == (mechanism, kind, name)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


# Sentence that the attacker reads: typed, rewritten, and kept in this session only.


def bench_of(scene: AttackerScene, text: str) -> Bench:
    """Return the bench of a text, as on the Rewrite page with its default options.

    Raises:
        TextError: the text cannot be rewritten.
    """
    # Default options: with others the attackers, and the command below, would read another text.
    options = Choices(scene.lexicon)
    if options != carried_choices(scene.lexicon):
        note(
            say(
                "Here every word of the vocabulary is rewritten, any other is replaced by a "
                "random one first, and capital letters are kept, regardless of the settings of "
                "the page Rewrite."
            )
        )
    return bench_for(text, scene.words, options)


def outputs_of(scene: AttackerScene, bench: Bench, seed: int) -> IntArray:
    """Return the outputs of one noise draw at every open place, at the current ε."""
    # Draw 0, that of the command line for this seed.
    paths = bench.draw(scene.mechanism, seed, 0).paths
    return np.asarray(paths.at(np.array([scene.epsilon]))[:, 0])


def is_typed() -> bool:
    """Return True if the sentence was typed; an example is named in the link."""
    return st.session_state.get("preset") is None


_KNOWN, _ASKED = "attack_sentences", "sentence_reading_asked"
_READERS = (later("bigram"), later("words"), later("smollm2"))
"""Names of the engine: `dpcore.attack.language.context.READERS`."""
_SEEN = later(
    "✔ marks a right guess. All three see the same outputs and know the mechanism. The first takes "
    "all words to be equally likely, the second uses how common they are."
)
_READ_BY = {
    BIGRAM: later(
        "The third uses a smoothed bigram of English, exactly and over the whole vocabulary."
    ),
    WORDS: later(
        "The third uses bigrams and a small network that reads the whole sentence. Its answer is "
        "an approximation: the other words are guesses too, and they are read three times."
    ),
    SMOLLM2: later(
        "The third uses bigrams and a language model that scores the sentences they consider "
        "possible. Its answer is an approximation based on a few dozen sentences."
    ),
}


@dataclass(frozen=True, eq=False)
class SentenceGuesses:
    """Guesses of the attackers for one rewritten sentence.

    Attributes:
        text: the rewritten sentence.
        smoothed: the same, smoothed by the reader.
        recovered: words that each attacker recovers.
    """

    text: str
    smoothed: str
    recovered: Recovery


def sentence_view(scene: AttackerScene) -> None:
    """Draw the sentence box, the rewritten sentence and the guesses."""
    note(
        say(
            "The guarantee covers each word by itself. An attacker who knows the language reads "
            "on: words explain their neighbours, and the guarantee does not cover that."
        )
    )
    text = text_box()
    seed = choose_seed(
        say("Seed of all noise on this page: the same link shows the same words to everyone."), 150
    )
    if not scene.mechanism.exact_law:
        inform(
            say(
                "This attacker needs a mechanism whose probabilities can be computed: choose "
                "tem, for instance."
            )
        )
        recorded_view(scene)
        recovered_view()
        return
    reader = segments(
        say("Who reads the sentence"),
        _READERS,
        "reader",
        say(
            "bigram knows which word follows which, and its answer is exact; words adds a small "
            "network that reads the whole sentence, and its answer is an approximation. So is that "
            "of smollm2, a slower language model from an optional package."
        ),
    )
    try:
        bench = bench_of(scene, text)
        channel = channel_or_progress(scene.mechanism)
        if channel is not None:
            read = read_sentence(scene, channel, bench, seed, reader)
            if read is not None:
                _show(scene, read)
                _neighbours(scene, channel, bench, seed)
    except DpcoreError as error:
        refuse(say("This sentence cannot be attacked."), error)
    recorded_view(scene)
    recovered_view()
    take_it_with_you(
        lambda: Takeaway(
            sentence_cell(scene, text, seed, reader),
            scene.mechanism.cited,
            sentence_command(scene, text, seed, reader),
            say("It prints the released sentence and what the attackers guess."),
            typed=is_typed(),
        )
    )


def read_sentence(
    scene: AttackerScene, channel: Channel, bench: Bench, seed: int, reader: str
) -> SentenceGuesses | None:
    """Return the attackers' guesses; None until the slow reader has been asked to read it.

    Raises:
        DpcoreError: the sentence cannot be attacked, or the reader is not available.
    """

    def compute() -> SentenceGuesses:
        outputs = outputs_of(scene, bench, seed)
        with Reporter(say("Reading the sentence")) as progress:
            recovered = recover(
                channel, bench.sentence, outputs, scene.epsilon, reader=reader, progress=progress
            )
        smoothed = recovered.smoothed_outputs(bench.sentence, outputs)
        write = bench.sentence.write
        return SentenceGuesses(write(outputs).text, write(smoothed).text, recovered)

    key = (bench.sentence, scene.mechanism, scene.epsilon, seed, reader)
    # The slow reader works on request; whatever it has read stays readable without a click.
    if reader == SMOLLM2 and key not in st.session_state.get(_KNOWN, {}):
        if not st.session_state.pop(_ASKED, False):
            st.button(
                say("Read the sentence"),
                key="sentence_read",
                icon=":material/play_arrow:",
                on_click=lambda: st.session_state.update({_ASKED: True}),
                help=say(
                    "About a third of a second a word; the language model is loaded first, in "
                    "about ten seconds."
                ),
            )
            note(say("The language model has not read this sentence yet."))
            return None
        # Loaded before the progress bar, which counts words and not the loading.
        load_language_model()
    return session_memo(_KNOWN, key, compute, 100)


def _show(scene: AttackerScene, read: SentenceGuesses) -> None:
    st.markdown(say("Released by {reading}:", reading=scene.reading))
    show_line(read.text)
    recovered = read.recovered
    table = pd.DataFrame(recovered.rows())
    stayed = int((table["released"] == table["written"]).sum())
    with st.container(horizontal=True):
        st.metric(say("words"), len(table), width="content")
        st.metric(say("came out unchanged"), stayed, width="content")
        for attacker, title in TITLES.items():
            right = int((table[attacker] == table["written"]).sum())
            st.metric(say("guessed: {title}", title=say(title)), right, width="content")
    shown = pd.DataFrame({"written": table["written"], "released": table["released"]})
    for attacker, title in TITLES.items():
        shown[title] = [
            f"✔ {guess}" if guess == word else guess
            for guess, word in zip(table[attacker], table["written"], strict=True)
        ]
    show_table(
        shown, say("Each word as it was written and released, and what three attackers guess")
    )
    show_counts(recovered)
    if recovered.unknown:
        note(
            say(
                "{count} protected words are not in the vocabulary: a random word was released "
                "for each, which tells nothing.",
                count=recovered.unknown,
            )
        )
    note(f"{say(_SEEN)} {say(_READ_BY[recovered.reader])}")
    note(
        say(
            "Smoothed by the third, which costs no ε. Words given back, to readers and attackers "
            "alike: {restored}; words exchanged that had stayed: {lost}.",
            restored=recovered.restored,
            lost=recovered.lost,
        )
    )
    show_line(read.smoothed)
    csv_button(say("Guesses as CSV"), "sentence_guesses", lambda: table, key="csv_sentence")


def _neighbours(scene: AttackerScene, channel: Channel, bench: Bench, seed: int) -> None:
    """Draw what the outputs of a text tell about each of its words, if asked."""
    wanted_view = st.toggle(
        say("What do the other words tell about a word?"),
        key="others_tell",
        bind="query-params",
        help=say(
            "ε is about one word and its own output. Here are the outputs of the whole sentence: "
            "how far they tell each word from its nearest one, if texts follow bigrams of English."
        ),
    )
    if not wanted_view:
        return

    def compute() -> SentenceLoss:
        outputs = outputs_of(scene, bench, seed)
        written = bench.sentence.words[bench.sentence.words >= 0]
        with Reporter(say("Reading the neighbours")) as progress:
            return sentence_loss(
                channel,
                places_of(bench.sentence, outputs),
                written,
                nearest_others(scene.words, written),
                scene.epsilon,
                progress=progress,
            )

    key = (bench.sentence, scene.mechanism, scene.epsilon, seed)
    loss = session_memo("attack_others_tell", key, compute, 20)
    # st.text: words of a lexicon that a user added are not Markdown.
    st.text(say(neighbours_finding(loss)))
    show_table(
        neighbours_table(loss),
        say("Nats by which outputs tell each word from its nearest one: its own, the others'"),
        column_config={
            "word": say("word"),
            "other": say("nearest word"),
            "own": st.column_config.NumberColumn(
                say("own output"),
                format="%.2f",
                help=say(
                    "ln P(own output | word) / P(… | other); empty if it excludes the other word."
                ),
            ),
            "others": st.column_config.NumberColumn(
                say("others' outputs"), format="%.2f", help=say("Of all other words of the text.")
            ),
            "bound": st.column_config.NumberColumn(
                say("at most, own"),
                format="%.2f",
                help=say("What the guarantee allows its output; empty if it sets no limit."),
            ),
            "bound_others": st.column_config.NumberColumn(
                say("at most, others"),
                format="%.2f",
                help=say("The most that any outputs of the others could tell, under this chain."),
            ),
        },
    )
    worst = int(np.argmax(loss.left_bound + loss.right_bound))
    st.text(say(loss.statement(worst)))
    csv_button(
        say("Losses as CSV"),
        "sentence_losses",
        lambda: pd.DataFrame(loss.rows()),
        key="csv_others_tell",
    )


def show_counts(recovered: Recovery) -> None:
    """Draw how many changed content words each attacker recovers."""
    names = {
        **{attacker: say(ALONE[attacker]) for attacker in (BLIND, FREQUENCY)},
        CONTEXT: say("reads the sentence"),
    }
    counts = [
        {
            say("attacker"): name,
            say("first guess"): recovered.right(attacker),
            say("first ten"): recovered.right(attacker, TEN),
        }
        for attacker, name in names.items()
    ]
    # The note repeats the text alternative of the table: what is counted matters to everybody.
    told = say(
        "How many of the {count} content words that were changed each attacker recovers. Words "
        "that stayed are not among them; the share above the tabs counts them too.",
        count=int(recovered.counted.sum()),
    )
    note(told)
    show_table(pd.DataFrame(counts), told)


# Budget of a sentence: the sum of the guarantees, word by word and release by release.


def budget_view(scene: AttackerScene) -> None:
    """Draw the sentence box, the number of releases, and the sum of the guarantees."""
    note(
        say(
            "Each word has its own noise, so the guarantee for a sentence is the sum over its "
            "words and over its releases."
        )
    )
    text = text_box()
    with st.container(horizontal=True):
        releases = whole_number(
            say("Releases of the whole sentence"),
            1,
            MAX_ATTACK_RELEASES,
            1,
            "releases",
            say("How often the same sentence is rewritten with fresh noise and released."),
            width=250,
        )
        seed = choose_seed(
            say("Seed of all noise on this page: the same link shows the same words to everyone."),
            150,
        )
    try:
        bench = bench_of(scene, text)
        # Unknown words are left out: a random word stands for each, whatever it was.
        known = [int(word) for word in bench.sentence.words if word >= 0]
        spent = budget(scene.mechanism, known, scene.epsilon, releases=releases)
    except DpcoreError as error:
        refuse(say("There is nothing to add up."), error)
        return
    table = budget_table(scene.words, spent)
    show_figure(budget_figure(table), budget_caption(table, spent.nearest_success), table, "budget")
    st.text(retold(spent.statement))
    unknown = bench.sentence.protected - len(known)
    if unknown:
        note(
            say(
                "{unknown} words outside the vocabulary are left out: they tell nothing.",
                unknown=unknown,
            )
        )
    note(
        say(
            "A word that occurs twice is released twice: anyone who knows that both are the same "
            "word sees two outputs of it. The length of a sentence is not hidden at all."
        )
    )
    note(
        say(
            "*Save and cite* has the losses that the guarantee allows each word against its "
            "nearest."
        )
    )
    _comes_back(scene, bench, seed)
    _in_a_bag(scene, spent)
    take_it_with_you(
        lambda: Takeaway(
            budget_cell(scene, text, releases),
            scene.mechanism.cited,
            typed=is_typed(),
            tables={later("Losses"): lambda: table},
        )
    )


def _comes_back(scene: AttackerScene, bench: Bench, seed: int) -> None:
    """Draw what attackers recover from one release, beside the sum of the guarantees."""
    if not scene.mechanism.exact_law:
        return
    try:
        channel = channel_or_progress(scene.mechanism)
        read = None if channel is None else read_sentence(scene, channel, bench, seed, BIGRAM)
    except DpcoreError as error:
        refuse(say("This sentence cannot be attacked."), error)
        return
    if read is not None:
        note(
            say(
                "The sum is a guarantee against every attacker. This is what three attackers "
                "recover from one release; the last one reads on by bigrams of English:"
            )
        )
        show_counts(read.recovered)


RELEASES = 16
"""Releases of one word that are followed: by then half of the words are guessed at usual ε."""


def again_view(scene: AttackerScene) -> None:
    """Draw what is guessed of a word that is released again and again."""
    last = whole_number(
        say("Releases of the same word"),
        2,
        MAX_GUESSED_RELEASES,
        RELEASES,
        "repeats",
        say(
            "Someone posts the same word every day: each time with fresh noise, or always with the "
            "first answer (memoised). k-ary takes a second, tem some seconds, others some minutes."
        ),
        width=250,
    )

    def compute() -> RepeatedLeak:
        with Reporter(say("Following the releases"), stop="again_stop") as progress:
            return repeated_leak(scene.mechanism, scene.epsilon, last, progress=progress)

    try:
        key = (identity(scene.mechanism), scene.epsilon, last)
        leaked = once("repeated leak", key, compute, 50)
    except DpcoreError as error:
        refuse(say("Repeated releases of this mechanism are not followed."), error)
        return
    table = leaked.to_pandas()
    show_figure(released_figure(table), released_caption(table), table, "again")
    # No name of a word is in them.
    who = say(describe_stranger(leaked.stranger))
    row = leaked.rows[-1]
    note(
        say(
            "{who} guesses {least} to {most} of 100 {words} after {releases} releases with fresh "
            "noise.",
            who=who[:1].upper() + who[1:],
            words=say(scored_words(leaked.stranger)),
            releases=row.releases,
            least=numeral(at_least(row.low, 3, times=100)),
            most=numeral(at_most(row.high, 3, times=100)),
        )
        + ("" if row.exact else " " + say("An estimate: its 95 % interval."))
    )
    for told in (leaked.reached(0.5).told(last), leaked.recognition().told):
        note(f"{say(told)}.")
    take_it_with_you(
        lambda: Takeaway(
            repeated_cell(scene, last),
            scene.mechanism.cited,
            repeated_command(scene, last),
            say("It prints what is guessed of a word that is released again and again."),
            tables={later("Guesses"): lambda: table},
        )
    )


_BAGS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def _in_a_bag(scene: AttackerScene, spent: Budget) -> None:
    """Draw what ε the words have in shuffled bags, if asked."""
    wanted_view = st.toggle(
        say("What if only a shuffled bag of words is released?"),
        key="bag",
        bind="query-params",
        help=say(
            "The words of many people without order and authors: each hides among the others as "
            "well. A text keeps its order, so it gains nothing from that."
        ),
    )
    if not wanted_view:
        return
    rows: list[ShuffledBag] = []
    bags = [bag for bag in _BAGS if bag >= spent.tokens]
    for bag in timed(say("Shuffling bags"), bags):
        key = (identity(scene.mechanism), scene.epsilon, bag, spent.tokens)
        compute = partial(shuffled, scene.mechanism, scene.epsilon, bag, spent.tokens)
        rows.append(once("bags", key, compute, 200))
    largest = rows[-1]
    st.text(say(largest.statement))
    title = say(
        "ε of the words of this sentence in shuffled bags of words, for δ = {delta:g}",
        delta=TEXT_DELTA,
    )
    note(title)
    show_table(
        pd.DataFrame(
            {
                "bag": [row.bag for row in rows],
                "epsilon": [_bound(row.epsilon) for row in rows],
                "alone": [_bound(row.alone) for row in rows],
            }
        ),
        title,
        column_config={
            "bag": st.column_config.NumberColumn(say("words in the bag"), format="localized"),
            "epsilon": say("ε in the bag"),
            "alone": say("ε with order or authors"),
        },
    )


def _bound(epsilon: float) -> str:
    return numeral(at_most(epsilon)) if epsilon < math.inf else "∞"
