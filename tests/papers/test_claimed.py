"""What a claim allows, beside the profile of the noise: formulas, and who is above whom."""

import math

import numpy as np
import pytest

from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.papers.claimed import COLUMNS, PROFILED, allowed_delta, claimed_profile
from dpcore.papers.claims import CLAIMS, verdict
from dpcore.plots.audit import profile as plots
from tests.mechanisms import lexicons


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.3])
def test_the_allowed_delta_is_that_of_the_claim_s_own_worst_mechanism(delta: float) -> None:
    # It fails with probability δ; else it tells the truth with probability e^ε/(1 + e^ε).
    epsilon, epsilons = 1.5, np.linspace(0.0, 3.0, 31)
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    p = np.array([delta, truth, 1 - delta - truth, 0.0])
    q = p[::-1]
    worst = np.array([np.maximum(p - math.exp(x) * q, 0.0).sum() for x in epsilons])
    assert allowed_delta(epsilon, delta, epsilons) == pytest.approx(worst, abs=1e-12)


@pytest.mark.parametrize("key", PROFILED)
def test_only_a_refuted_claim_is_exceeded(key: str) -> None:
    words, settings = lexicons.cloud(50, 6), AuditSettings()
    table = claimed_profile(key, words, settings)
    assert key in CLAIMS
    assert tuple(table.columns) == COLUMNS
    assert (np.diff(table["epsilon"]) > 0).all()
    assert (table["claimed_epsilon"].iloc[0] == table["epsilon"]).sum() == 1
    assert (table["low"] <= table["high"]).all()
    refuted = verdict(key, words, settings).outcome is Outcome.REFUTED
    above = (table["low"] > table["allowed"] * (1 + 1e-6) + 1e-15).any()
    assert above == refuted
    message = plots.profile_caption(table).how
    assert ("true curve is above what the claim allows" in message) == refuted
    figure = plots.profile_figure(table)
    assert figure.data[0].name == "the claim allows at most"
    assert figure.layout.dragmode is False  # a finger that scrolls the page must not draw a box
    assert (figure.layout.yaxis.type == "log") == (table["claimed_delta"].iloc[0] > 0)


def test_a_claim_without_a_profile_is_refused() -> None:
    with pytest.raises(ParameterError, match="no privacy profile"):
        claimed_profile("madlib", lexicons.cloud(50, 6), AuditSettings())
