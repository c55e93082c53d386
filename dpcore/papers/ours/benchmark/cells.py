"""What is measured of one mechanism at the ε that were found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.attack.frontier.meter import largest_epsilon
from dpcore.attack.trade.ground import Amount
from dpcore.attack.trade.levels import Outputs, epsilons_at, first_epsilons
from dpcore.errors import DpcoreError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy, Status
from dpcore.learn.corpus import LabelledTexts
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create, resolve
from dpcore.papers.ours.equal_leakage import MEASURED, drawn
from dpcore.papers.ours.teaching import divided
from dpcore.papers.ours.tradeoff import amount_row
from dpcore.study.labelled_trial import Material
from dpcore.study.plan import Arm, Cell, Given, Plan, Row, Settings, row
from dpcore.study.runner import Sources

# What the benchmark measures, and how much of it.


LEVELS = (0.05, 0.10, 0.25)
"""Shares of the words that are guessed."""
LADDER = (0.02, 0.05, 0.10, 0.25, 0.50)
"""The same and more: a curve of each mechanism, between whose points an AUC is met."""
ATTACK_LEVELS = (0.55, 0.60, 0.70)
"""AUC of the attacker on membership; .5 is a coin."""
METRIC, LOCAL = "metric", "local"
"""What a promised ε bounds: the loss per unit of Euclidean distance, or of any two words."""
HOLDS = (Status.PROVED, Status.CERTIFIED)
UNIT = "k-ary"
"""Whose cost a word is 1."""
VARIANTS: tuple[tuple[str, Settings], ...] = (
    ("neighbour-response", (("k", 3),)),
    ("neighbour-response", (("k", 30),)),
)
"""Beside the default settings: k is the dial between the word itself and a word like it."""
SEARCH = Outputs(100, 60, 2_000)
FINAL = Outputs(200, 300, 4_000)
"""Outputs while ε is looked for, and of what is recorded: columns that are closed forms say the
share to one or two percent of it, pairs of word and output to a tenth of it where it is .05."""


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        trials: of the texts, each divided anew.
        part: of the texts of the teaching corpus that are used.
        compared: test texts of each trial whose meaning is compared, by the encoder.
        timed: texts whose rewriting is timed.
        outputs: of a lexicon's words, while ε is looked for and at the ε that were found.
        calibrate: whether noise is certified for a lexicon first, where that takes minutes.
    """

    trials: int = 4
    part: float = 0.4
    compared: int = 4
    timed: int = 60
    outputs: tuple[Outputs, Outputs] = (SEARCH, FINAL)
    calibrate: bool = True

    @property
    def options(self) -> Settings:
        """For a plan."""
        found = [(o.columns, o.laws, o.draws) for o in self.outputs]
        return (
            ("trials", self.trials), ("part", self.part), ("compared", self.compared),
            ("timed", self.timed), ("outputs", tuple(found)),
        )  # fmt: skip


WHOLE = Size()
QUICK = Size(
    trials=2, part=0.2, compared=0, timed=10, calibrate=False,
    outputs=(Outputs(100, 60, 1_000), Outputs(100, 200, 2_000)),
)  # fmt: skip
"""Minutes in place of an hour: for a first look, not for a ranking."""


def promise_of(guarantee: Guarantee) -> tuple[str, float]:
    """What a guarantee bounds, and its ε: per unit of Euclidean distance, whatever its metric."""
    if isinstance(guarantee, MetricPrivacy):
        return METRIC, guarantee.epsilon * guarantee.euclidean_factor
    return LOCAL, guarantee.epsilon


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
    from dpcore.attack.trade.attackers import from_draws, poorly_attacked
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


# Which ε: at which each mechanism meets the levels, found when the benchmark is run.


_FIND = "dpcore.papers.ours.benchmark.cells:find"
_SAME = 0.005  # relative: a found ε this near to a promised one is that one


