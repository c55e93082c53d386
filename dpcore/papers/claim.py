"""What every claim has, in one frame: its sentences, what was computed, and the verdict.

The sentences stand in `claims.toml`, a table a claim. `title`, `claim`, `source`, `conditions`,
`computed`, `extent`, `failing_step` and `repair` are those of `Verdict`, with gaps as `str.format`
has them. `uses` are the settings that change the verdict or its figures, `headline` the figures of
which the first that is there stands for it in a table, `cost` the figure of what the mechanism
costs, and `repairs` the claims that hold in its place, or that need less noise. `paper` is the
source that it stands under, `says` the claim and `measured` what was computed, each in a few words
(the gaps of `measured` are figures and settings of the verdict), and `cited` what is to be cited if
that is not the paper alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Condition, Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.written import written


def facts() -> dict[str, dict[str, Any]]:
    """What `claims.toml` says of each claim, in the order in which they are shown."""
    return written("claims.toml")


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
    """The verdict on a claim.

    Args:
        key: of the claim.
        lexicon: the vocabulary; in the verdict only if there is a mechanism.
        settings: of the audit.
        outcome: what is known.
        parameters: of this check.
        numbers: its figures.
        mechanism: of the registry, if the claim is about one.
        met: whether these settings have each condition; all have if not given, and an empty one
            leaves the conditions out.
        fails: whether the failing step is named; if not given, where the claim is refuted.
        limited: whether the extent is named; if not given, where the claim is not refuted.
        gaps: what the sentences are filled with, beside `settings` and `mechanism`; and fields of
            the verdict that no sentence of the file gives.
    """
    claim = facts()[key]
    filling = {"settings": settings, "mechanism": mechanism} | gaps

    def text(name: str) -> str:
        return str(gaps[name] if name in gaps else claim.get(name, "").format_map(filling))

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
