"""The command `density`: how crowded the space is around words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from click import option

from dpcore.cli import shared
from dpcore.cli.neighbours import around_fields, radius_option
from dpcore.cli.printer import Answer, note
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH
from dpcore.measure.density.density import (
    STRATA,
    check_neighbours,
    density_from_table,
    extremes,
    neighbourhood,
    ordinary_words,
    vocabulary_density,
    within_radius,
    write_density,
)

Rows = dict[str, list[dict[str, Any]]]
_TOP = 20


@command("density")
@option("--word", multiple=True, help="a word; repeatable")
@shared.number("--top", None, f"the N densest and sparsest words  [default: {_TOP}]")
@shared.number("--k", 10, "neighbours")
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
@shared.file(
    "--file", "compute the density of every word and write it to this file, as it is bundled"
)
@shared.lexicon_option
def density_command(options: Options) -> Answer | None:
    """How dense the space is around words, or where it is densest and sparsest."""
    if options.word and options.top is not None:
        raise ParameterError("density takes --word or --top, not both")
    lexicon = shared.lexicon(options)
    if options.file is not None:
        _to_file(options, lexicon)
        return None
    rows = (_of_words if options.word else _of_vocabulary)(options, lexicon)
    head = shared.lexicon_fields(lexicon) | shared.fields(options, "k radius")
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
