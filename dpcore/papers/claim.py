"""Verdicts on claims, from the sentences of `claims.toml` and computed figures.

`claims.toml` has one table per claim:

- `title`, `claim`, `source`, `conditions`, `computed`, `extent`, `failing_step` and `repair`: the
  fields of `Verdict`, with gaps in the syntax of `str.format`.
- `uses`: the settings that change the verdict or its figures.
- `headline`: figures, of which the first available one represents the claim in a table.
- `cost`: the figure for the cost of the mechanism.
- `repairs`: the claims that hold instead, or that need less noise.
- `paper`: the source under which the claim is listed.
- `says`, `measured`: the claim and the computed result, each in a few words (the gaps of `measured`
  are figures and settings of the verdict).
- `cited`: the references, if they are more or other than the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Condition, Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers import read_toml


def facts() -> dict[str, dict[str, Any]]:
    """Return the table of each claim in `claims.toml`, in display order."""
    return read_toml("claims.toml")


def judged(
    key: str,
    lexicon: Lexicon,
    settings: AuditSettings,
    outcome: Outcome,
    *,
    parameters: Mapping[str, Number],
    numbers: Mapping[str, Number],
    mechanism: Mechanism | None = None,
    met: Sequence[bool] | None = None,
    fails: bool | None = None,
    limited: bool | None = None,
    **gaps: Any,
) -> Verdict:
    """Build the verdict on a claim.

    Args:
        key: key of the claim.
        lexicon: the vocabulary; named in the verdict only if there is a mechanism.
        settings: settings of the audit.
        outcome: outcome of the check.
        parameters: parameters of this check.
        numbers: figures of the verdict.
        mechanism: mechanism in the registry, if the claim is about one.
        met: for each condition, True if these settings meet it; if None, all are met; if empty, the
            verdict lists no conditions.
        fails: True to name the failing step; if None, it is named when the claim is refuted.
        limited: True to name the extent; if None, it is named when the claim is not refuted.
        gaps: values for the gaps of the sentences, in addition to `settings` and `mechanism`, and
            fields of the verdict that have no sentence in the file.
    """
    claim = facts()[key]
    filling = {"settings": settings, "mechanism": mechanism} | gaps

    def text(name: str) -> str:
        return str(gaps[name] if name in gaps else claim.get(name, "").format_map(filling))

    # An empty `met` says that no condition applies to this check, though the claim has some.
    conditions = claim.get("conditions", []) if met is None or met else []
    holding = [True] * len(conditions) if met is None else met
    return Verdict(
        key=key,
        title=text("title"),
        claim=text("claim"),
        source=text("source"),
        outcome=outcome,
        computed=text("computed"),
        command=settings.command(key, lexicon, *claim["uses"]),
        mechanism="" if mechanism is None else mechanism.short,
        # A claim about numbers alone holds on every vocabulary.
        lexicon="" if mechanism is None else lexicon.name,
        fingerprint="" if mechanism is None else lexicon.fingerprint,
        settings=dict(parameters),
        conditions=tuple(
            Condition(sentence.format_map(filling), holds)
            for sentence, holds in zip(conditions, holding, strict=True)
        ),
        extent=text("extent") if _chosen(limited, outcome is Outcome.NOT_REFUTED) else "",
        failing_step=text("failing_step") if _chosen(fails, outcome is Outcome.REFUTED) else "",
        repair=text("repair"),
        numbers=dict(numbers),
        sampler=gaps.get("sampler"),
        law=gaps.get("law"),
    )


def _chosen(given: bool | None, usual: bool) -> bool:
    return usual if given is None else given
