"""Commands on words: `distribution`, `path`, `neighbours`, `density`, `deniability`, `solve`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore.cli import fields, flags
from dpcore.cli.construction import (
    build_mechanism,
    build_mechanisms,
    epsilons_of_each,
    load_lexicon,
)
from dpcore.cli.printer import Answer, note, table, to_json
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.limits import MAX_DRAWS, NEIGHBOUR_TABLE_WIDTH
from dpcore.measure.deniability import (
    Deniability,
    check_runs,
    choose_method,
    measure,
    summarise,
    summary_rows,
)
from dpcore.measure.density import (
    STRATA,
    Neighbourhood,
    check_neighbours,
    density_from_table,
    extremes,
    neighbourhood,
    ordinary_words,
    vocabulary_density,
    within_radius,
    write_density,
)
from dpcore.measure.targets import Solution, Target, calibrate, solve
from dpcore.measure.words import Selection, corpus_file, sample, select_words, subsample
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import check_seed, generator
from dpcore.plots.style import probability_text

_SHOWN = 20


@command("distribution")
@flags.one_mechanism
@flags.epsilon
@flags.word
@flags.number("--top", None, "print only the N most likely", least=1, most=MAX_DRAWS)
@flags.number("--draws", 1000, "directions or draws of an estimate", least=2, most=MAX_DRAWS)
@flags.seed("of an estimated distribution")
def distribution_command(options: Options) -> Answer:
    """The probability of each output of a word."""
    mechanism = build_mechanism(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    rng = generator(options.seed, "distribution", mechanism.key)
    law = mechanism.law(options.word, epsilon, rng=rng, effort=Effort(directions=options.draws))
    outputs = law.top(options.top or law.outputs.size)
    exactness = "exact" if law.exact else f"estimated, standard error up to {law.error:.2g}"
    heading = f"{mechanism.title}, ε = {epsilon:g}, {options.word!r}: {law.method} ({exactness})"
    # A person sees the likeliest; the JSON has all that were asked for.
    shown = outputs[: options.top or _SHOWN]
    return Answer(
        fields.of_mechanism(mechanism)
        | {
            "epsilon": epsilon,
            "word": options.word,
            **fields.some(law, "exact error method"),
            "words": [word for word, _ in outputs],
            "probabilities": [probability for _, probability in outputs],
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        },
        [heading, *(f"{probability:10.6f}  {word}" for word, probability in shown)],
    )


# The command `path`: one noise draw, read at every ε.


@command("path")
@flags.one_mechanism
@flags.word
@flags.seed("of the draw")
def path_command(options: Options) -> Answer:
    """Show the outputs of one noise draw at every ε."""
    mechanism = build_mechanism(options)
    words = np.array([mechanism.lexicon.index(options.word)], dtype=np.int64)
    paths = mechanism.paths(generator(options.seed, "path", mechanism.key), words)
    pieces = [
        {
            "from_epsilon": piece.from_epsilon,
            # The last piece has no end, and JSON no infinity.
            "to_epsilon": piece.to_epsilon if math.isfinite(piece.to_epsilon) else None,
            "output": mechanism.lexicon.words[piece.output],
        }
        for piece in paths.pieces(0)
    ]
    lines = [f"{mechanism.title}, one draw of {options.word!r}: for looking, not for releasing"]
    for piece in pieces:
        end = "∞" if piece["to_epsilon"] is None else f"{piece['to_epsilon']:.4g}"
        lines.append(f"{piece['from_epsilon']:>10.4g} ≤ ε < {end:<10} {piece['output']}")
    return Answer(
        fields.of_mechanism(mechanism)
        | {"word": options.word, "seed": options.seed, "exact": paths.exact, "pieces": pieces},
        lines,
    )


# The command `neighbours`: the nearest words of a word.


radius_option = option("--radius", type=float, help="also count the words within this distance")


@command("neighbours")
@flags.word
@flags.number("--k", 20, "how many")
@radius_option
@flags.lexicon
def neighbours_command(options: Options) -> Answer:
    """The nearest words of a word."""
    lexicon = load_lexicon(options)
    around = neighbourhood(lexicon, lexicon.index(options.word), options.k, options.radius)
    names = [lexicon.words[i] for i in around.neighbours.tolist()]
    rows = list(zip(names, around.distances.tolist(), strict=True))
    lines = [f"{options.word}: nearest at {around.nearest:.4f}, mean {around.mean_distance:.4f}"]
    if around.within is not None:
        lines.append(f"{around.within:,} other words within {options.radius:g}")
    lines += [f"{distance:10.4f}  {name}" for name, distance in rows]
    return Answer(
        fields.of_lexicon(lexicon)
        | around_fields(lexicon, around)
        | {
            **fields.some(options, "k radius"),
            "neighbours": [{"word": name, "distance": distance} for name, distance in rows],
        },
        lines,
    )


def around_fields(lexicon: Lexicon, around: Neighbourhood) -> dict[str, Any]:
    """Return the fields about the neighbourhood of one word."""
    return {
        "word": lexicon.words[around.word],
        "nearest_distance": around.nearest,
        "mean_distance": around.mean_distance,
        "within_radius": around.within,
    }


# The command `density`: how crowded the space is around words.


Rows = dict[str, list[dict[str, Any]]]
_TOP = 20


@command("density")
@option("--word", multiple=True, help="a word; repeatable")
@flags.number("--top", None, f"the N densest and sparsest words  [default: {_TOP}]")
@flags.number("--k", 10, "neighbours")
@radius_option
@option(
    "--all-words",
    is_flag=True,
    help="of --top: also rare and non-alphabetic rows, not only ordinary words",
)
@option(
    "--hubness",
    is_flag=True,
    help="of --word: also hubness and stratum, from the table of all neighbours",
)
@flags.file(
    "--file", "compute the density of every word and write it to this file, as it is bundled"
)
@flags.lexicon
def density_command(options: Options) -> Answer | None:
    """Measure the density around words, or list the densest and sparsest places."""
    if options.word and options.top is not None:
        raise ParameterError("density takes --word or --top, not both")
    lexicon = load_lexicon(options)
    if options.file is not None:
        _to_file(options, lexicon)
        # The file is the answer.
        return None
    rows = (_of_words if options.word else _of_vocabulary)(options, lexicon)
    head = fields.of_lexicon(lexicon) | fields.some(options, "k radius")
    return Answer(head | rows, _lines(rows, options.k))


def _lines(result: Rows, k: int) -> Iterator[str]:
    for title, rows in result.items():
        yield f"{title}:"
        for row in rows:
            more = "".join(
                f"  {name} {row[name]}"
                for name in ("within_radius", "hubness", "stratum")
                if row.get(name) is not None
            )
            yield (
                f"  {row['word']:<20} nearest {row['nearest_distance']:.4f}  "
                f"mean of {k} {row['mean_distance']:.4f}{more}"
            )


def _to_file(options: Options, lexicon: Lexicon) -> None:
    # One less: a word is its own nearest in the table.
    k = check_neighbours(lexicon, options.k, NEIGHBOUR_TABLE_WIDTH - 1)
    density = density_from_table(lexicon, k, options.progress)
    fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
    write_density(options.file, fingerprint, density)
    note(f"{options.file}: density of {len(lexicon):,} words, {k} neighbours")


def _of_words(options: Options, lexicon: Lexicon) -> Rows:
    indices = lexicon.indices(options.word).tolist()
    rows = [
        around_fields(lexicon, neighbourhood(lexicon, i, options.k, options.radius))
        for i in indices
    ]
    if options.hubness:
        density = vocabulary_density(lexicon, options.k, options.progress)
        strata = density.strata()
        for row, i in zip(rows, indices, strict=True):
            row |= {"hubness": int(density.hubness[i]), "stratum": str(STRATA[strata[i]])}
    return {"words": rows}


def _of_vocabulary(options: Options, lexicon: Lexicon) -> Rows:
    count = _TOP if options.top is None else options.top
    if not 1 <= count <= len(lexicon):
        raise ParameterError(f"--top must be 1 to {len(lexicon):,} (the words), got {count}")
    # Rare rows and marks lie at the ends, and would fill both lists.
    among = None if options.all_words else ordinary_words(lexicon)
    density = vocabulary_density(lexicon, options.k, options.progress)
    strata = density.strata()
    radius = options.radius
    inside = None if radius is None else within_radius(lexicon, radius, options.progress)

    def row(i: int) -> dict[str, Any]:
        return {
            "word": lexicon.words[i],
            "nearest_distance": float(density.nearest[i]),
            "mean_distance": float(density.mean_distance[i]),
            "hubness": int(density.hubness[i]),
            "stratum": str(STRATA[strata[i]]),
            "within_radius": None if inside is None else int(inside[0][i]),
            "within_radius_complete": None if inside is None else bool(inside[1][i]),
        }

    ends = extremes(density, count, among)
    return {
        title: [row(i) for i in chosen.tolist()]
        for title, chosen in zip(("densest", "sparsest"), ends, strict=True)
    }


# The commands `deniability` and `solve`: how deniable words become, and at which ε.


measuring_options = flags.several(
    one_of(
        {
            "--words": {"type": flags.names, "metavar": "A,B,C", "help": "these words"},
            "--sample": {"type": int, "metavar": "N", "help": "a stratified sample of N words"},
            "--corpus": {"type": Path, "metavar": "FILE", "help": "all tokens of a text file"},
        }
    ),
    flags.number("--at-most", None, "words of --corpus, drawn by their frequency"),
    option("--text-column", metavar="NAME", help="of --corpus, a table with a header"),
    option(
        "--stratify", default="frequency", type=Choice(["frequency", "density"]), help="of --sample"
    ),
    flags.runs,
    option("--method", default="auto", type=Choice(["auto", "exact", "protocol", "rao-blackwell"])),
    flags.settings,
    flags.seed("of the sample and of the noise that is measured"),
    flags.lexicon,
)
"""Options of every command that measures words."""


def mechanisms_and_words(
    options: Options, mechanisms: Sequence[str]
) -> tuple[list[Mechanism], Selection]:
    """Return mechanisms and words; check some options before a large lexicon is read."""
    if options.at_most is not None and options.corpus is None:
        raise ParameterError("--at-most is for the words of --corpus")
    if options.text_column is not None and options.corpus is None:
        raise ParameterError("--text-column is for the table of --corpus")
    check_runs(options.runs)
    check_seed(options.seed)
    built = build_mechanisms(options, mechanisms)
    return built, _selection(options, built[0].lexicon)


def _selection(options: Options, public: Lexicon) -> Selection:
    if options.words is not None:
        return select_words(public, options.words)
    if options.corpus is None:
        rng = generator(options.seed, "sample of words")
        return sample(public, options.sample, rng, options.stratify, options.progress)
    selection = corpus_file(public, options.corpus, options.text_column)
    if options.at_most is None:
        return selection
    # The name of the stream is that of the pages, which draw the same words.
    return subsample(selection, options.at_most, generator(options.seed, "words of a text"))


def measuring_arguments(options: Options) -> dict[str, Any]:
    """Return the settings of a measurement of words, as arguments of `dpcore.measure`."""
    return {name: getattr(options, name) for name in ("method", "runs", "seed", "progress")}


_TABLE = (
    "{epsilon:>10.4g|ε}  {mean:<26|mean Nw, 95 % interval} {deviation:>7.2g|± sd} {median:>8.2g} "
    "{worst:>8.2g} {word:<16|}{spread:>17|Sw mean ± sd} {sw:>7.1f|median} {effective:>10.1f}"
)


@command("deniability")
@measuring_options
@flags.compared
@flags.file("--out", "write the JSON to this file")
def deniability_command(options: Options) -> Answer:
    """Nw, Sw and the effective number 1/Σp² of outputs of words."""
    mechanisms, selection = mechanisms_and_words(options, options.mechanism)
    grids = epsilons_of_each(options.epsilon, mechanisms)
    for mechanism in mechanisms:  # refused before the first of them is measured
        choose_method(mechanism, options.method)
    measured = [
        measure(mechanism, selection, epsilons, **measuring_arguments(options))
        for mechanism, epsilons in zip(mechanisms, grids, strict=True)
    ]
    result = {}
    if options.json or options.out:  # of a large corpus, more rows than a person waits for
        head = fields.of_selection(options, mechanisms[0].lexicon, selection)
        result = head | _fields(mechanisms, measured)
    if options.out:
        try:
            write_text(options.out, to_json(result) + "\n")
        except OSError as error:
            raise ParameterError(f"cannot write {options.out}: {error.strerror}") from None
    return Answer(result, _lines_deniability(measured))


def _fields(
    mechanisms: Sequence[Mechanism], measured: Sequence[Deniability]
) -> dict[str, list[dict[str, Any]]]:
    return {
        "mechanisms": [
            {
                **fields.of_settings(mechanism),
                "method": str(measurement.method),
                **fields.some(measurement.figures, "detail numerical_error"),
            }
            for mechanism, measurement in zip(mechanisms, measured, strict=True)
        ],
        "rows": [row for measurement in measured for row in measurement.rows()],
        "summary": [row for measurement in measured for row in summary_rows(measurement)],
    }


def _lines_deniability(measured: Sequence[Deniability]) -> Iterator[str]:
    selection = measured[0].selection
    yield f"{selection.description}: {len(selection):,} words, R = {measured[0].runs:,}"
    if selection.tokens:
        yield (
            f"{selection.tokens:,} tokens, of which {selection.unknown:,} outside the vocabulary "
            "are not measured"
        )
    for measurement in measured:
        yield (f"\n{measurement.mechanism}: {measurement.method} ({measurement.figures.detail})")
        yield from table(_TABLE, _rows(measurement))


def _rows(measured: Deniability) -> Iterator[dict[str, Any]]:
    nw, sw, effective = (summarise(measured, q) for q in ("nw", "sw", "effective"))
    for e, epsilon in enumerate(measured.epsilons):
        yield {
            "epsilon": epsilon,
            "mean": probability_text(nw.mean[e], nw.mean_low[e], nw.mean_high[e]),
            "deviation": nw.deviation[e],
            "median": nw.median[e],
            "worst": nw.worst[e],
            # Cut to its column.
            "word": measured.selection.names[int(nw.worst_word[e])][:14],
            "spread": f"{sw.mean[e]:>8.1f} ± {sw.deviation[e]:<6.1f}",
            "sw": sw.median[e],
            "effective": effective.median[e],
        }


# The command `solve`: the ε that meets a target, or equals another mechanism.


@command("solve")
@measuring_options
@flags.mechanism
@one_of(
    {
        "--nw-at-most": {"type": float, "metavar": "X", "help": "probability that a word stays"},
        "--sw-at-least": {"type": float, "metavar": "Y", "help": "distinct outputs in R runs"},
        "--effective-at-least": {"type": float, "metavar": "Z", "help": "effective number"},
        "--as like": {
            "type": flags.Pair(), "metavar": "MECHANISM=EPSILON",
            "help": "equal mean Nw to this mechanism",
        },
    }
)  # fmt: skip
@option("--over", default="mean", type=Choice(["mean", "median", "worst"]), help="of the words")
def solve_command(options: Options) -> Answer:
    """Find the ε that meets a target, or that equals another mechanism's mean Nw."""
    # Without --as there is no second mechanism; the same one twice is built once.
    reference, value = options.like or (options.mechanism, "")
    bounds = {
        "nw": options.nw_at_most,
        "sw": options.sw_at_least,
        "effective": options.effective_at_least,
    }
    targets = [Target(q, bound, options.over) for q, bound in bounds.items() if bound is not None]
    (mechanism, *others), selection = mechanisms_and_words(options, [options.mechanism, reference])
    common = measuring_arguments(options)
    if targets:
        solution = solve(mechanism, selection, targets[0], **common)
    else:
        other = others[0] if others else mechanism  # none, where `--as` names the mechanism itself
        epsilon = other.check_epsilon(value)  # type: ignore[arg-type]
        solution = calibrate(other, epsilon, mechanism, selection, **common)
    return Answer(
        fields.of_selection(options, mechanism.lexicon, selection)
        | fields.of_settings(mechanism)
        | {
            "target": str(solution.target),
            "method": str(solution.method),
            "standard_error": solution.error,
            "certain": solution.certain and [list(part) for part in solution.certain],
            "searched": [float(solution.epsilons[0]), float(solution.epsilons[-1])],
            "crossings": list(solution.crossings),
            "intervals": [asdict(part) for part in solution.intervals],
        },
        _lines_solve(mechanism, solution),
    )


def _lines_solve(mechanism: Mechanism, solution: Solution) -> Iterator[str]:
    yield f"{mechanism.title}, {solution.target} ({solution.method}):"
    for part in solution.intervals:
        low = "" if part.low_is_crossing else " (where the search began)"
        high = "" if part.high_is_crossing else " (where the search ended)"
        yield f"  from ε = {part.low:.6g}{low} to {part.high:.6g}{high}"
    if not solution.intervals:
        yield f"  nowhere from ε = {solution.epsilons[0]:.4g} to {solution.epsilons[-1]:.4g}"
    if solution.certain is not None and solution.error > 0:
        parts = [f"ε = {low:.6g} to {high:.6g}" for low, high in solution.certain]
        yield f"  for certain, at the level of 95 %: {'; '.join(parts) or 'nowhere'}"
