"""`attack --output`: what an attacker believes after one released word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.mechanisms import check_count, print_json
from dpcore.cli.word_options import parse_epsilons, parse_settings
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.attack.output.prior import Prior
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.mechanism import Mechanism

_BLANK = "_"


def options_of(command: argparse.ArgumentParser) -> None:
    """The options that go with --output."""
    command.add_argument(
        "--prior",
        default="uniform",
        help="of --output: uniform, frequency, monday=0.5,garage=0.5, a list monday,garage, or "
        "context with --sentence (default uniform)",
    )
    command.add_argument(
        "--sentence",
        metavar="TEXT",
        help="of --prior context: what stands around the word, with _ in its place",
    )
    command.add_argument("--top", type=int, default=10, metavar="N", help="words to name")
    command.add_argument(
        "--outputs",
        type=int,
        metavar="N",
        help="of --output: also the success over all outputs (estimated from N for long priors)",
    )
    command.add_argument(
        "--nearest",
        action="store_true",
        help="of --output: the nearest-neighbour attacker, for mechanisms without an exact law",
    )


def attack(options: argparse.Namespace) -> int:
    """The handler."""
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import check_seed

    check_count(options.top, 1, "--top")
    seed = check_seed(options.seed or 0)
    names = list(dict.fromkeys(options.mechanism))
    settings = parse_settings(options.set, names)
    with progress_bars() as progress:
        lexicon = load(options.lexicon, progress=progress)
        mechanisms = [create(name, lexicon, settings[name]) for name in names]
        grids = parse_epsilons(options.epsilon, mechanisms)
        output = lexicon.index(options.output)
        prior = prior_of(lexicon, options.prior, options.sentence)
        found: list[dict[str, Any]] = []
        for mechanism, grid in zip(mechanisms, grids, strict=True):
            if options.nearest:
                found += _nearest(mechanism, prior, output, grid, seed, progress)
            else:
                found += _bayes(options, mechanism, prior, output, grid, seed, progress)
    if options.json:
        print_json(
            {
                "lexicon": lexicon.name,
                "fingerprint": lexicon.fingerprint,
                "version": __version__,
                "seed": seed,
                "output": options.output,
                "prior": {"name": prior.name, "words": int(prior.support.size),
                          "sentence": prior.sentence},
                "attacks": found,
            }
        )  # fmt: skip
    else:
        print(f"{options.output!r} was released; before that: {prior.sentence}")
        for row in found:
            _print(row)
    return 0


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
    place = words.index(_BLANK)
    around = [*words, "."][place + 1], [".", *words][place]
    right, left = (None if word in ".!?" else word for word in around)
    return context_prior(lexicon, left, right)


def _bayes(
    options: argparse.Namespace,
    mechanism: Mechanism,
    prior: Prior,
    output: int,
    epsilons: list[float],
    seed: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    from dpcore.attack.output.channel import open_channel
    from dpcore.attack.output.odds import worst_odds
    from dpcore.attack.output.overall import overall_success
    from dpcore.attack.output.posterior import posterior, posterior_bound
    from dpcore.limits import MAX_ATTACK_PRIOR_WORDS

    lexicon = mechanism.lexicon
    listed = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    channel = open_channel(mechanism, prior.support if listed else None, progress)
    seen = channel.seen(output)
    rows = []
    for epsilon in epsilons:
        likelihood, guarantee = seen.at(epsilon), mechanism.guarantee(epsilon)
        found = posterior(likelihood, prior)
        candidates = found.rows(lexicon, options.top)
        for candidate, one in zip(candidates, found.top(options.top), strict=True):
            candidate["bound"] = posterior_bound(lexicon, guarantee, prior, one.word)
        row: dict[str, Any] = {
            "mechanism": mechanism.key,
            "parameters": mechanism.settings(),
            "epsilon": epsilon,
            "attacker": "bayes",
            "method": likelihood.method,
            "error": found.error,
            "log_evidence": found.log_evidence,
            "guess": lexicon.words[found.best],
            "success": found.success,
            "perplexity": found.perplexity,
            "candidates": candidates,
            "guarantee": guarantee.to_dict(),
        }
        if channel.words.size > 1:
            itself = output in channel.words
            worst = worst_odds(lexicon, likelihood, guarantee, output if itself else found.best)
            row["worst_odds"] = {
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
            row["overall"] = {name: getattr(overall, name) for name in _OVERALL}
        rows.append(row)
    return rows


_OVERALL = ("value", "low", "high", "exact", "outputs", "blind")


def _nearest(
    mechanism: Mechanism,
    prior: Prior,
    output: int,
    epsilons: list[float],
    seed: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    from dpcore.attack.output.nearest import nearest_guess, nearest_success
    from dpcore.limits import MAX_ATTACK_PRIOR_WORDS

    found = nearest_success(mechanism, prior, epsilons, seed=seed, progress=progress)
    guess = output
    if prior.support.size <= MAX_ATTACK_PRIOR_WORDS:
        guess = nearest_guess(mechanism.lexicon, output, prior.support)
    return [
        {
            "mechanism": mechanism.key,
            "parameters": mechanism.settings(),
            "epsilon": epsilon,
            "attacker": "nearest",
            "method": found.detail,
            "guess": mechanism.lexicon.words[guess],
            "overall": {
                "value": float(found.value[e]),
                "error": float(found.error[e]),
                "low": float(found.low[e]),
                "high": float(found.high[e]),
                "words": found.words,
            },
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        }
        for e, epsilon in enumerate(epsilons)
    ]


def _print(row: dict[str, Any]) -> None:
    from dpcore.plots.layout import probability_text

    print(f"\n{row['mechanism']}, ε = {row['epsilon']:g}: {row['attacker']} attacker, "
          f"{row['method']}")  # fmt: skip
    if row["attacker"] == "nearest":
        overall = row["overall"]
        right = probability_text(overall["value"], overall["low"], overall["high"])
        print(f"  guesses {row['guess']!r}; right over all outputs: {right}; "
              f"{overall['words']} words")  # fmt: skip
        return
    print(f"  guesses {row['guess']!r}, right with probability {row['success']:.4g}; "
          f"perplexity {row['perplexity']:.4g} words")  # fmt: skip
    print(f"  {'word':<20}{'before':>11}{'after':>11}{'promised at most':>18}")
    for one in row["candidates"]:
        print(
            f"  {one['word'][:19]:<20}{one['prior']:>11.3g}{one['posterior']:>11.3g}"
            f"{one['bound']:>18.3g}"
        )
    if "worst_odds" in row:
        worst = row["worst_odds"]
        print(f"  odds of {worst['word']!r} against {worst['other']!r}: times "
              f"e^{worst['log_ratio']:.4g}, promised at most e^{worst['claimed']:.4g}"
              + (" (broken)" if worst["broken"] else ""))  # fmt: skip
    if "overall" in row:
        overall = row["overall"]
        how = (
            "all outputs" if overall["exact"] else f"{overall['low']:.4f} to {overall['high']:.4f}"
        )
        print(f"  right over all outputs: {overall['value']:.4f} ({how}); blind: "
              f"{overall['blind']:.3g}")  # fmt: skip
