"""Command `attack`: on words, on one output, on a whole text, and on its author."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, IntRange, option

from dpcore.arrays import IntArray
from dpcore.attack.language.authors import (
    WRITTEN,
    Authors,
    FoundAuthors,
    KnownAuthors,
    beginnings,
    check_lengths,
    follow,
    follow_written,
    joined,
    rank_authors,
    split_documents,
)
from dpcore.attack.language.context import BIGRAM, READERS, context_prior, places_of
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.language.pufferfish import nearest_others, sentence_loss, worst_losses
from dpcore.attack.language.recovered import FREQUENCY, TEN, Recovery, recover
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.nearest import nearest_guess, nearest_success
from dpcore.attack.output.posterior import posterior, posterior_bound, worst_odds
from dpcore.attack.output.prior import Prior, parse_prior
from dpcore.attack.output.success import overall_success
from dpcore.attack.output.two_words import Comparison, compare
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanisms, epsilons_of_each
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_rows, reading_options
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.corpus import Bags, bags_of
from dpcore.learn.table import Table, labelled_pairs
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import (
    MAX_ATTACK_PRIOR_WORDS,
    MAX_AUTHOR_WORDS,
    MAX_DRAWS,
    MAX_LABELLED_ROWS,
)
from dpcore.measure.deniability import check_runs
from dpcore.measure.pair import Pair
from dpcore.measure.words import select_words
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import check_seed, generator
from dpcore.outwards import at_most
from dpcore.plots.style import probability_text
from dpcore.rewrite.sentence import Sentence, draw, prepare

# The part of the command `attack` about the author of a released text.

_AUTHORS = (
    "{mechanism:<19}{epsilon:>10.4g|ε}  {attacker:<10}{first:>24|first}{place:>24|place of author}"
)
_CURVE = "{mechanism:<19}{epsilon:>10|ε}  {words:>6|words}{authors:>9|authors}{place:>26|place}"
_TOPS = (1, 10)
_TOP_WORDS = 10  # of --output
_AT_ONCE = 8  # ε whose scores are held together


def on_authors(options: Options, asked: Sequence[tuple[Mechanism, list[float]]]) -> Answer:
    """Answer `attack --authors`."""
    lexicon = asked[0][0].lexicon
    lengths = curve_lengths(options.curve)
    rows = read_rows(options.authors, options, options.text_column, options.author_column)
    rows = _one_text_a_row(rows, options.text_column)
    pairs, _, _ = labelled_pairs(rows, options.text_column, options.author_column)
    texts, names = [text for text, _ in pairs], sorted({name for _, name in pairs})
    wrote = np.array([names.index(name) for _, name in pairs], dtype=np.int64)
    bags = bags_of(texts, lexicon)
    authors = Authors(bags, wrote, word_frequencies(lexicon))
    tops = _tops_of(options.top, authors.count)
    tried = beginnings(authors, texts, lexicon, options.first_words, options.texts, options.seed)
    attacks = []
    for mechanism, grid in asked:
        channel = open_channel(mechanism, progress=options.progress)
        for epsilon in mechanism.check_epsilons(grid).tolist():
            ranked = rank_authors(
                channel, authors, tried, epsilon,
                reader=options.reader, seed=options.seed, progress=options.progress,
            )  # fmt: skip
            attacks += [
                fields.of_settings(mechanism)
                | {
                    "epsilon": epsilon,
                    "attacker": attacker,
                    "first": ranked.first(attacker),
                    "place": fields.some(ranked.mean(attacker), "mean low high"),
                    "top": [
                        {"count": top}
                        | ranked.within(attacker, top)
                        | {"chance": top / authors.count}
                        for top in tops
                    ],
                }
                for attacker in ranked.places
            ]
    sizes = {"authors": authors.count, "texts": len(texts), "tried": len(tried)}
    result = (
        fields.of_lexicon(lexicon)
        | {"seed": options.seed, "reader": options.reader, "first_words": options.first_words}
        | sizes
        # By chance the mean place among n authors is (n + 1)/2.
        | {"chance": {"first": 1 / authors.count, "place": (authors.count + 1) / 2}}
        | {"attacks": attacks}
    )
    lines = [*_author_lines(authors.count, attacks)]
    if lengths is not None:
        curve = _curve(options, asked, bags, wrote, lengths, tops)
        result |= {"curve": curve}
        lines += _curve_lines(authors.count, tops, curve)
    return Answer(result, lines)


def curve_lengths(text: str | None) -> tuple[int, ...] | None:
    """Return the lengths of --curve before the last, all words; None without the option.

    Raises:
        ParameterError: the text is no list of whole numbers.
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if parts[-1].lower() == "all":
        parts.pop()
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ParameterError(
            "--curve takes numbers of released words with commas between, such as 25,50,100,all"
        )
    return check_lengths([int(part) for part in parts])


