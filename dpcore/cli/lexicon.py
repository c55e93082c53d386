"""The `lexicon` command: list, info, build, add, fetch and train."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.terminal import progress_bars
from dpcore.lexicon.metric import Metric

if TYPE_CHECKING:
    import argparse

    from dpcore.lexicon.fetch import Added


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; each handler takes the parsed arguments and returns an exit code."""
    parser = subparsers.add_parser("lexicon", help="the vocabularies and their word vectors")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument("--json", action="store_true", help="print JSON")
        made.set_defaults(handler=handler)
        return made

    command("list", _list, "what there is, and what can be fetched")
    info = command("info", _info, "what is known about a lexicon")
    build = command("build", _build, "compute the exact extent and the neighbour table")
    for made in (info, build):
        made.add_argument("lexicon", nargs="?", help="name or path; the bundled one if left out")
        made.add_argument("--limit", type=int, help="keep only the first words")
        made.add_argument("--metric", default="euclidean", help=", ".join(Metric))
    info.add_argument(
        "--similarity", type=Path, metavar="CSV", help="score on word pairs judged by people"
    )
    build.add_argument(
        "--parts", default="extent,neighbours", help="of extent, neighbours, hnsw; comma between"
    )
    build.add_argument(
        "--extent-file", type=Path, metavar="JSON", help="also enter the extent in this table"
    )
    add = command("add", _add, "read a vector file once and keep it under a name")
    add.add_argument("path", help="a vector file; ARCHIVE.zip::MEMBER for a member")
    fetch = command("fetch", _fetch, "download public word vectors")
    fetch.add_argument("source", help="glove-6b, glove-840b, fasttext-wiki-news, ...")
    fetch.add_argument("--dimension", type=int, help="glove-6b: 50, 100, 200 or 300")
    for made in (add, fetch):
        made.add_argument("--name", help="name of the lexicon")
        made.add_argument("--limit", type=int, help="keep only the first words")
        made.add_argument("--replace", action="store_true", help="replace one of this name")
    train = command("train", _train, "train a lexicon on openly licensed text")
    train.add_argument("--data", type=Path, required=True, help="folder of the texts")
    train.add_argument("--out", type=Path, required=True, help="folder to write")
    train.add_argument("--words", type=int, help="words at most")
    train.add_argument("--dimensions", type=int, help="columns of the vectors")
    train.add_argument("--seed", type=int, help="of the decomposition (default 0)")
    train.add_argument("--threads", type=int, default=2, help="of the sentence encoder")
    train.add_argument(
        "--no-encoder", action="store_true", help="from co-occurrence alone, without torch"
    )


def _list(arguments: argparse.Namespace) -> int:
    from dpcore.lexicon.listing import list_lexicons

    facts = list_lexicons()
    if arguments.json:
        return _print_json(facts)
    for entry in facts["lexicons"]:
        print(f"{entry['name']:24} {entry['words']:>9,} x {entry['dimension']:<4} {entry['title']}")
    print("\nto fetch:")
    for source in facts["fetchable"]:
        size = f"{source['download_bytes'] / 1e6:,.0f} MB"
        print(f"{source['key']:24} {source['words']:>9,} {size:>9}  {source['title']}")
    _print_cache(facts["cache"])
    return 0


