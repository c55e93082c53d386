"""The curves of all mechanisms: what is missing is measured, what is there is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.parts import joined
from dpcore.measure.words import named
from pages.deniability.measuring import Measured, Work, groups, measure_waiting
from pages.shared.language import say
from pages.shared.messages import note
from pages.shared.resources import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.deniability import Deniability
    from dpcore.mechanisms.mechanism import Mechanism

_STORE = "denying_held"
_STOPPED = "denying_stopped"
_KEPT = 24  # mechanisms with their settings


@dataclass(frozen=True)
class Curve:
    """One mechanism and what is measured of it.

    Attributes:
        mechanism: with its settings.
        measured: the measured words.
        more: pinned words that are not among them; None if there are none.
    """

    mechanism: Mechanism
    measured: Deniability
    more: Deniability | None = None

    def place(self, word: str) -> tuple[Deniability, int] | None:
        """Where a word is measured, and as which; None if it is not."""
        for part in (self.measured, self.more):
            if part is not None and word in part.selection.names:
                return part, part.selection.names.index(word)
        return None


def measured_curves(
    lexicon: Lexicon, mechanisms: list[Mechanism], work: Work, pinned: Sequence[str]
) -> tuple[Curve, ...]:
    """A curve for each mechanism of which anything is measured; pinned words are on it too."""
    measured = compute(lexicon, mechanisms, work)
    missing = [word for word in pinned if word not in work.selection.names]
    more = {}
    if missing:
        extra = Work(named(lexicon, missing), work.runs, work.seed, public=False)
        more = compute_more(lexicon, mechanisms, extra)
    return tuple(
        Curve(m, measured[m.key], more.get(m.key)) for m in mechanisms if m.key in measured
    )


def compute(lexicon: Lexicon, mechanisms: list[Mechanism], work: Work) -> dict[str, Deniability]:
    """Measure what is not measured yet; by registry key, all that is there.

    It may be stopped between two groups of words; then the curves are of the words done so far,
    and the page says so.
    """
    store = _store(_STORE, lexicon, mechanisms, work)
    count = len(work.selection)
    measured = _collect(store, mechanisms, work, _STOPPED)
    if any(len(store.parts[identity(m)]) < len(groups(m, count)) for m in mechanisms):
        _say_what_is_missing(mechanisms, measured, count)
    return measured


def compute_more(
    lexicon: Lexicon, mechanisms: list[Mechanism], work: Work
) -> dict[str, Deniability]:
    """The same for words that are measured in addition; nothing is said about a stop."""
    store = _store(f"{_STORE}_more", lexicon, mechanisms, work)
    return _collect(store, mechanisms, work, f"{_STOPPED}_more")


def _store(slot: str, lexicon: Lexicon, mechanisms: list[Mechanism], work: Work) -> Measured:
    measured = (
        lexicon.fingerprint,
        tuple(work.selection.words.tolist()),
        tuple(work.selection.weights.tolist()),
        work.runs,
        work.seed,
    )
    store: Measured | None = st.session_state.get(slot)
    if store is None or store.identity != measured:
        store = st.session_state[slot] = Measured(measured)
        st.session_state.pop(slot.replace(_STORE, _STOPPED), None)
    for mechanism in mechanisms:  # those in use last, so that the oldest others are dropped
        store.parts[identity(mechanism)] = store.parts.pop(identity(mechanism), {})
    while len(store.parts) > max(_KEPT, len(mechanisms)):
        store.parts.pop(next(iter(store.parts)))
    return store


def _collect(
    store: Measured, mechanisms: list[Mechanism], work: Work, stop: str
) -> dict[str, Deniability]:
    count = len(work.selection)
    waiting = [
        (m, i)
        for m in mechanisms
        for i in range(len(groups(m, count)))
        if i not in store.parts[identity(m)]
    ]
    # All mechanisms advance together, so that a stop leaves something of each.
    waiting.sort(key=lambda item: (item[1] + 1) / len(groups(item[0], count)))
    if waiting and stop not in st.session_state:
        measure_waiting(store, waiting, work, stop)
    return {
        m.key: joined([parts[i] for i in sorted(parts)], work.selection)
        for m in mechanisms
        if (parts := store.parts[identity(m)])
    }


def _say_what_is_missing(
    mechanisms: list[Mechanism], measured: dict[str, Deniability], count: int
) -> None:
    done = {key: len(each.selection) for key, each in measured.items()}
    st.warning(say("Stopped: not all words are measured."), icon=":material/stop_circle:")
    note(
        "; ".join(
            say(
                "{mechanism}: {done} of {count} words",
                mechanism=m.short,
                done=done.get(m.key, 0),
                count=count,
            )
            for m in mechanisms
        )
        + "."
    )
    st.button(
        say("Go on measuring"),
        icon=":material/play_circle:",
        on_click=lambda: st.session_state.pop(_STOPPED, None),
        help=say("Measures the words that are missing; what is there is kept."),
    )