def _tops_of(given: Sequence[int], authors: int) -> tuple[int, ...]:
    """Return the first places to count: those of --top, or the usual ones where there are more."""
    tops = tuple(sorted(set(given or (top for top in _TOPS if top < authors))))
    if tops[-1] > authors:
        raise ParameterError(f"--top is at most {authors} for {authors} authors, got {tops[-1]}")
    return tops


def _one_text_a_row(rows: Table, column: str) -> Table:
    """Return a table with a row for each text, where parquet or JSON has a list of texts in one."""
    place = rows.place(column)
    if rows.shape.format not in {"parquet", "jsonl"}:
        return rows
    single = [
        (*row[:place], text, *row[place + 1 :]) for row in rows.rows for text in _listed(row[place])
    ]
    if len(single) > MAX_LABELLED_ROWS:
        raise CorpusError(
            f"the lists hold more than {MAX_LABELLED_ROWS:,} texts; take a part of the rows"
        )
    return replace(rows, rows=tuple(single))


def _listed(cell: str) -> list[str]:
    """Return the texts of a cell, which is JSON where the file has a list."""
    if cell.startswith("["):
        try:
            texts = json.loads(cell)
        except (ValueError, RecursionError):
            return [cell]  # a text that begins with a bracket
        if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
            return texts
    return [cell]


def _curve(
    options: Options,
    asked: Sequence[tuple[Mechanism, list[float]]],
    bags: Bags,
    wrote: IntArray,
    lengths: Sequence[int],
    tops: Sequence[int],
) -> list[dict[str, Any]]:
    """Rank the authors of released halves, as they were written and under each mechanism."""
    known, released = split_documents(wrote, options.seed)
    suspects = KnownAuthors(joined(bags, known), word_frequencies(asked[0][0].lexicon))
    halves = joined(bags, released)

    def rows(found: FoundAuthors, **of: Any) -> list[dict[str, Any]]:
        return [of | point for point in found.rows(tops)]

    blank: dict[str, Any] = {
        "mechanism": "",
        "parameters": {},
        "epsilon": None,
        "attacker": WRITTEN,
    }
    result = rows(follow_written(suspects, halves, lengths), **blank)
    for mechanism, grid in asked:
        channel = open_channel(mechanism, progress=options.progress)
        values = mechanism.check_epsilons(grid).tolist()
        rng = generator(options.seed, "halves released", mechanism.key)
        # One noise draw for all ε, as in any experiment here; of a few ε the outputs are held.
        outputs = outputs_at(mechanism, rng, halves.inputs(rng), values, options.progress)
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            texts = [halves.with_words(outputs[:, start + e]) for e in range(len(some))]
            found = follow(channel, suspects, texts, some, lengths, progress=options.progress)
            for epsilon, each in zip(some, found, strict=True):
                of = fields.of_settings(mechanism) | {"epsilon": epsilon, "attacker": FREQUENCY}
                result += rows(each, **of)
    return result


