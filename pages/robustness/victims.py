"""Targets of attacks: linear classifiers trained on demand, and bundled networks."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.classifiers import bundled_network
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearModel
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.text_network.classifier import NetworkClassifier
from dpcore.lexicon.lexicon import Lexicon
from pages.robustness.words_work import CERTIFIED, NORMAL, Rules, model
from pages.shared.language import later, say
from pages.shared.once import is_there, once

NETWORKS = {later("network"): "normal", later("network, interval bounds"): "ibp"}
"""Title -> name of a bundled network."""
VICTIMS = (NORMAL, CERTIFIED, *NETWORKS)
_KIND = "bundled network"


def victim(words: Lexicon, rules: Rules, name: str) -> LinearModel | NetworkClassifier:
    """Return one of `VICTIMS`, made once for all sessions.

    Raises:
        MissingPackageError: a network is requested, and torch is not installed.
        ParameterError: a network is requested for other labels or words than its own.
    """
    if name not in NETWORKS:
        return model(words, rules, certified=name == CERTIFIED)
    # The bundled networks have two outputs: negative and positive.
    if rules.labels != Rules.labels:
        raise ParameterError(
            f"the networks that come along read {Rules.labels}; choose these labels, or a linear "
            "classifier"
        )
    key = (words.fingerprint, name)
    # No spinner for a network that is loaded: it would flash.
    if is_there(_KIND, key):
        return _network(words, name)
    with st.spinner(say("Loading the network"), show_time=True):
        return _network(words, name)


def _network(words: Lexicon, name: str) -> NetworkClassifier:
    return once(
        _KIND, (words.fingerprint, name), lambda: bundled_network(NETWORKS[name], words)[0], 4
    )


def certified_share(
    attacked: LinearModel | NetworkClassifier,
    bags: Bags,
    labels: NDArray[np.generic],
    table: Substitutions,
    share: float,
) -> float:
    """Return the share of texts that stay correct under all substitutions.

    Exact for a linear classifier, a lower bound for a network. The bound of a network is for
    changes in all places, whatever share of them may change.
    """
    if isinstance(attacked, NetworkClassifier):
        return attacked.certify(bags, labels, table).accuracy
    return certify_linear(attacked, bags, labels, table, share).accuracy
