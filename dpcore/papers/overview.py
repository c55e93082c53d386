"""Overview of the claims: source, headline, repairs and cost of each, and BibTeX entries."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dpcore
from dpcore.audit.verdict import Number, Verdict
from dpcore.papers.claim import facts
from dpcore.plots.style import number


@dataclass(frozen=True)
class Paper:
    """A paper or group under which claims and figures are listed.

    Attributes:
        title: authors and year.
        cited: keys of BibTeX entries.
    """

    title: str
    cited: tuple[str, ...] = ()


PAPERS: dict[str, Paper] = {
    "xu2021": Paper("Xu et al. 2021", ("xu2021gumbel",)),
    "carvalho2021": Paper("Carvalho et al. 2021", ("carvalho2021tem",)),
    "huang2024": Paper("Huang et al. 2024, and what it compares with", ("huang2024trlaplace",)),
    "habernal2021": Paper(
        "Habernal 2021, on ADePT (Krishna et al. 2021)",
        ("habernal2021detail", "krishna2021adept"),
    ),
    "lecuyer2019": Paper("Lecuyer et al. 2019, PixelDP", ("lecuyer2019pixeldp",)),
    "feyisetan2020": Paper("Feyisetan et al. 2020, and its family", ("feyisetan2020madlib",)),
    "feyisetan2019": Paper("Feyisetan et al. 2019, hyperbolic noise", ("feyisetan2019hyperbolic",)),
    "yue2021": Paper("Yue et al. 2021, SanText", ("yue2021santext",)),
    "chen2023": Paper("Chen et al. 2023, CusText", ("chen2023custext",)),
    "tong2023": Paper("Tong et al. 2023, RANTEXT", ("tong2023inferdpt",)),
    "defaveri2024": Paper("De Faveri et al. 2024, words blending boxes", ("defaveri2024wbb",)),
    "meisenbacher2024": Paper(
        "Meisenbacher et al. 2024, 1-Diffractor", ("meisenbacher2024diffractor",)
    ),
    "weggenmann2018": Paper("Weggenmann, Kerschbaum 2018, SynTF", ("weggenmann2018syntf",)),
    "utpala2023": Paper("Utpala et al. 2023, DP-Prompt", ("utpala2023dpprompt",)),
    "meisenbacher2024mlm": Paper("Meisenbacher et al. 2024, DP-MLM", ("meisenbacher2024dpmlm",)),
    "krco2026": Paper("Krčo et al. 2026, RAT-Bench", ("krco2026ratbench",)),
    "texts": Paper("Steps of methods for whole texts"),
    "ours": Paper("Ours"),
}
"""Sources of claims and experiments, in display order."""
PAPER: dict[str, str] = {key: str(claim["paper"]) for key, claim in facts().items()}
"""Claim to the key of its source in `PAPERS`."""
SAYS: dict[str, str] = {key: str(claim["says"]) for key, claim in facts().items()}
"""Claim to its statement in a few words."""
CITED: dict[str, tuple[str, ...]] = {
    key: tuple(claim.get("cited", PAPERS[claim["paper"]].cited)) for key, claim in facts().items()
}
"""Claim to the keys of the BibTeX entries of its source."""
USES: dict[str, tuple[str, ...]] = {key: tuple(claim["uses"]) for key, claim in facts().items()}
"""Claim to the settings that change its verdict or figures; other settings have no effect."""
REPAIRS: dict[str, tuple[str, ...]] = {
    key: tuple(claim["repairs"]) for key, claim in facts().items() if "repairs" in claim
}
"""Claim to the claims that hold instead, or that need less noise."""


def headline(verdict: Verdict) -> tuple[str, Number]:
    """Return name and value of the one figure that represents a verdict in a table."""
    for name in facts()[verdict.key]["headline"]:
        if name in verdict.numbers:
            return name, verdict.numbers[name]
    return next(iter(verdict.numbers.items()))


class _Gap:
    """A figure in a sentence, formatted with three digits.

    The format "down" rounds a lower bound down so that it stays true, "%" gives a percentage, and
    "share" writes a small probability as "1 in 20,000".
    """

    def __init__(self, value: Number) -> None:
        self._value = value

    def __format__(self, form: str) -> str:
        value = self._value
        if isinstance(value, str):  # a word, or a number that is too small for a float
            return "nearly 0" if form == "share" and "e-" in value else value
        if form == "%":
            return f"{100 * value:.3g} %"
        if form == "share" and value <= _SMALL:
            return _one_in(value)
        if form == "down" and value > 0:
            step = 10.0 ** (math.floor(math.log10(value)) - 2)
            value = step * math.floor(value / step)
        return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


_SMALL, _NEARLY = 0.001, 1e-9


def _one_in(share: float) -> str:
    if share <= _NEARLY:
        return "0" if share == 0 else "nearly 0"
    return f"1 in {float(f'{1 / share:.3g}'):,.0f}"


def measured(verdict: Verdict) -> str:
    """Describe the computed result in a few words with one or two figures of three digits."""
    gaps = {name: _Gap(value) for name, value in (verdict.settings | verdict.numbers).items()}
    try:
        return str(facts()[verdict.key]["measured"]).format_map(gaps)
    except KeyError:  # the figure does not exist on this vocabulary or at these settings
        name, value = headline(verdict)
        return f"{name}: {brief(value)}"


def brief(value: Number) -> str:
    """Format a figure of a verdict with three digits."""
    return f"{_Gap(value)}"


def cost(verdict: Verdict) -> tuple[str, Number] | None:
    """Return name and value of the cost figure of a mechanism, or None if it has none."""
    name = facts()[verdict.key].get("cost")
    if name is None or name not in verdict.numbers:
        return None
    return name, verdict.numbers[name]


def shown(value: Number) -> str:
    """Format a figure with three digits; just below 1, give its difference from 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    text = number(value)
    return f"1 − {1 - value:.2g}" if text == "1" and value < 1 - 1e-12 else text


# BibTeX entries of the papers and of this laboratory.


LABORATORY = "wordprivacylab"
"""Key of this laboratory's entry, which has the current version."""
_YEAR = 2026  # of this version

_FILE = Path(__file__).parent / "sources.bib"
_KEY = re.compile(r"@\w+\{([^,\s]+),")


@cache
def entries() -> dict[str, str]:
    """Return the entries of `sources.bib` by key, in file order, followed by the laboratory's."""
    written = (part.strip() for part in _FILE.read_text("utf-8").split("\n\n"))
    papers = {match[1]: part for part in written if (match := _KEY.match(part))}
    laboratory = (
        f"@software{{{LABORATORY},\n"
        "  author = {{The Word Privacy Lab authors}},\n"
        "  title = {{Word Privacy Lab}},\n"
        f"  year = {{{_YEAR}}},\n"
        f"  version = {{{dpcore.__version__}}},\n"
        "  license = {Apache-2.0}\n}"
    )
    return papers | {LABORATORY: laboratory}


def bibtex(*keys: str) -> str:
    """Return the entries of these keys, each once, followed by the laboratory's.

    Args:
        keys: BibTeX keys, such as "xu2021gumbel".

    Raises:
        KeyError: there is no such entry.
    """
    return "\n\n".join(entries()[key] for key in dict.fromkeys((*keys, LABORATORY)))
