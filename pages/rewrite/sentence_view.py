"""New sentence by a language model, at the ε that the chosen words give the whole text."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from dpcore.audit.composition import composition
from dpcore.errors import DpcoreError
from dpcore.guarantee import Status
from dpcore.limits import MAX_WRITTEN_TOKENS
from dpcore.papers.ours.writers import STUDY
from dpcore.rewrite.write.scores import FORMS
from dpcore.rewrite.write.writers import (
    USUAL_TOKENS,
    WRITERS,
    DpMasked,
    DpPrompt,
    Writing,
    write,
    writer_of,
)
from dpcore.study.recorded import Recorded
from pages.rewrite.scene import RewriteScene, row_draw
from pages.shared.language import later, numeral, say
from pages.shared.latent import latent_rewrites
from pages.shared.link import segments, whole_number
from pages.shared.messages import inform, note, refuse
from pages.shared.needed import load_language_model
from pages.shared.progress import Reporter
from pages.shared.table import show_table
from pages.shared.taking import recorded, show_line

_AUTO_ENCODER = later("auto-encoder")
_ASKED, _WRITTEN = "sentence_asked", "sentence_written"


def sentence_view(scene: RewriteScene) -> None:
    """Offer to write a sentence beside that of the chosen mechanism; draw records of both."""
    _own_sentence(scene)
    recorded_writers()


def _own_sentence(scene: RewriteScene) -> None:
    total = _whole_text(scene)
    if total is None:
        inform(
            say(
                "There is no ε of the whole text to share: choose a word of a mechanism whose "
                "guarantee holds at its ε."
            )
        )
        return
    note(
        say(
            "A language model reads the whole text and rephrases it; each word of its answer "
            "is drawn with noise. ε of the whole text is the only scale that it shares with a "
            "mechanism for words."
        )
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = segments(
            say("Writer"),
            [*(writer.name for writer in WRITERS), _AUTO_ENCODER],
            "sentence_writer",
            say(
                "dp-masked: a small network replaces each word, given the word and its "
                "context. dp-prompt: a language model rephrases the text; it needs an optional "
                "package. auto-encoder: a network generates a text from one noisy vector of "
                "the whole text; it needs training, so recorded texts are shown."
            ),
            start=DpMasked.name,
        )
        asked = None if name == _AUTO_ENCODER else _form_and_tokens(name)
    if asked is None:
        note(
            say(
                "An auto-encoder encodes a whole text as one vector, adds noise, and decodes "
                "it to a new text. It needs training, so these texts were recorded: ADePT, as "
                "published and with noise that satisfies its claim. Train your own: `python -m "
                "dpcore autoencoder train`."
            )
        )
        latent_rewrites()
        return
    form, tokens = asked
    identity = (scene.text, total, name, form, tokens, scene.seed)
    # Only on request, since it takes seconds: other settings show no text until the button is
    # pressed.
    if st.session_state.pop(_ASKED, False):
        writing = _write(*identity)
        if writing is not None:
            st.session_state[_WRITTEN] = (identity, writing)
    kept = st.session_state.get(_WRITTEN)
    if kept is None or kept[0] != identity:
        note(say("Nothing has been written yet with these settings."))
        return
    _show(scene, total, kept[1])


def _form_and_tokens(name: str) -> tuple[str, int | None]:
    """Draw the parameters of a writer, and the button."""
    form = segments(
        say("Form"),
        FORMS,
        "sentence_form",
        say(
            "Published: clipped scores at the temperature of the paper. Calibrated: the same, "
            "as cold as ε allows. Response: the model's own tokens by randomised response."
        ),
        start=FORMS[-1],
    )
    tokens = None
    if name == DpPrompt.name:
        tokens = whole_number(
            say("Tokens"),
            1,
            MAX_WRITTEN_TOKENS,
            USUAL_TOKENS,
            "sentence_tokens",
            say("How many are drawn: a public number. A word takes one or two."),
            width=140,
        )
    st.button(
        say("Write the sentence"),
        key="sentence_start",
        icon=":material/play_arrow:",
        on_click=lambda: st.session_state.update({_ASKED: True}),
        help=say("Takes a second or a few; a language model is loaded first, in about ten."),
    )
    return form, tokens


def _whole_text(scene: RewriteScene) -> float | None:
    """Return the sum of the guarantees of the text's words; None where there is none."""
    protected = scene.bench.sentence.protected
    promise = scene.bench.promise(scene.chosen, scene.epsilon)
    # A refuted ε is no guarantee, so there is nothing to hand on to the writer.
    if promise is None or promise.status is Status.REFUTED or not protected:
        return None
    total = composition(scene.chosen, scene.epsilon, protected, guarantee=promise).total
    # Nothing can be shared out of an ε of 0, or where no bound is known.
    return total if 0 < total < math.inf else None


