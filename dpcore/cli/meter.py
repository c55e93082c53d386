"""The command `meter`: what any mechanism that keeps ε gives away at most, or loses at least."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from click import Choice, option

from dpcore.attack.frontier.least_distance import Nearness, least_distance
from dpcore.attack.frontier.meter import Meter, Reading, largest_epsilon, meter
from dpcore.attack.output.prior import parse_prior
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.limits import MAX_EPSILONS
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.packing.standing import ATTAINED
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_least, at_most

_GUESSED = "{epsilon:>10.5g|ε} {low:>10|at best} {high:>10|at most}  {attained_by:<50|by}"
_DISTANCE = "{epsilon:>10.5g|ε} {low:>10|at least} {high:>10|at best}  {attained_by:<50|by}"


@command("meter")
@one_of(
    {
        "--epsilon": {"metavar": "A,B,C", "help": f"a list of ε, or {shared.VALUES}"},
        "--guessed-at-most": {
            "type": float,
            "metavar": "SHARE",
            "help": "the largest ε that promises that nobody guesses more, such as 0.05",
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
    help="what the attacker believes beforehand: uniform, frequency, or WORD=P,WORD=P",
)
@option(
    "--metric", default="euclidean", type=Choice([str(m) for m in Metric]), help="without --local"
)
@option(
    "--distance",
    is_flag=True,
    help="how near to the words the outputs can be, in place of how many are guessed",
)
@shared.lexicon_option
def meter_command(options: Options) -> Answer:
    """Say how many words anybody can guess, whatever mechanism keeps ε."""
    if options.distance:
        return _distance(options)
    lexicon = shared.lexicon(options)
    prior = parse_prior(lexicon, options.prior)
    promise = shared.fields(options, "local delta metric")
    if options.epsilon is not None:
        epsilons = _epsilons(options)
        meter(lexicon, epsilons, prior, **promise, compute=False)  # refuses before long work
        _certified(options, lexicon)
    else:
        largest_epsilon(lexicon, options.guessed_at_most, prior, **promise)  # the same
        _certified(options, lexicon)
        more = shared.fields(options, "refine progress")
        reading = largest_epsilon(lexicon, options.guessed_at_most, prior, **promise, **more)
        if reading is None:
            raise ParameterError(
                f"no ε promises that nobody guesses more than {options.guessed_at_most:g} of the "
                "words: who knows nothing but how likely they are guesses as many, or the bounds "
                "of this lexicon and prior are not known: --refine computes them"
            )
        epsilons = [reading.epsilon]
    answer = meter(lexicon, epsilons, prior, **promise, progress=options.progress)
    rows = [shared.fields(row, " ".join(Reading.__dataclass_fields__)) for row in answer.rows]
    what = "between any two words" if options.local else f"per {options.metric} distance"
    return Answer(
        shared.lexicon_fields(lexicon)
        | shared.fields(answer, "prior meaning delta before")
        | {"rows": rows},
        [
            f"Share of words that a stranger guesses under any mechanism that keeps ε {what}",
            f"Before anything is released he guesses {answer.before:.6f} ({answer.prior}).",
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
    lexicon = shared.lexicon(options)
    promise, epsilons = shared.fields(options, "local metric"), _epsilons(options)
    least_distance(lexicon, epsilons, **promise, compute=False)  # refuses before long work
    _certified(options, lexicon)
    answer = least_distance(lexicon, epsilons, **promise, progress=options.progress)
    rows = [shared.fields(row, " ".join(Nearness.__dataclass_fields__)) for row in answer.rows]
    what = "between any two words" if options.local else f"per {options.metric} distance"
    return Answer(
        shared.lexicon_fields(lexicon) | shared.fields(answer, "meaning") | {"rows": rows},
        [
            f"Expected distance of an output from its word, {options.metric}, under any mechanism "
            f"that keeps ε {what}",
            *table(_DISTANCE, _outwards(rows)),
        ],
    )


def _conditions(options: Options, answer: Meter) -> Iterator[str]:
    """On what condition `optimal` is the best, and how far it is from the bound elsewhere."""
    by_optimal = [row for row in answer.rows if row.attained_by == Optimal.short]
    if not by_optimal or options.uncertified:  # then the answer says how to make it better
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
    """See to the weights of `optimal`, which is the mechanism of the better end of a reading."""
    if not options.local:
        shared.certified(options, create(Optimal.short, lexicon, {"metric": options.metric}))


def _outwards(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows as they are printed, with their bounds in six places."""
    for row in rows:
        ends = at_least(row["low"], places=6), at_most(row["high"], places=6)
        yield {**row, "low": ends[0], "high": ends[1]}


def _epsilons(options: Options) -> list[float]:
    epsilons = [_number(value) for value in shared.values(options.epsilon)]
    if len(epsilons) > MAX_EPSILONS:
        raise ParameterError(f"at most {MAX_EPSILONS:,} values of ε, got {len(epsilons):,}")
    return epsilons


def _number(value: str | float) -> float:
    """ε as a number."""
    try:
        return float(value)
    except ValueError:
        raise ParameterError(f"epsilon must be a finite number > 0, got {value!r:.40}") from None
