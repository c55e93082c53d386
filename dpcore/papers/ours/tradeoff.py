"""Recorded leakage and utility of every mechanism on the bundled lexicon.

`STUDY` is the trade-off for a stranger who takes all words for equally likely. `LEAK` is what
someone guesses who knows how common content words are: the number that every dial shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dpcore.attack.leak import COUNTS, Leak, leak
from dpcore.attack.output.prior import parse_prior
from dpcore.attack.trade.attackers import from_laws, shares_from_samples
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import (
    BAYES,
    COUNTED,
    GUESSED,
    KEPT,
    LEAKAGES,
    LEARNED,
    MEANT,
    NEARLY,
    UTILITIES,
    Amount,
)
from dpcore.attack.trade.tradeoff import left_of_words, tradeoff
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.study.plan import Arm, Cell, Plan, Row, Settings, Study, row
from dpcore.study.recorded import read_bundled, read_recorded
from dpcore.study.runner import Sources

_LOCAL = (5.0, 6.0, 7.0, 8.0, 8.5, 9.0, 9.5, 10.0, 11.0, 12.0)
_NOISE = (5.5, 7.0, 8.5, 9.5, 10.5, 11.5, 13.0, 14.0, 16.0, 18.0, 20.0)
# At these ε about .01, .03, .07, .13, .2, .3, .4, .55, .7, .85 and .95 of the words stay.
ARMS = (
    Arm("optimal", (0.8, 0.9, 1.0, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 2.0)),
    Arm("tem", (1.4, 1.7, 2.0, 2.15, 2.3, 2.4, 2.6, 2.75, 2.9, 3.2, 3.5)),
    Arm("tem-calibrated", (0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)),
    Arm("truncated-gumbel-repaired", (5.0, 20.0)),
    Arm("truncated-gumbel", (28.0, 170.0, 1100.0, 22000.0, 2.5e6)),
    Arm("madlib", _NOISE),
    Arm("mahalanobis", _NOISE),
    Arm("vickrey", (5.9, 7.6, 9.4, 11.3, 13.6, 18.0, 27.0, 38.0, 52.0, 125.0, 230.0, 455.0)),
    Arm("random-projection", (3.6, 4.6, 5.7, 6.5, 7.3, 8.2, 9.1, 10.0, 11.5, 13.0, 16.0)),
    Arm("k-ary", _LOCAL),
    *(
        Arm("neighbour-response", _LOCAL, (("k", k),), f"neighbour-response, k = {k}")
        for k in (3, 10, 30, 100)
    ),
    Arm("laplace", (80.0, 105.0, 125.0, 145.0, 160.0, 175.0, 195.0, 215.0, 240.0, 275.0, 320.0)),
    Arm("l2-laplace", (58.0, 74.0, 88.0, 100.0, 110.0, 125.0, 137.0, 150.0, 170.0, 190.0, 225.0)),
    Arm("gaussian", (20.0, 27.0, 35.0, 42.0, 49.0, 56.0, 65.0, 75.0, 87.0, 106.0, 130.0)),
    Arm("trlaplace-corrected", (74.0, 110.0, 150.0, 185.0, 210.0, 240.0, 275.0, 430.0)),
    Arm("santext", (1.6, 1.9, 2.15, 2.4, 2.55, 2.7, 2.9, 3.1, 3.3, 3.6)),
    Arm("santext-plus", (1.0, 2.0, 2.5, 3.0, 3.5, 4.0)),
    Arm("custext", (1.0, 3.0, 5.0, 7.0, 10.0, 15.0)),
    Arm("diffractor", (0.02, 0.06, 0.14, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0)),
    Arm("syntf", (11.0, 15.0, 18.0, 20.0, 22.0, 25.0, 28.0)),
    Arm("adept-l1", (67.0, 85.0, 103.0, 120.0, 131.0, 146.0, 161.0, 177.0, 198.0, 225.0, 266.0)),
)
OUTPUTS, PAIRS = 5_000, 60

STUDY = Study(
    "The trade-off of the mechanisms on the bundled lexicon",
    "",
    Plan(
        "trade-off",
        "dpcore.papers.ours.tradeoff:measure_tradeoff",
        ARMS,
        ("bundled",),
        options=(("outputs", OUTPUTS), ("pairs", PAIRS)),
        together=True,
    ),
    f"{OUTPUTS:,} of the 25,000 outputs where a column of the law is a closed form, elsewhere "
    f"{3 * OUTPUTS // 2:,} pairs of word and output; {PAIRS} pairs of words told apart.",
    rewrites=False,  # no texts: nothing is learned from them
)


def measure_tradeoff(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at all its ε; the column `variant` names the attacker.

    Options: `outputs` and `pairs`, as for `dpcore.attack.trade.tradeoff.tradeoff`.
    """
    outputs, pairs = int(cell.option("outputs")), int(cell.option("pairs"))
    table = tradeoff(
        sources.mechanism(cell), cell.epsilons, outputs=outputs, pairs=pairs, seed=cell.seed
    )
    n = len(sources.lexicon(cell.lexicon))
    return [amount_row(amount, n if amount.exact else outputs) for amount in table.rows]


