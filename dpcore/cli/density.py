"""The commands `neighbours` and `density`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.mechanisms import common_options, print_json
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.density.density import Neighbourhood, VocabularyDensity


def register(commands: Commands) -> None:
    """Add the commands; each handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser("neighbours", help="the nearest words of a word")
    command.add_argument("--word", required=True)
    command.add_argument("--k", type=int, default=20, help="how many (default 20)")
    command.add_argument("--radius", type=float, help="also count the words within this distance")
    common_options(command)
    command.set_defaults(handler=_neighbours)

    command = commands.add_parser(
        "density", help="how dense the space is around words, or where it is densest and sparsest"
    )
    command.add_argument("--word", action="append", help="a word; may be repeated")
    command.add_argument(
        "--top", type=int, metavar="N", help="the N densest and sparsest words (default 20)"
    )
    command.add_argument("--k", type=int, default=10, help="neighbours (default 10)")
    command.add_argument("--radius", type=float, help="also count the words within this distance")
    command.add_argument(
        "--all-words",
        action="store_true",
        help="of --top: also rare and non-alphabetic rows, not only ordinary words",
    )
    command.add_argument(
        "--hubness",
        action="store_true",
        help="of --word: also hubness and stratum, from the table of all neighbours",
    )
    command.add_argument(
        "--file",
        type=Path,
        help="compute the density of every word and write it to this file, as it is bundled",
    )
    common_options(command)
    command.set_defaults(handler=_density)


def _head(lexicon: Lexicon) -> dict[str, Any]:
    return {"lexicon": lexicon.name, "fingerprint": lexicon.fingerprint, "version": __version__}


def _around(lexicon: Lexicon, found: Neighbourhood) -> dict[str, Any]:
    return {
        "word": lexicon.words[found.word],
        "nearest_distance": found.nearest,
        "mean_distance": found.mean_distance,
        "within_radius": found.within,
    }


def _neighbours(options: argparse.Namespace) -> int:
    from dpcore.lexicon.catalogue import load
    from dpcore.measure.density.density import neighbourhood

    lexicon = load(options.lexicon)
    found = neighbourhood(lexicon, lexicon.index(options.word), options.k, options.radius)
    names = [lexicon.words[i] for i in found.neighbours.tolist()]
    if options.json:
        rows = [
            {"word": name, "distance": distance}
            for name, distance in zip(names, found.distances.tolist(), strict=True)
        ]
        print_json(
            _head(lexicon)
            | _around(lexicon, found)
            | {"k": options.k, "radius": options.radius, "neighbours": rows}
        )
        return 0
    print(f"{options.word}: nearest at {found.nearest:.4f}, mean {found.mean_distance:.4f}")
    if found.within is not None:
        print(f"{found.within:,} other words within {options.radius:g}")
    for name, distance in zip(names, found.distances, strict=True):
        print(f"{distance:10.4f}  {name}")
    return 0


def _density(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load

    if options.word and options.top is not None:
        raise ParameterError("density takes --word or --top, not both")
    with progress_bars() as progress:
        lexicon = load(options.lexicon, progress=progress)
        if options.file is not None:
            return _to_file(options, lexicon, progress)
        result = _of_words(options, lexicon, progress) if options.word else None
        if result is None:
            result = _of_vocabulary(options, lexicon, progress)
    if options.json:
        print_json(_head(lexicon) | {"k": options.k, "radius": options.radius} | result)
        return 0
    for title, rows in result.items():
        print(f"{title}:")
        for row in rows:
            more = "".join(
                f"  {name} {row[name]}"
                for name in ("within_radius", "hubness", "stratum")
                if row.get(name) is not None
            )
            print(
                f"  {row['word']:<20} nearest {row['nearest_distance']:.4f}  "
                f"mean of {options.k} {row['mean_distance']:.4f}{more}"
            )
    return 0


def _to_file(options: argparse.Namespace, lexicon: Lexicon, progress: Progress) -> int:
    from dpcore.measure.density.bundle import write_density
    from dpcore.measure.density.density import check_neighbours, density_from_table

    k = check_neighbours(lexicon, options.k, NEIGHBOUR_TABLE_WIDTH - 1)
    found = density_from_table(lexicon, k, progress)
    fingerprint = lexicon.with_metric(Metric.EUCLIDEAN).fingerprint
    arrays = {name: getattr(found, name) for name in ("nearest", "mean_distance", "hubness")}
    write_density(options.file, fingerprint, k, arrays)
    print(f"{options.file}: density of {len(lexicon):,} words, {k} neighbours", file=sys.stderr)
    return 0


def _of_words(
    options: argparse.Namespace, lexicon: Lexicon, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    from dpcore.measure.density.density import STRATA, neighbourhood, vocabulary_density

    indices = lexicon.indices(options.word).tolist()
    rows = [_around(lexicon, neighbourhood(lexicon, i, options.k, options.radius)) for i in indices]
    if options.hubness:
        density = vocabulary_density(lexicon, options.k, progress)
        strata = density.strata()
        for row, i in zip(rows, indices, strict=True):
            row |= {"hubness": int(density.hubness[i]), "stratum": str(STRATA[strata[i]])}
    return {"words": rows}


def _of_vocabulary(
    options: argparse.Namespace, lexicon: Lexicon, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    from dpcore.measure.density.density import (
        STRATA,
        extremes,
        ordinary_words,
        vocabulary_density,
        within_radius,
    )

    count = 20 if options.top is None else options.top
    if not 1 <= count <= len(lexicon):
        raise ParameterError(f"--top must be 1 to {len(lexicon):,} (the words), got {count}")
    among = None if options.all_words else ordinary_words(lexicon)
    density: VocabularyDensity = vocabulary_density(lexicon, options.k, progress)
    strata = density.strata()
    inside = None if options.radius is None else within_radius(lexicon, options.radius, progress)
    found = {}
    for title, chosen in zip(("densest", "sparsest"), extremes(density, count, among), strict=True):
        found[title] = [
            {
                "word": lexicon.words[i],
                "nearest_distance": float(density.nearest[i]),
                "mean_distance": float(density.mean_distance[i]),
                "hubness": int(density.hubness[i]),
                "stratum": str(STRATA[strata[i]]),
                "within_radius": None if inside is None else int(inside[0][i]),
                "within_radius_complete": None if inside is None else bool(inside[1][i]),
            }
            for i in chosen.tolist()
        ]
    return found
