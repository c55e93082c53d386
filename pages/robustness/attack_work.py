"""Genetic attack on one text and on a sample; typed text stays in the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dpcore.attack.genetic import (
    AdversarialAccuracy,
    AttackResult,
    Candidates,
    Genetic,
    Step,
    adversarial_accuracy,
    attack,
    from_mechanism,
    from_substitutions,
    steps,
)
from dpcore.errors import ParameterError
from dpcore.learn.classifiers import bundled_network
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearModel
from dpcore.learn.substitutions import Substitutions, nearest_words
from dpcore.learn.text_network.classifier import NetworkClassifier
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from pages.robustness.words_work import CERTIFIED, NORMAL, Rules, allowed, model, read_corpus
from pages.shared.language import later, say
from pages.shared.once import is_there, once, session_memo

# Targets of attacks: linear classifiers trained on demand, and bundled networks.


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


_KEPT = 60


@dataclass(frozen=True)
class Hunt:
    """Specification of an attack: target, words and settings; a key of caches.

    Attributes:
        mechanism: mechanism whose likely outputs are tried; None for the nearest words.
        epsilon: ε of the mechanism.
        rules: labels, and the assumptions of the certified training.
        victim: a name of `pages.robustness.attack_work.VICTIMS`.
        neighbours: k, number of nearest words that are tried where there is no mechanism.
        settings: settings of the attack.
        seed: seed of all random draws.
    """

    mechanism: Mechanism | None
    epsilon: float
    rules: Rules
    victim: str
    neighbours: int
    settings: Genetic
    seed: int

    def attacked(self, words: Lexicon) -> LinearModel | NetworkClassifier:
        """Return the attacked classifier."""
        return victim(words, self.rules, self.victim)


@dataclass(frozen=True, eq=False)
class TextAttack:
    """Result of an attack on one text.

    Attributes:
        label: the class that should stay.
        attacked: the result.
        steps: its changes, one by one.
        method: source of the words that were tried.
        places: number of places in which something could be tried.
    """

    label: int
    attacked: AttackResult
    steps: tuple[Step, ...]
    method: str
    places: int


def attack_text(words: Lexicon, hunt: Hunt, document: Bags, label: int) -> TextAttack:
    """Attack one text, once in a session, as `python -m dpcore robust attack` does.

    Raises:
        DpcoreError: ε or a setting is invalid.
    """

    def compute() -> TextAttack:
        candidates, rng = _candidates(words, hunt, document)
        attacked = hunt.attacked(words)
        result = attack(attacked, candidates, label, hunt.settings, rng)
        changes = steps(attacked, document, result)
        return TextAttack(label, result, changes, candidates.method, int(candidates.places.size))

    # In the session: a text may be typed. The label counts too, since it is what must change.
    key = (hunt, words.fingerprint, document.words.tobytes(), label)
    return session_memo("hunts", key, compute, _KEPT)


def _candidates(
    words: Lexicon, hunt: Hunt, document: Bags
) -> tuple[Candidates, np.random.Generator]:
    """Return the words to try in each place, and the generator after drawing them."""
    mechanism = hunt.mechanism
    if mechanism is None:
        table = nearest_words(words, document.words, hunt.neighbours)
        return from_substitutions(document, table), generator(hunt.seed, "robust", "nearest")
    rng = generator(hunt.seed, "robust", mechanism.key)

    def compute() -> tuple[Candidates, dict[str, Any]]:
        candidates = from_mechanism(document, mechanism, hunt.epsilon, rng)
        return candidates, dict(rng.bit_generator.state)

    # Without victim and settings: the same words are tried against another classifier.
    key = (mechanism, hunt.epsilon, hunt.seed, document.words.tobytes())
    candidates, state = session_memo("hunt_words", key, compute, _KEPT)
    # A cached result draws nothing, so the generator is set to its state after the drawing: the
    # attack goes on from there, the first time and later.
    rng.bit_generator.state = state
    return candidates, rng


@dataclass(frozen=True, eq=False)
class Trial:
    """Result of an attack on a sample of the test texts.

    Attributes:
        accuracy: adversarial accuracy on the sample.
        certified: share that a certificate covers, where the words that are tried are those of its
            rules; None elsewhere.
    """

    accuracy: AdversarialAccuracy
    certified: float | None


def trial(words: Lexicon, hunt: Hunt, count: int, progress: Progress) -> Trial:
    """Attack `count` test texts at equal intervals.

    Raises:
        DpcoreError: ε or a setting is invalid.
    """
    corpus, attacked = read_corpus(words, hunt.rules.labels), hunt.attacked(words)
    # Texts of one kind follow each other, so the sample is spread over all of them.
    rows = np.linspace(0, len(corpus.test) - 1, count).round().astype(np.int64)
    bags, labels = corpus.test.part(rows), corpus.test_labels[rows]

    def accuracy(
        candidates: Callable[[Bags, np.random.Generator], Candidates],
    ) -> AdversarialAccuracy:
        return adversarial_accuracy(
            attacked, bags, labels, candidates, hunt.settings, hunt.seed, progress
        )

    mechanism = hunt.mechanism
    if mechanism is not None:
        return Trial(
            accuracy(lambda text, rng: from_mechanism(text, mechanism, hunt.epsilon, rng)), None
        )
    # The test texts are public, so their neighbours are shared; those of a typed text are not.
    table = allowed(words, hunt.neighbours)
    return Trial(
        accuracy(lambda text, _: from_substitutions(text, table)),
        certified_share(attacked, bags, labels, table, hunt.settings.share),
    )
