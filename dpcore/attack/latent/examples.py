"""Utterances of our own with the latent vectors of a trained ADePT network, to attack without it.

The network was trained on ATIS (`dpcore.papers.habernal2021.plans`); neither it nor an utterance of
ATIS is here. The utterances were written for this laboratory; their vectors are what the network
makes of them. Noise, ranking and posterior are computed anew at every call; what the decoder wrote
was recorded, because that needs torch.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.latent.rank import Ranking, posterior, rank_candidates, success_bound
from dpcore.errors import ParameterError, StudyError
from dpcore.learn.adept.network import CLIP
from dpcore.lexicon.bundled import bundled_data
from dpcore.lexicon.damage import FIELDS, refuse_of_the_system
from dpcore.mechanisms.clipped.adept_latent import FORMS, LatentForm, clip_rows, latent_path
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from pathlib import Path


FILE = "adept.json"
FOLDER = "examples"
"""Of `data/results`."""


@dataclass(frozen=True)
class Rewrite:
    """What the decoder wrote of one noisy vector.

    Attributes:
        text: that was rewritten; one of ours.
        mechanism: short name of the noise; "" for none.
        epsilon: claimed; None without noise.
        true_epsilon: what is true of it; None without noise.
        output: of the decoder; "" if it is an utterance of ATIS word for word, which is not shown.
        in_corpus: whether it is.
    """

    text: str
    mechanism: str
    epsilon: float | None
    true_epsilon: float | None
    output: str
    in_corpus: bool


@dataclass(frozen=True, eq=False)
class Examples:
    """The utterances, their vectors, and some rewrites.

    Attributes:
        texts: distinct, m of them.
        latents: clipped to Euclidean norm 1, shape (m, n), rounded to 4 decimals, read-only.
        manhattan: C of the L1 norm.
        rewrites: of some of the texts, one noise draw for all ε of a noise.
        facts: how they were made.
    """

    texts: tuple[str, ...]
    latents: FloatArray
    manhattan: float
    rewrites: tuple[Rewrite, ...]
    facts: dict[str, Any]

    def clip_norm(self, form: LatentForm) -> float:
        """C in the norm that a form clips by."""
        return self.manhattan if form is LatentForm.MANHATTAN else CLIP


@dataclass(frozen=True, eq=False)
class Guess:
    """What the attacker believes after one noisy vector.

    Attributes:
        probability: of every utterance, shape (m,).
        order: the utterances, the likeliest first, shape (m,).
        rank: of the true one, from 1.
        epsilon: the true ε; `claimed_epsilon` was asked for.
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
        examples: of `examples`.
        text: place of the private utterance.
        mechanism: short name of the noise, of `dpcore.mechanisms.clipped.adept_latent.FORMS`.
        epsilon: claimed.
        seed: of the noise; one draw serves every ε.

    Raises:
        ParameterError: there is no such utterance or noise.
        EpsilonError: ε is not a finite number > 0.
    """
    if not 0 <= text < len(examples.texts):
        raise ParameterError(f"there are {len(examples.texts)} utterances, got number {text}")
    form, norm = _form(examples, mechanism)
    # Keyed without ε: one draw of the noise is looked at under every ε.
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
    """The attack on every utterance, several noise draws each, at each ε.

    Args:
        examples: of `examples`.
        mechanism: short name of the noise.
        epsilons: claimed.
        draws: of the noise for each utterance; the same for all ε.
        seed: of the noise.

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
    """Where the examples lie."""
    return bundled_data("results", "manifest.json") / FOLDER / FILE


@functools.cache
def examples() -> Examples:
    """The examples that come with the laboratory.

    Raises:
        StudyError: the file is missing or damaged.
    """
    return read_examples(examples_path())


def read_examples(path: Path) -> Examples:
    """Read and check a file of examples.

    Raises:
        StudyError: it is missing or damaged.
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
