"""Words counted in a private copy, beside the truth that its owner knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.crowd.comparison import compare
from dpcore.crowd.counting import count, true_counts
from dpcore.crowd.estimates import LEAST_TEXTS
from dpcore.crowd.operators import check_countable, response_of
from dpcore.crowd.shown import content_words
from dpcore.errors import DpcoreError
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
    # A block of its own: what is drawn in it once must not move the fragments behind it.
    with st.container(key="release_counted"):
        st.subheader(say("What can still be counted"), anchor=False)
        st.markdown(
            say(
                "Anyone with the copy and its record can count words over all texts, at no "
                "further ε. Bars are 95 % intervals for all words at once. **The rings are the "
                "true counts of your file: only you see them, and no download contains them.**"
            )
        )
        try:
            check_countable(order.mechanism, order.epsilon)
            _figure_or_reason(copy, order, source, private)
        except DpcoreError as error:
            refuse(say("Nothing can be counted in this copy."), error)
            return
        _ways_on(order, source)


def _figure_or_reason(
    copy: object, order: Order, source: Source, private: Callable[[], Sequence[str]]
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
    rows, differing = latest(_SLOT, copy, lambda: _counted(order, source, private()))
    if not rows:
        inform(say("No content word came out: it takes more texts."))
        return
    # Without files: a picture with the rings would give the true counts away.
    show_figure(dots(rows), dots_caption(rows), pd.DataFrame(rows), "counted", files=False)
    if differing:
        # st.text: words of a lexicon that a user added are not Markdown.
        st.text(say("Words that tell the labels apart: {words}.", words=", ".join(differing)))


def _ways_on(order: Order, source: Source) -> None:
    """Draw the command that counts the same, and the way to the page Crowd."""
    st.markdown(say("**The same from the shell**"))
    name = order.out.name
    words = ["count", name, "--record", f"{name}.run.json", "--top", str(_SHOWN)]
    if source.label is not None and _labels(order, source) is not None:
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
    shared: dict[str, Any] = {"by": labels, "treatment": order.treatment}
    top = _SHOWN if labels is not None else min(_LOOKED_AT, len(mechanism.lexicon))
    with Reporter(say("Counting")) as progress:
        estimates = count(
            private,
            mechanism,
            order.epsilon,
            top=top,
            looked_at=_LOOKED_AT,
            progress=progress,
            **shared,
        )
    truth = true_counts(estimates, source.texts, mechanism.lexicon, **shared)
    rows = [
        row.to_dict() | {"truth": float(true)}
        for row, true in zip(estimates.rows, truth.T.ravel(), strict=True)
    ]
    if labels is not None:
        return rows, list(dict.fromkeys(row.query for row in compare(estimates).found))
    content = set(compress(mechanism.lexicon.words, content_words(mechanism.lexicon).tolist()))
    return [row for row in rows if row["query"] in content][:_SHOWN], []


def _labels(order: Order, source: Source) -> list[str] | None:
    """Return the label of each text if the copy has them, and they are few groups of some texts."""
    if source.label is None or source.released(source.label) not in order.columns.keep:
        return None
    labels = source.table.column(source.label)
    sizes = Counter(labels)
    few = 2 <= len(sizes) <= _GROUPS and min(sizes.values()) >= LEAST_TEXTS
    return labels if few else None
