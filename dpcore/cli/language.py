"""The command `language`: the counts behind the frequency prior and the context attacker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.mechanisms import common_options, print_json, seed_option

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands


def register(commands: Commands) -> None:
    """Add the command; the handlers take the parsed arguments and return an exit code."""
    room = commands.add_parser("language", help="counts of words that an attacker knows")
    actions = room.add_subparsers(required=True, metavar="action")
    command = actions.add_parser("info", help="what was counted, and how well it predicts")
    common_options(command)
    command.set_defaults(handler=_info)
    command = actions.add_parser("count", help="count the openly licensed texts again")
    command.add_argument("--data", type=Path, required=True, help="folder of the texts")
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    common_options(command)
    command.set_defaults(handler=_count)
    command = actions.add_parser("spectrum", help="distances of all words, for data/lexicon again")
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    common_options(command)
    command.set_defaults(handler=_spectrum)
    command = actions.add_parser("attack", help="try three attackers on held-out sentences again")
    command.add_argument("--data", type=Path, required=True, help="folder of the texts")
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    command.add_argument("--sentences", type=int, default=150, help="to try (default 150)")
    seed_option(command, "of the sentences and of the noise (default 0)")
    common_options(command)
    command.set_defaults(handler=_attack)


def _info(options: argparse.Namespace) -> int:
    from dpcore.attack.language.language import language, language_folder
    from dpcore.lexicon.catalogue import load

    lexicon = load(options.lexicon)
    model = language(lexicon)
    file = language_folder() / "manifest.json"
    manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    top = [lexicon.words[i] for i in (-model.frequency).argsort(kind="stable")[:20]]
    if options.json:
        print_json(manifest | {"frequent": top})
        return 0
    print(f"{manifest['tokens']:,} tokens (weighted), {manifest['pairs']:,} pairs of words")
    for source in manifest["sources"]:
        times = f", counted {source['times']} times" if source["times"] > 1 else ""
        print(f"  {source['credit']}, {source['licence']}: {source['used']}{times}")
    held = manifest["held_out"]
    print(
        f"perplexity on {held['tokens']:,} held-out words: {held['perplexity']:.0f} "
        f"(frequencies alone: {held['perplexity_unigram']:.0f})"
    )
    print("most frequent: " + ", ".join(top))
    return 0


def _count(options: argparse.Namespace) -> int:
    from dpcore.attack.language.build import build
    from dpcore.attack.language.counts import CountPlan
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load

    lexicon = load(options.lexicon)
    with progress_bars() as progress:
        manifest = build(lexicon, options.data, options.out, CountPlan(), progress)
    if options.json:
        print_json(manifest)
    else:
        size = sum(file["bytes"] for file in manifest["files"].values())
        print(f"{manifest['pairs']:,} pairs of words in {size:,} bytes, written to {options.out}")
    return 0


def _spectrum(options: argparse.Namespace) -> int:
    from dpcore.attack.output.spectrum import BUNDLE, write_bundle
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load

    lexicon, file = load(options.lexicon), options.out / BUNDLE
    with progress_bars() as progress:
        write_bundle(lexicon, file, progress)
    result = {"fingerprint": lexicon.fingerprint, "file": str(file), "bytes": file.stat().st_size}
    if options.json:
        print_json(result)
    else:
        print(f"{result['bytes']:,} bytes written to {file}")
    return 0


def _attack(options: argparse.Namespace) -> int:
    from dpcore.attack.language.trial import TrialPlan, run
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load

    plan = TrialPlan(options.sentences, options.seed or 0)
    with progress_bars() as progress:
        result = run(load(options.lexicon), options.data, options.out, plan, progress)
    if options.json:
        print_json(result)
        return 0
    for row in result["rows"]:
        print(
            f"{row['mechanism']:<16}{row['epsilon']:>6g}  {row['words']:<8} {row['attacker']:<10}"
            f"{row['share']:>7.1%}  ({row['low']:.1%} to {row['high']:.1%})"
        )
    return 0