def _info(arguments: argparse.Namespace) -> int:
    from dpcore.lexicon.catalogue import load_reporting
    from dpcore.lexicon.listing import describe, similarity

    with progress_bars() as progress:
        lexicon, report = load_reporting(
            arguments.lexicon, limit=arguments.limit, progress=progress
        )
        facts = describe(lexicon.with_metric(arguments.metric), progress)
    if report:
        facts |= {"format": report.format, "rows": report.rows, "dropped": report.dropped.total}
    if arguments.similarity:
        facts["similarity"] = similarity(lexicon, arguments.similarity)
    if arguments.json:
        return _print_json(facts)
    extent = facts["extent"]
    print(f"{facts['name']}: {facts['words']:,} words x {facts['dimension']}, {facts['metric']}")
    print(f"fingerprint   {facts['fingerprint']}")
    if report:
        print(f"read as       {report.format}; {report.dropped}")
    print(f"vectors       {facts['vector_bytes'] / 1e6:,.1f} MB; largest norm "
          f"{facts['largest_norm']:.6g}")  # fmt: skip
    if extent["exact"]:
        print(f"diameter      {extent['diameter']:.10g} (exact)")
        print(f"separation    {extent['separation']:.10g} (exact)")
    else:
        print(f"diameter      {extent['diameter_low']:.6g} to {extent['diameter']:.6g} (bounds)")
        print(f"separation    {extent['separation']:.6g} to {extent['separation_high']:.6g} "
              "(bounds; `lexicon build` computes both exactly)")  # fmt: skip
    quartiles = facts.get("nearest_neighbour_quartiles")
    if quartiles:
        print("nearest word  " + ", ".join(f"{q:.4g}" for q in quartiles) + " (quartiles)")
    for score in facts.get("similarity", []):
        print(f"{score['dataset']:13} Spearman {score['spearman']:.3f} on {score['pairs']} of "
              f"{score['pairs_total']} pairs")  # fmt: skip
    for kind, state in facts["kept"].items():
        print(f"kept          {kind}: {state}")
    _print_cache(facts["cache"])
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from dpcore.lexicon.building import build, write_extent
    from dpcore.lexicon.catalogue import load

    parts = tuple(part.strip() for part in arguments.parts.split(",") if part.strip())
    if arguments.extent_file and "extent" not in parts:
        parts = (*parts, "extent")
    with progress_bars() as progress:
        lexicon = load(arguments.lexicon, limit=arguments.limit, progress=progress)
        lexicon = lexicon.with_metric(arguments.metric)
        report = build(lexicon, parts, progress)
    if arguments.extent_file and report.extent:
        write_extent(arguments.extent_file, lexicon, report.extent)
    extent = report.extent.as_json() if report.extent else None
    facts = {"fingerprint": report.fingerprint, "parts": report.parts, "extent": extent,
             "kept": report.kept}  # fmt: skip
    if arguments.json:
        return _print_json(facts)
    print(f"built {', '.join(report.parts) or 'nothing'} for {lexicon.name}")
    if report.extent:
        print(f"diameter {report.extent.diameter:.10g}, separation {report.extent.separation:.10g}")
    if not report.kept:
        print("the cache folder cannot be written, so only an --extent-file was kept")
    return 0


def _add(arguments: argparse.Namespace) -> int:
    from dpcore.lexicon.fetch import add

    with progress_bars() as progress:
        added = add(
            arguments.path,
            name=arguments.name,
            limit=arguments.limit,
            replace=arguments.replace,
            progress=progress,
        )
    return _print_added(added, as_json=arguments.json)


def _fetch(arguments: argparse.Namespace) -> int:
    from dpcore.lexicon.fetch import fetch

    with progress_bars() as progress:
        added = fetch(
            arguments.source,
            dimension=arguments.dimension,
            name=arguments.name,
            limit=arguments.limit,
            replace=arguments.replace,
            progress=progress,
        )
    return _print_added(added, as_json=arguments.json)


def _train(arguments: argparse.Namespace) -> int:
    import dataclasses

    from dpcore.lexicon.train.plan import TrainingPlan
    from dpcore.lexicon.train.run import train

    plan = TrainingPlan(encoder=not arguments.no_encoder)
    if arguments.words is not None:
        selection = dataclasses.replace(plan.selection, words=arguments.words)
        plan = dataclasses.replace(plan, selection=selection)
    if arguments.dimensions is not None:
        plan = dataclasses.replace(plan, dimensions=arguments.dimensions)
    if arguments.seed is not None:
        plan = dataclasses.replace(plan, seed=arguments.seed)
    with progress_bars() as progress:
        manifest = train(plan, arguments.data, arguments.out, progress, threads=arguments.threads)
    if arguments.json:
        return _print_json(manifest)
    print(f"{manifest['words']:,} words x {manifest['dimensions']} in {arguments.out}")
    return 0


def _print_added(added: Added, *, as_json: bool) -> int:
    if as_json:
        return _print_json(
            {
                "name": added.name,
                "folder": str(added.folder),
                "words": added.words,
                "dimension": added.dimension,
                "fingerprint": added.fingerprint,
                "format": added.report.format,
                "rows": added.report.rows,
                "dropped": added.report.dropped.total,
            }
        )
    print(f"{added.name}: {added.words:,} words x {added.dimension} ({added.report.format})")
    print(f"{added.report.dropped}; fingerprint {added.fingerprint}")
    return 0


def _print_json(facts: object) -> int:
    print(json.dumps(facts, indent=2, ensure_ascii=False))
    return 0


def _print_cache(cache: dict[str, Any]) -> None:
    note = "" if cache["writable"] else f" ({cache['reason']})"
    print(f"\ncache: {cache['folder']}{note}")
