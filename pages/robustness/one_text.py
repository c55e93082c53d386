"""One text under the worst allowed changes, and under a likely private rewriting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.corpus import Bags, bags_of
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.substitutions import Substitutions, likely_words, nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.rewrite.sentence import check_text
from pages.robustness.words_work import CERTIFIED, NORMAL, Rules, allowed, model, read_corpus
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_dial
from pages.shared.language import later, say
from pages.shared.link import segments, steps
from pages.shared.messages import inform, note, refuse
from pages.shared.needed import mechanisms_or_stop
from pages.shared.once import session_memo
from pages.shared.session import Settings
from pages.shared.table import show_table
from pages.shared.text_box import text_box

CORPUS, OWN = later("of the test texts"), later("my own")
_NEAREST, _LIKELY = later("the nearest words"), later("what a mechanism is likely to put")
_START = 41  # normal training loses it to one exchanged word, certified training does not
_LEAST = (0.005, 0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Document:
    """One text.

    Attributes:
        text: the original text.
        bags: its words.
        label: its true class; None for a typed text, which keeps its predicted class.
    """

    text: str
    bags: Bags
    label: int | None


def choose_document(words: Lexicon, labels: str, key: str, start: int) -> Document | None:
    """Draw the choice of a text; if it is refused, say why and return None.

    Args:
        words: the lexicon.
        labels: "sentiment" or "topic".
        key: beginning of the names in the link.
        start: number of the default text.
    """
    corpus = read_corpus(words, labels)
    source = segments(
        say("Text"),
        [CORPUS, OWN],
        f"{key}_source",
        say(
            "Your own stays in this browser session: it is not stored, not logged and not put "
            "into the link."
        ),
    )
    if source == CORPUS:
        number = st.slider(
            say("Number of the text"),
            0,
            len(corpus.texts) - 1,
            start,
            key=f"{key}_number",
            bind="query-params",
            help=say("While the slider has the focus, arrow keys go to the next text."),
        )
        document = Document(
            # The true class is known, so a wrong answer can be told from a changed one.
            corpus.texts[number],
            corpus.test.part([number]),
            int(corpus.test_labels[number]),
        )
    else:
        text = text_box()
        try:
            check_text(text)
        except DpcoreError as error:
            refuse(say("This text cannot be used."), error)
            return None
        document = Document(text, bags_of([text], words), None)
    # Unknown words have no vector, so neither the classifier nor an attack sees them.
    if not (document.bags.words >= 0).any():
        inform(say("The text has no word of the lexicon, so there is nothing to exchange."))
        return None
    return document


def one_text(words: Lexicon, rules: Rules, chosen: tuple[str, Settings]) -> None:
    """Draw the choice of a text and of the rules, and the worst case for both classifiers."""
    document = choose_document(words, rules.labels, "words_text", _START)
    if document is None:
        return
    st.text(document.text)
    how = segments(
        say("A word may become"),
        [_NEAREST, _LIKELY],
        "words_how",
        say(
            "The nearest words: the rules above. A mechanism: the words that it puts in a "
            "word's place with at least some probability, and all words of the text may change "
            "at once, as a private rewriting does."
        ),
    )
    try:
        if how == _NEAREST:
            table, share = _near(words, rules, document), rules.share
        else:
            likely = _likely(words, chosen, document)
            if likely is None:
                return
            table, share = likely, 1.0  # a private rewriting draws every word afresh
        _both(words, rules, document, table, share)
    except DpcoreError as error:
        refuse(say("There is no certificate for this text."), error)


def _near(words: Lexicon, rules: Rules, document: Document) -> Substitutions:
    if document.label is not None:
        return allowed(words, rules.neighbours)
    # A typed text may hold words that the corpus lacks, and its neighbours stay in the session.
    return nearest_words(words, document.bags.words, rules.neighbours)


def _likely(
    words: Lexicon, chosen: tuple[str, Settings], document: Document
) -> Substitutions | None:
    (mechanism,) = mechanisms_or_stop(words, [chosen])
    if not mechanism.exact_law:
        inform(
            say(
                "Which words are likely is known exactly only where probabilities can be "
                "computed: choose tem in the sidebar, for instance."
            )
        )
        return None
    group = group_of(mechanism.meaning)
    epsilon = epsilon_dial(group, [mechanism], read=mechanism)
    least = steps(
        say("Allowed from probability"),
        _LEAST,
        0.01,
        "words_least",
        say(
            "A word counts as likely if the mechanism puts it there at least this often. Less "
            "allows more words, and the certificate covers more of what can happen."
        ),
    )
    table = _laws(mechanism, document, epsilon, least)
    # The certificate is for the sets; how often a real rewriting stays in them is the other half.
    inside = table.all_inside(document.bags.words)
    unknown = int((document.bags.words < 0).sum())
    st.text(
        say(
            "{mechanism} at {reading}: {size:.3g} likely words in the place of a word. All "
            "words of the text stay inside their sets with probability {inside:.3g}{rest}",
            mechanism=mechanism.short,
            reading=group.reading(epsilon),
            size=table.mean_size,
            inside=inside,
            rest=say("; {unknown} words outside the vocabulary are left out.", unknown=unknown)
            if unknown
            else ".",
        )
    )
    return table


def _laws(mechanism: Mechanism, document: Document, epsilon: float, least: float) -> Substitutions:
    # In the session: the text may be typed.
    key = (mechanism, epsilon, least, document.bags.words.tobytes())
    return session_memo(
        "words_laws", key, lambda: likely_words(mechanism, document.bags.words, epsilon, least), 40
    )


def _both(
    words: Lexicon, rules: Rules, document: Document, table: Substitutions, share: float
) -> None:
    for column, (title, certified) in zip(
        st.columns(2), ((NORMAL, False), (CERTIFIED, True)), strict=True
    ):
        with column, st.container(border=True):
            st.markdown(say("**Classifier: {title}**", title=say(title)))
            _worst_case(words, rules, document, table, share, certified=certified)
    note(
        say(
            "The worst text reaches the margin: no bound is involved, and a margin that is "
            "above 0 by more than rounding is a proof for every allowed text. [old → new] marks "
            "a changed word, · a word outside the vocabulary."
        )
    )


def _worst_case(
    words: Lexicon,
    rules: Rules,
    document: Document,
    table: Substitutions,
    share: float,
    *,
    certified: bool,
) -> None:
    classifier = model(words, rules, certified=certified)
    classes = read_corpus(words, rules.labels).classes
    read_as = int(classifier.predict(document.bags)[0])
    # A typed text has no true class: the certificate is then about the answer itself.
    label = read_as if document.label is None else document.label
    worst = certify_linear(classifier, document.bags, [label], table, share)
    rival = int(worst.rivals[0])
    scores = classifier.scores(worst.texts)[0]
    # Computed by the classifier itself on the worst text, as a check of the certificate.
    attained = float(scores[label] - scores[rival])
    before = float(classifier.probabilities(document.bags)[0, label])
    after = float(classifier.probabilities(worst.texts)[0, label])
    st.text(marked(words, document.bags.words, worst.texts.words))
    verdict = say("Certified: no allowed text changes the class.")
    if not worst.certified[0]:
        verdict = say("Not certified: this text is read otherwise.")
        if read_as != label:
            verdict = say(
                "Wrong without any change: it is read as {label}.", label=say(classes[read_as])
            )
    origin = say("read as") if document.label is None else say("label")
    st.text(
        say(
            "{origin} {label}: probability {before:.3g} as written, {after:.3g} in the worst case "
            "(against {rival}).\nSmallest margin {margin:+.3g}; the classifier's own scores of "
            "this text differ by {attained:+.3g}.\n{verdict}",
            origin=origin,
            label=say(classes[label]),
            before=before,
            after=after,
            rival=say(classes[rival]),
            margin=worst.margins[0],
            attained=attained,
            verdict=verdict,
        )
    )
    changes = changed_words(words, document.bags.words, worst.texts.words)
    if len(changes):
        how = CERTIFIED if certified else NORMAL
        show_table(
            changes, say("The words that the worst case changes, classifier: {how}", how=say(how))
        )


def marked(words: Lexicon, old: np.ndarray, new: np.ndarray) -> str:
    """Return the words of a text, each changed word with its replacement."""
    names = words.words
    return " ".join(
        "·" if a < 0 else names[a] if a == b else f"[{names[a]} → {names[b]}]"
        for a, b in zip(old.tolist(), new.tolist(), strict=True)
    )


def changed_words(words: Lexicon, old: np.ndarray, new: np.ndarray) -> pd.DataFrame:
    """Return one row per changed place: its number in the text, the word before and after."""
    places = np.flatnonzero(old != new)
    return pd.DataFrame(
        {
            "place": places + 1,
            "word": [words.words[i] for i in old[places]],
            "becomes": [words.words[i] for i in new[places]],
        }
    )
