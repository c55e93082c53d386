"""Commands `lexicon` (list, describe, build, add, fetch, train) and `map`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, argument, option

from dpcore.cli import fields, flags
from dpcore.cli.construction import load_lexicon
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, group
from dpcore.errors import LexiconError, MapMissingError, ParameterError
from dpcore.lexicon.cache import cache_status, kinds_kept, recall
from dpcore.lexicon.catalogue import available, load, load_reporting
from dpcore.lexicon.extent import extent_of
from dpcore.lexicon.fetch import SOURCES, AddedLexicon, add, build, fetch, write_extent
from dpcore.lexicon.kinds import kinds_of, write_kinds
from dpcore.lexicon.lexicon import ENGLISH, Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress
from dpcore.lexicon.readers import ReadReport
from dpcore.lexicon.train.poincare import HyperbolicPlan, train_hyperbolic
from dpcore.lexicon.train.run import TrainingPlan, train
from dpcore.lexicon.train.vectors import word_similarity
from dpcore.lexicon.train.wordnet import kinds
from dpcore.measure.maps.fit import (
    BUNDLED_PAIRS,
    DEFAULT_NEIGHBOURS,
    build_local_map,
    build_vocabulary_map,
)
from dpcore.measure.maps.store import (
    Map,
    MapPlan,
    check_cache,
    facts_of,
    plan_of_vocabulary,
    plan_of_words,
    stored_facts,
    write_bundle,
)
from dpcore.rewrite.documents import lexicon_caution
from dpcore.rewrite.languages import describe_language

# Facts about one lexicon and about all of them, as plain JSON values.


def list_lexicons() -> dict[str, Any]:
    """List the lexicons that can be loaded by name, those that can be fetched, and the cache."""
    here = [
        {
            "name": entry.name,
            "title": entry.manifest.facts.get("title") or entry.manifest.name,
            "words": entry.manifest.words,
            "dimension": entry.manifest.dimension,
            "language": entry.manifest.language,
            "bundled": entry.bundled,
            "folder": str(entry.folder),
        }
        for entry in available()
    ]
    public = [
        {
            "key": source.key,
            "title": source.title,
            "words": source.words,
            "dimensions": sorted(source.members),
            "download_bytes": source.size,
            "licence": source.licence,
            "page": source.page,
        }
        for source in SOURCES.values()
    ]
    return {"lexicons": here, "fetchable": public, "cache": cache_facts()}


def cache_facts() -> dict[str, Any]:
    """Return the cache folder and its state."""
    status = cache_status()
    return {"folder": str(status.folder), "writable": status.writable, "reason": status.reason}


def describe(lexicon: Lexicon, progress: Progress | None = None) -> dict[str, Any]:
    """Return size, fingerprint, norms, extent, and the cache files of a lexicon.

    The extent is looked up or computed (see `Lexicon.extent`); the distances to the nearest
    neighbour are included if the neighbour table has been built.
    """
    extent = extent_of(lexicon.vectors, lexicon.metric, lexicon.fingerprint, progress=progress)
    kept = {}
    for kind in kinds_kept(lexicon.fingerprint):
        kept[kind] = "ok" if recall(lexicon.fingerprint, kind) else "damaged: rebuilt when used"
    facts: dict[str, Any] = {
        "name": lexicon.name,
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "language": lexicon.language,
        "metric": lexicon.metric.value,
        "fingerprint": lexicon.fingerprint,
        "vector_bytes": lexicon.vectors.nbytes,
        "largest_norm": lexicon.largest_norm,
        "extent": extent.as_json(),
        "kept": kept,
        "cache": cache_facts(),
    }
    if kept.get("neighbours") == "ok" and len(lexicon) > 1:
        nearest = lexicon.neighbours(2).distances[:, 1]
        quartiles = np.quantile(nearest, (0.25, 0.5, 0.75))
        facts["nearest_neighbour_quartiles"] = [float(q) for q in quartiles]
    return facts


def similarity(lexicon: Lexicon, pairs: Path) -> list[dict[str, Any]]:
    """Return word-similarity scores: see `dpcore.lexicon.train.vectors.word_similarity`.

    Raises:
        LexiconError: the file cannot be read or lacks a column.
    """
    try:
        scores = word_similarity(lexicon.words, lexicon.vectors, pairs)
    except OSError as error:
        raise LexiconError(f"{pairs} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise LexiconError(f"{pairs} is no table of word pairs: {error}") from None
    return [dataclasses.asdict(score) for score in scores]


_INDENT = 2  # of the JSON of these actions, which people read as well
_PLAN = TrainingPlan()
_HYPERBOLIC = HyperbolicPlan()

lexicon_command = group("lexicon", "The vocabularies and their word vectors.")

_limit_option = flags.number("--limit", None, "keep only the first words")
_chosen_options = flags.several(
    argument("lexicon", required=False),
    _limit_option,
    flags.language,
    option("--metric", default="euclidean", help="or manhattan, chebyshev, angular"),
)
_adding_options = flags.several(
    option("--name", help="name of the lexicon"),
    _limit_option,
    option("--replace", is_flag=True, help="replace one of this name"),
)


@command("list", lexicon_command)
def _list(_: Options) -> Answer:
    """List the lexicons that can be loaded by name, and those that can be fetched."""
    facts = list_lexicons()
    return Answer(facts, _list_lines(facts), indent=_INDENT)


def _list_lines(facts: dict[str, Any]) -> Iterator[str]:
    for entry in facts["lexicons"]:
        yield f"{entry['name']:24} {entry['words']:>9,} x {entry['dimension']:<4} {entry['title']}"
    yield "\nto fetch:"
    for source in facts["fetchable"]:
        size = f"{source['download_bytes'] / 1e6:,.0f} MB"
        yield f"{source['key']:24} {source['words']:>9,} {size:>9}  {source['title']}"
    yield _cache_line(facts["cache"])


def _cache_line(cache: dict[str, Any]) -> str:
    reason = "" if cache["writable"] else f" ({cache['reason']})"
    return f"\ncache: {cache['folder']}{reason}"


@command("info", lexicon_command)
@_chosen_options
@flags.file("--similarity", "score on word pairs judged by people", metavar="CSV")
def _info(options: Options) -> Answer:
    """Describe a lexicon: a name or a path; the bundled one if left out."""
    progress = options.progress
    lexicon, report = load_reporting(
        options.lexicon, limit=options.limit, language=options.language, progress=progress
    )
    facts = describe(lexicon.with_metric(options.metric), progress)
    read = ""
    if report:
        facts |= _read_fields(report)
        read = f"{report.format}; {report.dropped}"
    if options.similarity:
        facts["similarity"] = similarity(lexicon, options.similarity)
    return Answer(facts, _info_lines(facts, read), _cautions(lexicon), indent=_INDENT)


def _cautions(lexicon: Lexicon) -> list[str]:
    caution = lexicon_caution(lexicon)
    return [f"warning: {caution}"] if caution else []


def _read_fields(report: ReadReport) -> dict[str, Any]:
    """Return the format, rows and dropped rows of a vector file."""
    return {"format": report.format, "rows": report.rows, "dropped": report.dropped.total}


def _info_lines(facts: dict[str, Any], read: str) -> Iterator[str]:
    extent = facts["extent"]
    yield f"{facts['name']}: {facts['words']:,} words x {facts['dimension']}, {facts['metric']}"
    yield f"fingerprint   {facts['fingerprint']}"
    yield f"language      {describe_language(facts['language'])}"
    if read:
        yield f"read as       {read}"
    megabytes = f"{facts['vector_bytes'] / 1e6:,.1f} MB"
    yield f"vectors       {megabytes}; largest norm {facts['largest_norm']:.6g}"
    if extent["exact"]:
        yield f"diameter      {extent['diameter']:.10g} (exact)"
        yield f"separation    {extent['separation']:.10g} (exact)"
    else:
        yield f"diameter      {extent['diameter_low']:.6g} to {extent['diameter']:.6g} (bounds)"
        yield (
            f"separation    {extent['separation']:.6g} to {extent['separation_high']:.6g} "
            "(bounds; `lexicon build` computes both exactly)"
        )
    quartiles = facts.get("nearest_neighbour_quartiles")
    if quartiles:
        yield "nearest word  " + ", ".join(f"{q:.4g}" for q in quartiles) + " (quartiles)"
    for score in facts.get("similarity", []):
        yield (
            f"{score['dataset']:13} Spearman {score['spearman']:.3f} on {score['pairs']} of "
            f"{score['pairs_total']} pairs"
        )
    for kind, state in facts["kept"].items():
        yield f"kept          {kind}: {state}"
    yield _cache_line(facts["cache"])


@command("build", lexicon_command)
@_chosen_options
@option("--parts", default="extent,neighbours", help="of extent, neighbours, hnsw; comma between")
@flags.file("--extent-file", "also enter the extent in this table", metavar="JSON")
def _build(options: Options) -> Answer:
    """Compute the exact extent and the neighbour table of a lexicon: a name or a path."""
    parts = tuple(part.strip() for part in options.parts.split(",") if part.strip())
    # The file needs it, whatever parts were named.
    if options.extent_file and "extent" not in parts:
        parts = (*parts, "extent")
    lexicon = load(
        options.lexicon,
        limit=options.limit,
        language=options.language,
        progress=options.progress,
    ).with_metric(options.metric)
    report = build(lexicon, parts, options.progress)
    extent = report.extent
    if options.extent_file and extent:
        write_extent(options.extent_file, lexicon, extent)
    lines = [f"built {', '.join(report.parts) or 'nothing'} for {lexicon.name}"]
    if extent:
        lines.append(f"diameter {extent.diameter:.10g}, separation {extent.separation:.10g}")
    if not report.kept:
        # Said, since the work would have to be done again.
        lines.append("the cache folder cannot be written, so only an --extent-file was kept")
    result = fields.some(report, "fingerprint parts extent kept")
    result["extent"] = extent.as_json() if extent else None
    return Answer(result, lines, indent=_INDENT)


@command("add", lexicon_command)
@argument("path")
@option("--language", default=ENGLISH, help="of the words, such as de")
@_adding_options
def _add(options: Options) -> Answer:
    """Read a vector file once and keep it under a name; ARCHIVE.zip::MEMBER for a member."""
    return _added(add(options.path, language=options.language, **_kept_as(options)))


@command("fetch", lexicon_command)
@argument("source")
@flags.number("--dimension", None, "glove-6b: 50, 100, 200 or 300")
@_adding_options
def _fetch(options: Options) -> Answer:
    """Download public word vectors: glove-6b, glove-840b, fasttext-wiki-news, ..."""
    return _added(fetch(options.source, dimension=options.dimension, **_kept_as(options)))


def _kept_as(options: Options) -> dict[str, Any]:
    return fields.some(options, "name limit replace progress")


def _added(added: AddedLexicon) -> Answer:
    return Answer(
        {
            "name": added.name,
            "folder": str(added.folder),
            **fields.some(added, "words dimension fingerprint"),
            **_read_fields(added.report),
        },
        [
            f"{added.name}: {added.words:,} words x {added.dimension} ({added.report.format})",
            f"{added.report.dropped}; fingerprint {added.fingerprint}",
        ],
        # Read back by its name: the warning is about what is kept, and that it can be read.
        _cautions(load(added.name)),
        indent=_INDENT,
    )


@command("train", lexicon_command)
@flags.file("--data", "folder of the texts", metavar="DIR", required=True)
@flags.file("--out", "folder to write", metavar="DIR", required=True)
@flags.number("--words", _PLAN.selection.words, "words at most")
@flags.number("--dimensions", _PLAN.dimensions, "columns of the vectors")
@flags.number("--seed", _PLAN.seed, "of the decomposition")
@flags.number("--threads", 2, "of the sentence encoder")
@option("--no-encoder", is_flag=True, help="from co-occurrence alone, without torch")
def _train(options: Options) -> Answer:
    """Train a lexicon on openly licensed text."""
    plan = replace(
        _PLAN,
        selection=replace(_PLAN.selection, words=options.words),
        dimensions=options.dimensions,
        seed=options.seed,
        encoder=not options.no_encoder,
    )
    manifest = train(plan, options.data, options.out, options.progress, threads=options.threads)
    size = f"{manifest['words']:,} words x {manifest['dimensions']}"
    return Answer(manifest, [f"{size} in {options.out}"], indent=_INDENT)


@command("hyperbolic", lexicon_command)
@argument("lexicon", required=False)
@flags.file("--wordnet", "the table of Open English WordNet", metavar="PARQUET", required=True)
@flags.file("--out", "folder to write", metavar="DIR", required=True)
@flags.number("--dimensions", _HYPERBOLIC.dimensions, "columns of the vectors")
@flags.number("--epochs", _HYPERBOLIC.epochs, "passes over all pairs")
@flags.number("--seed", _HYPERBOLIC.seed, "of the training")
def _hyperbolic(options: Options) -> Answer:
    """Train points of hyperbolic space for the words of a lexicon that have hypernyms."""
    plan = HyperbolicPlan(**fields.some(options, "dimensions epochs seed"))
    lexicon = load(options.lexicon)
    manifest = train_hyperbolic(options.wordnet, lexicon, options.out, plan, options.progress)
    quality = manifest.facts["quality"]
    return Answer(
        dict(manifest.facts),
        [
            f"{manifest.words:,} of {len(lexicon):,} words x {manifest.dimension} in {options.out}",
            f"of {quality['pairs']:,} words above another the median rank is "
            f"{quality['median_rank']:g}, the mean {quality['mean_rank']:.4g}; mean average "
            f"precision {quality['average_precision']:.3f}",
        ],
        indent=_INDENT,
    )


@command("kinds", lexicon_command)
@argument("lexicon", required=False)
@flags.file("--wordnet", "of the bundled words: make the table again", metavar="PARQUET")
@flags.file("--out", "and write it, as it is bundled", metavar="NPZ")
def _kinds(options: Options) -> Answer:
    """Count the words of a lexicon by kind, after the classes of WordNet."""
    # Two of eight combinations are meant: all bundled words again, or a lexicon as it is.
    given = (options.lexicon, options.wordnet is None, options.out is None)
    if given not in {(None, False, False), (options.lexicon, True, True)}:
        raise ParameterError("--wordnet and --out go together, and are of the bundled words alone")
    lexicon = load(options.lexicon)
    if options.wordnet is None:
        table = kinds_of(lexicon)
    else:
        table = kinds(options.wordnet, lexicon.words)
        write_kinds(options.out, table)
    counts = {name: int((table.codes == code).sum()) for code, name in enumerate(table.names)}
    counts = dict(sorted(counts.items(), key=lambda entry: -entry[1]))
    lines = [f"{count:>8,} {name}" for name, count in counts.items() if count]
    return Answer({"name": lexicon.name, "words": len(lexicon), "kinds": counts}, lines)


# The command `map`: build maps of a lexicon, and list them.


_PROJECTIONS = ("umap", "densmap", "pca")
_TABLE = (
    "{projection:<8|map} {of:<28.28} {words:>7,} {mean_kept:>7.1%|kept} {density:>8}  {origin|from}"
)

map_command = group("map", "Maps of a lexicon: build them, list them.")


@command("build", map_command)
@option("--projection", default="all", type=Choice([*_PROJECTIONS, "all"]))
@option("--word", multiple=True, help="only the neighbourhood of this word; twice for two words")
@flags.number("--k", None, "of --word: nearest words of each that are mapped  [default: 60]")
@flags.seed("of UMAP and densMAP")
@flags.file(
    "--bundle", "make the maps that come with the laboratory and write them there", metavar="FOLDER"
)
@flags.lexicon
def _build_map(options: Options) -> Answer:
    """Make maps and keep them in the cache."""
    bundled = options.bundle is not None
    if not bundled:
        # Before minutes of work on a map that could not be kept.
        check_cache()
    if options.k is not None and not options.word:
        raise ParameterError("--k is the number of neighbours of --word, which is not given")
    if bundled and options.word:
        raise ParameterError("--bundle makes fixed maps: it takes no --word")
    lexicon = load_lexicon(options)
    if bundled:
        maps = _bundle(lexicon, options.bundle, options.progress)
    else:
        maps = _chosen(options, lexicon)
    return _answer(lexicon, [facts_of(drawn) | {"bundled": bundled} for drawn in maps])


def _chosen(options: Options, lexicon: Lexicon) -> list[Map]:
    names = _PROJECTIONS if options.projection == "all" else (options.projection,)
    common = fields.some(options, "seed progress")
    if not options.word:
        return [build_vocabulary_map(lexicon, name, **common) for name in names]
    centres = lexicon.indices(options.word).tolist()
    k = DEFAULT_NEIGHBOURS if options.k is None else options.k
    return [build_local_map(lexicon, centres, k, name, **common) for name in names]


def _bundle(lexicon: Lexicon, folder: Path, progress: Progress) -> list[Map]:
    """Build the maps of the whole lexicon, and UMAP and densMAP of a few pairs of words."""
    k = DEFAULT_NEIGHBOURS
    bundle: list[tuple[MapPlan, str, Map]] = []
    for name in _PROJECTIONS:
        whole = build_vocabulary_map(lexicon, name, progress=progress)
        bundle.append((plan_of_vocabulary(name), f"vocabulary-{name}", whole))
        # PCA of a pair takes a moment and is not bundled.
        for names in () if name == "pca" else BUNDLED_PAIRS:
            plan = plan_of_words(lexicon, lexicon.indices(names).tolist(), k, name)
            pair = build_local_map(lexicon, plan.centres, k, name, progress=progress)
            bundle.append((plan, f"{'-'.join(names)}-{name}", pair))
    again = f"python -m dpcore map build --bundle {folder.as_posix()}"
    try:
        write_bundle(folder, lexicon.name, again, bundle)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from None
    return [shown for _, _, shown in bundle]


@command("list", map_command)
@flags.lexicon
def _list_map(options: Options) -> Answer:
    """The maps that are there."""
    lexicon = load_lexicon(options)
    # Maps are of Euclidean distances, whatever metric the lexicon has.
    facts = stored_facts(lexicon.with_metric(Metric.EUCLIDEAN).fingerprint)
    # For a program an empty list is an answer; a person needs to know what to do.
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
        fields.of_lexicon(lexicon) | {"maps": rows},
        [
            *table(_TABLE, _printed(rows)),
            "kept: share of the nearest words that are nearest on the map; density: rank "
            "correlation of true crowdedness and crowdedness on the map (1 is all kept, 0 is none)",
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
