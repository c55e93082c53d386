"""Measurements of one mechanism at the ε found for each level, and the search for these ε."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.attack.bounds.meter import largest_epsilon, meter
from dpcore.attack.leak import COUNTS, EQUAL
from dpcore.attack.output.prior import parse_prior
from dpcore.attack.trade.attackers import from_draws, poorly_attacked
from dpcore.attack.trade.ground import GUESSED, Amount
from dpcore.attack.trade.levels import Outputs, epsilons_at, first_epsilons
from dpcore.attack.trade.tradeoff import left_of_words, tradeoff
from dpcore.errors import DpcoreError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy, Status
from dpcore.learn.corpus import LabelledTexts
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create, resolve
from dpcore.papers.ours.equal_leakage import MEASURED, corpus_parts
from dpcore.papers.ours.teaching import divided
from dpcore.papers.ours.tradeoff import LEAKED, amount_row, leaked, recorded_curve
from dpcore.rewrite.documents import encode_all, release_seconds
from dpcore.study.labelled_trial import (
    Material,
    Wanted,
    drawn_at_once,
    labelled_trial,
    read_material,
)
from dpcore.study.plan import Arm, Cell, Given, Plan, Row, Settings, row
from dpcore.study.runner import Sources

# Sizes and levels of the benchmark, and the measurements of one cell.


LEVELS = (0.05, 0.10, 0.25)
"""Shares of words guessed by the stranger."""
LADDER = (0.02, 0.05, 0.10, 0.25, 0.50)
"""The same levels and more: a curve of each mechanism, between whose points an AUC is met."""
ATTACK_LEVELS = (0.55, 0.60, 0.70)
"""AUC of the attacker on membership; .5 is a coin."""
METRIC, LOCAL = "metric", "local"
"""What a guaranteed ε bounds: the loss per unit of Euclidean distance, or between any two words."""
HOLDS = (Status.PROVED, Status.CERTIFIED)
UNIT = "k-ary"
"""Mechanism whose cost per word is 1."""
VARIANTS: tuple[tuple[str, Settings], ...] = (
    ("neighbour-response", (("k", 3),)),
    ("neighbour-response", (("k", 30),)),
)
"""Beside the default settings: k moves the output between the word itself and a similar word."""
SEARCH = Outputs(100, 60, 2_000)
FINAL = Outputs(200, 300, 4_000)
"""Outputs used to search for ε, and for the recorded numbers: where columns are closed forms, the
share is known to one or two percent of itself; pairs of word and output give it to a tenth of
itself where it is .05."""


@dataclass(frozen=True)
class Size:
    """Size of a benchmark.

    Attributes:
        trials: number of trials, each with its own split of the texts.
        part: share of the texts of the teaching corpus that is used.
        compared: test texts of each trial whose meaning is compared, by the encoder.
        timed: texts whose rewriting is timed.
        outputs: outputs used to search for ε, and at the ε that were found.
        calibrate: True to certify noise for a lexicon first, where that takes minutes.
        stranger: who guesses the words, of `dpcore.attack.leak.STRANGERS`.
    """

    trials: int = 4
    part: float = 0.4
    compared: int = 4
    timed: int = 60
    outputs: tuple[Outputs, Outputs] = (SEARCH, FINAL)
    calibrate: bool = True
    stranger: str = COUNTS

    @property
    def options(self) -> Settings:
        """Options for a plan."""
        found = [(o.columns, o.laws, o.draws) for o in self.outputs]
        return (
            ("trials", self.trials), ("part", self.part), ("compared", self.compared),
            ("timed", self.timed), ("outputs", tuple(found)), ("stranger", self.stranger),
        )  # fmt: skip


WHOLE = Size()
QUICK = Size(
    trials=2, part=0.2, compared=0, timed=10, calibrate=False,
    outputs=(Outputs(100, 60, 1_000), Outputs(100, 200, 2_000)),
)  # fmt: skip
"""Minutes in place of an hour: for a first look, not for a ranking."""


def promise_of(guarantee: Guarantee) -> tuple[str, float]:
    """Return what a guarantee bounds, and its ε: per unit of Euclidean distance for any metric."""
    if isinstance(guarantee, MetricPrivacy):
        return METRIC, guarantee.epsilon * guarantee.euclidean_factor
    return LOCAL, guarantee.epsilon


_DRAWS = 10  # outputs of every word, where an attacker who repeats the output guesses poorly
_LABELLING = "sentiment"
_KEPT = ("accuracy", "majority", "auc", "nw", "cosine", "matching")
_POINTS, _BEYOND = 60, 1.5  # number of ε at which the bound is recorded, and its extent
_TIMINGS, _LONG = 9, 1.0  # most timings of the cost of a word, and seconds for all of them


def measure_trials(cell: Cell, sources: Sources) -> list[Row]:
    """Measure all trials of one mechanism at all its ε, or of the baseline.

    The seeds of a cell's trials count up from the cell's, so that laws are computed once for all.

    Options: those of `Size.options`; `encoder`; `files`.
    """
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
        rows += _bounds(lexicon, str(cell.option("stranger")))
    elif own and mechanism is not None:
        rows += [*_promises(mechanism, cell), *_given_away(mechanism, cell)]
        rows += _cost(mechanism, cell, materials[0])
    return rows


def _texts(trial: Cell, sources: Sources) -> dict[str, tuple[LabelledTexts, LabelledTexts]]:
    """Return the texts of one trial, the same for every mechanism."""
    if not trial.data:
        both = divided(trial.shared_generator("split"))[_LABELLING]
        part = float(trial.option("part"))
        # They are in random order: the first ones are a sample.
        first, last = (texts.part(range(round(part * len(texts)))) for texts in both)
        return {_LABELLING: (first, last)}
    # `corpus_parts` takes the sizes and the title of the corpus from the options.
    return corpus_parts(replace(trial, options=dict(trial.option("files"))[trial.data]), sources)


def _promises(mechanism: Mechanism, cell: Cell) -> Iterator[Row]:
    """Yield the guarantee at each ε: `at` is δ, `tested_on` what ε bounds."""
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
    """Return the trade-off at each ε; `poorly attacked`: a better attacker may guess far more."""
    outputs = Outputs(*cell.option("outputs")[1]).of(mechanism)
    table = tradeoff(mechanism, cell.epsilons, outputs=outputs, pairs=2, seed=cell.seed)
    amounts = [amount for amount in table.rows if amount.quantity in MEASURED]
    poor = poorly_attacked(amounts, table.before)
    learns = bool(poor) and not mechanism.exact_law
    if learns:
        weak = [amount for amount in amounts if _weak(amount, poor)]
        better = from_draws(mechanism, weak, _DRAWS, outputs, cell.seed)
        amounts = [amount for amount in amounts if not _weak(amount, poor)] + better
        poor = frozenset()
    rows = [
        amount_row(amount, len(mechanism.lexicon) if amount.exact else outputs)
        for amount in amounts
    ]
    stranger = str(cell.option("stranger"))
    if stranger != EQUAL:
        # Learning from outputs of every word adds to repeating where outputs are often neighbours.
        learned = _DRAWS if learns else 0
        final = Outputs(*cell.option("outputs")[1])
        draws = final.guessed_from(mechanism, parse_prior(mechanism.lexicon, stranger))
        for gain, each in leaked(mechanism, cell.epsilons, stranger, draws, cell.seed, learned):
            at = {"epsilon": each.epsilon, "low": each.low, "high": each.high, "count": draws}
            rows.append(row(LEAKED[gain], each.after, variant=each.attacker, **at))
        left = left_of_words(mechanism, cell.epsilons, draws, cell.seed)
        rows += [amount_row(amount, draws) for amount in left]
    return rows + [row("poorly attacked", 1.0, epsilon=epsilon) for epsilon in sorted(poor)]


def _weak(amount: Amount, poor: frozenset[float]) -> bool:
    return amount.quantity == "word" and amount.epsilon in poor


def _cost(mechanism: Mechanism, cell: Cell, material: Material) -> Iterator[Row]:
    """Yield processor microseconds per word, and their ratio to `UNIT`'s, at the middle ε."""
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
    """Return the median of several timings with fresh laws; the lexicon is warmed up first."""
    mechanism.sample(np.random.default_rng(0), np.array([0]), epsilon)
    times = [release_seconds(documents, mechanism, epsilon)]
    while len(times) < _TIMINGS and sum(times) < _LONG:
        times.append(release_seconds(documents, mechanism, epsilon))
    return 1e6 * float(np.median(times)) / int(documents.words.size)


