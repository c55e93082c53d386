"""Which ε: at which each mechanism meets the levels, found when the benchmark is run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.attack.frontier.meter import largest_epsilon
from dpcore.attack.trade.levels import Outputs, epsilons_at, first_epsilons
from dpcore.errors import DpcoreError
from dpcore.guarantee import MetricPrivacy
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.registry import MECHANISMS, create, resolve
from dpcore.papers.ours.benchmark.settings import (
    HOLDS,
    LADDER,
    LEVELS,
    LOCAL,
    METRIC,
    VARIANTS,
    promise_of,
)
from dpcore.study.plan import Arm, Plan, Settings
from dpcore.study.rows import row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.definition import Given
    from dpcore.study.plan import Cell
    from dpcore.study.rows import Row
    from dpcore.study.sources import Sources

_FIND = "dpcore.papers.ours.benchmark.found:find"
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
