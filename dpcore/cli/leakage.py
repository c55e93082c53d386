"""Commands `meter`, `leak` and `tradeoff`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore.attack.bounds.least_distance import Nearness, least_distance
from dpcore.attack.bounds.meter import Meter, Reading, largest_epsilon, meter
from dpcore.attack.budget import (
    PERSONS,
    Reached,
    Recognition,
    RepeatedLeak,
    repeated_leak,
)
from dpcore.attack.language.context import BIGRAM, READERS
from dpcore.attack.leak import STRANGERS, leak
from dpcore.attack.output.prior import GAINS, NEAR, Prior, parse_prior, prior_from_file
from dpcore.attack.trade.ground import LEAKAGES, PAIRS, UTILITIES
from dpcore.attack.trade.tradeoff import Tradeoff, tradeoff, wastes
from dpcore.cli import fields, flags
from dpcore.cli.construction import (
    build_mechanism,
    build_mechanisms,
    epsilons_of_each,
    load_lexicon,
    parse_epsilons,
    with_certificate,
)
from dpcore.cli.printer import Answer, note, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, Guarantee, MetricPrivacy
from dpcore.lexicon.cache import write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.limits import MAX_ATTACK_OUTPUTS, MAX_EPSILONS, MAX_GUESSED_RELEASES
from dpcore.mechanisms.exponential.optimal import ATTAINED, Optimal
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed
from dpcore.outwards import at_least, at_most

# The command `meter`: bounds on the leakage and on the distance of any mechanism with ε.


_GUESSED = "{epsilon:>10.5g|ε} {low:>10|at best} {high:>10|at most}  {attained_by:<50|by}"
_DISTANCE = "{epsilon:>10.5g|ε} {low:>10|at least} {high:>10|at best}  {attained_by:<50|by}"


@command("meter")
@one_of(
    {
        "--epsilon": {"metavar": "A,B,C", "help": f"a list of ε, or {flags.EPSILON_VALUES}"},
        "--guessed-at-most": {
            "type": float,
            "metavar": "SHARE",
            "help": "the largest ε that guarantees that no one guesses more, such as 0.05",
        },
    }
)
@option(
    "--refine",
    is_flag=True,
    help="of --guessed-at-most: compute between the known ε, minutes for 25,000 words",
)
@option("--local", is_flag=True, help="ε between any two words, not per distance")
@option("--delta", default=0.0, help="δ of --local")
@option(
    "--prior",
    default="uniform",
    help="what the attacker believes beforehand: equal, counts, counts-all, or WORD=P,WORD=P",
)
@option(
    "--metric", default="euclidean", type=Choice([str(m) for m in Metric]), help="without --local"
)
@option(
    "--distance",
    is_flag=True,
    help="how near to the words the outputs can be, in place of how many are guessed",
)
@flags.lexicon
def meter_command(options: Options) -> Answer:
    """Say how many words anybody can guess, whatever mechanism keeps ε."""
    if options.distance:
        return _distance(options)
    lexicon = load_lexicon(options)
    prior = parse_prior(lexicon, options.prior)
    promise = fields.some(options, "local delta metric")
    if options.epsilon is not None:
        epsilons = _epsilons(options)
        meter(lexicon, epsilons, prior, **promise, compute=False)  # refuses before long work
        _certified(options, lexicon)
    else:
        largest_epsilon(lexicon, options.guessed_at_most, prior, **promise)  # the same
        _certified(options, lexicon)
        more = fields.some(options, "refine progress")
        reading = largest_epsilon(lexicon, options.guessed_at_most, prior, **promise, **more)
        if reading is None:
            raise ParameterError(
                f"no ε guarantees that no one guesses more than {options.guessed_at_most:g} of the "
                "words: who knows nothing but how likely they are guesses as many, or the bounds "
                "of this lexicon and prior are not known: --refine computes them"
            )
        epsilons = [reading.epsilon]
    answer = meter(lexicon, epsilons, prior, **promise, progress=options.progress)
    rows = [fields.some(row, " ".join(Reading.__dataclass_fields__)) for row in answer.rows]
    what = "between any two words" if options.local else f"per {options.metric} distance"
    return Answer(
        fields.of_lexicon(lexicon)
        | fields.some(answer, "prior meaning delta before")
        | {"rows": rows},
        [
            f"Share of words that can be guessed under any mechanism that keeps ε {what}",
            f"Prior of the attacker: {answer.prior}; {answer.before:.6f} are guessed before.",
            *table(_GUESSED, _outwards(rows)),
            *_conditions(options, answer),
        ],
    )


def _distance(options: Options) -> Answer:
    if options.epsilon is None or options.delta != 0 or options.prior != "uniform":
        raise ParameterError(
            "--distance goes with --epsilon, --local and --metric: words are equally likely, and δ "
            "is 0"
        )
    lexicon = load_lexicon(options)
    promise, epsilons = fields.some(options, "local metric"), _epsilons(options)
    least_distance(lexicon, epsilons, **promise, compute=False)  # refuses before long work
    _certified(options, lexicon)
    answer = least_distance(lexicon, epsilons, **promise, progress=options.progress)
    rows = [fields.some(row, " ".join(Nearness.__dataclass_fields__)) for row in answer.rows]
    what = "between any two words" if options.local else f"per {options.metric} distance"
    return Answer(
        fields.of_lexicon(lexicon) | fields.some(answer, "meaning") | {"rows": rows},
        [
            f"Expected distance of an output from its word, {options.metric}, under any mechanism "
            f"that keeps ε {what}",
            *table(_DISTANCE, _outwards(rows)),
        ],
    )


def _conditions(options: Options, answer: Meter) -> Iterator[str]:
    """State when `optimal` is the best, and its distance from the bound elsewhere."""
    by_optimal = [row for row in answer.rows if row.attained_by == Optimal.short]
    if not by_optimal or options.uncertified:  # then the answer names the command that improves it
        return
    yield (
        "optimal is the best mechanism where all words are equally likely and ε is at or above the "
        "critical one of the lexicon."
    )
    for row in by_optimal:
        if row.high - row.low > ATTAINED * row.high:
            share = at_least(100.0 * row.low / row.high, places=1)
            yield f"At ε = {row.epsilon:.5g} it reaches {share} % of the bound."


def _certified(options: Options, lexicon: Lexicon) -> None:
    """Compute or name the weights of `optimal`, the mechanism at the better end of a reading."""
    if not options.local:
        with_certificate(options, create(Optimal.short, lexicon, {"metric": options.metric}))


def _outwards(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows as they are printed, with their bounds in six places."""
    for row in rows:
        ends = at_least(row["low"], places=6), at_most(row["high"], places=6)
        yield {**row, "low": ends[0], "high": ends[1]}


