"""What stands beside each claim in a table: its headline, its settings, its repairs, their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.audit.verdict import Number, Verdict

USES: dict[str, tuple[str, ...]] = {
    "xu-theorem-1": ("edge", "words", "seed"),
    "xu-lemma-1": ("edge",),
    "huang-theorem-3": ("epsilon", "clip_norm", "delta_root", "seed"),
    "huang-theorem-4": ("epsilon", "clip_norm", "delta_root", "delta"),
    "adept-published": ("epsilon", "latent", "clip_norm"),
    "pixeldp-slides": (),
    "gaussian-classical": ("epsilon", "clip_norm", "delta"),
    "carvalho-theorem-2": ("epsilon", "words", "seed"),
    "carvalho-theorem-3": ("epsilon", "words", "seed"),
    "madlib": ("epsilon", "draws", "seed"),
    "mahalanobis": ("epsilon", "draws", "seed"),
    "vickrey": ("epsilon", "draws", "seed"),
    "random-projection": ("epsilon", "draws", "seed"),
    "laplace": ("epsilon", "clip_norm"),
    "l2-laplace": ("epsilon", "clip_norm"),
    "gaussian": ("epsilon", "clip_norm", "delta"),
    "pixeldp": (),
    "truncated-gumbel-repaired": ("epsilon", "words", "seed"),
    "tem-calibrated": ("epsilon", "words", "seed"),
    "trlaplace-corrected": ("epsilon", "clip_norm", "delta"),
    "adept-a": ("epsilon", "latent", "clip_norm"),
    "adept-b": ("epsilon", "latent", "clip_norm"),
    "adept-c": ("epsilon", "latent", "clip_norm"),
}
"""Claim to the settings that change its verdict or figures; the others leave it as it is."""

_HEADLINES: dict[str, tuple[str, ...]] = {
    "xu-theorem-1": ("true epsilon, at least", "crafted: true epsilon, at least"),
    "xu-lemma-1": ("share modified, k = 1",),
    "huang-theorem-3": ("true delta",),
    "huang-theorem-4": ("deviation/C, as published (not private)",),
    "adept-published": ("true epsilon",),
    "pixeldp-slides": ("largest margin",),
    "gaussian-classical": ("true delta",),
    "carvalho-theorem-2": ("true epsilon of these words",),
    "carvalho-theorem-3": ("largest probability",),
    "madlib": ("smallest p-value",),
    "mahalanobis": ("smallest p-value",),
    "vickrey": ("smallest p-value",),
    "random-projection": ("smallest p-value",),
    "laplace": ("delta at epsilon, at most",),
    "l2-laplace": ("delta at epsilon",),
    "gaussian": ("true delta",),
    "pixeldp": ("largest margin",),
    "truncated-gumbel-repaired": ("true epsilon among these words",),
    "tem-calibrated": ("true epsilon of these words",),
    "trlaplace-corrected": ("true delta",),
    "adept-a": ("delta at epsilon, at most",),
    "adept-b": ("delta at epsilon, at most",),
    "adept-c": ("delta at epsilon, at most",),
}

REPAIRS: dict[str, tuple[str, ...]] = {
    "xu-theorem-1": ("truncated-gumbel-repaired",),
    "huang-theorem-3": ("trlaplace-corrected", "gaussian"),
    "huang-theorem-4": ("trlaplace-corrected", "gaussian"),
    "adept-published": ("adept-a", "adept-b", "adept-c"),
    "pixeldp-slides": ("pixeldp",),
    "gaussian-classical": ("gaussian",),
    "carvalho-theorem-2": ("tem-calibrated",),
}
"""Claim to the claims that hold in its place, or that need less noise."""

_COSTS: dict[str, str] = {
    "xu-theorem-1": "b",
    "huang-theorem-3": "deviation/C",
    "huang-theorem-4": "deviation/C, as published (not private)",
    "adept-published": "deviation/C",
    "gaussian-classical": "sigma/C",
    "truncated-gumbel-repaired": "noise scale b",
    "trlaplace-corrected": "deviation/C",
    "gaussian": "sigma/C",
    "adept-a": "deviation/C",
    "adept-b": "deviation/C",
    "adept-c": "deviation/C",
    "tem-calibrated": "exponent over that of TEM",
}


def headline(verdict: Verdict) -> tuple[str, Number]:
    """The one figure of a verdict for a table: its name, and its value."""
    for name in _HEADLINES[verdict.key]:
        if name in verdict.numbers:
            return name, verdict.numbers[name]
    return next(iter(verdict.numbers.items()))


def cost(verdict: Verdict) -> tuple[str, Number] | None:
    """What a mechanism costs: name and value of the figure, or None if it has none."""
    name = _COSTS.get(verdict.key)
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