def _bounds(lexicon: Lexicon, stranger: str) -> Iterator[Row]:
    """Yield the bound for every mechanism: the largest share guessed under a guarantee of ε."""
    prior = parse_prior(lexicon, stranger)
    for kind in (METRIC, LOCAL):
        local = kind == LOCAL
        shares = [max(0.01, 1.1 * float(prior.probability.max())), *LADDER]
        readings = [largest_epsilon(lexicon, share, prior, local=local) for share in shares]
        # On another vocabulary not every share has an ε that is known to guarantee it.
        known = [reading.epsilon for reading in readings if reading is not None]
        if not known:
            continue
        grid = np.geomspace(0.9 * min(known), _BEYOND * max(known), _POINTS)
        for reading in meter(lexicon, grid, prior, local=local, compute=False).rows:
            yield row(
                "bound", reading.high, epsilon=reading.epsilon, low=reading.low,
                high=reading.high, variant=kind,
            )  # fmt: skip


# Search for the ε at which each mechanism meets the levels, run with the benchmark.


_FIND = "dpcore.papers.ours.benchmark.cells:find"
_AROUND = (0.98, 1.02)  # of the ε at which a record has a level
_SAME = 0.005  # relative: a found ε this near to a guaranteed one is replaced by it


def complete(
    plan: Plan,
    given: Given,
    mechanisms: Sequence[tuple[str, Settings]] = (),
    *,
    calibrate: bool = True,
) -> tuple[Plan, list[Row]]:
    """Give every mechanism the ε at which it meets the levels.

    Args:
        plan: plan of the baseline alone.
        given: lexicon and runner of the search.
        mechanisms: short name or key, with settings; `everything` if empty.
        calibrate: True to certify noise for the lexicon first, where that takes minutes.

    Returns:
        The plan with an arm for each mechanism, and rows of results: `absent`; `least`, the largest
        ε whose guarantee limits the guessed share to `at`, which is the least ε that can leak so
        much; `status` and `reason` of each guarantee; the mechanism's own ε (or 0) that leaks a
        share (`level`), and that guarantees one (`promised`). `variant` holds the reason.
    """
    ((name, lexicon),) = given.lexicons.items()
    named: dict[str, Any] = {"lexicon": name, "data": "", "seed": plan.seeds[0]}
    rows: list[Row] = []
    made: dict[str, tuple[Mechanism, Settings]] = {}
    for short, settings in mechanisms or everything():
        label = label_of(short, settings)
        try:
            made[label] = create(short, lexicon, dict(settings)), settings
        except DpcoreError as error:
            whose = named | {"label": label, "mechanism": short}
            rows.append(whose | row("absent", 1.0, variant=str(error)))
    for label, (mechanism, settings) in made.items():
        calibrated = mechanism.calibrated
        # A small vocabulary is certified when it is asked for its certificate.
        if calibrated is not None and calibrated.certificate is None and calibrate:
            calibrated.calibrate(given.progress)
            # Created again: this instance remembers that there was no certificate.
            made[label] = create(mechanism.key, lexicon, dict(settings)), settings
    stranger = str(dict(plan.options)["stranger"])
    promises = promised_epsilons(lexicon, stranger, compute=calibrate, progress=given.progress)
    rows += [
        named
        | {"label": "least", "mechanism": ""}
        | row("least", epsilon, at=share, tested_on=kind)
        for kind, pairs in promises.items()
        for share, epsilon in pairs
    ]
    levels = _levels(plan, made, given)
    arms = []
    for label, (mechanism, settings) in made.items():
        asked = {
            kind: [(share, *_own(mechanism, kind, epsilon)) for share, epsilon in pairs]
            for kind, pairs in promises.items()
        }
        there = [own for found in asked.values() for _, own, _ in found if own]
        met = [
            (share, _rounded(mechanism, epsilon, there), why)
            for share, epsilon, why in levels[label]
        ]
        whose = named | {"label": label, "mechanism": mechanism.short}
        rows += [whose | each for each in _facts(mechanism, met, asked)]
        epsilons = sorted({epsilon for _, epsilon, _ in met if epsilon} | set(there))
        if epsilons:
            arms.append(Arm(mechanism.short, tuple(epsilons), settings, label))
    return replace(plan, arms=(*plan.arms, *arms)), rows


