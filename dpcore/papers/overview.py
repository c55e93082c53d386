"""What stands beside each claim in a table: its headline, its settings, its repairs, their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.papers.claim import facts

if TYPE_CHECKING:
    from dpcore.audit.verdict import Number, Verdict

USES: dict[str, tuple[str, ...]] = {key: tuple(claim["uses"]) for key, claim in facts().items()}
"""Claim to the settings that change its verdict or figures; the others leave it as it is."""
REPAIRS: dict[str, tuple[str, ...]] = {
    key: tuple(claim["repairs"]) for key, claim in facts().items() if "repairs" in claim
}
"""Claim to the claims that hold in its place, or that need less noise."""


def headline(verdict: Verdict) -> tuple[str, Number]:
    """The one figure of a verdict for a table: its name, and its value."""
    for name in facts()[verdict.key]["headline"]:
        if name in verdict.numbers:
            return name, verdict.numbers[name]
    return next(iter(verdict.numbers.items()))


def cost(verdict: Verdict) -> tuple[str, Number] | None:
    """What a mechanism costs: name and value of the figure, or None if it has none."""
    name = facts()[verdict.key].get("cost")
    if name is None or name not in verdict.numbers:
        return None
    return name, verdict.numbers[name]


def shown(value: Number) -> str:
    """A figure of a verdict as text: four digits, and what is missing to 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.4g}"
    return f"1 − {1 - value:.2g}" if text == "1" and value < 1 - 1e-12 else text
