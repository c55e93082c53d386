"""Command `language`: the attackers' knowledge of English, counted and trained."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dpcore.attack.language.build import build
from dpcore.attack.language.language import CountPlan, language, language_folder
from dpcore.attack.language.reader_training import ReaderPlan, build_reader, reader_manifest
from dpcore.attack.language.recovered import TrialPlan, run
from dpcore.attack.output.spectrum import BUNDLE, write_bundle
from dpcore.cli import flags
from dpcore.cli.construction import load_lexicon
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, group

language_command = group("language", "What an attacker knows about English.")

_texts_option = flags.file("--data", "folder of the texts", metavar="DIR", required=True)
_out_option = flags.file("--out", "folder to write", metavar="DIR", required=True)


@command("info", language_command)
@flags.lexicon
def _info(options: Options) -> Answer:
    """Describe the language model: counts and predictive accuracy."""
    lexicon = load_lexicon(options)
    model = language(lexicon)
    text = (language_folder() / "manifest.json").read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text)
    # Stable: equally frequent words keep their order from run to run.
    top = [lexicon.words[i] for i in (-model.frequency).argsort(kind="stable")[:20]]
    trained = reader_manifest()
    return Answer(
        manifest | {"frequent": top, "reader": trained},
        [*_info_lines(manifest, top), *_reader_lines(trained)],
    )


def _info_lines(manifest: dict[str, Any], top: Sequence[str]) -> Iterator[str]:
    yield f"{manifest['tokens']:,} tokens (weighted), {manifest['pairs']:,} pairs of words"
    for source in manifest["sources"]:
        times = f", counted {source['times']} times" if source["times"] > 1 else ""
        yield f"  {source['credit']}, {source['licence']}: {source['used']}{times}"
    tested = manifest["held_out"]
    yield (
        f"perplexity on {tested['tokens']:,} held-out words: {tested['perplexity']:.0f} "
        f"(frequencies alone: {tested['perplexity_unigram']:.0f})"
    )
    yield "most frequent: " + ", ".join(top)


@command("count", language_command)
@flags.several(_texts_option, _out_option, flags.lexicon)
def _count(options: Options) -> Answer:
    """Count the openly licensed texts again."""
    lexicon = load_lexicon(options)
    manifest = build(lexicon, options.data, options.out, CountPlan(), options.progress)
    size = sum(written["bytes"] for written in manifest["files"].values())
    pairs = f"{manifest['pairs']:,} pairs of words in {size:,} bytes"
    return Answer(manifest, [f"{pairs}, written to {options.out}"])


@command("train", language_command)
@flags.several(_texts_option, _out_option)
@flags.number("--steps", ReaderPlan.steps, "of the optimiser")
@flags.seed("of the start, of the order and of what is hidden")
@flags.lexicon
def _train(options: Options) -> Answer:
    """Train the network that reads whole sentences again; needs torch."""
    plan = ReaderPlan(steps=options.steps, seed=options.seed)
    lexicon = load_lexicon(options)
    manifest = build_reader(lexicon, options.data, options.out, plan, options.progress)
    size = sum(written["bytes"] for written in manifest["files"].values())
    return Answer(
        manifest,
        [*_reader_lines(manifest), f"{size:,} bytes written to {options.out}"],
    )


def _reader_lines(manifest: dict[str, Any]) -> Iterator[str]:
    tested = manifest["held_out"]
    yield (
        f"the network names a hidden word among all others of a sentence with perplexity "
        f"{tested['pseudo_perplexity']:.0f} on {tested['tokens']:,} held-out words (bigrams on "
        f"both sides: {tested['pseudo_perplexity_bigram']:.0f}); its answer is raised to the power "
        f"{manifest['exponent']:g}"
    )


@command("spectrum", language_command)
@flags.several(_out_option, flags.lexicon)
def _spectrum(options: Options) -> Answer:
    """Compute the distances of all words, for data/lexicon, again."""
    lexicon, bundle = load_lexicon(options), options.out / BUNDLE
    write_bundle(lexicon, bundle, options.progress)
    size = bundle.stat().st_size
    return Answer(
        {"fingerprint": lexicon.fingerprint, "file": str(bundle), "bytes": size},
        [f"{size:,} bytes written to {bundle}"],
    )


@command("attack", language_command)
@flags.several(_texts_option, _out_option)
@flags.number("--sentences", 150, "to try")
@flags.seed("of the sentences and of the noise")
@flags.lexicon
def _attack(options: Options) -> Answer:
    """Try three attackers on held-out sentences again."""
    plan = TrialPlan(options.sentences, options.seed)
    result = run(load_lexicon(options), options.data, options.out, plan, options.progress)
    line = (
        "{mechanism:<16}{epsilon:>6g}  {words:<8} {attacker:<10}{share:>7.1%}  "
        "({low:.1%} to {high:.1%})"
    )
    return Answer(result, [line.format_map(row) for row in result["rows"]])
