"""Claims about our mechanisms: noise certified on one lexicon (A4r, A5c), budgets and the bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.bounds.meter import meter
from dpcore.audit.exact import LawAudit, audit_mechanism
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import measure
from dpcore.measure.words import sample
from dpcore.mechanisms.certificate import CalibratedMechanism
from dpcore.mechanisms.exponential.budget import Budget
from dpcore.mechanisms.exponential.optimal import ATTAINED, Optimal
from dpcore.mechanisms.exponential.packing import known_weights
from dpcore.mechanisms.exponential.santext import SanText
from dpcore.mechanisms.exponential.tem import TemCalibrated
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.outwards import at_least
from dpcore.papers.carvalho2021.claims import (
    LITTLE_CUT,
    audit_tem,
    loss_numbers,
    truncating_epsilon,
)
from dpcore.papers.claim import judged
from dpcore.papers.field.candidates import nearest_of_each, proved, sampled_words
from dpcore.written import Filled, Numeral

_SAMPLE = 5  # times `settings.words`: private words compared for the repair of truncated Gumbel


def _verdict(
    mechanism: CalibratedMechanism,
    audit: LawAudit,
    settings: AuditSettings,
    numbers: dict[str, Number],
    **gaps: Any,
) -> Verdict:
    """Judge as checked where a certificate decides, else as proved; a loss refutes both."""
    epsilon = audit.losses.epsilon
    guarantee = mechanism.guarantee(epsilon)
    certified = guarantee.status is Status.CERTIFIED
    outcome = Outcome.CHECKED if certified else Outcome.PROVED
    return judged(
        mechanism.short,
        mechanism.lexicon,
        settings,
        outcome if audit.losses.holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, **mechanism.settings(), "words": audit.words}
        | ({} if audit.complete else {"seed": settings.seed}),
        numbers=numbers,
        # Where the theorem decides, no certificate is needed.
        met=(True,) if certified else (),
        epsilon=epsilon,
        guarantee=guarantee,
        **gaps,
    )


def gumbel_repaired(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check A4r: the bound for every vocabulary, and the exact loss of some words of this one."""
    mechanism = TruncatedGumbelRepaired(lexicon=lexicon)
    low = mechanism.admissible.low
    epsilon = max(settings.epsilon, 1.5 * low)
    count, fewer = settings.sample(lexicon, _SAMPLE)
    audit = audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed, progress=progress)
    numbers: dict[str, Number] = {
        "claimed epsilon": epsilon,
        "true epsilon among these words": audit.losses.epsilon_effective,
        "noise scale b": mechanism.noise_scale(epsilon),
        "lowest epsilon": low,
    }
    least = Filled("1.5 times its lowest ε, {low:.4g}, is the least audited", low=low)
    moved = settings.moved_to(epsilon, least)
    return _verdict(mechanism, audit, settings, numbers, count=count, fewer=fewer, moved=moved)


