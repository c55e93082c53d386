"""The command `lexicon`: list, info, build, add, fetch and train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from click import argument, option

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, group
from dpcore.cli.terminal import progress_bars

if TYPE_CHECKING:
    from dpcore.lexicon.fetch import Added

_INDENT = 2  # of the JSON of these actions, which people read as well

lexicon_command = group("lexicon", "The vocabularies and their word vectors.")

_limit_option = shared.number("--limit", None, "keep only the first words")
_chosen_options = shared.several(
    argument("lexicon", required=False),
    _limit_option,
    option("--metric", default="euclidean", help="or manhattan, chebyshev, angular"),
)
_adding_options = shared.several(
    option("--name", help="name of the lexicon"),
    _limit_option,
    option("--replace", is_flag=True, help="replace one of this name"),
)


@command("list", lexicon_command)
def _list(_: Options) -> Answer:
    """What there is, and what can be fetched."""
    from dpcore.lexicon.listing import list_lexicons

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
@shared.file("--similarity", "score on word pairs judged by people", metavar="CSV")
def _info(options: Options) -> Answer:
    """What is known about a lexicon: a name or a path; the bundled one if left out."""
    from dpcore.lexicon.catalogue import load_reporting
    from dpcore.lexicon.listing import describe, similarity

    with progress_bars() as progress:
        lexicon, report = load_reporting(options.lexicon, limit=options.limit, progress=progress)
        facts = describe(lexicon.with_metric(options.metric), progress)
    read = ""
    if report:
        facts |= {"format": report.format, "rows": report.rows, "dropped": report.dropped.total}
        read = f"{report.format}; {report.dropped}"
    if options.similarity:
        facts["similarity"] = similarity(lexicon, options.similarity)
    return Answer(facts, _info_lines(facts, read), indent=_INDENT)


def _info_lines(facts: dict[str, Any], read: str) -> Iterator[str]:
    extent = facts["extent"]
    yield f"{facts['name']}: {facts['words']:,} words x {facts['dimension']}, {facts['metric']}"
    yield f"fingerprint   {facts['fingerprint']}"
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
@shared.file("--extent-file", "also enter the extent in this table", metavar="JSON")
def _build(options: Options) -> Answer:
    """Compute the exact extent and the neighbour table of a lexicon: a name or a path."""
    from dpcore.lexicon.building import build, write_extent
    from dpcore.lexicon.catalogue import load

    parts = tuple(part.strip() for part in options.parts.split(",") if part.strip())
    if options.extent_file and "extent" not in parts:
        parts = (*parts, "extent")
    with progress_bars() as progress:
        lexicon = load(options.lexicon, limit=options.limit, progress=progress)
        lexicon = lexicon.with_metric(options.metric)
        report = build(lexicon, parts, progress)
    extent = report.extent
    if options.extent_file and extent:
        write_extent(options.extent_file, lexicon, extent)
    lines = [f"built {', '.join(report.parts) or 'nothing'} for {lexicon.name}"]
    if extent:
        lines.append(f"diameter {extent.diameter:.10g}, separation {extent.separation:.10g}")
    if not report.kept:
        lines.append("the cache folder cannot be written, so only an --extent-file was kept")
    result = {
        "fingerprint": report.fingerprint,
        "parts": report.parts,
        "extent": extent.as_json() if extent else None,
        "kept": report.kept,
    }
    return Answer(result, lines, indent=_INDENT)


@command("add", lexicon_command)
@argument("path")
@_adding_options
def _add(options: Options) -> Answer:
    """Read a vector file once and keep it under a name; ARCHIVE.zip::MEMBER for a member."""
    from dpcore.lexicon.fetch import add

    with progress_bars() as progress:
        return _added(add(options.path, progress=progress, **_kept_as(options)))


@command("fetch", lexicon_command)
@argument("source")
@shared.number("--dimension", None, "glove-6b: 50, 100, 200 or 300")
@_adding_options
def _fetch(options: Options) -> Answer:
    """Download public word vectors: glove-6b, glove-840b, fasttext-wiki-news, ..."""
    from dpcore.lexicon.fetch import fetch

    size, kept = options.dimension, _kept_as(options)
    with progress_bars() as progress:
        return _added(fetch(options.source, dimension=size, progress=progress, **kept))


def _kept_as(options: Options) -> dict[str, Any]:
    return {"name": options.name, "limit": options.limit, "replace": options.replace}


def _added(added: Added) -> Answer:
    return Answer(
        {
            "name": added.name,
            "folder": str(added.folder),
            "words": added.words,
            "dimension": added.dimension,
            "fingerprint": added.fingerprint,
            "format": added.report.format,
            "rows": added.report.rows,
            "dropped": added.report.dropped.total,
        },
        [
            f"{added.name}: {added.words:,} words x {added.dimension} ({added.report.format})",
            f"{added.report.dropped}; fingerprint {added.fingerprint}",
        ],
        indent=_INDENT,
    )


@command("train", lexicon_command)
@shared.file("--data", "folder of the texts", metavar="DIR", required=True)
@shared.file("--out", "folder to write", metavar="DIR", required=True)
@shared.number("--words", None, "words at most")
@shared.number("--dimensions", None, "columns of the vectors")
@shared.number("--seed", None, "of the decomposition  [default: 0]")
@shared.number("--threads", 2, "of the sentence encoder")
@option("--no-encoder", is_flag=True, help="from co-occurrence alone, without torch")
def _train(options: Options) -> Answer:
    """Train a lexicon on openly licensed text."""
    from dataclasses import replace

    from dpcore.lexicon.train.plan import TrainingPlan
    from dpcore.lexicon.train.run import train

    plan = TrainingPlan(encoder=not options.no_encoder)
    if options.words is not None:
        plan = replace(plan, selection=replace(plan.selection, words=options.words))
    if options.dimensions is not None:
        plan = replace(plan, dimensions=options.dimensions)
    if options.seed is not None:
        plan = replace(plan, seed=options.seed)
    with progress_bars() as progress:
        manifest = train(plan, options.data, options.out, progress, threads=options.threads)
    size = f"{manifest['words']:,} words x {manifest['dimensions']}"
    return Answer(manifest, [f"{size} in {options.out}"], indent=_INDENT)