def _author_lines(authors: int, attacks: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield (
        f"{authors} authors; by chance the right one is first in {1 / authors:.3f} of the texts, "
        f"and at place {(authors + 1) / 2:g}"
    )
    more = [top["count"] for top in attacks[0]["top"] if top["count"] > 1]
    yield from table(
        _AUTHORS + "".join(_top_column(count) for count in more),
        [
            row
            | {
                "first": "{share:.3f} ({low:.3f} to {high:.3f})".format_map(row["first"]),
                "place": "{mean:.2f} ({low:.2f} to {high:.2f})".format_map(row["place"]),
            }
            | _top_cells(row)
            for row in attacks
        ],
    )


def _curve_lines(
    authors: int, tops: Sequence[int], curve: Sequence[dict[str, Any]]
) -> Iterator[str]:
    chance = ", ".join(f"first {top}: {top / authors:.3f}" for top in tops)
    yield (
        "\nhalf of each author's texts known, the other half released; found among the first so "
        f"many of {authors}, by released words (by chance {chance}):"
    )
    yield from table(
        _CURVE + "".join(_top_column(count) for count in tops),
        [
            row
            | {
                "mechanism": row["mechanism"] or "as written",
                "epsilon": "" if row["epsilon"] is None else f"{row['epsilon']:.4g}",
                "words": row["words"] or "all",
                "place": "{mean:.1f} ({low:.1f} to {high:.1f})".format_map(row["place"]),
            }
            | _top_cells(row)
            for row in curve
        ],
    )


def _top_column(count: int) -> str:
    return f"{{top{count}:>24|first {count}}}"


def _top_cells(row: dict[str, Any]) -> dict[str, str]:
    """Return the cells of `_top_column`."""
    return {
        f"top{top['count']}": "{share:.3f} ({low:.3f} to {high:.3f})".format_map(top)
        for top in row["top"]
    }


_BLANK = "_"
_DIRECTIONS = 400
_PAIR = (
    "{epsilon:>10.4g|ε}  {word:<16.15}{nw:>7.4f|Nw} {sw:>8.1f|Sw} {output_distance:>9.4f|distance}"
    "  {nearest:<17|or its nearest?}{other:<17|or the other?}{attack_bound:>9|promised}"
)
_CANDIDATE = (
    "  {word:<20.19}{prior:>11.3g|before}{posterior:>11.3g|after}{bound:>18|promised at most}"
)

_RECOVERED = (
    "  {written:<16.15}{released:<16.15}{frequency:<16.15}{context:<16.15}"
    "{rank_context:>7|rank}{chance_context:>9.3f|chance}"
)
_LOSSES = (
    "  {written:<16.15}{other:<16.15|nearest}{own:>8.3f}{own_bound:>9|at most}{left:>9.3f}"
    "{right:>9.3f}{total:>9.3f|all}{total_bound:>9|at most}"
)
_WORST = (
    "  {mechanism:<19}{epsilon:>8.4g|ε}{own:>9}{adjacent:>10.4g}{all:>11|neighbours}"
    "{unchanged:>11|unchanged}{factor:>8|times ε}"
)


@command("attack")
@one_of(
    {
        "--words": {
            "type": flags.names, "metavar": "A,B", "help": "two different words to be told apart",
        },
        "--output": {"metavar": "WORD", "help": "one released word"},
        "--text": {"help": "a text that is released once and read by attackers"},
        "--authors": {
            "type": Path, "metavar": "CSV",
            "help": "a CSV file of texts and their authors: who wrote what is released",
        },
    }
)  # fmt: skip
@flags.compared
@flags.settings
@flags.runs
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
@option(
    "--top",
    type=IntRange(1, MAX_DRAWS),
    multiple=True,
    metavar="N",
    help="of --output: words to name  [default: 10]; of --authors: count the authors found among "
    "the first N; repeatable  [default: 1 and 10]",
)
@flags.number(
    "--outputs",
    None,
    "of --output: also the success over all outputs (estimated from N for long priors)",
)
@option(
    "--nearest",
    is_flag=True,
    help="of --output: the nearest-neighbour attacker, for mechanisms without an exact law",
)
@option(
    "--reader",
    type=Choice(READERS),
    default=BIGRAM,
    help="of --text and --authors: who reads the context, bigrams exactly, or approximately a "
    "small network with them (words) or a language model of an optional package (smollm2)",
)
@option(
    "--neighbours",
    is_flag=True,
    help="of --words and --text: what the outputs of neighbouring words tell about a word, if "
    "texts follow the bigrams; with --words over all outputs, a minute for some mechanisms",
)
@option("--text-column", default="text", metavar="NAME", help="of --authors")
@option("--author-column", default="author", metavar="NAME", help="of --authors")
@reading_options
@flags.number(
    "--first-words",
    50,
    "of --authors: words of each text that are released",
    least=1,
    most=MAX_AUTHOR_WORDS,
)
@flags.number(
    "--texts", 40, "of --authors: texts that are released", least=2, most=MAX_LABELLED_ROWS
)
@option(
    "--curve",
    metavar="N,N,…",
    help="of --authors: half of each author's texts known, the other half released, and the "
    "authors found after so many released words, such as 25,50,100,all",
)
@flags.seed("of whatever is drawn")
@flags.lexicon
def attack_command(options: Options) -> Answer:
    """Compute the attacker's gain from one output, about two words, a text or its author."""
    check_runs(options.runs)
    check_seed(options.seed)
    if options.authors is None:
        if options.curve is not None:
            raise ParameterError("--curve is for --authors: name a table of texts and authors")
        if len(options.top) > 1:
            raise ParameterError("--top is given once for --output; several are for --authors")
    if options.neighbours and options.words is None and options.text is None:
        raise ParameterError("--neighbours is for --words and --text")
    mechanisms = build_mechanisms(options, options.mechanism)
    grids = epsilons_of_each(options.epsilon, mechanisms)
    asked = list(zip(mechanisms, grids, strict=True))
    if options.text is not None:
        return _on_text(options, asked)
    if options.authors is not None:
        return on_authors(options, asked)
    return (_on_words if options.output is None else _on_output)(options, asked)


def _on_words(options: Options, asked: Sequence[tuple[Mechanism, list[float]]]) -> Answer:
    lexicon = asked[0][0].lexicon
    selection = select_words(lexicon, options.words)
    if len(selection) != 2:
        raise ParameterError(f"--words takes two different words, got {len(selection)}")
    pair = Pair.of(lexicon, *selection.names)
    directions = SharedDirections(Effort(_DIRECTIONS))
    comparisons = []
    for done, (mechanism, grid) in enumerate(asked):
        options.progress("mechanisms", done, len(asked))
        epsilons = mechanism.check_epsilons(grid)
        comparisons.append(
            compare(mechanism, pair, epsilons, directions, runs=options.runs, seed=options.seed)
        )
    options.progress("mechanisms", len(asked), len(asked))
    result = fields.of_selection(options, lexicon, selection) | {
        "distance": pair.distance,
        "directions": _DIRECTIONS,
        "rows": [row for comparison in comparisons for row in comparison.rows()],
    }
    lines = [*_pair_lines(comparisons)]
    if options.neighbours:
        result["neighbours"] = [
            fields.of_settings(mechanism) | {"epsilon": epsilon} | worst.to_dict()
            for mechanism, grid in asked
            for epsilon in mechanism.check_epsilons(grid).tolist()
            for worst in worst_losses(
                mechanism, epsilon, [(pair.words[0], pair.words[1])], progress=options.progress
            )
        ]
        lines += _worst_lines(result["neighbours"])
    return Answer(result, lines)


def _worst_lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "\nin the middle of a text, in nats, whatever comes out:"
    yield from table(
        _WORST,
        [
            row | {name: _bound(row[name]) for name in ("own", "all", "unchanged", "factor")}
            for row in rows
        ],
    )
    for row in rows:
        yield row["statement"]


def _bound(value: float | None) -> str:
    """Return an upper bound as text, rounded up; a bound that is None is infinite."""
    return at_most(math.inf if value is None else value)


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
            | {"attack_bound": at_most(row["attack_bound"], places=4)}
            for row in comparison.rows()
        ]
        yield from table(_PAIR, rows)