def tem_calibrated(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check A5c: the largest exponent whose exact loss over all pairs is ε."""
    mechanism = TemCalibrated(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    audit, fewer = audit_tem(mechanism, settings, progress)
    gain = mechanism.nominal(epsilon) / epsilon
    numbers = loss_numbers(audit, lexicon) | {"exponent over that of TEM": gain}
    moved = settings.moved_to(epsilon, LITTLE_CUT)
    gaps = {"method": audit.method, "gain": gain, "fewer": fewer, "moved": moved}
    return _verdict(mechanism, audit, settings, numbers, **gaps)


# Claims about a separate ε for each word, set by a public rule: the obvious form, two repairs.


_SHARE = 0.2  # of ε, for the rarer half of the words
_LINE = (0.0, 0.1, 10.0)  # two close words, and a far one


def rule_of(lexicon: Lexicon) -> str:
    """Return the rule that gives the rarer half of the words a fifth of ε."""
    return f"rank>{len(lexicon) // 2}:{_SHARE}"


def own_epsilon(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the exponential mechanism, run for each word at the ε of that word."""
    epsilon = settings.epsilon
    line = Lexicon("crafted", ("a", "b", "c"), np.array(_LINE, dtype=np.float32)[:, None])
    crafted, promised = losses_at_own_epsilons(
        line, epsilon, np.array([0]), np.array([1]), np.array([_SHARE]), np.ones(1)
    )
    words, fewer = sampled_words(lexicon, settings)
    near, half = nearest_of_each(lexicon, words), len(lexicon) // 2
    shares = [np.where(side < half, 1.0, _SHARE) for side in (words, near)]
    different = shares[0] != shares[1]
    true, allowed = losses_at_own_epsilons(lexicon, epsilon, words, near, *shares)
    progress("words", words.size, words.size)
    # Pairs with one share keep the guarantee: they have the same mechanism.
    times = (true / allowed)[different]
    return judged(
        "budget-own-epsilon",
        lexicon,
        settings,
        Outcome.REFUTED if crafted[0] > promised[0] else Outcome.NOT_REFUTED,
        parameters={"epsilon": epsilon, "share": _SHARE, "words": int(words.size),
                    "seed": settings.seed},
        numbers={
            "claimed loss of crafted words": float(promised[0]),
            "true loss of crafted words": float(crafted[0]),
            "pairs of nearest words with different budgets": int(times.size),
            "of these, the loss over the claimed one, largest": float(times.max(initial=0.0)),
        },
        met=(False,),
        fewer=fewer,
        count=int(words.size),
    )  # fmt: skip


def losses_at_own_epsilons(
    lexicon: Lexicon,
    epsilon: float,
    words: IntArray,
    others: IntArray,
    shares: FloatArray,
    other_shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the largest loss of each pair with two separate ε, and ε·d of the larger ε.

    Args:
        lexicon: words and vectors.
        epsilon: of share 1.
        words: shape (k,).
        others: shape (k,).
        shares: of `words`, shape (k,).
        other_shares: of `others`, shape (k,).
    """
    mechanism, true, claimed = SanText(lexicon=lexicon), [], []
    for w, v, r, s in zip(words, others, shares, other_shares, strict=True):
        logs = mechanism.log_law(int(w), epsilon * r), mechanism.log_law(int(v), epsilon * s)
        # Over all outputs, in both directions: the definition of the loss.
        true.append(float(np.abs(logs[0] - logs[1]).max()))
        apart = distances(lexicon.vectors[[v]], lexicon.vectors[[w]])[0, 0]
        claimed.append(epsilon * float(max(r, s)) * float(apart))
    return np.array(true), np.array(claimed)


def budget(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the public budgets: the loss within one budget, and between two."""
    mechanism = Budget(lexicon=lexicon, rule=rule_of(lexicon))
    return proved(
        "budget",
        mechanism,
        settings,
        progress,
        numbers={"largest loss of two words of different budgets": settings.epsilon
                 * mechanism.apart},
    )  # fmt: skip


def budget_any(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check each budget against all words, and its cost for the others."""
    mechanism = Budget(lexicon=lexicon, rule=rule_of(lexicon), promise="any")
    return proved(
        "budget-any",
        mechanism,
        settings,
        progress,
        numbers={"epsilon left to two words of the largest budget, median": settings.epsilon
                 * mechanism.left},
    )  # fmt: skip


# Claims about the bound for every mechanism, and the distance of clipped noise from it.


_HALF = 0.5
_CLIPPED = ("laplace", "l2-laplace", "gaussian")
_FACTORS = np.geomspace(1.0, 64.0, 61)
_SAMPLE_FRONTIER, _RUNS = 4, 200  # times `settings.words`; directions behind each
_TWO = 2.0
_MANY = 0.9  # of the words: a guarantee that permits so many guesses excludes nothing


def optimal(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check A11: the packing bound from above, the share of words that stay from below."""
    mechanism = Optimal(lexicon=lexicon)
    mechanism.strength(settings.epsilon)  # computes the weights of a small vocabulary
    table = known_weights(lexicon, Metric.EUCLIDEAN)
    epsilon = settings.epsilon
    if table is not None:
        below = table.wanted[table.wanted <= epsilon]
        # At an ε whose weights are known: for others they would take minutes to compute.
        epsilon = float(below[-1] if below.size else table.wanted[0])
    (reading,) = meter(lexicon, epsilon, compute=table is None, progress=progress).rows
    gap = (reading.high - reading.low) / reading.high
    attained = gap <= ATTAINED
    numbers: dict[str, Number] = {
        "no mechanism gives away more than": reading.high,
        "this one gives away": reading.low,
        "relative gap": gap,
        "exponent over epsilon": mechanism.strength(epsilon) / epsilon,
    }
    return judged(
        "optimal",
        lexicon,
        settings,
        Outcome.CHECKED if attained else Outcome.NOT_REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, **mechanism.settings()},
        numbers=numbers,
        met=[True, attained],
        epsilon=epsilon,
        reached=""
        if attained
        else Filled(
            ": {percent} % of the bound", percent=Numeral(at_least(100.0 * (1.0 - gap), places=1))
        ),
        gap=gap,
        reading=reading,
        moved=settings.moved_to(epsilon, Filled("the nearest ε whose weights are known")),
    )


def neighbour_response(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check A12: how many times the ε clipped noise needs to keep half of the words."""
    # k = 1 is randomised response over all words, for which half is a closed form.
    response = create("neighbour-response", lexicon, {"k": 1})
    # Half of the words stay where e^ε = n − 1.
    epsilon = math.log(len(lexicon) - 1)
    count, fewer = settings.sample(lexicon, _SAMPLE_FRONTIER)
    words = sample(lexicon, count, generator(settings.seed, "words of neighbour-response"))
    numbers: dict[str, Number] = {"epsilon of neighbour-response": epsilon}
    least = math.inf
    for short in _CLIPPED:
        measured = measure(
            create(short, lexicon, {}), words, epsilon * _FACTORS, runs=_RUNS, seed=settings.seed
        ).figures
        # The largest factor below which it certainly keeps less: monotone but for its noise.
        short_of_half = np.flatnonzero(measured.nw_mean_high >= _HALF)
        factor = float(_FACTORS[max(int(short_of_half[0]) - 1, 0)]) if short_of_half.size else 64.0
        numbers[f"times as much for {short}, at least"] = factor
        numbers[f"{short} keeps at this epsilon"] = float(measured.nw[:, 0].mean())
        least = min(least, factor)
    return judged(
        "neighbour-response",
        lexicon,
        settings,
        # An estimate on some words can refute a claim, and cannot confirm it.
        Outcome.NOT_REFUTED if least > 1.0 else Outcome.REFUTED,
        mechanism=response,
        parameters={"epsilon": epsilon, "words": count, "runs": _RUNS, "seed": settings.seed},
        numbers=numbers,
        epsilon=epsilon,
        least=least,
        count=count,
        fewer=fewer,
    )


def epsilon_two(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the exclusions of metric privacy's guarantee at ε = 2 per unit of distance."""
    mechanism = Optimal(lexicon=lexicon)
    mechanism.strength(_TWO)
    compute = known_weights(lexicon, Metric.EUCLIDEAN) is None
    (reading,) = meter(lexicon, _TWO, compute=compute, progress=progress).rows
    extent = lexicon.extent
    numbers: dict[str, Number] = {
        "guessed at best, at least": reading.low,
        "guessed at best, at most": reading.high,
        "least distance of two words": extent.separation,
        "largest distance of two words": extent.diameter,
    }
    # Both ends decide: the bound from above refutes, a mechanism from below shows.
    outcome = Outcome.REFUTED if reading.high < _MANY else Outcome.NOT_REFUTED
    if reading.low >= _MANY:
        outcome = Outcome.CHECKED
    return judged(
        "epsilon-two",
        lexicon,
        settings,
        outcome,
        mechanism=mechanism,
        parameters={"epsilon": _TWO},
        numbers=numbers,
        reading=reading,
    )
