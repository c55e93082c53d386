"""All published claims that the laboratory audits, one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Verdict
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.papers.carvalho2021 import claims as tem
from dpcore.papers.feyisetan2019 import claims as curved
from dpcore.papers.feyisetan2020 import claims as noise
from dpcore.papers.field import candidates, santext, texts, writers
from dpcore.papers.habernal2021 import claims as adept
from dpcore.papers.huang2024 import claims as clipped
from dpcore.papers.lecuyer2019 import claims as pixeldp
from dpcore.papers.ours import budget, frontier
from dpcore.papers.ours import claims as calibrated
from dpcore.papers.xu2021 import claims as gumbel

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

Claim = Callable[["Lexicon", AuditSettings, Progress], Verdict]


def _at_once(claim: Callable[[Lexicon, AuditSettings], Verdict]) -> Claim:
    """A claim that is computed in a moment and has no progress to report."""
    return lambda lexicon, settings, _: claim(lexicon, settings)


CLAIMS: dict[str, Claim] = {
    "xu-theorem-1": gumbel.xu_theorem_1,
    "xu-lemma-1": _at_once(gumbel.xu_lemma_1),
    "huang-theorem-3": _at_once(clipped.huang_theorem_3),
    "huang-theorem-4": _at_once(clipped.huang_theorem_4),
    "adept-published": _at_once(adept.adept_published),
    "pixeldp-slides": _at_once(pixeldp.pixeldp_slides),
    "gaussian-classical": _at_once(clipped.gaussian_classical),
    "santext-cosine": santext.santext_cosine,
    "custext-aggressive": candidates.custext_aggressive,
    "rantext": candidates.rantext,
    "wbb": candidates.wbb,
    "syntf-synonyms": candidates.syntf_synonyms,
    "dp-st-cluster": texts.dp_st_cluster,
    "dp-bart-one-noise": _at_once(texts.dp_bart_one_noise),
    "greedy-paraphrase": texts.greedy_paraphrase,
    "budget-from-text": texts.budget_from_text,
    "dp-prompt-top-k": writers.dp_prompt_top_k,
    "dp-prompt-length": _at_once(writers.dp_prompt_length),
    "budget-own-epsilon": budget.own_epsilon,
    "hyperbolic-flat": _at_once(curved.hyperbolic_flat),
    "dp-prompt-unclipped": _at_once(writers.dp_prompt_unclipped),
    "dp-mlm-stop-words": _at_once(writers.dp_mlm_stop_words),
    "santext-plus": santext.santext_plus,
    "custext": candidates.custext,
    "carvalho-theorem-2": tem.carvalho_theorem_2,
    "carvalho-theorem-3": tem.carvalho_theorem_3,
    "madlib": _at_once(noise.madlib),
    "mahalanobis": _at_once(noise.mahalanobis),
    "vickrey": noise.vickrey,
    "random-projection": _at_once(noise.random_projection),
    "hyperbolic": _at_once(curved.hyperbolic),
    "laplace": _at_once(clipped.laplace),
    "l2-laplace": _at_once(clipped.l2_laplace),
    "gaussian": _at_once(clipped.gaussian),
    "pixeldp": _at_once(pixeldp.pixeldp_right),
    "santext": santext.santext,
    "diffractor": candidates.diffractor,
    "syntf": candidates.syntf,
    "dp-prompt": _at_once(writers.dp_prompt),
    "optimal": frontier.optimal,
    "neighbour-response": _at_once(frontier.neighbour_response),
    "epsilon-two": frontier.epsilon_two,
    "budget": budget.budget,
    "budget-any": budget.budget_any,
    "truncated-gumbel-repaired": calibrated.gumbel_repaired,
    "tem-calibrated": calibrated.tem_calibrated,
    "trlaplace-corrected": _at_once(clipped.trlaplace_corrected),
    "adept-a": _at_once(adept.adept_l1_clip),
    "adept-b": _at_once(adept.adept_scaled),
    "adept-c": _at_once(adept.adept_round),
    "dp-prompt-calibrated": _at_once(writers.dp_prompt_calibrated),
    "dp-prompt-response": _at_once(writers.dp_prompt_response),
    "santext-angle": santext.santext_angle,
    "custext-drawn": candidates.custext_drawn,
    "rantext-fixed": candidates.rantext_fixed,
    "wbb-floor": candidates.wbb_floor,
}
"""Key to claim: first what is refuted or in doubt, then what is proved, then the repairs."""


def verdict(
    key: str,
    lexicon: Lexicon,
    settings: AuditSettings | None = None,
    progress: Progress = silent,
) -> Verdict:
    """The verdict on one claim.

    Args:
        key: of the claim.
        lexicon: on whose words.
        settings: at which parameters.
        progress: called with (stage, done, total) where it takes longer than a moment.

    Raises:
        ParameterError: the claim is unknown; the message lists them.
    """
    if key not in CLAIMS:
        raise ParameterError(f"unknown claim {key[:40]!r}; known are {', '.join(CLAIMS)}")
    return CLAIMS[key](lexicon, settings or AuditSettings(), progress)


def all_verdicts(
    lexicon: Lexicon,
    settings: AuditSettings | None = None,
    *,
    keys: Iterable[str] | None = None,
    progress: Progress = silent,
) -> list[Verdict]:
    """The verdicts on all claims (or on these), in the order of `CLAIMS`.

    Args:
        lexicon: on whose words.
        settings: at which parameters.
        keys: which claims; None for all.
        progress: called with ("claims", done, total).

    Raises:
        ParameterError: a claim is unknown.
    """
    chosen = list(CLAIMS if keys is None else keys)
    verdicts = []
    for done, key in enumerate(chosen, start=1):
        verdicts.append(verdict(key, lexicon, settings))
        progress("claims", done, len(chosen))
    return verdicts
