"""What is measured of one mechanism at the ε that were found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.trade.levels import Outputs
from dpcore.guarantee import ApproximateLocalPrivacy
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.benchmark.settings import LADDER, LOCAL, METRIC, UNIT, promise_of
from dpcore.papers.ours.equal_leakage import MEASURED, drawn
from dpcore.papers.ours.teaching import divided
from dpcore.papers.ours.tradeoff import amount_row
from dpcore.study.rows import row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.attack.trade.ground import Amount
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.labelled_trial import Material
    from dpcore.study.plan import Cell
    from dpcore.study.rows import Row
    from dpcore.study.sources import Sources

_DRAWS = 10  # outputs of every word, where who repeats what comes out is a poor attacker
_LABELLING = "sentiment"
_KEPT = ("accuracy", "majority", "auc", "nw", "cosine", "matching")
_POINTS, _BEYOND = 60, 1.5  # ε at which the line that nobody can cross is recorded, and how far
_TIMINGS, _LONG = 9, 1.0  # of the cost of a word, at most, and seconds of all of them


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """All trials of one mechanism at all its ε, or of the baseline.

    The trials of a cell have seeds from its own on, so that laws are computed once for all.

    Options: those of `Size.options`; `encoder`; `files`.
    """
    from dpcore.study.labelled_trial import Wanted, drawn_at_once, labelled_trial, read_material

    lexicon = sources.lexicon(cell.lexicon)
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    trials = [replace(cell, seed=cell.seed + i) for i in range(int(cell.option("trials")))]
    materials = [read_material(_texts(trial, sources), lexicon) for trial in trials]
    own = not cell.data
    wanted = Wanted(
        ("tf-idf",),
        ("tf-idf",) if own else (),
        int(cell.option("compared")) if own and cell.option("encoder") else 0,
        encoder=True,
    )
    draws: list[Any] = [None] * len(trials)
    if mechanism is not None:
        draws = drawn_at_once(materials, mechanism, cell.epsilons, cell.seed)
    rows = [
        each | {"seed": trial.seed}
        for trial, material, texts in zip(trials, materials, draws, strict=True)
        for each in labelled_trial(
            material, mechanism, cell.epsilons, trial.seed, wanted, drawn=texts
        )
        if each["quantity"] in _KEPT
    ]
    if own and mechanism is None:
        rows += _bounds(lexicon)
    elif own and mechanism is not None:
        rows += [*_promises(mechanism, cell), *_given_away(mechanism, cell)]
        rows += _cost(mechanism, cell, materials[0])
    return rows


def _texts(trial: Cell, sources: Sources) -> dict[str, tuple[LabelledTexts, LabelledTexts]]:
    """Texts of one trial, the same for every mechanism."""
    if not trial.data:
        both = divided(trial.shared_generator("split"))[_LABELLING]
        part = float(trial.option("part"))
        # They are in random order: the first of them are a sample.
        first, last = (texts.part(range(round(part * len(texts)))) for texts in both)
        return {_LABELLING: (first, last)}
    # The sizes and the title of the corpus, as `drawn` takes them.
    return drawn(replace(trial, options=dict(trial.option("files"))[trial.data]), sources)


def _promises(mechanism: Mechanism, cell: Cell) -> Iterator[Row]:
    """What is promised at each ε: `at` is δ, `tested_on` what ε bounds."""
    for epsilon in cell.epsilons:
        guarantee = mechanism.guarantee(epsilon)
        kind, value = promise_of(guarantee)
        delta = None
        if isinstance(guarantee, ApproximateLocalPrivacy):
            delta = math.exp(guarantee.log_delta)
        yield row(
            "promise", value, epsilon=epsilon, at=delta, variant=str(guarantee.status),
            tested_on=kind,
        )  # fmt: skip


def _given_away(mechanism: Mechanism, cell: Cell) -> list[Row]:
    """The trade-off at each ε, and `poorly attacked` where a better attacker may guess far more."""
    from dpcore.attack.trade.stronger import from_draws, poorly_attacked
    from dpcore.attack.trade.tradeoff import tradeoff

    outputs = Outputs(*cell.option("outputs")[1]).of(mechanism)
    table = tradeoff(mechanism, cell.epsilons, outputs=outputs, pairs=2, seed=cell.seed)
    amounts = [amount for amount in table.rows if amount.quantity in MEASURED]
    poor = poorly_attacked(amounts, table.before)
    if poor and not mechanism.exact_law:
        weak = [amount for amount in amounts if _weak(amount, poor)]
        better = from_draws(mechanism, weak, _DRAWS, outputs, cell.seed)
        amounts = [amount for amount in amounts if not _weak(amount, poor)] + better
        poor = frozenset()
    rows = [
        amount_row(amount, len(mechanism.lexicon) if amount.exact else outputs)
        for amount in amounts
    ]
    return rows + [row("poorly attacked", 1.0, epsilon=epsilon) for epsilon in sorted(poor)]


def _weak(amount: Amount, poor: frozenset[float]) -> bool:
    return amount.quantity == "word" and amount.epsilon in poor


def _cost(mechanism: Mechanism, cell: Cell, material: Material) -> Iterator[Row]:
    """Microseconds of the processor for a word, and over that of `UNIT`, at the middle ε."""
    from dpcore.rewrite.documents import encode_all

    texts = material.originals[: int(cell.option("timed"))]
    documents = encode_all(texts, mechanism.lexicon, for_text=False)
    epsilon = cell.epsilons[len(cell.epsilons) // 2]
    ours = _microseconds(mechanism, epsilon, documents)
    unit = ours
    if mechanism.short != UNIT:
        unit = _microseconds(create(UNIT, mechanism.lexicon), epsilon, documents)
    words = int(documents.words.size)
    yield row("cost", ours, epsilon=epsilon, count=words)
    yield row("cost ratio", ours / unit, epsilon=epsilon, count=words)


def _microseconds(mechanism: Mechanism, epsilon: float, documents: Any) -> float:
    """The median of a few times, each with laws of its own; what a lexicon needs is there."""
    from dpcore.rewrite.documents import release_seconds

    mechanism.sample(np.random.default_rng(0), np.array([0]), epsilon)
    times = [release_seconds(documents, mechanism, epsilon)]
    while len(times) < _TIMINGS and sum(times) < _LONG:
        times.append(release_seconds(documents, mechanism, epsilon))
    return 1e6 * float(np.median(times)) / int(documents.words.size)


def _bounds(lexicon: Lexicon) -> Iterator[Row]:
    """The line that no mechanism crosses: the most that is guessed under a promise of ε."""
    from dpcore.attack.frontier.meter import largest_epsilon, meter

    for kind in (METRIC, LOCAL):
        local = kind == LOCAL
        ends = [largest_epsilon(lexicon, share, local=local) for share in (0.01, LADDER[-1])]
        low, high = (0.0 if reading is None else reading.epsilon for reading in ends)
        if not 0 < low < high:
            continue
        grid = np.geomspace(0.9 * low, _BEYOND * high, _POINTS)
        for reading in meter(lexicon, grid, local=local, compute=False).rows:
            yield row(
                "bound", reading.high, epsilon=reading.epsilon, low=reading.low,
                high=reading.high, variant=kind,
            )  # fmt: skip