def _on_output(options: Options, asked: Sequence[tuple[Mechanism, list[float]]]) -> Answer:
    lexicon = asked[0][0].lexicon
    output = lexicon.index(options.output)
    prior = prior_of(lexicon, options.prior, options.sentence)
    attacker = _nearest if options.nearest else _bayes
    attacks = [
        fields.of_settings(mechanism) | row
        for mechanism, grid in asked
        for row in attacker(options, mechanism, prior, output, grid)
    ]
    support = int(prior.support.size)
    return Answer(
        fields.of_lexicon(lexicon)
        | {
            "seed": options.seed,
            "output": options.output,
            "prior": {"name": prior.name, "words": support, "sentence": prior.sentence},
            "attacks": attacks,
        },
        [
            f"{options.output!r} was released; before that: {prior.sentence}",
            *(line for row in attacks for line in _output_lines(row)),
        ],
    )


def _on_text(options: Options, asked: Sequence[tuple[Mechanism, list[float]]]) -> Answer:
    lexicon = asked[0][0].lexicon
    sentence = prepare(options.text, lexicon)
    attacks = []
    for mechanism, grid in asked:
        channel = open_channel(mechanism, progress=options.progress)
        epsilons = mechanism.check_epsilons(grid)
        drawn = draw(sentence, mechanism, options.seed, epsilons=epsilons)
        for epsilon in epsilons.tolist():
            outputs = drawn.paths.at(np.array([epsilon]))[:, 0]
            recovered = recover(
                channel, sentence, outputs, epsilon,
                reader=options.reader, progress=options.progress,
            )  # fmt: skip
            attacks.append(
                fields.of_settings(mechanism)
                | {
                    "epsilon": epsilon,
                    "text": sentence.write(outputs).text,
                    "counted": int(recovered.counted.sum()),
                    "right": {
                        name: {"first": recovered.right(name), "ten": recovered.right(name, TEN)}
                        for name in recovered.ranks
                    },
                    "unknown": recovered.unknown,
                    "smoothed": _smoothed(sentence, outputs, recovered),
                    "words": recovered.rows(),
                }
            )
            if options.neighbours:
                words = recovered.written
                loss = sentence_loss(
                    channel, places_of(sentence, outputs), words,
                    nearest_others(lexicon, words), epsilon, progress=options.progress,
                )  # fmt: skip
                attacks[-1]["neighbours"] = loss.rows()
    return Answer(
        fields.of_lexicon(lexicon)
        | {"seed": options.seed, "reader": options.reader, "attacks": attacks},
        [line for row in attacks for line in _text_lines(row)],
    )