def _epsilons(options: Options) -> list[float]:
    epsilons = [_number(value) for value in parse_epsilons(options.epsilon)]
    if len(epsilons) > MAX_EPSILONS:
        raise ParameterError(f"at most {MAX_EPSILONS:,} values of ε, got {len(epsilons):,}")
    return epsilons


def _number(value: str | float) -> float:
    """Convert ε to a number."""
    try:
        return float(value)
    except ValueError:
        raise ParameterError(f"epsilon must be a finite number > 0, got {value!r:.40}") from None


# The command `leak`: words guessed before and after an output is seen.


@command("leak")
@flags.one_mechanism
@option(
    "--epsilon",
    required=True,
    metavar="A,B,C",
    help=f"one ε, or several, computed in one pass: {flags.EPSILON_VALUES}",
)
@option(
    "--stranger",
    default=STRANGERS[0],
    metavar="WHO",
    help="counts: knows how common content words are; counts-all: function words too; equal: all "
    "words equally likely; reads: reads on through a text; or a list such as monday=0.5,garage=0.5",
)
@flags.file(
    "--counts-file",
    "a stranger of your own in place of --stranger: in each line a word, a comma or a tab, and how "
    "often it occurs; words outside the vocabulary are left out",
)
@option(
    "--gain",
    default=GAINS[0],
    metavar="WHAT",
    help=f"word: the very word; near: the word or one of the {NEAR - 1} nearest to it; kind: its "
    "kind in WordNet; pair=a,b: which of two words",
)
@option(
    "--reader", type=Choice(READERS), default=BIGRAM, help="of --stranger reads: who reads the text"
)
@flags.number(
    "--draws",
    None,
    "outputs to draw where not all can be summed; texts to read for --stranger reads",
    least=2,
    most=10 * MAX_ATTACK_OUTPUTS,
)
@flags.number(
    "--releases",
    None,
    "one word is released 1 to N times: what is guessed from all outputs together",
    least=1,
    most=MAX_GUESSED_RELEASES,
)
@option("--share", default=0.5, help="of --releases: say when this share is guessed")
@flags.number("--persons", PERSONS, "of --releases: persons among whom one is recognised", least=2)
@flags.seed("of what is drawn")
def leak_command(options: Options) -> Answer:
    """Say how many words a stranger guesses, before and after they see the output.

    With --releases also after the same word was released again: with fresh noise each time, and
    with memoised answers, where the first output is returned each time.
    """
    check_seed(options.seed)
    mechanism = build_mechanism(options)
    lexicon = mechanism.lexicon
    stranger: str | Prior = options.stranger
    if options.counts_file is not None:
        stranger = prior_from_file(lexicon, options.counts_file)
    epsilons = epsilons_of_each([options.epsilon], [mechanism])[0]
    if options.releases is not None:
        if options.gain != GAINS[0]:
            raise ParameterError("of repeated releases the very word is guessed: leave out --gain")
        return _released(options, mechanism, epsilons, stranger)
    rows = leak(
        mechanism,
        epsilons,
        stranger,
        options.gain,
        **fields.some(options, "reader draws seed progress"),
    )
    records = [row.to_dict() | fields.of_settings(mechanism) for row in rows]
    # Of one ε the fields stand at the top, as a program that asks for one expects.
    answer: dict[str, Any] = records[0] if len(records) == 1 else {"rows": records}
    return Answer(
        answer | fields.of_lexicon(lexicon),
        [f"ε = {row.epsilon:g}: {row.sentence}" for row in rows],
    )


