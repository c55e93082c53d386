"""Attack on the latent vectors of a trained ADePT network, without the network.

The network was trained on ATIS (`dpcore.papers.habernal2021.plans`); neither it nor an utterance of
ATIS is here. The example utterances were written for this laboratory, and the network computed
their vectors. Noise, ranking and posterior are computed at every call; outputs of the decoder were
recorded, because they need torch.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError, StudyError
from dpcore.learn.adept import CLIP
from dpcore.lexicon.cache import FIELDS, bundled_data, refuse_of_the_system
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.clipped.adept import FORMS, LatentForm, NoisyLatents, clip_rows, latent_path
from dpcore.noise.streams import generator

# Ranking public candidates by the likelihood of a noisy latent vector, to find the utterance.
#
# Habernal 2021, Appendix C, only sketches the attack: the attacker has the encoder and a corpus of
# utterances, and looks for those whose latent vector is near the noisy one. The law of the noise is
# public, so "near" can be exact. With m candidates, all equally likely, the posterior of candidate
# j after the noisy vector z is
#
#     p_j ∝ exp(−‖z − c_j‖ / scale)
#
# in the norm of the noise (L1 for Laplace coordinates, L2 for round noise). To name the largest is
# the best that any attacker can do, and it succeeds with probability E[max_j p_j]: the Bayes
# optimum. Under ε-differential privacy it is at most e^ε / (e^ε + m − 1).


_ONE_SIDED = 0.025
_ROWS = 256  # noisy vectors at a time


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rank of the true candidate for each of k noisy vectors.

    Attributes:
        ranks: from 1; the mean over the orders of candidates that are equally likely, shape (k,).
        first: probability that the attacker names it, 1 or 0 except for ties, shape (k,).
        best: posterior of the candidate that the attacker names, shape (k,).
        candidates: m.
        epsilon: true ε of the noise.
        claimed_epsilon: the ε that was requested.
    """

    ranks: FloatArray
    first: FloatArray
    best: FloatArray
    candidates: int
    epsilon: float
    claimed_epsilon: float

    @property
    def mean_rank(self) -> float:
        """Mean rank; (m + 1)/2 by guessing."""
        return float(self.ranks.mean())

    @property
    def success(self) -> float:
        """Share of the noisy vectors whose utterance the attacker names."""
        return float(self.first.mean())

    @property
    def bayes(self) -> float:
        """Mean posterior of the named candidate: the Bayes optimum without the luck of the draw.

        Its expectation is that of `success` if each candidate is the true one equally often.
        """
        return float(self.best.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper–Pearson interval of 95 % for `success`; ties are misses at the lower end."""
        sure, possible = int((self.first == 1.0).sum()), int((self.first > 0.0).sum())
        low = clopper_pearson(sure, self.first.size, _ONE_SIDED)[0]
        return low, clopper_pearson(possible, self.first.size, _ONE_SIDED)[1]


def success_bound(epsilon: float, candidates: int) -> float:
    """Return the largest probability to name one of m equally likely candidates under ε-privacy.

    e^ε/(e^ε + m − 1): the posterior odds of one candidate against each other are at most e^ε.
    """
    return 1.0 / (1.0 + (candidates - 1) * math.exp(-epsilon))


def posterior(
    noisy: ArrayLike, candidates: ArrayLike, form: LatentForm, scale: float
) -> FloatArray:
    """Compute the posterior of every candidate under equal priors, shape (k, m), float64.

    Args:
        noisy: shape (k, n).
        candidates: clipped latent vectors, shape (m, n).
        form: form of the noise.
        scale: scale of the noise (`NoisyLatents.scale`), > 0.

    Raises:
        ParameterError: a shape or the scale is not admissible.
    """
    weights = _weights(_distances(noisy, candidates, form), scale)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def rank_candidates(
    noisy: NoisyLatents, candidates: ArrayLike, true: ArrayLike, form: LatentForm
) -> Ranking:
    """Rank the candidates for each noisy vector, and find the rank of the true one.

    Args:
        noisy: k released vectors.
        candidates: clipped latent vectors of distinct public utterances, shape (m, n).
        true: index of the true candidate of each vector, shape (k,).
        form: form of the noise.

    Raises:
        ParameterError: a shape or an index is not admissible.
    """
    public = np.asarray(candidates, dtype=np.float64)
    places = np.asarray(true, dtype=np.int64)
    if places.shape != (len(noisy.vectors),) or not places.size:
        raise ParameterError(
            f"each noisy vector needs the place of its candidate: got {len(noisy.vectors):,} "
            f"vectors and {places.size:,} places"
        )
    if not (places.min() >= 0 and places.max() < len(public)):
        raise ParameterError(f"places of candidates are from 0 to {len(public) - 1:,}")
    ranks, first, best = np.empty((3, places.size))
    for start in range(0, places.size, _ROWS):
        part = slice(start, start + _ROWS)
        away = _distances(noisy.vectors[part], public, form)
        # Ranked by distance, not by posterior, which is 0 for all far away. Equal candidates have
        # equal bits, so that they tie.
        true_away = away[np.arange(len(away)), places[part]][:, None]
        nearer, equal = (away < true_away).sum(axis=1), (away == true_away).sum(axis=1)
        # Of e equal candidates the true one is (e + 1)/2-th on average, and named once in e.
        ranks[part] = nearer + 0.5 * (equal + 1)
        first[part] = (nearer == 0) / equal
        best[part] = 1.0 / _weights(away, noisy.scale).sum(axis=1)
    for array in (ranks, first, best):
        array.setflags(write=False)
    return Ranking(ranks, first, best, len(public), noisy.epsilon, noisy.claimed_epsilon)


def _weights(away: FloatArray, scale: float) -> FloatArray:
    """Return likelihoods over the largest of each row, shape (k, m); overwrites `away`."""
    if not 0 < scale < math.inf:
        raise ParameterError(f"the scale of the noise must be a finite number > 0, got {scale}")
    away -= away.min(axis=1, keepdims=True)
    away *= -1.0 / scale
    return np.exp(away, out=away)


def _distances(noisy: ArrayLike, candidates: ArrayLike, form: LatentForm) -> FloatArray:
    points, public = (np.asarray(rows, dtype=np.float64) for rows in (noisy, candidates))
    if (
        points.ndim != 2
        or public.ndim != 2
        or points.shape[1] != public.shape[1]
        or not len(public)
    ):
        raise ParameterError(
            f"noisy vectors (k, n) and candidates (m, n) need one n and a candidate, got shapes "
            f"{points.shape} and {public.shape}"
        )
    metric = Metric.EUCLIDEAN if form is LatentForm.ROUND else Metric.MANHATTAN
    return distances(public, points, metric)


FILE = "adept.json"
FOLDER = "examples"
"""Folder within `data/results`."""


@dataclass(frozen=True)
class Rewrite:
    """Output of the decoder for one noisy vector.

    Attributes:
        text: rewritten text, one of the example utterances.
        mechanism: short name of the noise; "" for none.
        epsilon: claimed ε; None without noise.
        true_epsilon: true ε; None without noise.
        output: output of the decoder; "" if it is an utterance of ATIS word for word, which is not
            shown.
        in_corpus: True if it is such an utterance.
    """

    text: str
    mechanism: str
    epsilon: float | None
    true_epsilon: float | None
    output: str
    in_corpus: bool


@dataclass(frozen=True, eq=False)
class Examples:
    """Example utterances, their vectors, and some rewrites.

    Attributes:
        texts: distinct, m of them.
        latents: clipped to Euclidean norm 1, shape (m, n), rounded to 4 decimals, read-only.
        manhattan: C of the L1 norm.
        rewrites: of some of the texts, one noise draw for all ε of a noise.
        facts: how the examples were made.
    """

    texts: tuple[str, ...]
    latents: FloatArray
    manhattan: float
    rewrites: tuple[Rewrite, ...]
    facts: dict[str, Any]

    def clip_norm(self, form: LatentForm) -> float:
        """Return C in the norm that a form clips by."""
        return self.manhattan if form is LatentForm.MANHATTAN else CLIP


@dataclass(frozen=True, eq=False)
class Guess:
    """Posterior over the utterances after one noisy vector.

    Attributes:
        probability: of every utterance, shape (m,).
        order: utterances, the likeliest first, shape (m,).
        rank: rank of the true one, from 1.
        epsilon: the true ε.
        claimed_epsilon: the ε that was requested.
        claimed_bound: largest probability to be right that the claim allows, on average over
            utterances that are equally likely.
        true_bound: the same for the true ε.
    """

    probability: FloatArray
    order: IntArray
    rank: float
    epsilon: float
    claimed_epsilon: float
    claimed_bound: float
    true_bound: float


def guess(examples: Examples, text: int, mechanism: str, epsilon: float, seed: int) -> Guess:
    """Release one utterance's noisy vector, and rank all utterances.

    Args:
        examples: utterances and their vectors.
        text: index of the private utterance.
        mechanism: short name of the noise, from `dpcore.mechanisms.clipped.adept.FORMS`.
        epsilon: claimed ε.
        seed: seed of the noise; one draw serves every ε.

    Raises:
        ParameterError: there is no such utterance or noise.
        EpsilonError: ε is not a finite number > 0.
    """
    if not 0 <= text < len(examples.texts):
        raise ParameterError(f"there are {len(examples.texts)} utterances, got number {text}")
    form, norm = _form(examples, mechanism)
    # The key omits ε, so that every ε uses the same draw of the noise.
    rng = generator(seed, "latent example", mechanism, text)
    noisy = latent_path(rng, examples.latents[[text]], norm, form).at(epsilon)
    candidates = clip_rows(examples.latents, norm, form)
    probabilities = posterior(noisy.vectors, candidates, form, noisy.scale)[0]
    ranking = rank_candidates(noisy, candidates, [text], form)
    size = len(examples.texts)
    return Guess(
        probabilities,
        np.argsort(-probabilities, kind="stable"),
        float(ranking.ranks[0]),
        noisy.epsilon,
        noisy.claimed_epsilon,
        success_bound(noisy.claimed_epsilon, size),
        success_bound(noisy.epsilon, size),
    )


def success(
    examples: Examples, mechanism: str, epsilons: tuple[float, ...], draws: int, seed: int
) -> tuple[Ranking, ...]:
    """Attack every utterance at each ε, with several noise draws each.

    Args:
        examples: utterances and their vectors.
        mechanism: short name of the noise.
        epsilons: claimed ε.
        draws: noise draws for each utterance; the same for all ε.
        seed: seed of the noise.

    Raises:
        ParameterError: there is no such noise, or no draw.
        EpsilonError: an ε is not a finite number > 0.
    """
    if not draws >= 1:
        raise ParameterError(f"an attack needs at least one draw of each utterance, got {draws}")
    form, norm = _form(examples, mechanism)
    true = np.tile(np.arange(len(examples.texts)), draws)
    rng = generator(seed, "latent examples", mechanism)
    path = latent_path(rng, examples.latents[true], norm, form)
    candidates = clip_rows(examples.latents, norm, form)
    return tuple(rank_candidates(path.at(e), candidates, true, form) for e in epsilons)


def _form(examples: Examples, mechanism: str) -> tuple[LatentForm, float]:
    if mechanism not in FORMS:
        raise ParameterError(
            f"the noise of a latent vector is one of {', '.join(FORMS)}, got {mechanism[:40]!r}"
        )
    form = FORMS[mechanism]
    return form, examples.clip_norm(form)


def examples_path() -> Path:
    """Return the path of the bundled examples."""
    return bundled_data("results", "manifest.json") / FOLDER / FILE


@functools.cache
def examples() -> Examples:
    """Read the bundled examples.

    Raises:
        StudyError: the file is missing or damaged.
    """
    return read_examples(examples_path())


def read_examples(path: Path) -> Examples:
    """Read and check a file of examples.

    Raises:
        StudyError: the file is missing or damaged.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        latents = np.array(fields["latents"], dtype=np.float64)
        texts = tuple(str(text) for text in fields["texts"])
        rewrites = tuple(Rewrite(**rewrite) for rewrite in fields["rewrites"])
        manhattan, facts = float(fields["manhattan"]), dict(fields["facts"])
        whole = (
            latents.ndim == 2
            and len(latents) == len(texts) == len(set(texts)) > 0
            and bool(np.isfinite(latents).all())
            and 0 < manhattan < np.inf
            and {rewrite.text for rewrite in rewrites} <= set(texts)
        )
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        whole = False
    if not whole:
        raise StudyError(
            f"the examples {path.name} are missing or damaged; make them with "
            "`python -m dpcore autoencoder examples --model adept --data ../shared/data`, or "
            "restore the folder data/results"
        )
    latents.setflags(write=False)
    return Examples(texts, latents, manhattan, rewrites, facts)