def _smoothed(sentence: Sentence, outputs: IntArray, recovered: Recovery) -> dict[str, Any]:
    """Return the release smoothed by the language model, and what that gives back and takes."""
    text = sentence.write(recovered.smoothed_outputs(sentence, outputs)).text
    return {"text": text, "restored": recovered.restored, "lost": recovered.lost}


def _text_lines(row: dict[str, Any]) -> Iterator[str]:
    yield f"\n{row['mechanism']}, ε = {row['epsilon']:g}: {row['text']}"
    yield from table(_RECOVERED, row["words"])
    yield f"  of {row['counted']} changed content words:"
    for name, right in row["right"].items():
        yield f"  {name:<10} first guess {right['first']}, first {TEN} {right['ten']}"
    smoothed = row["smoothed"]
    yield (
        f"  smoothed by the reader, which costs no ε: {smoothed['text']} ({smoothed['restored']} "
        f"words given back, {smoothed['lost']} that had stayed exchanged)"
    )
    if "neighbours" in row:
        yield "  nats by which outputs tell a word from its nearest one, if texts follow bigrams:"
        losses = [
            {name: math.inf if value is None else value for name, value in loss.items()}
            for loss in row["neighbours"]
        ]
        bounds = ("own_bound", "total_bound")
        yield from table(
            _LOSSES, [loss | {name: at_most(loss[name]) for name in bounds} for loss in losses]
        )


