"""Words counted in a private copy: what to expect before it is made, and groups compared after."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.attack.output.operators import check_countable, response_of
from dpcore.attack.trade.ground import COUNTED
from dpcore.crowd.comparison import Difference, compare
from dpcore.crowd.counting import count, true_counts
from dpcore.crowd.estimates import LEAST_TEXTS, LEVEL, Estimates
from dpcore.crowd.planner import WORDS_PER_TEXT, CountableWords, Plan, countable_words, plan
from dpcore.crowd.shown import content_words
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.plots.crowd import dots, dots_caption
from dpcore.privatize.order import Order
from pages.release.keeping import CopyChoices
from pages.release.uploading import Source
from pages.shared.figure import show_figure
from pages.shared.language import numeral, say
from pages.shared.messages import inform, refuse
from pages.shared.once import latest, session_memo
from pages.shared.progress import Reporter
from pages.shared.session import identity
from pages.shared.taking import command_line, show_line
from pages.shared.words import spelled

_SLOT, _EXPECTED = "release_counted", "release_expected"
_ASKED, _ASKED_SLOT = "release_asked_word", "release_asked"
_SHOWN = 12  # words
_LOOKED_AT = 60  # words, of which some are function words
_FEW = 3  # words that are drawn where the count of none is certain
_GROUPS = 5  # most groups that one figure tells apart
_PART = 0.1  # of the content words, from which on a recorded number of texts is said
_HALF, _COMMON = 0.5, 0.01  # relative error and share of words in the sentence before a release

Rows = list[dict[str, Any]]


def say_expected(mechanism: Mechanism, epsilon: float, texts: int, words: int) -> None:
    """Say before a release whether its copy can be counted here, and how many texts that takes.

    Args:
        mechanism: the chosen mechanism.
        epsilon: ε at the step of the dial.
        texts: number of texts that are not empty.
        words: number of their words.
    """
    name = mechanism.short
    try:
        check_countable(mechanism, epsilon)
    except DpcoreError:
        st.text(
            say(
                "Counting: nothing can be counted in a copy by {mechanism}. A copy by k-ary can "
                "be counted on this page.",
                mechanism=name,
            )
        )
        return
    if response_of(mechanism, epsilon) is None:
        st.text(
            say(
                "Counting: this page cannot count a copy by {mechanism}; the command “count” can, "
                "in some minutes. A copy by k-ary can be counted on this page.",
                mechanism=name,
            )
            + _recorded(mechanism, epsilon)
        )
        return
    if not (texts and words):
        return
    per_text = float(f"{words / texts:.2g}")
    level = 1.0 - (1.0 - LEVEL) / len(mechanism.lexicon)  # the bars hold for all words at once
    shared: dict[str, Any] = {"epsilon": epsilon, "words_per_text": per_text, "level": level}

    def expect() -> tuple[CountableWords, Plan]:
        query = mechanism.lexicon.words[0]  # all words are alike to this mechanism
        return (
            countable_words(mechanism, texts=texts, error=_HALF, **shared),
            plan(mechanism, error=_HALF, words=[query], share=_COMMON, **shared),
        )

    asked = (identity(mechanism), epsilon, texts, per_text)
    try:
        here, needed = session_memo(_EXPECTED, asked, expect)
    except DpcoreError:
        return  # of a lexicon without frequencies nothing is expected
    if needed.texts is None:
        return
    about = int(float(f"{needed.texts:.2g}"))
    if here.share is None:
        st.text(
            say(
                "Counting: {texts:,} texts are too few to count any word or to compare groups. For "
                "words that make up 1 % of all words it takes about {needed:,} texts, and as many "
                "in each group to compare groups.",
                texts=texts,
                needed=about,
            )
        )
        return
    if here.share > _COMMON:
        st.text(
            say(
                "Counting: {texts:,} texts are few. To within half of the truth this page can "
                "count only what makes up {share} of all words, or more. For words of 1 % it takes "
                "about {needed:,} such texts, and as many in each group to compare groups.",
                share=numeral(f"{100 * here.share:.2g} %"),
                texts=texts,
                needed=about,
            )
        )
        return
    st.text(
        say(
            "Counting: this page can count the copy. In {texts:,} texts it counts to within half "
            "of the truth what makes up {share} of all words, or more. For 1 % it takes about "
            "{needed:,} texts, and as many in each group to compare groups.",
            share=numeral(f"{100 * here.share:.2g} %"),
            texts=texts,
            needed=about,
        )
    )


def _recorded(mechanism: Mechanism, epsilon: float) -> str:
    """Say in how many texts a part of the content words is counted, where that was recorded."""
    curve = recorded_curve(mechanism)
    for texts, quantity in COUNTED.items():
        share = curve.at_epsilon(quantity, epsilon) if curve and quantity in curve else None
        if share is not None and share >= _PART:
            return " " + say(
                "It takes many texts: in {texts:,} texts of {words} words each, {share} of content "
                "words are counted to within 10 %.",
                texts=texts,
                words=WORDS_PER_TEXT,
                share=numeral(f"{100 * share:.0f} %"),
            )
    return ""


def counted_view(
    copy: object,
    order: Order,
    source: Source,
    keep: CopyChoices,
    private: Callable[[], Sequence[str]],
) -> None:
    """Draw counts of words in a private copy with intervals, the truth, and groups compared.

    Args:
        copy: the copy; counted once for each.
        order: by which it was made.
        source: the originals.
        keep: columns that were copied unchanged.
        private: reads the private texts.
    """
    # A block of its own: what is drawn in it once must not move the fragments behind it.
    with st.container(key="release_counted"):
        st.subheader(say("What can still be counted"), anchor=False)
        st.markdown(
            say(
                "Anyone with the copy and its record can count words over all texts, at no "
                "further ε."
            )
        )
        by = _choose_groups(source, keep)
        try:
            check_countable(order.mechanism, order.epsilon)
            _figure_or_reason(copy, order, source, by, private)
        except DpcoreError as error:
            refuse(say("Nothing can be counted in this copy."), error)
            return
        _ways_on(order, by)


@dataclass(frozen=True)
class _Groups:
    """A column that was copied unchanged and divides the texts.

    Attributes:
        column: its name in the copy.
        labels: group of each text.
    """

    column: str
    labels: tuple[str, ...]


def _choose_groups(source: Source, keep: CopyChoices) -> _Groups | None:
    """Return the groups of the copy; draw a choice where several columns divide it."""
    dividing: dict[int, _Groups] = {}
    for column, place in zip(keep.columns, keep.places, strict=True):
        labels = tuple(row[place] or say("(empty)") for row in source.table.rows)
        sizes = Counter(labels)
        if 2 <= len(sizes) <= _GROUPS and min(sizes.values()) >= LEAST_TEXTS:
            dividing[place] = _Groups(column, labels)
    if len(dividing) < 2:
        return next(iter(dividing.values()), None)
    places = list(dividing)
    label = None if source.label is None else source.table.place(source.label)
    place = st.selectbox(
        say("Compare texts by"),
        places,
        index=places.index(label) if label in dividing else 0,
        # Its own name: this is shown to the owner alone.
        format_func=lambda place: source.table.columns[place],
        key=f"release_compare_{'_'.join(map(str, places))}",
        help=say("The column that was copied unchanged and divides the texts into groups."),
    )
    return dividing[place]


@dataclass(frozen=True, eq=False)
class _Counts:
    """Result of counting: rows of the figure, how many are certain, and the groups compared."""

    rows: Rows
    certain: bool
    compared: tuple[Estimates, list[Difference]] | None = None


def _figure_or_reason(
    copy: object,
    order: Order,
    source: Source,
    by: _Groups | None,
    private: Callable[[], Sequence[str]],
) -> None:
    """Draw the counts, or say why they are not computed here."""
    if response_of(order.mechanism, order.epsilon) is None:
        inform(
            say(
                "With this mechanism it takes some minutes, too long for a page. On your "
                "computer, with the files above:"
            )
        )
        return
    column = None if by is None else by.column
    counts = latest(_SLOT, (copy, column), lambda: _counted(order, source, by, private()))
    if not counts.rows:
        inform(say("No content word came out: it takes more texts."))
        return
    if counts.compared is not None:
        # st.text: words of a lexicon that a user added, and values of a column, are not Markdown.
        st.text(verdict(*counts.compared, order.mechanism.lexicon))
    elif not counts.certain:
        st.text(
            say(
                "No count of a content word is certain: {texts:,} texts are too few at this ε. "
                "These came out most often:",
                texts=len(source.table.rows),
            )
        )
    st.markdown(
        say(
            "Bars are 95 % intervals for all words at once. **The rings are the true counts of "
            "your file: only you see them, and no download contains them.**"
        )
    )
    # Without files: a picture with the rings would give the true counts away.
    rows = counts.rows
    show_figure(dots(rows), dots_caption(rows), pd.DataFrame(rows), "counted", files=False)
    _asked_word(copy, order, source, by, private)


def _asked_word(
    copy: object,
    order: Order,
    source: Source,
    by: _Groups | None,
    private: Callable[[], Sequence[str]],
) -> None:
    """Draw a field for a word to count, and its counts in each group."""
    lexicon = order.mechanism.lexicon
    typed = st.text_input(
        say("Count a word of your choice"),
        key=_ASKED,
        max_chars=80,
        help=say(
            "A word of the vocabulary that you wanted to count before you saw these results. Its "
            "intervals are narrower: they are for this word alone. It is not part of the link."
        ),
    ).strip()
    word = spelled(typed, lexicon) if typed else None
    if word is None:
        if typed:
            inform(say("The vocabulary does not hold this word: try another one."))
        return
    labels = None if by is None else by.labels
    shared: dict[str, Any] = {"by": labels, "treatment": order.treatment}

    def asked() -> tuple[Estimates, FloatArray]:
        estimates = count(private(), order.mechanism, order.epsilon, [word], **shared)
        return estimates, true_counts(estimates, source.texts, lexicon, **shared)

    key = (copy, None if by is None else by.column, word)
    estimates, truth = latest(_ASKED_SLOT, key, asked)
    lines = [
        say(
            "“{word}” in {group}: {low:,} to {high:,} times (95 %); in your file {truth:,} times.",
            word=word,
            group=row.group if by is not None else say("all texts"),
            low=math.floor(row.low),
            high=math.ceil(row.high),
            truth=round(float(true)),
        )
        for row, true in zip(estimates.rows, truth.T.ravel(), strict=True)
    ]
    if by is not None:
        rows = list(compare(estimates).rows)
        certain = any(row.differs for row in rows)
        lines.append(
            say("The difference between the groups is certain at 95 %.")
            if certain
            else say("A difference between the groups is not certain.")
        )
    st.text("\n".join(lines))


def verdict(estimates: Estimates, rows: Sequence[Difference], lexicon: Lexicon) -> str:
    """Say which words are more common in which group, or that no difference is certain.

    Args:
        estimates: of the words in each group.
        rows: comparisons of the groups, the clearest first; at least one.
        lexicon: the vocabulary.
    """
    different = [row for row in rows if row.differs]
    if not different:
        return say(
            "No difference between the groups is certain: {texts:,} texts are too few at this ε. "
            "The clearest of {words:,} words, “{word}”, came out {more:,} times in {group} and "
            "{less:,} times in {rest}: noise alone can do that.",
            texts=int(estimates.observed.texts.sum()),
            words=estimates.hypotheses or len(rows),
            **_came_out(estimates, rows[0], lexicon),
        )
    lines = [
        say(
            "“{word}” is more common in {group}: about {more:,} times, and about {less:,} in "
            "{rest}.",
            **_numbers(estimates, row),
        )
        for row in different[:_FEW]
    ]
    for group in dict.fromkeys(_higher(row) for row in different[_FEW:]):
        others = [f"“{row.query}”" for row in different[_FEW:_SHOWN] if _higher(row) == group]
        if others:
            lines.append(
                say("More common in {group}: {words}.", group=group, words=", ".join(others))
            )
    lines.append(
        say(
            "On average, at most 5 % of such findings are false, as many as if all {words:,} words "
            "had been compared, by their shares of each group's words.",
            words=estimates.hypotheses or len(rows),
        )
    )
    return "\n".join(lines)


def _higher(row: Difference) -> str:
    """Return the name of the group in which a word is more common."""
    return row.group if row.difference > 0 else _rest(row)


def _rest(row: Difference) -> str:
    return say("the other groups") if row.rest == "the rest" else row.rest


def _came_out(estimates: Estimates, row: Difference, lexicon: Lexicon) -> dict[str, Any]:
    """Return word, groups and how often it came out in them, the larger share first."""
    observed = estimates.observed
    outputs = observed.outputs[:, lexicon.index(row.query)]
    own = int(outputs[observed.groups.index(row.group)])
    counts = [(row.group, own), (_rest(row), int(outputs.sum()) - own)]
    if row.difference < 0:
        counts.reverse()
    (group, more), (rest, less) = counts
    return {"word": row.query, "group": group, "more": more, "rest": rest, "less": less}


def _numbers(estimates: Estimates, row: Difference) -> dict[str, Any]:
    """Return word, groups and estimated counts of a comparison, the larger share first."""
    observed = estimates.observed
    total, own = observed.words.sum(), observed.words[observed.groups.index(row.group)]
    counts = [
        (row.group, max(round(row.share * int(own)), 0)),
        (_rest(row), max(round(row.other * int(total - own)), 0)),
    ]
    if row.difference < 0:
        counts.reverse()
    (group, more), (rest, less) = counts
    return {"word": row.query, "group": group, "more": more, "rest": rest, "less": less}


def _ways_on(order: Order, by: _Groups | None) -> None:
    """Draw the command that counts the same, and the way to the page Crowd."""
    st.markdown(say("**The same from the shell**"))
    name = order.out.name
    words = ["count", name, "--record", f"{name}.run.json", "--top", str(_SHOWN)]
    if by is not None:
        words += ["--by", by.column]
    show_line(command_line(*words))
    st.page_link(
        "pages/crowd/page.py",
        label=say("How many texts does it take?"),
        icon=":material/arrow_forward:",
    )


def _counted(order: Order, source: Source, by: _Groups | None, private: Sequence[str]) -> _Counts:
    """Count the content words that tell groups apart, or without groups those that came out."""
    mechanism = order.mechanism
    labels = None if by is None else by.labels
    shared: dict[str, Any] = {"by": labels, "treatment": order.treatment}
    with Reporter(say("Counting")) as progress:
        every = count(
            private,
            mechanism,
            order.epsilon,
            top=min(_LOOKED_AT, len(mechanism.lexicon)),
            looked_at=_LOOKED_AT,
            progress=progress,
            **shared,
        )
    # Before anything is compared: of findings that are picked afterwards more may be false.
    estimates = _of_content_words(every, mechanism.lexicon)
    if estimates is None:
        return _Counts([], False)
    truth = true_counts(estimates, source.texts, mechanism.lexicon, **shared)
    rows = [
        row.to_dict() | {"truth": float(true)}
        for row, true in zip(estimates.rows, truth.T.ravel(), strict=True)
    ]
    if labels is None:
        certain = [row for row in rows if row["low"] > 0]
        return _Counts((certain or rows[:_FEW])[:_SHOWN], bool(certain))
    differences = list(compare(estimates).rows)
    # The words that differ; where noise may explain all, only the one that the verdict names.
    words = list(dict.fromkeys(row.query for row in differences if row.differs))[:_SHOWN]
    words = words or [row.query for row in differences[:1]]
    by_word = {word: [row for row in rows if row["query"] == word] for word in words}
    return _Counts([row for word in words for row in by_word[word]], True, (estimates, differences))


def _of_content_words(estimates: Estimates, lexicon: Lexicon) -> Estimates | None:
    """Return the estimates of content words; None if there are none."""
    content = set(compress(lexicon.words, content_words(lexicon).tolist()))
    names = estimates.estimators.queries.names
    columns = np.array([i for i, name in enumerate(names) if name in content], dtype=np.int64)
    if not columns.size:
        return None
    return replace(estimates, estimators=estimates.estimators.only(columns))
