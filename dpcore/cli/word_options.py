"""Options that the measuring commands share: words, mechanisms with settings, values of ε."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.mechanisms import common_options, seed_option
from dpcore.errors import ParameterError
from dpcore.limits import MAX_EPSILONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism

METHODS = ("auto", "exact", "protocol", "rao-blackwell")


def measuring_options(command: argparse.ArgumentParser) -> None:
    """Options of every command that measures words."""
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--words", metavar="A,B,C", help="these words")
    source.add_argument("--sample", type=int, metavar="N", help="a stratified sample of N words")
    source.add_argument("--corpus", metavar="FILE", help="all tokens of a UTF-8 text file")
    command.add_argument(
        "--at-most", type=int, metavar="N", help="words of --corpus, drawn by their frequency"
    )
    command.add_argument(
        "--text-column",
        metavar="NAME",
        help="--corpus is a CSV file with a header, and its texts stand in this column",
    )
    command.add_argument(
        "--stratify", default="frequency", choices=("frequency", "density"), help="of --sample"
    )
    command.add_argument("--runs", type=int, default=1000, help="R of Sw (default 1000)")
    command.add_argument("--method", default="auto", choices=METHODS, help="default auto")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter, of every mechanism named that has it; may be repeated",
    )
    seed_option(command, "of the sample and of the noise that is measured (default 0)")
    common_options(command)


def parse_settings(options: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings of each mechanism; one that none of them has is refused."""
    from dpcore.mechanisms.registry import resolve

    kinds = {name: resolve(name) for name in names}
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for setting in options:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not (key and equals):
            raise ParameterError(f"--set takes NAME=VALUE, got {setting[:60]!r}")
        having = [name for name, kind in kinds.items() if key in kind.parameters()]
        if not having:
            raise ParameterError(
                f"none of the mechanisms {', '.join(names)} has a parameter {key[:40]!r}"
            )
        for name in having:
            found[name][key] = value
    return found


def _numbers(text: str) -> list[str | float]:
    """The ε of one option: LOW:HIGH:COUNT, or a list of texts that the mechanism will judge."""
    import numpy as np

    parts = text.split(":")
    if len(parts) == 1:
        return [part.strip() for part in text.split(",")]
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) != 3 or not (0 < low < high < np.inf and 2 <= count <= MAX_EPSILONS):
            raise ValueError
    except (ValueError, IndexError):
        raise ParameterError(
            "a grid of epsilon is LOW:HIGH:COUNT with 0 < LOW < HIGH and COUNT from 2 to "
            f"{MAX_EPSILONS:,}, got {text[:60]!r}"
        ) from None
    return [float(value) for value in np.geomspace(low, high, count)]


def parse_epsilons(options: Sequence[str], mechanisms: Sequence[Mechanism]) -> list[list[float]]:
    """The checked ε of each mechanism, ascending and each once."""
    own: dict[str, list[str | float]] = {}
    common: list[str | float] = []
    known = {name for m in mechanisms for name in (m.key, m.short)}
    for option in options:
        name, equals, values = option.rpartition("=")
        if equals and name not in known:
            raise ParameterError(
                f"--epsilon {option[:60]!r} is for a mechanism that is not measured; measured are "
                + ", ".join(m.short for m in mechanisms)
            )
        (own.setdefault(name, []) if equals else common).extend(_numbers(values))
    found = []
    for mechanism in mechanisms:
        mine = own.get(mechanism.key, []) + own.get(mechanism.short, []) or common
        if not mine:
            raise ParameterError(f"no epsilon is given for {mechanism.short}")
        if len(mine) > MAX_EPSILONS:
            raise ParameterError(f"at most {MAX_EPSILONS:,} values of epsilon, got {len(mine):,}")
        found.append(sorted({mechanism.check_epsilon(value) for value in mine}))  # type: ignore[arg-type]
    return found


def _selection(options: argparse.Namespace, lexicon: Lexicon, progress: Progress) -> Selection:
    from dpcore.measure import words
    from dpcore.noise.streams import generator

    if options.words is not None:
        return words.named(lexicon, options.words.split(","))
    if options.corpus is not None:
        found = words.corpus_file(lexicon, Path(options.corpus), options.text_column)
        if options.at_most is None:
            return found
        rng = generator(options.seed or 0, "words of a text")
        return words.reduced(found, options.at_most, rng)
    rng = generator(options.seed or 0, "sample of words")
    return words.sample(lexicon, options.sample, rng, options.stratify, progress)


def prepare(
    options: argparse.Namespace, names: Sequence[str], progress: Progress
) -> tuple[list[Mechanism], Selection]:
    """Mechanisms and words; what can be refused before a large lexicon is read, is."""
    from dpcore.lexicon.catalogue import load
    from dpcore.measure.deniability import check_runs
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import check_seed

    if options.at_most is not None and options.corpus is None:
        raise ParameterError("--at-most is for the words of --corpus")
    if options.text_column is not None and options.corpus is None:
        raise ParameterError("--text-column is for the table of --corpus")
    names = list(dict.fromkeys(names))
    settings = parse_settings(options.set, names)
    check_runs(options.runs)
    check_seed(options.seed or 0)
    lexicon = load(options.lexicon, progress=progress)
    mechanisms = [create(name, lexicon, settings[name]) for name in names]
    return mechanisms, _selection(options, lexicon, progress)


def head(options: argparse.Namespace, lexicon: Lexicon, selection: Selection) -> dict[str, Any]:
    """The fields that every result begins with."""
    return {
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "version": __version__,
        "runs": options.runs,
        "seed": options.seed or 0,
        "selection": {
            "description": selection.description,
            "words": len(selection),
            "tokens": selection.tokens,
            "unknown_tokens": selection.unknown,
        },
    }
