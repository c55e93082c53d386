"""View of the genetic attack: a mechanism's likely words are bred until a classifier errs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpcore.attack.genetic import Genetic
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.robust.shares import COLUMNS, ends_caption, lines_figure
from dpcore.written import Filled
from pages.robustness.attack_work import NETWORKS, VICTIMS, Hunt, TextAttack, attack_text
from pages.robustness.one_text import OWN, Document, choose_document, marked
from pages.robustness.reproducing import attack_cell, attack_command, computed_now
from pages.robustness.sample_view import sample_view
from pages.robustness.words_view import LABELS, prepare
from pages.robustness.words_work import CERTIFIED, NORMAL, Rules, read_corpus
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import ATTACK_ON_TEXTS, epsilon_dial
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import choose_seed, segments, tabs, whole_number
from pages.shared.messages import footer, inform, note, refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import choose_lexicon, choose_mechanism
from pages.shared.table import numbers, show_table
from pages.shared.taking import Takeaway, take_it_with_you

_MECHANISM, _NEAREST = later("what the mechanism puts at ε"), later("the nearest words")
_NEIGHBOURS = (1, 2, 3, 4, 8)
_START = 9  # the attack on it takes several changes


def attack_view() -> None:
    """Draw the attack on one text and on a sample."""
    note(
        say(
            "Rewritten texts are bred until the classifier errs (Alzantot et al. 2018), with "
            "words that a private mechanism would choose, as in Xu et al. 2021. A success "
            "proves that the classifier can be fooled; a failure proves nothing."
        )
    )
    with st.sidebar:
        chosen = choose_mechanism(
            say(
                "The attack tries the mechanism's substitutes in proportion to their "
                "probability. Where there are no exact probabilities, they are estimated from "
                "200 draws per word."
            )
        )
        name = choose_lexicon()
    words = lexicon_or_stop(name)
    (mechanism,) = mechanisms_or_stop(words, [chosen])
    computed_now()
    fragment(_board, words, mechanism, name)
    footer(words, st.session_state.get("seed", 0), say("each number says from how many texts"))


def _board(words: Lexicon, mechanism: Mechanism, name: str) -> None:
    try:
        hunt = _choose_hunt(words, mechanism)
    except DpcoreError as error:
        refuse(say("This attack cannot be made."), error)
        return
    views = {
        later("One text"): lambda: _one_text(words, hunt, name),
        later("A sample of texts"): lambda: _sample(words, hunt),
    }
    tabs(views, "attack_part")


def _choose_hunt(words: Lexicon, mechanism: Mechanism) -> Hunt:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = segments(
            say("Labels"),
            LABELS,
            "attack_labels",
            say("What the attacked classifier reads off a text of the teaching corpus."),
        )
        victim = segments(
            say("Classifier"),
            VICTIMS,
            "attack_victim",
            say(
                "The first two are linear; certified training is for the worst case over the "
                "nearest word (k = 1) in a fifth of the places, as the view Words begins with. "
                "The networks are convolutional, come with the laboratory and read sentiment; "
                "the second was trained by interval bounds over the 2 nearest words in all "
                "places."
            ),
            start=NORMAL,
        )
        tried = segments(
            say("Words that are tried"),
            [_MECHANISM, _NEAREST],
            "attack_words",
            say(
                "With the nearest words there is a certificate to compare with what the attack "
                "finds on a sample: exact for a linear classifier, a lower bound for a network."
            ),
        )
    # Whatever is not chosen below has a fixed value, so that equal attacks have equal keys.
    epsilon, neighbours = 1.0, Rules.neighbours
    if tried == _MECHANISM:
        group = group_of(mechanism.meaning)
        # A start of its own: at that of the other pages most words come out unrelated to the text.
        epsilon = epsilon_dial(
            group, [mechanism], start=ATTACK_ON_TEXTS.get(group.name), read=mechanism
        )
        mechanism.check_epsilon(epsilon)
    else:
        neighbours = segments(
            say("A word may become one of its nearest"),
            _NEIGHBOURS,
            "attack_neighbours",
            say("k, by exact Euclidean distance in the lexicon."),
            start=1,
            format_func=str,
        )
    settings, seed = _choose_settings()
    rules = Rules(labels)  # assumptions of the certified training, whatever the attack tries
    # With progress, before the views need its classifiers.
    prepare(words, rules)
    used = None if tried == _NEAREST else mechanism
    return Hunt(used, epsilon, rules, victim, neighbours, settings, seed)


def _choose_settings() -> tuple[Genetic, int]:
    with st.expander(say("How hard it tries")), st.container(horizontal=True):
        share = st.number_input(
            say("Share of words that may change"),
            0.0,
            1.0,
            0.2,
            step=0.05,
            format="%g",
            key="attack_share",
            bind="query-params",
            width=230,
            help=say("The budget of changes: rounded down, but at least one word; 0 allows none."),
        )
        population = whole_number(
            say("Population"),
            2,
            500,
            40,
            "attack_population",
            say("Rewritten texts that are alive at a time."),
            width=130,
        )
        generations = whole_number(
            say("Generations"),
            0,
            200,
            20,
            "attack_generations",
            say("After the first population."),
            width=130,
        )
        tries = whole_number(
            say("Tries in a place"),
            1,
            20,
            1,
            "attack_tries",
            say(
                "1 as in Xu et al. 2021; with more the best of them is taken, as in Alzantot et "
                "al. 2018."
            ),
            width=140,
        )
        seed = choose_seed(say("Of everything that the attack draws."), 130)
    return Genetic(population, generations, share, tries), seed


def _one_text(words: Lexicon, hunt: Hunt, name: str) -> None:
    document = choose_document(words, hunt.rules.labels, "attack_text", _START)
    if document is None:
        return
    try:
        attacked, classes = hunt.attacked(words), read_corpus(words, hunt.rules.labels).classes
    except DpcoreError as error:
        refuse(say("This classifier cannot be attacked."), error)
        return
    read_as = int(attacked.predict(document.bags)[0])
    st.text(document.text)
    # Nothing is left to attack; a typed text has no true class, and keeps the one it is read as.
    if document.label is not None and read_as != document.label:
        inform(
            say("This text is misread without an attack: choose another, or another classifier.")
        )
        return
    try:
        result = attack_text(words, hunt, document.bags, read_as)
    except DpcoreError as error:
        refuse(say("This text cannot be attacked."), error)
        return
    _show(words, document, result, classes)
    take_it_with_you(
        lambda: Takeaway(
            attack_cell(hunt, document.text, name),
            _cited(hunt),
            attack_command(hunt, document.text, name) if _has_command(hunt) else None,
            say("It prints the same attack."),
            typed=st.session_state.get("attack_text_source") == OWN,
        )
    )


def _has_command(hunt: Hunt) -> bool:
    # The command tries words of a mechanism, once a place, against normal training or a network.
    return hunt.mechanism is not None and hunt.victim != CERTIFIED and hunt.settings.tries == 1


def _cited(hunt: Hunt) -> tuple[str, ...]:
    cited = () if hunt.mechanism is None else hunt.mechanism.cited
    worst_case = hunt.victim == CERTIFIED or NETWORKS.get(hunt.victim) == "ibp"
    return ("xu2021gumbel", *cited, *(("jia2019certified",) if worst_case else ()))


def _sample(words: Lexicon, hunt: Hunt) -> None:
    sample_view(words, hunt)
    take_it_with_you(lambda: Takeaway(None, _cited(hunt)))


def _show(words: Lexicon, document: Document, result: TextAttack, classes: tuple[str, ...]) -> None:
    label = classes[result.label]
    attacked = result.attacked
    before = attacked.generations[0].probability
    # The first point is the text as it is, before any change.
    rows = [(f"probability of {label}", 0.0, before)]
    rows += [(rows[0][0], i + 1.0, step.probability) for i, step in enumerate(result.steps)]
    table = pd.DataFrame(rows, columns=["curve", "x", "mean"]).reindex(columns=list(COLUMNS))
    end = (
        say("After {words} it is read otherwise", words=_words(len(result.steps)))
        if attacked.success
        else say(
            "It is still read as {label} after {words}",
            label=say(label),
            words=_words(len(result.steps)),
        )
    )
    st.text(
        say(
            "Read as {label} with probability {before:.3g}. {end}: probability {after:.3g}. "
            "{queries:,} texts were tried in {generations} generations; words: {method}, in "
            "{places} places.",
            label=say(label),
            before=before,
            end=end,
            after=table["mean"].iloc[-1],
            queries=attacked.queries,
            generations=len(attacked.generations) - 1,
            method=result.method,
            places=result.places,
        )
    )
    if not result.steps:
        note(
            say("Nothing was changed: no allowed word lowers the probability, or none may change.")
        )
        return
    show_figure(
        lines_figure(
            table, "changed words", say("probability of {label}", label=say(label)), whole=True
        ),
        ends_caption(table, Filled("The text after each change"), later("changes")),
        table,
        "attack_steps",
    )
    _step_by_step(words, document, result)


def _step_by_step(words: Lexicon, document: Document, result: TextAttack) -> None:
    number = len(result.steps)
    # A slider needs two ends.
    if number > 1:
        number = st.slider(
            say("Text after change number"),
            1,
            len(result.steps),
            len(result.steps),
            # By the number of steps: a position kept from a longer attack would be out of range.
            key=f"attack_step_{len(result.steps)}",
            help=say("The changes in the order of what they take from the probability."),
        )
    # A copy: the document is a key of caches, and other views show it.
    text = document.bags.words.copy()
    for step in result.steps[:number]:
        text[step.place] = step.new
    st.text(marked(words, document.bags.words, text))
    rows = pd.DataFrame(
        {
            "change": [i + 1 for i in range(len(result.steps))],
            "place": [step.place + 1 for step in result.steps],
            "word": [words.words[step.old] for step in result.steps],
            "becomes": [words.words[step.new] for step in result.steps],
            "probability": [step.probability for step in result.steps],
        }
    )
    show_table(
        rows,
        say("The changed words in their order, and the probability after each"),
        column_config=numbers(["probability"]),
    )


def _words(count: int) -> str:
    return say("1 changed word") if count == 1 else say("{count} changed words", count=count)
