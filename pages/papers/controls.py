"""Settings of a claim that can be changed; only those that affect it are drawn."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpcore.audit.report import AuditSettings
from dpcore.limits import MAX_AUDIT_WORDS, MAX_DIMENSION, MAX_SEED
from dpcore.papers.overview import USES
from pages.shared.language import later, say

_DEFAULT = AuditSettings()
PAGE_WORDS, PAGE_DRAWS = 200, 20_000
# Name: label, smallest, largest, step, explanation.
_CONTROLS: dict[str, tuple[str, float | int, float | int, float | int, str]] = {
    "epsilon": ("ε", 0.001, 1000.0, 0.5, later("The claimed ε.")),
    "delta": ("δ", 1e-30, 0.5, 1e-6, later("The claimed δ: write 1e-6 for a millionth.")),
    "delta_root": (
        later("d-th root of δ"),
        0.01,
        0.99,
        0.05,
        later(
            "The paper of TrLaplace states δ by its d-th root, d being the dimension of the "
            "vectors."
        ),
    ),
    "latent": (
        "n",
        1,
        MAX_DIMENSION,
        1,
        later(
            "Coordinates of the latent vector; the true ε of the published noise grows with its "
            "square root."
        ),
    ),
    "clip_norm": (
        "C",
        1e-3,
        1e3,
        0.5,
        later(
            "Vectors are clipped to this Euclidean norm. Empty: the largest norm of the "
            "lexicon, or 1 for a latent vector."
        ),
    ),
    "edge": (
        later("ε as a multiple of the lowest"),
        1.0001,
        100.0,
        0.05,
        later(
            "Truncated Gumbel noise is defined above a lowest ε only; it is audited at this "
            "multiple."
        ),
    ),
    "words": (
        later("Words"),
        2,
        PAGE_WORDS,
        1,
        later(
            "How many words drawn by the seed are compared with one another: as many for truncated "
            "Gumbel, five times as many for its repair, ten times for TEM. For Theorem 2 and "
            "calibrated TEM a lexicon of up to {most:,} words is compared whole."
        ),
    ),
    "draws": (
        later("Draws"),
        1000,
        PAGE_DRAWS,
        1000,
        later(
            "Noise vectors that test the sampler; for Vickrey also outputs of each of two words."
        ),
    ),
    "seed": (
        later("Seed of the audit"),
        0,
        MAX_SEED,
        1,
        later("Of every sample: the same seed, same numbers."),
    ),
}


def choose_settings(key: str) -> tuple[AuditSettings, bool]:
    """Draw the controls of a claim.

    Returns:
        The settings, those that do not affect the claim at their defaults, and whether to compute
        now.

    Raises:
        ParameterError: a setting is invalid.
    """
    names = USES[key]
    values: dict[str, Any] = {}
    # A form: several settings are changed before anything is computed once.
    with st.form("audit_settings", border=True):
        for start in range(0, len(names), 4):
            part = names[start : start + 4]
            for name, column in zip(part, st.columns(4), strict=False):
                with column:
                    values[name] = _control(name)
        if not names:
            st.markdown(say("This claim has no settings: it speaks of all mechanisms at once."))
        pressed = st.form_submit_button(
            say("Compute with these settings"),
            key="audit_compute",
            icon=":material/calculate:",
            help=say("Computes this claim alone, on the lexicon of the sidebar."),
        )
    # An empty field means "automatic", which is the default of the settings.
    given = {name: value for name, value in values.items() if value is not None}
    return AuditSettings(**given), pressed


def _control(name: str) -> float | int | None:
    label, low, high, step, explanation = _CONTROLS[name]
    whole = isinstance(step, int)
    value: float | int | None = st.number_input(
        say(label),
        low,
        high,
        getattr(_DEFAULT, name),
        step=step,
        # %g, since δ goes down to 1e-30.
        format="%d" if whole else "%g",
        placeholder=say("automatic"),
        key=f"audit_{name}",
        bind="query-params",
        help=say(explanation, most=MAX_AUDIT_WORDS),
    )
    return value