def amount_row(amount: Amount, count: int) -> Row:
    """Return a number of a trade-off as a row; the column `variant` names the attacker.

    Args:
        amount: the number.
        count: number of outputs behind it.
    """
    return row(
        amount.quantity,
        amount.value,
        epsilon=amount.epsilon,
        variant=amount.attacker,
        low=amount.low,
        high=amount.high,
        count=count,
    )


LEAKED = {"word": GUESSED, "near": NEARLY}
"""Quantities of a trade-off for the stranger who knows how common words are, by the gain."""
_BEFORE = "before"  # variant of the rows with the share guessed before anything is released

_ATTACKERS: dict[str, Settings] = {
    # A column takes an integral for every word; the laws of all words, summed, give the very word.
    "truncated-gumbel": (("draws", 200), ("laws", True)),
    # It often answers with a neighbour: repeating the output guesses less than having learned.
    "vickrey": (("learned", 20),),
}

LEAK = Study(
    "Content words guessed by someone who knows how common they are, on the bundled lexicon",
    "",
    Plan(
        "leak",
        "dpcore.papers.ours.tradeoff:measure_leak",
        tuple(replace(arm, options=_ATTACKERS.get(arm.name, ())) for arm in ARMS),
        ("bundled",),
        options=(("draws", 10_000),),
        together=True,
    ),
    "All outputs where a column of the law is a closed form; elsewhere 10,000 content words, drawn "
    "as frequent as they are, with their outputs, or all laws where a column takes integrals (200 "
    "outputs for a near word).",
    rewrites=False,
)


