"""View of private rewriting by auto-encoders: records, and a live attack on a latent vector."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpcore.papers.huang2024.autoencoder_examples import RewriteExamples, read_examples
from dpcore.plots.robust.shares import ends_caption, lines_figure
from dpcore.study.recorded import Recorded
from dpcore.study.robust_curves import interval_curves, rewriting_curves
from dpcore.written import Named, listed
from pages.robustness.latent_view import ADEPT, adept_parts
from pages.robustness.recorded_view import Parts, recorded_view
from pages.robustness.reproducing import seeds
from pages.shared.figure import csv_button, show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import choose_one
from pages.shared.messages import note
from pages.shared.table import numbers, show_table

_QUANTITIES = {
    "rouge1_recall": later("ROUGE-1 recall"),
    "rouge1": later("ROUGE-1 F1"),
    "bleu": later("BLEU (0 to 100)"),
    "nw": later("Nw: share of words that stay"),
    "loss": later("loss of the network (nats a word)"),
    "nw_likeliest": later("words that an attacker reads who knows the noise's law"),
    "nw_bound": later("words that any decoder can read at most"),
    "cpu_seconds": later("processor seconds of an epoch"),
}
_AXES = {
    "nw": later("Nw"),
    "loss": later("loss (nats a word)"),
    "nw_likeliest": later("share of words"),
    "nw_bound": later("share of words"),
    "cpu_seconds": "seconds",
}
_NO_SHARES = {"bleu", "loss", "cpu_seconds"}
_READERS = {
    "auto-encoder": later("the auto-encoder"),
    "nearest word": later("the word nearest to the noisy vector"),
}
_LEXICONS = {"bundled": later("our vectors"), "random": later("random vectors")}
_WHICH = {"words": later("Words (Huang 2024)"), ADEPT: later("Utterances: ADePT")}


def autoencoder_view() -> None:
    """Draw the choice between the two systems, and the record of one."""
    note(
        say(
            "A network reads a text as vectors, noise is added to them, and another part of the "
            "network writes a text again. How much of the text survives a noise that is private?"
        )
    )
    which = choose_one(
        st.segmented_control,
        say("System"),
        _WHICH,
        "auto_system",
        required=True,
        help=say(
            "Words: every word's vector is noised (Huang et al. 2024, Tables 1 to 3). "
            "Utterances: one vector of the whole utterance is (Krishna et al. 2021)."
        ),
    )
    train = say(
        "`pip install -r requirements-learn.txt`, then `python -m dpcore autoencoder train "
        "--model {which}` trains one and `autoencoder rewrite` rewrites with it.",
        which=which,
    )
    if which == ADEPT:
        fragment(recorded_view, ("adept2021-",), "adept", adept_parts, train)
    else:
        fragment(recorded_view, ("huang2024-autoencoder-",), "auto", _parts, train)


def _parts(record: Recorded) -> Parts:
    return {"Curves": lambda: _curves(record), "Examples": _examples}


def _curves(record: Recorded) -> None:
    table = record.table
    there = set(table["quantity"])
    lexicons = list(dict.fromkeys(table["lexicon"]))
    with st.container(horizontal=True):
        quantity = choose_one(
            st.selectbox,
            say("Measured"),
            # In our order, and only what this record has.
            {name: title for name, title in _QUANTITIES.items() if name in there},
            "auto_quantity",
            width=360,
            help=say("How much of the sentences comes back, or can."),
        )
        lexicon = choose_one(
            st.selectbox,
            say("Vectors"),
            # The last part of a lexicon's name says where its vectors come from.
            {name: _LEXICONS.get(name.rsplit("-", 1)[-1], "GloVe") for name in lexicons},
            "auto_vectors",
            width=200,
            help=say("With which the network begins: GloVe as in the paper, ours, or random ones."),
        )
        # Rows without ε are baselines: they have no place on the axis.
        rows = table[(table["quantity"] == quantity) & table["epsilon"].notna()]
        readers = {name: title for name, title in _READERS.items() if name in set(rows["learner"])}
        where = {"lexicon": lexicon}
        # Some quantities have a single reader.
        if len(readers) > 1:
            where["learner"] = choose_one(
                st.selectbox,
                say("Written by"),
                readers,
                "auto_reader",
                width=320,
                help=say(
                    "The network, or a reader who takes the word nearest to each noisy vector."
                ),
            )
    computed = quantity == "nw_bound"
    # A bound that is computed has no interval over seeds.
    curves = (interval_curves if computed else rewriting_curves)(record, quantity, **where)
    title = _QUANTITIES[quantity]
    axis = _AXES.get(quantity, title)
    show_figure(
        lines_figure(
            curves, "ε (nominal, between any two words)", axis, logarithm=True,
            share=quantity not in _NO_SHARES,
        ),
        ends_caption(curves, listed((Named(title), seeds(record))), "ε"),
        curves,
        f"{record.entry.name}_{quantity}",
    )  # fmt: skip
    _baselines(record, quantity, where)
    note(
        say(
            "ε is for one word, as each mechanism claims it; over a sentence the values add "
            "up. Gaussian noise and TrLaplace claim it only up to a δ: **curves with δ in "
            "their name use the true δ of TrLaplace at that ε**, so that the comparison is at "
            "equal privacy. The page Papers says which claims are true. Only marks were "
            "measured; the lines join them."
        )
    )


def _baselines(record: Recorded, quantity: str, where: dict[str, str]) -> None:
    """Draw the baselines: the output without noise, and the output from the length alone."""
    rows = record.rows(quantity, lexicon=where["lexicon"])
    rows = rows[rows["epsilon"].isna()]
    parts = []
    for learner, title in (
        (where.get("learner", "auto-encoder"), say("Without noise")),
        ("length alone", say("From the length alone")),
    ):
        values = rows[rows["learner"] == learner]
        if len(values):
            parts.append(say("{title}: {value:.3g}.", title=title, value=values["value"].mean()))
    if parts:
        st.text(" ".join(parts))


@st.cache_resource(max_entries=1, show_spinner=False)
def _read() -> RewriteExamples:
    return read_examples()


def _examples() -> None:
    examples = _read()
    texts = list(dict.fromkeys(row.text for row in examples.rows))
    labels = list(dict.fromkeys(row.label for row in examples.rows if row.label))
    with st.container(horizontal=True):
        number = choose_one(
            st.selectbox,
            say("Sentence"),
            # Numbers in the link: a text would make it long.
            {str(i): text for i, text in enumerate(texts)},
            "auto_sentence",
            help=say("Of the test part of the teaching corpus: written for this laboratory."),
        )
        label = choose_one(
            st.selectbox,
            say("Noise"),
            {name: name for name in labels},
            "auto_noise",
            width=260,
            help=say("As in the curves."),
        )
    # The choice is one of the keys above, so it is a number in range.
    text = texts[int(number)]
    # Without a label means without noise.
    clean = next(row for row in examples.rows if row.text == text and not row.label)
    st.text(
        say(
            "Written: {text}\nThe network without noise: {network}\nWhen only the length is "
            "known: {alone}",
            text=text,
            network=clean.network,
            alone=examples.length_alone[text],
        )
    )
    table = pd.DataFrame(
        [
            (row.epsilon, row.network, row.nearest, row.likeliest)
            for row in examples.rows
            if (row.text, row.label) == (text, label)
        ],
        columns=[
            "ε",
            later("the network writes"),
            later("nearest words"),
            later("likeliest words"),
        ],
    )
    show_table(table, say("The rewritten sentence at each ε"), column_config=numbers(["ε"]))
    csv_button(
        say("Examples as CSV"), "autoencoder_examples", lambda: table, key="csv_auto_examples"
    )
    note(
        say(
            "The likeliest words are what an attacker reads who knows the law of the noise and "
            "asks which word explains a noisy vector best. The network was trained on the "
            "training part of the teaching corpus."
        )
    )