def complete(
    plan: Plan,
    given: Given,
    mechanisms: Sequence[tuple[str, Settings]] = (),
    *,
    calibrate: bool = True,
) -> tuple[Plan, list[Row]]:
    """Give every mechanism the ε at which it meets the levels.

    Args:
        plan: of the baseline alone.
        given: the lexicon, and who runs the search.
        mechanisms: short name or key, with settings; `everything` if there is none.
        calibrate: whether noise is certified for the lexicon first, where that takes minutes.

    Returns:
        The plan with an arm a mechanism, and rows of what was found: `absent`; `least`, the largest
        ε that promises the share `at`, which is the least that can give so much away; `status` and
        `reason` of each promise; its own ε, or 0, that gives away a share (`level`), and that
        promises one (`promised`). `variant` holds why.
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
            # Anew: this one remembers that there was no certificate.
            made[label] = create(mechanism.key, lexicon, dict(settings)), settings
    promises = promised_epsilons(lexicon, compute=calibrate, progress=given.progress)
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
    """All mechanisms of the registry with their default settings, each with its variants."""
    kinds: list[tuple[str, Settings]] = []
    for kind in MECHANISMS.values():
        kinds.append((kind.short, ()))
        kinds += [variant for variant in VARIANTS if variant[0] == kind.short]
    return kinds


def label_of(name: str, settings: Settings) -> str:
    """The short name, and the settings that are not the default ones."""
    return ", ".join([resolve(name).short, *(f"{key} = {value}" for key, value in settings)])


def promised_epsilons(
    lexicon: Lexicon, *, compute: bool = True, progress: Progress = silent
) -> dict[str, list[tuple[float, float]]]:
    """The largest ε that promises each level, by what ε bounds.

    Args:
        lexicon: the words.
        compute: whether to compute what takes minutes; a small vocabulary is computed anyway.
        progress: called with (stage, done, all).

    Returns:
        Share and ε; what is not known is left out, as is a share that anybody guesses.
    """
    n = len(lexicon)
    result: dict[str, list[tuple[float, float]]] = {}
    for kind in (METRIC, LOCAL):
        for share in LEVELS:
            if share * n <= 1.0:
                continue
            local = kind == LOCAL
            reading = largest_epsilon(lexicon, share, local=local)
            if reading is None and not local and (compute or n <= CERTIFIED_AT_ONCE_WORDS):
                reading = largest_epsilon(lexicon, share, refine=True, progress=progress)
            if reading is not None:
                result.setdefault(kind, []).append((share, reading.epsilon))
    return result


def _levels(
    plan: Plan, made: dict[str, tuple[Mechanism, Settings]], given: Given
) -> dict[str, list[tuple[float, float | None, str]]]:
    """Share, ε and why, of every level of every mechanism."""
    arms = tuple(
        Arm(mechanism.short, first_epsilons(mechanism), settings, label)
        for label, (mechanism, settings) in made.items()
    )
    options = dict(plan.options)
    asked: Settings = (("shares", LADDER), ("outputs", options["outputs"][0]))
    first = Plan(f"{plan.name}-levels", _FIND, arms, plan.lexicons, options=asked, together=True)
    found: dict[str, list[tuple[float, float | None, str]]] = {label: [] for label in made}
    for each in given.run(first):
        found[each["label"]].append((each["at"], each["value"] or None, each["variant"]))
    return found


def _own(mechanism: Mechanism, kind: str, epsilon: float) -> tuple[float | None, str]:
    """The mechanism's own ε whose promise is this one, or why there is none."""
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
    """An ε that it has."""
    epsilons = first_epsilons(mechanism)
    return epsilons[len(epsilons) // 2]


def _rounded(
    mechanism: Mechanism, epsilon: float | None, promised: Iterable[float]
) -> float | None:
    """Four digits, and of ε with the same law the least; a promised ε if it is as good as that."""
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
    """Rows of what was found of one mechanism."""
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
    """The levels of one mechanism: `value` is ε, or 0 where it does not meet the level.

    Options: `shares`; `outputs`.
    """
    levels = epsilons_at(
        sources.mechanism(cell),
        cell.option("shares"),
        cell.epsilons,
        outputs=Outputs(*cell.option("outputs")),
        seed=cell.seed,
    )
    return [
        row("level", level.epsilon or 0.0, at=level.share, variant=level.why) for level in levels
    ]
