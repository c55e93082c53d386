"""Claims about the line that nobody can cross, and how far from it the noise of the field runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.frontier.meter import meter
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import measure
from dpcore.measure.words import sample
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.packing.standing import ATTAINED
from dpcore.mechanisms.packing.weights import known_weights
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.outwards import at_least
from dpcore.papers.claim import judged

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon

_HALF = 0.5
_CLIPPED = ("laplace", "l2-laplace", "gaussian")
_FACTORS = np.geomspace(1.0, 64.0, 61)
_SAMPLE, _RUNS = 4, 200  # times `settings.words`; directions behind each
_TWO = 2.0
_MANY = 0.9  # of the words: a promise that permits so many guesses excludes nothing


def optimal(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """A11: the packing bound from above, the mechanism's own words that stay from below."""
    mechanism = Optimal(lexicon=lexicon)
    mechanism.strength(settings.epsilon)  # computes the weights of a small vocabulary
    table = known_weights(lexicon, Metric.EUCLIDEAN)
    epsilon = settings.epsilon
    if table is not None:
        below = table.wanted[table.wanted <= epsilon]
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
        reached="" if attained else f": {at_least(100.0 * (1.0 - gap), places=1)} % of the bound",
        gap=gap,
        reading=reading,
        moved=settings.moved_to(epsilon, "the nearest ε whose weights are known"),
    )


def neighbour_response(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A12: how many times the ε clipped noise needs to keep half of the words."""
    response = create("neighbour-response", lexicon, {"k": 1})
    # Half of the words stay where e^ε = n − 1.
    epsilon = math.log(len(lexicon) - 1)
    count, fewer = settings.sample(lexicon, _SAMPLE)
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
        # Some words were measured, by an estimate: that decides against a claim and not for it.
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
    """What the promise of metric privacy excludes at ε = 2 for each unit of distance."""
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
