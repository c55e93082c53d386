"""Views below the board of the Crowd page: numbers, one query, texts that it takes, method."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.crowd.planner import Plan, countable_words, plan
from dpcore.crowd.queries import Queries, of_kinds, of_lists, of_words
from dpcore.crowd.shown import drawn_counts
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.outwards import at_least, at_most
from dpcore.papers.ours.learning import (
    RECORDS,
    TF_IDF,
    UNDONE,
    LearningCurve,
    learning_curves,
)
from dpcore.plots.crowd import accuracy_by_texts, counts_by_texts, errors_by_texts
from dpcore.plots.style import Caption, number
from dpcore.study.recorded import read_recorded
from pages.crowd.scene import (
    AT_THE_DIALS,
    COUNTED,
    LEAKAGES,
    MECHANISM,
    NAMES,
    OPEN_VIEW,
    VIEWS,
    CrowdScene,
    response,
)
from pages.shared import link
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_one, pick, segments, steps, tabs
from pages.shared.messages import inform, note, refuse
from pages.shared.once import once, session_memo
from pages.shared.table import DIGITS, show_table
from pages.shared.taking import Takeaway, command_line, show_line, take_it_with_you
from pages.shared.words import choose_word, say_unknown, spelled

_WORD, _LIST, _KIND = later("A word"), later("A list"), later("A kind")
_ASKED = "count"  # the word that is counted, in the link
_OFFERED = ("great", "worst", "boring", "music", "team", "market", "science")
_TYPED, _AT_FIRST, _LONGEST = "crowd_list", "boring dull tedious predictable", 2_000  # a list
KINDS = {
    "noun.feeling": later("feelings"),
    "adj.all": later("adjectives"),
    "adj.pert": later("relational adjectives"),
    "adj.ppl": later("participles"),
    "adv.all": later("adverbs"),
    "noun.Tops": later("topmost nouns"),
    "noun.act": later("acts"),
    "noun.animal": later("animals"),
    "noun.artifact": later("things made by people"),
    "noun.attribute": later("attributes"),
    "noun.body": later("the body"),
    "noun.cognition": later("ideas"),
    "noun.communication": later("messages"),
    "noun.event": later("events"),
    "noun.food": later("food"),
    "noun.group": later("groups"),
    "noun.location": later("places"),
    "noun.motive": later("motives"),
    "noun.object": later("natural objects"),
    "noun.person": later("persons"),
    "noun.phenomenon": later("phenomena"),
    "noun.plant": later("plants"),
    "noun.possession": later("possessions"),
    "noun.process": later("processes"),
    "noun.quantity": later("quantities"),
    "noun.relation": later("relations"),
    "noun.shape": later("shapes"),
    "noun.state": later("states"),
    "noun.substance": later("substances"),
    "noun.time": later("times"),
    "verb.body": later("grooming and dressing"),
    "verb.change": later("changing"),
    "verb.cognition": later("thinking"),
    "verb.communication": later("telling"),
    "verb.competition": later("fighting and playing"),
    "verb.consumption": later("eating and drinking"),
    "verb.contact": later("touching"),
    "verb.creation": later("making"),
    "verb.emotion": later("feeling"),
    "verb.motion": later("moving"),
    "verb.perception": later("seeing and hearing"),
    "verb.possession": later("having and giving"),
    "verb.social": later("living together"),
    "verb.stative": later("being"),
    "verb.weather": later("weather"),
    "unknown": later("not in WordNet"),
}
"""Kinds of words, the lexicographer files of WordNet, in plain words; the first is the default."""
_BETWEEN = re.compile(r"[\s,;]+")
_ERRORS, _ERROR = (2, 5, 10, 20, 50), 10  # percent
_TEXTS = np.geomspace(10, 1e7, 61)


def views(scene: CrowdScene) -> None:
    """Draw the tabs and the drawer; only what is open is computed."""
    fragment(_views, scene, key=VIEWS)


def _views(scene: CrowdScene) -> None:
    kinds = {
        later("How is this computed?"): lambda: _computed_view(scene),
        AT_THE_DIALS: lambda: _numbers_view(scene),
        COUNTED: lambda: _count_view(scene),
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
    right = differences.difference * differences.truth > 0
    return table.assign(right=right, inside=~differences.missed)


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
    config["right"] = st.column_config.CheckboxColumn(say("correct group"))
    config["inside"] = st.column_config.CheckboxColumn(say("truth in the interval"))
    alt = say("Words that distinguish the groups at the dials, the clearest first")
    show_table(table, alt, column_config=config)
    note(
        say(
            "difference: per 1,000 words, {first} minus {other}. The intervals allow for the "
            "selection of the words: on average at most 5 % of those shown miss the truth, even "
            "where the group is correct. truth: from the bundled counts. z: the difference in "
            "standard errors.",
            first=say(first),
            other=say(other),
        )
    )
    st.subheader(say("What a classifier learns"), anchor=False)
    _learned(scene)


# What a classifier learns from more and more texts, as it is recorded.

_WAYS = {TF_IDF: later("Private texts"), UNDONE: later("Estimated counts")}
_WITH, _VECTORS = "learned_with", (later("Bundled vectors"), later("GloVe"))


def learned_with(record: str) -> dict[str, str]:
    """Return what a link to the learning curves needs for a record with other vectors."""
    return {_WITH: _VECTORS[1]} if any(record in names[1:] for names in RECORDS.values()) else {}


def _learned(scene: CrowdScene) -> None:
    """Draw the recorded learning curves of one mechanism."""
    names = RECORDS[scene.choices.crowd.name]
    with st.container(horizontal=True, vertical_alignment="top"):
        record = names[0]
        if len(names) > 1:
            vectors = segments(
                say("Vectors"),
                list(_VECTORS),
                _WITH,
                say("Word vectors: the laboratory's own, or GloVe with 300 dimensions."),
            )
            record = names[_VECTORS.index(vectors)]
        try:
            curves = once("learning curves", record, lambda: _recorded(record))
        except DpcoreError as error:
            refuse(say("The learning curves could not be read."), error)
            return
        kind = pick(
            say("Mechanism"),
            list(dict.fromkeys(curve.label for curve in curves[TF_IDF][1:])),
            "learned_by",
            say("The mechanism that made the training texts private, at the ε of this leakage."),
            names=True,
            width=260,
        )
        ways = [way for way in _WAYS if any(curve.label == kind for curve in curves[way])]
        title = segments(
            say("Learned from"),
            [_WAYS[way] for way in ways],
            "learned_from",
            say(
                "Private texts: TF-IDF and logistic regression on the texts with their noise. "
                "Estimated counts: word weights from counts corrected for the noise, where "
                "that is possible for all words."
            ),
        )
        way = next(way for way in ways if _WAYS[way] == title)
    clean, by_level = curves[TF_IDF][0], [curve for curve in curves[way] if curve.label == kind]
    leakage, step = scene.at
    private = by_level[min(leakage, len(by_level) - 1)]
    at = max(i for i, size in enumerate(clean.sizes) if size <= scene.choices.sizes[step])
    finding = say(
        "A classifier taught by {texts:,} private texts ({guessed} of 100 content words guessed) "
        "reads {right} of 100 clean texts correctly; taught by clean ones, {clean}.",
        texts=private.sizes[at],
        right=numeral(f"{100 * private.accuracy[at].mean:.0f}"),
        guessed=_guessed(private.level),
        clean=numeral(f"{100 * clean.accuracy[at].mean:.0f}"),
    )
    how = say(
        "Recorded on real texts, which are not bundled: means of {trials} trials with 95 % "
        "intervals; the clean baseline uses TF-IDF. The test texts are not private. Guessed: "
        "by someone who knows how common words are. Ring: the recorded leakage nearest to the "
        "dial, with at most its number of texts. Yahoo answers are always tested on the same 418: "
        "their intervals leave out the choice of these.",
        trials=private.accuracy[at].trials,
    )
    lines = {_line_name(curve): _points(curve) for curve in (clean, *by_level)}
    figure = accuracy_by_texts(lines, (private.sizes[at], private.accuracy[at].mean))
    rows = [
        {"line": line, "texts": texts, "accuracy": mean, "low": low, "high": high}
        for line, points in lines.items()
        for texts, mean, low, high in points
    ]
    show_figure(figure, Caption(finding, how), pd.DataFrame(rows), "crowd_learned")


def _recorded(name: str) -> dict[str, list[LearningCurve]]:
    record = read_recorded(name)
    return {way: learning_curves(record, way) for way in _WAYS}


def _line_name(curve: LearningCurve) -> str:
    if curve.level is None:
        return say("without privacy")
    return say("{guessed} of 100 guessed", guessed=_guessed(curve.level))


def _guessed(level: float | None) -> str:
    """Write the share that is guessed at a recorded level, which is near to that of the dial."""
    return "" if level is None else numeral(f"{100 * level:.0f}")


def _points(curve: LearningCurve) -> list[tuple[int, float, float, float]]:
    means = zip(curve.sizes, curve.accuracy, strict=True)
    return [(size, mean.mean, mean.low, mean.high) for size, mean in means]


# One query: counted in more and more texts, and how many texts it takes.


def _asked(words: Lexicon) -> tuple[str, Queries] | None:
    """Draw the choice of what is counted; return its title, and the query if there is one."""
    with st.container(horizontal=True, vertical_alignment="top"):
        kind = segments(
            say("Count"),
            (_WORD, _LIST, _KIND),
            "counted",
            say("One word, all words of a list together, or all words of a kind of WordNet."),
        )
        if kind == _WORD:
            return _asked_word(words)
        if kind == _KIND:
            return _asked_kind(words)
        return _asked_list(words)


def _asked_kind(words: Lexicon) -> tuple[str, Queries]:
    kinds = of_kinds(words)
    titles = {name: f"{say(KINDS[name])} ({name})" for name in KINDS if name in kinds.names}
    name = choose_one(
        st.selectbox,
        say("Kind"),
        titles,
        "kind",
        help=say(
            "A word belongs to the kind of most of its senses in WordNet: a feeling, a person, "
            "a food, a change."
        ),
        format_func=titles.__getitem__,
        width=260,
    )
    places = np.array([kinds.names.index(name)])
    return say("words of the kind {kind}", kind=titles[name]), kinds.only(places)


def _asked_word(words: Lexicon) -> tuple[str, Queries]:
    word = st.session_state.get(_ASKED, st.query_params.get(_ASKED, _OFFERED[0]))
    word = word if word in words else _OFFERED[0]

    def take(new_word: str) -> None:
        st.session_state[_ASKED] = new_word

    choose_word(
        say("Word"),
        "find_counted",
        word,
        words,
        take,
        offered=[word, *_OFFERED],
        explained=say("Pick one, or type any word of the vocabulary and press Enter."),
    )
    say_unknown(words)
    st.session_state[_ASKED] = word
    link.write(_ASKED, word, _OFFERED[0])
    return f"“{word}”", of_words(words, [word])


def _asked_list(words: Lexicon) -> tuple[str, Queries] | None:
    st.session_state.setdefault(_TYPED, _AT_FIRST)
    typed = st.text_area(
        say("Words of the list"),
        key=_TYPED,
        height=80,
        max_chars=_LONGEST,
        persist_state="session",
        help=say(
            "Separated by spaces or commas; each occurrence of any of them counts. The list stays "
            "in this browser session: it is not stored, not logged and not put into the link."
        ),
    )
    names = [name for name in _BETWEEN.split(typed or "") if name]
    in_lexicon = [form for form in (spelled(name, words) for name in names) if form is not None]
    if len(in_lexicon) < len(names):
        st.text(
            say(
                "{count} of {all} words are not in the vocabulary and are left out.",
                count=len(names) - len(in_lexicon),
                all=len(names),
            )
        )
    if not in_lexicon:
        inform(say("Type a word of the vocabulary to count."))
        return None
    return say("words on the list"), of_lists(words, {_LIST: in_lexicon})


def _count_view(scene: CrowdScene) -> None:
    asked = _asked(scene.words)
    if asked is None:
        return
    title, query = asked
    (leakage, step), choices = scene.at, scene.choices
    rows = session_memo(
        "crowd_counted",
        (choices.crowd.name, leakage, query.digest),
        lambda: drawn_counts(
            response(scene.words),
            choices.crowd,
            query,
            scene.epsilons[leakage],
            choices.sizes,
            link.SEED,
            f"{LEAKAGES[leakage]:g}",
        ),
        kept=8,
    )
    names = {name: say(name) for name in choices.crowd.groups}
    spoken = [row | {"group": names[row["group"]]} for row in rows]
    own = next(
        row
        for row in rows
        if row["texts"] == choices.sizes[step] and row["group"] == choices.sides[0]
    )
    how = say(
        "k-ary response at the leakage of the dial. Bars: pointwise 95 % intervals for these "
        "texts; long ones may leave the picture. Rings: the true count. Each number of texts "
        "has its own texts and noise."
    )
    caption = Caption(_counted_finding(title, own), how)
    show_figure(counts_by_texts(spoken), caption, pd.DataFrame(spoken), "crowd_counted")
    st.subheader(say("How many texts?"), anchor=False)
    _planned(scene, title, query)


def _counted_finding(title: str, row: dict[str, Any]) -> str:
    """Say what is known of a query at the dials."""
    name, texts = row["group"], row["texts"]
    group = say(name)
    if row["estimate"] is None:
        return say(
            "{texts:,} texts say nothing about {title} in {group}: add texts, or allow more "
            "words to be guessed.",
            texts=texts,
            title=title,
            group=group,
        )
    low, high, truth = (1_000 * row[name] / row["words"] for name in ("low", "high", "truth"))
    return say(
        "{texts:,} texts: of 1,000 words in {group}, {low} to {high} are {title}. The truth is "
        "{truth}.",
        texts=texts,
        title=title,
        group=group,
        low=numeral(at_least(low, 3)),
        high=numeral(at_most(high, 3)),
        truth=numeral(f"{truth:.3g}"),
    )


def _planned(scene: CrowdScene, title: str, query: Queries) -> None:
    """Draw how many texts a count takes for the chosen error."""
    percent = steps(
        say("Error, ±% of the count"),
        _ERRORS,
        _ERROR,
        "error",
        say("Half the width of the 95 % interval, relative to the count."),
        width=320,
    )
    (leakage, step), crowd = scene.at, scene.choices.crowd
    occurrences = float(crowd.counts.sum(axis=0) @ query.matrix()[:, 0])
    if not occurrences:
        inform(say("It does not occur in these texts: choose something else to count."))
        return
    words, epsilon = float(crowd.words.sum()), scene.epsilons[leakage]
    per_text = words / float(crowd.texts.sum())
    planned = plan(
        response(scene.words),
        error=percent / 100,
        epsilon=epsilon,
        words=query,
        share=occurrences / words,
        words_per_text=per_text,
    )
    size = scene.choices.sizes[step]
    countable = countable_words(
        response(scene.words),
        texts=size,
        error=percent / 100,
        epsilon=epsilon,
        words_per_text=per_text,
    )
    caption = Caption(
        _planned_finding(title, planned, LEAKAGES[leakage]),
        say(
            "k-ary response at the leakage of the dial, for texts of this length ({words} "
            "words) in which {title} is as common as here. Ring: the chosen error. With "
            "{texts:,} texts, {count:,} of the {all:,} words of the vocabulary are common "
            "enough in English.",
            words=number(per_text),
            title=title,
            texts=size,
            count=countable.words,
            all=len(scene.words),
        ),
    )
    texts, errors = _TEXTS.tolist(), planned.errors_in(_TEXTS.tolist())[0]
    figure = errors_by_texts(texts, {title: errors.tolist()}, planned.error, [planned.texts])
    table = pd.DataFrame({"texts": _TEXTS.round().astype(int), "error": 100 * errors})
    show_figure(figure, caption, table, "crowd_planned")
    if title.startswith("“"):
        st.markdown(
            say("**The same from the shell**, with any mechanism that has an exact distribution:")
        )
        asking = ["--epsilon", f"{epsilon:.5g}", "--error", f"{percent / 100:g}"]
        shares = ["--words", planned.rows[0].query, "--share", f"{occurrences / words:.3g}"]
        lengths = ["--words-per-text", f"{per_text:.4g}"]
        show_line(command_line("plan", "--mechanism", MECHANISM, *asking, *shares, *lengths))


def _planned_finding(title: str, planned: Plan, guessed: float) -> str:
    """Say how many texts it takes."""
    error = numeral(f"{100 * planned.error:g}")
    if planned.texts is None:
        return say(
            "No number of texts is enough to count {title} within {error} %.",
            title=title,
            error=error,
        )
    return say(
        "Counting {title} within {error} % takes {texts} texts of {words} words, where {guessed} "
        "of 100 content words can be guessed.",
        title=title,
        error=error,
        texts=numeral(f"{float(at_most(planned.texts, 3)):,.0f}"),
        words=number(planned.words_per_text),
        guessed=numeral(f"{100 * guessed:g}"),
    )


def _computed_view(scene: CrowdScene) -> None:
    st.markdown(
        say(
            "**Counting through noise.** If a function *h* of the output has the mean *g(w)* "
            "for every word *w*, the sum of *h* over all outputs has the mean Σ *g* over all "
            "words written. k-ary response keeps a word with probability *p* and outputs any "
            "other word with probability *q*. If *w* occurs *o* times among *N* outputs, it "
            "was written about (*o* − *Nq*)/(*p* − *q*) times. `docs/crowd.md` has the proof, "
            "the variance, and other mechanisms."
        )
    )
    st.markdown(
        say(
            "**Comparing.** Each word's share in one group minus its share in the other, "
            "divided by the standard error. On average at most 5 % of the words shown are "
            "chance findings (Benjamini and Hochberg 1995), and at most 5 % of their intervals "
            "miss the truth (Benjamini and Yekutieli 2005): the intervals are wider because "
            "only clear words are shown. A word is wrong if it is actually more common in the "
            "other group."
        )
    )
    st.markdown(
        say(
            "**The numbers.** Only the word counts of the texts are bundled: {title}. Fewer "
            "texts are simulated by sampling words from these counts; outputs are sampled "
            "exactly from the mechanism, with new noise at every setting. Words of one text "
            "belong together, which such sampling ignores: real texts say a little less about "
            "the population they come from.",
            title=say(NAMES[scene.choices.crowd.name]),
        )
    )
    st.markdown(say("**For your own private copy**, if it keeps a column `label`:"))
    show_line(
        command_line(*"count private.csv --record private.csv.run.json --by label --top 20".split())
    )
    _about_one()


def _about_one() -> None:
    st.subheader(say("Privacy of one person"), anchor=False)
    st.markdown(
        say(
            "**Counting weakens no guarantee.** Everything here is computed from texts that are "
            "already private. The guarantee for each word is the same however often they are "
            "counted."
        )
    )
    st.markdown(
        say(
            "**Many texts by one person are a crowd.** Someone who wrote a thousand of the "
            "texts can be counted like a thousand people: their frequent topics show, though "
            "no single word does. The guarantee covers a word, not a person."
        )
    )
    st.markdown(
        say(
            "**Membership may be the secret.** If all texts are by patients of one clinic, "
            "every finding about the crowd is a finding about each known patient. Ask whether "
            "membership is private before you publish even a private copy."
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
