"""Posteriors for one output, kept in this session so that returning to an ε costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.attack.output.channel import Channel, Observation, open_channel
from dpcore.attack.output.posterior import (
    Candidate,
    Odds,
    odds,
    posterior,
    posterior_bound,
    promised_distances,
    worst_odds,
)
from dpcore.attack.output.prior import Prior
from dpcore.attack.output.success import Overall, overall_success
from dpcore.guarantee import Guarantee
from dpcore.lexicon.progress import Progress, silent
from pages.attacker.believing import LIST, Belief
from pages.attacker.channels import channel_or_progress
from pages.attacker.scene import AttackerScene
from pages.shared import link
from pages.shared.once import memo, session_memo

TOP = 10
"""Number of listed words, likeliest first."""

OUTPUTS = 200
"""Number of outputs drawn to estimate the attacker's success rate over all outputs."""

_KEPT = 400  # entries per session: a dial has some seventy steps
_LOOKS, _SEEN, _LISTS, _OVERALL, _FAR, _WORST = (
    f"weighed_{name}" for name in ("looks", "outputs", "lists", "overall", "distances", "worst")
)


@dataclass(frozen=True, eq=False)
class Look:
    """Posterior of the attacker after one output at one ε.

    Attributes:
        top: the likeliest words.
        pair: the first and the second of the two words to tell apart.
        perplexity: number of equally likely words with the same entropy.
        bound: the largest posterior of the likeliest word that the guarantee allows.
        odds: odds of the pair, given this output; None if both are the same word.
        promise: the guarantee at this ε.
        error: bound on the error of the logarithm of a probability.
        method: method by which the likelihoods were found.
        prior: description of the prior.
    """

    top: tuple[Candidate, ...]
    pair: tuple[Candidate, Candidate]
    perplexity: float
    bound: float
    odds: Odds | None
    promise: Guarantee
    error: float
    method: str
    prior: str


def look(scene: AttackerScene, output: int, belief: Belief, pair: tuple[int, int]) -> Look | None:
    """Return the attacker's view; None while the mechanism is being prepared (progress is drawn).

    Raises:
        DpcoreError: the prior is invalid.
        RareOutputError: nothing can be computed for this output.
    """
    # In the session: a belief may hold typed words.
    known: dict[Any, Look] = st.session_state.setdefault(_LOOKS, {})
    key = (scene.mechanism, scene.epsilon, output, belief, pair)
    if key in known:
        return known[key]
    # Checked before the channel is waited for: a list that is refused is refused at once.
    prior = belief.prior(scene.words)
    seen = _seen(scene, output, belief, pair)
    if seen is None:
        return None
    return memo(known, key, lambda: _look(scene, seen, prior, pair), _KEPT)


def prepare(
    scenes: list[AttackerScene], output: int, belief: Belief, pair: tuple[int, int]
) -> None:
    """Compute jointly what `look` needs at several steps; do nothing before the channel is ready.

    Raises:
        DpcoreError: the prior is invalid.
    """
    channel = _channel(scenes[0], output, belief, pair)
    if channel is not None:
        # The normalisers of several ε are computed at once, which is faster than one by one.
        channel.prepare([scene.epsilon for scene in scenes])


def worst_pair(
    scene: AttackerScene, output: int, belief: Belief, pair: tuple[int, int]
) -> Odds | None:
    """Return the odds of the word that this output separates most from itself; None as for `look`.

    Most: by the largest share of the guarantee.

    Raises:
        DpcoreError: the prior or the output is refused.
    """
    seen = _seen(scene, output, belief, pair)
    if seen is None:
        return None

    def compute() -> Odds:
        promise = scene.mechanism.guarantee(scene.epsilon)
        far = _far(scene, promise, output)
        return worst_odds(scene.words, seen.at(scene.epsilon), promise, output, far)

    return session_memo(_WORST, (scene.mechanism, scene.epsilon, output, belief, pair), compute)


def _channel(
    scene: AttackerScene, output: int, belief: Belief, pair: tuple[int, int]
) -> Channel | None:
    prior = belief.prior(scene.words)
    # The pair and the output may be outside a typed list, and their laws are needed for the odds.
    return channel_for(scene, prior, (*pair, output), listed=belief.kind == LIST)


def _seen(
    scene: AttackerScene, output: int, belief: Belief, pair: tuple[int, int]
) -> Observation | None:
    channel = _channel(scene, output, belief, pair)
    if channel is None:
        return None
    # Few: an observation holds the distances of its output from the whole vocabulary.
    return session_memo(_SEEN, (channel, output), lambda: channel.seen(output), 4)


def _far(scene: AttackerScene, promise: Guarantee, word: int) -> FloatArray:
    """Return the distances of all words from one, in the metric of the guarantee."""
    return session_memo(
        _FAR,
        (scene.mechanism, word),
        lambda: promised_distances(scene.words, promise, word),
        16,
    )


def known_success(scene: AttackerScene, belief: Belief) -> Overall | None:
    """Return the attacker's success rate over all outputs if it was computed before, else None."""
    known: dict[Any, Overall] = st.session_state.get(_OVERALL, {})
    return known.get((scene.mechanism, scene.epsilon, belief))


def measure_success(
    scene: AttackerScene, belief: Belief, progress: Progress = silent
) -> Overall | None:
    """Compute the same; return None while the mechanism is being prepared (progress is drawn).

    Raises:
        DpcoreError: the prior is invalid.
    """
    prior = belief.prior(scene.words)
    channel = channel_for(scene, prior, listed=belief.kind == LIST)
    if channel is None:
        return None
    key = (scene.mechanism, scene.epsilon, belief)
    return session_memo(
        _OVERALL,
        key,
        lambda: overall_success(
            channel, prior, scene.epsilon, outputs=OUTPUTS, seed=link.SEED, progress=progress
        ),
    )


def _look(scene: AttackerScene, seen: Observation, prior: Prior, pair: tuple[int, int]) -> Look:
    words, epsilon = scene.words, scene.epsilon
    likelihood = seen.at(epsilon)
    promise = scene.mechanism.guarantee(epsilon)
    after = posterior(likelihood, prior)
    first, second = pair
    return Look(
        top=tuple(after.top(TOP)),
        pair=(after.candidate(first), after.candidate(second)),
        perplexity=after.perplexity,
        bound=posterior_bound(words, promise, prior, after.best, _far(scene, promise, after.best)),
        odds=None if first == second else odds(words, likelihood, promise, first, second),
        promise=promise,
        error=after.error,
        method=likelihood.method,
        prior=prior.sentence,
    )


def channel_for(
    scene: AttackerScene, prior: Prior, others: tuple[int, ...] = (), *, listed: bool
) -> Channel | None:
    """Return the channel that a prior needs; None while it is being prepared (progress is drawn).

    Args:
        scene: the mechanism.
        prior: prior of the attacker.
        others: words to include besides those that the prior allows.
        listed: True if the prior allows few words: their laws need no preparation.

    Raises:
        DpcoreError: there are too many words in the list.
    """
    if not listed:
        # Of the whole lexicon, shared by all sessions: it knows nothing of this one.
        return channel_or_progress(scene.mechanism)
    # Sorted, so that lists of the same words share one channel.
    words = tuple(sorted({*prior.support.tolist(), *others}))
    return session_memo(
        _LISTS, (scene.mechanism, words), lambda: open_channel(scene.mechanism, words), 2
    )