def measure_leak(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at all its ε; the column `variant` names the attacker.

    Options: `draws`, as for `dpcore.attack.leak.leak`; `learned` and `laws`, as for `leaked`.
    """
    mechanism, draws = sources.mechanism(cell), int(cell.option("draws"))
    learned, laws = int(cell.option("learned", 0)), bool(cell.option("laws", False))
    rows: list[Row] = []
    for gain, each in leaked(mechanism, cell.epsilons, COUNTS, draws, cell.seed, learned, laws):
        at = {"epsilon": each.epsilon}
        ends = {"low": each.low, "high": each.high}
        rows.append(row(gain, each.after, variant=each.attacker, **ends, **at))
        rows.append(row(gain, each.before, variant=_BEFORE, **at))
    return rows


def leaked(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    stranger: str,
    draws: int,
    seed: int,
    learned: int = 0,
    laws: bool = False,
) -> Iterator[tuple[str, Leak]]:
    """Yield the gain, of `LEAKED`, and the success of the stranger, for each ε.

    Args:
        mechanism: any mechanism.
        epsilons: values that it admits.
        stranger: of `dpcore.attack.leak.STRANGERS`.
        draws: as for `dpcore.attack.leak.leak`.
        seed: as for `dpcore.attack.leak.leak`.
        learned: outputs of every word that one more attacker has (`shares_from_samples`); 0 for
            none. Of two lower bounds the larger one counts.
        laws: True to sum the laws of all words for the very word (`from_laws`).
    """
    prior = parse_prior(mechanism.lexicon, stranger)
    shares = [(0.0, 0.0, 0.0)] * len(epsilons)
    if laws:
        sums, error = from_laws(mechanism, np.asarray(epsilons), prior=prior)
        shares = [(share, share - error, share + error) for share in sums.tolist()]
    elif learned:
        shares = shares_from_samples(mechanism, epsilons, learned, draws, seed, prior=prior)
    for gain in LEAKED:
        leaks = leak(mechanism, epsilons, stranger, gain, draws=draws, seed=seed)
        for each, (share, low, high) in zip(leaks, shares, strict=True):
            if laws and gain == "word":
                each = replace(each, after=share, low=low, high=high, exact=True, attacker=BAYES)
            elif learned and share > each.after:
                each = replace(each, after=share, low=low, high=high, attacker=LEARNED)
            else:  # the guess of the very word is one of a near word too
                after, least = max(share, each.after), max(low, each.low)
                each = replace(each, after=after, low=least, high=max(after, each.high))
            yield gain, each


LEFT = Study(
    "Content words left as they occur in text, on the bundled lexicon",
    "",
    Plan(
        "left",
        "dpcore.papers.ours.tradeoff:measure_left",
        ARMS,
        ("bundled",),
        options=(("draws", 40_000),),
        together=True,
    ),
    "40,000 content words, drawn as frequent as they are, with their outputs.",
    rewrites=False,
)


def measure_left(cell: Cell, sources: Sources) -> list[Row]:
    """Measure the utility left by one mechanism at all its ε.

    Option: `draws`, the number of words, as for `dpcore.attack.trade.tradeoff.left_of_words`.
    """
    draws = int(cell.option("draws"))
    rows = left_of_words(sources.mechanism(cell), cell.epsilons, draws, cell.seed)
    return [amount_row(each, draws) for each in rows]


COUNTING = "counted"
"""Name of the record of `dpcore.papers.ours.counted`."""


@cache
def recorded_curves() -> dict[str, TradeCurve]:
    """Read the four records by the labels of their curves, in the order of `ARMS`.

    Quantities are `LEAKAGES` and `UTILITIES`, all words equally likely, and those of `LEAK`,
    `LEFT` and `COUNTING`, content words as often as they occur.

    Raises:
        StudyError: a record is missing or damaged.
    """
    rows = read_recorded(STUDY.name).table
    rows = rows[rows["quantity"].isin(LEAKAGES + UTILITIES)]
    leaks = read_recorded(LEAK.name).table
    leaks = leaks[leaks["quantity"].isin(LEAKED) & (leaks["variant"] != _BEFORE)]
    left = read_recorded(LEFT.name).table
    counted = read_recorded(COUNTING).table
    more = [
        leaks.replace({"quantity": LEAKED}),
        left[left["quantity"].isin((KEPT, MEANT))],
        counted[counted["quantity"].isin(COUNTED.values())],
    ]
    curves = {}
    for label, some in rows.groupby("label", sort=False):
        whole = TradeCurve.of(some, BAYES)
        for table in more:
            of_one = table[table["label"] == label]
            if not len(of_one):
                continue  # it cannot be counted in its texts
            part = TradeCurve.of(of_one, BAYES)
            amounts, weaker = whole.amounts | part.amounts, whole.at_least | part.at_least
            whole = replace(whole, amounts=amounts, at_least=weaker)
        if GUESSED in whole.at_least:
            # Who repeats the output guesses the words that stay, of which more were drawn.
            most = np.maximum(whole.amounts[GUESSED], whole.amounts[KEPT])
            whole = replace(whole, amounts=whole.amounts | {GUESSED: most})
        curves[str(label)] = whole
    return curves


@cache
def recorded_before() -> dict[str, float]:
    """Return the shares guessed before anything is released, `GUESSED` and `NEARLY`.

    Raises:
        StudyError: as `recorded_curves`.
    """
    rows = read_recorded(LEAK.name).table
    rows = rows[rows["variant"] == _BEFORE].drop_duplicates("quantity")
    return {
        LEAKED[quantity]: float(share)
        for quantity, share in zip(rows["quantity"], rows["value"], strict=True)
    }


@cache
def _recorded_on() -> frozenset[str]:
    """Return fingerprints of the recorded lexicon, from the manifest, which needs no package."""
    entries = [entry for entry in read_bundled() if entry.name == STUDY.name]
    return frozenset(str(each["fingerprint"]) for entry in entries for each in entry.lexicons)


def recorded_curve(mechanism: Mechanism) -> TradeCurve | None:
    """Return the record of a mechanism with these settings on this lexicon; None if there is none.

    Raises:
        StudyError: as `recorded_curves`.
        MissingPackageError: there is a record, and pandas or pyarrow is not installed.
    """
    if mechanism.lexicon.fingerprint not in _recorded_on():
        return None
    for arm in ARMS:
        if arm.mechanism == mechanism.short:
            recorded = type(mechanism)(lexicon=mechanism.lexicon, **dict(arm.settings))
            if recorded.settings() == mechanism.settings():
                return recorded_curves()[arm.name]
    return None