def everything() -> list[tuple[str, Settings]]:
    """Return all mechanisms of the registry with their default settings, each with its variants."""
    kinds: list[tuple[str, Settings]] = []
    for kind in MECHANISMS.values():
        kinds.append((kind.short, ()))
        kinds += [variant for variant in VARIANTS if variant[0] == kind.short]
    return kinds


def label_of(name: str, settings: Settings) -> str:
    """Return the short name, followed by the settings that differ from the defaults."""
    return ", ".join([resolve(name).short, *(f"{key} = {value}" for key, value in settings)])


def promised_epsilons(
    lexicon: Lexicon,
    stranger: str = EQUAL,
    *,
    compute: bool = True,
    progress: Progress = silent,
) -> dict[str, list[tuple[float, float]]]:
    """Return the largest ε that guarantees each level, by what ε bounds.

    Args:
        lexicon: the words.
        stranger: who guesses, as `dpcore.attack.leak.leak` reads it.
        compute: True to compute bounds that take minutes; a small vocabulary is computed anyway.
        progress: called with (stage, done, all).

    Returns:
        Share and ε; unknown ε are left out, as are shares that a blind guess reaches.
    """
    n, prior = len(lexicon), parse_prior(lexicon, stranger)
    result: dict[str, list[tuple[float, float]]] = {}
    for kind in (METRIC, LOCAL):
        for share in LEVELS:
            if share <= prior.probability.max():
                continue
            local = kind == LOCAL
            reading = largest_epsilon(lexicon, share, prior, local=local)
            if reading is None and not local and (compute or n <= CERTIFIED_AT_ONCE_WORDS):
                reading = largest_epsilon(lexicon, share, prior, refine=True, progress=progress)
            if reading is not None:
                result.setdefault(kind, []).append((share, reading.epsilon))
    return result


