"""The attacker's sums for one output, kept for this session: a second look at an ε is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.attack.output.channel import Channel, Seen, open_channel
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
from pages.shared import link
from pages.shared.once import memo, session_memo

if TYPE_CHECKING:
    from pages.attacker.board import Scene

TOP = 10
"""Words that are listed, likeliest first."""

OUTPUTS = 200
"""Outputs that are drawn to see how often the attacker is right over all of them."""

_KEPT = 400  # looks of a session: a dial has some seventy steps
_LOOKS, _SEEN, _LISTS, _OVERALL, _FAR, _WORST = (
    f"weighed_{name}" for name in ("looks", "outputs", "lists", "overall", "distances", "worst")
)


@dataclass(frozen=True, eq=False)
class Look:
    """What the attacker makes of one output at one ε.

    Attributes:
        top: the likeliest words.
        pair: the first and the second word of the question.
        perplexity: number of equally likely words with the same entropy.
        bound: the largest posterior of the likeliest word that the promise allows.
        odds: of the pair, given this output; None if both are the same word.
        promise: at this ε.
        error: bound on the error of the logarithm of a probability.
        method: how the likelihoods were found.
        prior: how the prior was made.
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


def look(scene: Scene, output: int, belief: Belief, pair: tuple[int, int]) -> Look | None:
    """The attacker's view; None while the mechanism is being prepared, which is drawn.

    Raises:
        DpcoreError: the prior is refused.
        RareOutputError: nothing can be computed of this output.
    """
    known: dict[Any, Look] = st.session_state.setdefault(_LOOKS, {})
    key = (scene.mechanism, scene.epsilon, output, belief, pair)
    if key in known:
        return known[key]
    prior = belief.prior(scene.words)
    seen = _seen(scene, output, belief, pair)
    if seen is None:
        return None
    return memo(known, key, lambda: _look(scene, seen, prior, pair), _KEPT)


def prepare(scenes: list[Scene], output: int, belief: Belief, pair: tuple[int, int]) -> None:
    """Do together what `look` needs at several steps of one dial; nothing while it is prepared.

    Raises:
        DpcoreError: the prior is refused.
    """
    channel = _channel(scenes[0], output, belief, pair)
    if channel is not None:
        channel.prepare([scene.epsilon for scene in scenes])


def worst_pair(scene: Scene, output: int, belief: Belief, pair: tuple[int, int]) -> Odds | None:
    """The word that this output tells from itself by most of the promise; None as for `look`.

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


def _channel(scene: Scene, output: int, belief: Belief, pair: tuple[int, int]) -> Channel | None:
    prior = belief.prior(scene.words)
    return channel_for(scene, prior, (*pair, output), listed=belief.kind == LIST)


def _seen(scene: Scene, output: int, belief: Belief, pair: tuple[int, int]) -> Seen | None:
    channel = _channel(scene, output, belief, pair)
    if channel is None:
        return None
    return session_memo(_SEEN, (channel, output), lambda: channel.seen(output), 4)


def _far(scene: Scene, promise: Guarantee, word: int) -> FloatArray:
    """Distances of all words from one, in the metric of the promise."""
    return session_memo(
        _FAR,
        (scene.mechanism, word),
        lambda: promised_distances(scene.words, promise, word),
        16,
    )


def known_success(scene: Scene, belief: Belief) -> Overall | None:
    """How often the attacker is right over all outputs, if that was asked for before."""
    known: dict[Any, Overall] = st.session_state.get(_OVERALL, {})
    return known.get((scene.mechanism, scene.epsilon, belief))


def measure_success(scene: Scene, belief: Belief, progress: Progress = silent) -> Overall | None:
    """The same, computed; None while the mechanism is being prepared, which is drawn.

    Raises:
        DpcoreError: the prior is refused.
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


def _look(scene: Scene, seen: Seen, prior: Prior, pair: tuple[int, int]) -> Look:
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
    scene: Scene, prior: Prior, others: tuple[int, ...] = (), *, listed: bool
) -> Channel | None:
    """The channel that a prior needs; None while one is being prepared, which is drawn.

    Args:
        scene: the mechanism.
        prior: of the attacker.
        others: words that are asked about beside those that are possible.
        listed: whether the prior holds few words possible: their laws need no preparing.

    Raises:
        DpcoreError: there are too many words in the list.
    """
    if not listed:
        return channel_or_progress(scene.mechanism)
    # Sorted, so that lists of the same words share one channel.
    words = tuple(sorted({*prior.support.tolist(), *others}))
    return session_memo(
        _LISTS, (scene.mechanism, words), lambda: open_channel(scene.mechanism, words), 2
    )