def _write(
    text: str, total: float, name: str, form: str, tokens: int | None, seed: int
) -> Writing | None:
    try:
        if name == DpPrompt.name:
            # Loaded before the progress bar, which counts tokens and not the ten seconds of
            # loading.
            load_language_model()
        count = writer_of(name, form).count(text, tokens)
        with Reporter(say("Writing"), stop="sentence_stop") as progress:
            return write(
                text,
                name,
                # The same ε for the whole text as the words have together, so that both can be
                # compared.
                epsilon=total / count,
                tokens=count,
                form=form,
                seed=seed,
                progress=progress,
            )
    except DpcoreError as error:
        refuse(say("The sentence cannot be written."), error)
        return None


def _show(scene: RewriteScene, total: float, writing: Writing) -> None:
    row = scene.bench, scene.chosen, scene.seed, scene.number, scene.epsilon
    drawn = row_draw(*row).at(scene.epsilon)
    each = writing.epsilon
    both = (scene.chosen.title, drawn.text), (writing.writer.title, writing.text)
    for column, (title, text) in zip(st.columns(2), both, strict=True):
        with column, st.container(border=True):
            st.markdown(f"**{say(title)}**")
            # Typed words are in it: never Markdown.
            st.text(text)
    note(
        say(
            "ε = {total} for the whole text is {each} for each of {count} draws, between {texts}. "
            "For the words it is the plain sum, between texts of as many words and, where ε is per "
            "distance, for the farthest words.",
            total=numeral(f"{total:.4g}"),
            each=numeral(f"{each:.4g}"),
            count=len(writing.tokens),
            texts=say(writing.writer.texts),
        )
    )
    show_table(
        pd.DataFrame(
            {
                "token": [token.text for token in writing.tokens],
                "probability": [token.probability for token in writing.tokens],
                "likeliest": [
                    ", ".join(f"{name} {numeral(f'{p:.2g}')}" for name, p in token.likeliest)
                    for token in writing.tokens
                ],
            }
        ),
        say("Every token with its exact probability, and those that were likeliest in its place"),
        height=320,
    )
    note(
        say(
            "Probabilities are for looking: they tell of the private text without noise. Only the "
            "text may be released, and only with fresh noise: `python -m dpcore write`."
        )
    )


# Recorded results of writers beside mechanisms for words, at one ε of the whole text.


_COLUMNS = {
    ("cosine", ""): later("meaning"),
    ("kept", ""): later("words kept"),
    ("accuracy", "sentiment"): later("sentiment recognised"),
    ("accuracy", "topic"): later("topic recognised"),
}
"""Titles of columns by quantity and variant."""


def recorded_writers() -> None:
    """Draw the recorded means with their intervals."""
    st.header(say("Measured at one ε of the whole text"), anchor=False)
    try:
        record = recorded(STUDY.name)
    except DpcoreError as error:
        refuse(say("The recorded study is missing."), error)
        return
    show_table(
        _table(record),
        say("Utility of the rewritten texts: meaning, unchanged words, classifier accuracy"),
        height=420,
    )
    rows = record.table[record.table["quantity"] == "majority"].set_index("variant")["value"]
    note(
        say(
            "Means over {count} test texts of the teaching corpus, with 95 % intervals. "
            "Meaning is the cosine with the sentence vector of the original text. Sentiment "
            "and topic are predicted by classifiers trained on original texts; always naming "
            "the largest class is right for {sentiment} of sentiments and {topic} of topics. "
            "Recorded by:",
            count=int(record.table["count"].max()),
            sentiment=f"{rows['sentiment']:.0%}",
            topic=f"{rows['topic']:.0%}",
        )
    )
    show_line(record.entry.command)


def _table(record: Recorded) -> pd.DataFrame:
    """Return one row per writer or mechanism and ε."""
    rows = record.table[record.table["quantity"] != "majority"]
    names = ("label", "epsilon", "quantity", "variant", "value", "low", "high")
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for label, epsilon, quantity, variant, value, low, high in zip(
        *(rows[name] for name in names), strict=True
    ):
        said = (say("as written"), "") if math.isnan(epsilon) else (label, f"{epsilon:g}")
        line = lines.setdefault(said, {})
        line[say(_COLUMNS[quantity, variant])] = f"{value:.2f} ({low:.2f} to {high:.2f})"
    first = say("writer or mechanism"), say("ε of the whole text")
    return pd.DataFrame([dict(zip(first, said, strict=True)) | lines[said] for said in lines])
