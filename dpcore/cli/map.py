"""The command `map`: build maps of a lexicon, and list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from click import Choice, option

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, group
from dpcore.errors import MapMissingError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress
from dpcore.measure.maps.maps import (
    DEFAULT_NEIGHBOURS,
    DEFAULT_PAIR,
    build_local_map,
    build_vocabulary_map,
)
from dpcore.measure.maps.model import Map, MapPlan, plan_of_vocabulary, plan_of_words
from dpcore.measure.maps.store import check_cache, facts_of, stored_facts, write_bundle

_PROJECTIONS = ("umap", "densmap", "pca")
_TABLE = (
    "{projection:<8|map} {of:<28.28} {words:>7,} {mean_kept:>7.1%|kept} {density:>8}  {origin|from}"
)

map_command = group("map", "Maps of a lexicon: build them, list them.")


@command("build", map_command)
@option("--projection", default="all", type=Choice([*_PROJECTIONS, "all"]))
@option("--word", multiple=True, help="only the neighbourhood of this word; twice for two words")
@shared.number("--k", None, "of --word: nearest words of each that are mapped  [default: 60]")
@shared.seed_option("of UMAP and densMAP")
@shared.file(
    "--bundle", "make the maps that come with the laboratory and write them there", metavar="FOLDER"
)
@shared.lexicon_option
def _build(options: Options) -> Answer:
    """Make maps and keep them in the cache."""
    bundled = options.bundle is not None
    if not bundled:
        check_cache()
    if options.k is not None and not options.word:
        raise ParameterError("--k is the number of neighbours of --word, which is not given")
    if bundled and options.word:
        raise ParameterError("--bundle makes fixed maps: it takes no --word")
    lexicon = shared.lexicon(options)
    if bundled:
        maps = _bundle(lexicon, options.bundle, options.progress)
    else:
        maps = _chosen(options, lexicon)
    return _answer(lexicon, [facts_of(drawn) | {"bundled": bundled} for drawn in maps])


def _chosen(options: Options, lexicon: Lexicon) -> list[Map]:
    names = _PROJECTIONS if options.projection == "all" else (options.projection,)
    common = shared.fields(options, "seed progress")
    if not options.word:
        return [build_vocabulary_map(lexicon, name, **common) for name in names]
    centres = lexicon.indices(options.word).tolist()
    k = DEFAULT_NEIGHBOURS if options.k is None else options.k
    return [build_local_map(lexicon, centres, k, name, **common) for name in names]


def _bundle(lexicon: Lexicon, folder: Path, progress: Progress) -> list[Map]:
    """The maps of the whole lexicon, and UMAP and densMAP of the default pair of words."""
    centres = lexicon.indices(DEFAULT_PAIR).tolist()
    k = DEFAULT_NEIGHBOURS
    bundle: list[tuple[MapPlan, str, Map]] = []
    for name in _PROJECTIONS:
        whole = build_vocabulary_map(lexicon, name, progress=progress)
        bundle.append((plan_of_vocabulary(name), f"vocabulary-{name}", whole))
        if name != "pca":
            plan = plan_of_words(lexicon, centres, k, name)
            pair = build_local_map(lexicon, plan.centres, k, name, progress=progress)
            bundle.append((plan, f"pair-{name}", pair))
    again = f"python -m dpcore map build --bundle {folder.as_posix()}"
    try:
        write_bundle(folder, lexicon.name, again, bundle)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from None
    return [shown for _, _, shown in bundle]


@command("list", map_command)
@shared.lexicon_option
def _list(options: Options) -> Answer:
    """The maps that are there."""
    lexicon = shared.lexicon(options)
    facts = stored_facts(lexicon.with_metric(Metric.EUCLIDEAN).fingerprint)
    if not facts and not options.json:
        raise MapMissingError(
            f"there is no map of lexicon {lexicon.name!r} yet; build them with "
            "`python -m dpcore map build`"
        )
    return _answer(lexicon, facts)


def _answer(lexicon: Lexicon, maps: Sequence[dict[str, Any]]) -> Answer:
    rows = [
        {
            "projection": facts["projection"],
            "centres": [lexicon.words[word] for word in facts["centres"]],
            **{
                name: facts[name]
                for name in ("k", "mean_kept", "density", "parameters", "version", "bundled")
            },
        }
        for facts in maps
    ]
    return Answer(
        shared.lexicon_fields(lexicon) | {"maps": rows},
        [
            *table(_TABLE, _printed(rows)),
            "kept: share of the nearest words that are nearest on the map; density: rank "
            "correlation of crowdedness in truth and on the map (1 is all kept, 0 is none)",
        ],
    )


def _printed(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        words, known = (row["parameters"][name] for name in ("words", "lexicon_words"))
        whole = "the whole lexicon" if words >= known else f"the first {words:,} words"
        yield row | {
            "of": " and ".join(row["centres"]) or whole,
            "words": words,
            "density": "–" if row["density"] is None else f"{row['density']:.2f}",
            "origin": "the laboratory" if row["bundled"] else "the cache",
        }
