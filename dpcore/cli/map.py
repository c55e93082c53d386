"""The commands `map build` and `map list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.mechanisms import common_options, print_json, seed_option
from dpcore.errors import MapMissingError, ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.maps.maps import Map, MapPlan

_PROJECTIONS = ("umap", "densmap", "pca")


def register(commands: Commands) -> None:
    """Add the commands; each handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser("map", help="maps of a lexicon: build them, list them")
    parts = command.add_subparsers(required=True, metavar="build|list")

    build = parts.add_parser("build", help="make maps and keep them in the cache")
    build.add_argument(
        "--projection", default="all", choices=(*_PROJECTIONS, "all"), help="default all"
    )
    build.add_argument(
        "--word", action="append", help="only the neighbourhood of this word; twice for two words"
    )
    build.add_argument(
        "--k", type=int, help="of --word: nearest words of each that are mapped (default 60)"
    )
    seed_option(build, "of UMAP and densMAP (default 0)")
    build.add_argument(
        "--bundle",
        type=Path,
        metavar="FOLDER",
        help="make the maps that come with the laboratory and write them there",
    )
    common_options(build)
    build.set_defaults(handler=_build)

    listing = parts.add_parser("list", help="the maps that are there")
    common_options(listing)
    listing.set_defaults(handler=_list)


def _build(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load
    from dpcore.measure.maps.store import check_cache, facts_of

    if options.bundle is None:
        check_cache()
    if options.k is not None and not options.word:
        raise ParameterError("--k is the number of neighbours of --word, which is not given")
    if options.bundle is not None and options.word:
        raise ParameterError("--bundle makes fixed maps: it takes no --word")
    with progress_bars() as progress:
        lexicon = load(options.lexicon, progress=progress)
        if options.bundle is not None:
            found = _bundle(lexicon, options.bundle, progress)
        else:
            found = _chosen(options, lexicon, progress)
    bundled = options.bundle is not None
    _show(options, lexicon, [facts_of(one) | {"bundled": bundled} for one in found])
    return 0


def _chosen(options: argparse.Namespace, lexicon: Lexicon, progress: Progress) -> list[Map]:
    from dpcore.measure.maps.maps import DEFAULT_NEIGHBOURS, build_local_map, build_vocabulary_map

    names = _PROJECTIONS if options.projection == "all" else (options.projection,)
    seed = options.seed or 0
    if not options.word:
        return [build_vocabulary_map(lexicon, n, seed=seed, progress=progress) for n in names]
    centres = lexicon.indices(options.word).tolist()
    k = DEFAULT_NEIGHBOURS if options.k is None else options.k
    return [
        build_local_map(lexicon, centres, k, name, seed=seed, progress=progress) for name in names
    ]


def _bundle(lexicon: Lexicon, folder: Path, progress: Progress) -> list[Map]:
    """The maps of the whole lexicon, and UMAP and densMAP of the default pair of words."""
    from dpcore.measure.maps import maps
    from dpcore.measure.maps.model import plan_of_vocabulary, plan_of_words
    from dpcore.measure.maps.store import write_bundle

    centres = lexicon.indices(maps.DEFAULT_PAIR).tolist()
    k = maps.DEFAULT_NEIGHBOURS
    made: list[tuple[MapPlan, str, Map]] = []
    for name in _PROJECTIONS:
        whole = maps.build_vocabulary_map(lexicon, name, progress=progress)
        made.append((plan_of_vocabulary(name), f"vocabulary-{name}", whole))
        if name != "pca":
            plan = plan_of_words(lexicon, centres, k, name)
            pair = maps.build_local_map(lexicon, plan.centres, k, name, progress=progress)
            made.append((plan, f"pair-{name}", pair))
    command = f"python -m dpcore map build --bundle {folder.as_posix()}"
    try:
        write_bundle(folder, lexicon.name, command, made)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from None
    return [one for _, _, one in made]


def _list(options: argparse.Namespace) -> int:
    from dpcore.lexicon.catalogue import load
    from dpcore.lexicon.metric import Metric
    from dpcore.measure.maps.store import stored_facts

    lexicon = load(options.lexicon)
    found = stored_facts(lexicon.with_metric(Metric.EUCLIDEAN).fingerprint)
    if not found and not options.json:
        raise MapMissingError(
            f"there is no map of lexicon {lexicon.name!r} yet; build them with "
            "`python -m dpcore map build`"
        )
    _show(options, lexicon, found)
    return 0


def _show(options: argparse.Namespace, lexicon: Lexicon, found: list[dict[str, Any]]) -> None:
    rows = [
        {
            "projection": facts["projection"],
            "centres": [lexicon.words[word] for word in facts["centres"]],
            **{name: facts[name] for name in ("k", "mean_kept", "density", "parameters")},
            "version": facts["version"],
            "bundled": facts["bundled"],
        }
        for facts in found
    ]
    if options.json:
        print_json(
            {
                "lexicon": lexicon.name,
                "fingerprint": lexicon.fingerprint,
                "version": __version__,
                "maps": rows,
            }
        )
        return
    print(f"{'map':<8} {'of':<28} {'words':>7} {'kept':>7} {'density':>8}  from")
    for row in rows:
        what = " and ".join(row["centres"]) or "the whole lexicon"
        parameters = row["parameters"]
        if parameters["words"] < parameters["lexicon_words"] and not row["centres"]:
            what = f"the first {parameters['words']:,} words"
        density = "–" if row["density"] is None else f"{row['density']:.2f}"
        print(
            f"{row['projection']:<8} {what[:28]:<28} {parameters['words']:>7,} "
            f"{row['mean_kept']:>7.1%} {density:>8}  "
            f"{'the laboratory' if row['bundled'] else 'the cache'}"
        )
    print(
        "kept: share of the nearest words that are nearest on the map; density: rank correlation "
        "of crowdedness in truth and on the map (1 is all kept, 0 is none)"
    )
