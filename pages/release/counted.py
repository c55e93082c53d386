"""Words counted in a private copy, beside the truth that its owner knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.crowd.comparison import compare
from dpcore.crowd.counting import count, true_counts
from dpcore.crowd.estimates import LEAST_TEXTS, Estimates
from dpcore.crowd.operators import check_countable, response_of
from dpcore.crowd.shown import content_words
from dpcore.errors import DpcoreError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.crowd import dots, dots_caption
from dpcore.privatize.order import Order
from pages.release.uploading import Source
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.messages import inform, refuse
from pages.shared.once import latest
from pages.shared.progress import Reporter
from pages.shared.taking import command_line, show_line

_SLOT = "release_counted"
_SHOWN = 12  # words
_LOOKED_AT = 60  # words, of which some are function words
_GROUPS = 4  # most groups that one figure tells apart

Rows = list[dict[str, Any]]


def counted_view(
    copy: object, order: Order, source: Source, private: Callable[[], Sequence[str]]
) -> None:
    """Draw counts of words in a private copy with intervals, and the truth.

    Args:
        copy: the copy; counted once for each.
        order: by which it was made.
        source: the originals.
        private: reads the private texts.
    """
    st.subheader(say("What can still be counted"), anchor=False)
    st.markdown(
        say(
            "Anyone who has the copy and its record can count words of all texts together, at no "
            "further ε. **The rings are the truth of your file: only you see them.**"
        )
    )
    mechanism = order.mechanism
    try:
        check_countable(mechanism, order.epsilon)
        if response_of(mechanism, order.epsilon) is None:
            inform(
                say(
                    "With this mechanism it takes some minutes, too long for a page. On your "
                    "computer, with the files above:"
                )
            )
        else:
            found, told = latest(_SLOT, copy, lambda: _counted(order, source, private()))
            if not found:
                inform(say("No content word came out: this takes more texts."))
            else:
                show_figure(dots(found), dots_caption(found), pd.DataFrame(found), "counted")
            if told:
                # st.text: labels of a file are user input and not Markdown.
                st.text(say("Told apart by label: {words}.", words=", ".join(told)))
    except DpcoreError as error:
        refuse(say("Nothing can be counted in this copy."), error)
        return
    st.markdown(say("**The same from the shell**"))
    name = order.out.name
    words = ["count", name, "--record", f"{name}.run.json", "--top", str(_SHOWN)]
    labels = _labels(order, source)
    if labels is not None and source.label is not None:
        words += ["--by", source.released(source.label)]
    show_line(command_line(*words))
    st.page_link(
        "pages/crowd/page.py",
        label=say("How many texts does it take?"),
        icon=":material/arrow_forward:",
    )


def _counted(order: Order, source: Source, private: Sequence[str]) -> tuple[Rows, list[str]]:
    """Return a row for each word and group with its truth, and the words that tell groups apart."""
    mechanism, labels = order.mechanism, _labels(order, source)
    given: dict[str, Any] = {"by": labels, "treatment": order.treatment}
    top = _SHOWN if labels is not None else min(_LOOKED_AT, len(mechanism.lexicon))
    with Reporter(say("Counting")) as progress:
        found = count(
            private,
            mechanism,
            order.epsilon,
            top=top,
            looked_at=_LOOKED_AT,
            progress=progress,
            **given,
        )
    truth = true_counts(found, source.texts, mechanism.lexicon, **given)
    rows = [
        row.to_dict() | {"truth": float(true)}
        for row, true in zip(found.rows, truth.T.ravel(), strict=True)
    ]
    if labels is None:
        content = _content(mechanism)
        return [row for row in rows if row["query"] in content][:_SHOWN], []
    return rows, _told_apart(found)


def _told_apart(found: Estimates) -> list[str]:
    return list(dict.fromkeys(row.query for row in compare(found).found))


def _content(mechanism: Mechanism) -> set[str]:
    lexicon = mechanism.lexicon
    is_content = content_words(lexicon)
    return {word for word, content in zip(lexicon.words, is_content, strict=True) if content}


def _labels(order: Order, source: Source) -> list[str] | None:
    """Return the label of each text if the copy has them, and they are few groups of some texts."""
    if source.label is None or source.released(source.label) not in order.columns.keep:
        return None
    labels = source.table.column(source.label)
    sizes = Counter(labels)
    few = 2 <= len(sizes) <= _GROUPS and min(sizes.values()) >= LEAST_TEXTS
    return labels if few else None