def _released(
    options: Options, mechanism: Mechanism, epsilons: Sequence[float], stranger: str | Prior
) -> Answer:
    """Answer for repeated releases of one word, at each ε."""
    records: list[dict[str, Any]] = []
    lines: list[str] = []
    for epsilon in epsilons:
        some = fields.some(options, "draws seed progress")
        one = repeated_leak(mechanism, epsilon, options.releases, stranger, **some)
        reached, recognition = one.reached(options.share), one.recognition(options.persons)
        solved = {"reached": asdict(reached), "recognition": asdict(recognition)}
        records.append(one.to_dict() | solved | fields.of_settings(mechanism))
        lines += _lines_released(one, reached, recognition)
    answer: dict[str, Any] = records[0] if len(records) == 1 else {"answers": records}
    return Answer(answer | fields.of_lexicon(mechanism.lexicon), lines)


def _lines_released(one: RepeatedLeak, reached: Reached, recognition: Recognition) -> Iterator[str]:
    yield f"ε = {one.epsilon:g}: {one.sentence}"
    powers_of_two = [row for row in one.rows if row.releases & (row.releases - 1) == 0]
    printed = {row.releases: row for row in (*powers_of_two, one.rows[-1])}
    yield from table(
        "{releases:>9|releases} {value:>8.4f|guessed} {error:>8.4f|error} {low:>8|low} "
        "{high:>8|high} {total:>13|sum of losses} {guaranteed:>13|by guarantee}",
        [
            asdict(row)
            | {
                "low": at_least(row.low, places=4),
                "high": at_most(row.high, places=4),
                "total": at_most(row.total),
                "guaranteed": at_most(row.guaranteed, places=4),
            }
            for row in printed.values()
        ],
    )
    yield reached.told(len(one.rows))
    yield recognition.told


