"""Prior of the attacker, and the control that sets it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.attack.language.context import context_prior
from dpcore.attack.output.prior import Prior, frequency, mix_priors, parse_prior, uniform
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS, MAX_TEXT_CHARACTERS
from pages.shared.language import later, say
from pages.shared.link import name_ends, segments
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.words import spelled

COMMON, LIST, AROUND = (
    later("How common words are"),
    later("A list of my own"),
    later("The words around it"),
)
# The default output is in the list, so that the first posterior has something to say.
START_LIST = "garage=0.5, kitchen=0.3, monday=0.2"
START_AROUND = ("the", "was")
_SIDES = {"before": later("The word before it"), "after": later("The word after it")}


@dataclass(frozen=True)
class Belief:
    """Choice of a prior. It may hold typed text, so it stays in the session.

    Attributes:
        kind: COMMON, LIST or AROUND.
        share: weight of frequency in COMMON, in percent.
        text: the typed list.
        around: the words before and after; an empty string if a word is not known.
    """

    kind: str
    share: int = 0
    text: str = ""
    around: tuple[str, str] = ("", "")

    @property
    def typed(self) -> bool:
        """True if it holds typed text."""
        return self.kind != COMMON

    @property
    def known(self) -> str:
        """The prior in a few words, as in "before, with all words equally likely"."""
        if self.kind == LIST:
            return say("the list below")
        if self.kind == AROUND:
            return say("the words around it known")
        if self.share in (0, 100):
            return (
                say("words as common as in English")
                if self.share
                else say("all words equally likely")
            )
        return say("words {share} % as common as in English", share=self.share)

    def prior(self, words: Lexicon) -> Prior:
        """Return the prior over the words of a lexicon.

        Raises:
            DpcoreError: the list is invalid, or a word is not in the vocabulary.
        """
        if self.kind == LIST:
            return parse_prior(words, self.text)
        if self.kind == AROUND:
            # An unknown word is passed on, so that the engine's error message names it.
            before, after = (spelled(word, words) or word.lower() or None for word in self.around)
            return context_prior(words, before, after)
        # Shared by all sessions: the share is a step of a slider, and nothing typed is in the key.
        return once("priors", (words.fingerprint, self.share), lambda: _common(words, self.share))


def choose_belief() -> Belief:
    """Draw the control; typed text stays in the session and out of the link."""
    kind = segments(
        say("What the attacker knows before"),
        [COMMON, LIST, AROUND],
        "prior",
        say(
            "The prior: how likely each word was before anything came out. The same output "
            "means something else to an attacker who knows more."
        ),
    )
    if kind == LIST:
        return Belief(LIST, text=_list())
    if kind == AROUND:
        return Belief(AROUND, around=_around())
    return Belief(COMMON, share=_share())


def _share() -> int:
    share = st.slider(
        say("How much the attacker favours common words"),
        0,
        100,
        0,
        5,
        format="%d%%",
        key="prior_common",
        bind="query-params",
        help=say(
            "0 %: all words of the vocabulary alike. 100 %: every word as frequent as in "
            "ordinary English text. Between the two the probabilities are mixed."
        ),
    )
    name_ends(say("all words alike"), say("as often as in English"))
    return int(share)


def _list() -> str:
    return st.text_area(
        say("Possible words"),
        # No `bind`, here and in the two fields below: what is typed enters no link.
        START_LIST,
        key="prior_list",
        height=80,
        max_chars=MAX_TEXT_CHARACTERS,
        help=say(
            "`word=probability`, with commas between them; they sum to 1. Without numbers, "
            "`garage, kitchen`, all are equally likely. No other word is possible then. At most "
            "{most} words; they are not put into the link.",
            most=MAX_ATTACK_PRIOR_WORDS,
        ),
    )


def _around() -> tuple[str, str]:
    sides = []
    for column, (side, title), start in zip(
        st.columns(2), _SIDES.items(), START_AROUND, strict=True
    ):
        with column:
            sides.append(
                st.text_input(
                    say(title),
                    start,
                    key=f"prior_{side}",
                    max_chars=80,
                    help=say(
                        "Empty: the attacker does not know it. Your text is not put into the link."
                    ),
                ).strip()
            )
    note(say("A smoothed bigram model of English says which words fit between these two."))
    return sides[0], sides[1]


def _common(words: Lexicon, share: int) -> Prior:
    # The ends by themselves: a mixture would be described, in the caption too, as one of 100 % and
    # 0 %.
    if share == 0:
        return uniform(words)
    if share == 100:
        return frequency(words)
    return mix_priors(uniform(words), frequency(words), share / 100)