def _levels(
    plan: Plan, made: dict[str, tuple[Mechanism, Settings]], given: Given
) -> dict[str, list[tuple[float, float | None, str]]]:
    """Return share, ε and reason for every level of every mechanism."""
    options = dict(plan.options)
    stranger = str(options["stranger"])
    arms = tuple(
        Arm(mechanism.short, first_guesses(mechanism, stranger), settings, label)
        for label, (mechanism, settings) in made.items()
    )
    asked: Settings = (
        ("shares", LADDER),
        ("outputs", options["outputs"][0]),
        ("stranger", stranger),
    )
    first = Plan(f"{plan.name}-levels", _FIND, arms, plan.lexicons, options=asked, together=True)
    found: dict[str, list[tuple[float, float | None, str]]] = {label: [] for label in made}
    for each in given.run(first):
        found[each["label"]].append((each["at"], each["value"] or None, each["variant"]))
    return found


def first_guesses(mechanism: Mechanism, stranger: str) -> tuple[float, ...]:
    """Return the ε at which a search for the levels begins, ascending.

    They lie around the levels that are met in a record of what this stranger guesses. A coarse grid
    covers what lies beyond the record, if it does not reach a level; without a record it covers
    all. The first and the last are the ends of the grid.
    """
    grid = first_epsilons(mechanism)
    curve = recorded_curve(mechanism) if stranger == COUNTS else None
    if curve is None:
        return grid
    met = [epsilon for share in LADDER if (epsilon := curve.epsilon_at(GUESSED, share))]
    around = [float(f"{factor * epsilon:.4g}") for epsilon in met for factor in _AROUND]
    low, high = curve.epsilons[[0, -1]].tolist()
    shares = curve.values(GUESSED)
    if LADDER[0] < shares.min():
        around += [epsilon for epsilon in grid if epsilon < low]
    if LADDER[-1] > shares.max():
        around += [epsilon for epsilon in grid if epsilon > high]
    inside = {epsilon for epsilon in around if grid[0] < epsilon < grid[-1]}
    return tuple(sorted({grid[0], *inside, grid[-1]}))