# The command `tradeoff`: leakage and utility of mechanisms.


_OUTPUTS = 1_000


@command("tradeoff")
@flags.compared
@flags.settings
@flags.lexicon
@flags.number("--outputs", _OUTPUTS, "outputs that are looked at, of each mechanism")
@option("--all-outputs", is_flag=True, help="look at every output: exact where laws are")
@flags.number("--near", NEAR, "a word is near if it is among the N nearest, itself included")
@flags.number("--pairs", PAIRS, "pairs of words that are told apart")
@flags.seed("of the drawing of words and outputs")
@flags.file("--figure", "draw it, and the line that no mechanism crosses, as a page of HTML")
@option("--across", default="word", type=Choice(LEAKAGES), help="of --figure: what leaks")
@option("--upwards", default="meaning", type=Choice(UTILITIES), help="of --figure: what is left")
def tradeoff_command(options: Options) -> Answer:
    """Measure the leakage of mechanisms in six senses and what remains in two."""
    mechanisms = build_mechanisms(options, options.mechanism)
    grids = epsilons_of_each(options.epsilon, mechanisms)
    answer = tradeoff(
        list(zip(mechanisms, grids, strict=True)),
        outputs=None if options.all_outputs else options.outputs,
        **fields.some(options, "near pairs seed progress"),
    )
    if options.figure is not None:
        _draw(options, answer, mechanisms)
    standings = [
        (mechanism.short, epsilon, standing)
        for mechanism, grid in zip(mechanisms, grids, strict=True)
        if isinstance(mechanism, Optimal)
        for epsilon in grid
        if (standing := mechanism.standing(epsilon)) is not None
    ]
    return Answer(
        fields.of_lexicon(mechanisms[0].lexicon)
        | {
            "mechanisms": [fields.of_settings(mechanism) for mechanism in mechanisms],
            **fields.some(options, "seed near pairs"),
            **fields.some(answer, "known_kinds spread before"),
            "rows": [asdict(row) for row in answer.rows],
            "bounds": [
                {"mechanism": short, "epsilon": epsilon, "bound_at": standing.epsilon}
                | fields.some(standing, "kept bound")
                for short, epsilon, standing in standings
            ],
        },
        [
            *_lines_tradeoff(answer),
            *(f"{short}, ε = {epsilon:.4g}: {one.sentence}" for short, epsilon, one in standings),
        ],
    )


def _lines_tradeoff(answer: Tradeoff) -> Iterator[str]:
    leakages = [name for name in LEAKAGES if name in answer.before]
    columns = " ".join(f"{{{name}:>9.4f|{name}}}" for name in (*leakages, *UTILITIES))
    template = "{epsilon:>10.4g|ε} " + columns
    yield "Given away: " + ", ".join(leakages) + "; left: " + ", ".join(UTILITIES)
    if "kind" not in leakages:
        yield "Kinds of words are known of English alone: of this lexicon no kind is guessed."
    # As a line of the same table, so that the columns can be compared.
    before = [answer.before | {"epsilon": 0.0}]
    yield "Where the output has nothing to do with the word:"
    yield from table(template, before)
    rows: dict[str, dict[float, dict[str, float]]] = {}
    for row in answer.rows:
        of_one = rows.setdefault(row.mechanism, {}).setdefault(row.epsilon, {})
        of_one |= {"epsilon": row.epsilon, row.quantity: row.value}
    for mechanism, table_rows in rows.items():
        attackers = {row.attacker for row in answer.rows if row.mechanism == mechanism}
        repeats = " (he says what came out: at least this leaks)" if "repeats" in attackers else ""
        yield ""
        yield mechanism + repeats
        yield from table(template, list(table_rows.values()))


