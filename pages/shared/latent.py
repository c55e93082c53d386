"""Utterances that a network writes from a noisy vector: recorded with ADePT."""

from __future__ import annotations

import streamlit as st

from dpcore.attack.latent import examples
from dpcore.mechanisms.registry import resolve
from pages.shared.language import say
from pages.shared.link import choose_one, steps
from pages.shared.messages import note

NOISES = ("adept", "adept-l1", "laplace", "l2-laplace")
"""The published noise of the vector, and three noises whose guarantee holds."""


def choose_latent_epsilon(there: tuple[float, ...], field: str) -> float:
    """Draw the choice of the claimed ε."""
    return steps(
        say("Claimed ε"),
        there,
        there[len(there) // 2],
        field,
        say(
            "Between any two utterances. The published noise is too small for its claim: its "
            "true ε is √32 = 5.66 times as large here."
        ),
    )


def latent_rewrites() -> None:
    """Draw the network's outputs for one utterance, under the published noise and its repairs."""
    recorded = examples()
    texts = list(dict.fromkeys(row.text for row in recorded.rewrites))
    number = choose_one(
        st.selectbox,
        say("Utterance"),
        {str(i): text for i, text in enumerate(texts)},
        "adept_text",
        help=say("Written for this laboratory; the network was trained on ATIS."),
    )
    measured = {row.epsilon for row in recorded.rewrites if row.epsilon is not None}
    epsilon = choose_latent_epsilon(tuple(sorted(measured)), "adept_epsilon")
    text = texts[int(number)]
    rows = [row for row in recorded.rewrites if row.text == text]
    clean = next(row for row in rows if not row.mechanism)
    st.text(
        say(
            "Written: {text}\nWithout noise: {clean}",
            text=text,
            clean=_shown(clean.output, clean.in_corpus),
        )
    )
    noisy = {row.mechanism: row for row in rows if row.epsilon == epsilon}
    for pair in (NOISES[:2], NOISES[2:]):
        for column, name in zip(st.columns(2), pair, strict=True):
            row = noisy.get(name)
            if row is None:
                continue
            with column, st.container(border=True, gap="xsmall"):
                st.markdown(f"**{say(resolve(name).title)}**")
                st.text(_shown(row.output, row.in_corpus))
                st.text(
                    say(
                        "claimed ε = {claimed:g}, true ε = {true:.3g}",
                        claimed=epsilon,
                        true=row.true_epsilon,
                    )
                )
    note(
        say(
            "The network is small (32 coordinates): losses without noise are due to the "
            "network, the rest to the noise. One draw of each noise serves every ε."
        )
    )


def _shown(output: str, in_corpus: bool) -> str:
    return say("(an utterance of ATIS, not shown)") if in_corpus else output or say("(nothing)")
