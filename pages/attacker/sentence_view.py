"""A sentence: what the attacker makes of each word alone, and of all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.attack.language.context import context_attack, places_of
from dpcore.errors import DpcoreError
from pages.attacker.channels import channel_or_progress
from pages.attacker.command import sentence_cell, sentence_command
from pages.attacker.recorded_view import TITLES, recorded_view
from pages.attacker.sentence import bench_of, is_typed, outputs_of
from pages.shared.downloads import csv_button
from pages.shared.fields import choose_seed
from pages.shared.language import say
from pages.shared.memo import session_memo
from pages.shared.messages import inform, note, refuse
from pages.shared.progress import Reporter
from pages.shared.reproducing import show_line
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.shared.text_box import text_box

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from pages.attacker.scene import Scene
    from pages.shared.bench import Bench


@dataclass(frozen=True, eq=False)
class Read:
    """What three attackers make of one rewritten sentence.

    Attributes:
        text: the rewritten sentence.
        table: one row a protected word of the vocabulary: written, released, the three guesses
            (columns of `TITLES`), and the chance that the last two give to the written word.
        unknown: protected words outside the vocabulary, of which the output tells nothing.
    """

    text: str
    table: pd.DataFrame
    unknown: int

    def right(self, attacker: str) -> int:
        """How many words this attacker guesses."""
        return int((self.table[attacker] == self.table["written"]).sum())


def sentence_view(scene: Scene) -> None:
    """Draw the sentence box, the rewritten sentence and the guesses."""
    note(
        say(
            "The promise is about each word by itself. An attacker who knows the language reads "
            "on: words explain their neighbours, and that is no part of the promise."
        )
    )
    text = text_box()
    seed = choose_seed(
        say("Of all noise on this page: who opens the same link sees the same words."), 150
    )
    if not scene.mechanism.exact_law:
        inform(
            say(
                "This attacker needs a mechanism whose probabilities can be computed: choose "
                "tem, for instance."
            )
        )
        recorded_view(scene)
        return
    try:
        bench = bench_of(scene, text)
        channel = channel_or_progress(scene.mechanism)
        if channel is not None:
            _show(scene, _read(scene, channel, bench, seed))
    except DpcoreError as error:
        refuse(say("This sentence cannot be attacked."), error)
    recorded_view(scene)
    take_it_with_you(
        lambda: Takeaway(
            sentence_cell(scene, text, seed),
            scene.mechanism.cited,
            sentence_command(scene, text, seed),
            say("It prints the released sentence."),
            typed=is_typed(),
        )
    )


def _read(scene: Scene, channel: Channel, bench: Bench, seed: int) -> Read:
    def compute() -> Read:
        outputs = outputs_of(scene, bench, seed)
        places = places_of(bench.sentence, outputs)
        with Reporter(say("Reading the sentence")) as progress:
            attack = context_attack(channel, places, scene.epsilon, progress=progress)
        known = [i for i, word in enumerate(bench.sentence.words.tolist()) if word >= 0]
        names = scene.words.words
        rows = []
        for row, place in enumerate(known):
            word = bench.word(place)
            rows.append(
                {
                    "written": names[word],
                    "released": names[int(outputs[place])],
                    "likeliest": names[int(attack.likeliest[row])],
                    "frequency": names[int(attack.guesses_alone[row])],
                    "context": names[int(attack.guesses[row])],
                    "chance_frequency": float(attack.alone[row, word]),
                    "chance_context": float(attack.context[row, word]),
                }
            )
        rewritten = bench.sentence.write(outputs).text
        return Read(rewritten, pd.DataFrame(rows), bench.sentence.protected - len(known))

    key = (bench.sentence, scene.mechanism, scene.epsilon, seed)
    return session_memo("attack_sentences", key, compute, 100)


def _show(scene: Scene, read: Read) -> None:
    st.markdown(say("Released by {reading}:", reading=scene.reading))
    show_line(read.text)
    table = read.table
    stayed = int((table["released"] == table["written"]).sum())
    with st.container(horizontal=True):
        st.metric(say("words"), len(table), width="content")
        st.metric(say("came out unchanged"), stayed, width="content")
        for attacker, title in TITLES.items():
            st.metric(say("guessed: {title}", title=title), read.right(attacker), width="content")
    shown = pd.DataFrame({"written": table["written"], "released": table["released"]})
    for attacker, title in TITLES.items():
        shown[title] = [
            f"✔ {guess}" if guess == word else guess
            for guess, word in zip(table[attacker], table["written"], strict=True)
        ]
    show_table(
        shown, say("Each word as it was written and released, and what three attackers guess")
    )
    if read.unknown:
        note(
            say(
                "{count} protected words are not in the vocabulary: a random word was released "
                "for each, which tells nothing.",
                count=read.unknown,
            )
        )
    note(
        say(
            "✔ marks a right guess. All three see the same outputs and know the mechanism; the "
            "first holds all words for equally likely, the second goes by how common they are, "
            "the third by a smoothed bigram of English, exactly and over the whole vocabulary."
        )
    )
    csv_button(say("Guesses as CSV"), "sentence_guesses", lambda: table, key="csv_sentence")