def _draw(options: Options, answer: Tradeoff, mechanisms: Sequence[Mechanism]) -> None:
    """Write one page: the trade-off, and for each meaning of ε the frontier with its curves."""
    # Late: plotly takes half a second, and only --figure needs it.
    from dpcore.plots.attack import tradeoff as plots
    from dpcore.plots.style import SCALES

    if options.across not in answer.before:
        raise ParameterError(
            f"--across {options.across} is of English words: no kinds are known of this lexicon"
        )
    frame, axes = answer.to_pandas(), (options.across, options.upwards)
    parts = [(plots.tradeoff_figure(frame, *axes), plots.tradeoff_caption(frame, *axes))]
    lexicon = mechanisms[0].lexicon
    promises = _promises(mechanisms, answer)
    for meaning in (EpsilonMeaning.METRIC, EpsilonMeaning.LOCAL):
        names = {
            mechanism.short
            for mechanism in mechanisms
            if mechanism.meaning is meaning and _in_distances(promises[mechanism.short])
        }
        rows = [row for row in answer.rows if row.mechanism in names]
        if not rows:
            continue
        local = meaning is EpsilonMeaning.LOCAL
        # From the ε where the bound begins to rise, which may be far below that of any mechanism.
        ends = [row.epsilon for row in rows]
        least, few = (largest_epsilon(lexicon, share, local=local) for share in (0.5, 0.01))
        low = min(ends) if few is None else min(*ends, few.epsilon)
        grid = np.geomspace(0.9 * low, max(ends), 200)
        bound = meter(lexicon, grid, local=local, compute=False).to_pandas()
        factors = {} if least is None else wastes(rows, least.epsilon)
        figure = plots.frontier_figure(
            bound, frame[frame["mechanism"].isin(names)], SCALES[meaning].axis
        )
        parts.append((figure, plots.frontier_caption(factors)))
        pure = {name for name in names if not isinstance(promises[name], ApproximateLocalPrivacy)}
        if not pure:  # the bound on distances is proved for δ = 0 only
            continue
        nearness = least_distance(lexicon, grid, local=local, compute=False).to_pandas()
        left = nearness.assign(high=(1.0 - nearness["low"] / answer.spread).clip(0.0, 1.0))
        figure = plots.frontier_figure(
            left, frame[frame["mechanism"].isin(pure)], SCALES[meaning].axis, "meaning"
        )
        parts.append((figure, plots.distance_caption(left)))
    _write(options.figure, f"The trade-off on {answer.lexicon}", parts)
    # On standard error: standard output has the numbers.
    note(f"wrote {options.figure}")


def _promises(mechanisms: Sequence[Mechanism], answer: Tradeoff) -> dict[str, Guarantee]:
    """Return the guarantee of each mechanism at its first ε."""
    # Reversed, so that the first ε of each mechanism is the one that stays.
    first = {row.mechanism: row.epsilon for row in reversed(answer.rows)}
    return {each.short: each.guarantee(first[each.short]) for each in mechanisms}


def _in_distances(promise: Guarantee) -> bool:
    """Return True if a bound in Euclidean distances, or in none, applies to this guarantee."""
    return not isinstance(promise, MetricPrivacy) or promise.euclidean_factor <= 1.0


def _write(path: Path, title: str, parts: Sequence[tuple[Any, str]]) -> None:
    """Write figures with their captions as a self-contained page."""
    body = "".join(
        # The library once a page: it has several megabytes, and the page loads nothing.
        figure.to_html(full_html=False, include_plotlyjs=i == 0) + f"<p>{html.escape(caption)}</p>"
        for i, (figure, caption) in enumerate(parts)
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<body style='font: 16px sans-serif; max-width: 60rem; margin: 2rem auto'>"
        f"<h1>{html.escape(title)}</h1>{body}</body></html>"
    )
    try:
        write_text(path, page)
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from None