def prior_of(lexicon: Lexicon, text: str, sentence: str | None) -> Prior:
    """Return the prior of --prior and --sentence."""
    if text.strip().lower() != "context":
        if sentence is not None:
            raise ParameterError("--sentence is for --prior context")
        return parse_prior(lexicon, text)
    words = re.findall(r"[\w'-]+|[.!?]", (sentence or "").lower())
    if words.count(_BLANK) != 1:
        raise ParameterError(
            '--prior context needs --sentence with one _ for the word, such as "see you on _ night"'
        )
    # Punctuation on either side is a sentence boundary, which the model takes as None.
    place = words.index(_BLANK)
    around = [*words, "."][place + 1], [".", *words][place]
    right, left = (None if word in ".!?" else word for word in around)
    return context_prior(lexicon, left, right)


def _bayes(
    options: Options, mechanism: Mechanism, prior: Prior, output: int, epsilons: Sequence[float]
) -> Iterator[dict[str, Any]]:
    lexicon = mechanism.lexicon
    # A listed word takes a law of its own; a longer prior takes the output's column over all words.
    listed = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    channel = open_channel(mechanism, prior.support if listed else None, options.progress)
    (top,) = options.top or (_TOP_WORDS,)
    seen = channel.seen(output)
    for epsilon in epsilons:
        likelihood, guarantee = seen.at(epsilon), mechanism.guarantee(epsilon)
        belief = posterior(likelihood, prior)
        candidates = belief.rows(lexicon, top)
        for row, candidate in zip(candidates, belief.top(top), strict=True):
            row["bound"] = posterior_bound(lexicon, guarantee, prior, candidate.word)
        more: dict[str, Any] = {}
        # Odds need two words; a list may hold one.
        if channel.words.size > 1:
            first = output if output in channel.words else belief.best
            worst = worst_odds(lexicon, likelihood, guarantee, first)
            more["worst_odds"] = {
                "word": lexicon.words[worst.first],
                "other": lexicon.words[worst.second],
            } | fields.some(worst, "distance log_ratio claimed broken")
        if options.outputs is not None:
            overall = overall_success(
                channel, prior, epsilon,
                outputs=options.outputs, seed=options.seed, progress=options.progress,
            )  # fmt: skip
            more["overall"] = asdict(overall)
        yield {
            "epsilon": epsilon,
            "attacker": "bayes",
            "method": likelihood.method,
            **fields.some(belief, "error log_evidence"),
            "guess": lexicon.words[belief.best],
            **fields.some(belief, "success perplexity"),
            "candidates": candidates,
            "guarantee": guarantee.to_dict(),
            **more,
        }


def _nearest(
    options: Options, mechanism: Mechanism, prior: Prior, output: int, epsilons: Sequence[float]
) -> Iterator[dict[str, Any]]:
    success = nearest_success(
        mechanism, prior, epsilons, seed=options.seed, progress=options.progress
    )
    guess = output
    if prior.support.size <= MAX_ATTACK_PRIOR_WORDS:
        guess = nearest_guess(mechanism.lexicon, output, prior.support)
    for e, epsilon in enumerate(epsilons):
        curves = fields.some(success, "value error low high")
        overall = {name: float(curve[e]) for name, curve in curves.items()}
        yield {
            "epsilon": epsilon,
            "attacker": "nearest",
            "method": success.detail,
            "guess": mechanism.lexicon.words[guess],
            "overall": overall | {"words": success.words},
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        }


def _output_lines(row: dict[str, Any]) -> Iterator[str]:
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
    rows = [each | {"bound": at_most(each["bound"], 3)} for each in row["candidates"]]
    yield from table(_CANDIDATE, rows)
    if worst:
        yield (
            f"  odds of {worst['word']!r} against {worst['other']!r}: times "
            f"e^{worst['log_ratio']:.4g}, guaranteed at most e^{at_most(worst['claimed'])}"
            + (" (broken)" if worst["broken"] else "")
        )
    if overall:
        how = "{low:.4f} to {high:.4f}".format_map(overall)
        yield (
            f"  right over all outputs: {overall['value']:.4f} "
            f"({'all outputs' if overall['exact'] else how}); blind: {overall['blind']:.3g}"
        )
