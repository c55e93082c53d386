"""Privacy figures for each ε of a plan, beside its utility figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpcore.attack.membership import document_bound
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.study.plan import Plan, Row, row

QUANTITIES = {
    "claimed_loss": "claimed privacy loss between the two words that are farthest apart",
    "document_auc": "largest AUC that the claim allows for a whole text; nothing if refuted",
    "true_epsilon": "smallest ε that is true of all pairs of words and all outputs",
    "true_delta": "exact δ at ε for the worst difference of two vectors",
}
"""Names of the quantities; `variant` holds the status of the guarantee."""


def privacy_rows(plan: Plan, lexicons: Mapping[str, Lexicon]) -> Iterator[Row]:
    """Yield rows of `QUANTITIES` for every lexicon, arm and ε of a plan.

    Args:
        plan: its option `document_words`, or else `most`, is the number of words of a text.
        lexicons: lexicons by the names that the plan uses.
    """
    options = dict(plan.options)
    tokens = options.get("document_words", options.get("most"))
    for name in plan.lexicons:
        for arm in plan.arms:
            if not arm.mechanism:
                continue
            mechanism = create(arm.mechanism, lexicons[name], dict(arm.settings))
            named = {
                "label": arm.name,
                "mechanism": arm.mechanism,
                "lexicon": name,
                "data": plan.data[0],
                "seed": plan.seeds[0],  # nothing here is random, so one seed is enough
            }
            for known in claimed_rows(mechanism, arm.epsilons, tokens):
                yield named | known
            computed = mechanism.true_epsilons(arm.epsilons)  # over all pairs of words
            if computed is not None:
                for epsilon, true in zip(arm.epsilons, computed, strict=True):
                    yield named | row("true_epsilon", true, epsilon=epsilon, variant="computed")


def claimed_rows(
    mechanism: Mechanism, epsilons: Sequence[float], tokens: int | None = None
) -> Iterator[Row]:
    """Yield the figures that need no search: claimed loss, its status, and δ if it has a formula.

    Args:
        mechanism: mechanism that gives the guarantee.
        epsilons: values of ε that it admits.
        tokens: number of words of a text whose membership is bounded; None omits the bound.
    """
    # A metric guarantee is a loss per distance: the largest distance gives the largest loss.
    diameter = mechanism.lexicon.extent.diameter
    for epsilon in epsilons:
        promised = mechanism.guarantee(epsilon)
        common: dict[str, Any] = {"epsilon": epsilon, "variant": str(promised.status)}
        yield row("claimed_loss", promised.euclidean_loss(diameter), **common)
        if tokens:
            bound = document_bound(promised, tokens, diameter)
            yield row("document_auc", bound.auc, count=tokens, **common)
        delta = mechanism.true_delta(epsilon)
        if delta is not None:
            yield row("true_delta", delta, **common)
