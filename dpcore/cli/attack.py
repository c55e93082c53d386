"""The command `attack`: two words and who tells them apart, or one output and what it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from click import option

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.attack.output.compare import Comparison
    from dpcore.attack.output.prior import Prior
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.mechanism import Mechanism

_BLANK = "_"
_DIRECTIONS = 400
_PAIR = (
    "{epsilon:>10.4g}  {word:<16.15}{nw:>7.4f} {sw:>8.1f} {output_distance:>9.4f}  "
    "{nearest:<17}{other:<17}{attack_bound:>9.4f}"
)
_PAIR_TITLES = {
    "epsilon": "ε", "nw": "Nw", "sw": "Sw", "output_distance": "distance",
    "nearest": "or its nearest?", "other": "or the other?", "attack_bound": "promised",
}  # fmt: skip
_CANDIDATE = "  {word:<20.19}{prior:>11.3g}{posterior:>11.3g}{bound:>18.3g}"
_CANDIDATE_TITLES = {"prior": "before", "posterior": "after", "bound": "promised at most"}


@command("attack")
@one_of(
    {
        "--words": {"metavar": "A,B", "help": "two different words to be told apart"},
        "--output": {"metavar": "WORD", "help": "one released word"},
    }
)
@shared.compared_options
@shared.settings_option
@shared.runs_option
@option(
    "--prior",
    default="uniform",
    help="of --output: uniform, frequency, monday=0.5,garage=0.5, a list monday,garage, or "
    "context with --sentence",
)
@option(
    "--sentence",
    metavar="TEXT",
    help="of --prior context: what stands around the word, with _ in its place",
)
@shared.number("--top", 10, "words to name")
@shared.number(
    "--outputs",
    None,
    "of --output: also the success over all outputs (estimated from N for long priors)",
)
@option(
    "--nearest",
    is_flag=True,
    help="of --output: the nearest-neighbour attacker, for mechanisms without an exact law",
)
@shared.seed_option("of whatever is measured by drawing  [default: 0]")
@shared.lexicon_option
def attack_command(options: Options) -> Answer:
    """What an attacker learns from one output, or about two words."""
    with progress_bars() as progress:
        return (_on_words if options.output is None else _on_output)(options, progress)


def _on_words(options: Options, progress: Progress) -> Answer:
    from dpcore.attack.output.compare import compare
    from dpcore.measure.pair import Pair
    from dpcore.measure.words import named
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.law import Effort

    seed = shared.check_runs_and_seed(options)
    mechanisms = shared.build_each(options, options.mechanism, progress)
    lexicon = mechanisms[0].lexicon
    selection = named(lexicon, options.words.split(","))
    if len(selection) != 2:
        raise ParameterError(f"--words takes two different words, got {len(selection)}")
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    pair = Pair.of(lexicon, *selection.names)
    directions = SharedDirections(Effort(_DIRECTIONS))
    comparisons = []
    for done, (mechanism, grid) in enumerate(zip(mechanisms, grids, strict=True)):
        progress("mechanisms", done, len(mechanisms))
        epsilons = mechanism.check_epsilons(grid)
        comparisons.append(
            compare(mechanism, pair, epsilons, directions, runs=options.runs, seed=seed)
        )
    progress("mechanisms", len(mechanisms), len(mechanisms))
    return Answer(
        shared.selection_fields(options, lexicon, selection)
        | {
            "distance": pair.distance,
            "directions": _DIRECTIONS,
            "rows": [row for comparison in comparisons for row in comparison.rows()],
        },
        _pair_lines(comparisons),
    )


def _pair_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    pair = comparisons[0].pair
    yield f"{pair.names[0]} and {pair.names[1]}: {pair.distance:.4f} apart"
    for comparison in comparisons:
        yield f"\n{comparison.mechanism}: {comparison.detail}"
        rows = [
            row
            | {
                title: f"{row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f}"
                for title, name in (("nearest", "attack_nearest"), ("other", "attack"))
            }
            for row in comparison.rows()
        ]
        yield from table(_PAIR, rows, **_PAIR_TITLES)


def _on_output(options: Options, progress: Progress) -> Answer:
    from dpcore.noise.streams import check_seed

    shared.check_count(options.top, 1, "--top")
    seed = check_seed(options.seed or 0)
    mechanisms = shared.build_each(options, options.mechanism, progress)
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    lexicon = mechanisms[0].lexicon
    output = lexicon.index(options.output)
    prior = prior_of(lexicon, options.prior, options.sentence)
    attacker = _nearest if options.nearest else _bayes
    attacks = [
        {"mechanism": mechanism.key, "parameters": mechanism.settings(), **row}
        for mechanism, grid in zip(mechanisms, grids, strict=True)
        for row in attacker(options, mechanism, prior, output, grid, seed, progress)
    ]
    support = int(prior.support.size)
    return Answer(
        shared.lexicon_fields(lexicon)
        | {
            "seed": seed,
            "output": options.output,
            "prior": {"name": prior.name, "words": support, "sentence": prior.sentence},
            "attacks": attacks,
        },
        [
            f"{options.output!r} was released; before that: {prior.sentence}",
            *(line for row in attacks for line in _output_lines(row)),
        ],
    )


def prior_of(lexicon: Lexicon, text: str, sentence: str | None) -> Prior:
    """The prior of --prior and --sentence."""
    from dpcore.attack.language.context import context_prior
    from dpcore.attack.output.prior import parse_prior

    if text.strip().lower() != "context":
        if sentence is not None:
            raise ParameterError("--sentence is for --prior context")
        return parse_prior(lexicon, text)
    words = re.findall(r"[\w'-]+|[.!?]", (sentence or "").lower())
    if words.count(_BLANK) != 1:
        raise ParameterError(
            '--prior context needs --sentence with one _ for the word, such as "see you on _ night"'
        )
    # A mark of punctuation on either side is the end of a sentence, which the model knows as one.
    place = words.index(_BLANK)
    around = [*words, "."][place + 1], [".", *words][place]
    right, left = (None if word in ".!?" else word for word in around)
    return context_prior(lexicon, left, right)


def _bayes(
    options: Options,
    mechanism: Mechanism,
    prior: Prior,
    output: int,
    epsilons: list[float],
    seed: int,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    from dpcore.attack.output.channel import open_channel
    from dpcore.attack.output.odds import worst_odds
    from dpcore.attack.output.overall import overall_success
    from dpcore.attack.output.posterior import posterior, posterior_bound
    from dpcore.limits import MAX_ATTACK_PRIOR_WORDS

    lexicon = mechanism.lexicon
    listed = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    channel = open_channel(mechanism, prior.support if listed else None, progress)
    seen = channel.seen(output)
    for epsilon in epsilons:
        likelihood, guarantee = seen.at(epsilon), mechanism.guarantee(epsilon)
        belief = posterior(likelihood, prior)
        candidates = belief.rows(lexicon, options.top)
        for row, candidate in zip(candidates, belief.top(options.top), strict=True):
            row["bound"] = posterior_bound(lexicon, guarantee, prior, candidate.word)
        more: dict[str, Any] = {}
        if channel.words.size > 1:
            first = output if output in channel.words else belief.best
            worst = worst_odds(lexicon, likelihood, guarantee, first)
            more["worst_odds"] = {
                "word": lexicon.words[worst.first],
                "other": lexicon.words[worst.second],
                "distance": worst.distance,
                "log_ratio": worst.log_ratio,
                "claimed": worst.claimed,
                "broken": worst.broken,
            }
        if options.outputs is not None:
            overall = overall_success(
                channel, prior, epsilon, outputs=options.outputs, seed=seed, progress=progress
            )
            more["overall"] = asdict(overall)
        yield {
            "epsilon": epsilon,
            "attacker": "bayes",
            "method": likelihood.method,
            "error": belief.error,
            "log_evidence": belief.log_evidence,
            "guess": lexicon.words[belief.best],
            "success": belief.success,
            "perplexity": belief.perplexity,
            "candidates": candidates,
            "guarantee": guarantee.to_dict(),
            **more,
        }


def _nearest(
    _: Options,
    mechanism: Mechanism,
    prior: Prior,
    output: int,
    epsilons: list[float],
    seed: int,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    from dpcore.attack.output.nearest import nearest_guess, nearest_success
    from dpcore.limits import MAX_ATTACK_PRIOR_WORDS

    success = nearest_success(mechanism, prior, epsilons, seed=seed, progress=progress)
    guess = output
    if prior.support.size <= MAX_ATTACK_PRIOR_WORDS:
        guess = nearest_guess(mechanism.lexicon, output, prior.support)
    for e, epsilon in enumerate(epsilons):
        figures = {
            name: float(getattr(success, name)[e]) for name in ("value", "error", "low", "high")
        }
        yield {
            "epsilon": epsilon,
            "attacker": "nearest",
            "method": success.detail,
            "guess": mechanism.lexicon.words[guess],
            "overall": figures | {"words": success.words},
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        }


def _output_lines(row: dict[str, Any]) -> Iterator[str]:
    from dpcore.plots.layout import probability_text

    overall: dict[str, Any] = row.get("overall", {})
    worst: dict[str, Any] = row.get("worst_odds", {})
    yield (
        f"\n{row['mechanism']}, ε = {row['epsilon']:g}: {row['attacker']} attacker, {row['method']}"
    )
    if row["attacker"] == "nearest":
        right = probability_text(overall["value"], overall["low"], overall["high"])
        yield (
            f"  guesses {row['guess']!r}; right over all outputs: {right}; {overall['words']} words"
        )
        return
    yield (
        f"  guesses {row['guess']!r}, right with probability {row['success']:.4g}; "
        f"perplexity {row['perplexity']:.4g} words"
    )
    yield from table(_CANDIDATE, row["candidates"], **_CANDIDATE_TITLES)
    if worst:
        yield (
            f"  odds of {worst['word']!r} against {worst['other']!r}: times "
            f"e^{worst['log_ratio']:.4g}, promised at most e^{worst['claimed']:.4g}"
            + (" (broken)" if worst["broken"] else "")
        )
    if overall:
        low, high = f"{overall['low']:.4f}", f"{overall['high']:.4f}"
        how = "all outputs" if overall["exact"] else f"{low} to {high}"
        yield (
            f"  right over all outputs: {overall['value']:.4f} ({how}); blind: "
            f"{overall['blind']:.3g}"
        )
