"""The command `tradeoff`: what mechanisms give away, and what they leave."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore.attack.frontier.least_distance import least_distance
from dpcore.attack.frontier.meter import largest_epsilon, meter
from dpcore.attack.trade.ground import LEAKAGES, NEAR, PAIRS, UTILITIES
from dpcore.attack.trade.tradeoff import Tradeoff, tradeoff, wastes
from dpcore.cli import shared
from dpcore.cli.printer import Answer, note, table
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, EpsilonMeaning, Guarantee, MetricPrivacy
from dpcore.lexicon.cache import write_text
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.mechanism import Mechanism

_OUTPUTS = 1_000


@command("tradeoff")
@shared.compared_options
@shared.settings_option
@shared.lexicon_option
@shared.number("--outputs", _OUTPUTS, "outputs that are looked at, of each mechanism")
@option("--all-outputs", is_flag=True, help="look at every output: exact where laws are")
@shared.number("--near", NEAR, "a word is near if it is among the N nearest, itself included")
@shared.number("--pairs", PAIRS, "pairs of words that are told apart")
@shared.seed_option("of the drawing of words and outputs")
@shared.file("--figure", "draw it, and the line that no mechanism crosses, as a page of HTML")
@option("--across", default="word", type=Choice(LEAKAGES), help="of --figure: what leaks")
@option("--upwards", default="meaning", type=Choice(UTILITIES), help="of --figure: what is left")
def tradeoff_command(options: Options) -> Answer:
    """How much mechanisms give away in six senses, and how much they leave in two."""
    mechanisms = shared.build_each(options, options.mechanism)
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    answer = tradeoff(
        list(zip(mechanisms, grids, strict=True)),
        outputs=None if options.all_outputs else options.outputs,
        **shared.fields(options, "near pairs seed progress"),
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
        shared.lexicon_fields(mechanisms[0].lexicon)
        | {
            "mechanisms": [shared.settings_fields(mechanism) for mechanism in mechanisms],
            **shared.fields(options, "seed near pairs"),
            **shared.fields(answer, "known_kinds spread before"),
            "rows": [asdict(row) for row in answer.rows],
            "bounds": [
                {"mechanism": short, "epsilon": epsilon, "bound_at": standing.epsilon}
                | shared.fields(standing, "kept bound")
                for short, epsilon, standing in standings
            ],
        },
        [
            *_lines(answer),
            *(f"{short}, ε = {epsilon:.4g}: {one.sentence}" for short, epsilon, one in standings),
        ],
    )


def _lines(answer: Tradeoff) -> Iterator[str]:
    leakages = [name for name in LEAKAGES if name in answer.before]
    columns = " ".join(f"{{{name}:>9.4f|{name}}}" for name in (*leakages, *UTILITIES))
    template = "{epsilon:>10.4g|ε} " + columns
    yield "Given away: " + ", ".join(leakages) + "; left: " + ", ".join(UTILITIES)
    if "kind" not in leakages:
        yield "Kinds of words are known of English alone: of this lexicon no kind is guessed."
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
    """One page: the trade-off, and for each meaning of ε the frontier with its curves under it."""
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
        # From where the bound begins to rise, which may be far below the ε of any mechanism.
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
        if not pure:  # what is proved of distances is proved for δ = 0
            continue
        nearness = least_distance(lexicon, grid, local=local, compute=False).to_pandas()
        left = nearness.assign(high=(1.0 - nearness["low"] / answer.spread).clip(0.0, 1.0))
        figure = plots.frontier_figure(
            left, frame[frame["mechanism"].isin(pure)], SCALES[meaning].axis, "meaning"
        )
        parts.append((figure, plots.distance_caption(left)))
    _write(options.figure, f"The trade-off on {answer.lexicon}", parts)
    note(f"wrote {options.figure}")


def _promises(mechanisms: Sequence[Mechanism], answer: Tradeoff) -> dict[str, Guarantee]:
    """What each promises at its first ε."""
    first = {row.mechanism: row.epsilon for row in reversed(answer.rows)}
    return {each.short: each.guarantee(first[each.short]) for each in mechanisms}


def _in_distances(promise: Guarantee) -> bool:
    """Whether ε multiplies Euclidean distances, if any: else it is another line that holds."""
    return not isinstance(promise, MetricPrivacy) or promise.euclidean_factor <= 1.0


def _write(path: Path, title: str, parts: Sequence[tuple[Any, str]]) -> None:
    """Figures with their captions as a page that needs nothing else."""
    body = "".join(
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