def _own(mechanism: Mechanism, kind: str, epsilon: float) -> tuple[float | None, str]:
    """Return the mechanism's own ε that has this guarantee, or the reason why there is none."""
    guarantee = mechanism.guarantee(_somewhere(mechanism))
    bounds, _ = promise_of(guarantee)
    if bounds != kind:
        return None, ""
    factor = guarantee.euclidean_factor if isinstance(guarantee, MetricPrivacy) else 1.0
    own = epsilon / factor * (1.0 - 1e-12 * (factor != 1.0))  # rounded to the safe side
    if own not in mechanism.admissible:
        allowed = mechanism.admissible
        return None, f"takes ε from {allowed.low:.4g} to {allowed.high:.4g}, not {own:.4g}"
    promise = mechanism.guarantee(own)
    return (own, "") if promise.status in HOLDS else (None, f"{promise.status}: {promise.reason}")


def _somewhere(mechanism: Mechanism) -> float:
    """Return an admissible ε of the mechanism."""
    epsilons = first_epsilons(mechanism)
    return epsilons[len(epsilons) // 2]


def _rounded(
    mechanism: Mechanism, epsilon: float | None, promised: Iterable[float]
) -> float | None:
    """Round ε to four digits and to the least ε with the same law; prefer a nearby guaranteed ε."""
    if epsilon is None:
        return None
    for other in promised:
        if abs(epsilon / other - 1.0) <= _SAME:
            return other
    neat = float(f"{epsilon:.4g}")
    return mechanism.same_law_from(neat if neat in mechanism.admissible else epsilon)


def _facts(
    mechanism: Mechanism,
    met: Sequence[tuple[float, float | None, str]],
    asked: dict[str, list[tuple[float, float | None, str]]],
) -> Iterator[Row]:
    """Yield rows of the results of one mechanism."""
    at = {share: epsilon for share, epsilon, _ in met if epsilon}
    epsilon = at.get(LEVELS[1]) or next(iter(at.values()), None) or _somewhere(mechanism)
    guarantee = mechanism.guarantee(epsilon)
    kind, claimed = promise_of(guarantee)
    yield row("status", claimed, epsilon=epsilon, variant=str(guarantee.status), tested_on=kind)
    yield row("reason", 1.0, epsilon=epsilon, variant=guarantee.reason)
    for share, epsilon_there, why in met:
        yield row("level", epsilon_there or 0.0, at=share, variant=why)
    for share, own, why in asked.get(kind, []):
        yield row("promised", own or 0.0, at=share, variant=why, tested_on=kind)


def find(cell: Cell, sources: Sources) -> list[Row]:
    """Find the levels of one mechanism: `value` is ε, or 0 where it does not meet the level.

    Options: `shares`; `outputs`; `stranger`.
    """
    levels = epsilons_at(
        sources.mechanism(cell),
        cell.option("shares"),
        cell.epsilons,
        stranger=str(cell.option("stranger")),
        outputs=Outputs(*cell.option("outputs")),
        seed=cell.seed,
    )
    return [
        row("level", level.epsilon or 0.0, at=level.share, variant=level.why) for level in levels
    ]
