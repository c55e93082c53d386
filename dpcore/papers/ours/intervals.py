"""Intervals of counts, tried: how often they hold the truth, and how wide they are.

The words of some texts are drawn once from the bundled counts of Yelp, pass the mechanism again and
again, and are counted each time (`dpcore.crowd.estimates`, for these very texts, each interval by
itself). An interval of 95 % should hold the truth in 95 of 100 releases; where it allows for a bias
or for few outputs, it holds it in more.
"""

from __future__ import annotations

import numpy as np

from dpcore.audit.montecarlo import clopper_pearson
from dpcore.crowd.bundled import crowd
from dpcore.crowd.estimates import LEVEL, TEXTS, Estimates, OutputCounts
from dpcore.crowd.queries import of_indices
from dpcore.crowd.undo import undo
from dpcore.mechanisms.bulk import outputs_at
from dpcore.papers.ours.equal_leakage import LEVELS, arms_at
from dpcore.study.plan import Cell, Plan, Row, Study, row
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import BUNDLED

RANKS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
"""Places of the counted words among all, the commonest first."""
SIZES = (1_000, 10_000, 30_000)
"""Numbers of texts."""
REPEATED = 400
HELD, WIDTH = "interval holds truth", "half width of interval"
"""Share of releases whose interval holds the truth; mean of half its width, as a share of it."""

_AT = (1, 3)  # of `LEVELS`: a tenth and a third of the content words are guessed
_MOST = 20_000_000  # words that pass a mechanism together: some 5 GB
_LABELS = ("k-ary", "neighbour-response, k = 10")

STUDY = Study(
    "Intervals of counts: how often they hold the truth",
    "",
    Plan(
        "intervals",
        "dpcore.papers.ours.intervals:measure_intervals",
        arms_at(_LABELS, _AT),
        (BUNDLED,),
        options=(
            ("crowd", "yelp"), ("sizes", SIZES), ("ranks", RANKS), ("repeated", REPEATED),
        ),
    ),
    f"Words of {', '.join(f'{size:,}' for size in SIZES)} Yelp sentences, drawn from the bundled "
    f"counts, each made private {REPEATED} times; the words of ranks {RANKS[0]} to {RANKS[-1]:,} "
    f"are counted, where {100 * LEVELS[_AT[0]]:.0f} and {100 * LEVELS[_AT[1]]:.0f} of 100 content "
    "words are guessed.",
    rewrites=False,  # nothing is learned
)  # fmt: skip


def measure_intervals(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one mechanism at one ε.

    Options: `crowd`, whose counts are drawn from; `sizes`, numbers of texts; `ranks` of the words;
    `repeated`, releases of each.

    Returns:
        For each number of texts (`variant`) and rank (`at`) `HELD` with the interval of Clopper and
        Pearson, and the mean `WIDTH`.
    """
    lexicon, mechanism = sources.lexicon(cell.lexicon), sources.mechanism(cell)
    epsilon, repeated = cell.epsilons[0], int(cell.option("repeated"))
    texts = crowd(str(cell.option("crowd")), lexicon)
    pooled = texts.counts.sum(axis=0)
    ranks = np.array(cell.option("ranks"))
    words = np.argsort(-pooled, kind="stable")[ranks - 1]
    queries, rows = of_indices(lexicon, words), []
    for size in cell.option("sizes"):
        total = round(float(pooled.sum()) * size / float(texts.texts.sum()))
        # The same words under every mechanism.
        written = cell.shared_generator("written", size).multinomial(total, pooled / pooled.sum())
        estimators = undo(mechanism, epsilon, queries, total)
        rng, insides, widths = cell.generator("released", size), [], []
        for some in _parts(repeated, total):
            spoken = np.repeat(np.arange(len(lexicon)), written * some)
            came = outputs_at(mechanism, rng, spoken, np.array([epsilon]))[:, 0]
            release = np.arange(spoken.size) % some  # each word stands there c·some times
            outputs = np.bincount(release * len(lexicon) + came, minlength=some * len(lexicon))
            observed = OutputCounts(
                tuple(map(str, range(some))),
                np.full(some, size),
                outputs.reshape(some, len(lexicon)),
            )
            estimates = Estimates(
                mechanism.short, epsilon, TEXTS, LEVEL, False, observed, estimators
            )
            counted = estimates.rows
            low, high = (
                np.array([getattr(each, end) for each in counted]).reshape(words.size, some)
                for end in ("low", "high")
            )
            truth = written[words][:, None]
            insides.append((low <= truth) & (truth <= high))
            widths.append(0.5 * (high - low) / np.maximum(truth, 1))
        for place, rank in enumerate(ranks.tolist()):
            inside = np.concatenate([part[place] for part in insides])
            width = np.concatenate([part[place] for part in widths])
            where = {
                "epsilon": epsilon,
                "at": rank,
                "variant": f"{size} texts",
                "count": inside.size,
            }
            share = clopper_pearson(int(inside.sum()), inside.size, 0.5 * (1.0 - LEVEL))
            rows.append(row(HELD, inside.mean(), low=share[0], high=share[1], **where))
            rows.append(row(WIDTH, width.mean(), **where))
    return rows


def _parts(repeated: int, total: int) -> list[int]:
    """Return how many releases pass together, so that their words fit in memory."""
    most = max(1, _MOST // max(total, 1))
    return [min(most, repeated - start) for start in range(0, repeated, most)]
